package config

import (
	"maps"
	"strconv"
	"strings"

	"openclaw/internal/chat"
)

// DefaultModel answers when the configuration names no model.
const DefaultModel = "anthropic/claude-opus-4-5"

// complete fills what depends on several settings.
func (c *Config) complete(tree map[string]any, env Env) {
	for i := range c.Agents.List {
		c.Agents.List[i].ID = strings.TrimSpace(c.Agents.List[i].ID)
	}
	primary := c.Agents.Defaults.Model.Primary
	if anthropicMode(tree, env) == "api_key" && strings.HasPrefix(strings.ToLower(primary), "anthropic/") {
		if _, listed := c.Agents.Defaults.Models[primary]; !listed {
			c.implicit = map[string]map[string]any{primary: {"cacheRetention": "short"}}
		}
	}
}

// ModelParams returns the parameters for calls of a model, by the ref as the
// configuration writes it; nil for none. Do not change the result.
func (c *Config) ModelParams(ref string) map[string]any {
	if e, ok := c.Agents.Defaults.Models[ref]; ok {
		return e.Params
	}
	return c.implicit[ref]
}

// DefaultAgentID is the agent that answers when nothing else decides: the first
// one marked default, else the first listed, else "main".
func (c *Config) DefaultAgentID() string {
	for _, a := range c.Agents.List {
		if a.Default {
			return chat.NormalizeAgentID(a.ID)
		}
	}
	if len(c.Agents.List) > 0 {
		return chat.NormalizeAgentID(c.Agents.List[0].ID)
	}
	return "main"
}

// AgentIDs lists the agents, the default one first. There is always one.
func (c *Config) AgentIDs() []string {
	ids := []string{c.DefaultAgentID()}
	seen := map[string]bool{ids[0]: true}
	for _, a := range c.Agents.List {
		if id := chat.NormalizeAgentID(a.ID); !seen[id] {
			seen[id] = true
			ids = append(ids, id)
		}
	}
	return ids
}

// Agent returns the settings of an agent, with its normalised id. The second
// result is false when agents.list does not have it; the settings are then those
// of an agent that overrides nothing.
func (c *Config) Agent(id string) (Agent, bool) {
	id = chat.NormalizeAgentID(id)
	for _, a := range c.Agents.List {
		if chat.NormalizeAgentID(a.ID) == id {
			a.ID = id
			return a, true
		}
	}
	return Agent{ID: id}, false
}

// AgentModel returns the model an agent uses: its own choice over the defaults,
// part by part. Primary is empty when nothing was chosen.
func (c *Config) AgentModel(id string) ModelChoice {
	m := c.Agents.Defaults.Model
	a, _ := c.Agent(id)
	if a.Model.Primary != "" {
		m.Primary = a.Model.Primary
	}
	if a.Model.Fallbacks != nil {
		m.Fallbacks = a.Model.Fallbacks
	}
	return m
}

// Workspace returns an agent's folder of notes and bootstrap files. The defaults
// live in the home folder, whatever the state folder is (RT-002).
func (c *Config) Workspace(p Paths, id string) string {
	id = chat.NormalizeAgentID(id)
	a, _ := c.Agent(id)
	isDefault := id == c.DefaultAgentID()
	switch dir := strings.TrimSpace(a.Workspace); {
	case dir != "":
		return absolute(ExpandHome(dir, p.Home))
	case !isDefault:
		return p.HomeState("workspace-" + id)
	}
	if dir := strings.TrimSpace(c.Agents.Defaults.Workspace); dir != "" {
		return absolute(ExpandHome(dir, p.Home))
	}
	if p.Profile != "" {
		return p.HomeState("workspace-" + p.Profile)
	}
	return p.HomeState("workspace")
}

// AgentDir returns an agent's folder of credentials and model lists. The
// environment may move that of the default agent.
func (c *Config) AgentDir(p Paths, env Env, id string) string {
	id = chat.NormalizeAgentID(id)
	a, _ := c.Agent(id)
	if dir := strings.TrimSpace(a.AgentDir); dir != "" {
		return absolute(ExpandHome(dir, p.Home))
	}
	if id == c.DefaultAgentID() {
		if dir := env.first("OPENCLAW_AGENT_DIR", "PI_CODING_AGENT_DIR"); dir != "" {
			return absolute(ExpandHome(dir, p.Home))
		}
	}
	return p.State("agents", id, "agent")
}

// SessionStore returns the path of an agent's sessions.json. A session.store
// with {agentId} names one for each agent.
func (c *Config) SessionStore(p Paths, id string) string {
	id = chat.NormalizeAgentID(id)
	if store := strings.TrimSpace(c.Session.Store); store != "" {
		return absolute(ExpandHome(strings.ReplaceAll(store, "{agentId}", id), p.Home))
	}
	return p.State("agents", id, "sessions", "sessions.json")
}

// Port returns the gateway's port: OPENCLAW_GATEWAY_PORT over gateway.port. The
// second result names where it came from: "env", "config" or "default".
func (c *Config) Port(env Env) (port int, source string) {
	if text := env.first("OPENCLAW_GATEWAY_PORT", "CLAWDBOT_GATEWAY_PORT"); text != "" {
		if n, err := strconv.Atoi(text); err == nil && n >= 0 && n <= 65535 {
			return n, "env"
		}
	}
	if _, set := lookup(c.Raw, "gateway.port"); set {
		return c.Gateway.Port, "config"
	}
	return DefaultPort, "default"
}

// Aliases returns the short names of models by name in lower case.
func (c *Config) Aliases() map[string]string {
	out := make(map[string]string, len(c.Agents.Defaults.Models))
	for ref, e := range maps.All(c.Agents.Defaults.Models) {
		if alias := strings.ToLower(strings.TrimSpace(e.Alias)); alias != "" {
			out[alias] = ref
		}
	}
	return out
}
