// Package byo is the wire of StageWhisper: what a desktop, a blind relay and an
// assistant say to each other when people bring their own assistant. It holds
// data only: frames, bodies, statuses, codes, limits, pairing codes and the
// rules that say which of them are well formed. It imports nothing of this
// module, so a relay, a desktop or an assistant of somebody else may depend on
// it alone. Sealing and opening content is the work of byo/seal.
//
// Decoding is lenient, as the outside world needs it: unknown fields are
// ignored. What must hold is checked by the Validate methods and the Check
// functions, which name the first field that is wrong ([FieldError]).
//
// Times travel as RFC 3339 text ([FormatTime], [ParseTime]); deadline_at is
// bound into sealed content and compared as text, so it stays the text that was
// sent. Binary values are standard base64 with padding, which is what []byte is
// in JSON.
//
// A relay reads a new job like this:
//
//	var req byo.JobRequest
//	if err := json.Unmarshal(body, &req); err != nil { … }
//	if err := req.Validate(now); err != nil { … }                              // 400
//	if err := byo.CheckSealed(req.Payload, req.EnvelopeVersion, byo.DuplexV2); err != nil { … } // 422
//
// [SchemaJSON] is all of it as JSON Schema. Everything here is described in
// docs/byo.md.
package byo

//go:generate go test -run ^TestSchemaJSON$ . -update
