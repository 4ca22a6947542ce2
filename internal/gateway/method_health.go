package gateway

import (
	"cmp"
	"context"
	"slices"
	"time"

	"openclaw/internal/chat"
	"openclaw/internal/config"
	"openclaw/internal/session"
	"openclaw/protocol"
)

const (
	healthRecent = 5
	statusRecent = 10

	// defaultHeartbeat is the prompt of heartbeats without one of their own; the
	// agent has the same.
	defaultHeartbeat = "Read HEARTBEAT.md in the workspace if it exists and follow it strictly. Do not revive or repeat old tasks from earlier chats. If nothing needs attention, reply HEARTBEAT_OK."
)

// quick answers on the reader what needs neither time nor a goroutine: the
// cached health snapshot, which clients poll.
func (g *Gateway) quick(c *conn, req *protocol.Request) (any, bool) {
	if req.Method != protocol.MethodHealth || len(req.Params) > 2 || !c.grants.read {
		return nil, false
	}
	s, ok := g.health.cached()
	if !ok {
		return nil, false
	}
	return encodedPayload(s.payload), true
}

func (g *Gateway) healthMethod(ctx context.Context, _ *request, p *protocol.HealthParams) (any, error) {
	if !p.Probe {
		if s, ok := g.health.cached(); ok {
			return encodedPayload(s.payload), nil
		}
	}
	s, err := g.health.renew(ctx)
	if err != nil {
		return nil, err
	}
	g.state.trigger(wishHealth) // everybody may know
	return encodedPayload(s.payload), nil
}

// buildHealth looks at everything that health tells about.
func (g *Gateway) buildHealth(context.Context) (protocol.HealthResult, error) {
	cfg := g.settings().of
	h := protocol.HealthResult{
		OK: true, Ts: time.Now().UnixMilli(), Channels: map[string]protocol.ChannelHealth{},
		ChannelOrder: []string{}, ChannelLabels: map[string]string{},
		DefaultAgentID: cfg.DefaultAgentID(), Agents: []protocol.AgentHealth{},
	}
	for i, id := range cfg.AgentIDs() {
		agent, _ := cfg.Agent(id)
		sessions, err := g.sessionsHealth(id)
		if err != nil {
			return h, err
		}
		a := protocol.AgentHealth{AgentID: id, Name: agent.Name, IsDefault: i == 0, Heartbeat: g.heartbeat(cfg, id), Sessions: sessions}
		if a.IsDefault {
			h.Sessions = sessions
			if a.Heartbeat.EveryMs != nil {
				h.HeartbeatSeconds = int(*a.Heartbeat.EveryMs / 1000)
			}
		}
		h.Agents = append(h.Agents, a)
	}
	return h, nil
}

func (g *Gateway) sessionsHealth(agent string) (protocol.SessionsHealth, error) {
	store, err := g.cfg.Sessions(agent)
	if err != nil {
		return protocol.SessionsHealth{}, err
	}
	items := store.List()
	h := protocol.SessionsHealth{Path: store.Path(), Count: len(items), Recent: []protocol.RecentSession{}}
	for _, it := range items[:min(healthRecent, len(items))] {
		at, age := updated(it.Entry)
		h.Recent = append(h.Recent, protocol.RecentSession{Key: it.Key, UpdatedAt: at, Age: age})
	}
	return h, nil
}

// updated returns when e changed last and how long ago that is.
func updated(e *session.Entry) (at, age *int64) {
	if e.UpdatedAt == 0 {
		return nil, nil
	}
	return &e.UpdatedAt, new(max(0, time.Now().UnixMilli()-e.UpdatedAt))
}

// heartbeat is the plan of an agent's heartbeat. When any agent has one of its
// own only those beat, else the default agent does. See docs/runtime.md#heartbeat.
func (g *Gateway) heartbeat(cfg *config.Config, id string) protocol.AgentHeartbeat {
	h, chosen := cfg.Agents.Defaults.Heartbeat, id == cfg.DefaultAgentID()
	a, _ := cfg.Agent(id)
	if slices.ContainsFunc(cfg.Agents.List, func(a config.Agent) bool { return a.Heartbeat != nil }) {
		chosen = a.Heartbeat != nil
	}
	if a.Heartbeat != nil {
		own := *a.Heartbeat
		h.Every, h.Target = cmp.Or(own.Every, h.Every), cmp.Or(own.Target, h.Target)
		h.Prompt, h.Model = cmp.Or(own.Prompt, h.Prompt), cmp.Or(own.Model, h.Model)
		h.AckMaxChars = cmp.Or(own.AckMaxChars, h.AckMaxChars)
	}
	out := protocol.AgentHeartbeat{
		Every: h.Every, EveryMs: every(h.Every), Prompt: cmp.Or(h.Prompt, defaultHeartbeat),
		Target: h.Target, Model: h.Model, AckMaxChars: h.AckMaxChars,
	}
	out.Enabled = chosen && out.EveryMs != nil && !g.beats.off.Load()
	return out
}

func (g *Gateway) status(_ context.Context, _ *request, _ *protocol.AnyParams) (any, error) {
	cfg := g.settings().of
	defaults := g.modelDefaults()
	r := protocol.StatusResult{
		Heartbeat:      protocol.StatusHeartbeat{DefaultAgentID: cfg.DefaultAgentID(), Agents: []protocol.StatusAgentHeartbeat{}},
		ChannelSummary: []string{}, QueuedSystemEvents: g.queuedEvents(),
		Sessions: protocol.StatusSessions{
			Paths: []string{}, Recent: []protocol.StatusSession{}, ByAgent: []protocol.StatusAgentSessions{},
			Defaults: protocol.StatusSessionDefaults{Model: defaults.Model, ContextTokens: wide(defaults.ContextTokens)},
		},
	}
	for _, id := range cfg.AgentIDs() {
		h := g.heartbeat(cfg, id)
		r.Heartbeat.Agents = append(r.Heartbeat.Agents, protocol.StatusAgentHeartbeat{AgentID: id, Enabled: h.Enabled, Every: h.Every, EveryMs: h.EveryMs})
		by, err := g.agentStatus(id, defaults)
		if err != nil {
			return nil, err
		}
		r.Sessions.ByAgent = append(r.Sessions.ByAgent, by)
		r.Sessions.Paths = append(r.Sessions.Paths, by.Path)
		r.Sessions.Count += by.Count
		r.Sessions.Recent = append(r.Sessions.Recent, by.Recent...)
	}
	slices.SortStableFunc(r.Sessions.Recent, func(a, b protocol.StatusSession) int {
		return cmp.Compare(deref(b.UpdatedAt), deref(a.UpdatedAt))
	})
	r.Sessions.Recent = r.Sessions.Recent[:min(statusRecent, len(r.Sessions.Recent))]
	return r, nil
}

func (g *Gateway) agentStatus(id string, defaults protocol.SessionModelDefault) (protocol.StatusAgentSessions, error) {
	store, err := g.cfg.Sessions(id)
	if err != nil {
		return protocol.StatusAgentSessions{}, err
	}
	items := store.List()
	out := protocol.StatusAgentSessions{AgentID: id, Path: store.Path(), Count: len(items), Recent: []protocol.StatusSession{}}
	for _, it := range items[:min(statusRecent, len(items))] {
		out.Recent = append(out.Recent, statusSession(id, it, defaults))
	}
	return out, nil
}

func statusSession(agent string, it session.Item, defaults protocol.SessionModelDefault) protocol.StatusSession {
	e := it.Entry
	s := protocol.StatusSession{
		AgentID: agent, Key: it.Key, Kind: string(chat.KeyKind(it.Key, e.ChatType)), SessionID: e.SessionID,
		ThinkingLevel: e.ThinkingLevel, VerboseLevel: e.VerboseLevel, ReasoningLevel: e.ReasoningLevel,
		ElevatedLevel: e.ElevatedLevel, SystemSent: e.SystemSent, AbortedLastRun: e.AbortedLastRun,
		InputTokens: wide(e.InputTokens), OutputTokens: wide(e.OutputTokens), TotalTokens: wide(e.TotalTokens),
		ContextTokens: wide(cmp.Or(e.ContextTokens, defaults.ContextTokens)), Flags: sessionFlags(e),
	}
	s.UpdatedAt, s.Age = updated(e)
	if _, id := sessionModel(e, defaults); id != "" {
		s.Model = &id
	}
	if s.TotalTokens != nil && s.ContextTokens != nil && *s.ContextTokens > 0 {
		s.RemainingTokens = new(max(0, *s.ContextTokens-*s.TotalTokens))
		s.PercentUsed = new(min(999, (*s.TotalTokens*100+*s.ContextTokens/2) / *s.ContextTokens))
	}
	return s
}

// sessionFlags are the settings of a session that differ from the usual, short
// enough for one column.
func sessionFlags(e *session.Entry) []string {
	flags := []string{}
	for _, f := range []struct{ name, value string }{
		{"think", e.ThinkingLevel}, {"verbose", e.VerboseLevel}, {"reasoning", e.ReasoningLevel}, {"elevated", e.ElevatedLevel},
	} {
		if f.value != "" {
			flags = append(flags, f.name+":"+f.value)
		}
	}
	if deref(e.SystemSent) {
		flags = append(flags, "system")
	}
	if deref(e.AbortedLastRun) {
		flags = append(flags, "aborted")
	}
	if e.SessionID != "" {
		flags = append(flags, "id:"+e.SessionID)
	}
	return flags
}
