package router

import (
	"errors"
	"fmt"
)

// Error is a request that was refused; Text is for the one who sent it. The
// gateway answers it as INVALID_REQUEST.
type Error struct{ Text string }

func (e *Error) Error() string { return e.Text }

// ErrClosing refuses requests while the gateway shuts down.
var ErrClosing = errors.New("the gateway is shutting down")

// BusyError says that a session did not come to rest in time, so that nothing was
// changed. The gateway answers it as UNAVAILABLE.
type BusyError struct{ Key string }

func (e *BusyError) Error() string {
	return fmt.Sprintf("Session %s is still active; try again in a moment.", e.Key)
}
