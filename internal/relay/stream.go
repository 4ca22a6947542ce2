package relay

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"openclaw/byo"
	"openclaw/internal/sse"
)

// maxQueued is how many events may wait for a stream that is busy; the one that
// does not keep up is closed and resumes by its last id.
const maxQueued = 256

// stream is one open event stream. It writes in a goroutine that exists only
// while there is something to write.
type stream struct {
	h       *hub
	topic   Topic
	conn    string
	started int64 // ns
	sink    sink
	stop    func() // of the subscription
	sent    atomic.Uint64
	wrote   atomic.Int64 // ns, of time.Now
	done    chan struct{}
	ended   func(s *stream) // after the last byte

	mu      sync.Mutex
	queue   []Event
	running bool
	pinged  bool
	closed  bool
	reason  string
	last    string // type of a last control frame

	// Owned by the writing goroutine.
	frames frames
	resume uint64 // Last-Event-ID, 0 without
	caught bool
}

// push takes an event for the stream.
func (s *stream) push(ev Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	if len(s.queue) >= maxQueued {
		s.finish("slow", "")
		return
	}
	s.queue = append(s.queue, ev)
	s.kick()
}

func (s *stream) ping() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pinged = true
	s.kick()
}

// end closes the stream, after a control frame of that type if its peer knows
// such frames. Only the first end counts.
func (s *stream) end(reason, control string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.finish(reason, control)
}

func (s *stream) supersede() { s.end("superseded", byo.EventSuperseded) }

// finish is called with the lock.
func (s *stream) finish(reason, control string) {
	if s.closed {
		return
	}
	s.closed, s.reason, s.last, s.queue = true, reason, control, nil
	s.sink.interrupt(reason == "gone" || reason == "slow")
	s.kick()
}

// kick starts the writing goroutine. It is called with the lock.
func (s *stream) kick() {
	if !s.running {
		s.running = s.h.spawn(s.write)
	}
}

// write writes until there is nothing left to write.
func (s *stream) write(ctx context.Context) {
	for {
		s.mu.Lock()
		batch, ping := s.queue, s.pinged
		s.queue, s.pinged = nil, false
		switch {
		case s.closed:
			s.mu.Unlock()
			s.goodbye()
			return
		case !s.caught:
			s.queue = append(batch, s.queue...)
		case len(batch) == 0 && !ping:
			s.running = false
			s.mu.Unlock()
			return
		}
		caught := s.caught
		s.mu.Unlock()
		var err error
		switch {
		case !caught:
			err = s.catchUp(ctx)
			s.caught, s.frames.live = true, true
		case len(batch) > 0:
			err = s.send(ctx, batch)
		default:
			err = s.sink.write([]byte(": keep-alive\n\n"))
			s.wrote.Store(time.Now().UnixNano())
		}
		if err != nil {
			s.fail(err)
		}
	}
}

// fail ends a stream that cannot go on; its peer resumes on the next one.
func (s *stream) fail(err error) {
	reason := "gone"
	var storage *storageError
	if errors.As(err, &storage) {
		reason = "storage"
		s.h.r.log.Error("stream ended", "side", string(s.topic.Side), "id", s.topic.ID, "err", err)
	}
	s.end(reason, "")
}

// goodbye sends the last frame and closes the connection.
func (s *stream) goodbye() {
	s.mu.Lock()
	last, reason := s.last, s.reason
	s.mu.Unlock()
	if last != "" && (s.frames.duplex || s.topic.Side == ToDesktop) {
		data, err := json.Marshal(byo.ControlEvent{EventType: last})
		if err == nil {
			frame, _ := sse.Append(nil, sse.Event{Type: last, Data: data})
			_ = s.sink.write(frame) // it is closed in any case
		}
	}
	s.sink.close(reason != "gone" && reason != "slow")
	s.stop()
	s.h.remove(s)
	s.h.r.metrics.streamEnds.WithLabelValues(string(s.topic.Side), reason).Inc()
	s.ended(s)
	close(s.done)
}

// catchUp sends what the peer may have missed. Live events wait meanwhile.
func (s *stream) catchUp(ctx context.Context) error {
	r := s.h.r
	if s.resume > 0 {
		err := r.broker.Replay(ctx, s.topic, s.resume, func(ev Event) error { return s.send(ctx, []Event{ev}) })
		if !errors.Is(err, ErrNoResume) {
			if err == nil {
				s.sent.CompareAndSwap(0, s.resume)
			}
			return r.streamError(err)
		}
	}
	if s.topic.Side == ToAssistant {
		c, _, err := read[cursor](ctx, r.store, Cursors, s.topic.ID)
		if err != nil && !errors.Is(err, ErrNotFound) {
			return err
		}
		s.frames.cursor, s.frames.jobs = c.Seq, map[string]bool{}
		if c.Seq > 0 && errors.Is(r.broker.Replay(ctx, s.topic, c.Seq, nothing), ErrNoResume) {
			s.frames.cursor = 0
		}
	}
	err := r.broker.Replay(ctx, s.topic, 0, func(ev Event) error { return s.send(ctx, []Event{ev}) })
	seen := s.frames.jobs
	s.frames.cursor, s.frames.jobs = 0, nil
	if err != nil || s.topic.Side == ToDesktop {
		return r.streamError(err)
	}
	return s.missing(ctx, seen)
}

func nothing(Event) error { return errSkip }

// missing publishes again the open jobs that the topic lost.
func (s *stream) missing(ctx context.Context, seen map[string]bool) error {
	r := s.h.r
	for _, open := range r.tracker.openJobs(s.topic.ID) {
		if seen[open.id] {
			continue
		}
		again := false
		j, err := r.changeJob(ctx, open.integration, open.id, nil, func(j *job) error {
			again = !byo.Terminal(j.State) && s.started/1e6-j.Created > sweepEvery.Milliseconds()
			if !again {
				return errKeep
			}
			j.Attempt++
			return nil
		})
		if err == nil && again {
			err = r.publishJob(ctx, j)
		}
		if err != nil && !errors.Is(err, ErrNotFound) {
			return err
		}
	}
	return nil
}

// send writes events, each once and in order.
func (s *stream) send(ctx context.Context, batch []Event) error {
	for _, ev := range batch {
		if ev.Seq <= s.sent.Load() {
			continue
		}
		out, sent, err := s.frames.frame(ctx, ev)
		if errors.Is(err, errSkip) {
			continue
		}
		if err != nil {
			return err
		}
		frame, err := sse.Append(make([]byte, 0, len(out.Data)+128), out)
		if err != nil {
			return err
		}
		if err := s.sink.write(frame); err != nil {
			return err
		}
		s.sent.Store(ev.Seq)
		s.wrote.Store(time.Now().UnixNano())
		s.h.r.metrics.frames.WithLabelValues(string(s.topic.Side)).Inc()
		if sent != nil {
			if err := sent(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

// streamError tells an error of the broker from one of the connection.
func (r *Relay) streamError(err error) error {
	var gone *goneError
	var storage *storageError
	if err == nil || errors.As(err, &gone) || errors.As(err, &storage) {
		return err
	}
	return r.store.wrap(err)
}
