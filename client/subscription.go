package client

import (
	"context"
	"encoding/json"
	"slices"
	"sync"

	"openclaw/protocol"
)

// Event is something the gateway told.
type Event struct {
	Name         string
	Payload      json.RawMessage
	Seq          int64 // 0 for events that are meant for this connection alone
	StateVersion *protocol.StateVersion
	// Missed counts the broadcasts that the gateway left out before this one
	// because the connection was too slow; the state should be read again.
	Missed int64
}

// Decode decodes the payload.
func (e Event) Decode(payload any) error { return json.Unmarshal(e.Payload, payload) }

// defaultQueue is the capacity of subscriptions made by Subscribe.
const defaultQueue = 1024

// Subscription is a bounded queue of events. When it is full, an event that the
// next one of its kind makes up for (ticks, presence, health, text so far and
// other progress of a run) is dropped, the incoming one or else the oldest in
// the queue, and counted. When nothing may be dropped, the subscription ends
// with [ErrOverflow]: what must arrive is never lost silently. The connection
// is not held up either way.
type Subscription struct {
	client   *Client
	names    []string // nil for all
	capacity int
	ready    chan struct{} // capacity 1: something is queued, or it is over

	mu      sync.Mutex
	queue   []Event
	dropped int64
	err     error
}

// Subscribe starts a queue of the events with the given names, or of all
// events. Close it when done.
func (c *Client) Subscribe(names ...string) *Subscription { return c.subscribe(defaultQueue, names) }

// Events returns the subscription that [Options].EventQueue asked for, nil
// without. It holds every event since the connection began.
func (c *Client) Events() *Subscription { return c.events }

func (c *Client) subscribe(capacity int, names []string) *Subscription {
	s := &Subscription{client: c, names: names, capacity: capacity, ready: make(chan struct{}, 1)}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		s.finish(c.err)
		return s
	}
	c.subs[s] = struct{}{}
	return s
}

// Next returns the next event. After the last one it returns why there are no
// more: [Client.Err], [ErrOverflow] or the end of ctx.
func (s *Subscription) Next(ctx context.Context) (Event, error) {
	for {
		s.mu.Lock()
		if len(s.queue) > 0 {
			e := s.queue[0]
			s.queue[0] = Event{}
			s.queue = s.queue[1:]
			s.mu.Unlock()
			return e, nil
		}
		err := s.err
		s.mu.Unlock()
		if err != nil {
			return Event{}, err
		}
		select {
		case <-s.ready:
		case <-ctx.Done():
			return Event{}, context.Cause(ctx)
		}
	}
}

// Dropped counts the events that did not fit.
func (s *Subscription) Dropped() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.dropped
}

// Close ends the subscription; a waiting Next returns.
func (s *Subscription) Close() {
	s.client.mu.Lock()
	delete(s.client.subs, s)
	s.client.mu.Unlock()
	s.finish(errUnsubscribed)
}

func (s *Subscription) push(e Event) {
	if s.names != nil && !slices.Contains(s.names, e.Name) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return
	}
	if len(s.queue) >= s.capacity && !s.makeRoom(e) {
		return
	}
	s.queue = append(s.queue, e)
	s.signal()
}

// makeRoom drops something for e, or e itself. It holds s.mu.
func (s *Subscription) makeRoom(e Event) bool {
	if droppable(e) {
		s.dropped++
		return false
	}
	if i := slices.IndexFunc(s.queue, droppable); i >= 0 {
		s.queue = slices.Delete(s.queue, i, i+1)
		s.dropped++
		return true
	}
	s.err = ErrOverflow
	s.signal()
	return false
}

func (s *Subscription) finish(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil {
		s.err = err
	}
	s.signal()
}

func (s *Subscription) signal() {
	select {
	case s.ready <- struct{}{}:
	default: // Next will look anyway
	}
}

// droppable reports whether a later event makes up for e.
func droppable(e Event) bool {
	switch e.Name {
	case protocol.EventTick, protocol.EventPresence, protocol.EventHealth, protocol.EventHeartbeat:
		return true
	case protocol.EventChat:
		var p struct {
			State string `json:"state"`
		}
		return json.Unmarshal(e.Payload, &p) == nil && p.State == protocol.ChatDelta
	case protocol.EventAgent:
		var p struct {
			Stream string `json:"stream"`
			Data   struct {
				Phase string `json:"phase"`
			} `json:"data"`
		}
		if json.Unmarshal(e.Payload, &p) != nil {
			return false
		}
		return p.Stream == protocol.StreamAssistant || p.Stream == protocol.StreamTool && p.Data.Phase == "update"
	}
	return false
}
