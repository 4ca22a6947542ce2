package byo

import "encoding/json"

// ActionConnectivityTest is the action of the task that only wants an answer.
const ActionConnectivityTest = "connectivity_test"

// States of a task.
const (
	TaskQueued    = "queued"
	TaskDelivered = "delivered"
	TaskRunning   = "running"
	TaskCompleted = "completed"
	TaskFailed    = "failed"
)

// Task is the only frame on the stream without an event type. The encrypted
// texts are JSON strings that hold a [StaticV1] envelope. See
// docs/byo.md#tasks-and-chat-over-a-relay.
type Task struct {
	ID                string        `json:"id"`
	SessionID         string        `json:"session_id"`
	Title             string        `json:"title"`
	RequestText       string        `json:"request_text"`
	ActionType        string        `json:"action_type"`
	Status            string        `json:"status"`
	EvidencePayload   *TaskEvidence `json:"evidence_payload"`
	CreatedAt         string        `json:"created_at"`
	BYOEncrypted      bool          `json:"is_byo_encrypted,omitempty"`
	EncryptedTitle    string        `json:"encrypted_title,omitempty"`
	EncryptedRequest  string        `json:"encrypted_request,omitempty"`
	EncryptedEvidence string        `json:"encrypted_evidence,omitempty"`
}

// TaskEvidence is what a task rests on.
type TaskEvidence struct {
	TranscriptExcerpt string `json:"transcript_excerpt,omitempty"`
	SignalSummary     string `json:"signal_summary,omitempty"`
	ToneSummary       string `json:"tone_summary,omitempty"`
	PlaybookLabel     string `json:"playbook_label,omitempty"`
}

// TaskStatus is the body of POST /tasks/{id}/status. A task is offered again until
// it is delivered.
type TaskStatus struct {
	Status       string `json:"status" schema:"enum=delivered|running|completed|failed"`
	RemoteTaskID string `json:"remote_task_id,omitempty"`
}

// Validate names the first field of s that is wrong.
func (s *TaskStatus) Validate() error {
	switch s.Status {
	case TaskDelivered, TaskRunning, TaskCompleted, TaskFailed:
		return nil
	}
	return &FieldError{Field: "status", Problem: "must be delivered, running, completed or failed"}
}

// TaskReply is the body of POST /tasks/{id}/reply. Sealed text is in
// EncryptedSummary, an envelope as a JSON string; Content is a placeholder then.
type TaskReply struct {
	Content          string `json:"content"`
	RemoteMessageID  string `json:"remote_message_id,omitempty"`
	EncryptedSummary string `json:"encrypted_summary,omitempty"`
}

// TaskUpdate tells the desktop what became of a task.
type TaskUpdate struct {
	EventType     string     `json:"event_type" schema:"const=task_update"`
	IntegrationID string     `json:"integration_id"`
	TaskID        string     `json:"task_id"`
	Status        string     `json:"status"`
	Reply         *TaskReply `json:"reply,omitempty"`
}

// TestStarted answers POST /integrations/{id}/test.
type TestStarted struct {
	TestID string `json:"test_id"`
}

// TestReply is the body of POST /integrations/{id}/test-reply.
type TestReply struct {
	TestID  string `json:"test_id"`
	Content string `json:"content"`
}

// IntegrationTest tells the desktop how a connectivity test ended.
type IntegrationTest struct {
	EventType     string `json:"event_type" schema:"const=integration_test"`
	IntegrationID string `json:"integration_id"`
	TestID        string `json:"test_id"`
	OK            bool   `json:"ok"`
	RoundTripMS   int64  `json:"round_trip_ms"`
}

// ChatDispatched is a chat message on the stream to the assistant. Sealed content
// is a [StaticV1] envelope as a JSON string; see [ParseEnvelope].
type ChatDispatched struct {
	EventType     string `json:"event_type" schema:"const=chat_message_dispatched"`
	UserMessageID string `json:"user_message_id"`
	SessionID     string `json:"session_id"`
	Content       string `json:"content"`
}

// ChatPost is the body of POST /integrations/{id}/chat/messages, from the
// desktop. On a sealed integration Content is an envelope as a JSON string.
type ChatPost struct {
	UserMessageID string `json:"user_message_id"`
	SessionID     string `json:"session_id"`
	Content       string `json:"content"`
}

// Validate names the first field of p that is wrong.
func (p *ChatPost) Validate() error {
	if err := CheckMeta("user_message_id", p.UserMessageID); err != nil {
		return err
	}
	if err := CheckSessionID(p.SessionID); err != nil {
		return err
	}
	if p.Content == "" {
		return &FieldError{Field: "content", Problem: "must not be empty"}
	}
	return nil
}

// ChatAccepted answers a [ChatPost]: 202 for a new one, 200 for a repeat.
type ChatAccepted struct {
	UserMessageID string `json:"user_message_id"`
	Status        string `json:"status"`
}

// Statuses of a chat reply over a relay.
const (
	ReplyCompleted = "completed"
	ReplyErrored   = "errored"
)

// ChatReply is the body of POST /chat/messages/{user_message_id}/reply, and of
// …/reply/{id}/complete at the end of a streamed one.
type ChatReply struct {
	Content      string          `json:"content,omitempty"`
	Status       string          `json:"status" schema:"enum=completed|errored"`
	ErrorCode    string          `json:"error_code,omitempty"`
	ErrorMessage string          `json:"error_message,omitempty"`
	Metadata     json.RawMessage `json:"metadata_,omitempty"`
}

// Validate names the first field of r that is wrong.
func (r *ChatReply) Validate() error {
	if r.Status != ReplyCompleted && r.Status != ReplyErrored {
		return &FieldError{Field: "status", Problem: "must be completed or errored"}
	}
	return nil
}

// ChatReplyStarted answers POST /chat/messages/{user_message_id}/reply/start.
type ChatReplyStarted struct {
	ID string `json:"id"`
}

// ChatReplyDelta is the body of POST …/reply/{id}/delta.
type ChatReplyDelta struct {
	Delta string `json:"delta"`
}

// ChatMessage is an assistant's message on the desktop's stream and in
// [ChatMessages].
type ChatMessage struct {
	EventType     string `json:"event_type" schema:"const=chat_message"`
	ID            string `json:"message_id"`
	IntegrationID string `json:"integration_id"`
	UserMessageID string `json:"user_message_id"`
	SessionID     string `json:"session_id"`
	Content       string `json:"content"`
	Status        string `json:"status"`
	ErrorCode     string `json:"error_code,omitempty"`
	ErrorMessage  string `json:"error_message,omitempty"`
	CreatedAt     string `json:"created_at"`
	Cursor        string `json:"cursor,omitempty"` // for ?after=
}

// ChatMessages answers GET /integrations/{id}/chat/messages?after=. Under
// [DuplexV2] the sealed frames are in Frames.
type ChatMessages struct {
	Messages []ChatMessage `json:"messages"`
	Frames   []Frame       `json:"frames,omitempty"`
	Cursor   string        `json:"cursor,omitempty"` // after the last one
}

// ParseEnvelope reads an envelope from a JSON string's text, as chat content and
// encrypted task fields carry it.
func ParseEnvelope(text string) (Envelope, error) {
	var e Envelope
	if err := json.Unmarshal([]byte(text), &e); err != nil || e.Ciphertext == "" {
		return Envelope{}, &FieldError{Field: "envelope", Problem: "must be a JSON object with a ciphertext"}
	}
	return e, nil
}

// EnvelopeText is e as the text of a JSON string.
func EnvelopeText(e Envelope) (string, error) {
	data, err := json.Marshal(e)
	return string(data), err
}
