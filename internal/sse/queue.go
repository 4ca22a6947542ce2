package sse

import (
	"errors"
	"sync"
)

// Errors of [Queue.Push].
var (
	ErrFull   = errors.New("the stream's queue is full") // the queue is closed with it
	ErrClosed = errors.New("the stream is closed")
)

// Queue holds events on their way to one stream. It is safe for many goroutines,
// and Push never blocks.
type Queue struct {
	maxEvents, maxBytes int
	wake                chan struct{} // capacity 1: a full one says enough

	mu     sync.Mutex
	events []Event
	bytes  int
	closed bool
	reason error
}

// NewQueue makes a queue of at most so many events and bytes of data.
func NewQueue(maxEvents, maxBytes int) *Queue {
	return &Queue{maxEvents: maxEvents, maxBytes: maxBytes, wake: make(chan struct{}, 1)}
}

// Push adds ev. When it does not fit the queue is closed with [ErrFull], what it
// holds is dropped, and the stream ends: its reader resumes by its last id.
func (q *Queue) Push(ev Event) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return ErrClosed
	}
	if len(q.events) >= q.maxEvents || q.bytes+len(ev.Data) > q.maxBytes {
		q.closed, q.reason, q.events = true, ErrFull, nil
		q.signal()
		return ErrFull
	}
	q.events, q.bytes = append(q.events, ev), q.bytes+len(ev.Data)
	q.signal()
	return nil
}

// Close ends the stream after what is queued, with a reason for
// [Writer.Serve]. Only the first close counts.
func (q *Queue) Close(reason error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.closed {
		q.closed, q.reason = true, reason
		q.signal()
	}
}

func (q *Queue) signal() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// take empties the queue.
func (q *Queue) take() (events []Event, closed bool, reason error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	events, q.events, q.bytes = q.events, nil, 0
	return events, q.closed, q.reason
}
