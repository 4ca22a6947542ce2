package doctor

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"openclaw/internal/config"
)

// moves are keys that only changed their place. See agent-runtime 29.2 of the
// reference's documents, in our words in docs/concepts/configuration.md.
var moves = [...]struct{ from, to string }{
	{"routing.allowFrom", "channels.whatsapp.allowFrom"},
	{"routing.queue", "messages.queue"},
	{"routing.bindings", "bindings"},
	{"routing.agentToAgent", "tools.agentToAgent"},
	{"tools.bash", "tools.exec"},
	{"gateway.token", "gateway.auth.token"},
	{"whatsapp", "channels.whatsapp"}, {"telegram", "channels.telegram"}, {"discord", "channels.discord"},
	{"slack", "channels.slack"}, {"signal", "channels.signal"}, {"imessage", "channels.imessage"}, {"msteams", "channels.msteams"},
}

// migration collects changes of a config file.
type migration struct {
	tree map[string]any
	ops  []config.Op
	done []string
	gone map[string]int // children that leave an object, by its path
}

// migrate moves keys of earlier releases to where they live now. A value that is
// there already wins.
func migrate(tree map[string]any) ([]config.Op, []string) {
	m := &migration{tree: tree, gone: map[string]int{}}
	for _, mv := range moves {
		m.move(mv.from, mv.to)
	}
	m.groupChat()
	m.speech()
	m.transcription()
	m.agents()
	m.bindings()
	m.agentTools()
	m.dropEmpty()
	return m.ops, m.done
}

// migrateAgent moves the block agent{} into agents.defaults{}.
func migrateAgent(tree map[string]any) ([]config.Op, []string) {
	m := &migration{tree: tree, gone: map[string]int{}}
	block, ok := tree["agent"].(map[string]any)
	if !ok {
		return nil, nil
	}
	for _, key := range slices.Sorted(maps.Keys(block)) {
		value := block[key]
		switch key {
		case "model":
			if text, plain := value.(string); plain {
				m.put("agents.defaults.model.primary", text, "agent.model")
				continue
			}
			m.move("agent.model", "agents.defaults.model")
		case "imageModel":
			if text, plain := value.(string); plain {
				m.put("agents.defaults.imageModel.primary", text, "agent.imageModel")
				continue
			}
			m.move("agent.imageModel", "agents.defaults.imageModel")
		case "tools", "elevated", "bash", "sandbox", "subagents":
			m.toolsOfAgent(key, value)
		case "modelFallbacks":
			m.move("agent.modelFallbacks", "agents.defaults.model.fallbacks")
		case "imageModelFallbacks":
			m.move("agent.imageModelFallbacks", "agents.defaults.imageModel.fallbacks")
		case "allowedModels":
			m.models(value, func(ref string) (string, any) { return ref, map[string]any{} })
		case "modelAliases":
			if aliases, ok := value.(map[string]any); ok {
				for _, name := range slices.Sorted(maps.Keys(aliases)) {
					if ref, ok := aliases[name].(string); ok {
						m.set([]string{"agents", "defaults", "models", ref, "alias"}, name)
					}
				}
			}
			m.done = append(m.done, "moved agent.modelAliases to agents.defaults.models")
		default:
			m.move("agent."+key, "agents.defaults."+key)
		}
	}
	// What is left of the block has no meaning any more.
	m.ops = append(slices.DeleteFunc(m.ops, func(op config.Op) bool { return op.Unset }), config.Op{Path: []string{"agent"}, Unset: true})
	return m.ops, append(m.done, "removed agent")
}

// move puts the value at from to its new place.
func (m *migration) move(from, to string) {
	value, ok := config.Lookup(m.tree, strings.Split(from, ".")...)
	if !ok {
		return
	}
	m.put(to, value, from)
	m.unset(from)
}

// put stores a value unless its place is taken.
func (m *migration) put(to string, value any, from string) {
	path := strings.Split(to, ".")
	if value = m.known(to, value); value == nil {
		m.done = append(m.done, "removed "+from+": nobody knows it")
		return
	}
	have, taken := config.Lookup(m.tree, path...)
	old, bothObjects := have.(map[string]any)
	add, isObject := value.(map[string]any)
	switch {
	case !taken:
		m.set(path, value)
		m.done = append(m.done, "moved "+from+" to "+to)
	case bothObjects && isObject:
		for _, key := range slices.Sorted(maps.Keys(add)) {
			if _, set := old[key]; !set {
				m.set(append(path[:len(path):len(path)], key), add[key])
			}
		}
		m.done = append(m.done, "merged "+from+" into "+to)
	default:
		m.done = append(m.done, "removed "+from+"; "+to+" is set already")
	}
}

func (m *migration) set(path []string, value any) {
	m.ops = append(m.ops, config.Op{Path: path, Value: value})
}

func (m *migration) unset(path string) {
	m.ops = append(m.ops, config.Op{Path: strings.Split(path, "."), Unset: true})
	if i := strings.LastIndexByte(path, '.'); i > 0 {
		m.gone[path[:i]]++
	}
}

// dropEmpty removes an object whose last child has left.
func (m *migration) dropEmpty() {
	for _, parent := range slices.Sorted(maps.Keys(m.gone)) {
		v, _ := config.Lookup(m.tree, strings.Split(parent, ".")...)
		if obj, ok := v.(map[string]any); ok && len(obj) == m.gone[parent] && parent == "routing" {
			m.ops = append(m.ops, config.Op{Path: []string{parent}, Unset: true})
		}
	}
}

// transcription turns the old audio command into a media setting.
func (m *migration) transcription() {
	v, ok := config.Lookup(m.tree, "routing", "transcribeAudio")
	if !ok {
		return
	}
	if _, taken := config.Lookup(m.tree, "audio", "transcription"); !taken {
		m.set([]string{"audio", "transcription"}, v)
	}
	m.done = append(m.done, "moved routing.transcribeAudio to audio.transcription")
	m.unset("routing.transcribeAudio")
}

// agents turns routing.agents, routing.defaultAgentId and identity into
// agents.list.
func (m *migration) agents() {
	old, hasAgents := config.Lookup(m.tree, "routing", "agents")
	def, hasDefault := config.Lookup(m.tree, "routing", "defaultAgentId")
	identity, hasIdentity := m.tree["identity"]
	if !hasAgents && !hasDefault && !hasIdentity {
		return
	}
	list, _ := config.Lookup(m.tree, "agents", "list")
	entries, _ := list.([]any)
	entries = slices.Clone(entries)
	if byID, ok := old.(map[string]any); ok {
		for _, id := range slices.Sorted(maps.Keys(byID)) {
			entry := map[string]any{"id": id}
			if fields, ok := byID[id].(map[string]any); ok {
				maps.Copy(entry, agentFields(fields))
			}
			entry["id"] = id
			entries = append(entries, m.known("agents.list."+strconv.Itoa(len(entries)), entry).(map[string]any))
		}
	}
	id, _ := def.(string)
	entries = withDefault(entries, id, identity)
	m.set([]string{"agents", "list"}, entries)
	for _, mv := range []struct {
		has  bool
		path string
	}{{hasAgents, "routing.agents"}, {hasDefault, "routing.defaultAgentId"}, {hasIdentity, "identity"}} {
		if mv.has {
			m.unset(mv.path)
			m.done = append(m.done, "moved "+mv.path+" to agents.list")
		}
	}
}

// withDefault marks the default agent, which is made when it is missing, and
// gives it an identity unless it has one.
func withDefault(entries []any, id string, identity any) []any {
	at := -1
	for i, e := range entries {
		entry, ok := e.(map[string]any)
		if ok && (entry["id"] == id && id != "" || id == "" && (entry["default"] == true || i == 0 && at < 0)) {
			at = i
		}
	}
	if at < 0 {
		if id == "" {
			id = "main"
		}
		entries = append(entries, map[string]any{"id": id})
		at = len(entries) - 1
	}
	entry := maps.Clone(entries[at].(map[string]any))
	entry["default"] = true
	if _, has := entry["identity"]; !has && identity != nil {
		entry["identity"] = identity
	}
	entries[at] = entry
	return entries
}

// bindings renames accountID.
func (m *migration) bindings() {
	list, _ := m.tree["bindings"].([]any)
	for i := range list {
		at := []string{"bindings", strconv.Itoa(i), "match"}
		if value, ok := config.Lookup(list[i], "match", "accountID"); ok {
			if _, taken := config.Lookup(list[i], "match", "accountId"); !taken {
				m.set(append(at[:3:3], "accountId"), value)
			}
			m.ops = append(m.ops, config.Op{Path: append(at[:3:3], "accountID"), Unset: true})
			m.done = append(m.done, fmt.Sprintf("renamed bindings[%d].match.accountID to accountId", i))
		}
	}
}

// agentTools renames tools.bash of single agents.
func (m *migration) agentTools() {
	list, _ := config.Lookup(m.tree, "agents", "list")
	agents, _ := list.([]any)
	for i := range agents {
		at := []string{"agents", "list", strconv.Itoa(i), "tools"}
		if value, ok := config.Lookup(agents[i], "tools", "bash"); ok {
			if _, taken := config.Lookup(agents[i], "tools", "exec"); !taken {
				m.set(append(at[:4:4], "exec"), value)
			}
			m.ops = append(m.ops, config.Op{Path: append(at[:4:4], "bash"), Unset: true})
			m.done = append(m.done, fmt.Sprintf("renamed agents.list[%d].tools.bash to exec", i))
		}
	}
}

// models turns a list of references into the map of models.
func (m *migration) models(value any, entry func(ref string) (string, any)) {
	list, _ := value.([]any)
	for _, v := range list {
		if ref, ok := v.(string); ok {
			key, val := entry(ref)
			if _, taken := config.Lookup(m.tree, "agents", "defaults", "models", key); !taken {
				m.set([]string{"agents", "defaults", "models", key}, val)
			}
		}
	}
	m.done = append(m.done, "moved agent.allowedModels to agents.defaults.models")
}
