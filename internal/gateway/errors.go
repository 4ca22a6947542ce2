package gateway

import (
	"errors"

	"openclaw/internal/logs"
	"openclaw/protocol"
)

// errInternal is what a caller hears of a fault that is nobody's business but
// the operator's; the log has the rest.
var errInternal = &protocol.Error{Code: protocol.CodeUnavailable, Message: "Error: internal error"}

// invalid is a refusal that the caller can do something about.
func invalid(message string) *protocol.Error {
	return &protocol.Error{Code: protocol.CodeInvalidRequest, Message: message}
}

// unavailable is a failure with a text made for the caller.
func unavailable(message string) *protocol.Error {
	return &protocol.Error{Code: protocol.CodeUnavailable, Message: message}
}

// wireError turns an error of a method into one of the protocol. This is the one
// place where domain errors get their codes. The text of an unexpected error
// goes to admins only, without secrets: they are the ones to mend it.
func (g *Gateway) wireError(err error, admin bool) *protocol.Error {
	var wire *protocol.Error
	if errors.As(err, &wire) {
		return wire
	}
	for _, known := range []func(error) *protocol.Error{routerError, configError} {
		if wire := known(err); wire != nil {
			return wire
		}
	}
	g.log.Error("request failed", "err", err)
	if admin {
		return unavailable("Error: " + logs.Redact(err.Error()))
	}
	return errInternal
}
