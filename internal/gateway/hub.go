package gateway

import (
	"maps"
	"slices"
	"sync"
	"sync/atomic"
)

// hub knows all connections: guests, which are in the handshake, and members,
// to whom broadcasts go.
type hub struct {
	mu     sync.RWMutex
	conns  []*conn // members
	index  map[*conn]int
	guests map[*conn]struct{}
	// closed refuses newcomers during shutdown.
	closed bool

	// subscribers counts the connections that have subscribed to something, ever.
	subscribers atomic.Int32
}

// enter adds c as a guest. It reports false when the gateway is shutting down.
func (h *hub) enter(c *conn) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return false
	}
	if h.guests == nil {
		h.guests, h.index = make(map[*conn]struct{}), make(map[*conn]int)
	}
	h.guests[c] = struct{}{}
	return true
}

// join makes c a member. Before it does, greet runs under the lock and queues hello-ok, so
// that no broadcast can overtake it and none after its snapshot is missed. It
// reports false when the gateway is shutting down.
func (h *hub) join(c *conn, greet func()) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return false
	}
	greet()
	delete(h.guests, c)
	h.index[c] = len(h.conns)
	h.conns = append(h.conns, c)
	return true
}

// leave removes c.
func (h *hub) leave(c *conn) {
	c.subs.end(h)
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.guests, c)
	i, ok := h.index[c]
	if !ok {
		return
	}
	last := len(h.conns) - 1
	h.conns[i] = h.conns[last]
	h.index[h.conns[i]] = i
	h.conns[last] = nil
	h.conns = h.conns[:last]
	delete(h.index, c)
}

// broadcast queues e for everybody who may see it, except skip (nil: nobody).
// Queuing never waits.
func (h *hub) broadcast(e *event, skip *conn) {
	h.mu.RLock()
	defer h.mu.RUnlock()
	for _, c := range h.conns {
		if c != skip {
			c.broadcast(e)
		}
	}
}

// behind returns a channel that is closed when a client that is behind has
// caught up; nil when all are up to date, or gone.
func (h *hub) behind() <-chan struct{} {
	h.mu.RLock()
	defer h.mu.RUnlock()
	for _, c := range h.conns {
		if room := c.out.behind(); room != nil {
			return room
		}
	}
	return nil
}

// each calls do for every connection; do must not block.
func (h *hub) each(do func(*conn)) {
	h.mu.RLock()
	defer h.mu.RUnlock()
	for _, c := range h.conns {
		do(c)
	}
}

// any reports whether test holds for some connection.
func (h *hub) any(test func(*conn) bool) bool {
	h.mu.RLock()
	defer h.mu.RUnlock()
	return slices.ContainsFunc(h.conns, test)
}

// close refuses newcomers and returns everybody, guests too.
func (h *hub) close() []*conn {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = true
	return slices.AppendSeq(slices.Clone(h.conns), maps.Keys(h.guests))
}

// empty reports whether nobody is connected.
func (h *hub) empty() bool {
	h.mu.RLock()
	defer h.mu.RUnlock()
	return len(h.conns) == 0
}
