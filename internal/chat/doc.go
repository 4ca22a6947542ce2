// Package chat holds the words of a conversation as people and surfaces write
// it: session keys, commands and stop words, the silent token, the envelope
// around a user's text, and the cleaning of what a model says.
//
// Everything here is a pure function of its arguments, except [Cleaner], which
// carries the state of one streamed answer. The package owns no files, clocks or
// goroutines. The router, the agent, the session store and the gateway call it.
//
//	key := chat.CanonicalKey("main", "main", false) // "agent:main:main"
//	agent, rest, ok := chat.ParseKey(key)           // "main", "main", true
package chat
