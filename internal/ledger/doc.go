// Package ledger remembers on disk which runs were accepted and how each of them
// ended, so that a gateway that is killed leaves no run without an end.
//
// A run has one [Entry]. [Entry.Commit] returns when its acceptance is on the
// disk; callers that come together share one sync. [Entry.End] puts the one end
// of the run into the file, where the end of the process cannot take it back,
// and the next sync, a second later at most, makes it safe from a power cut.
// [Ledger.Lost] gives the runs that a process accepted and did not end before it
// died; who opens the ledger next ends them.
//
// The package owns <state>/runs: a folder for each living process with a lock
// and, as a rule, one file of JSON lines. A file that holds more of the past than
// of the present is replaced by a new one in the background, so neither memory
// nor disk nor the cost of a run depend on how many runs there were. It starts
// no goroutines; [Ledger.Run] is the one that lives, and the caller starts it.
// The router is the caller. See docs/decisions/006-run-ledger.md.
//
//	led, err := ledger.Open(ledger.Config{Dir: filepath.Join(state, "runs")})
//	…
//	e := led.New(ledger.Accepted{Kind: ledger.Chat, Owner: owner, At: now, Request: req})
//	if err := e.Commit(); err != nil { … refuse the request … }
//	… the request is accepted, the run does its work …
//	err = e.End(ledger.Ending{State: ledger.Finished, EndedAt: time.Now()})
//
// Errors callers branch on: [ErrEnded] and [ErrClosed].
package ledger
