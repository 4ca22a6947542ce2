package relay

import (
	"context"
	"errors"
	"time"

	"openclaw/byo"
)

// Side is whose stream a topic feeds.
type Side string

// The sides of an integration.
const (
	ToAssistant Side = "assistant_channel" // topic ids are integration ids
	ToDesktop   Side = "desktop_channel"   // topic ids are desktop ids
)

// Keep is how many events a topic of that side holds; older ones go first, and
// none outlives [byo.EventsFor].
func (s Side) Keep() int {
	if s == ToDesktop {
		return byo.MaxDesktopEvents
	}
	return byo.MaxQueuedEvents
}

// DedupeFor is how long a [Bus] remembers the ids of what was published.
const DedupeFor = 2 * time.Minute

// Topic is the queue of one stream.
type Topic struct {
	Side Side
	ID   string // of a Subscribe or Replay empty: every topic of the side
}

// Message is something to publish.
type Message struct {
	Topic Topic
	ID    string // a message whose id was seen within DedupeFor is not published again
	Data  []byte
	TTL   time.Duration // 0: byo.EventsFor
}

// Event is a message in its topic. Seq ascends within a side, with gaps in a topic.
type Event struct {
	Topic Topic
	Seq   uint64
	Data  []byte
}

// ErrNoResume says that what came after a sequence number is not known: the
// number is ahead of the newest, or too old.
var ErrNoResume = errors.New("the position is not in the topic")

// Bus carries events to the nodes, in the order of their sequence numbers.
type Bus interface {
	// Publish stores a message and returns its sequence number once it is safe,
	// for a repeat that of the first one.
	Publish(ctx context.Context, m Message) (uint64, error)
	// Replay calls fn with what the topic holds after that number, at least up to
	// what was newest when Replay was called, or returns ErrNoResume. It ends with
	// fn's error.
	Replay(ctx context.Context, t Topic, after uint64, fn func(Event) error) error
	// Subscribe calls fn with everything that is published from now on, and
	// perhaps with events from just before. fn must not block.
	Subscribe(t Topic, fn func(Event)) (stop func())
	// Purge forgets what the topic holds.
	Purge(ctx context.Context, t Topic) error
}

// Signal is a short word from one node to all. It may get lost.
type Signal struct {
	Kind string `json:"kind"`
	ID   string `json:"id"`
	Data []byte `json:"data,omitempty"`
}

// Peers are the nodes that share a broker.
type Peers interface {
	// Tell sends a signal to every node, the own one included.
	Tell(ctx context.Context, s Signal) error
	// Listen calls fn with every signal. fn must not block.
	Listen(fn func(Signal)) (stop func())
}

// Broker is all that nodes of a relay share.
type Broker interface {
	Store
	Bus
	Peers
}
