package byo

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"
)

// Reasons of what a desktop sends. See docs/byo.md#incoming.
const (
	ReasonChatMessage     = "chat_message"
	ReasonTranscriptChunk = "transcript_chunk"
	ReasonSystemPrelude   = "system_prelude"
)

// Incoming is the body of POST /v1/incoming on the assistant's listener, and the
// plaintext of a chat_in frame.
type Incoming struct {
	TaskID     string          `json:"task_id"`
	SessionID  string          `json:"session_id"`
	Reason     string          `json:"reason" schema:"enum=transcript_chunk|chat_message|system_prelude"`
	OccurredAt string          `json:"occurred_at,omitempty"`
	ChatID     string          `json:"chat_id,omitempty"`
	Payload    IncomingPayload `json:"payload"`
	Callback   *CallbackTarget `json:"callback,omitempty"` // without it answers go to /v1/events
}

// IncomingPayload is what was said.
type IncomingPayload struct {
	Text            string  `json:"text" schema:"maxLength=16000"`
	UserMessageID   string  `json:"user_message_id,omitempty"`
	ParentMessageID string  `json:"parent_message_id,omitempty"`
	TSStartMS       float64 `json:"ts_start_ms,omitempty"` // since the start of the call
	TSEndMS         float64 `json:"ts_end_ms,omitempty"`
	IsFinal         *bool   `json:"is_final,omitempty"` // of a transcript chunk
}

// Final reports whether the text will not change any more. A transcript chunk
// that does not say so will.
func (p *IncomingPayload) Final() bool { return p.IsFinal != nil && *p.IsFinal }

// CallbackTarget says where answers go.
type CallbackTarget struct {
	URL   string `json:"url"` // origin only: no path, query, fragment or user
	Token Secret `json:"token" schema:"minLength=16"`
}

// ParseIncoming decodes and validates a body; the error names the first field
// that is wrong. Optional fields of the wrong kind count as absent. Whether the
// callback's host is one to talk to is for the listener's guard to say.
func ParseIncoming(data []byte) (Incoming, error) {
	var obj map[string]json.RawMessage
	if json.Unmarshal(data, &obj) != nil || obj == nil {
		return Incoming{}, &FieldError{Field: "body", Problem: "must be an object"}
	}
	in := Incoming{
		TaskID: text(obj["task_id"]), SessionID: text(obj["session_id"]), Reason: text(obj["reason"]),
		OccurredAt: text(obj["occurred_at"]), ChatID: text(obj["chat_id"]),
	}
	if err := in.validateHead(); err != nil {
		return Incoming{}, err
	}
	var payload map[string]json.RawMessage
	if json.Unmarshal(obj["payload"], &payload) != nil || payload == nil {
		return Incoming{}, &FieldError{Field: "payload", Problem: "must be an object"}
	}
	if t := bytes.TrimSpace(payload["text"]); len(t) == 0 || t[0] != '"' {
		return Incoming{}, &FieldError{Field: "payload.text", Problem: "must be a string"}
	}
	in.Payload = IncomingPayload{
		Text: text(payload["text"]), UserMessageID: text(payload["user_message_id"]),
		ParentMessageID: text(payload["parent_message_id"]),
	}
	_ = json.Unmarshal(payload["ts_start_ms"], &in.Payload.TSStartMS)
	_ = json.Unmarshal(payload["ts_end_ms"], &in.Payload.TSEndMS)
	_ = json.Unmarshal(payload["is_final"], &in.Payload.IsFinal)
	if err := in.Payload.validate(); err != nil {
		return Incoming{}, err
	}
	if c := bytes.TrimSpace(obj["callback"]); len(c) > 0 && string(c) != "null" {
		var target map[string]json.RawMessage
		if json.Unmarshal(c, &target) != nil {
			return Incoming{}, &FieldError{Field: "callback", Problem: "must be an object"}
		}
		in.Callback = &CallbackTarget{URL: text(target["url"]), Token: Secret(text(target["token"]))}
	}
	return in, in.Validate()
}

// text reads a JSON string, "" of anything else.
func text(raw json.RawMessage) string {
	var s string
	_ = json.Unmarshal(raw, &s) // anything else is no text
	return s
}

// Validate names the first field of in that is wrong.
func (in *Incoming) Validate() error {
	if err := in.validateHead(); err != nil {
		return err
	}
	if err := in.Payload.validate(); err != nil {
		return err
	}
	if in.Callback == nil {
		return nil
	}
	if err := CheckCallbackURL(in.Callback.URL); err != nil {
		return err
	}
	if len(in.Callback.Token) < MinToken {
		return &FieldError{Field: "callback.token", Problem: "must have at least 16 characters"}
	}
	return nil
}

func (in *Incoming) validateHead() error {
	if err := CheckUUID("task_id", in.TaskID); err != nil {
		return err
	}
	if n := utf8.RuneCountInString(in.SessionID); n < 1 || n > MaxSessionID {
		return &FieldError{Field: "session_id", Problem: "must have 1 to 128 characters"}
	}
	switch in.Reason {
	case ReasonChatMessage, ReasonTranscriptChunk, ReasonSystemPrelude:
		return nil
	}
	return &FieldError{Field: "reason", Problem: "must be transcript_chunk, chat_message or system_prelude"}
}

func (p *IncomingPayload) validate() error {
	if utf8.RuneCountInString(p.Text) > MaxText {
		return &FieldError{Field: "payload.text", Problem: "must have at most 16000 characters"}
	}
	return nil
}

// IncomingAnswer answers /v1/incoming.
type IncomingAnswer struct {
	Status     string `json:"status"` // accepted
	TaskID     string `json:"task_id"`
	Dispatched *bool  `json:"dispatched,omitempty"` // false: taken, nothing runs
	RunID      string `json:"run_id,omitempty"`
}

// ListenerError is the body of an error of the assistant's listener.
type ListenerError struct {
	Error string `json:"error"`
}

// Errors of the assistant's listener.
const (
	ListenerNotFound        = "not_found"
	ListenerInvalidToken    = "invalid_token"
	ListenerNonLoopback     = "non_loopback_rejected"
	ListenerInvalidHost     = "invalid_host"
	ListenerInFlight        = "task_in_flight"
	ListenerSessionRequired = "session_id_required"
	ListenerTooManyStreams  = "too_many_streams"
	ListenerRateLimited     = "rate_limited"
	ListenerTooManyRequests = "too_many_concurrent_requests"
)

// Headers of the direct topology.
const (
	HeaderIdempotencyKey = "Idempotency-Key"     // desktop → assistant: the task id
	HeaderReplay         = "X-Idempotent-Replay" // assistant → desktop: "true"
)

// PingAnswer answers /v1/ping and /v1/health.
type PingAnswer struct {
	OK      bool   `json:"ok"`
	Version string `json:"version,omitempty"`
}
