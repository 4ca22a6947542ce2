package gateway

import (
	"context"
	"encoding/json"
	"errors"

	"openclaw/internal/config"
	"openclaw/protocol"
)

func (g *Gateway) configGet(context.Context, *request, *protocol.NoParams) (any, error) {
	snap := g.cfg.Settings.Read()
	shown := snap.Redacted()
	parsed, err := marshal(shown.Parsed)
	if err != nil {
		return nil, err
	}
	resolved, err := marshal(shown.Config)
	if err != nil {
		return nil, err
	}
	return protocol.ConfigGetResult{
		Path: snap.Path, Exists: snap.Exists, Raw: shown.Raw, Parsed: parsed, Valid: snap.Valid, Config: resolved, Hash: snap.Hash,
		Issues: issues(snap.Issues), Warnings: issues(snap.Warnings), LegacyIssues: issues(snap.LegacyIssues),
	}, nil
}

func (g *Gateway) configSet(ctx context.Context, q *request, p *protocol.ConfigSetParams) (any, error) {
	g.spare(q)
	snap, err := g.cfg.Settings.Set(ctx, p.Raw, p.BaseHash)
	if err != nil {
		return nil, err
	}
	g.log.Info("config written", "by", q.conn.id)
	g.Reload()
	resolved, err := marshal(snap.Redacted().Config)
	if err != nil {
		return nil, err
	}
	return protocol.ConfigSetResult{OK: true, Path: snap.Path, Config: resolved}, nil
}

// configError gives a refused change its code and details.
func configError(err error) *protocol.Error {
	var bad *config.Error
	if !errors.As(err, &bad) {
		return nil
	}
	e := invalid(bad.Message)
	if len(bad.Issues) > 0 {
		e.Details, _ = json.Marshal(protocol.ConfigIssuesDetails{Issues: issues(bad.Issues)})
	}
	return e
}

func issues(list []config.Issue) []protocol.ConfigIssue {
	out := make([]protocol.ConfigIssue, 0, len(list))
	for _, i := range list {
		out = append(out, protocol.ConfigIssue{Path: i.Path, Message: i.Message})
	}
	return out
}

// Reload takes a changed config file in: connections that came in by a way that is
// no longer open are closed. The owner of the file calls it after each change;
// whatever else changed counts at its next use.
func (g *Gateway) Reload() {
	s := g.settings().secrets
	g.hub.each(func(c *conn) {
		if !s.stillOpen(c) && c.spared.Load() == 0 {
			c.finish(farewell{code: protocol.CloseRevoked, reason: "gateway credentials changed"})
		}
	})
}

// spare keeps the connection of q open until its answer is queued, whatever q does to
// the secret by which it came in.
func (g *Gateway) spare(q *request) {
	q.conn.spared.Add(1)
	q.after = func() {
		q.conn.spared.Add(-1)
		g.Reload()
	}
}

// stillOpen reports whether c could come in again with the shared secret, or the
// identity, by which it came in.
func (s secrets) stillOpen(c *conn) bool {
	switch token, password := s.print(); c.auth {
	case authToken:
		return s.mode == modeToken && c.secret == token
	case authPassword:
		return s.mode == modePassword && c.secret == password
	case authTailscale:
		return s.tailscale
	}
	return true // tokens of devices have a life of their own
}
