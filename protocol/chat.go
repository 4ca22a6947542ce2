package protocol

import "encoding/json"

// ChatHistoryParams asks for the newest messages of a session. Limit nil means 200.
type ChatHistoryParams struct {
	SessionKey string `json:"sessionKey" schema:"minLength=1"`
	Limit      *int   `json:"limit,omitempty" schema:"min=1,max=1000"`
}

// ChatHistoryResult lists transcript messages, oldest first. An unknown session
// has none.
type ChatHistoryResult struct {
	SessionKey    string            `json:"sessionKey"`
	SessionID     string            `json:"sessionId,omitempty"`
	Messages      []json.RawMessage `json:"messages"`
	ThinkingLevel string            `json:"thinkingLevel,omitempty"`
	VerboseLevel  string            `json:"verboseLevel,omitempty"`
}

// ChatSendParams sends a message as a user of the web chat would. TimeoutMs nil
// means the configured default, zero means no practical limit.
type ChatSendParams struct {
	SessionKey     string            `json:"sessionKey" schema:"minLength=1"`
	Message        string            `json:"message"`
	Thinking       string            `json:"thinking,omitempty"`
	Deliver        bool              `json:"deliver,omitempty"`
	Attachments    []json.RawMessage `json:"attachments,omitempty"` // each an [Attachment]
	TimeoutMs      *int64            `json:"timeoutMs,omitempty" schema:"min=0"`
	IdempotencyKey string            `json:"idempotencyKey" schema:"minLength=1"`
}

// ChatSendResult answers chat.send: the run was started, is in flight, or is
// done. Stop words answer with [ChatAbortResult] instead.
type ChatSendResult struct {
	RunID  string `json:"runId"`
	Status string `json:"status" schema:"enum=started|in_flight|ok|error"`
	// Summary is the error text with status "error".
	Summary string `json:"summary,omitempty"`
}

// ChatAbortParams aborts one chat run, or all of a session.
type ChatAbortParams struct {
	SessionKey string `json:"sessionKey" schema:"minLength=1"`
	RunID      string `json:"runId,omitempty" schema:"minLength=1"`
}

// ChatAbortResult lists what was aborted.
type ChatAbortResult struct {
	OK      bool     `json:"ok"`
	Aborted bool     `json:"aborted"`
	RunIDs  []string `json:"runIds"`
}

// States of a chat event.
const (
	ChatDelta   = "delta"
	ChatFinal   = "final"
	ChatAborted = "aborted"
	ChatError   = "error"
)

// Stop reasons of an aborted chat event.
const (
	StopRPC     = "rpc"
	StopWord    = "stop"
	StopTimeout = "timeout"
	// StopInjected marks a message that no model wrote.
	StopInjected = "injected"
)

// ChatEvent is the payload of chat. See docs/protocol.md#chat-events.
type ChatEvent struct {
	RunID string `json:"runId" schema:"minLength=1"`
	// SessionKey is written as the requester wrote it.
	SessionKey   string          `json:"sessionKey" schema:"minLength=1"`
	Seq          int64           `json:"seq" schema:"min=0"`
	State        string          `json:"state" schema:"enum=delta|final|aborted|error"`
	Message      *ChatMessage    `json:"message,omitempty"`
	DeltaText    string          `json:"deltaText,omitempty"` // protocol 4
	Replace      bool            `json:"replace,omitempty"`   // protocol 4
	ErrorMessage string          `json:"errorMessage,omitempty"`
	ErrorKind    string          `json:"errorKind,omitempty"` // protocol 4
	Usage        json.RawMessage `json:"usage,omitempty"`
	StopReason   string          `json:"stopReason,omitempty"`
}

// ChatMessage is the message of a chat event; its text is the whole reply so far.
type ChatMessage struct {
	_          struct{}      `schema:"open"`
	Role       string        `json:"role"`
	Content    []ChatContent `json:"content"`
	Timestamp  int64         `json:"timestamp"`
	StopReason string        `json:"stopReason,omitempty"`
	Usage      *ChatUsage    `json:"usage,omitempty"`
}

// ChatContent is one block of a chat message.
type ChatContent struct {
	_    struct{} `schema:"open"`
	Type string   `json:"type"`
	Text string   `json:"text"`
}

// ChatUsage is the usage of an injected message: all zero.
type ChatUsage struct {
	_           struct{} `schema:"open"`
	Input       int64    `json:"input"`
	Output      int64    `json:"output"`
	TotalTokens int64    `json:"totalTokens"`
}

// ChatInjectParams adds an assistant message that no model wrote.
type ChatInjectParams struct {
	SessionKey string `json:"sessionKey" schema:"minLength=1"`
	Message    string `json:"message" schema:"minLength=1"`
	Label      string `json:"label,omitempty" schema:"maxLength=100"`
}

// ChatInjectResult names the new transcript entry.
type ChatInjectResult struct {
	OK        bool   `json:"ok"`
	MessageID string `json:"messageId"`
}

// ChatUserEvent is the payload of chat.user: what somebody else said in an open
// session. Images come without their data.
type ChatUserEvent struct {
	SessionKey string          `json:"sessionKey" schema:"minLength=1"`
	RunID      string          `json:"runId" schema:"minLength=1"`
	Message    ChatUserMessage `json:"message"`
	Ts         int64           `json:"ts" schema:"min=0"`
}

// ChatUserMessage is the message of a chat.user event.
type ChatUserMessage struct {
	Role      string            `json:"role" schema:"const=user"`
	Content   []ChatUserContent `json:"content"`
	Timestamp int64             `json:"timestamp"`
}

// ChatUserContent is one block of a user's message.
type ChatUserContent struct {
	Type     string `json:"type" schema:"enum=text|image"`
	Text     string `json:"text,omitempty"`     // text
	MimeType string `json:"mimeType,omitempty"` // image
	Bytes    int    `json:"bytes,omitempty"`    // image
}
