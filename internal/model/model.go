package model

import (
	"context"
	"encoding/json"
	"iter"
	"slices"

	"openclaw/internal/turn"
)

// Ref names a model as "provider/model". The model part may itself hold slashes.
type Ref struct{ Provider, ID string }

// String returns the "provider/model" form.
func (r Ref) String() string { return r.Provider + "/" + r.ID }

// IsZero reports whether r names nothing.
func (r Ref) IsZero() bool { return r == Ref{} }

// API names a wire family.
type API string

const (
	APICompletions API = "openai-completions"
	APIResponses   API = "openai-responses"
	APIAnthropic   API = "anthropic-messages"
	APIGoogle      API = "google-generative-ai"
	APIOffline     API = "offline"
)

// Model streams answers from one endpoint. Implementations are safe for
// concurrent use and hold no conversation state.
type Model interface {
	// Stream asks for one answer. The sequence yields parts in order and ends
	// either with a [Done] part or with one non-nil error, which is always an
	// [*Error]. Cancelling ctx ends it within 50 ms with kind [KindAborted].
	// A caller that stops early releases the connection.
	Stream(ctx context.Context, req Request) iter.Seq2[Part, error]
}

// Request is one call of a model.
type Request struct {
	Ref       Ref
	SessionID string // used as prompt cache key where the family knows one
	System    string
	Messages  []turn.Message
	Tools     []Tool
	// Think is the effort: off, minimal, low, medium, high or xhigh; empty is off.
	Think string
	// MaxTokens bounds the answer; zero means the model's own limit.
	MaxTokens   int
	Temperature *float64
	// CacheRetention is none, short or long; empty means the family's default.
	CacheRetention string
}

// Tool describes a function the model may call. Parameters is a JSON Schema object.
type Tool struct {
	Name        string
	Description string
	Parameters  json.RawMessage
}

// Part is a piece of a streamed answer: [Text], [Thinking], [ToolCall] or [Done].
type Part interface{ part() }

// Text is new answer text.
type Text struct{ Delta string }

// Thinking is new reasoning text.
type Thinking struct{ Delta string }

// ToolCall says that a call is complete. Arguments is what the model wrote; it
// may be invalid JSON, which the agent reports back to the model.
type ToolCall struct {
	ID, Name  string
	Arguments string
}

// Done ends a stream. Message is the whole answer as the transcript stores it,
// with usage, stop reason, signatures, api, provider and model filled in.
type Done struct{ Message turn.Message }

func (Text) part()     {}
func (Thinking) part() {}
func (ToolCall) part() {}
func (Done) part()     {}

// Cost is a price in US dollars for a million tokens.
type Cost struct {
	Input, Output, CacheRead, CacheWrite float64
}

// Price fills in what u cost and its total count of tokens.
func (c Cost) Price(u turn.Usage) turn.Usage {
	price := func(tokens int, perMillion float64) float64 { return float64(tokens) * perMillion / 1e6 }
	u.TotalTokens = u.Input + u.Output + u.CacheRead + u.CacheWrite
	u.Cost = turn.Cost{Input: price(u.Input, c.Input), Output: price(u.Output, c.Output),
		CacheRead: price(u.CacheRead, c.CacheRead), CacheWrite: price(u.CacheWrite, c.CacheWrite)}
	u.Cost.Total = u.Cost.Input + u.Cost.Output + u.Cost.CacheRead + u.Cost.CacheWrite
	return u
}

// Info is what is known about a model.
type Info struct {
	Ref           Ref
	Name          string
	API           API
	ContextWindow int // tokens; 200000 when unknown
	MaxTokens     int // tokens; 0 when unknown
	Reasoning     bool
	Input         []string // "text", "image"
	Cost          Cost
}

// Images reports whether the model accepts images.
func (i Info) Images() bool { return slices.Contains(i.Input, "image") }
