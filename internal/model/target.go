package model

import "openclaw/internal/logs"

// Family makes models of one wire family. It does no work beyond the set-up of
// the value: nothing is sent before the first Stream.
type Family func(Target) (Model, error)

// Target is everything a family must know to call one model.
type Target struct {
	Info    Info
	BaseURL string
	Key     logs.Secret // empty for servers that want none
	// KeySource says where Key is from, for error texts: "the environment
	// variable OPENAI_API_KEY", "the auth profile openai:default".
	KeySource string
	Profile   string // auth profile that Key is from, may be empty
	// Bearer sends Key as "Authorization: Bearer" where the family would use a
	// header of its own.
	Bearer  bool
	Headers map[string]logs.Secret
	Compat  Compat
}
