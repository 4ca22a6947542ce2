package gateway

import (
	"context"
	"errors"
	"time"

	"openclaw/internal/logs"
	"openclaw/internal/router"
	"openclaw/internal/run"
	"openclaw/protocol"
)

func (g *Gateway) sessionsDelete(ctx context.Context, q *request, p *protocol.SessionsDeleteParams) (any, error) {
	keep := p.DeleteTranscript != nil && !*p.DeleteTranscript
	res, err := g.cfg.Router.DeleteSession(ctx, p.Key, keep)
	if err != nil {
		return nil, err
	}
	g.changed(res.Key, protocol.ChangedDelete)
	g.log.Info("session deleted", "session", res.Key, "deleted", res.Deleted, "archived", len(res.Archived), "by", q.conn.id)
	return protocol.SessionsDeleteResult{OK: true, Key: res.Key, Deleted: res.Deleted, Archived: res.Archived}, nil
}

func (g *Gateway) sessionsCompact(ctx context.Context, q *request, p *protocol.SessionsCompactParams) (any, error) {
	res, err := g.cfg.Router.CompactSession(ctx, p.Key, deref(p.MaxLines))
	if err != nil {
		return nil, err
	}
	out := protocol.SessionsCompactResult{OK: true, Key: res.Key, Compacted: res.Compacted, Reason: res.Reason, Archived: res.Archived}
	if res.Reason == "" {
		out.Kept = &res.Kept
	}
	if res.Compacted {
		g.changed(res.Key, protocol.ChangedCompact)
		g.log.Info("session compacted", "session", res.Key, "kept", res.Kept, "by", q.conn.id)
	}
	return out, nil
}

// chatInject adds a message that no model wrote, and tells everybody.
func (g *Gateway) chatInject(ctx context.Context, _ *request, p *protocol.ChatInjectParams) (any, error) {
	id, m, err := g.cfg.Router.InjectMessage(ctx, p.SessionKey, p.Label, p.Message)
	var refused *router.Error
	switch {
	case errors.As(err, &refused), errors.Is(err, router.ErrClosing):
		return nil, err
	case err != nil:
		g.log.Error("message not injected", "session", p.SessionKey, "err", err)
		return nil, unavailable("failed to write transcript: " + logs.Redact(err.Error()))
	}
	g.runs.inject(id, p.SessionKey, m.Text(), m.Timestamp)
	return protocol.ChatInjectResult{OK: true, MessageID: id}, nil
}

// inject broadcasts a message that was put into a session from outside.
func (r *runs) inject(id, key, text string, at int64) {
	m := injectedMessage(text, at)
	r.sendChat(&liveRun{id: "inject-" + run.ID(id), key: key}, protocol.ChatEvent{State: protocol.ChatFinal, Message: m}, nil)
}

func (g *Gateway) sessionsResolve(_ context.Context, _ *request, p *protocol.SessionsResolveParams) (any, error) {
	key, err := g.cfg.Router.ResolveSession(*p)
	if err != nil {
		return nil, err
	}
	return protocol.SessionsResolveResult{OK: true, Key: key}, nil
}

// injectedMessage is the message of a chat event that no model wrote.
func injectedMessage(text string, at int64) *protocol.ChatMessage {
	m := chatMessage(text, time.UnixMilli(at))
	m.StopReason, m.Usage = protocol.StopInjected, &protocol.ChatUsage{}
	return m
}
