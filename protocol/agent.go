package protocol

import "encoding/json"

// Values of status in answers about a run.
const (
	// StatusAccepted marks the first of two responses to agent.
	StatusAccepted = "accepted"
	StatusOK       = "ok"
	StatusError    = "error"
	StatusTimeout  = "timeout"
	StatusPending  = "pending" // agent.wait, protocol 4
	StatusStarted  = "started" // chat.send
	StatusInFlight = "in_flight"
)

// AgentParams starts a run. See docs/protocol.md#agent.
type AgentParams struct {
	Message           string            `json:"message" schema:"minLength=1"`
	AgentID           string            `json:"agentId,omitempty" schema:"minLength=1"`
	Provider          string            `json:"provider,omitempty"`
	Model             string            `json:"model,omitempty"`
	To                string            `json:"to,omitempty"`
	ReplyTo           string            `json:"replyTo,omitempty"`
	SessionID         string            `json:"sessionId,omitempty"`
	SessionKey        string            `json:"sessionKey,omitempty"`
	Thinking          string            `json:"thinking,omitempty"`
	Deliver           bool              `json:"deliver,omitempty"`
	Attachments       []json.RawMessage `json:"attachments,omitempty"` // each an [Attachment]
	Channel           string            `json:"channel,omitempty"`
	ReplyChannel      string            `json:"replyChannel,omitempty"`
	AccountID         string            `json:"accountId,omitempty"`
	ReplyAccountID    string            `json:"replyAccountId,omitempty"`
	ThreadID          string            `json:"threadId,omitempty"`
	GroupID           string            `json:"groupId,omitempty"`
	GroupChannel      string            `json:"groupChannel,omitempty"`
	GroupSpace        string            `json:"groupSpace,omitempty"`
	Timeout           *int64            `json:"timeout,omitempty" schema:"min=0"` // seconds
	Lane              string            `json:"lane,omitempty"`
	ExtraSystemPrompt string            `json:"extraSystemPrompt,omitempty"`
	IdempotencyKey    string            `json:"idempotencyKey" schema:"minLength=1"`
	Label             string            `json:"label,omitempty" schema:"minLength=1,maxLength=64"`
	SpawnedBy         string            `json:"spawnedBy,omitempty"`
}

// Attachment is a file sent along with a message. Content is base64 or a data
// URL; it is any JSON because other types get an error of their own.
type Attachment struct {
	_        struct{}        `schema:"open"`
	Type     string          `json:"type,omitempty"`
	MimeType string          `json:"mimeType,omitempty"`
	FileName string          `json:"fileName,omitempty"`
	Content  json.RawMessage `json:"content,omitempty"`
}

// AgentAccepted is the first answer to agent.
type AgentAccepted struct {
	RunID      string `json:"runId"`
	Status     string `json:"status" schema:"const=accepted"`
	AcceptedAt int64  `json:"acceptedAt"`
}

// AgentResult is the last answer to agent. A failed run has Status "error", the
// error text in Summary and no Result, and comes with an [Error].
type AgentResult struct {
	RunID   string     `json:"runId"`
	Status  string     `json:"status" schema:"enum=ok|error"`
	Summary string     `json:"summary"`
	Result  *RunResult `json:"result,omitempty"`
}

// RunResult is what a run produced.
type RunResult struct {
	Payloads []ReplyPayload `json:"payloads"`
	Meta     RunMeta        `json:"meta"`
}

// ReplyPayload is one piece of a reply.
type ReplyPayload struct {
	_         struct{} `schema:"open"`
	Text      string   `json:"text,omitempty"`
	MediaURL  *string  `json:"mediaUrl"`
	MediaURLs []string `json:"mediaUrls,omitempty"`
	IsError   bool     `json:"isError,omitempty"`
}

// RunMeta describes how a run went.
type RunMeta struct {
	_                  struct{}        `schema:"open"`
	DurationMs         int64           `json:"durationMs"`
	AgentMeta          *AgentMeta      `json:"agentMeta,omitempty"`
	Aborted            bool            `json:"aborted"`
	SystemPromptReport json.RawMessage `json:"systemPromptReport,omitempty"`
	Error              *RunMetaError   `json:"error,omitempty"`
	StopReason         string          `json:"stopReason,omitempty"`
}

// AgentMeta names the session and the model that answered.
type AgentMeta struct {
	_         struct{}  `schema:"open"`
	SessionID string    `json:"sessionId"`
	Provider  string    `json:"provider"`
	Model     string    `json:"model"`
	Usage     *RunUsage `json:"usage,omitempty"`
}

// RunUsage counts the tokens of a run.
type RunUsage struct {
	_          struct{} `schema:"open"`
	Input      int64    `json:"input"`
	Output     int64    `json:"output"`
	CacheRead  int64    `json:"cacheRead"`
	CacheWrite int64    `json:"cacheWrite"`
	Total      int64    `json:"total"`
}

// RunMetaError classifies a failure that was answered as a payload.
type RunMetaError struct {
	_       struct{} `schema:"open"`
	Kind    string   `json:"kind"`
	Message string   `json:"message"`
}

// AgentWaitParams asks for the end of a run. TimeoutMs nil means 30 s, zero
// means do not wait.
type AgentWaitParams struct {
	RunID     string `json:"runId" schema:"minLength=1"`
	TimeoutMs *int64 `json:"timeoutMs,omitempty" schema:"min=0"`
}

// AgentWaitResult answers agent.wait.
type AgentWaitResult struct {
	RunID      string `json:"runId"`
	Status     string `json:"status" schema:"enum=ok|error|timeout|pending"`
	StartedAt  int64  `json:"startedAt,omitempty"`
	EndedAt    int64  `json:"endedAt,omitempty"`
	Error      string `json:"error,omitempty"`
	StopReason string `json:"stopReason,omitempty"` // protocol 4
}

// AgentIdentityGetParams asks how an agent presents itself.
type AgentIdentityGetParams struct {
	AgentID    string `json:"agentId,omitempty" schema:"minLength=1"`
	SessionKey string `json:"sessionKey,omitempty"`
}

// AgentIdentityGetResult is the face of an agent. Avatar is a text, an URL or a
// path below the control UI.
type AgentIdentityGetResult struct {
	AgentID string `json:"agentId" schema:"minLength=1"`
	Name    string `json:"name"`
	Avatar  string `json:"avatar"`
	Emoji   string `json:"emoji,omitempty"`
}

// Streams of an agent event.
const (
	StreamLifecycle  = "lifecycle"
	StreamAssistant  = "assistant"
	StreamTool       = "tool"
	StreamCompaction = "compaction"
	StreamError      = "error"
)

// AgentEvent is the payload of agent. Seq counts per run from 1. Data is one of
// [LifecycleData], [AssistantData], [ToolData], [CompactionData] or
// [StreamErrorData], as Stream says.
type AgentEvent struct {
	RunID      string          `json:"runId" schema:"minLength=1"`
	Seq        int64           `json:"seq" schema:"min=0"`
	Stream     string          `json:"stream" schema:"minLength=1"`
	Ts         int64           `json:"ts" schema:"min=0"`
	Data       json.RawMessage `json:"data"`
	SessionKey string          `json:"sessionKey,omitempty"`
}

// LifecycleData is the data of the lifecycle stream. Phases end and error are
// terminal; a run has exactly one of them.
type LifecycleData struct {
	Phase     string `json:"phase" schema:"enum=start|end|error"`
	StartedAt int64  `json:"startedAt,omitempty"`
	EndedAt   int64  `json:"endedAt,omitempty"`
	Aborted   bool   `json:"aborted,omitempty"`
	Error     string `json:"error,omitempty"`
}

// AssistantData is the data of the assistant stream: Text is the whole message
// so far, Delta what is new.
type AssistantData struct {
	Text      string   `json:"text"`
	Delta     string   `json:"delta"`
	MediaURLs []string `json:"mediaUrls,omitempty"`
}

// ToolData is the data of the tool stream.
type ToolData struct {
	Phase         string          `json:"phase" schema:"enum=start|update|result"`
	Name          string          `json:"name"`
	ToolCallID    string          `json:"toolCallId"`
	Args          json.RawMessage `json:"args,omitempty"`          // start
	PartialResult json.RawMessage `json:"partialResult,omitempty"` // update
	Meta          string          `json:"meta,omitempty"`          // result
	IsError       *bool           `json:"isError,omitempty"`       // result
	Result        json.RawMessage `json:"result,omitempty"`        // result
	DurationMs    *int64          `json:"durationMs,omitempty"`    // result, own addition
}

// CompactionData is the data of the compaction stream.
type CompactionData struct {
	Phase     string `json:"phase" schema:"enum=start|end"`
	WillRetry *bool  `json:"willRetry,omitempty"` // end
}

// StreamErrorData is the data of the error stream, made by the gateway itself.
type StreamErrorData struct {
	Reason   string `json:"reason"`
	Expected int64  `json:"expected"`
	Received int64  `json:"received"`
}
