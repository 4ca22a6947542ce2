package relay

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"sync"
	"time"

	"openclaw/byo"
)

// life is the last sign of life: a heartbeat, or the opening of the stream.
func (p presence) life() int64 { return max(p.Heartbeat, p.Opened) }

func (r *Relay) presence(ctx context.Context, integration string) (presence, error) {
	p, _, err := read[presence](ctx, r.store, Presences, integration)
	if errors.Is(err, ErrNotFound) {
		err = nil
	}
	return p, err
}

// isLive is the liveness of an integration, at most a moment old.
func (r *Relay) isLive(ctx context.Context, integration string) (string, error) {
	life, ok := r.lives.get(integration)
	if !ok {
		p, err := r.presence(ctx, integration)
		if err != nil {
			return "", err
		}
		life = p.life()
		r.lives.put(integration, life)
	}
	return r.liveness(life), nil
}

// liveness of an assistant whose last sign of life was at that time.
func (r *Relay) liveness(life int64) string { return livenessAt(life, r.now()) }

func livenessAt(life int64, now time.Time) string {
	switch age := now.Sub(time.UnixMilli(life)); {
	case life == 0 || age >= byo.OfflineAfter:
		return byo.LivenessOffline
	case age >= byo.FreshFor:
		return byo.LivenessStale
	}
	return byo.LivenessFresh
}

// connected reports whether a stream is open, on a node that is alive.
func (r *Relay) connected(p presence) bool {
	return p.Conn != "" && (p.Node == r.node || r.nodes.alive(p.Node))
}

func (r *Relay) hostStatus(p presence) string {
	switch {
	case p.Opened == 0 && p.Heartbeat == 0:
		return byo.HostUnverified
	case p.Status == byo.HostDisabled || p.Status == byo.HostAuthRequired:
		return p.Status
	case p.Opened != 0 && !r.connected(p):
		return byo.HostDisconnected
	case p.Status == "":
		return byo.HostUnverified
	}
	return p.Status
}

var hostStatuses = map[string]bool{
	byo.HostUnverified: true, byo.HostHealthy: true, byo.HostDegraded: true,
	byo.HostAuthRequired: true, byo.HostDisconnected: true, byo.HostDisabled: true,
}

// heartbeat answers POST /integrations/{id}/heartbeat, also while the pairing is
// under way.
func (c *call) heartbeat() (answer, error) {
	if c.path("id") != c.who.ID {
		return answer{}, errNotFound
	}
	var hb byo.Heartbeat
	if err := c.decode(&hb, true); err != nil {
		return answer{}, err
	}
	ctx, now := c.req.Context(), c.now()
	p, err := change(ctx, c.store, Presences, c.who.ID, func(p *presence, _ bool) error {
		if gap := now.Sub(time.UnixMilli(p.Heartbeat)); p.Heartbeat != 0 && gap < byo.HeartbeatMinGap {
			return limited(byo.CodeRateLimited, "heartbeats come too fast", byo.HeartbeatMinGap-gap)
		}
		p.Heartbeat, p.Desktop = millis(now), c.who.party()
		if p.Status = byo.HostHealthy; hostStatuses[hb.Status] {
			p.Status = hb.Status
		}
		p.SupportsAck = hb.Protocol != nil && hb.Protocol.SupportsAck
		return nil
	})
	if err != nil {
		return answer{}, err
	}
	if err := c.confirm(ctx, hb.StreamCursor); err != nil {
		return answer{}, err
	}
	due := false
	if c.who.Pairing == "" {
		c.lifeSign(ctx, c.who.ID, p)
		b, err := c.findBond(ctx, c.who.ID)
		if err != nil && !errors.Is(err, ErrNotFound) {
			return answer{}, err
		}
		due = b.Scheme == byo.DuplexV2 && now.Sub(time.UnixMilli(b.Rekeyed)) >= rekeyAfter
	}
	return ok(byo.HeartbeatAnswer{
		OK: true, ServerTime: byo.FormatTime(now), NextInMS: byo.HeartbeatEvery.Milliseconds(), RekeyDue: due,
	})
}

// rekeyAfter is how long an epoch of content keys is used.
const rekeyAfter = 24 * time.Hour

// confirm notes that the assistant has all frames up to its cursor; without one
// a heartbeat confirms what its stream on this node was sent.
func (c *call) confirm(ctx context.Context, text string) error {
	seq, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		seq = c.hub.sent(c.who.ID)
	}
	if seq == 0 || seq > c.tracker.newest() {
		return nil
	}
	return c.setCursor(ctx, c.who.ID, seq)
}

func (r *Relay) setCursor(ctx context.Context, integration string, seq uint64) error {
	_, err := change(ctx, r.store, Cursors, integration, func(v *cursor, _ bool) error {
		if seq <= v.Seq && v.Seq <= r.tracker.newest() {
			return errKeep
		}
		v.Seq = seq
		return nil
	})
	return err
}

// sign is a sign of life as nodes tell it each other.
type sign struct {
	Desktop   string `json:"desktop"`
	At        int64  `json:"at"`
	Status    string `json:"status"`
	Connected bool   `json:"connected"`
	Node      string `json:"node,omitempty"` // that has the stream
}

func (r *Relay) sign(p presence) sign {
	return sign{p.Desktop, p.life(), r.hostStatus(p), r.connected(p), p.Node}
}

// lifeSign lets every node know, since any of them may have to tell the desktop
// when the signs stop. The desktop is told now what is news to it.
func (r *Relay) lifeSign(ctx context.Context, integration string, p presence) {
	s := r.sign(p)
	if s.Desktop == "" {
		return
	}
	data, err := json.Marshal(s)
	if err != nil {
		return
	}
	news := r.tracker.news(integration, s)
	r.tell(ctx, signalLife, integration, data)
	if news {
		r.publishStatus(integration, s)
	}
}

// party is the desktop of an active integration.
func (t token) party() string {
	if t.Pairing != "" {
		return ""
	}
	return t.Desktop
}

// publishStatus tells the desktop how its assistant is.
func (r *Relay) publishStatus(integration string, s sign) {
	r.publishEvent(Topic{ToDesktop, s.Desktop}, byo.EventIntegrationStatus, "", byo.IntegrationStatus{
		EventType: byo.EventIntegrationStatus, IntegrationID: integration,
		Liveness: r.liveness(s.At), Status: s.Status, Connected: s.Connected,
	}, statusKept)
}

// nodes knows which nodes are there.
type nodes struct {
	now   func() time.Time
	begun time.Time
	mu    sync.Mutex
	last  map[string]time.Time
}

// nodeFor is how long a node counts as alive after its last word.
const nodeFor = 15 * time.Second

func newNodes(now func() time.Time) *nodes {
	return &nodes{now: now, begun: now(), last: map[string]time.Time{}}
}

// seen notes a word of a node and reports whether it is new.
func (n *nodes) seen(id string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	_, known := n.last[id]
	n.last[id] = n.now()
	return !known
}

// alive reports whether a node spoke lately; a node that just began gives the
// others the time to.
func (n *nodes) alive(id string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	at, known := n.last[id]
	now := n.now()
	if !known {
		return now.Sub(n.begun) < nodeFor
	}
	return now.Sub(at) < nodeFor
}

// count is how many nodes share the limits, at least 1.
func (n *nodes) count() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	live, now := 0, n.now()
	for id, at := range n.last {
		if now.Sub(at) < nodeFor {
			live++
		} else if now.Sub(at) > time.Minute {
			delete(n.last, id)
		}
	}
	return max(live, 1)
}
