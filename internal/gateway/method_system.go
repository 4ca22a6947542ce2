package gateway

import (
	"context"
	"encoding/json"
	"strings"
	"sync/atomic"

	"openclaw/protocol"
)

// systemEvent takes a word from a device: about itself, which updates presence and
// reaches the main session as far as it is news, or anything else, which reaches
// the main session as it is.
func (g *Gateway) systemEvent(_ context.Context, q *request, p *protocol.SystemEventParams) (any, error) {
	text := strings.TrimSpace(p.Text)
	if text == "" {
		return nil, invalid("text required")
	}
	var only struct{ LastInputSeconds float64 }
	if json.Unmarshal(q.params, &only) != nil {
		p.LastInputSeconds = nil // a wrong type leaves a zero behind
	}
	key, entry := reported(p, text)
	before, after := g.presence.report(key, entry)
	g.state.trigger(wishPresence)
	main := g.cfg.Router.MainSession()
	if !strings.HasPrefix(text, beacon) {
		g.cfg.Router.Notify(main, text, "")
		return protocol.OKResult{OK: true}, nil
	}
	_, topic := g.cfg.Router.Notices(main)
	if line := news(before, after, topic != key); line != "" {
		g.cfg.Router.Notify(main, line, key)
	}
	return protocol.OKResult{OK: true}, nil
}

// queuedEvents are the system events that wait for the main session.
func (g *Gateway) queuedEvents() []string {
	texts, _ := g.cfg.Router.Notices(g.cfg.Router.MainSession())
	return append([]string{}, texts...)
}

// wake leaves a word for the main session, which hears it with its next prompt.
// Both modes are the same as long as no heartbeat runs exist.
func (g *Gateway) wake(_ context.Context, _ *request, p *protocol.WakeParams) (any, error) {
	return protocol.OKResult{OK: g.cfg.Router.Notify(g.cfg.Router.MainSession(), p.Text, "")}, nil
}

// heartbeats is what is known about heartbeat runs.
type heartbeats struct {
	off  atomic.Bool // switched off until the next start
	last atomic.Pointer[protocol.HeartbeatEvent]
}

func (g *Gateway) lastHeartbeat(context.Context, *request, *protocol.AnyParams) (any, error) {
	if e := g.beats.last.Load(); e != nil {
		return e, nil
	}
	return encodedPayload("null"), nil
}

func (g *Gateway) setHeartbeats(_ context.Context, q *request, p *protocol.SetHeartbeatsParams) (any, error) {
	if g.beats.off.Swap(!p.Enabled) == p.Enabled {
		g.log.Info("heartbeats switched", "enabled", p.Enabled, "by", q.conn.id)
		g.state.trigger(wishHealth)
	}
	return protocol.SetHeartbeatsResult{OK: true, Enabled: p.Enabled}, nil
}
