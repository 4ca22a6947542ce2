package byo

import (
	"encoding/json"
	"errors"
	"strings"
)

// Statuses of a callback. See docs/byo.md#callbacks.
const (
	StatusMessage = "message" // a message of the assistant; repeatable, ends nothing
	StatusTyping  = "typing"  // the assistant works
	StatusErrored = "errored" // the turn failed; the conversation goes on

	StatusCompleted = "completed" // old: the only message of a turn, or blank: the turn is over
	StatusSilent    = "silent"    // old: the turn is over without a message
	StatusToolCall  = "tool_call" // old: as typing

	StatusStream = "stream" // a draft that is never kept
	StatusNotice = "notice" // shown like a typing label, never kept
)

// KnownStatus reports whether a desktop takes callbacks of that status.
func KnownStatus(status string) bool {
	switch status {
	case StatusMessage, StatusTyping, StatusErrored, StatusCompleted, StatusSilent, StatusToolCall, StatusStream, StatusNotice:
		return true
	}
	return false
}

// TransientStatus reports whether a callback of that status is worth one try only.
func TransientStatus(status string) bool {
	switch status {
	case StatusTyping, StatusToolCall, StatusStream, StatusNotice:
		return true
	}
	return false
}

// Types of a [Chunk].
const (
	ChunkStart     = "start"
	ChunkTextStart = "text-start"
	ChunkTextDelta = "text-delta"
	ChunkTextEnd   = "text-end"
	ChunkFinish    = "finish"
)

// Chunk is a piece of a streamed draft.
type Chunk struct {
	Type         string `json:"type" schema:"enum=start|text-start|text-delta|text-end|finish"`
	MessageID    string `json:"messageId,omitempty"`
	ID           string `json:"id,omitempty"`
	Delta        string `json:"delta,omitempty"`
	FinishReason string `json:"finishReason,omitempty"`
}

// Callback is what an assistant adds to a conversation: the body of POST
// {callback_url}/tasks/{task_id}, the data of an event of /v1/events, and the
// plaintext of a chat_out frame. SessionID names the conversation and is echoed
// byte for byte.
type Callback struct {
	SessionID     string `json:"session_id"`
	Status        string `json:"status"`
	MessageID     string `json:"message_id,omitempty"` // stable and unique for StatusMessage
	UserMessageID string `json:"user_message_id,omitempty"`
	ReplyText     string `json:"reply_text,omitempty"`
	Label         string `json:"label,omitempty"`
	ErrorCode     string `json:"error_code,omitempty"`
	ErrorMessage  string `json:"error_message,omitempty"`

	TaskID     string          `json:"task_id,omitempty"` // that of the path, if at all
	Model      json.RawMessage `json:"model,omitempty"`
	ChatID     string          `json:"chat_id,omitempty"`
	OccurredAt string          `json:"occurred_at,omitempty"`
	Chunk      *Chunk          `json:"chunk,omitempty"`
}

// Errors of [Callback.Validate]; their texts are the error of the answer.
var (
	ErrInvalidTaskID   = errors.New("invalid_task_id")
	ErrTaskIDMismatch  = errors.New("task_id_mismatch")
	ErrSessionRequired = errors.New("session_id required")
	ErrInvalidStatus   = errors.New("invalid status")
)

// Validate checks c against the task id of the path, in the order of the
// desktop's answers: all of these are 400 and final.
func (c *Callback) Validate(taskID string) error {
	switch {
	case CheckUUID("task_id", taskID) != nil:
		return ErrInvalidTaskID
	case c.TaskID != "" && c.TaskID != taskID:
		return ErrTaskIDMismatch
	case strings.TrimSpace(c.SessionID) == "":
		return ErrSessionRequired
	case !KnownStatus(c.Status):
		return ErrInvalidStatus
	}
	return nil
}

// Reasons in a [CallbackAnswer] for what was taken and dropped.
const (
	ReasonSessionEnded     = "session_ended"
	ReasonSessionMismatch  = "session_mismatch" // public desktops; the same to a sender
	ReasonEmptyMessage     = "empty_message"
	ReasonDuplicate        = "duplicate"
	ReasonAlreadyFinalized = "already_finalized"
)

// CallbackAnswer is the desktop's answer.
type CallbackAnswer struct {
	OK      bool   `json:"ok"`
	Ignored bool   `json:"ignored,omitempty"`
	Reason  string `json:"reason,omitempty"`
	Probe   bool   `json:"probe,omitempty"`
	Error   string `json:"error,omitempty"` // ErrorReplyPersist and the like
}

// Errors in a [CallbackAnswer], beside those of [Callback.Validate].
const (
	ErrorForbidden    = "forbidden"
	ErrorTooLarge     = "too_large"
	ErrorInvalidJSON  = "invalid_json"
	ErrorReplyPersist = "reply_persist_failed" // 500: send it again
)

// InsightsPrefix in front of a call's session marks turns that belong to the
// insights tab instead of the chat.
const InsightsPrefix = "insights:"

// SplitSession separates the prefix of insights from a session id.
func SplitSession(sessionID string) (session string, insights bool) {
	return strings.CutPrefix(sessionID, InsightsPrefix)
}
