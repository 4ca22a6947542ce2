package desktop

import (
	"encoding/json"
	"sync"
)

// Kinds of an [Event].
const (
	EventMessage   = "message"   // a message is new or has another status
	EventTyping    = "typing"    // an assistant works; Text says on what
	EventIdle      = "idle"      // it no longer does
	EventWaiting   = "waiting"   // nothing was heard for long; it may still come
	EventDraft     = "draft"     // a piece of a message in the making
	EventSegment   = "segment"   // something was said in the call
	EventAnalysis  = "analysis"  // the result of a reasoning job
	EventBadge     = "badge"     // an insight could not be made; Text is a code
	EventAssistant = "assistant" // the state of an assistant changed
	EventCall      = "call"      // a call began or ended
	EventPairing   = "pairing"   // a pairing went on
)

// Event is what a desk tells those who watch it.
type Event struct {
	Kind      string          `json:"kind"`
	Session   string          `json:"session_id,omitempty"`
	Tab       string          `json:"tab,omitempty"`
	Text      string          `json:"text,omitempty"`
	MessageID string          `json:"message_id,omitempty"`
	Message   *Message        `json:"message,omitempty"`
	Segment   *Segment        `json:"segment,omitempty"`
	Assistant *Assistant      `json:"assistant,omitempty"`
	Pairing   *PairingStep    `json:"pairing,omitempty"`
	Result    json.RawMessage `json:"result,omitempty"`
	// Of an analysis over a relay: its job, and how long that took.
	JobID  string  `json:"job_id,omitempty"`
	TookMS float64 `json:"took_ms,omitempty"`
}

// hub passes events on; a watcher that is too slow loses the oldest.
type hub struct {
	mu       sync.Mutex
	watchers map[*watcher]bool
}

type watcher struct {
	events []Event
	wake   chan struct{}
}

const maxBehind = 1024

func (h *hub) tell(ev Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for w := range h.watchers {
		if len(w.events) == maxBehind {
			w.events = w.events[1:]
		}
		w.events = append(w.events, ev)
		select {
		case w.wake <- struct{}{}:
		default:
		}
	}
}

// watch returns a function that waits for the next events until done is closed.
func (h *hub) watch() (next func(done <-chan struct{}) []Event, leave func()) {
	w := &watcher{wake: make(chan struct{}, 1)}
	h.mu.Lock()
	if h.watchers == nil {
		h.watchers = map[*watcher]bool{}
	}
	h.watchers[w] = true
	h.mu.Unlock()
	next = func(done <-chan struct{}) []Event {
		select {
		case <-w.wake:
		case <-done:
			return nil
		}
		h.mu.Lock()
		defer h.mu.Unlock()
		list := w.events
		w.events = nil
		return list
	}
	return next, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.watchers, w)
	}
}
