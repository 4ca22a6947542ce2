package model

import (
	"encoding/json"
	"strings"
	"time"

	"openclaw/internal/turn"
)

// Answer assembles the message of one streamed answer, for families. Pieces of
// one kind that follow each other become one block.
type Answer struct {
	began time.Time
	done  turn.Content
	open  turn.BlockType // kind of the block in text, empty for none
	text  strings.Builder
	calls bool
}

// NewAnswer starts an answer; the message carries the time of this call.
func NewAnswer() *Answer { return &Answer{began: time.Now()} }

// Text adds answer text.
func (a *Answer) Text(delta string) Text {
	a.write(turn.BlockText, delta)
	return Text{delta}
}

// Thinking adds reasoning text.
func (a *Answer) Thinking(delta string) Thinking {
	a.write(turn.BlockThinking, delta)
	return Thinking{delta}
}

func (a *Answer) write(kind turn.BlockType, delta string) {
	if a.open != kind {
		a.End()
		a.open = kind
	}
	a.text.WriteString(delta)
}

// End closes the open block, if any.
func (a *Answer) End() { a.Sign("", "") }

// Sign closes the open block and signs it if it is of the given kind. Reasoning
// that came without text is kept as an empty block with its signature.
func (a *Answer) Sign(kind turn.BlockType, signature string) {
	if a.open != kind {
		if a.close(""); kind != turn.BlockThinking || signature == "" {
			return
		}
		a.open = kind
	}
	a.close(signature)
}

func (a *Answer) close(signature string) {
	switch a.open {
	case turn.BlockText:
		a.done = append(a.done, turn.Block{Type: turn.BlockText, Text: a.text.String(), TextSignature: signature})
	case turn.BlockThinking:
		a.done = append(a.done, turn.Block{Type: turn.BlockThinking, Thinking: a.text.String(), ThinkingSignature: signature})
	}
	a.open = ""
	a.text.Reset()
}

// Call adds a complete tool call. Arguments that are no JSON object are kept as
// {} in the message; the part carries them as they came. thought is the
// signature some vendors bind to a call.
func (a *Answer) Call(id, name, arguments, thought string) ToolCall {
	a.End()
	a.calls = true
	if strings.TrimSpace(arguments) == "" {
		arguments = "{}"
	}
	raw := json.RawMessage("{}")
	if isObject(arguments) {
		raw = json.RawMessage(arguments)
	}
	a.done = append(a.done, turn.Block{Type: turn.BlockToolCall, ID: id, Name: name, Arguments: raw, ThoughtSignature: thought})
	return ToolCall{ID: id, Name: name, Arguments: arguments}
}

func isObject(s string) bool {
	return strings.HasPrefix(strings.TrimSpace(s), "{") && json.Valid([]byte(s))
}

// Empty reports whether nothing was added yet.
func (a *Answer) Empty() bool { return len(a.done) == 0 && a.open == "" }

// Done closes the answer. An answer with calls that claims to have simply
// stopped is one that waits for their results.
func (a *Answer) Done(info Info, usage turn.Usage, stop turn.StopReason) Done {
	a.End()
	if a.calls && stop == turn.StopEnd {
		stop = turn.StopToolUse
	}
	usage = info.Cost.Price(usage)
	return Done{turn.Message{Role: turn.RoleAssistant, Content: a.done, API: string(info.API), Provider: info.Ref.Provider,
		Model: info.Ref.ID, Usage: &usage, StopReason: stop, Timestamp: a.began.UnixMilli()}}
}
