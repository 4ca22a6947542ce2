package client

import (
	"errors"
	"fmt"
	"strings"

	"github.com/coder/websocket"

	"openclaw/protocol"
)

// ErrClosed is the end of a connection that [Client.Close] closed.
var ErrClosed = errors.New("client closed")

// ErrOverflow ends a subscription whose reader is too slow for events that must
// not be lost.
var ErrOverflow = errors.New("event queue is full")

// CloseError says with which code and reason a connection was closed. The code
// is one of the Close constants of protocol, or 1006 when the connection broke
// without a word.
type CloseError struct {
	Code   int
	Reason string
	cause  error
}

// closeAbnormal is the code of a connection that broke without a close frame.
const closeAbnormal = 1006

// Error names the code and the reason.
func (e *CloseError) Error() string {
	s := fmt.Sprintf("gateway closed (%d)", e.Code)
	switch {
	case e.Reason != "":
		return s + ": " + e.Reason
	case e.cause != nil:
		return s + ": " + e.cause.Error()
	}
	return s
}

// Unwrap returns what broke the connection, if anything did.
func (e *CloseError) Unwrap() error { return e.cause }

// closeError reads the close code and reason out of a socket error.
func closeError(err error) *CloseError {
	var ce websocket.CloseError
	if errors.As(err, &ce) {
		return &CloseError{Code: int(ce.Code), Reason: ce.Reason}
	}
	return &CloseError{Code: closeAbnormal, cause: err}
}

// ConnectError is a connect that the gateway refused. It unwraps to the
// *[protocol.Error] of the response, where there was one, and to the
// *[CloseError].
type ConnectError struct {
	Refusal *protocol.Error // nil when the gateway closed without a response
	Close   *CloseError     // nil when it is not known
}

// Error is the gateway's message, or how it closed.
func (e *ConnectError) Error() string {
	if e.Refusal != nil {
		return e.Refusal.Message
	}
	return e.Close.Error()
}

// Unwrap returns the refusal and the close.
func (e *ConnectError) Unwrap() []error {
	var all []error
	if e.Refusal != nil {
		all = append(all, e.Refusal)
	}
	if e.Close != nil {
		all = append(all, e.Close)
	}
	return all
}

// tokenRefused reports whether another credential may get in where this one
// did not.
func tokenRefused(err error) bool {
	var refusal *protocol.Error
	if !errors.As(err, &refusal) {
		return false
	}
	return strings.HasPrefix(refusal.DetailCode(), "AUTH_") && refusal.DetailCode() != protocol.DetailRateLimited ||
		refusal.DetailCode() == "" && strings.HasPrefix(refusal.Message, "unauthorized")
}

// Permanent reports whether trying again with the same options cannot help:
// the gateway speaks another protocol or knows that the request is wrong. A
// device that waits for approval is not a permanent failure.
func Permanent(err error) bool {
	var refusal *protocol.Error
	if !errors.As(err, &refusal) {
		return false
	}
	return refusal.Code == protocol.CodeInvalidRequest && !refusal.Retryable
}
