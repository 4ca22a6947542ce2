package tool

import (
	"fmt"
	"slices"
	"strings"
)

// Rules is one place of the configuration that says which tools may be used,
// such as "tools" or one agent's "tools". See docs/tools.md#policy.
type Rules struct {
	// Profile names a built-in allow list: minimal, coding, messaging or full.
	// Empty means full.
	Profile string
	// Allow, when not empty, is everything that may be used. AlsoAllow adds to
	// it, and to the profile, without making either exclusive. Deny always wins.
	// Entries are tool names, patterns with *, and groups such as group:fs.
	Allow, AlsoAllow, Deny []string
	// ByProvider holds further rules by "provider/model" or "provider".
	ByProvider map[string]Rules
}

// Layer is one allow and deny list. A tool must pass every layer of a run.
type Layer struct {
	// Name is the configuration key that holds the lists, for messages.
	Name                   string
	Allow, AlsoAllow, Deny []string
	// Strict keeps an allow list in force even when it names no built-in tool.
	// Without it such a list restrains plugin tools only, so that allowing one
	// plugin does not take everything else away.
	Strict bool
}

// Layers returns the layers of the global rules and of an agent's rules for one
// model, in order: profile, provider profile, global, global by provider, agent,
// agent by provider. What the agent says about profiles replaces the global word.
// It fails on an unknown profile name.
func Layers(global, agent Rules, provider, model string) ([]Layer, error) {
	globalBy, agentBy := global.forModel(provider, model), agent.forModel(provider, model)
	profile, err := profileLayer("tools.profile", global, agent)
	if err != nil {
		return nil, err
	}
	providerProfile, err := profileLayer("tools.byProvider.profile", globalBy, agentBy)
	if err != nil {
		return nil, err
	}
	return []Layer{
		profile, providerProfile,
		global.layer("tools"), globalBy.layer("tools.byProvider"),
		agent.layer("agents.list[].tools"), agentBy.layer("agents.list[].tools.byProvider"),
	}, nil
}

func (r Rules) layer(name string) Layer {
	return Layer{Name: name, Allow: r.Allow, AlsoAllow: r.AlsoAllow, Deny: r.Deny}
}

// forModel picks the rules of a model; the most specific key wins.
func (r Rules) forModel(provider, model string) Rules {
	keys := []string{provider + "/" + model, provider}
	if strings.Contains(model, "/") { // such as openrouter's "anthropic/claude"
		keys = []string{keys[0], model, provider}
	}
	for _, want := range keys {
		for key, rules := range r.ByProvider {
			if strings.EqualFold(strings.TrimSpace(key), want) {
				return rules
			}
		}
	}
	return Rules{}
}

func profileLayer(name string, global, agent Rules) (Layer, error) {
	profile, also := global.Profile, global.AlsoAllow
	if agent.Profile != "" {
		profile = agent.Profile
	}
	if agent.AlsoAllow != nil {
		also = agent.AlsoAllow
	}
	allow, ok := profileTools(profile)
	if !ok {
		return Layer{}, fmt.Errorf("%s: unknown profile %q (known: minimal, coding, messaging, full)", name, profile)
	}
	return Layer{Name: name, Allow: allow, AlsoAllow: also}, nil
}

// profileTools lists what a profile allows; nil means no restriction.
func profileTools(profile string) (allow []string, ok bool) {
	switch strings.ToLower(strings.TrimSpace(profile)) {
	case "", "full":
		return nil, true
	case "minimal":
		return []string{"session_status"}, true
	case "coding":
		return []string{"group:fs", "group:runtime", "group:sessions", "group:memory", "image"}, true
	case "messaging":
		return []string{"group:messaging", "sessions_list", "sessions_history", "sessions_send", "session_status"}, true
	}
	return nil, false
}

// SubagentLayer is the layer of a run that another run started. Configured
// denials add to the built-in ones; a configured allow list is exclusive.
func SubagentLayer(configured Rules) Layer {
	deny := []string{"sessions_list", "sessions_history", "sessions_send", "sessions_spawn", "gateway", "agents_list",
		"whatsapp_login", "session_status", "cron", "memory_search", "memory_get"}
	return Layer{Name: "tools.subagents.tools", Strict: true,
		Allow: configured.Allow, AlsoAllow: configured.AlsoAllow, Deny: append(deny, configured.Deny...)}
}

// SandboxLayer is the layer of a sandboxed run. Configured lists replace the
// built-in ones (nil keeps them). channels are the ids of all channels, which a
// sandbox may not drive by default. image stays unless it is denied.
func SandboxLayer(configured Rules, channels []string) Layer {
	l := Layer{Name: "tools.sandbox.tools", Strict: true,
		Allow: configured.Allow, AlsoAllow: configured.AlsoAllow, Deny: configured.Deny}
	if l.Allow == nil {
		l.Allow = []string{"exec", "process", "read", "write", "edit", "apply_patch", "image", "sessions_list",
			"sessions_history", "sessions_send", "sessions_spawn", "session_status"}
	}
	if l.Deny == nil {
		l.Deny = append([]string{"browser", "canvas", "nodes", "cron", "gateway"}, channels...)
	}
	if len(l.Allow) > 0 {
		l.AlsoAllow = append(slices.Clone(l.AlsoAllow), "image")
	}
	return l
}

// Note tells that a layer's allow list names tools nobody knows.
type Note struct {
	Layer   string
	Unknown []string
	// Ignored is set when nothing else is in the list, which therefore does not
	// restrain built-in tools.
	Ignored bool
}

// Plugin is an extra power of a [Tool] that a plugin brings.
type Plugin interface{ PluginID() string }

// OwnerOnly is an extra power of a [Tool] that only the owner's messages may use.
type OwnerOnly interface{ OwnerOnly() bool }

// Filter returns the tools that every layer allows, in their order, and what
// looks wrong about the layers.
func Filter(tools []Tool, layers ...Layer) ([]Tool, []Note) {
	plugins := map[string][]string{} // plugin id → its tools
	for _, t := range tools {
		if p, ok := t.(Plugin); ok {
			plugins[normal(p.PluginID())] = append(plugins[normal(p.PluginID())], normal(t.Spec().Name))
		}
	}
	known := coreNames()
	for _, t := range tools {
		if _, ok := t.(Plugin); !ok {
			known = append(known, normal(t.Spec().Name))
		}
	}
	var notes []Note
	kept := slices.Clone(tools)
	for _, l := range layers {
		allow := compile(append(slices.Clone(l.Allow), l.AlsoAllow...), plugins)
		if compile(l.Allow, plugins).empty() {
			allow = matcher{} // alsoAllow alone restrains nothing
		}
		deny := compile(l.Deny, plugins)
		unknown, core := split(l.Allow, known, plugins)
		ignored := !l.Strict && !core && !allow.empty()
		if len(unknown) > 0 {
			notes = append(notes, Note{Layer: l.Name, Unknown: unknown, Ignored: ignored})
		}
		kept = slices.DeleteFunc(kept, func(t Tool) bool {
			name := normal(t.Spec().Name)
			_, plugin := t.(Plugin)
			return deny.matches(name) || !(allow.empty() || allow.permits(name) || ignored && !plugin)
		})
	}
	return kept, notes
}

// WithoutOwnerOnly returns the tools that a sender who is not the owner may use.
func WithoutOwnerOnly(tools []Tool) []Tool {
	return slices.DeleteFunc(slices.Clone(tools), func(t Tool) bool {
		o, ok := t.(OwnerOnly)
		return ok && o.OwnerOnly()
	})
}

// split finds the entries of an allow list that name nothing, and whether any
// entry names a built-in tool.
func split(allow, known []string, plugins map[string][]string) (unknown []string, core bool) {
	everyPlugin := expand(plugins, "group:plugins")
	for _, entry := range allow {
		m := compile([]string{entry}, plugins)
		switch {
		case slices.ContainsFunc(known, m.matches):
			core = true
		case m.empty(), normal(entry) == "group:plugins", slices.ContainsFunc(everyPlugin, m.matches):
		default:
			unknown = append(unknown, entry)
		}
	}
	return unknown, core
}
