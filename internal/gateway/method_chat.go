package gateway

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"

	"openclaw/internal/chat"
	"openclaw/internal/model"
	"openclaw/internal/session"
	"openclaw/protocol"
)

const (
	historyLimit = 200
	historyBytes = 6 << 20
)

func (g *Gateway) chatHistory(_ context.Context, q *request, p *protocol.ChatHistoryParams) (any, error) {
	s := g.settings()
	key := s.canonical(p.SessionKey)
	q.conn.open.Store(&key)
	out := protocol.ChatHistoryResult{SessionKey: p.SessionKey, Messages: []json.RawMessage{}}
	agent := chat.AgentOf(key, s.of.DefaultAgentID())
	var entry session.Entry
	if slices.Contains(s.agentIDs(), agent) {
		store, err := g.cfg.Sessions(agent)
		if err != nil {
			return nil, err
		}
		known := false
		if entry, known = store.Get(key); known && entry.SessionID != "" {
			limit := historyLimit
			if p.Limit != nil {
				limit = *p.Limit
			}
			messages, err := session.History(store.TranscriptPath(entry), limit, historyBytes)
			if err != nil {
				return nil, err
			}
			out.SessionID, out.Messages = entry.SessionID, append(out.Messages, messages...)
		}
	}
	out.ThinkingLevel = g.thinkingLevel(s, &entry)
	out.VerboseLevel = entry.VerboseLevel
	if d := s.of.Agents.Defaults.VerboseDefault; out.VerboseLevel == "" && d != verboseOff {
		out.VerboseLevel = d // off goes without saying
	}
	return out, nil
}

// thinkingLevel is how hard the model of a session thinks.
func (g *Gateway) thinkingLevel(s *settings, e *session.Entry) string {
	if level := cmp.Or(e.ThinkingLevel, s.of.Agents.Defaults.ThinkingDefault); level != "" {
		return level
	}
	ref := g.cfg.Models.Default()
	if e.ModelOverride != "" {
		ref = model.Ref{Provider: e.ProviderOverride, ID: e.ModelOverride}
	}
	if info, err := g.cfg.Models.Lookup(ref); err == nil && info.Reasoning {
		return "low"
	}
	return "off"
}
