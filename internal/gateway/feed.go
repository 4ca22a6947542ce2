package gateway

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"openclaw/internal/chat"
	"openclaw/internal/router"
	"openclaw/internal/run"
	"openclaw/internal/session"
	"openclaw/protocol"
)

// feedQueue is how much news may wait to be told; what comes on top is dropped
// and counted. Subscribers who miss something see it in the next news.
const feedQueue = 4096

// feed tells subscribers what happens to sessions: that one changed, and what was
// said in it. It costs nothing while nobody has subscribed. Those who report news
// do not wait; one goroutine looks up what is to be told and tells it.
type feed struct {
	hub     *hub
	log     *slog.Logger
	in      chan newsItem // capacity feedQueue; full: the newest is dropped
	dropped atomic.Int64
}

// newsItem is one piece of news. The key is canonical; a message names its session by
// id instead.
type newsItem struct {
	key, agent    string
	reason, phase string
	runID         run.ID
	said          *session.Appended
	at            time.Time
}

func newFeed(h *hub, log *slog.Logger) feed {
	return feed{hub: h, log: log, in: make(chan newsItem, feedQueue)}
}

// wanted reports whether anybody has subscribed to anything.
func (f *feed) wanted() bool { return f.hub.subscribers.Load() > 0 }

func (f *feed) report(n newsItem) {
	if !f.wanted() {
		return
	}
	n.at = time.Now()
	select {
	case f.in <- n:
	default:
		if f.dropped.Add(1) == 1 {
			f.log.Warn("news of sessions are dropped: more happens than can be told")
		}
	}
}

// run tells the news until ctx ends.
func (f *feed) run(ctx context.Context, tell func(newsItem)) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case n := <-f.in:
			tell(n)
			f.dropped.Store(0)
		}
	}
}

// send gives an encoded event to those who wish for it and keep up.
func (f *feed) send(name string, payload any, wish func(*subscriptions) bool) {
	var data []byte
	f.hub.each(func(c *conn) {
		if !c.grants.read || !wish(&c.subs) {
			return
		}
		if data == nil {
			var err error
			if data, err = encodeEvent(name, payload); err != nil {
				f.log.Error("event not sent", "event", name, "err", err)
				data = []byte{}
			}
		}
		if len(data) > 0 {
			c.out.offer(data)
		}
	})
}

// offer queues an event for this connection only, unless the connection is behind.
func (o *outbox) offer(data []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case o.closing != nil:
	case o.bytes > o.limit:
		o.dropped++
	default:
		o.push(frame{data: data})
	}
}

// Appended takes the news that a message was added to a transcript; the stores
// call it. It does not block.
func (g *Gateway) Appended(a session.Appended) { g.feed.report(newsItem{agent: a.AgentID, said: &a}) }

// changed reports that a session is not what it was.
func (g *Gateway) changed(key, reason string) {
	g.feed.report(newsItem{key: key, agent: chat.AgentOf(key, g.settings().of.DefaultAgentID()), reason: reason})
}

// ran reports that a run began or ended.
func (g *Gateway) ran(e run.Event) {
	if e.Lifecycle == nil || !g.feed.wanted() {
		return
	}
	key := g.canonicalKey(e.AgentID, e.SessionKey)
	if key == "" {
		return
	}
	g.feed.report(newsItem{key: key, agent: e.AgentID, reason: protocol.ChangedRun, phase: string(e.Lifecycle.Phase), runID: e.RunID})
}

// tell looks up the rest of a piece of news and sends it.
func (g *Gateway) tell(n newsItem) {
	if n.said != nil {
		g.tellMessage(n)
		return
	}
	state, err := g.sessionState(n.key, false, false)
	if err != nil {
		g.log.Warn("change of a session not told", "session", n.key, "err", err)
		return
	}
	if state != nil && n.reason == protocol.ChangedRun && n.phase != string(run.PhaseStart) && state.ActiveRunID == string(n.runID) {
		state.HasActiveRun, state.ActiveRunID = false, "" // it has just said its last word
	}
	g.feed.send(protocol.EventSessionsChanged, protocol.SessionsChangedEvent{
		SessionKey: n.key, AgentID: n.agent, Reason: n.reason, Phase: n.phase, RunID: string(n.runID), Session: state, Ts: n.at.UnixMilli(),
	}, func(s *subscriptions) bool { return s.changes.Load() || s.follows(n.key) })
}

func (g *Gateway) tellMessage(n newsItem) {
	store, err := g.cfg.Sessions(n.agent)
	if err != nil {
		g.log.Warn("message not told", "agent", n.agent, "err", err)
		return
	}
	key, _, ok := store.FindByID(n.said.SessionID)
	if !ok {
		return // the session is gone already
	}
	message, err := session.Show(n.said.Message)
	if err != nil {
		g.log.Warn("message not told", "session", key, "err", err)
		return
	}
	id, _ := g.cfg.Router.Running(key)
	g.feed.send(protocol.EventSessionMessage, protocol.SessionMessageEvent{
		SessionKey: key, AgentID: chat.AgentOf(key, n.agent), Message: message, MessageID: n.said.ID, RunID: string(id), Ts: n.at.UnixMilli(),
	}, func(s *subscriptions) bool { return s.follows(key) })
}

// tellUser shows the others what somebody wrote in a chat. See
// docs/protocol.md#own-additions.
func (g *Gateway) tellUser(from *conn, p *protocol.ChatSendParams) {
	if !g.hub.any(func(c *conn) bool { return c != from && c.own && c.grants.read }) {
		return
	}
	now := time.Now().UnixMilli()
	m := protocol.ChatUserMessage{Role: "user", Content: []protocol.ChatUserContent{}, Timestamp: now}
	if p.Message != "" {
		m.Content = append(m.Content, protocol.ChatUserContent{Type: "text", Text: p.Message})
	}
	m.Content = append(m.Content, router.Pictures(p.Attachments)...)
	head, err := encodeHead(protocol.EventChatUser, protocol.ChatUserEvent{SessionKey: p.SessionKey, RunID: p.IdempotencyKey, Message: m, Ts: now})
	if err != nil {
		g.log.Error("event not sent", "event", protocol.EventChatUser, "err", err)
		return
	}
	g.hub.broadcast(&event{name: protocol.EventChatUser, guard: guardRead, own: true, head: head}, from)
}
