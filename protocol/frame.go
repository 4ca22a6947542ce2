package protocol

import (
	"encoding/json"
	"unicode/utf8"
)

// Values of the type field of a frame.
const (
	TypeRequest  = "req"
	TypeResponse = "res"
	TypeEvent    = "event"
)

// InvalidFrameID is the response id used when a malformed request has none.
const InvalidFrameID = "invalid"

// Request asks the gateway to run a method. Responses may arrive in any order
// and a request may have two of them (see [StatusAccepted]).
type Request struct {
	Type   string          `json:"type" schema:"const=req"`
	ID     string          `json:"id" schema:"minLength=1"`
	Method string          `json:"method" schema:"minLength=1"`
	Params json.RawMessage `json:"params,omitempty"`
}

// Response answers the request with the same ID. A failed one may carry a
// payload as well as an error.
type Response struct {
	Type string `json:"type" schema:"const=res"`
	ID   string `json:"id" schema:"minLength=1"`
	OK   bool   `json:"ok"`
	// Payload is absent when empty; JSON null is a legitimate payload.
	Payload json.RawMessage `json:"payload,omitempty"`
	Error   *Error          `json:"error,omitempty"`
}

// Event tells a client that something happened. Broadcast events have a Seq
// that starts at 1 for each connection; events meant for one connection have none.
type Event struct {
	Type         string          `json:"type" schema:"const=event"`
	Event        string          `json:"event" schema:"minLength=1"`
	Payload      json.RawMessage `json:"payload,omitempty"`
	Seq          int64           `json:"seq,omitempty" schema:"min=0"`
	StateVersion *StateVersion   `json:"stateVersion,omitempty"`
}

// StateVersion says which state an event or a snapshot describes. Both start at
// 1 and grow with each change.
type StateVersion struct {
	Presence int64 `json:"presence" schema:"min=0"`
	Health   int64 `json:"health" schema:"min=0"`
}

// Frame is any frame as a receiver first sees it: Type says which of the other
// fields are meaningful. It is decoded leniently.
type Frame struct {
	Type         string          `json:"type"`
	ID           string          `json:"id"`
	Method       string          `json:"method"`
	Event        string          `json:"event"`
	OK           bool            `json:"ok"`
	Params       json.RawMessage `json:"params"`
	Payload      json.RawMessage `json:"payload"`
	Error        *Error          `json:"error"`
	Seq          int64           `json:"seq"`
	StateVersion *StateVersion   `json:"stateVersion"`
}

// Close codes of the socket. See docs/protocol.md#close-codes.
const (
	CloseNormal           = 1000
	CloseProtocolMismatch = 1002
	ClosePolicy           = 1008
	CloseTooBig           = 1009
	CloseRestart          = 1012
	CloseTryLater         = 1013
	// CloseTickTimeout is sent by a client that saw no tick for two intervals.
	CloseTickTimeout = 4000
	// CloseRevoked says that the credentials of a live connection are gone.
	CloseRevoked = 4001
)

// Close reasons that peers compare.
const (
	ReasonInvalidFrame     = "invalid request frame"
	ReasonProtocolMismatch = "protocol mismatch"
	ReasonSlowConsumer     = "slow consumer"
	ReasonServiceRestart   = "service restart"
	ReasonTickTimeout      = "tick timeout"
	ReasonConnectFailed    = "connect failed"
	ReasonPreAuthTooLarge  = "preauth payload too large"
	ReasonNodeReplaced     = "node connection replaced"
)

// CutReason shortens a close reason to MaxCloseReason bytes without splitting a
// character.
func CutReason(s string) string {
	if len(s) <= MaxCloseReason {
		return s
	}
	n := MaxCloseReason
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}
