package gateway

import (
	"net/netip"
	"sync"
	"time"
)

const (
	quietFor     = time.Minute
	quietTracked = 1000
)

// quiet keeps whoever may not come in from filling the log: one line for each address
// and cause within a minute. Beyond quietTracked sources all others share one line.
type quiet struct {
	mu sync.Mutex
	by map[quietSource]*quietCount
}

type quietSource struct {
	addr  netip.Addr
	cause string
}

type quietCount struct {
	until time.Time
	kept  int
}

// pass reports whether a line may be written now, and how many were kept back before it.
func (q *quiet) pass(addr netip.Addr, cause string) (kept int, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	now, source := time.Now(), quietSource{addr, cause}
	if q.by[source] == nil && len(q.by) >= quietTracked {
		for s, c := range q.by {
			if now.After(c.until.Add(quietFor)) {
				delete(q.by, s)
			}
		}
		if len(q.by) >= quietTracked {
			source = quietSource{}
		}
	}
	c := q.by[source]
	if c == nil {
		if q.by == nil {
			q.by = map[quietSource]*quietCount{}
		}
		c = &quietCount{}
		q.by[source] = c
	}
	if now.Before(c.until) {
		c.kept++
		return 0, false
	}
	kept, c.kept, c.until = c.kept, 0, now.Add(quietFor)
	return kept, true
}
