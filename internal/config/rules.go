package config

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"openclaw/internal/chat"
)

// checkRules finds what the table of types cannot say (RT-009): settings that
// contradict each other. It assumes nothing about types.
func (c *checker) checkRules(tree map[string]any, p Paths) {
	c.toolLists(tree)
	c.agentDirs(tree, p)
	c.broadcast(tree)
	c.dmPolicies(tree)
}

// toolLists refuses allow beside alsoAllow in every place that has them.
func (c *checker) toolLists(tree map[string]any) {
	tools, _ := tree["tools"].(map[string]any)
	c.toolScope(tools, []string{"tools"})
	for _, sub := range []string{"subagents", "sandbox"} {
		v, _ := Lookup(tools, sub, "tools")
		m, _ := v.(map[string]any)
		c.exclusive(m, []string{"tools", sub, "tools"})
	}
	for i, agent := range listOf(tree, "agents.list") {
		path := []string{"agents", "list", strconv.Itoa(i), "tools"}
		v, _ := Lookup(agent, "tools")
		m, _ := v.(map[string]any)
		c.toolScope(m, path)
		v, _ = Lookup(m, "sandbox", "tools")
		m, _ = v.(map[string]any)
		c.exclusive(m, append(path, "sandbox", "tools"))
	}
}

func (c *checker) toolScope(m map[string]any, path []string) {
	c.exclusive(m, path)
	by, _ := m["byProvider"].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(by)) {
		scope, _ := by[name].(map[string]any)
		c.exclusive(scope, append(slices.Clone(path), "byProvider", name))
	}
}

func (c *checker) exclusive(m map[string]any, path []string) {
	allow, _ := m["allow"].([]any)
	also, _ := m["alsoAllow"].([]any)
	if len(allow) > 0 && len(also) > 0 {
		c.fail(path, "allow and alsoAllow cannot be used together; add the alsoAllow entries to allow, or use alsoAllow with a profile")
	}
}

// agentDirs refuses two agents that would share credentials and sessions.
func (c *checker) agentDirs(tree map[string]any, p Paths) {
	first := map[string]string{}
	for i, agent := range listOf(tree, "agents.list") {
		id, ok := textAt(agent, "id")
		if !ok {
			continue
		}
		id = chat.NormalizeAgentID(id)
		path := []string{"agents", "list", strconv.Itoa(i), "id"}
		dir := p.State("agents", id, "agent")
		if d, ok := textAt(agent, "agentDir"); ok && strings.TrimSpace(d) != "" {
			path[3] = "agentDir"
			dir = filepath.Clean(ExpandHome(strings.TrimSpace(d), p.Home))
		}
		if other, taken := first[dir]; taken {
			c.fail(path, "agents %s and %s use the same agent folder %s; give each its own", other, id, p.Short(dir))
			continue
		}
		first[dir] = id
	}
}

// broadcast refuses agents that do not exist.
func (c *checker) broadcast(tree map[string]any) {
	agents := listOf(tree, "agents.list")
	if len(agents) == 0 {
		return
	}
	ids := map[string]bool{}
	for _, a := range agents {
		if id, ok := textAt(a, "id"); ok {
			ids[chat.NormalizeAgentID(id)] = true
		}
	}
	peers, _ := tree["broadcast"].(map[string]any)
	for _, peer := range slices.Sorted(maps.Keys(peers)) {
		list, _ := peers[peer].([]any)
		for i, v := range list {
			if id, ok := v.(string); ok && !ids[chat.NormalizeAgentID(id)] {
				c.fail([]string{"broadcast", peer, strconv.Itoa(i)}, "unknown agent %q; it is not in agents.list", id)
			}
		}
	}
}

// dmPolicies refuses an open policy that lets nobody in by name.
func (c *checker) dmPolicies(tree map[string]any) {
	channels, _ := tree["channels"].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(channels)) {
		section, ok := channels[name].(map[string]any)
		if !ok || name == "defaults" {
			continue
		}
		path := []string{"channels", name}
		c.openPolicy(section, nil, path)
		accounts, _ := section["accounts"].(map[string]any)
		for _, id := range slices.Sorted(maps.Keys(accounts)) {
			if account, ok := accounts[id].(map[string]any); ok {
				c.openPolicy(account, section, append(path, "accounts", id))
			}
		}
	}
}

// openPolicy checks one section; what it leaves out comes from outer.
func (c *checker) openPolicy(m, outer map[string]any, path []string) {
	for _, at := range [][2]string{{"dmPolicy", "allowFrom"}, {"dm.policy", "dm.allowFrom"}} {
		if policy, _ := lookup(m, at[0]); policy != "open" {
			continue
		}
		from, ok := lookup(m, at[1])
		if !ok && at[0] == "dmPolicy" {
			from = outer["allowFrom"]
		}
		list, _ := from.([]any)
		if !slices.Contains(list, any("*")) {
			where := dotted(path) + "."
			c.issues = append(c.issues, Issue{where + at[1],
				fmt.Sprintf(`%s="open" requires %s to contain "*"`, where+at[0], where+at[1])})
		}
	}
}

// settingWarnings finds settings that are read but have no effect.
func settingWarnings(tree map[string]any) []Issue {
	var out []Issue
	if key, ok := lookup(tree, "session.mainKey"); ok && key != "main" {
		out = append(out, Issue{"session.mainKey", `ignored: the main session is always "main"`})
	}
	if _, ok := lookup(tree, "gateway.token"); ok {
		out = append(out, Issue{"gateway.token", "ignored: moved to gateway.auth.token; " + doctorHint})
	}
	if _, ok := lookup(tree, "messages.tts.enabled"); ok {
		out = append(out, Issue{"messages.tts.enabled", "replaced by messages.tts.auto; " + doctorHint})
	}
	defaults := 0
	for _, a := range listOf(tree, "agents.list") {
		if v, _ := Lookup(a, "default"); v == true {
			defaults++
		}
	}
	if defaults > 1 {
		out = append(out, Issue{"agents.list", "several agents are marked default; the first one counts"})
	}
	return out
}

func listOf(tree any, path string) []any {
	v, _ := lookup(tree, path)
	list, _ := v.([]any)
	return list
}

func textAt(tree any, path string) (string, bool) {
	v, _ := lookup(tree, path)
	text, ok := v.(string)
	return text, ok
}
