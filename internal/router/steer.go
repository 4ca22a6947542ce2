package router

import (
	"context"
	"errors"
	"math"

	"openclaw/internal/ledger"
	"openclaw/internal/run"
)

// steered is a message that was put into a run that is under way. It was accepted
// for itself, so it has an end for itself: with the run that read it, or as a run
// of its own when that one ended first.
type steered struct {
	prompt string
	origin run.ID
	owner  string
	entry  *ledger.Entry
	// queued says that the message runs for itself anyway.
	queued bool

	// Guarded by runs.mu.
	taken bool // the runner has it
	moved bool // it came back unread and is somebody else's now
}

// steer hands the message of r to the run that is under way in its session. It
// reports whether that one has taken it. queued says that r itself will run too.
func (rt *Router) steer(r *Run, queued bool) (bool, error) {
	into := rt.runs.running(r.lane())
	if into == nil {
		return false, nil
	}
	m := &steered{prompt: r.req.Prompt, origin: r.req.ID, owner: r.owner, queued: queued}
	if !queued {
		// What becomes of the message is not known yet, but that it was accepted is
		// on the disk before anybody acts on it.
		r.entry, r.recorded = rt.cfg.Ledger.New(r.accepted()), true
		if err := r.entry.Commit(); err != nil {
			return false, err
		}
		m.entry = r.entry
	}
	rt.runs.attach(into, m)
	taken := rt.cfg.Runner.Steer(into.ID(), run.Steer{Prompt: r.req.Prompt, Images: r.req.Images, At: rt.now()})
	if over := rt.runs.attached(into, m, taken); over {
		rt.end(m.entry, rt.runs.ending(into))
	}
	return taken, nil
}

// attach notes that m is being handed to r.
func (rs *runs) attach(r *Run, m *steered) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	r.steers = append(r.steers, m)
}

// attached notes what the runner said to m. It reports whether r has read m and
// was over before that could be noted.
func (rs *runs) attached(r *Run, m *steered, taken bool) (over bool) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	m.taken = taken
	return taken && r.collected && !m.moved
}

// collect sorts the messages that were steered into r, which is over: those that
// it read, and those that it returned unread. What is still being handed over is
// with neither; see attached.
func (rs *runs) collect(r *Run, unseen []run.Steer) (read, unread []*steered) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	r.collected = true
	unread = make([]*steered, len(unseen))
	for i, s := range unseen {
		unread[i] = &steered{prompt: s.Prompt} // nobody here handed it over
		for _, m := range r.steers {
			if !m.moved && m.prompt == s.Prompt {
				m.moved, unread[i] = true, m
				break
			}
		}
	}
	for _, m := range r.steers {
		if m.taken && !m.moved {
			read = append(read, m)
		}
	}
	r.steers = nil
	return read, unread
}

// carryOn settles the messages that were steered into a run which is over: what it
// did not read is queued, unless somebody stopped the session.
func (rt *Router) carryOn(ctx context.Context, r *Run, unseen []run.Steer) {
	read, unread := rt.runs.collect(r, unseen)
	for _, m := range read {
		rt.end(m.entry, rt.runs.ending(r))
	}
	why, _ := context.Cause(ctx).(run.Abort)
	for i, m := range unread {
		switch {
		case m.queued: // it waits for its turn already
		case why.ByUser():
			rt.end(m.entry, ledger.Ending{State: ledger.Aborted, Reason: string(why), EndedAt: rt.now()})
		default:
			rt.carry(ctx, r, m, unseen[i])
		}
	}
}

// carry queues a message that r did not read.
func (rt *Router) carry(ctx context.Context, r *Run, m *steered, s run.Steer) {
	next := &Run{req: r.req, kind: kindChat, owner: m.owner, acceptedAt: rt.now(), entry: m.entry, recorded: m.entry != nil}
	next.req.ID, next.req.Prompt, next.req.Images, next.req.NewSession = m.origin, s.Prompt, s.Images, false
	rt.accept.Lock()
	_, err := rt.enqueue(ctx, next, queue{cap: math.MaxInt})
	rt.accept.Unlock()
	err = rt.admitted(next, err)
	switch {
	case err == nil:
	case errors.Is(err, ErrClosing) && m.entry != nil:
		// It stays open in the ledger: the next process will say what became of it.
		rt.log.Info("message was not read before the shutdown", "session", r.lane(), "run", m.origin)
	default:
		rt.log.Warn("message steered into a run was not read and cannot be queued", "session", r.lane(), "err", err)
		rt.end(m.entry, ledger.Ending{State: ledger.Failed, Reason: err.Error(), EndedAt: rt.now()})
	}
}
