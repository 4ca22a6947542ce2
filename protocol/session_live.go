package protocol

import "encoding/json"

// The methods and events of this file belong to protocol 4. See
// docs/protocol.md#protocol-4-sessions.

// SessionsDescribeParams asks for one session. Key may leave out its agent when
// AgentID names it.
type SessionsDescribeParams struct {
	Key                  string `json:"key" schema:"minLength=1"`
	AgentID              string `json:"agentId,omitempty" schema:"minLength=1"`
	IncludeDerivedTitles bool   `json:"includeDerivedTitles,omitempty"`
	IncludeLastMessage   bool   `json:"includeLastMessage,omitempty"`
}

// SessionsDescribeResult is the session, null when there is none.
type SessionsDescribeResult struct {
	Session *SessionState `json:"session"`
}

// SessionState is a session and what goes on in it.
type SessionState struct {
	SessionRow
	HasActiveRun bool   `json:"hasActiveRun"`
	ActiveRunID  string `json:"activeRunId,omitempty"`
}

// SessionsSubscribeResult says that sessions.changed events follow. List is there
// when the params asked for one.
type SessionsSubscribeResult struct {
	Subscribed bool                `json:"subscribed"`
	List       *SessionsListResult `json:"list,omitempty"`
}

// SessionsMessagesParams names the session to follow, or to follow no more.
type SessionsMessagesParams struct {
	Key     string `json:"key" schema:"minLength=1"`
	AgentID string `json:"agentId,omitempty" schema:"minLength=1"`
}

// SessionsMessagesResult holds the canonical key, under which the events of the
// session come.
type SessionsMessagesResult struct {
	Subscribed bool   `json:"subscribed"`
	Key        string `json:"key"`
}

// SessionsSendParams sends a message to a session that exists. Without an
// IdempotencyKey one is made.
type SessionsSendParams struct {
	Key            string            `json:"key" schema:"minLength=1"`
	AgentID        string            `json:"agentId,omitempty" schema:"minLength=1"`
	Message        string            `json:"message"`
	Thinking       string            `json:"thinking,omitempty"`
	Attachments    []json.RawMessage `json:"attachments,omitempty"` // each an [Attachment]
	TimeoutMs      *int64            `json:"timeoutMs,omitempty" schema:"min=0"`
	IdempotencyKey string            `json:"idempotencyKey,omitempty" schema:"minLength=1"`
}

// SessionsAbortParams stops what runs in a session, or the run RunID, for which no
// key is needed. ClearQueued also takes back what waits.
type SessionsAbortParams struct {
	Key         string `json:"key,omitempty" schema:"minLength=1"`
	RunID       string `json:"runId,omitempty" schema:"minLength=1"`
	AgentID     string `json:"agentId,omitempty" schema:"minLength=1"`
	ClearQueued bool   `json:"clearQueued,omitempty"`
}

// Values of [SessionsAbortResult].Status.
const (
	AbortedRun  = "aborted"
	NoActiveRun = "no-active-run"
)

// SessionsAbortResult lists what was stopped. AbortedRunID is the first of them.
type SessionsAbortResult struct {
	OK           bool     `json:"ok"`
	Status       string   `json:"status" schema:"enum=aborted|no-active-run"`
	AbortedRunID *string  `json:"abortedRunId"`
	Aborted      bool     `json:"aborted"`
	RunIDs       []string `json:"runIds"`
}

// SessionsCreateParams makes a session, under a new key unless one is given. With
// a Message it is also spoken to.
type SessionsCreateParams struct {
	Key     string `json:"key,omitempty" schema:"minLength=1"`
	AgentID string `json:"agentId,omitempty" schema:"minLength=1"`
	Label   string `json:"label,omitempty" schema:"minLength=1,maxLength=64"`
	Model   string `json:"model,omitempty" schema:"minLength=1"`
	Message string `json:"message,omitempty"`
}

// SessionsCreateResult is the new session, and the run of its first message.
type SessionsCreateResult struct {
	OK         bool            `json:"ok"`
	Key        string          `json:"key"`
	SessionID  string          `json:"sessionId"`
	Entry      json.RawMessage `json:"entry"`
	Resolved   ResolvedModel   `json:"resolved"`
	RunStarted bool            `json:"runStarted"`
	RunID      string          `json:"runId,omitempty"`
}

// SessionsGetParams asks for the newest messages of a session. Limit nil means 200.
type SessionsGetParams struct {
	Key     string `json:"key" schema:"minLength=1"`
	AgentID string `json:"agentId,omitempty" schema:"minLength=1"`
	Limit   *int   `json:"limit,omitempty" schema:"min=1,max=1000"`
}

// SessionsGetResult lists transcript messages, oldest first.
type SessionsGetResult struct {
	Messages []json.RawMessage `json:"messages"`
}

// Reasons of [SessionsChangedEvent].
const (
	ChangedPatch   = "patch"
	ChangedReset   = "reset"
	ChangedDelete  = "delete"
	ChangedCompact = "compact"
	ChangedCreate  = "create"
	ChangedRun     = "run" // a run began or ended, see Phase
)

// SessionsChangedEvent is the payload of sessions.changed. Session is null when it
// is gone.
type SessionsChangedEvent struct {
	SessionKey string        `json:"sessionKey" schema:"minLength=1"`
	AgentID    string        `json:"agentId,omitempty"`
	Reason     string        `json:"reason" schema:"enum=patch|reset|delete|compact|create|run"`
	Phase      string        `json:"phase,omitempty" schema:"enum=start|end|error"`
	RunID      string        `json:"runId,omitempty"`
	Session    *SessionState `json:"session"`
	Ts         int64         `json:"ts" schema:"min=0"`
}

// SessionMessageEvent is the payload of session.message: a message was added to
// the transcript. It looks as chat.history shows it.
type SessionMessageEvent struct {
	SessionKey string          `json:"sessionKey" schema:"minLength=1"`
	AgentID    string          `json:"agentId,omitempty"`
	Message    json.RawMessage `json:"message"`
	MessageID  string          `json:"messageId,omitempty"`
	RunID      string          `json:"runId,omitempty"`
	Ts         int64           `json:"ts" schema:"min=0"`
}
