package gateway

import (
	"container/list"
	"sync"
	"time"

	"openclaw/protocol"
)

// Bounds of the idempotency cache. See docs/protocol.md#idempotency.
const (
	dedupeTTL = 300 * time.Second
	dedupeMax = 1000
)

// answer is a stored response.
type answer struct {
	payload []byte
	err     *protocol.Error
}

// dedupe remembers the answers to requests with an idempotency key, so that a
// repeated request is answered and not run again. Keys name the method and the
// caller, so that nobody reads another's answer by guessing a key.
type dedupe struct {
	mu    sync.Mutex
	byKey map[string]*list.Element
	order list.List // of *dedupeEntry, oldest first
}

type dedupeEntry struct {
	key string
	// known is closed when the first answer is there, or when the request was
	// withdrawn.
	known chan struct{}

	// Guarded by dedupe.mu.
	answer    answer
	at        time.Time
	answered  bool // known is closed
	finished  bool
	withdrawn bool
}

// begin claims key. The first caller gets its entry and must end it with settle
// or withdraw; later ones get the same entry and hit true.
func (d *dedupe) begin(key string) (e *dedupeEntry, hit bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := time.Now()
	if el := d.byKey[key]; el != nil {
		if e := el.Value.(*dedupeEntry); !e.finished || now.Sub(e.at) < dedupeTTL {
			return e, true
		}
		d.remove(el)
	}
	if d.byKey == nil {
		d.byKey = make(map[string]*list.Element)
	}
	e = &dedupeEntry{key: key, known: make(chan struct{}), at: now}
	d.byKey[key] = d.order.PushBack(e)
	d.trim()
	return e, false
}

// settle stores the answer that repeats get from now on. Finished says that
// nothing more will come; until then the entry does not expire.
func (d *dedupe) settle(e *dedupeEntry, a answer, finished bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	e.answer, e.at = a, time.Now()
	e.finished = finished
	e.tell()
	if el := d.byKey[e.key]; finished && el != nil && el.Value == e {
		d.order.MoveToBack(el)
	}
}

// tell wakes those who wait for the first answer. Called with mu held.
func (e *dedupeEntry) tell() {
	if !e.answered {
		e.answered = true
		close(e.known)
	}
}

// withdraw forgets a request that was refused before it had any effect: the
// same key may be used again. After an answer it does nothing.
func (d *dedupe) withdraw(e *dedupeEntry) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if e.answered {
		return
	}
	if el := d.byKey[e.key]; el != nil && el.Value == e {
		d.remove(el)
	}
	e.withdrawn = true
	e.tell()
}

// stored returns the answer of e, and false when the request was withdrawn.
// It is meaningful once known is closed.
func (d *dedupe) stored(e *dedupeEntry) (answer, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return e.answer, !e.withdrawn
}

// sweep drops what has expired.
func (d *dedupe) sweep() {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := time.Now()
	for el := d.order.Front(); el != nil; {
		next := el.Next()
		if e := el.Value.(*dedupeEntry); e.finished && now.Sub(e.at) >= dedupeTTL {
			d.remove(el)
		}
		el = next
	}
}

// trim keeps the bound: the oldest finished entry goes first, and only when all
// are running the oldest of those.
func (d *dedupe) trim() {
	for len(d.byKey) > dedupeMax {
		victim := d.order.Front()
		for el := victim; el != nil; el = el.Next() {
			if el.Value.(*dedupeEntry).finished {
				victim = el
				break
			}
		}
		d.remove(victim)
	}
}

// remove is called with mu held.
func (d *dedupe) remove(el *list.Element) {
	delete(d.byKey, el.Value.(*dedupeEntry).key)
	d.order.Remove(el)
}

func (d *dedupe) len() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.byKey)
}
