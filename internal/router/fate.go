package router

import (
	"slices"
	"strings"
	"time"

	"openclaw/internal/chat"
	"openclaw/internal/ledger"
	"openclaw/internal/turn"
)

// fate is how far a lost run got, as its transcript tells.
type fate struct {
	kind   fateKind
	began  time.Time    // when its message was written; zero when it was not
	said   []string     // what one that was answered had said, message by message
	answer turn.Message // its last word
}

type fateKind int

const (
	fateUnknown  fateKind = iota // the transcript cannot be read
	fateAbsent                   // its message is not in the transcript
	fateOpen                     // its message is there, and no answer
	fateNoted                    // the note is there as well
	fateAnswered                 // it was answered
)

// fateOf reads in msgs, the end of a transcript, what became of a run. It returns
// the fate and what is left of msgs for the runs after it: a message belongs to one
// run only. User text in msgs is without its envelope.
func fateOf(was ledger.Accepted, msgs []turn.Message) (fate, []turn.Message) {
	text, at := chat.StripEnvelope(was.Request.Prompt), was.At.UnixMilli()
	i := slices.IndexFunc(msgs, func(m turn.Message) bool {
		return m.Role == turn.RoleUser && m.Timestamp >= at && asks(m.Text(), text)
	})
	if i < 0 {
		return fate{kind: fateAbsent}, msgs
	}
	// What stands before it may belong to a run that was accepted later and began
	// earlier.
	f, left := fate{kind: fateOpen, began: time.UnixMilli(msgs[i].Timestamp)}, slices.Concat(msgs[:i], msgs[i+1:])
	for _, m := range msgs[i+1:] {
		if m.Role != turn.RoleAssistant {
			continue
		}
		if text := strings.TrimSpace(chat.Clean(m.Text(), false)); m.StopReason != turn.StopInjected && text != "" && !chat.IsSilent(text) {
			f.said = append(f.said, text)
		}
		switch {
		case m.StopReason == turn.StopInjected && (m.Text() == noteDuring || m.Text() == noteBefore):
			f.kind = fateNoted
			return f, left
		case (m.StopReason == turn.StopEnd || m.StopReason == turn.StopLength) && len(m.ToolCalls()) == 0:
			f.kind, f.answer = fateAnswered, m
			return f, left
		}
	}
	return f, left
}

// asks reports whether a user message is the one with this text. What a full queue
// had dropped may stand before it, and then its stamp as well.
func asks(message, text string) bool {
	return message == text || text != "" && strings.HasSuffix(message, "] "+text)
}
