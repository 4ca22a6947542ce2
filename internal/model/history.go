package model

import (
	"openclaw/internal/turn"
)

// Replay returns the messages that may be sent again to the model of info, for
// families. It leaves out answers that failed or were cut off with the results
// of their calls, messages without content, and reasoning and signatures that
// another provider or family made: they mean nothing elsewhere. msgs stays as
// it is.
func Replay(info Info, msgs []turn.Message) []turn.Message {
	out := make([]turn.Message, 0, len(msgs))
	dropped := map[string]bool{} // calls of answers that were left out
	for _, m := range msgs {
		switch m.Role {
		case turn.RoleAssistant:
			if m.StopReason == turn.StopError || m.StopReason == turn.StopAborted {
				for _, c := range m.ToolCalls() {
					dropped[c.ID] = true
				}
				continue
			}
			if m.Content = replayContent(info, m); len(m.Content) == 0 {
				continue
			}
			for _, c := range m.ToolCalls() {
				delete(dropped, c.ID) // asked again, and answered this time
			}
		case turn.RoleToolResult:
			if dropped[m.ToolCallID] {
				continue
			}
		default:
			if len(m.Content) == 0 {
				continue
			}
		}
		out = append(out, m)
	}
	return out
}

// SameSource reports whether m was made by the family and provider of info.
func SameSource(info Info, m turn.Message) bool {
	return m.API == string(info.API) && m.Provider == info.Ref.Provider
}

// replayContent filters the blocks of an answer.
func replayContent(info Info, m turn.Message) turn.Content {
	same := SameSource(info, m)
	var kept turn.Content
	for _, b := range m.Content {
		switch b.Type {
		case turn.BlockText:
			if b.Text == "" {
				continue
			}
		case turn.BlockThinking:
			if !same {
				continue
			}
		}
		if !same {
			b.TextSignature, b.ThoughtSignature = "", ""
		}
		kept = append(kept, b)
	}
	return kept
}
