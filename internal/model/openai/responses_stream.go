package openai

import (
	"context"
	"encoding/json"
	"iter"

	"openclaw/internal/model"
	"openclaw/internal/turn"
)

// Responses is the [model.Family] of the Responses API.
func (c *Client) Responses(t model.Target) (model.Model, error) {
	e, err := c.endpoint(t)
	if err != nil {
		return nil, err
	}
	return &responses{e}, nil
}

type responses struct{ endpoint }

// Stream implements [model.Model].
func (m *responses) Stream(ctx context.Context, req model.Request) iter.Seq2[model.Part, error] {
	return func(yield func(model.Part, error) bool) {
		s := &responsesStream{target: m.target, answer: model.NewAnswer(), yield: yield}
		err := m.call(ctx, "responses", newResponsesRequest(m.target, req), s)
		if err != nil && !s.left {
			yield(nil, m.target.Wrap(ctx, err))
		}
	}
}

// responsesEvent is the union of the events we read.
type responsesEvent struct {
	Type     string          `json:"type"`
	Delta    json.RawMessage `json:"delta"`
	Item     json.RawMessage `json:"item"`
	Response *struct {
		Status            string          `json:"status"`
		Error             json.RawMessage `json:"error"`
		Usage             *responsesUsage `json:"usage"`
		IncompleteDetails struct {
			Reason string `json:"reason"`
		} `json:"incomplete_details"`
	} `json:"response"`
}

// outputItem is a finished item.
type outputItem struct {
	Type      string `json:"type"`
	ID        string `json:"id"`
	CallID    string `json:"call_id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

type responsesUsage struct {
	InputTokens        int `json:"input_tokens"`
	OutputTokens       int `json:"output_tokens"`
	InputTokensDetails struct {
		CachedTokens int `json:"cached_tokens"`
	} `json:"input_tokens_details"`
}

func (u responsesUsage) usage() turn.Usage {
	read := u.InputTokensDetails.CachedTokens
	return turn.Usage{Input: max(0, u.InputTokens-read), Output: u.OutputTokens, CacheRead: read}
}

// responsesStream reads the events of one answer.
type responsesStream struct {
	target model.Target
	answer *model.Answer
	yield  func(model.Part, error) bool
	left   bool // the caller wants no more
	seen   bool // there was at least one event of the API
	parts  int  // summary parts of the open reasoning item
}

func (s *responsesStream) emit(p model.Part) bool {
	if !s.yield(p, nil) {
		s.left = true
	}
	return !s.left
}

func (s *responsesStream) event(data []byte) (more bool, err error) {
	var e responsesEvent
	if err := json.Unmarshal(data, &e); err != nil {
		return false, model.ErrNonsense
	}
	s.seen = s.seen || e.Type != ""
	switch e.Type {
	case "response.output_text.delta", "response.refusal.delta":
		return s.text(e.Delta, func(t string) model.Part { return s.answer.Text(t) }), nil
	case "response.reasoning_summary_text.delta", "response.reasoning_text.delta":
		return s.text(e.Delta, func(t string) model.Part { return s.answer.Thinking(t) }), nil
	case "response.reasoning_summary_part.added":
		if s.parts++; s.parts > 1 { // parts are paragraphs
			return s.emit(s.answer.Thinking("\n\n")), nil
		}
	case "response.output_item.done":
		return s.item(e.Item)
	case "response.completed", "response.incomplete":
		return false, s.end(e)
	case "response.failed":
		f := model.ParseFailure(0, nil)
		if e.Response != nil {
			f = model.ParseFailure(0, e.Response.Error)
		}
		return false, s.target.Fail(f)
	case "error":
		return false, s.target.Fail(model.ParseFailure(0, data))
	}
	return true, nil
}

// text streams a delta, which is a JSON string.
func (s *responsesStream) text(delta json.RawMessage, part func(string) model.Part) bool {
	var t string
	if json.Unmarshal(delta, &t) != nil || t == "" {
		return true
	}
	return s.emit(part(t))
}

// item takes a finished item: it closes a block with its signature, or is a call.
func (s *responsesStream) item(raw json.RawMessage) (more bool, err error) {
	var it outputItem
	if err := json.Unmarshal(raw, &it); err != nil {
		return false, model.ErrNonsense
	}
	switch it.Type {
	case "reasoning":
		s.parts = 0
		s.answer.Sign(turn.BlockThinking, string(raw))
	case "message":
		s.answer.Sign(turn.BlockText, it.ID)
	case "function_call":
		id := it.CallID
		if it.ID != "" {
			id += "|" + it.ID
		}
		return s.emit(s.answer.Call(id, it.Name, it.Arguments, "")), nil
	}
	return true, nil
}

func (s *responsesStream) end(e responsesEvent) error {
	if e.Response == nil {
		return model.ErrNonsense
	}
	var usage turn.Usage
	if e.Response.Usage != nil {
		usage = e.Response.Usage.usage()
	}
	stop := turn.StopEnd
	if e.Type == "response.incomplete" {
		switch e.Response.IncompleteDetails.Reason {
		case "content_filter":
			if s.answer.Empty() {
				return s.target.Declined()
			}
		default:
			stop = turn.StopLength
		}
	}
	s.emit(s.answer.Done(s.target.Info, usage, stop))
	return nil
}

func (s *responsesStream) finish() error {
	if !s.seen {
		return model.ErrNonsense
	}
	return model.ErrTruncated // the end is an event of its own
}
