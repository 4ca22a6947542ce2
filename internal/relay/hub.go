package relay

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"openclaw/byo"
)

// hub owns the open streams of a node and the goroutines that serve them.
type hub struct {
	r       *Relay
	ctx     context.Context // ends with the node
	cancel  context.CancelFunc
	closing chan struct{} // closed when the node ends
	wg      sync.WaitGroup

	mu         sync.Mutex
	closed     bool
	assistants map[string]*stream
	desktops   map[string]map[*stream]struct{}
	all        map[*stream]struct{}
	empty      chan struct{} // closed when the last stream of a drain is gone
}

func newHub(r *Relay) *hub {
	h := &hub{
		r: r, closing: make(chan struct{}), assistants: map[string]*stream{},
		desktops: map[string]map[*stream]struct{}{}, all: map[*stream]struct{}{},
	}
	h.ctx, h.cancel = context.WithCancel(context.Background())
	return h
}

// spawn runs fn in a goroutine that the node waits for, unless it has ended.
func (h *hub) spawn(fn func(context.Context)) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return false
	}
	h.wg.Go(func() { fn(h.ctx) })
	return true
}

// add makes s an open stream. The assistant's older stream ends; a desktop may
// have a few.
func (h *hub) add(s *stream) error {
	h.mu.Lock()
	var older *stream
	defer func() {
		h.mu.Unlock()
		if older != nil {
			older.supersede()
		}
	}()
	if h.closed || h.r.draining.Load() {
		return errDraining
	}
	if s.topic.Side == ToAssistant {
		older = h.assistants[s.topic.ID]
		h.assistants[s.topic.ID] = s
	} else {
		set := h.desktops[s.topic.ID]
		if len(set) >= byo.MaxDesktopStreams {
			return limited(byo.CodeTooManyStreams, "this desktop has as many streams as it may", 5*time.Second)
		}
		if set == nil {
			set = map[*stream]struct{}{}
			h.desktops[s.topic.ID] = set
		}
		set[s] = struct{}{}
	}
	h.all[s] = struct{}{}
	return nil
}

// remove forgets a stream that has ended.
func (h *hub) remove(s *stream) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.all, s)
	if h.assistants[s.topic.ID] == s {
		delete(h.assistants, s.topic.ID)
	}
	if set := h.desktops[s.topic.ID]; set != nil {
		if delete(set, s); len(set) == 0 {
			delete(h.desktops, s.topic.ID)
		}
	}
	if len(h.all) == 0 && h.empty != nil {
		close(h.empty)
		h.empty = nil
	}
}

func (h *hub) count() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.all)
}

// streams returns the open ones of a side.
func (h *hub) streams(side Side) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	if side == ToAssistant {
		return len(h.assistants)
	}
	n := 0
	for _, set := range h.desktops {
		n += len(set)
	}
	return n
}

func (h *hub) snapshot() []*stream {
	h.mu.Lock()
	defer h.mu.Unlock()
	list := make([]*stream, 0, len(h.all))
	for s := range h.all {
		list = append(list, s)
	}
	return list
}

func (h *hub) assistant(integration string) *stream {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.assistants[integration]
}

// sent is the newest event that the assistant's stream on this node was sent.
func (h *hub) sent(integration string) uint64 {
	if s := h.assistant(integration); s != nil {
		return s.sent.Load()
	}
	return 0
}

// supersede ends the stream here when another one took its place. The presence
// says which one holds, whatever the clocks of the nodes say.
func (h *hub) supersede(integration, conn string) {
	s := h.assistant(integration)
	if s == nil || s.conn == conn {
		return
	}
	h.spawn(func(ctx context.Context) {
		p, err := h.r.presence(ctx, integration)
		if err != nil {
			h.r.log.Warn("whose stream holds is not known", "integration", integration, "err", err)
		} else if p.Conn != s.conn {
			s.supersede()
		}
	})
}

// revoke ends the stream of an integration that is no more.
func (h *hub) revoke(integration string) {
	if s := h.assistant(integration); s != nil {
		s.end("revoked", byo.EventRevoked)
	}
}

// keepAlive pings the streams that were quiet for a while.
func (h *hub) keepAlive(ctx context.Context) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		limit := time.Now().Add(-byo.KeepAliveEvery).UnixNano()
		for _, s := range h.snapshot() {
			if s.wrote.Load() <= limit {
				s.ping()
			}
		}
	}
}

const (
	drainAfter  = 5 * time.Second
	drainSpread = 10 * time.Second
)

// drain ends the streams one by one.
func (h *hub) drain(ctx context.Context) error {
	h.mu.Lock()
	if len(h.all) == 0 {
		h.mu.Unlock()
		return nil
	}
	if h.empty == nil {
		h.empty = make(chan struct{})
	}
	empty := h.empty
	h.mu.Unlock()
	list := h.snapshot()
	rand.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	timer := time.NewTimer(drainAfter)
	defer timer.Stop()
	for i, s := range list {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-empty:
			return nil
		case <-timer.C:
		}
		s.end("drained", "")
		timer.Reset(drainSpread*time.Duration(i+1)/time.Duration(len(list)) - drainSpread*time.Duration(i)/time.Duration(len(list)))
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-empty:
		return nil
	}
}

// close ends all streams and waits for every goroutine.
func (h *hub) close() {
	for _, s := range h.snapshot() {
		s.end("closed", "")
	}
	h.mu.Lock()
	if !h.closed {
		h.closed = true
		close(h.closing)
	}
	h.mu.Unlock()
	grace := time.AfterFunc(closeGrace, h.cancel)
	h.wg.Wait()
	grace.Stop()
	h.cancel()
}

// closeGrace is how long streams may take to say goodbye.
const closeGrace = 5 * time.Second
