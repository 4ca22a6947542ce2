package doctor

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"openclaw/internal/config"
)

// groupChat takes routing.groupChat apart: some of it is about all messages, some
// about the groups of channels.
func (m *migration) groupChat() {
	const from = "routing.groupChat"
	v, ok := config.Lookup(m.tree, "routing", "groupChat")
	if !ok {
		return
	}
	old, _ := v.(map[string]any)
	for _, key := range []string{"historyLimit", "mentionPatterns"} {
		if value, set := old[key]; set {
			m.put("messages.groupChat."+key, value, from+"."+key)
		}
	}
	if mention, set := old["requireMention"]; set {
		// It was about the channels that groups came from in those days.
		asked := false
		for _, id := range []string{"whatsapp", "telegram", "imessage"} {
			_, now := config.Lookup(m.tree, "channels", id)
			if _, then := m.tree[id]; !now && !then {
				continue
			}
			asked = true
			path := []string{"channels", id, "groups", "*", "requireMention"}
			if _, taken := config.Lookup(m.tree, path...); !taken {
				m.set(path, mention)
			}
			m.done = append(m.done, "moved "+from+".requireMention to channels."+id+`.groups["*"].requireMention`)
		}
		if !asked {
			m.done = append(m.done, "removed "+from+".requireMention: no channel with groups is configured")
		}
	}
	m.unset(from)
}

// speech turns the switch of spoken replies into the setting with four values.
func (m *migration) speech() {
	on, ok := config.Lookup(m.tree, "messages", "tts", "enabled")
	if !ok {
		return
	}
	if _, set := config.Lookup(m.tree, "messages", "tts", "auto"); !set {
		auto := "off"
		if on == true {
			auto = "always"
		}
		m.set([]string{"messages", "tts", "auto"}, auto)
	}
	m.done = append(m.done, "moved messages.tts.enabled to messages.tts.auto")
	m.unset("messages.tts.enabled")
}

// toolsOfAgent moves what the old block agent{} said about tools to tools{}.
func (m *migration) toolsOfAgent(key string, value any) {
	switch key {
	case "tools":
		for _, list := range []string{"allow", "alsoAllow", "deny"} {
			if v, ok := config.Lookup(value, list); ok {
				m.put("tools."+list, v, "agent.tools."+list)
			}
		}
	case "elevated":
		m.put("tools.elevated", value, "agent.elevated")
	case "bash":
		m.put("tools.exec", value, "agent.bash")
	default: // sandbox, subagents
		if rest, object := value.(map[string]any); object && rest["tools"] != nil {
			m.put("tools."+key+".tools", rest["tools"], "agent."+key+".tools")
			rest = maps.Clone(rest)
			delete(rest, "tools")
			if value = rest; len(rest) == 0 {
				return
			}
		}
		m.put("agents.defaults."+key, value, "agent."+key)
	}
}

// agentFields brings the fields of an agent of earlier releases to their places.
func agentFields(old map[string]any) map[string]any {
	out := maps.Clone(old)
	if patterns, ok := out["mentionPatterns"]; ok {
		delete(out, "mentionPatterns")
		out["groupChat"] = with(out["groupChat"], "mentionPatterns", patterns)
	}
	if sandbox, ok := out["sandbox"].(map[string]any); ok && sandbox["tools"] != nil {
		out["tools"] = with(out["tools"], "sandbox", map[string]any{"tools": sandbox["tools"]})
		sandbox = maps.Clone(sandbox)
		delete(sandbox, "tools")
		out["sandbox"] = sandbox
	}
	return out
}

// with returns an object with key set, unless it is already.
func with(object any, key string, value any) map[string]any {
	out, _ := object.(map[string]any)
	out = maps.Clone(out)
	if out == nil {
		out = map[string]any{}
	}
	if _, taken := out[key]; !taken {
		out[key] = value
	}
	return out
}

// known returns value without what nobody knows at that place of the config file,
// and notes what it left out; nil when nothing is left. A write refuses unknown
// keys, and one of them must not keep everything else from moving.
func (m *migration) known(at string, value any) any {
	shape := any(config.JSONSchema())
	for key := range strings.SplitSeq(at, ".") {
		if shape = below(shape, key); shape == nil {
			return nil
		}
	}
	return m.prune(at, value, shape)
}

func (m *migration) prune(at string, value, shape any) any {
	switch v := value.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for _, key := range slices.Sorted(maps.Keys(v)) {
			path := at + "." + key
			child := below(shape, key)
			if child == nil {
				m.done = append(m.done, "removed "+path+": nobody knows it")
				continue
			}
			out[key] = m.prune(path, v[key], child)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = e
			if child := below(shape, strconv.Itoa(i)); child != nil {
				out[i] = m.prune(at+"."+strconv.Itoa(i), e, child)
			}
		}
		return out
	}
	return value
}

// below returns the part of a JSON Schema that describes a key or an element; nil
// when there is none. An empty schema describes anything.
func below(shape any, key string) any {
	s, ok := shape.(map[string]any)
	if !ok {
		return nil
	}
	if len(s) == 0 {
		return s
	}
	if alts, ok := s["anyOf"].([]any); ok {
		for _, alt := range alts {
			if child := below(alt, key); child != nil {
				return child
			}
		}
		return nil
	}
	if child, ok := config.Lookup(s["properties"], key); ok {
		return child
	}
	switch rest := s["additionalProperties"].(type) {
	case map[string]any:
		return rest
	case bool:
		if rest {
			return map[string]any{}
		}
	}
	if items, ok := s["items"]; ok {
		if _, err := strconv.Atoi(key); err == nil {
			return items
		}
	}
	return nil
}
