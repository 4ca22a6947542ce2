package model

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// Kind classifies an [Error].
type Kind string

const (
	KindAuth       Kind = "auth"             // 401, 403, bad or missing key
	KindBilling    Kind = "billing"          // 402, no credit
	KindRateLimit  Kind = "rate_limit"       // 429, quota
	KindOverloaded Kind = "overloaded"       // 503, 529
	KindServer     Kind = "server"           // other 5xx
	KindTimeout    Kind = "timeout"          // 408, no answer in time
	KindNetwork    Kind = "network"          // refused, reset, name not found, cut stream
	KindOverflow   Kind = "context_overflow" // prompt too long
	KindFormat     Kind = "format"           // 400: the request was not understood
	KindNotFound   Kind = "not_found"        // 404: no such model or endpoint
	KindBadReply   Kind = "bad_reply"        // the answer made no sense or was empty of meaning
	KindAborted    Kind = "aborted"          // the caller gave up
	KindConfig     Kind = "config"           // the configuration cannot work as it is
	KindUnknown    Kind = "unknown"
)

// Error is a failed model call. Text is safe to show to a user: it holds no
// key, header or raw response body.
type Error struct {
	Kind       Kind
	Status     int           // HTTP status, 0 if none was received
	RetryAfter time.Duration // what the server asked for, 0 if nothing
	Ref        Ref
	Text       string
	// Efforts are the thinking levels the server says it takes, when it refused
	// the one asked for.
	Efforts []string
	Err     error
}

func (e *Error) Error() string {
	var b strings.Builder
	if e.Status != 0 {
		fmt.Fprintf(&b, "%d ", e.Status)
	}
	b.WriteString(e.Text)
	return b.String()
}

func (e *Error) Unwrap() error { return e.Err }

// Retryable reports whether the same call may succeed if repeated soon.
func (e *Error) Retryable() bool {
	switch e.Kind {
	case KindRateLimit, KindOverloaded, KindServer, KindTimeout, KindNetwork:
		return true
	}
	return false
}

// KindOf returns the kind of err, [KindUnknown] if it is no [*Error].
func KindOf(err error) Kind {
	var e *Error
	if errors.As(err, &e) {
		return e.Kind
	}
	return KindUnknown
}
