package session

import (
	"context"
	"sync"
)

// logCache shares open transcripts within the process and keeps the parsed form
// of recent ones, bounded by bytes.
type logCache struct {
	limit int64

	mu    sync.Mutex
	tapes map[string]*tape
	idle  []*tape // without users, oldest first
	size  int64   // cost of idle tapes
}

// take returns the tape of path and counts a user.
func (l *logCache) take(s *Store, path string) *tape {
	l.mu.Lock()
	defer l.mu.Unlock()
	t := l.tapes[path]
	if t == nil {
		t = &tape{s: s, path: path, opening: make(chan struct{}, 1)}
		if l.tapes == nil {
			l.tapes = map[string]*tape{}
		}
		l.tapes[path] = t
	}
	if t.users == 0 {
		l.forget(t)
	}
	t.users++
	return t
}

// give takes a user back. The last one closes the file; a handle that is being
// opened meanwhile waits for that.
func (l *logCache) give(t *tape) error {
	_ = acquire(context.Background(), t.opening) // background never ends
	defer release(t.opening)
	l.mu.Lock()
	last := t.users == 1
	l.mu.Unlock()
	var err error
	if last {
		err = t.shut()
	}
	t.mu.Lock()
	cost := int64(0)
	if t.c != nil {
		cost = t.c.cost
	}
	t.mu.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	if t.users--; t.users > 0 {
		return err
	}
	l.remember(t, cost, err == nil)
	return err
}

// remember keeps an unused tape if there is room; l.mu is held.
func (l *logCache) remember(t *tape, cost int64, good bool) {
	if !good || cost == 0 || cost > l.limit {
		delete(l.tapes, t.path)
		return
	}
	t.idleCost = cost
	l.idle = append(l.idle, t)
	l.size += cost
	for l.size > l.limit {
		oldest := l.idle[0]
		l.forget(oldest)
		delete(l.tapes, oldest.path)
	}
}

// forget takes t out of the idle list; l.mu is held.
func (l *logCache) forget(t *tape) {
	for i, other := range l.idle {
		if other == t {
			l.idle = append(l.idle[:i], l.idle[i+1:]...)
			l.size -= t.idleCost
			return
		}
	}
}

// drop makes the next opening of path read the file.
func (l *logCache) drop(path string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if t := l.tapes[path]; t != nil && t.users == 0 {
		l.forget(t)
		delete(l.tapes, path)
	}
}

// open reports whether somebody in this process has path open.
func (l *logCache) open(path string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	t := l.tapes[path]
	return t != nil && t.users > 0
}
