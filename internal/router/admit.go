package router

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"time"

	"openclaw/internal/ledger"
	"openclaw/internal/run"
)

// What is acknowledged is on the disk: a run is let go, and its request answered,
// when the ledger has its acceptance; its end is in the ledger before anybody hears
// of it. See docs/decisions/006-run-ledger.md.

// submit accepts r: its place in the lane is taken and its acceptance is on the
// disk when submit returns.
func (rt *Router) submit(ctx context.Context, r *Run) error {
	rt.accept.Lock()
	err := rt.start(ctx, r)
	rt.accept.Unlock()
	return rt.admitted(r, err)
}

// admitted finishes what start began: rt.accept must be free, because it waits for
// the disk.
func (rt *Router) admitted(r *Run, err error) error {
	if err != nil {
		return err
	}
	return rt.admit(r)
}

// enroll takes the number of r in the ledger, so that runs which are lost come back
// in the order of their places.
func (rt *Router) enroll(r *Run) {
	r.admitted = make(chan struct{})
	if r.recorded {
		return
	}
	r.entry = rt.cfg.Ledger.New(r.accepted())
}

// admit lets r run when its acceptance is on the disk.
func (rt *Router) admit(r *Run) error {
	if !r.recorded {
		r.refused = r.entry.Commit()
	}
	close(r.admitted)
	return r.refused
}

// accepted is what the ledger must know about r.
func (r *Run) accepted() ledger.Accepted {
	return ledger.Accepted{Kind: r.kind.ledger(), Owner: r.owner, Origin: r.origin, At: r.acceptedAt, Request: r.req}
}

func (k kind) ledger() ledger.Kind {
	if k == kindChat {
		return ledger.Chat
	}
	return ledger.Agent
}

// conclude records the end of a run that is about to be told.
func (rt *Router) conclude(id run.ID, l run.Lifecycle) {
	if e, x := rt.runs.conclude(id, l); e != nil {
		rt.end(e, x)
	}
}

// conclude returns the entry of the run that l ends, and its ending; nil when there
// is nothing to write. A run that a shutdown keeps from beginning is left open: the
// next process says what became of it, where people see it.
func (rs *runs) conclude(id run.ID, l run.Lifecycle) (*ledger.Entry, ledger.Ending) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	r := rs.active[id]
	if r == nil || r.closed {
		return nil, ledger.Ending{}
	}
	r.closed = true
	if r.state == stateWaiting && l.StopReason == string(run.AbortShutdown) {
		r.entry = nil
		return nil, ledger.Ending{}
	}
	x := ledger.Ending{State: ledger.Finished, StartedAt: r.snap.StartedAt, EndedAt: l.EndedAt}
	switch {
	case l.Phase == run.PhaseError:
		x.State, x.Reason = ledger.Failed, l.Error
	case l.Aborted:
		x.State, x.Reason = ledger.Aborted, l.StopReason
	}
	return r.entry, x
}

// record writes what is left to say of a run that is over: its end, if no event
// told it, and what a repeated request gets.
func (rt *Router) record(r *Run, out run.Outcome, err error) {
	if r.entry == nil {
		return
	}
	told := run.Lifecycle{Phase: run.PhaseEnd, EndedAt: rt.now()}
	if err != nil {
		told.Phase, told.Error = run.PhaseError, err.Error()
	}
	rt.conclude(r.req.ID, told)
	if r.entry == nil || r.kind != kindAgent || err != nil {
		return
	}
	data, err := response(out)
	if err == nil {
		err = r.entry.Keep(data)
	}
	if err != nil && !errors.Is(err, ledger.ErrClosed) {
		rt.log.Warn("response not kept for repeated requests", "run", r.req.ID, "err", err)
	}
}

// end gives an entry its ending.
func (rt *Router) end(e *ledger.Entry, x ledger.Ending) {
	err := e.End(x)
	if err != nil && !errors.Is(err, ledger.ErrEnded) { // that one is logged
		rt.log.Error("end of a run not written", "err", err)
	}
}

// ending is how r ended.
func (rs *runs) ending(r *Run) ledger.Ending {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	x := ledger.Ending{State: ledger.Finished, StartedAt: r.snap.StartedAt, EndedAt: r.snap.EndedAt}
	switch {
	case r.snap.Error != "":
		x.State, x.Reason = ledger.Failed, r.snap.Error
	case r.snap.StopReason != "":
		x.State, x.Reason = ledger.Aborted, r.snap.StopReason
	}
	if x.EndedAt.IsZero() {
		x.EndedAt = rs.now()
	}
	return x
}

// tooLong stands in for an answer that is too long to be kept for a repetition.
const tooLong = "(The answer is too long to be repeated here. It is in the history of the session.)"

// response is what a repeated request gets, without what only the first one needs.
func response(out run.Outcome) ([]byte, error) {
	out.Meta.SystemPromptReport = nil
	data, err := json.Marshal(out)
	if err != nil || len(data) <= ledger.MaxResponse {
		return data, err
	}
	out.Payloads = []run.Payload{{Text: tooLong}}
	return json.Marshal(out)
}

// Previous is what is known of an earlier request with the same key.
type Previous struct {
	ID         run.ID // of its run
	AcceptedAt time.Time
	Ended      bool
	// Outcome and Err are the result of the run, as [Run.Result] gave it. The
	// outcome is without the report of the prompt, and empty for a chat message.
	Outcome run.Outcome
	Err     error
	// Cut says that the gateway stopped before the run was over. Its message is in the
	// session, with what it had done by then.
	Cut bool
}

// Previous looks up a request that owner made under an idempotency key, also
// before the last restart. It is for requests that nobody in this process knows,
// and forgets them five minutes after their end. See docs/protocol.md#idempotency.
func (rt *Router) Previous(kind ledger.Kind, owner string, id run.ID) (Previous, bool) {
	past, ok := rt.cfg.Ledger.Lookup(kind, owner, id)
	x := past.Ending
	if !ok || x.State != "" && rt.now().Sub(x.EndedAt) > repeatable {
		return Previous{}, false
	}
	p := Previous{ID: past.ID, AcceptedAt: past.AcceptedAt, Ended: x.State != "", Outcome: run.Outcome{Payloads: []run.Payload{}}}
	if x.State == ledger.Failed {
		p.Err = errors.New(cmp.Or(x.Reason, "the run failed"))
	}
	p.Outcome.Meta.Aborted = x.State == ledger.Aborted
	p.Cut = x.State == ledger.Failed && (x.Reason == reasonDuring || x.Reason == reasonBefore) ||
		x.State == ledger.Aborted && x.Reason == string(run.AbortShutdown)
	if len(past.Response) > 0 {
		if err := json.Unmarshal(past.Response, &p.Outcome); err != nil {
			rt.log.Warn("response of an earlier run is not readable", "run", id, "err", err)
		}
	}
	return p, true
}

// repeatable is how long a repeated request gets the answer of the first.
const repeatable = 5 * time.Minute
