package shell

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
	"time"
)

// maxKept bounds the bytes of finished sessions that are kept for follow-up; the
// oldest go first.
const maxKept = 8 << 20

// registry knows the sessions by id: the running ones and the background ones
// that have finished and not yet expired.
type registry struct {
	// work holds one for each session from its entry until its start is through,
	// and one for each goroutine of it.
	work sync.WaitGroup

	mu     sync.Mutex
	max    int // running
	live   int
	closed bool
	byID   map[string]*session
	// finished holds the background sessions that have ended, oldest first, and
	// kept their bytes.
	finished []*session
	kept     int
}

func (r *registry) init(maxRunning int) {
	r.max = maxRunning
	r.byID = map[string]*session{}
}

// enter gives s an id before its command is started. The caller ends the start
// with work.Done.
func (r *registry) enter(s *session) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.closed:
		return ErrClosed
	case r.live >= r.max:
		return fmt.Errorf("%d commands are running already; end some with the process tool first", r.live)
	}
	for n := 0; s.id == ""; n++ {
		if id := slug(n); r.byID[id] == nil {
			s.id = id
		}
	}
	r.byID[s.id] = s
	r.live++
	r.work.Add(1) // under the lock, so that nothing comes after close
	return nil
}

// started reports whether the registry was closed while s was starting.
func (r *registry) started(s *session) (closed bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s.ready = true
	return r.closed
}

// ended files a session; kept reports whether it can still be asked for.
func (r *registry) ended(s *session) (kept bool) {
	size := s.size()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.live--
	s.mu.Lock()
	kept = s.background && !s.removed && !r.closed
	s.mu.Unlock()
	if !kept {
		delete(r.byID, s.id)
		return false
	}
	s.kept = size
	r.finished = append(r.finished, s)
	r.kept += size
	ttl := within(s.scope.Settings.TTL, 30*time.Minute, time.Minute, 3*time.Hour)
	s.expire = time.AfterFunc(ttl, func() { r.forget(s) })
	for r.kept > maxKept && len(r.finished) > 1 {
		r.drop(r.finished[0])
	}
	return true
}

// remove takes back a session that did not start.
func (r *registry) remove(s *session) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.live--
	delete(r.byID, s.id)
}

// forget drops a finished session. Sessions that are gone are fine.
func (r *registry) forget(s *session) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.drop(s)
}

// drop needs r.mu.
func (r *registry) drop(s *session) {
	i := slices.Index(r.finished, s)
	if i < 0 {
		return
	}
	r.finished = slices.Delete(r.finished, i, i+1)
	r.kept -= s.kept
	s.expire.Stop()
	delete(r.byID, s.id)
}

// get returns a background session of an agent.
func (r *registry) get(agent, id string) *session {
	r.mu.Lock()
	s := r.byID[id]
	ready := s != nil && s.ready
	r.mu.Unlock()
	if !ready || s.scope.AgentID != agent || !s.reachable() {
		return nil
	}
	return s
}

// list returns the background sessions of an agent, newest first.
func (r *registry) list(agent string) []*session {
	r.mu.Lock()
	var all []*session
	for _, s := range r.byID {
		if s.ready && s.scope.AgentID == agent {
			all = append(all, s)
		}
	}
	r.mu.Unlock()
	all = slices.DeleteFunc(all, func(s *session) bool { return !s.reachable() })
	slices.SortFunc(all, func(a, b *session) int {
		return cmp.Or(b.started.Compare(a.started), cmp.Compare(a.id, b.id))
	})
	return all
}

func (r *registry) running() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.live
}

// close refuses new sessions, forgets the finished ones and returns the running ones.
func (r *registry) close() []*session {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	for len(r.finished) > 0 {
		r.drop(r.finished[0])
	}
	var live []*session
	for _, s := range r.byID {
		if s.ready {
			live = append(live, s)
		}
	}
	return live
}
