package router

import "errors"

// Error is a request that was refused; Text is for the one who sent it. The
// gateway answers it as INVALID_REQUEST.
type Error struct{ Text string }

func (e *Error) Error() string { return e.Text }

// ErrClosing refuses requests while the gateway shuts down.
var ErrClosing = errors.New("the gateway is shutting down")
