package router

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"openclaw/internal/ledger"
	"openclaw/internal/run"
)

// Run is one accepted request on its way.
type Run struct {
	req        run.Request
	kind       kind
	acceptedAt time.Time
	// queued marks a message that waits behind a busy session; origin is the id
	// under which it was sent, which has been answered already.
	queued   bool
	origin   run.ID
	debounce time.Duration
	cancel   context.CancelCauseFunc
	done     chan struct{}

	owner string        // who asked, as idempotency keys know it
	entry *ledger.Entry // in the ledger, nil without one
	// recorded says that entry is on the disk already, because the message was
	// steered into another run first.
	recorded bool
	admitted chan struct{} // closed when the acceptance is on the disk, or refused
	refused  error         // set before that: why the run is not accepted after all

	// Guarded by runs.mu.
	state   state
	aborted bool
	snap    Snapshot
	closed  bool // its end is in the ledger, or is left to the next process
	steers  []*steered
	// collected says that steers was looked through when the run was over.
	collected bool

	// Set before done is closed.
	outcome run.Outcome
	err     error
}

// kind says which door a run came through.
type kind int

const (
	kindAgent kind = iota
	kindChat       // may be aborted by chat.abort
)

// state is how far a run got.
type state int

const (
	stateWaiting state = iota // for its lanes, or behind a busy session
	stateRunning              // the runner has it
	stateEnded
)

// ID returns the run's id.
func (r *Run) ID() run.ID { return r.req.ID }

// SessionKey returns the canonical key; empty when only a session id was given.
func (r *Run) SessionKey() string { return r.req.SessionKey }

// AcceptedAt returns when the request was accepted.
func (r *Run) AcceptedAt() time.Time { return r.acceptedAt }

// Done is closed when the run has ended and [Run.Result] may be asked.
func (r *Run) Done() <-chan struct{} { return r.done }

// Result returns how the run ended. It must not be called before Done is closed.
func (r *Run) Result() (run.Outcome, error) { return r.outcome, r.err }

// lane is the name under which runs of one session exclude each other.
func (r *Run) lane() string { return cmp.Or(r.req.SessionKey, r.req.SessionID) }

// Snapshot is how a run ended, as agent.wait tells it.
type Snapshot struct {
	StartedAt, EndedAt time.Time // StartedAt is zero for a run that never began
	Error              string    // set when the run failed
	StopReason         string    // set when the run was aborted
}

const (
	snapshotTTL  = 10 * time.Minute
	maxSnapshots = 5000
)

// runs is the register of runs: those under way and, for a while, how they ended.
type runs struct {
	now func() time.Time

	mu     sync.Mutex
	active map[run.ID]*Run
	byLane map[string][]*Run // in order of acceptance
	ended  map[run.ID]ending
	order  []run.ID // keys of ended, oldest first
	waits  map[run.ID][]chan struct{}
	closed bool
	idle   chan struct{} // closed when closed and nothing is active
}

type ending struct {
	snap Snapshot
	at   time.Time
}

func newRuns(now func() time.Time) *runs {
	return &runs{now: now, active: map[run.ID]*Run{}, byLane: map[string][]*Run{},
		ended: map[run.ID]ending{}, waits: map[run.ID][]chan struct{}{}, idle: make(chan struct{})}
}

// add registers a run. It fails when the id is in use or the door is closed.
func (rs *runs) add(r *Run) error {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	if rs.closed {
		return ErrClosing
	}
	if rs.active[r.req.ID] != nil {
		return &Error{Text: fmt.Sprintf("run id %q is already in use", r.req.ID)}
	}
	r.done = make(chan struct{})
	rs.active[r.req.ID] = r
	rs.byLane[r.lane()] = append(rs.byLane[r.lane()], r)
	return nil
}

// begin marks r as handed to the runner. It reports false when r was aborted
// while it waited.
func (rs *runs) begin(r *Run) bool {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	if r.aborted {
		return false
	}
	r.state = stateRunning
	return true
}

// note takes what a run's events say about it.
func (rs *runs) note(e run.Event) {
	if e.Lifecycle == nil {
		return
	}
	rs.mu.Lock()
	defer rs.mu.Unlock()
	r := rs.active[e.RunID]
	if r == nil {
		return
	}
	if !e.Terminal() {
		r.snap.StartedAt = e.Lifecycle.StartedAt
		return
	}
	r.snap.EndedAt, r.snap.StopReason = e.Lifecycle.EndedAt, e.Lifecycle.StopReason
	if e.Lifecycle.Phase == run.PhaseError {
		r.snap.Error = e.Lifecycle.Error
	}
	rs.remember(r)
}

// remember keeps the ending of r and wakes who waits for it; rs.mu is held.
func (rs *runs) remember(r *Run) {
	if _, ok := rs.ended[r.req.ID]; !ok {
		rs.order = append(rs.order, r.req.ID)
	}
	now := rs.now()
	rs.ended[r.req.ID] = ending{snap: r.snap, at: now}
	for len(rs.order) > 0 && (len(rs.order) > maxSnapshots || now.Sub(rs.ended[rs.order[0]].at) > snapshotTTL) {
		delete(rs.ended, rs.order[0])
		rs.order = rs.order[1:]
	}
	for _, ch := range rs.waits[r.req.ID] {
		close(ch)
	}
	delete(rs.waits, r.req.ID)
}

// finish takes r out of the register with its result.
func (rs *runs) finish(r *Run, out run.Outcome, err error) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	r.outcome, r.err, r.state = out, err, stateEnded
	if r.snap.EndedAt.IsZero() {
		r.snap.EndedAt = rs.now()
		if err != nil {
			r.snap.Error = err.Error()
		}
		rs.remember(r)
	}
	delete(rs.active, r.req.ID)
	key := r.lane()
	if left := slices.DeleteFunc(rs.byLane[key], func(o *Run) bool { return o == r }); len(left) > 0 {
		rs.byLane[key] = left
	} else {
		delete(rs.byLane, key)
	}
	close(r.done)
	if rs.closed && len(rs.active) == 0 {
		close(rs.idle)
	}
}

// wait blocks until the run has ended, also one that has not been heard of yet.
func (rs *runs) wait(ctx context.Context, id run.ID, timeout time.Duration) (Snapshot, bool) {
	rs.mu.Lock()
	e, ok := rs.ended[id]
	if ok && rs.now().Sub(e.at) <= snapshotTTL {
		rs.mu.Unlock()
		return e.snap, true
	}
	if timeout <= 0 {
		rs.mu.Unlock()
		return Snapshot{}, false
	}
	ch := make(chan struct{})
	rs.waits[id] = append(rs.waits[id], ch)
	rs.mu.Unlock()

	timer := time.NewTimer(timeout)
	defer timer.Stop()
	select {
	case <-ch:
	case <-timer.C:
	case <-ctx.Done():
	}
	rs.mu.Lock()
	defer rs.mu.Unlock()
	if left := slices.DeleteFunc(rs.waits[id], func(c chan struct{}) bool { return c == ch }); len(left) > 0 {
		rs.waits[id] = left
	} else {
		delete(rs.waits, id)
	}
	e, ok = rs.ended[id]
	return e.snap, ok
}

// abort stops runs of a lane that match and returns their ids in order of
// acceptance. A run is stopped once.
func (rs *runs) abort(lane string, why run.Abort, match func(*Run) bool) []run.ID {
	rs.mu.Lock()
	var hit []*Run
	for _, r := range rs.byLane[lane] {
		if !r.aborted && r.snap.EndedAt.IsZero() && match(r) {
			r.aborted = true
			hit = append(hit, r)
		}
	}
	rs.mu.Unlock()
	ids := []run.ID{}
	for _, r := range hit {
		r.cancel(why)
		ids = append(ids, r.req.ID)
	}
	return ids
}

// abortAll stops every run and returns how many there were.
func (rs *runs) abortAll(why run.Abort) int {
	rs.mu.Lock()
	all := make([]*Run, 0, len(rs.active))
	for _, r := range rs.active {
		r.aborted = true
		all = append(all, r)
	}
	rs.mu.Unlock()
	for _, r := range all {
		r.cancel(why)
	}
	return len(all)
}

// close refuses further runs.
func (rs *runs) close() {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	if rs.closed {
		return
	}
	rs.closed = true
	if len(rs.active) == 0 {
		close(rs.idle)
	}
}

// find returns the active run with id.
func (rs *runs) find(id run.ID) *Run {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	return rs.active[id]
}

// findChat returns the active chat run with id. A queued message is also found
// by the id it was sent under.
func (rs *runs) findChat(id run.ID) *Run {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	if r := rs.active[id]; r != nil && r.kind == kindChat {
		return r
	}
	for _, r := range rs.active {
		if r.queued && r.origin == id {
			return r
		}
	}
	return nil
}

// running returns the run that the runner works on in a lane.
func (rs *runs) running(lane string) *Run {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	for _, r := range rs.byLane[lane] {
		if r.state == stateRunning && !r.aborted && r.snap.EndedAt.IsZero() {
			return r
		}
	}
	return nil
}

// busy reports whether a message for the lane must queue: something runs there,
// is about to, or queues already. A run that was stopped or said its last word does
// not count.
func (rs *runs) busy(lane string) bool {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	return slices.ContainsFunc(rs.byLane[lane], func(r *Run) bool { return !r.aborted && r.snap.EndedAt.IsZero() })
}

// queued returns the messages that wait behind a lane's run.
func (rs *runs) queued(lane string) []*Run {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	var list []*Run
	for _, r := range rs.byLane[lane] {
		if r.queued && r.state == stateWaiting && !r.aborted {
			list = append(list, r)
		}
	}
	return list
}

// lastQueued is when the newest message was queued behind a lane.
func (rs *runs) lastQueued(lane string) time.Time {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	var last time.Time
	for _, r := range rs.byLane[lane] {
		if r.queued && r.acceptedAt.After(last) {
			last = r.acceptedAt
		}
	}
	return last
}

// settle remembers the ending of an id that had no run of its own.
func (rs *runs) settle(id run.ID) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	now := rs.now()
	rs.remember(&Run{req: run.Request{ID: id}, snap: Snapshot{StartedAt: now, EndedAt: now}})
}

// Active describes a run that is under way.
type Active struct {
	ID                  run.ID
	SessionKey, AgentID string
	Chat                bool // it came through chat.send
	Running             bool // false while it waits
	AcceptedAt          time.Time
}

func (rs *runs) list() []Active {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	list := make([]Active, 0, len(rs.active))
	for _, r := range rs.active {
		list = append(list, Active{ID: r.req.ID, SessionKey: r.req.SessionKey, AgentID: r.req.AgentID,
			Chat: r.kind == kindChat, Running: r.state == stateRunning, AcceptedAt: r.acceptedAt})
	}
	slices.SortFunc(list, func(a, b Active) int { return cmp.Or(a.AcceptedAt.Compare(b.AcceptedAt), cmp.Compare(a.ID, b.ID)) })
	return list
}
