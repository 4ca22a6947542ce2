package agent

import (
	"slices"
	"sync"

	"openclaw/internal/run"
)

// mailbox holds the messages that were steered into a run and not read yet. It
// closes in the same step in which the run decides that nothing is left to do,
// so a message is either read by the run or refused, never lost between.
type mailbox struct {
	mu     sync.Mutex
	open   bool
	unread []run.Steer
}

// put delivers a message; false means that the run does not take any.
func (m *mailbox) put(s run.Steer) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.open {
		return false
	}
	m.unread = append(m.unread, s)
	return true
}

// take returns the oldest message; one is read per check.
func (m *mailbox) take() (run.Steer, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.unread) == 0 {
		return run.Steer{}, false
	}
	s := m.unread[0]
	m.unread = slices.Delete(m.unread, 0, 1)
	return s, true
}

// waiting reports whether a message is there to take.
func (m *mailbox) waiting() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.unread) > 0
}

func (m *mailbox) begin() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.open = true
}

// closeIfEmpty ends delivery unless a message is waiting.
func (m *mailbox) closeIfEmpty() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.unread) > 0 {
		return false
	}
	m.open = false
	return true
}

// close ends delivery and returns what nobody read.
func (m *mailbox) close() []run.Steer {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.open = false
	unread := m.unread
	m.unread = nil
	return unread
}
