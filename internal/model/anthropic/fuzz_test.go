package anthropic

import (
	"errors"
	"testing"

	"openclaw/internal/model"
)

// FuzzEvents feeds one event several times, around ordinary ones. Whatever it
// holds, a stream ends with a finished message or a typed error.
func FuzzEvents(f *testing.F) {
	for _, s := range []string{
		`{"type":"content_block_delta","delta":{"type":"text_delta","text":"a"}}`, `{"type":"content_block_start","content_block":{"type":"tool_use"}}`,
		`{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":1}}`, `{"type":"message_stop"}`, `{"type":"error"}`,
		`{"type":"content_block_start","content_block":{"type":"redacted_thinking","data":"x"}}`, `{"type":"content_block_stop"}`, `null`, `[]`, `{}`,
	} {
		f.Add([]byte(s))
	}
	target := model.Target{Info: model.Info{Ref: model.Ref{Provider: "p", ID: "m"}}}
	f.Fuzz(func(t *testing.T, event []byte) {
		var done *model.Done
		s := &stream{target: target, answer: model.NewAnswer(), yield: func(p model.Part, err error) bool {
			if d, ok := p.(model.Done); ok {
				done = &d
			}
			return true
		}}
		err := feed(s, event, []byte(`{"type":"content_block_start","content_block":{"type":"text"}}`), event,
			[]byte(`{"type":"message_delta","delta":{"stop_reason":"end_turn"}}`))
		var e *model.Error
		switch {
		case (err == nil) != (done != nil):
			t.Errorf("with %q: error %v, done %v", event, err, done)
		case err == nil, errors.As(err, &e), errors.Is(err, model.ErrNonsense), errors.Is(err, model.ErrTruncated):
		default:
			t.Errorf("with %q it fails with the untyped %v", event, err)
		}
	})
}

func feed(s *stream, events ...[]byte) error {
	for _, e := range events {
		if more, err := s.event(e); err != nil || !more {
			return err
		}
	}
	return s.finish()
}
