package gateway

import (
	"context"
	"slices"

	"openclaw/internal/model"
	"openclaw/protocol"
)

// Models is what the gateway asks about models; [model.Directory] is one.
type Models interface {
	// Default is the model of runs that choose none.
	Default() model.Ref
	// List returns every known model, sorted by provider and name.
	List() []model.Info
	// Lookup describes a model; the error is for the caller.
	Lookup(ref model.Ref) (model.Info, error)
}

func (g *Gateway) modelsList(context.Context, *request, *protocol.NoParams) (any, error) {
	out := protocol.ModelsListResult{Models: []protocol.ModelRow{}}
	for _, info := range g.cfg.Models.List() {
		row := protocol.ModelRow{
			ID: info.Ref.ID, Name: info.Name, Provider: info.Ref.Provider,
			ContextWindow: info.ContextWindow, Reasoning: &info.Reasoning, Input: info.Input,
		}
		if row.Name == "" {
			row.Name = row.ID
		}
		out.Models = append(out.Models, row)
	}
	return out, nil
}

func (g *Gateway) agentsList(context.Context, *request, *protocol.NoParams) (any, error) {
	s := g.settings()
	defaults := s.sessionDefaults()
	out := protocol.AgentsListResult{
		DefaultID: defaults.DefaultAgentID, MainKey: defaults.MainKey, Scope: defaults.Scope, Agents: []protocol.AgentRow{},
	}
	ids := slices.Clone(s.agentIDs())
	slices.Sort(ids[1:]) // the default agent comes first
	for _, id := range ids {
		a, _ := s.of.Agent(id)
		row := protocol.AgentRow{ID: id, Name: a.Name}
		who := protocol.AgentIdentity{Name: a.Identity.Name, Theme: a.Identity.Theme, Emoji: a.Identity.Emoji, Avatar: a.Identity.Avatar}
		if who != (protocol.AgentIdentity{}) {
			row.Identity = &who
		}
		out.Agents = append(out.Agents, row)
	}
	return out, nil
}

func (g *Gateway) systemPresence(context.Context, *request, *protocol.AnyParams) (any, error) {
	entries, _ := g.presence.list()
	return encodedPayload(entries), nil
}
