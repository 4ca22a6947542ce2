package relay

import (
	"sync"
	"time"
)

// limiter counts events of names in sliding windows, on this node.
type limiter struct {
	now func() time.Time
	mu  sync.Mutex
	m   map[string]*bucket
}

// bucket holds tokens that come back evenly.
type bucket struct {
	tokens float64
	at     time.Time
}

func newLimiter(now func() time.Time) *limiter { return &limiter{now: now, m: map[string]*bucket{}} }

// take uses one of n in window, or says how long to wait.
func (l *limiter) take(name string, n int, window time.Duration) time.Duration {
	return l.takeSome(name, 1, n, window)
}

// takeSome uses some of n in window.
func (l *limiter) takeSome(name string, some, n int, window time.Duration) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	b := l.m[name]
	if b == nil {
		if len(l.m) >= 16384 {
			l.prune(now)
		}
		b = &bucket{tokens: float64(n), at: now}
		l.m[name] = b
	}
	rate := float64(n) / window.Seconds()
	b.tokens = min(float64(n), b.tokens+now.Sub(b.at).Seconds()*rate)
	b.at = now
	if missing := float64(some) - b.tokens; missing > 0 {
		return time.Duration(missing/rate*1e9) + time.Nanosecond
	}
	b.tokens -= float64(some)
	return 0
}

// prune drops the buckets that are full again, which one minute makes them.
func (l *limiter) prune(now time.Time) {
	for name, b := range l.m {
		if now.Sub(b.at) >= time.Minute {
			delete(l.m, name)
		}
	}
}
