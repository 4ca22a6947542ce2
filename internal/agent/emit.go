package agent

import (
	"sync"
	"time"

	"openclaw/internal/run"
)

// emitter numbers the events of one run and lets exactly one terminal event
// through. Tools stream from goroutines of their own, so the lock is held while
// an event is handed over: otherwise numbers could arrive out of order.
type emitter struct {
	send func(run.Event)
	now  func() time.Time
	base run.Event // what every event of the run carries

	mu      sync.Mutex
	seq     int
	started time.Time
	ended   bool
	draft   draft
}

// draft is the assistant's message that is being streamed. Each of its events carries
// the whole text so far, so a long one must not have an event for every few letters:
// that would be the square of its length in bytes.
type draft struct {
	text, held string    // so far; what of it no event has told yet
	told       time.Time // when the last event was sent
}

const (
	shortDraft = 16 << 10 // bytes; up to it every piece is told as it comes
	draftShare = 32       // of a longer one this part may wait …
	draftWait  = 150 * time.Millisecond
)

func newEmitter(req run.Request, send func(run.Event), now func() time.Time) *emitter {
	return &emitter{send: send, now: now, base: run.Event{
		RunID: req.ID, SessionKey: req.EventKey, AgentID: req.AgentID, SessionID: req.SessionID,
	}}
}

// emit sends one event; after the terminal event everything is dropped.
func (e *emitter) emit(stream run.Stream, fill func(ev *run.Event)) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.tell()
	e.put(stream, fill)
}

// put sends an event; the caller holds mu.
func (e *emitter) put(stream run.Stream, fill func(ev *run.Event)) {
	if e.ended {
		return
	}
	e.seq++
	ev := e.base
	ev.Seq, ev.Stream, ev.At = e.seq, stream, e.now()
	fill(&ev)
	e.ended = ev.Terminal()
	e.send(ev)
}

// start announces the run once; retries and fallbacks stay inside it.
func (e *emitter) start() {
	if !e.started.IsZero() {
		return
	}
	e.started = e.now()
	e.emit(run.StreamLifecycle, func(ev *run.Event) {
		ev.Lifecycle = &run.Lifecycle{Phase: run.PhaseStart, StartedAt: e.started}
	})
}

// assistant tells that the message has grown by delta to text.
func (e *emitter) assistant(text, delta string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	d := &e.draft
	if len(text) != len(d.text)+len(delta) {
		e.tell() // another message, or one that was cleaned up
	}
	d.text, d.held = text, d.held+delta
	if len(text) > shortDraft && len(d.held) < len(text)/draftShare && e.now().Sub(d.told) < draftWait {
		return
	}
	e.tell()
}

// tell sends what of the draft is held back; the caller holds mu.
func (e *emitter) tell() {
	d := &e.draft
	if d.held == "" {
		return
	}
	text, delta := d.text, d.held
	d.held, d.told = "", e.now()
	e.put(run.StreamAssistant, func(ev *run.Event) { ev.Assistant = &run.Assistant{Text: text, Delta: delta} })
}

func (e *emitter) tool(t run.Tool) {
	e.emit(run.StreamTool, func(ev *run.Event) { ev.Tool = &t })
}

// end closes the run with l, whose phase is end or error.
func (e *emitter) end(l run.Lifecycle) {
	e.emit(run.StreamLifecycle, func(ev *run.Event) {
		l.EndedAt = ev.At
		// A plain end carries no start time, which is how clients know it.
		if l.Aborted || l.Phase == run.PhaseError {
			l.StartedAt = e.started
		}
		ev.Lifecycle = &l
	})
}
