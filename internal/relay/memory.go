package relay

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"openclaw/byo"
)

// Memory is a [Broker] for the nodes of one process. It loses everything with the
// process. It has no goroutines.
type Memory struct {
	now func() time.Time

	mu       sync.Mutex
	buckets  map[Bucket]*table
	revision uint64
	sides    map[Side]*log
	subs     map[Topic]map[*subscriber]struct{}
	ears     map[*ear]struct{}
	calls    []func() // to make outside of the lock, in order
	calling  bool
}

type (
	table struct {
		ttl     time.Duration
		entries map[string]row
		swept   time.Time
	}
	row struct {
		Entry
		at time.Time
	}
	log struct {
		last   uint64
		topics map[string]*queue
		ids    map[string]uint64
		recent []published // ids by age
	}
	published struct {
		id string
		at time.Time
	}
	queue struct {
		events  []kept
		dropped uint64 // newest number that limits took away
	}
	kept struct {
		Event
		at, until time.Time
	}
	subscriber struct{ fn func(Event) }
	ear        struct{ fn func(Signal) }
)

// NewMemory makes an empty broker. A nil now means time.Now.
func NewMemory(now func() time.Time) *Memory {
	if now == nil {
		now = time.Now
	}
	m := &Memory{
		now: now, buckets: map[Bucket]*table{}, sides: map[Side]*log{},
		subs: map[Topic]map[*subscriber]struct{}{}, ears: map[*ear]struct{}{},
	}
	for _, c := range Buckets() {
		m.buckets[c.Bucket] = &table{ttl: c.TTL, entries: map[string]row{}, swept: now()}
	}
	for _, s := range []Side{ToAssistant, ToDesktop} {
		m.sides[s] = &log{topics: map[string]*queue{}, ids: map[string]uint64{}}
	}
	return m
}

// table returns a bucket without what is too old.
func (m *Memory) table(b Bucket) *table {
	t, now := m.buckets[b], m.now()
	if t.ttl > 0 && now.Sub(t.swept) >= min(t.ttl, time.Minute) {
		t.swept = now
		for k, r := range t.entries {
			if now.Sub(r.at) >= t.ttl {
				delete(t.entries, k)
			}
		}
	}
	return t
}

func (t *table) get(key string, now time.Time) (row, bool) {
	r, ok := t.entries[key]
	return r, ok && (t.ttl == 0 || now.Sub(r.at) < t.ttl)
}

// Get implements [Store].
func (m *Memory) Get(_ context.Context, b Bucket, key string) (Entry, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, ok := m.table(b).get(key, m.now())
	if !ok {
		return Entry{}, ErrNotFound
	}
	return r.Entry, nil
}

// Put implements [Store].
func (m *Memory) Put(_ context.Context, b Bucket, key string, value []byte, revision uint64) (uint64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	t := m.table(b)
	r, ok := t.get(key, m.now())
	if ok != (revision != 0) || ok && r.Revision != revision {
		return 0, ErrConflict
	}
	m.revision++
	t.entries[key] = row{Entry{key, slices.Clone(value), m.revision}, m.now()}
	return m.revision, nil
}

// Delete implements [Store].
func (m *Memory) Delete(_ context.Context, b Bucket, key string, revision uint64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	t := m.table(b)
	if r, ok := t.get(key, m.now()); revision != 0 && (!ok || r.Revision != revision) {
		return ErrConflict
	}
	delete(t.entries, key)
	return nil
}

// List implements [Store].
func (m *Memory) List(_ context.Context, b Bucket, prefix string) ([]Entry, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var list []Entry
	t, now := m.table(b), m.now()
	for k := range t.entries {
		if r, ok := t.get(k, now); ok && strings.HasPrefix(k, prefix) {
			list = append(list, r.Entry)
		}
	}
	return list, nil
}

// Publish implements [Bus].
func (m *Memory) Publish(_ context.Context, msg Message) (uint64, error) {
	m.mu.Lock()
	now := m.now()
	l := m.sides[msg.Topic.Side]
	l.forget(now)
	if seq, ok := l.ids[msg.ID]; ok && msg.ID != "" {
		m.mu.Unlock()
		return seq, nil
	}
	l.last++
	ttl := msg.TTL
	if ttl == 0 || ttl > byo.EventsFor {
		ttl = byo.EventsFor
	}
	ev := Event{msg.Topic, l.last, slices.Clone(msg.Data)}
	q := l.topics[msg.Topic.ID]
	if q == nil {
		q = &queue{}
		l.topics[msg.Topic.ID] = q
	}
	q.trim(now)
	q.events = append(q.events, kept{ev, now, now.Add(ttl)})
	if over := len(q.events) - msg.Topic.Side.Keep(); over > 0 {
		q.dropped = q.events[over-1].Seq
		q.events = slices.Delete(q.events, 0, over)
	}
	if msg.ID != "" {
		l.ids[msg.ID] = ev.Seq
		l.recent = append(l.recent, published{msg.ID, now})
	}
	for _, t := range []Topic{msg.Topic, {Side: msg.Topic.Side}} {
		for s := range m.subs[t] {
			m.calls = append(m.calls, func() { s.fn(ev) })
		}
	}
	m.dispatch()
	return ev.Seq, nil
}

// dispatch makes the waiting calls, unless another goroutine is at it. It is
// called with the lock and gives it up.
func (m *Memory) dispatch() {
	if m.calling {
		m.mu.Unlock()
		return
	}
	m.calling = true
	for len(m.calls) > 0 {
		calls := m.calls
		m.calls = nil
		m.mu.Unlock()
		for _, call := range calls {
			call()
		}
		m.mu.Lock()
	}
	m.calling = false
	m.mu.Unlock()
}

// forget drops the ids that are too old to count.
func (l *log) forget(now time.Time) {
	n := 0
	for n < len(l.recent) && now.Sub(l.recent[n].at) >= DedupeFor {
		delete(l.ids, l.recent[n].id)
		n++
	}
	l.recent = slices.Delete(l.recent, 0, n)
}

// trim drops events whose time is over.
func (q *queue) trim(now time.Time) {
	q.events = slices.DeleteFunc(q.events, func(k kept) bool {
		if now.Sub(k.at) >= byo.EventsFor {
			q.dropped = max(q.dropped, k.Seq)
		}
		return !now.Before(k.until)
	})
}

// Replay implements [Bus].
func (m *Memory) Replay(_ context.Context, t Topic, after uint64, fn func(Event) error) error {
	m.mu.Lock()
	l, now := m.sides[t.Side], m.now()
	var events []Event
	for id, q := range l.topics {
		if t.ID != "" && t.ID != id {
			continue
		}
		q.trim(now)
		if after > 0 && after < q.dropped {
			m.mu.Unlock()
			return ErrNoResume
		}
		for _, k := range q.events {
			if k.Seq > after {
				events = append(events, k.Event)
			}
		}
	}
	last := l.last
	m.mu.Unlock()
	if after > last {
		return ErrNoResume
	}
	slices.SortFunc(events, func(a, b Event) int { return int(int64(a.Seq) - int64(b.Seq)) })
	for _, ev := range events {
		if err := fn(ev); err != nil {
			return err
		}
	}
	return nil
}

// Subscribe implements [Bus].
func (m *Memory) Subscribe(t Topic, fn func(Event)) func() {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := &subscriber{fn}
	if m.subs[t] == nil {
		m.subs[t] = map[*subscriber]struct{}{}
	}
	m.subs[t][s] = struct{}{}
	return func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		if delete(m.subs[t], s); len(m.subs[t]) == 0 {
			delete(m.subs, t)
		}
	}
}

// Purge implements [Bus].
func (m *Memory) Purge(_ context.Context, t Topic) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.sides[t.Side].topics, t.ID)
	return nil
}

// Tell implements [Peers].
func (m *Memory) Tell(_ context.Context, s Signal) error {
	m.mu.Lock()
	for e := range m.ears {
		m.calls = append(m.calls, func() { e.fn(s) })
	}
	m.dispatch()
	return nil
}

// Listen implements [Peers].
func (m *Memory) Listen(fn func(Signal)) func() {
	m.mu.Lock()
	defer m.mu.Unlock()
	e := &ear{fn}
	m.ears[e] = struct{}{}
	return func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		delete(m.ears, e)
	}
}
