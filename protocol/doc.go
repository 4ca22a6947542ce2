// Package protocol is the wire of the gateway: the frames, the params and
// results of every method, the payloads of every event, and the names, codes
// and numbers that both sides compare. It holds data only: no sockets, no
// state, and no imports of this module, so that clients may depend on it alone.
//
// A method "x.y" has its params in XYParams and its result in XYResult; an
// event has its payload in a struct named after it. Params that the caller may
// leave out carry omitempty or omitzero; a pointer tells "absent" from zero,
// and [Nullable] tells "absent" from null where null clears a value.
//
// Constraints beyond the Go type are written in a `schema` struct tag, which
// internal/schema reads to validate params and to generate schema.json:
//
//	minLength=N maxLength=N   length of a string in characters
//	min=N max=N               bounds of a number
//	minItems=N maxItems=N     length of an array
//	itemMinLength=N           minLength of each string in an array or map key
//	enum=a|b|c  const=x       the only allowed strings
//	any                       no constraint at all, whatever the Go type says
//
// A struct with a blank field tagged open allows keys that are not listed, one
// tagged any accepts every JSON value; all others are closed.
//
// The gateway decodes a request like this:
//
//	var req protocol.Request
//	err := schema.Decode(data, &req)
//
// and a client writes:
//
//	var health protocol.HealthResult
//	err := c.Call(ctx, protocol.MethodHealth, nil, &health)
//
// [Methods] and [Events] list all of them with their types; [SchemaJSON] is
// generated from these lists. Everything here is described in docs/protocol.md.
package protocol

//go:generate go test -run ^TestSchemaJSON$ . -update
