package stagewhisper

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"openclaw/internal/assistant"
	"openclaw/internal/chat"
	"openclaw/internal/config"
)

// Channel is the name of this surface in the configuration, and of its plugin.
const Channel = "stagewhisper"

// OwnAgent is the id of the agent that belongs to a pairing alone. It holds the whole
// name: a relay chooses it, and must not be able to choose two that look alike.
func OwnAgent(name string) string { return chat.NormalizeAgentID(Channel + "-" + name) }

// AgentOf returns the agent that answers for a pairing: the one it is bound to, else
// its own. The direct pairing is answered by the default agent when it has neither,
// because a listener may be set up in the configuration alone.
func AgentOf(c *config.Config, name string) (string, error) {
	id := OwnAgent(name)
	if bound := Bound(c, name); bound != "" {
		id = chat.NormalizeAgentID(bound)
	} else if _, own := c.Agent(id); !own && name == assistant.DirectName {
		id = c.DefaultAgentID()
	}
	if !slices.Contains(c.AgentIDs(), id) {
		return "", fmt.Errorf("agent %q is not in agents.list: add it, or bind the pairing to another agent in bindings (channel %q, accountId %q)", id, Channel, name)
	}
	return id, nil
}

// Bound is the agent that bindings name for a pairing, empty for none; one for the
// pairing goes before one for all.
func Bound(c *config.Config, name string) string {
	all := ""
	for _, b := range c.Bindings {
		if !strings.EqualFold(strings.TrimSpace(b.Match.Channel), Channel) || b.Match.Peer != nil {
			continue
		}
		switch b.Match.AccountID {
		case name:
			return b.AgentID
		case "", "*":
			if all == "" {
				all = b.AgentID
			}
		}
	}
	return all
}

// sessionKey names the session of a thread. An agent that answers for others as well
// keeps the pairings apart by their ids.
func sessionKey(agentID, name, session string, kind assistant.Kind) string {
	if agentID != OwnAgent(name) {
		session = name + "." + session
	}
	return assistant.SessionKey(agentID, session, kind)
}

// Overheard reports whether a session holds what was said in a call: words of people
// who do not know that an agent reads them. Its runs get no tool that has effects.
func Overheard(key string) bool {
	_, rest, ok := chat.ParseKey(key)
	return ok && strings.HasPrefix(rest, Channel+":") && strings.HasSuffix(rest, ":"+string(assistant.Reasoning))
}

// HarmlessTools are the tools of a run that reads such a session.
var HarmlessTools = []string{"session_status", "memory_search", "memory_get"}

// Bind returns the changes of the configuration that give a pairing its agent: an own
// one when agentID is empty. They keep the default agent what it is.
func Bind(c *config.Config, name, agentID, label string) ([]config.Op, error) {
	var ops []config.Op
	own := OwnAgent(name)
	switch agentID = chat.NormalizeAgentID(cmp.Or(agentID, own)); {
	case slices.Contains(c.AgentIDs(), agentID):
	case agentID != own:
		return nil, fmt.Errorf("agent %q is not in agents.list", agentID)
	default:
		n := len(c.Agents.List)
		if n == 0 {
			ops = append(ops, listOp(0, map[string]any{"id": c.DefaultAgentID(), "default": true}, "agents", "list"))
			n = 1
		}
		entry := map[string]any{"id": own}
		if label != "" {
			entry["name"] = label
		}
		ops = append(ops, listOp(n, entry, "agents", "list"))
	}
	at := slices.IndexFunc(c.Bindings, func(b config.Binding) bool { return isBindingOf(b, name) })
	if at < 0 {
		at = len(c.Bindings)
	}
	return append(ops, listOp(at, map[string]any{"agentId": agentID, "match": map[string]any{"channel": Channel, "accountId": name}}, "bindings")), nil
}

// Unbind returns the changes that take a pairing's binding and its own agent away. An
// agent that is bound to something else stays, and so does what is in its folders.
func Unbind(c *config.Config, name string) []config.Op {
	var ops []config.Op
	own, needed := OwnAgent(name), c.DefaultAgentID() == OwnAgent(name)
	for i, b := range slices.Backward(c.Bindings) { // the last one first, because positions move
		if isBindingOf(b, name) {
			ops = append(ops, config.Op{Path: []string{"bindings", strconv.Itoa(i)}, Unset: true})
		} else if chat.NormalizeAgentID(b.AgentID) == own {
			needed = true
		}
	}
	for i, a := range slices.Backward(c.Agents.List) {
		if !needed && chat.NormalizeAgentID(a.ID) == own {
			ops = append(ops, config.Op{Path: []string{"agents", "list", strconv.Itoa(i)}, Unset: true})
		}
	}
	return ops
}

func listOp(at int, value any, list ...string) config.Op {
	return config.Op{Path: append(list, strconv.Itoa(at)), Value: value}
}

func isBindingOf(b config.Binding, name string) bool {
	return strings.EqualFold(b.Match.Channel, Channel) && b.Match.AccountID == name && b.Match.Peer == nil
}
