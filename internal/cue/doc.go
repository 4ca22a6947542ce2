// Package cue is the one-line language that tells a stand-in model what to
// answer. The test model server and the built-in offline model both speak it, so
// a test and a person without any model see the same behaviour for the same line.
//
// A cue is a chain of steps parted by ";;". Each step is one model turn, except
// for those that only modify the next one:
//
//	think need the file ;; tool read {"path":"a.txt"} ;; say read it
//
// Steps that are a turn:
//
//	say TEXT, echo, result, report, inspect, empty, long N
//	tool NAME {json}, tools [{"name":…,"args":{…}},…], loop N NAME {json}, badtool NAME TEXT
//	truncate TEXT, refuse TEXT, cut N TEXT, hang
//	error CODE [RETRY_AFTER], overloaded, context_overflow
//
// Steps that modify: think TEXT, sleep MS, usage IN OUT, flaky N CODE.
//
// The package is pure text handling: it decides nothing about a conversation.
// What "echo" or "result" stand for is filled in by the caller.
//
//	line, ok := cue.Find(message, func(word string) bool { return word == "say" })
//	plan, err := cue.Parse(line)
package cue
