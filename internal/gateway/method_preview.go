package gateway

import (
	"context"
	"time"

	"openclaw/internal/chat"
	"openclaw/internal/session"
	"openclaw/protocol"
)

// Bounds of sessions.preview. See docs/protocol.md#sessions.
const (
	previewKeys     = 64
	previewItems    = 12
	previewItemsMax = 50
	previewChars    = 240
	previewCharsMax = 2000
)

// States of a preview.
const (
	previewOK      = "ok"
	previewEmpty   = "empty"
	previewMissing = "missing"
	previewError   = "error"
)

func (g *Gateway) sessionsPreview(ctx context.Context, _ *request, p *protocol.SessionsPreviewParams) (any, error) {
	limit, chars := previewItems, previewChars
	if p.Limit != nil {
		limit = min(*p.Limit, previewItemsMax)
	}
	if p.MaxChars != nil {
		chars = min(*p.MaxChars, previewCharsMax)
	}
	out := protocol.SessionsPreviewResult{Ts: time.Now().UnixMilli(), Previews: []protocol.SessionPreview{}}
	for _, key := range p.Keys[:min(previewKeys, len(p.Keys))] {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		out.Previews = append(out.Previews, g.preview(key, limit, chars))
	}
	return out, nil
}

// preview shows the end of one session. What cannot be read does not keep the
// others from being shown.
func (g *Gateway) preview(key string, limit, chars int) protocol.SessionPreview {
	out := protocol.SessionPreview{Key: key, Status: previewMissing, Items: []protocol.PreviewItem{}}
	store, e, ok, err := g.session(g.settings().canonical(key))
	if err == nil && (!ok || e.SessionID == "") {
		return out
	}
	var items []session.PreviewItem
	if err == nil {
		items, err = session.Preview(store.TranscriptPath(e), limit, chars)
	}
	if err != nil {
		g.log.Warn("session not previewed", "session", key, "err", err)
		out.Status = previewError
		return out
	}
	out.Status = previewEmpty
	for _, it := range items {
		out.Status = previewOK
		out.Items = append(out.Items, protocol.PreviewItem{Role: it.Role, Text: it.Text})
	}
	return out
}

// session returns the entry of a canonical key. The store is nil when its agent
// is not configured.
func (g *Gateway) session(key string) (*session.Store, session.Entry, bool, error) {
	s := g.settings()
	agent := chat.AgentOf(key, s.of.DefaultAgentID())
	if !s.hasAgent(agent) {
		return nil, session.Entry{}, false, nil
	}
	store, err := g.cfg.Sessions(agent)
	if err != nil {
		return nil, session.Entry{}, false, err
	}
	e, ok := store.Get(key)
	return store, e, ok, nil
}
