// Package conformance plays recorded conversations with the reference gateway
// against the real binary and compares the answers frame by frame.
//
// A recording (testdata/<name>.jsonl, one frame on a line, both ways) is the
// scenario: what its client sent is sent again, in the same order, and every
// frame that came back must come back again. Values that differ by nature (ids,
// times, hosts) are written as placeholders in the recordings and are bound to
// what our gateway sends when they are first seen, so that equal values must
// stay equal. Everything else must be the same, except for the differences that
// tolerated.go lists, each with the clause that wants it; a tolerance that nothing
// needs any more fails the test. Detect_test.go shows that what a wrong gateway
// does is noticed.
//
// Each scenario has a gateway of its own with a throw-away state folder and the
// test model server behind it. Recordings of client programs (client-*) are
// played as any other, with their devices let in beforehand if they had a token. To add a recording, put it into testdata and its
// name into the list in conformance_test.go. Only tests use this package.
//
//	rec, err := Load("testdata/connect-ok.jsonl")
//	diffs, err := Play(ctx, rec, Target{URL: url, Token: token, Home: home})
package conformance
