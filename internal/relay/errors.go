package relay

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"openclaw/byo"
)

// Answers that are the same for everybody who gets them.
var (
	errUnauthorized = byo.Errorf(byo.CodeUnauthorized, "the token is not valid")
	errNotFound     = byo.Errorf(byo.CodeNotFound, "there is nothing here")
	errBadCode      = byo.Errorf(byo.CodePairingCodeInvalid, "the pairing code is not valid")
	errBody         = byo.Errorf(byo.CodeInvalidRequest, "the body must be a JSON object of the right kind")
	errTooLarge     = byo.Errorf(byo.CodeTooLarge, "the body is too large")
	errPairState    = byo.Errorf(byo.CodePairingState, "the pairing is not in a state for this")
	errPairExpired  = byo.Errorf(byo.CodePairingExpired, "the pairing has expired")
	errPlaintext    = byo.Errorf(byo.CodePlaintextRejected, "the integration takes sealed content only")
	errDraining     = &byo.Error{Code: byo.CodeDraining, Message: "this node takes no streams now", RetryAfterMS: 2000}
	errStorage      = &byo.Error{Code: byo.CodeStorageUnavailable, Message: "the storage is not available", RetryAfterMS: 1000}
	errInternal     = byo.Errorf(byo.CodeInternal, "something went wrong in the relay")
)

func limited(code, message string, wait time.Duration) *byo.Error {
	return &byo.Error{Code: code, Message: message, RetryAfterMS: max(wait.Milliseconds(), 1)}
}

// wire turns an error into the answer for it; what it does not know has details
// for the log only.
func wire(err error) (answer *byo.Error, known bool) {
	var e *byo.Error
	var field *byo.FieldError
	var large *http.MaxBytesError
	var storage *storageError
	switch {
	case errors.As(err, &e):
		return e, true
	case errors.As(err, &field):
		return byo.Errorf(byo.CodeInvalidRequest, "%s", field.Error()), true
	case errors.As(err, &large):
		return errTooLarge, true
	case errors.Is(err, ErrNotFound):
		return errNotFound, true
	case errors.Is(err, ErrConflict), errors.Is(err, context.Canceled), errors.As(err, &storage):
		return errStorage, false
	}
	return errInternal, false
}

// writeError answers with e.
func writeError(w http.ResponseWriter, e *byo.Error) {
	if e.RetryAfterMS > 0 {
		w.Header().Set("Retry-After", strconv.FormatInt((e.RetryAfterMS+999)/1000, 10))
	}
	writeJSON(w, byo.Status(e.Code), byo.ErrorBody{Error: *e})
}

// storageError is an error of the broker.
type storageError struct{ err error }

func (e *storageError) Error() string { return e.err.Error() }
func (e *storageError) Unwrap() error { return e.err }

// store is the broker's store with its errors told apart and counted.
type store struct {
	Broker
	metrics *metrics
}

func (s store) wrap(err error) error {
	if err == nil || errors.Is(err, ErrNotFound) || errors.Is(err, ErrConflict) {
		return err
	}
	s.metrics.storageErrors.Inc()
	return &storageError{err}
}

// Get implements [Store].
func (s store) Get(ctx context.Context, b Bucket, key string) (Entry, error) {
	defer s.metrics.timed("get")()
	e, err := s.Broker.Get(ctx, b, key)
	return e, s.wrap(err)
}

// Put implements [Store].
func (s store) Put(ctx context.Context, b Bucket, key string, value []byte, revision uint64) (uint64, error) {
	defer s.metrics.timed("put")()
	rev, err := s.Broker.Put(ctx, b, key, value, revision)
	return rev, s.wrap(err)
}

// Delete implements [Store].
func (s store) Delete(ctx context.Context, b Bucket, key string, revision uint64) error {
	defer s.metrics.timed("delete")()
	return s.wrap(s.Broker.Delete(ctx, b, key, revision))
}

// List implements [Store].
func (s store) List(ctx context.Context, b Bucket, prefix string) ([]Entry, error) {
	defer s.metrics.timed("list")()
	list, err := s.Broker.List(ctx, b, prefix)
	return list, s.wrap(err)
}

// Publish implements [Bus].
func (s store) Publish(ctx context.Context, m Message) (uint64, error) {
	defer s.metrics.timed("publish")()
	seq, err := s.Broker.Publish(ctx, m)
	return seq, s.wrap(err)
}
