package config

import (
	"maps"
	"slices"
	"strconv"

	"openclaw/internal/config/json5"
)

// doctorHint tells how a file of an earlier release is brought up to date.
const doctorHint = `run "openclaw doctor" to move it`

// moved lists keys of earlier releases and where they live now. A file that
// holds one is invalid until doctor has moved it (agent-runtime 2.1, 29.2).
var moved = [...]struct{ old, now string }{
	{"routing.allowFrom", "channels.whatsapp.allowFrom"},
	{"routing.groupChat", "messages.groupChat"},
	{"routing.queue", "messages.queue"},
	{"routing.bindings", "bindings"},
	{"routing.agents", "agents.list"},
	{"routing.defaultAgentId", "agents.list[].default"},
	{"routing.agentToAgent", "tools.agentToAgent"},
	{"routing.transcribeAudio", "tools.media.audio"},
	{"identity", "agents.list[].identity"},
	{"tools.bash", "tools.exec"},
	{"whatsapp", "channels.whatsapp"},
	{"telegram", "channels.telegram"},
	{"discord", "channels.discord"},
	{"slack", "channels.slack"},
	{"signal", "channels.signal"},
	{"imessage", "channels.imessage"},
	{"msteams", "channels.msteams"},
}

// movedAgent are keys of the agent block that no key of agents.defaults has.
var movedAgent = map[string]string{
	"allowedModels":       "agents.defaults.models",
	"modelAliases":        "agents.defaults.models.*.alias",
	"modelFallbacks":      "agents.defaults.model.fallbacks",
	"imageModelFallbacks": "agents.defaults.imageModel.fallbacks",
}

// legacyIssues finds keys of earlier releases in a tree.
func legacyIssues(tree map[string]any) []Issue {
	var issues []Issue
	for _, m := range moved {
		if _, ok := lookup(tree, m.old); ok {
			issues = append(issues, Issue{m.old, "moved to " + m.now + "; " + doctorHint})
		}
	}
	bindings, _ := tree["bindings"].([]any)
	for i, b := range bindings {
		if _, ok := lookup(b, "match.accountID"); ok {
			at := "bindings." + strconv.Itoa(i) + ".match."
			issues = append(issues, Issue{at + "accountID", "renamed to accountId; " + doctorHint})
		}
	}
	list, _ := lookup(tree, "agents.list")
	agents, _ := list.([]any)
	for i, a := range agents {
		if _, ok := lookup(a, "tools.bash"); ok {
			issues = append(issues, Issue{"agents.list." + strconv.Itoa(i) + ".tools.bash", "moved to tools.exec; " + doctorHint})
		}
	}
	return issues
}

// applyAgentAlias reads the top-level agent block as agents.defaults, whose own
// values win, and takes the block out of the tree. It changes nothing the caller
// shares. See RT-002a: the block draws warnings, never errors.
func applyAgentAlias(tree map[string]any) (map[string]any, []Issue) {
	block, ok := tree["agent"]
	if !ok {
		return tree, nil
	}
	tree = maps.Clone(tree)
	delete(tree, "agent")
	m, ok := block.(map[string]any)
	if !ok {
		return tree, []Issue{{"agent", "ignored: expected object, got " + shown(block, []string{"agent"})}}
	}
	alias, warnings := aliasOf(m)
	agents, object := tree["agents"].(map[string]any)
	if _, set := tree["agents"]; set && !object || len(alias) == 0 {
		return tree, warnings // a wrong agents value is reported as it is
	}
	agents = maps.Clone(agents)
	if agents == nil {
		agents = map[string]any{}
	}
	own, set := agents["defaults"]
	if _, object := own.(map[string]any); set && !object {
		return tree, warnings
	}
	agents["defaults"] = under(own, alias)
	tree["agents"] = agents
	return tree, warnings
}

// aliasOf returns the keys of an agent block that agents.defaults has, too, and
// a warning for every key.
func aliasOf(block map[string]any) (alias map[string]any, warnings []Issue) {
	defaults := known().child("agents").child("defaults")
	alias = map[string]any{}
	for _, key := range slices.Sorted(maps.Keys(block)) {
		path := "agent." + key
		child := defaults.child(key)
		if child == nil {
			if now, ok := movedAgent[key]; ok {
				warnings = append(warnings, Issue{path, "ignored: moved to " + now + "; " + doctorHint})
			} else {
				u := unknownKey{[]string{"agent"}, key, nearest(key, defaults.target().order)}
				warnings = append(warnings, u.warning())
			}
			continue
		}
		var c checker
		c.check(block[key], child, []string{"agent", key})
		if len(c.issues) > 0 {
			warnings = append(warnings, Issue{path, "ignored: " + c.issues[0].Message})
			continue
		}
		alias[key] = block[key]
		warnings = append(warnings, Issue{path, "read as agents.defaults." + key + "; move it there"})
	}
	return alias, warnings
}

// under adds to own what it lacks of base, deeply.
func under(own any, base any) any {
	m, ok := own.(map[string]any)
	if own != nil && !ok {
		return own
	}
	b, ok := base.(map[string]any)
	if !ok {
		if own != nil {
			return own
		}
		return json5.Clone(base)
	}
	out := maps.Clone(m)
	if out == nil {
		out = map[string]any{}
	}
	for k, v := range b {
		if have, ok := out[k]; ok {
			out[k] = under(have, v)
		} else {
			out[k] = v
		}
	}
	return out
}
