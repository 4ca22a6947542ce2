package session

import (
	"bytes"

	"openclaw/internal/turn"
)

// soundCalls drops tool calls that have no id, name or arguments. It returns
// content itself when nothing is wrong.
func soundCalls(content turn.Content) turn.Content {
	for i, b := range content {
		if sound(b) {
			continue
		}
		kept := append(turn.Content{}, content[:i]...)
		for _, b := range content[i+1:] {
			if sound(b) {
				kept = append(kept, b)
			}
		}
		return kept
	}
	return content
}

func sound(b turn.Block) bool {
	if b.Type != turn.BlockToolCall {
		return true
	}
	args := bytes.TrimSpace(b.Arguments)
	return b.ID != "" && b.Name != "" && len(args) > 0 && args[0] == '{'
}

// RepairPairs puts each tool result right behind the assistant message that asked
// for it, drops results that are repeated or that nobody asked for, and answers
// calls without a result by an error that says so. It returns msgs itself when
// nothing is wrong and never changes it.
func RepairPairs(msgs []turn.Message) []turn.Message {
	if paired(msgs) {
		return msgs
	}
	answers := matchResults(msgs)
	out := make([]turn.Message, 0, len(msgs)+4)
	for i, m := range msgs {
		switch m.Role {
		case turn.RoleToolResult:
		case turn.RoleAssistant:
			m.Content = uniqueCalls(m.Content)
			out = append(out, m)
			for _, call := range m.ToolCalls() {
				if j, ok := answers[ask{i, call.ID}]; ok {
					out = append(out, msgs[j])
				} else {
					out = append(out, missing(call, m.Timestamp))
				}
			}
		default:
			out = append(out, m)
		}
	}
	return out
}

// ask is a tool call of the message at a position.
type ask struct {
	message int
	id      string
}

// matchResults finds the result of each call: the first one with its id after it
// and before a later call that has the same id.
func matchResults(msgs []turn.Message) map[ask]int {
	answers := map[ask]int{}
	asked := map[string]int{} // id → the last message that has it
	for i, m := range msgs {
		if m.Role == turn.RoleToolResult {
			if by, ok := asked[m.ToolCallID]; ok {
				if _, again := answers[ask{by, m.ToolCallID}]; !again {
					answers[ask{by, m.ToolCallID}] = i
				}
			}
			continue
		}
		if m.Role == turn.RoleAssistant {
			for _, call := range m.ToolCalls() {
				asked[call.ID] = i
			}
		}
	}
	return answers
}

// uniqueCalls drops tool calls that repeat an id of the same message.
func uniqueCalls(content turn.Content) turn.Content {
	seen := map[string]bool{}
	kept := make(turn.Content, 0, len(content))
	for _, b := range content {
		if b.Type == turn.BlockToolCall {
			if seen[b.ID] {
				continue
			}
			seen[b.ID] = true
		}
		kept = append(kept, b)
	}
	return kept
}

// paired reports whether every call has exactly one result, right behind its
// message and in any order.
func paired(msgs []turn.Message) bool {
	open := map[string]bool{}
	for _, m := range msgs {
		if m.Role == turn.RoleToolResult {
			if !open[m.ToolCallID] {
				return false
			}
			delete(open, m.ToolCallID)
			continue
		}
		if len(open) > 0 {
			return false
		}
		if m.Role == turn.RoleAssistant {
			for _, call := range m.ToolCalls() {
				if open[call.ID] {
					return false
				}
				open[call.ID] = true
			}
		}
	}
	return len(open) == 0
}
