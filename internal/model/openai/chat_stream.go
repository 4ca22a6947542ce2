package openai

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"iter"
	"slices"
	"strings"

	"openclaw/internal/model"
	"openclaw/internal/turn"
)

// Names of the fields in which servers stream reasoning. They double as the
// signature of the block, so that it goes back under the same name.
const (
	fieldReasoningContent = "reasoning_content"
	fieldReasoning        = "reasoning"
)

// Completions is the [model.Family] of Chat Completions. It also serves
// [model.APIGoogle] through Gemini's compatible endpoint.
func (c *Client) Completions(t model.Target) (model.Model, error) {
	e, err := c.endpoint(t)
	if err != nil {
		return nil, err
	}
	return &completions{endpoint: e, dialect: dialectOf(t)}, nil
}

type completions struct {
	endpoint
	dialect dialect
}

// Stream implements [model.Model].
func (m *completions) Stream(ctx context.Context, req model.Request) iter.Seq2[model.Part, error] {
	return func(yield func(model.Part, error) bool) {
		s := &chatStream{target: m.target, answer: model.NewAnswer(), yield: yield}
		err := m.call(ctx, "chat/completions", newChatRequest(m.target, m.dialect, req), s)
		if err != nil && !s.left {
			yield(nil, m.target.Wrap(ctx, err))
		}
	}
}

// chatChunk is one event. Usage and choices may each be missing.
type chatChunk struct {
	Error   json.RawMessage `json:"error"`
	Choices []struct {
		Delta        chatDelta  `json:"delta"`
		FinishReason string     `json:"finish_reason"`
		Usage        *chatUsage `json:"usage"` // Moonshot puts it here
	} `json:"choices"`
	Usage *chatUsage `json:"usage"`
}

type chatDelta struct {
	Content          string          `json:"content"`
	Refusal          string          `json:"refusal"`
	ReasoningContent string          `json:"reasoning_content"`
	Reasoning        json.RawMessage `json:"reasoning"` // a string, rarely an object
	ToolCalls        []chatCallDelta `json:"tool_calls"`
}

type chatCallDelta struct {
	Index    *int   `json:"index"`
	ID       string `json:"id"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
	ExtraContent *extraContent `json:"extra_content"`
}

type chatUsage struct {
	PromptTokens        int `json:"prompt_tokens"`
	CompletionTokens    int `json:"completion_tokens"`
	PromptTokensDetails struct {
		CachedTokens     int `json:"cached_tokens"`
		CacheWriteTokens int `json:"cache_write_tokens"`
	} `json:"prompt_tokens_details"`
	PromptCacheHitTokens int `json:"prompt_cache_hit_tokens"` // DeepSeek
}

// usage turns counts that include cached tokens into ours, which do not.
func (u chatUsage) usage() turn.Usage {
	read := max(u.PromptTokensDetails.CachedTokens, u.PromptCacheHitTokens)
	write := u.PromptTokensDetails.CacheWriteTokens
	return turn.Usage{Input: max(0, u.PromptTokens-read-write), Output: u.CompletionTokens, CacheRead: read, CacheWrite: write}
}

// chatStream reads the chunks of one answer.
type chatStream struct {
	target model.Target
	answer *model.Answer
	yield  func(model.Part, error) bool
	left   bool // the caller wants no more

	field  string // field of the open reasoning, empty for none
	calls  []*pendingCall
	usage  turn.Usage // the last one counts: Gemini repeats growing totals
	reason string     // finish_reason
	seen   bool       // there was at least one chunk
}

// pendingCall is a tool call whose arguments are still coming.
type pendingCall struct {
	index     int
	id, name  string
	arguments strings.Builder
	thought   string
}

func (s *chatStream) emit(p model.Part) bool {
	if !s.yield(p, nil) {
		s.left = true
	}
	return !s.left
}

func (s *chatStream) event(data []byte) (more bool, err error) {
	var c chatChunk
	if err := json.Unmarshal(data, &c); err != nil {
		return false, model.ErrNonsense
	}
	if len(c.Error) > 0 && string(c.Error) != "null" {
		return false, s.target.Fail(model.ParseFailure(0, data))
	}
	s.seen = s.seen || c.Choices != nil || c.Usage != nil
	if c.Usage != nil {
		s.usage = c.Usage.usage()
	}
	if len(c.Choices) == 0 {
		return true, nil
	}
	choice := c.Choices[0]
	if choice.Usage != nil {
		s.usage = choice.Usage.usage()
	}
	if !s.delta(choice.Delta) {
		return false, nil
	}
	if choice.FinishReason != "" {
		s.reason = choice.FinishReason
	}
	return true, nil
}

// delta takes what a chunk adds to the answer.
func (s *chatStream) delta(d chatDelta) bool {
	if field, text := d.reasoning(); text != "" {
		s.field = field
		if !s.emit(s.answer.Thinking(text)) {
			return false
		}
	}
	if text := d.Content + d.Refusal; text != "" {
		s.endReasoning()
		if !s.emit(s.answer.Text(text)) {
			return false
		}
	}
	for _, c := range d.ToolCalls {
		s.endReasoning()
		s.addCall(c)
	}
	return true
}

func (d chatDelta) reasoning() (field, text string) {
	if d.ReasoningContent != "" {
		return fieldReasoningContent, d.ReasoningContent
	}
	if len(d.Reasoning) > 0 && json.Unmarshal(d.Reasoning, &text) == nil {
		return fieldReasoning, text
	}
	return "", ""
}

func (s *chatStream) endReasoning() {
	if s.field != "" {
		s.answer.Sign(turn.BlockThinking, s.field)
		s.field = ""
	}
}

// addCall joins the pieces of a call by index. Servers that leave the index out
// send a new id for each call.
func (s *chatStream) addCall(d chatCallDelta) {
	p := s.pending(d)
	if d.ID != "" {
		p.id = d.ID
	}
	if p.name == "" {
		p.name = d.Function.Name // some servers repeat it with each piece
	}
	p.arguments.WriteString(d.Function.Arguments)
	if d.ExtraContent != nil && d.ExtraContent.Google.ThoughtSignature != "" {
		p.thought = d.ExtraContent.Google.ThoughtSignature
	}
}

func (s *chatStream) pending(d chatCallDelta) *pendingCall {
	index := len(s.calls)
	if d.Index != nil {
		index = *d.Index
	} else if d.ID == "" && index > 0 {
		return s.calls[index-1]
	}
	for _, p := range slices.Backward(s.calls) {
		// Some servers number every parallel call 0; their ids still differ.
		if p.index == index && (d.ID == "" || p.id == "" || p.id == d.ID) {
			return p
		}
	}
	p := &pendingCall{index: index}
	s.calls = append(s.calls, p)
	return p
}

func (s *chatStream) finish() error {
	switch {
	case !s.seen:
		return model.ErrNonsense
	case s.reason == "" || s.reason == "error":
		return model.ErrTruncated // with or without [DONE]: the answer has no end
	}
	s.endReasoning()
	for _, c := range s.calls {
		if c.id == "" {
			c.id = "call_" + rand.Text()
		}
		if !s.emit(s.answer.Call(c.id, c.name, c.arguments.String(), c.thought)) {
			return nil
		}
	}
	stop := turn.StopEnd
	switch s.reason {
	case "length", "max_tokens":
		stop = turn.StopLength
	case "content_filter", "safety":
		if s.answer.Empty() {
			return s.target.Declined()
		}
	}
	s.emit(s.answer.Done(s.target.Info, s.usage, stop))
	return nil
}
