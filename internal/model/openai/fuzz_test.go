package openai

import (
	"errors"
	"testing"

	"openclaw/internal/model"
)

// FuzzEvents feeds one event several times, around ordinary ones. Whatever it
// holds, a stream ends with a finished message or a typed error.
func FuzzEvents(f *testing.F) {
	for _, s := range []string{
		`{"choices":[{"delta":{"content":"a","tool_calls":[{"index":1}]}}]}`, `{"choices":[{"delta":{},"finish_reason":"stop"}]}`,
		`{"usage":{"prompt_tokens":1}}`, `{"error":{"message":"x"}}`, `{"type":"response.completed","response":{"usage":null}}`,
		`{"type":"response.output_item.done","item":{"type":"function_call"}}`, `{"type":"error"}`, `null`, `[]`, `{"choices":[{}]}`,
	} {
		f.Add([]byte(s))
	}
	target := model.Target{Info: model.Info{Ref: model.Ref{Provider: "p", ID: "m"}}}
	f.Fuzz(func(t *testing.T, event []byte) {
		var done *model.Done
		yield := func(p model.Part, err error) bool {
			if d, ok := p.(model.Done); ok {
				done = &d
			}
			return true
		}
		for _, h := range []handler{
			&chatStream{target: target, answer: model.NewAnswer(), yield: yield},
			&responsesStream{target: target, answer: model.NewAnswer(), yield: yield},
		} {
			done = nil
			err := feed(h, event, []byte(`{"type":"x","choices":[{"delta":{"content":"a"}}]}`), event, []byte(`{"choices":[{"finish_reason":"stop"}]}`))
			var e *model.Error
			switch {
			case (err == nil) != (done != nil):
				t.Errorf("%T with %q: error %v, done %v", h, event, err, done)
			case err == nil, errors.As(err, &e), errors.Is(err, model.ErrNonsense), errors.Is(err, model.ErrTruncated):
			default:
				t.Errorf("%T with %q fails with the untyped %v", h, event, err)
			}
		}
	})
}

func feed(h handler, events ...[]byte) error {
	for _, e := range events {
		if more, err := h.event(e); err != nil || !more {
			return err
		}
	}
	return h.finish()
}
