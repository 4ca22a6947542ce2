package gateway

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"time"

	"openclaw/protocol"
)

const (
	tickEvery  = protocol.TickIntervalMs * time.Millisecond
	sweepEvery = 60 * time.Second
	// stateEvery is the least time between two presence or health events that are
	// not due by the clock, so that many connects share one.
	stateEvery = 500 * time.Millisecond
)

// maintain sends ticks and, at every second one, refreshes health and forgets
// what has expired.
func (g *Gateway) maintain(ctx context.Context) error {
	tick := time.NewTicker(tickEvery)
	defer tick.Stop()
	for n := 1; ; n++ {
		select {
		case <-ctx.Done():
			return nil
		case now := <-tick.C:
			g.broadcast(protocol.EventTick, protocol.TickEvent{Ts: now.UnixMilli()})
		}
		if n%(int(sweepEvery/tickEvery)) == 0 {
			g.answers.sweep()
			g.runs.sweep()
			g.state.trigger(wishHealth)
		}
	}
}

// broadcast sends an event of the table to everybody who may see it.
func (g *Gateway) broadcast(name string, payload any) {
	for _, rule := range eventRules {
		if rule.name != name {
			continue
		}
		head, err := encodeHead(name, payload)
		if err != nil {
			g.log.Error("event not sent", "event", name, "err", err)
			return
		}
		g.hub.broadcast(&event{name: name, guard: rule.guard, droppable: rule.droppable, head: head}, nil)
		return
	}
	g.log.Error("event not sent: it is not in the table", "event", name)
}

// tellState tells everybody what has changed.
func (g *Gateway) tellState(ctx context.Context, wishes uint32) {
	if wishes&wishPresence != 0 {
		g.broadcastPresence()
	}
	if wishes&wishHealth != 0 || wishes&wishFresh != 0 && g.health.old() {
		g.refreshHealth(ctx)
	}
}

// refreshHealth makes a new health snapshot and tells everybody.
func (g *Gateway) refreshHealth(ctx context.Context) {
	s, err := g.health.renew(ctx)
	if err != nil {
		g.log.Warn("health not refreshed", "err", err)
		return
	}
	g.hub.broadcast(&event{
		name: protocol.EventHealth, guard: guardOpen,
		head: headOf(protocol.EventHealth, s.payload),
		tail: stateTail(protocol.StateVersion{Presence: g.presence.current(), Health: s.version}),
	}, nil)
}

// broadcastPresence tells everybody who is there, except those whose hello-ok
// said the same already.
func (g *Gateway) broadcastPresence() {
	entries, version := g.presence.list()
	if !g.hub.any(func(c *conn) bool { return c.presenceSeen < version }) {
		return
	}
	payload := slices.Concat([]byte(`{"presence":`), entries, []byte("}"))
	e := &event{
		name: protocol.EventPresence, guard: guardOpen, droppable: true,
		head: headOf(protocol.EventPresence, payload),
		tail: stateTail(protocol.StateVersion{Presence: version, Health: g.health.version()}),
	}
	g.hub.each(func(c *conn) {
		if c.presenceSeen < version {
			c.broadcast(e)
		}
	})
}

// awaitEnd returns when the gateway has to end: nil when ctx has ended, or
// [ErrRestart]. A restart that could not succeed is called off.
func (g *Gateway) awaitEnd(ctx context.Context, addr net.Addr) error {
	defer g.restarts.close()
	for {
		select {
		case <-ctx.Done():
			return nil
		case why := <-g.restarts.due:
			err := g.rehearse(addr)
			if err == nil {
				g.log.Info("restarting", "reason", why)
				return ErrRestart
			}
			g.log.Error("restart called off: the gateway would not start again", "reason", why, "err", err,
				"next", fmt.Sprintf("correct %[1]s, or put its last copy %[1]s.bak in its place; openclaw doctor says what is wrong", g.cfg.ConfigPath))
		}
	}
}

// shutdown ends everything in the order of the house: no new work, runs end,
// everybody hears of it, sockets close. End is what awaitEnd returned.
func (g *Gateway) shutdown(ctx context.Context, server *http.Server, end error) {
	if g.cfg.Ending != nil {
		g.cfg.Ending()
	}
	g.stopping.Store(true)
	g.ready.Store(false)
	drain, cancel := context.WithTimeout(ctx, g.cfg.Grace)
	defer cancel()
	if err := g.cfg.Router.Drain(drain); err != nil {
		g.log.Warn("runs were aborted by the shutdown", "err", err)
	}
	g.letAnswer()
	g.broadcast(protocol.EventShutdown, shutdownEvent(end))
	all := g.hub.close()
	for _, c := range all {
		c.finish(farewell{code: protocol.CloseRestart, reason: protocol.ReasonServiceRestart})
	}
	// Who does not take its goodbye in time is cut off.
	cut := time.AfterFunc(goodbyeTime, func() {
		for _, c := range all {
			_ = c.wire.Close() // it is given up
		}
	})
	defer cut.Stop()
	// Connections still in the handshake are not in the hub: their clients get a
	// closed socket.
	closing, done := context.WithTimeout(ctx, goodbyeTime)
	defer done()
	if err := server.Shutdown(closing); err != nil {
		_ = server.Close() // the rest of the HTTP requests is cut off
	}
	g.conns.Wait()
}

func shutdownEvent(end error) protocol.ShutdownEvent {
	if errors.Is(end, ErrRestart) {
		return protocol.ShutdownEvent{Reason: protocol.ShutdownRestarting, RestartExpectedMs: new(int64(restartExpected))}
	}
	return protocol.ShutdownEvent{Reason: protocol.ShutdownStopping}
}

// goodbyeTime bounds how long a shutdown waits for clients to take the rest and say
// goodbye.
const goodbyeTime = 1500 * time.Millisecond

// answerTime bounds how long a shutdown waits for requests that are being
// answered; all runs have ended by then.
const answerTime = 250 * time.Millisecond

// letAnswer waits until no request is under way.
func (g *Gateway) letAnswer() {
	answering := func(c *conn) bool { return len(c.slots) > 0 || c.parked.Load() > 0 }
	limit := time.NewTimer(answerTime)
	defer limit.Stop()
	look := time.NewTicker(answerTime / 50)
	defer look.Stop()
	for g.hub.any(answering) {
		select {
		case <-limit.C:
			return
		case <-look.C:
		}
	}
}
