// Package offline is the built-in stand-in for a language model: what answers
// when no model is connected. It is honest about that. A plain message gets a
// short text that says so and how to connect a real model; a message in the
// language of package cue is obeyed, so that tools, streaming and errors can be
// tried without any account.
//
// It needs no network, keeps no state and starts no goroutines.
//
//	m, _ := offline.New(model.Target{Info: info})
//	for part, err := range m.Stream(ctx, req) { … }
package offline
