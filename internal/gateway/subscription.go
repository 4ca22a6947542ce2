package gateway

import (
	"maps"
	"sync/atomic"
)

// maxFollowed is how many sessions a connection may follow.
const maxFollowed = 1000

// subscriptions is what a connection asked to be told beyond the broadcasts. See
// docs/protocol.md#protocol-4-sessions.
type subscriptions struct {
	changes atomic.Bool // sessions.changed of every session
	// keys are the canonical keys of the sessions that it follows. The map is
	// replaced, never changed: events look into it without a lock.
	keys atomic.Pointer[map[string]bool]
	// count is whether the hub counts the connection among its subscribers.
	count atomic.Int32
}

const (
	uncounted = iota
	counted
	gone // it has left, and is counted no more
)

// begin has h count the connection among its subscribers.
func (s *subscriptions) begin(h *hub) {
	if s.count.CompareAndSwap(uncounted, counted) {
		h.subscribers.Add(1)
	}
}

func (s *subscriptions) end(h *hub) {
	if s.count.Swap(gone) == counted {
		h.subscribers.Add(-1)
	}
}

// follow adds a session and reports whether there was room.
func (s *subscriptions) follow(key string) bool {
	for {
		old := s.keys.Load()
		next := map[string]bool{key: true}
		if old != nil {
			maps.Copy(next, *old)
		}
		if len(next) > maxFollowed {
			return false
		}
		if s.keys.CompareAndSwap(old, &next) {
			return true
		}
	}
}

func (s *subscriptions) unfollow(key string) {
	for {
		old := s.keys.Load()
		if old == nil || !(*old)[key] {
			return
		}
		next := maps.Clone(*old)
		delete(next, key)
		if s.keys.CompareAndSwap(old, &next) {
			return
		}
	}
}

func (s *subscriptions) follows(key string) bool {
	keys := s.keys.Load()
	return keys != nil && (*keys)[key]
}
