package lane

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// Names of the global lanes and their limits unless set otherwise. Any other
// name admits one at a time.
const (
	Main     = "main"     // 4: agent runs
	Subagent = "subagent" // 8: runs started by a run
	Cron     = "cron"     // 1: scheduled runs
	Nested   = "nested"   // 1: agent-to-agent steps

	sessionPrefix = "session:"
)

// ErrCleared is what a waiting place gets when its lane is cleared.
var ErrCleared = errors.New("lane cleared while waiting")

// Session names the lane of a session. It always admits exactly one.
func Session(key string) string {
	if strings.HasPrefix(key, sessionPrefix) {
		return key
	}
	return sessionPrefix + key
}

// Wait tells about a place that has been waiting for long.
type Wait struct {
	Lane   string
	Waited time.Duration
	// Depth counts the places that wait in the lane, this one included.
	Depth int
}

// Config holds what [New] needs. The zero value is ready to use.
type Config struct {
	// Limits overrides the limits of global lanes by name. Values below 1 count as 1.
	Limits map[string]int
	// NoticeAfter is the wait after which OnWait is told; default 2 s.
	NoticeAfter time.Duration
	// OnWait is called at most once per place, by the goroutine that waits and
	// without any lock held. Default: nobody is told.
	OnWait func(Wait)
}

// Lanes is a set of lanes. It is safe for concurrent use.
type Lanes struct {
	noticeAfter time.Duration
	onWait      func(Wait)

	mu     sync.Mutex
	limits map[string]int
	lanes  map[string]*queue // only lanes with a holder or a waiter
	spare  *queue            // one emptied lane kept for the next user
}

// queue is one lane. All fields are guarded by Lanes.mu.
type queue struct {
	name        string
	held        int
	waiting     int
	first, last *Place
}

// New returns empty lanes.
func New(cfg Config) *Lanes {
	l := &Lanes{
		noticeAfter: cfg.NoticeAfter,
		onWait:      cfg.OnWait,
		limits:      map[string]int{Main: 4, Subagent: 8, Cron: 1, Nested: 1},
		lanes:       map[string]*queue{},
	}
	if l.noticeAfter <= 0 {
		l.noticeAfter = 2 * time.Second
	}
	for name, n := range cfg.Limits {
		l.limits[name] = max(n, 1)
	}
	return l
}

// Do waits for a slot of the named lane, calls fn while holding it and returns
// what fn returned. It returns the cause of ctx when ctx ends before the slot
// is free, and [ErrCleared] when the lane is cleared.
func (l *Lanes) Do(ctx context.Context, name string, fn func(context.Context) error) error {
	return l.Queue(name).Do(ctx, fn)
}

// Queue takes the next place in the named lane without waiting. The caller
// must end it with [Place.Do] or [Place.Leave].
func (l *Lanes) Queue(name string) *Place {
	p := &Place{lanes: l}
	l.mu.Lock()
	defer l.mu.Unlock()
	q := l.open(name)
	p.queue = q
	if q.waiting == 0 && q.held < l.limit(name) {
		q.held++
		p.state = holding
		return p
	}
	p.state = waiting
	p.since = time.Now()
	p.ready = make(chan struct{})
	q.push(p)
	return p
}

// SetLimits applies limits of global lanes by name, values below 1 counting as
// 1. Names that are absent keep their limit. A raised limit admits waiting
// places at once; a lowered one takes nothing from those who hold a slot.
func (l *Lanes) SetLimits(limits map[string]int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for name, n := range limits {
		l.limits[name] = max(n, 1)
		if q := l.lanes[name]; q != nil {
			l.admit(q)
		}
	}
}

// Clear rejects every place that waits in the named lane with [ErrCleared] and
// returns how many there were. Holders keep their slots.
func (l *Lanes) Clear(name string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	q := l.lanes[name]
	if q == nil {
		return 0
	}
	n := q.waiting
	for q.first != nil {
		p := q.pop()
		p.state = cleared
		close(p.ready)
	}
	return n
}

// Stat describes one lane at a moment.
type Stat struct {
	Name                 string
	Limit, Held, Waiting int
}

// Stat describes the named lane; an unused lane has nothing held or waiting.
func (l *Lanes) Stat(name string) Stat {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := Stat{Name: name, Limit: l.limit(name)}
	if q := l.lanes[name]; q != nil {
		s.Held, s.Waiting = q.held, q.waiting
	}
	return s
}

// Stats describes the lanes in use, sorted by name.
func (l *Lanes) Stats() []Stat {
	l.mu.Lock()
	defer l.mu.Unlock()
	stats := make([]Stat, 0, len(l.lanes))
	for _, name := range slices.Sorted(maps.Keys(l.lanes)) {
		q := l.lanes[name]
		stats = append(stats, Stat{Name: name, Limit: l.limit(name), Held: q.held, Waiting: q.waiting})
	}
	return stats
}

// limit needs l.mu.
func (l *Lanes) limit(name string) int {
	if strings.HasPrefix(name, sessionPrefix) {
		return 1
	}
	return max(l.limits[name], 1)
}

// open returns the named lane, making it if nobody uses it. It needs l.mu.
func (l *Lanes) open(name string) *queue {
	if q := l.lanes[name]; q != nil {
		return q
	}
	q := l.spare
	if q == nil {
		q = new(queue)
	}
	l.spare = nil
	*q = queue{name: name}
	l.lanes[name] = q
	return q
}

// release gives one slot of q back. It needs l.mu.
func (l *Lanes) release(q *queue) {
	q.held--
	l.admit(q)
	l.drop(q)
}

// admit hands free slots of q to its first waiters. It needs l.mu.
func (l *Lanes) admit(q *queue) {
	for limit := l.limit(q.name); q.first != nil && q.held < limit; {
		p := q.pop()
		q.held++
		p.state = holding
		close(p.ready)
	}
}

// drop forgets q once nobody uses it. It needs l.mu.
func (l *Lanes) drop(q *queue) {
	if q.held == 0 && q.waiting == 0 {
		delete(l.lanes, q.name)
		l.spare = q
	}
}
