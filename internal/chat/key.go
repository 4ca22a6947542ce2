package chat

import (
	"regexp"
	"strings"
)

const (
	// DefaultAgentID is the id of the agent that exists without configuration.
	DefaultAgentID = "main"
	// GlobalKey is the one session of every agent when session.scope is "global".
	GlobalKey = "global"
	// UnknownKey is reserved: it is listed but never used for runs.
	UnknownKey = "unknown"

	mainName     = "main"
	agentPrefix  = "agent:"
	maxAgentID   = 64
	subagentWord = "subagent:"
	acpWord      = "acp:"
)

var (
	plainAgentID  = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,63}$`)
	agentIDOthers = regexp.MustCompile(`[^a-z0-9_-]+`)
)

// NormalizeAgentID returns the stored form of an agent id: lower case, only
// letters, digits, "_" and "-", at most 64 characters. Nothing usable gives
// "main". The result is safe as a folder name. See docs/runtime.md#agents.
func NormalizeAgentID(id string) string {
	id = strings.ToLower(strings.TrimSpace(id))
	if plainAgentID.MatchString(id) {
		return id
	}
	id = strings.Trim(agentIDOthers.ReplaceAllString(id, "-"), "-")
	if len(id) > maxAgentID {
		id = strings.TrimRight(id[:maxAgentID], "-")
	}
	if id == "" {
		return DefaultAgentID
	}
	return id
}

// MainKey returns the key of the agent's main session.
func MainKey(agent string) string {
	return agentPrefix + NormalizeAgentID(agent) + ":" + mainName
}

// ParseKey splits "agent:<agent>:<rest>"; rest may contain colons. It reports
// false for keys of any other form.
func ParseKey(key string) (agent, rest string, ok bool) {
	key = normal(key)
	tail, found := strings.CutPrefix(key, agentPrefix)
	if !found {
		return "", "", false
	}
	agent, rest, _ = strings.Cut(tail, ":")
	if agent == "" || rest == "" {
		return "", "", false
	}
	return agent, rest, true
}

// CanonicalKey returns the form under which key is stored: trimmed, lower case,
// aliases of the main session resolved and bare keys placed under defaultAgent.
// global says that session.scope is "global", where every main session is
// [GlobalKey]. A blank key stays blank. See docs/protocol.md#session-keys.
func CanonicalKey(key, defaultAgent string, global bool) string {
	key = normal(key)
	if key == "" || key == GlobalKey || key == UnknownKey {
		return key
	}
	if strings.HasPrefix(key, agentPrefix) {
		agent, rest, ok := ParseKey(key)
		switch {
		case !ok:
			return key
		case rest == mainName && global:
			return GlobalKey
		}
		return agentPrefix + NormalizeAgentID(agent) + ":" + rest
	}
	if key == mainName {
		if global {
			return GlobalKey
		}
		return MainKey(defaultAgent)
	}
	return agentPrefix + NormalizeAgentID(defaultAgent) + ":" + key
}

// AgentOf returns the agent that key belongs to, or defaultAgent when the key
// does not say.
func AgentOf(key, defaultAgent string) string {
	if agent, _, ok := ParseKey(key); ok {
		return NormalizeAgentID(agent)
	}
	return NormalizeAgentID(defaultAgent)
}

// IsMain reports whether key is the main session of some agent.
func IsMain(key string) bool {
	_, rest, ok := ParseKey(key)
	return ok && rest == mainName || normal(key) == GlobalKey
}

// IsSubagent reports whether key belongs to a subagent's session.
func IsSubagent(key string) bool { return hasWord(key, subagentWord) }

// IsACP reports whether key belongs to a session of the ACP bridge.
func IsACP(key string) bool { return hasWord(key, acpWord) }

func hasWord(key, word string) bool {
	key = normal(key)
	if strings.HasPrefix(key, word) {
		return true
	}
	_, rest, ok := ParseKey(key)
	return ok && strings.HasPrefix(rest, word)
}

// IsThread reports whether key names a thread or a forum topic.
func IsThread(key string) bool { return threadCut(normal(key)) >= 0 }

// ThreadParent returns the key that a thread or topic hangs off, and false when
// key is not a thread.
func ThreadParent(key string) (parent string, ok bool) {
	key = normal(key)
	cut := threadCut(key)
	if cut <= 0 {
		return "", false
	}
	return key[:cut], true
}

func threadCut(key string) int {
	return max(strings.LastIndex(key, ":thread:"), strings.LastIndex(key, ":topic:"))
}

// Kind says what sort of conversation a session is, as sessions.list shows it.
type Kind string

const (
	KindDirect  Kind = "direct"
	KindGroup   Kind = "group"
	KindGlobal  Kind = "global"
	KindUnknown Kind = "unknown"
)

// KeyKind classifies a session by its key and its stored chat type, which may
// be empty.
func KeyKind(key, chatType string) Kind {
	key = normal(key)
	switch {
	case key == GlobalKey:
		return KindGlobal
	case key == UnknownKey:
		return KindUnknown
	case chatType == "group", chatType == "channel",
		strings.Contains(key, ":group:"), strings.Contains(key, ":channel:"):
		return KindGroup
	}
	return KindDirect
}

// normal lower-cases before it trims: lower-casing may only produce letters, so
// the order makes the result stable under repetition.
func normal(key string) string { return strings.TrimSpace(strings.ToLower(key)) }
