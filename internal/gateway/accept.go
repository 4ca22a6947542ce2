package gateway

import (
	"context"
	"net/http"
	"sync"
	"time"

	"openclaw/protocol"
)

// preauthWait is how long an upgrade waits for one of the places that its
// address has in the handshake. A burst of honest clients needs milliseconds.
const preauthWait = 2 * time.Second

// accept turns an upgrade into a connection.
func (g *Gateway) accept(w http.ResponseWriter, r *http.Request) {
	if g.stopping.Load() {
		plain(w, http.StatusServiceUnavailable, "Service Unavailable")
		return
	}
	settings := g.settings()
	p := peerOf(r, settings.trusted)
	if !g.preauth.take(r.Context(), p.key(), preauthPerAddr, preauthWait) {
		if kept, ok := g.refusals.pass(p.key(), "full"); ok {
			g.log.Warn("too many connections in the handshake", "addr", p.key().String(), "alike", kept)
		}
		w.Header().Set("Retry-After", "10")
		plain(w, http.StatusTooManyRequests, "Too Many Requests")
		return
	}
	release := sync.OnceFunc(func() { g.preauth.give(p.key()) })
	c, err := newConn(w, r)
	if err != nil {
		release()
		g.log.Debug("upgrade refused", "addr", p.key().String(), "err", err)
		return
	}
	c.peer = p
	c.browser = len(r.Header.Values("Origin")) > 0
	c.originOK = settings.origin.check(r)
	c.tailscale = claimOf(r)
	if !g.hub.enter(c) {
		release()
		_ = c.ws.CloseNow() // shutting down
		return
	}
	// A goroutine of its own frees what the HTTP server holds for the request.
	// The connection ends by its own rules, not with the request.
	g.conns.Go(func() {
		defer release()
		defer g.depart(c)
		g.attend(context.Background(), c, release)
	})
}

// attend serves one connection from the challenge to its end. Joined is called
// when the handshake is over.
func (g *Gateway) attend(ctx context.Context, c *conn, joined func()) {
	challenge, err := encodeEvent(protocol.EventChallenge, protocol.ChallengeEvent{Nonce: c.nonce, Ts: time.Now().UnixMilli()})
	if err != nil {
		c.out.close(farewell{abrupt: true}) // cannot happen: two plain fields
	}
	c.out.send(challenge)
	timer := time.AfterFunc(handshakePeriod, func() { c.finish(farewell{code: protocol.CloseNormal}) })
	defer timer.Stop()
	limit := func() (int64, string) {
		if c.joined {
			return protocol.MaxPayload, ""
		}
		return protocol.MaxPreAuthPayload, protocol.ReasonPreAuthTooLarge
	}
	c.run(ctx, g.log, limit, func(ctx context.Context, data []byte) *farewell {
		if c.joined {
			g.dispatch(ctx, c, data)
			return nil
		}
		bye := g.handshake(ctx, c, data)
		if c.joined {
			timer.Stop()
			joined()
		}
		return bye
	})
}

// depart takes c out of everything that knows it.
func (g *Gateway) depart(c *conn) {
	g.hub.leave(c)
	if c.presenceKey != "" && g.presence.disconnect(c.presenceKey) {
		g.state.trigger(wishPresence)
	}
	if !c.joined {
		return
	}
	if c.version >= protocol.Version4 {
		g.runs.chat4.Add(-1)
	}
	g.log.Debug("disconnected", "conn", c.id)
}
