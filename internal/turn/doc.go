// Package turn holds the words of a conversation: messages, their content
// blocks, token usage and the reason an answer stopped.
//
// A [Message] has the exact JSON shape of a transcript's message object, so one
// type serves the transcript file, the model request and the history answer.
// The package is pure: no files, no clock, no goroutines. Everybody imports it.
//
//	m := turn.User("hello", now)
//	m.Text() // "hello"
package turn
