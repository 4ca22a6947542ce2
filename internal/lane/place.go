package lane

import (
	"context"
	"time"
)

// Place is one turn in a lane: waiting at first or holding a slot at once.
// It belongs to one goroutine at a time.
type Place struct {
	lanes *Lanes
	queue *queue
	since time.Time     // set when the place had to wait
	ready chan struct{} // closed when admitted or cleared; nil if admitted at once

	// Guarded by lanes.mu.
	state      state
	prev, next *Place
}

type state uint8

const (
	waiting state = iota
	holding
	cleared
	left
)

// Do waits for the slot, calls fn while holding it and leaves the lane, also
// when fn panics. Its errors are those of [Lanes.Do].
func (p *Place) Do(ctx context.Context, fn func(context.Context) error) error {
	defer p.Leave()
	if err := p.Wait(ctx); err != nil {
		return err
	}
	return fn(ctx)
}

// Wait blocks until the slot is held. It returns the cause of ctx when ctx
// ends first and [ErrCleared] when the lane is cleared; the place is left then.
func (p *Place) Wait(ctx context.Context) error {
	if err := context.Cause(ctx); err != nil {
		p.Leave()
		return err
	}
	if p.ready == nil {
		return nil
	}
	var notice <-chan time.Time
	if p.lanes.onWait != nil {
		t := time.NewTimer(p.lanes.noticeAfter - time.Since(p.since))
		defer t.Stop()
		notice = t.C
	}
	for {
		select {
		case <-p.ready:
			return p.admitted()
		case <-notice:
			notice = nil
			p.tell()
		case <-ctx.Done():
			p.Leave()
			return context.Cause(ctx)
		}
	}
}

// Leave gives the slot or the place in the queue back. More calls do nothing.
func (p *Place) Leave() {
	l := p.lanes
	l.mu.Lock()
	defer l.mu.Unlock()
	switch p.state {
	case holding:
		l.release(p.queue)
	case waiting:
		p.queue.remove(p)
		l.drop(p.queue)
	}
	p.state = left
	p.queue = nil // it may serve another name from now on
}

func (p *Place) admitted() error {
	p.lanes.mu.Lock()
	defer p.lanes.mu.Unlock()
	if p.state == cleared {
		return ErrCleared
	}
	return nil
}

// tell reports a long wait, unless it has just ended.
func (p *Place) tell() {
	l := p.lanes
	l.mu.Lock()
	if p.state != waiting {
		l.mu.Unlock()
		return
	}
	w := Wait{Lane: p.queue.name, Waited: time.Since(p.since), Depth: p.queue.waiting}
	l.mu.Unlock()
	l.onWait(w)
}

// push, pop and remove keep the waiters of a lane as a linked list, so that
// giving up from the middle costs the same as from the front. They need the
// lock of the lanes.

func (q *queue) push(p *Place) {
	p.prev = q.last
	if q.last == nil {
		q.first = p
	} else {
		q.last.next = p
	}
	q.last = p
	q.waiting++
}

func (q *queue) pop() *Place {
	p := q.first
	q.remove(p)
	return p
}

func (q *queue) remove(p *Place) {
	if p.prev == nil {
		q.first = p.next
	} else {
		p.prev.next = p.next
	}
	if p.next == nil {
		q.last = p.prev
	} else {
		p.next.prev = p.prev
	}
	p.prev, p.next = nil, nil
	q.waiting--
}
