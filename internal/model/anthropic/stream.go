package anthropic

import (
	"encoding/json"
	"strings"

	"openclaw/internal/model"
	"openclaw/internal/turn"
)

// event is the union of the events we read.
type event struct {
	Type    string `json:"type"`
	Message struct {
		Usage usage `json:"usage"`
	} `json:"message"`
	Index        int `json:"index"`
	ContentBlock struct {
		Type      string          `json:"type"`
		Text      string          `json:"text"`
		Thinking  string          `json:"thinking"`
		Signature string          `json:"signature"`
		Data      string          `json:"data"`
		ID        string          `json:"id"`
		Name      string          `json:"name"`
		Input     json.RawMessage `json:"input"`
	} `json:"content_block"`
	Delta struct {
		Type        string `json:"type"`
		Text        string `json:"text"`
		Thinking    string `json:"thinking"`
		Signature   string `json:"signature"`
		PartialJSON string `json:"partial_json"`
		StopReason  string `json:"stop_reason"`
	} `json:"delta"`
	Usage usage `json:"usage"`
}

// usage counts tokens; cached ones are not part of the input. Fields that an
// event leaves out are nil.
type usage struct {
	Input      *int `json:"input_tokens"`
	Output     *int `json:"output_tokens"`
	CacheRead  *int `json:"cache_read_input_tokens"`
	CacheWrite *int `json:"cache_creation_input_tokens"`
}

// onto replaces what u knows: later events repeat the totals so far.
func (u usage) onto(t *turn.Usage) {
	set := func(to *int, from *int) {
		if from != nil {
			*to = *from
		}
	}
	set(&t.Input, u.Input)
	set(&t.Output, u.Output)
	set(&t.CacheRead, u.CacheRead)
	set(&t.CacheWrite, u.CacheWrite)
}

// stream reads the events of one answer.
type stream struct {
	target model.Target
	answer *model.Answer
	yield  func(model.Part, error) bool
	left   bool // the caller wants no more
	seen   bool // there was at least one event of the API

	// The open block, as content_block_start announced it.
	kind, id, name string
	signature      strings.Builder
	arguments      strings.Builder
	input          string // arguments that came with the start

	usage turn.Usage
	stop  string
}

func (s *stream) emit(p model.Part) bool {
	if !s.yield(p, nil) {
		s.left = true
	}
	return !s.left
}

// event takes one event; more is false when the stream is over.
func (s *stream) event(data []byte) (more bool, err error) {
	var e event
	if err := json.Unmarshal(data, &e); err != nil {
		return false, model.ErrNonsense
	}
	switch e.Type {
	case "message_start":
		e.Message.Usage.onto(&s.usage)
	case "content_block_start":
		s.seen = true
		return s.start(e), nil
	case "content_block_delta":
		return s.delta(e), nil
	case "content_block_stop":
		return s.end(), nil
	case "message_delta":
		e.Usage.onto(&s.usage)
		if e.Delta.StopReason != "" {
			s.stop = e.Delta.StopReason
		}
	case "message_stop":
		return false, s.finish()
	case "error":
		return false, s.target.Fail(model.ParseFailure(0, data))
	case "":
		return true, nil
	}
	s.seen = true
	return true, nil
}

func (s *stream) start(e event) bool {
	b := e.ContentBlock
	s.kind, s.id, s.name, s.input = b.Type, b.ID, b.Name, ""
	s.signature.Reset()
	s.arguments.Reset()
	switch b.Type {
	case "text":
		return b.Text == "" || s.emit(s.answer.Text(b.Text))
	case "thinking":
		s.signature.WriteString(b.Signature)
		return b.Thinking == "" || s.emit(s.answer.Thinking(b.Thinking))
	case "redacted_thinking":
		s.signature.WriteString(redacted + b.Data)
	case "tool_use":
		if in := string(b.Input); in != "null" {
			s.input = in
		}
	}
	return true
}

func (s *stream) delta(e event) bool {
	switch d := e.Delta; d.Type {
	case "text_delta":
		return d.Text == "" || s.emit(s.answer.Text(d.Text))
	case "thinking_delta":
		return d.Thinking == "" || s.emit(s.answer.Thinking(d.Thinking))
	case "signature_delta":
		s.signature.WriteString(d.Signature)
	case "input_json_delta":
		s.arguments.WriteString(d.PartialJSON)
	}
	return true
}

// end closes the open block.
func (s *stream) end() bool {
	kind := s.kind
	s.kind = ""
	switch kind {
	case "thinking", "redacted_thinking":
		s.answer.Sign(turn.BlockThinking, s.signature.String())
	case "text":
		s.answer.End()
	case "tool_use":
		args := s.arguments.String()
		if args == "" {
			args = s.input
		}
		return s.emit(s.answer.Call(s.id, s.name, args, ""))
	}
	return true
}

// finish ends the answer. A server that leaves out message_stop is forgiven when
// it said why the answer stopped.
func (s *stream) finish() error {
	switch {
	case !s.seen:
		return model.ErrNonsense
	case s.stop == "":
		return model.ErrTruncated
	}
	if s.kind != "" && !s.end() {
		return nil
	}
	stop := turn.StopEnd
	switch s.stop {
	case "max_tokens", "model_context_window_exceeded":
		stop = turn.StopLength
	case "refusal", "sensitive":
		if s.answer.Empty() {
			return s.target.Declined()
		}
	}
	s.emit(s.answer.Done(s.target.Info, s.usage, stop))
	return nil
}
