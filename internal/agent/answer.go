package agent

import (
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"openclaw/internal/chat"
	"openclaw/internal/model"
	"openclaw/internal/turn"
)

// answer collects one streamed assistant message. What users may see goes out
// through show as soon as it is certain; the rest is kept for the transcript in
// case the stream breaks.
//
// All text lives in builders that only grow, and events share their memory, so
// the cost of a delta does not depend on how long the answer is.
type answer struct {
	show func(text, delta string) // cumulative and new visible text

	cleaner  chat.Cleaner
	visible  strings.Builder // cleaned text
	shown    int             // bytes of visible that went out
	talking  bool            // the text cannot be a silent reply from its start any more
	boundary bool            // the last part was no text

	raw    strings.Builder // text as the model wrote it
	blocks turn.Content    // finished blocks in order
	think  strings.Builder
	calls  []model.ToolCall
}

func (a *answer) text(delta string) {
	if delta == "" {
		return
	}
	a.closeThinking()
	if a.boundary && a.visible.Len() > 0 {
		a.append("\n")
	}
	a.boundary = false
	a.raw.WriteString(delta)
	a.append(a.cleaner.Write(delta))
	a.release(a.certain())
}

func (a *answer) thinking(delta string) {
	a.closeText()
	a.think.WriteString(delta)
}

func (a *answer) call(c model.ToolCall) {
	a.closeText()
	a.closeThinking()
	a.calls = append(a.calls, c)
	a.blocks = append(a.blocks, turn.Block{Type: turn.BlockToolCall, ID: c.ID, Name: c.Name, Arguments: object(c.Arguments)})
}

// append adds cleaned text, without space before the first word.
func (a *answer) append(s string) {
	if a.visible.Len() == 0 {
		s = strings.TrimLeftFunc(s, unicode.IsSpace)
	}
	a.visible.WriteString(s)
}

// certain returns how many bytes of the visible text can no longer turn out to
// be part of a silent token.
func (a *answer) certain() int {
	text := a.visible.String()
	if !a.talking {
		if chat.IsSilentPrefix(text) {
			return 0
		}
		a.talking = true
	}
	return len(text) - silentTail(text)
}

// silentWindow bounds how far back a silent token at the end is looked for.
const silentWindow = 64

// silentTail returns the length of the end of text that is, or may grow into, a
// silent token and the punctuation behind it.
func silentTail(text string) int {
	window := text[max(0, len(text)-silentWindow):]
	if i := strings.LastIndex(window, chat.SilentToken); i >= 0 && wordStart(text, len(text)-len(window)+i) {
		rest := window[i+len(chat.SilentToken):]
		if strings.IndexFunc(rest, isWord) < 0 {
			return len(window) - i
		}
	}
	for n := min(len(chat.SilentToken)-1, len(text)); n > 0; n-- {
		if strings.HasSuffix(text, chat.SilentToken[:n]) && wordStart(text, len(text)-n) {
			return n
		}
	}
	return 0
}

// wordStart reports whether a word may begin at byte i of text.
func wordStart(text string, i int) bool {
	before, _ := utf8.DecodeLastRuneInString(text[:i])
	return i == 0 || !isWord(before)
}

func isWord(r rune) bool {
	return r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
}

// release shows the visible text up to byte n.
func (a *answer) release(n int) {
	if n <= a.shown {
		return
	}
	text := a.visible.String()
	delta := text[a.shown:n]
	a.shown = n
	a.show(text[:n], delta)
}

// finish ends the text: what was held back is shown unless the whole is silence.
func (a *answer) finish() (text string, silent bool) {
	a.append(a.cleaner.Flush())
	text = a.visible.String()
	if chat.IsSilent(text) {
		return text, true
	}
	if strings.TrimSpace(text) != "" {
		a.release(len(text))
	}
	return text, false
}

func (a *answer) closeText() {
	a.boundary = true
	if a.raw.Len() > 0 {
		a.blocks = append(a.blocks, turn.Block{Type: turn.BlockText, Text: a.raw.String()})
		a.raw = strings.Builder{}
	}
}

func (a *answer) closeThinking() {
	if a.think.Len() > 0 {
		a.blocks = append(a.blocks, turn.Block{Type: turn.BlockThinking, Thinking: a.think.String()})
		a.think = strings.Builder{}
	}
}

// broken returns the message of a stream that ended early. Calls are left out:
// none of them was executed, and a call without a result would spoil the
// history. Reasoning without a signature cannot be sent back and goes too.
func (a *answer) broken(info model.Info, reason turn.StopReason, text string, at time.Time) turn.Message {
	a.closeText()
	content := turn.Content{}
	for _, b := range a.blocks {
		if b.Type == turn.BlockText {
			content = append(content, b)
		}
	}
	return turn.Message{
		Role: turn.RoleAssistant, Content: content, API: string(info.API), Provider: info.Ref.Provider, Model: info.Ref.ID,
		Usage: &turn.Usage{}, StopReason: reason, ErrorMessage: text, Timestamp: at.UnixMilli(),
	}
}
