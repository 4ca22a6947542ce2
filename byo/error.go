package byo

import "fmt"

// Codes of the relay's errors. See docs/byo.md#errors-of-the-relay.
const (
	CodeInvalidRequest     = "invalid_request"
	CodeUnauthorized       = "unauthorized" // unpair, never retry
	CodeForbidden          = "forbidden"
	CodeNotFound           = "not_found"
	CodePairingCodeInvalid = "pairing_code_invalid"
	CodeJobConflict        = "job_conflict"
	CodeAlreadyCompleted   = "already_completed"
	CodeAssistantOffline   = "assistant_offline"
	CodePairingState       = "pairing_state"
	CodeJobExpired         = "job_expired"
	CodeJobCancelled       = "job_cancelled"
	CodePairingExpired     = "pairing_expired"
	CodeTooLarge           = "too_large"
	CodePlaintextRejected  = "plaintext_rejected"
	CodeEnvelopeMismatch   = "envelope_version_mismatch"
	CodeInvalidEnvelope    = "invalid_envelope"
	CodePluginTooOld       = "plugin_too_old"
	CodeRateLimited        = "rate_limited"
	CodeTooManyOpenJobs    = "too_many_open_jobs"
	CodeTooManyStreams     = "too_many_streams"
	CodeInternal           = "internal"
	CodeDraining           = "draining"
	CodeStorageUnavailable = "storage_unavailable"
)

var statuses = map[string]int{
	CodeInvalidRequest: 400,
	CodeUnauthorized:   401,
	CodeForbidden:      403,
	CodeNotFound:       404, CodePairingCodeInvalid: 404,
	CodeJobConflict: 409, CodeAlreadyCompleted: 409, CodeAssistantOffline: 409, CodePairingState: 409,
	CodeJobExpired: 410, CodeJobCancelled: 410, CodePairingExpired: 410,
	CodeTooLarge:          413,
	CodePlaintextRejected: 422, CodeEnvelopeMismatch: 422, CodeInvalidEnvelope: 422,
	CodePluginTooOld: 426,
	CodeRateLimited:  429, CodeTooManyOpenJobs: 429, CodeTooManyStreams: 429,
	CodeInternal: 500,
	CodeDraining: 503, CodeStorageUnavailable: 503,
}

// Status is the HTTP status of a code, 500 of one it does not know.
func Status(code string) int {
	if s, ok := statuses[code]; ok {
		return s
	}
	return 500
}

// Retryable reports whether the same request may succeed later.
func Retryable(code string) bool { return Status(code) == 429 || Status(code) >= 500 }

// Error is the relay's answer to a request that failed. It is a Go error; its
// message never holds what a caller sent.
type Error struct {
	Code         string `json:"code" schema:"minLength=1"`
	Message      string `json:"message"`
	RetryAfterMS int64  `json:"retry_after_ms,omitempty" schema:"min=0"`
}

// Error implements error.
func (e *Error) Error() string { return e.Code + ": " + e.Message }

// Errorf makes an [Error].
func Errorf(code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// ErrorBody is the body around an [Error].
type ErrorBody struct {
	Error Error `json:"error"`
}

// Codes of a completion that brings no result. Public plugins write the first
// ten; see docs/byo.md#completion.
const (
	FailDeadlineBeforeStart = "deadline_expired_before_start"
	FailDeadlineExceeded    = "deadline_exceeded"
	FailResponseParse       = "response_parse_error"
	FailRetryable           = "retryable_error"
	FailExecution           = "execution_error"
	FailMissingEnvelope     = "missing_envelope"
	FailMissingKeys         = "missing_keys"
	FailDecryption          = "decryption_error"
	FailEncryption          = "encryption_error"
	FailAgent               = "agent_error"

	FailSchemaValidation    = "schema_validation_error"
	FailReplayConflict      = "replay_conflict"
	FailNotVerified         = "not_verified"
	FailUnsupportedEnvelope = "unsupported_envelope"
	FailCancelled           = "cancelled"
	FailBusy                = "busy"
)

// Codes of failed chat and task work, in callbacks and replies.
const (
	FailMissingBYOKeys = "missing_byo_keys"
	FailNoReply        = "no_reply"
	FailAgentTimeout   = "agent_timeout" // the gateway itself ended the run
	FailReplyTooLarge  = "reply_too_large"
	FailStreamStart    = "stream_start_failed"
	FailComplete       = "complete_failed"
)
