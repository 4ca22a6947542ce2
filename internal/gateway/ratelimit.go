package gateway

import (
	"context"
	"net/netip"
	"sync"
	"time"
)

// Limits of failed authentication per address. See docs/protocol.md#scopes.
const (
	authFailures    = 10
	authWindow      = 60 * time.Second
	authLockout     = 300 * time.Second
	authMaxTracked  = 10_000
	preauthPerAddr  = 32
	handshakePeriod = 10 * time.Second
)

// failureLimiter locks an address out after too many wrong secrets within the
// window. A success does not clear the count: somebody with one good credential
// must not be able to guess another without end.
type failureLimiter struct {
	mu     sync.Mutex
	byAddr map[netip.Addr]*failures
}

// failures is a ring of the times of the latest failures of one address.
type failures struct {
	at    [authFailures]time.Time
	next  int
	until time.Time // locked out until then
}

func (f *failures) latest() time.Time { return f.at[(f.next+authFailures-1)%authFailures] }

// locked returns how long a is still locked out, 0 when it is not.
func (l *failureLimiter) locked(a netip.Addr) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	f := l.byAddr[a]
	if f == nil {
		return 0
	}
	return max(0, time.Until(f.until))
}

// fail counts one wrong secret from a.
func (l *failureLimiter) fail(a netip.Addr) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	f := l.byAddr[a]
	if f == nil {
		l.makeRoom(now)
		f = &failures{}
		l.byAddr[a] = f
	}
	f.at[f.next] = now
	f.next = (f.next + 1) % authFailures
	// After the step next points at the oldest of the last ten.
	if first := f.at[f.next]; !first.IsZero() && now.Sub(first) < authWindow {
		f.until = now.Add(authLockout)
		f.at = [authFailures]time.Time{}
	}
}

// makeRoom keeps the table bounded: entries that count for nothing any more go
// first, then the one that matters least: the oldest that is not locked out,
// and only then the lockout that ends first.
func (l *failureLimiter) makeRoom(now time.Time) {
	if l.byAddr == nil {
		l.byAddr = make(map[netip.Addr]*failures)
	}
	if len(l.byAddr) < authMaxTracked {
		return
	}
	var victim netip.Addr
	var rank time.Time
	for a, f := range l.byAddr {
		at := f.latest()
		if f.until.After(at) {
			at = f.until
		}
		if now.Sub(at) >= authWindow {
			delete(l.byAddr, a)
		} else if !victim.IsValid() || at.Before(rank) {
			victim, rank = a, at
		}
	}
	if len(l.byAddr) >= authMaxTracked {
		delete(l.byAddr, victim)
	}
}

// addrCounter bounds how many connections of one address may be in the
// handshake at once.
type addrCounter struct {
	mu     sync.Mutex
	byAddr map[netip.Addr]*places
}

type places struct {
	taken chan struct{} // one per connection
	users int           // holders and waiters; guarded by addrCounter.mu
}

// take takes one of the limit places of a, waiting for at most patience. It
// reports false when none became free.
func (c *addrCounter) take(ctx context.Context, a netip.Addr, limit int, patience time.Duration) bool {
	p := c.join(a, limit)
	select {
	case p.taken <- struct{}{}:
		return true
	default:
	}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case p.taken <- struct{}{}:
		return true
	case <-timer.C:
	case <-ctx.Done():
	}
	c.leave(a)
	return false
}

// give frees a place of a.
func (c *addrCounter) give(a netip.Addr) {
	c.mu.Lock()
	p := c.byAddr[a]
	c.mu.Unlock()
	<-p.taken
	c.leave(a)
}

func (c *addrCounter) join(a netip.Addr, limit int) *places {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byAddr == nil {
		c.byAddr = make(map[netip.Addr]*places)
	}
	p := c.byAddr[a]
	if p == nil {
		p = &places{taken: make(chan struct{}, limit)}
		c.byAddr[a] = p
	}
	p.users++
	return p
}

func (c *addrCounter) leave(a netip.Addr) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.byAddr[a]
	if p.users--; p.users == 0 {
		delete(c.byAddr, a)
	}
}
