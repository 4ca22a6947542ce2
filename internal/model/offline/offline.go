package offline

import (
	"context"
	"iter"
	"strconv"
	"time"

	"openclaw/internal/cue"
	"openclaw/internal/model"
	"openclaw/internal/turn"
)

// chunk is how many characters a streamed piece has.
const chunk = 24

// Model answers without a language model.
type Model struct{ target model.Target }

// New makes the offline model; it is a [model.Family] and never fails.
func New(t model.Target) (model.Model, error) { return &Model{target: t}, nil }

// Stream implements [model.Model].
func (m *Model) Stream(ctx context.Context, req model.Request) iter.Seq2[model.Part, error] {
	return func(yield func(model.Part, error) bool) {
		t := m.answer(req)
		err := wait(ctx, t.Delay)
		if err == nil && t.Verb == cue.Fail {
			err = m.target.Fail(failure(t))
		}
		if err != nil {
			yield(nil, m.target.Wrap(ctx, err))
			return
		}
		if done := m.play(ctx, t, req, yield); done != nil {
			yield(*done, nil)
		}
	}
}

// play streams a turn. It returns nil when it already ended the stream.
func (m *Model) play(ctx context.Context, t cue.Turn, req model.Request, yield func(model.Part, error) bool) *model.Done {
	a := model.NewAnswer()
	send := func(text string, part func(string) model.Part) bool {
		for piece := range pieces(text) {
			if ctx.Err() != nil {
				yield(nil, m.target.Wrap(ctx, ctx.Err()))
				return false
			}
			if !yield(part(piece), nil) {
				return false
			}
		}
		return true
	}
	if !send(t.Thinking, func(s string) model.Part { return a.Thinking(s) }) ||
		!send(t.Text, func(s string) model.Part { return a.Text(s) }) {
		return nil
	}
	for i, c := range t.Calls {
		if !yield(a.Call(callID(req, i), c.Name, c.Args, ""), nil) {
			return nil
		}
	}
	done := a.Done(m.target.Info, usage(req, t), turn.StopEnd)
	return &done
}

// callID is unique within a conversation, because each turn sees a longer one.
func callID(req model.Request, i int) string {
	return "call_offline_" + strconv.Itoa(len(req.Messages)) + "_" + strconv.Itoa(i)
}

// pieces cuts text into chunks of whole characters.
func pieces(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		start, n := 0, 0
		for i := range text {
			if n == chunk {
				if !yield(text[start:i]) {
					return
				}
				start, n = i, 0
			}
			n++
		}
		if start < len(text) {
			yield(text[start:])
		}
	}
}

// wait pauses for d, or less when ctx ends.
func wait(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// failure is what a server would say for "error CODE".
func failure(t cue.Turn) model.Failure {
	f := model.Failure{RetryAfter: time.Duration(t.RetryAfter) * time.Second, Message: "asked for with the error directive"}
	if code, err := strconv.Atoi(t.Failure); err == nil && code >= 400 && code <= 599 {
		f.Status = code
	} else {
		f.Status = 500
	}
	return f
}

// usage counts four characters to a token, which is a rule of thumb and no more.
func usage(req model.Request, t cue.Turn) turn.Usage {
	in := len(req.System)
	for _, m := range req.Messages {
		for _, b := range m.Content {
			in += len(b.Text) + len(b.Thinking) + len(b.Arguments)
		}
	}
	out := len(t.Text) + len(t.Thinking)
	for _, c := range t.Calls {
		out += len(c.Name) + len(c.Args)
	}
	return turn.Usage{Input: (in + 3) / 4, Output: (out + 3) / 4}
}
