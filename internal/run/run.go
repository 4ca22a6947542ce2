package run

import (
	"encoding/json"
	"time"

	"openclaw/internal/turn"
)

// ID identifies a run. It equals the caller's idempotency key where one was
// given, otherwise it is a random UUID.
type ID string

// Request is an accepted request: everything the agent needs to execute it.
// SessionKey, SessionID and AgentID are already resolved.
type Request struct {
	ID      ID
	AgentID string

	// SessionKey is the canonical key; empty when the run was addressed by
	// session id alone. EventKey is the same key as the requester wrote it, which
	// is the form that events carry.
	SessionKey string
	EventKey   string
	SessionID  string

	Prompt            string
	Images            []turn.Block
	ExtraSystemPrompt string

	// Provider and Model override the session's choice for this run; empty means none.
	Provider, Model string
	// Thinking and Verbose override the session's levels for this run.
	Thinking, Verbose string

	// Timeout bounds the run, zero means the configured default.
	Timeout time.Duration
	// Lane names the global lane; empty means "main".
	Lane string
	// Channel is the surface the message came from: "webchat", "cli", …; may be empty.
	Channel string
	// NewSession marks the first run of a fresh session.
	NewSession bool
	// Chat marks a run that answers a chat message rather than an agent call; the
	// session then also remembers that its introduction was sent, and the report
	// of its prompt.
	Chat bool
}

// Steer is a message for a run that is under way. The run sees it before its
// next model call.
type Steer struct {
	Prompt string
	Images []turn.Block
	At     time.Time
}

// Abort is the cause with which a run's context is cancelled on purpose. Its
// text is the stop reason that clients see.
type Abort string

const (
	AbortRPC      Abort = "rpc"      // a client called chat.abort
	AbortStop     Abort = "stop"     // the user wrote a stop word or /stop
	AbortTimeout  Abort = "timeout"  // the run took too long
	AbortShutdown Abort = "shutdown" // the gateway stops
	AbortDropped  Abort = "dropped"  // its session's queue was full
)

// Error makes an Abort usable as a cancellation cause.
func (a Abort) Error() string { return "run aborted: " + string(a) }

// ByUser reports whether a person asked for the abort.
func (a Abort) ByUser() bool { return a == AbortRPC || a == AbortStop }

// MaxTimeout stands for "no limit" where a caller asks for a timeout of zero.
const MaxTimeout = 720 * time.Hour

// Stream names the kind of an [Event].
type Stream string

const (
	StreamLifecycle  Stream = "lifecycle"
	StreamAssistant  Stream = "assistant"
	StreamTool       Stream = "tool"
	StreamCompaction Stream = "compaction"
)

// Event is what a run tells the world. Seq starts at 1 for each run and grows
// by one. Exactly one of the typed payloads is set, according to Stream.
// See docs/protocol.md#agent-events.
type Event struct {
	RunID      ID
	Seq        int
	Stream     Stream
	At         time.Time
	SessionKey string // Request.EventKey
	AgentID    string
	SessionID  string
	// Verbose is the level the run works at: off, on or full. It decides how much
	// of the tool stream clients may see.
	Verbose string

	Lifecycle  *Lifecycle
	Assistant  *Assistant
	Tool       *Tool
	Compaction *Compaction
}

// Terminal reports whether e ends its run.
func (e Event) Terminal() bool { return e.Lifecycle != nil && e.Lifecycle.Terminal() }

// Phase is a step in the life of a run or of a tool call.
type Phase string

const (
	PhaseStart  Phase = "start"
	PhaseUpdate Phase = "update"
	PhaseResult Phase = "result"
	PhaseEnd    Phase = "end"
	PhaseError  Phase = "error"
)

// Lifecycle is the payload of [StreamLifecycle]. End and error are terminal.
type Lifecycle struct {
	Phase     Phase
	StartedAt time.Time
	EndedAt   time.Time
	Aborted   bool
	// StopReason says what ended an aborted run. A run that timed out is shown as
	// final without a message, one stopped by a person or a shutdown as aborted.
	StopReason string
	// Error is the user-visible text of a failed run; set with PhaseError, and
	// with PhaseEnd when a model error became the reply or the run timed out.
	Error string
	// Silent says that the reply is silence: text that was streamed before the
	// silent token appeared is not part of the final message.
	Silent bool
}

// Terminal reports whether l ends its run.
func (l Lifecycle) Terminal() bool { return l.Phase == PhaseEnd || l.Phase == PhaseError }

// Assistant is the payload of [StreamAssistant]: Text is everything the current
// assistant message says so far, Delta what is new.
type Assistant struct {
	Text, Delta string
	MediaURLs   []string
}

// Compaction is the payload of [StreamCompaction]; its phases are start and end.
type Compaction struct {
	Phase     Phase
	WillRetry bool // end: the prompt is tried again
}

// Tool is the payload of [StreamTool].
type Tool struct {
	Phase         Phase
	Name          string
	CallID        string
	Args          json.RawMessage // start
	PartialResult *ToolOutput     // update
	Result        *ToolOutput     // result
	Meta          string          // one-line summary of the call, may be empty
	IsError       bool
	Duration      time.Duration // result
}

// ToolOutput is a tool's answer as events carry it: long text cut, no image data.
type ToolOutput struct {
	Content turn.Content    `json:"content"`
	Details json.RawMessage `json:"details,omitempty"`
}

// Payload is one piece of the reply.
type Payload struct {
	Text     string  `json:"text,omitempty"`
	MediaURL *string `json:"mediaUrl"`
	// MediaURLs lists all media when there is more than one.
	MediaURLs []string `json:"mediaUrls,omitempty"`
	IsError   bool     `json:"isError,omitempty"`
}

// Usage is the token count of a run as its outcome reports it.
type Usage struct {
	Input      int `json:"input"`
	Output     int `json:"output"`
	CacheRead  int `json:"cacheRead"`
	CacheWrite int `json:"cacheWrite"`
	Total      int `json:"total"`
}

// AgentMeta names the session and model that answered.
type AgentMeta struct {
	SessionID string `json:"sessionId"`
	Provider  string `json:"provider"`
	Model     string `json:"model"`
	Usage     *Usage `json:"usage,omitempty"`
}

// Meta describes how a run went.
type Meta struct {
	DurationMs         int64           `json:"durationMs"`
	AgentMeta          AgentMeta       `json:"agentMeta"`
	Aborted            bool            `json:"aborted"`
	SystemPromptReport json.RawMessage `json:"systemPromptReport,omitempty"`
	Error              *MetaError      `json:"error,omitempty"`
	StopReason         string          `json:"stopReason,omitempty"`
}

// MetaError classifies a failure that was shown to the user as a payload.
type MetaError struct {
	Kind    string `json:"kind"`
	Message string `json:"message"`
}

// Outcome is how a run ended without throwing. Payloads is never nil.
type Outcome struct {
	Payloads []Payload `json:"payloads"`
	Meta     Meta      `json:"meta"`
	// Unseen are steered messages that the run ended without reading. They were
	// accepted, so the caller must run them.
	Unseen []Steer `json:"-"`
}
