package relay

import (
	"context"
	"strconv"
	"time"

	"openclaw/byo"
	"openclaw/internal/sse"
)

// assistantStream answers GET /integrations/{id}/stream, also while the pairing
// is under way. The newest stream of an integration wins.
func (c *call) assistantStream() (answer, error) {
	if c.path("id") != c.who.ID {
		return answer{}, errNotFound
	}
	if c.draining.Load() {
		return answer{}, errDraining
	}
	duplex, err := c.duplex()
	if err != nil {
		return answer{}, err
	}
	conn, err := byo.NewID(c.cfg.Random)
	if err != nil {
		return answer{}, err
	}
	ctx, now := c.req.Context(), c.now()
	p, err := change(ctx, c.store, Presences, c.who.ID, func(p *presence, _ bool) error {
		if gap := now.Sub(time.UnixMilli(p.Opened)); p.Opened != 0 && gap < byo.StreamMinGap {
			return limited(byo.CodeRateLimited, "streams come too fast", max(byo.StreamMinGap-gap, time.Millisecond))
		}
		p.Opened, p.Conn, p.Node, p.Desktop = millis(now), conn, c.node, c.who.party()
		return nil
	})
	if err != nil {
		return answer{}, err
	}
	s := c.newStream(Topic{ToAssistant, c.who.ID}, conn, now, duplex)
	who, r := c.who, c.Relay
	s.ended = func(s *stream) { r.streamClosed(who, s.conn) }
	if err := c.open(s); err != nil {
		r.streamClosed(who, conn)
		return answer{}, err
	}
	r.tell(context.WithoutCancel(ctx), signalStream, who.ID, []byte(conn))
	r.lifeSign(context.WithoutCancel(ctx), who.ID, p)
	c.hold(s)
	return answer{}, nil
}

// duplex reports whether the assistant's side knows control frames.
func (c *call) duplex() (bool, error) {
	if c.who.Pairing != "" {
		p, err := c.mine()
		return p.Scheme == byo.DuplexV2, err
	}
	b, err := c.bond()
	return b.Scheme == byo.DuplexV2, err
}

// streamClosed notes that a stream ended, unless another one took over.
func (r *Relay) streamClosed(who token, conn string) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	ours := false
	p, err := change(ctx, r.store, Presences, who.ID, func(p *presence, exists bool) error {
		if ours = exists && p.Conn == conn; !ours {
			return errKeep
		}
		p.Conn, p.Node = "", ""
		return nil
	})
	if err != nil {
		r.log.Warn("the end of a stream was not noted", "integration", who.ID, "err", err)
		return
	}
	if ours {
		r.lifeSign(ctx, who.ID, p)
	}
}

// desktopStream answers GET /desktop/stream.
func (c *call) desktopStream() (answer, error) {
	if c.draining.Load() {
		return answer{}, errDraining
	}
	conn, err := byo.NewID(c.cfg.Random)
	if err != nil {
		return answer{}, err
	}
	s := c.newStream(Topic{ToDesktop, c.who.ID}, conn, c.now(), false)
	s.ended = func(*stream) {}
	if err := c.open(s); err != nil {
		return answer{}, err
	}
	c.hold(s)
	return answer{}, nil
}

func (c *call) newStream(t Topic, conn string, now time.Time, duplex bool) *stream {
	s := &stream{
		h: c.hub, topic: t, conn: conn, started: now.UnixNano(), done: make(chan struct{}),
		frames: frames{r: c.Relay, side: t.Side, id: t.ID, duplex: duplex},
	}
	if id := sse.LastEventID(c.req); id != "" {
		if seq, err := strconv.ParseUint(id, 10, 64); err == nil {
			s.resume = seq
		}
	}
	return s
}

// open answers the request with a stream and lets it run. Live events are taken
// before the catch-up begins, so that none falls in between.
func (c *call) open(s *stream) error {
	s.wrote.Store(time.Now().UnixNano())
	s.sink = noSink{}
	s.stop = func() {}
	s.running = true // until there is a connection
	if err := c.hub.add(s); err != nil {
		return err
	}
	conn, err := newSink(c.w, c.req)
	c.sent = true
	if err != nil {
		c.hub.remove(s)
		return err
	}
	stop := c.broker.Subscribe(s.topic, s.push)
	s.mu.Lock()
	s.sink, s.stop, s.running = conn, stop, false
	s.kick()
	s.mu.Unlock()
	return nil
}

// hold waits for the peer to go: in a goroutine of its own when the connection
// was taken over, in the handler's when it was not.
func (c *call) hold(s *stream) {
	if _, lent := s.sink.(*responseSink); lent {
		s.sink.wait()
		s.end("gone", "")
		<-s.done
		return
	}
	c.hub.spawn(func(context.Context) {
		s.sink.wait()
		s.end("gone", "")
	})
}

// noSink stands in before there is a connection; nothing is written to it.
type noSink struct{ sink }

func (noSink) interrupt(bool) {}
