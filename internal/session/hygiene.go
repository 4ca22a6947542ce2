package session

import (
	"encoding/base64"
	"strconv"
	"strings"

	"openclaw/internal/turn"
)

// Family is a group of model providers that want history in the same shape.
// See docs/runtime.md#history-hygiene.
type Family string

const (
	FamilyOther            Family = "other"
	FamilyOpenAI           Family = "openai"
	FamilyAnthropic        Family = "anthropic"
	FamilyGoogle           Family = "google"
	FamilyAntigravity      Family = "google-antigravity-claude" // Claude behind Google's API
	FamilyMistral          Family = "mistral"
	FamilyOpenRouterGemini Family = "openrouter-gemini"
)

// FamilyOf returns the family of a model: api is its wire family.
func FamilyOf(provider, api, model string) Family {
	provider, model = strings.ToLower(provider), strings.ToLower(model)
	switch {
	case provider == "mistral" || strings.Contains(model, "mistral") || strings.Contains(model, "mixtral") ||
		strings.Contains(model, "codestral"):
		return FamilyMistral
	case strings.HasPrefix(provider, "google") || strings.HasPrefix(api, "google"):
		if strings.Contains(provider, "antigravity") && strings.Contains(model, "claude") {
			return FamilyAntigravity
		}
		return FamilyGoogle
	case api == "anthropic-messages":
		return FamilyAnthropic
	case provider == "openrouter" && strings.Contains(model, "gemini"):
		return FamilyOpenRouterGemini
	case strings.HasPrefix(api, "openai-") && (provider == "openai" || provider == "openai-codex") || api == "openai-responses":
		return FamilyOpenAI
	}
	return FamilyOther
}

// PairsTools reports whether f wants open tool calls answered in the transcript
// itself, see [TranscriptOptions.SyntheticResults].
func (f Family) PairsTools() bool {
	return f == FamilyAnthropic || f == FamilyGoogle || f == FamilyAntigravity
}

// Hygiene returns msgs in the shape that f accepts. It never changes msgs; what
// needs no change is shared. Pairs are repaired for every family, since every
// provider refuses a call without result.
func Hygiene(f Family, msgs []turn.Message) []turn.Message {
	msgs = RepairPairs(msgs)
	switch f {
	case FamilyOpenAI:
		return mapContent(msgs, dropOrphanReasoning)
	case FamilyAnthropic:
		return mergeTurns(msgs, turn.RoleUser)
	case FamilyGoogle, FamilyAntigravity:
		if f == FamilyAntigravity {
			msgs = mapContent(msgs, dropUnsignedThinking)
		}
		msgs = mergeTurns(renameCalls(msgs, alphanumericID), turn.RoleAssistant)
		if len(msgs) > 0 && msgs[0].Role == turn.RoleAssistant {
			start := turn.Message{Role: turn.RoleUser, Content: turn.Text("(session bootstrap)"), Timestamp: msgs[0].Timestamp}
			msgs = append([]turn.Message{start}, msgs...)
		}
		return msgs
	case FamilyMistral:
		return renameCalls(msgs, nineID)
	case FamilyOpenRouterGemini:
		return mapContent(msgs, stripLooseSignatures)
	}
	return msgs
}

// LastTurns keeps the last n user turns of msgs and what follows them; n of zero
// or less keeps all.
func LastTurns(msgs []turn.Message, n int) []turn.Message {
	if n <= 0 {
		return msgs
	}
	for i := len(msgs) - 1; i >= 0; i-- {
		if msgs[i].Role != turn.RoleUser {
			continue
		}
		if n--; n == 0 {
			return msgs[i:]
		}
	}
	return msgs
}

// mapContent changes the content of assistant messages; one left empty goes.
func mapContent(msgs []turn.Message, change func(turn.Content) turn.Content) []turn.Message {
	out := make([]turn.Message, 0, len(msgs))
	for _, m := range msgs {
		if m.Role == turn.RoleAssistant && len(m.Content) > 0 {
			if m.Content = change(m.Content); len(m.Content) == 0 {
				continue
			}
		}
		out = append(out, m)
	}
	return out
}

// dropOrphanReasoning drops signed reasoning that nothing follows: the Responses
// API refuses a reasoning item without its message or call.
func dropOrphanReasoning(content turn.Content) turn.Content {
	end := len(content)
	for end > 0 && content[end-1].Type == turn.BlockThinking && content[end-1].ThinkingSignature != "" {
		end--
	}
	return content[:end]
}

func dropUnsignedThinking(content turn.Content) turn.Content {
	var kept turn.Content
	for _, b := range content {
		if b.Type != turn.BlockThinking || b.ThinkingSignature != "" {
			kept = append(kept, b)
		}
	}
	return kept
}

// stripLooseSignatures removes thought signatures that are no base64.
func stripLooseSignatures(content turn.Content) turn.Content {
	kept := append(turn.Content{}, content...)
	for i := range kept {
		for _, sig := range []*string{&kept[i].ThoughtSignature, &kept[i].ThinkingSignature} {
			if _, err := base64.StdEncoding.DecodeString(*sig); err != nil {
				*sig = ""
			}
		}
	}
	return kept
}

// mergeTurns joins neighbouring messages of role into one. A merged assistant
// message has the metadata of the last.
func mergeTurns(msgs []turn.Message, role turn.Role) []turn.Message {
	out := make([]turn.Message, 0, len(msgs))
	for _, m := range msgs {
		if n := len(out); n > 0 && m.Role == role && out[n-1].Role == role {
			content := append(append(turn.Content{}, out[n-1].Content...), m.Content...)
			out[n-1] = m
			out[n-1].Content = content
			continue
		}
		out = append(out, m)
	}
	return out
}

// renameCalls gives tool calls and their results ids that a provider accepts. One
// id gets the same new id everywhere, two ids never get the same one.
func renameCalls(msgs []turn.Message, to func(id string, try int) string) []turn.Message {
	names := map[string]string{}
	taken := map[string]bool{}
	rename := func(id string) string {
		if name, ok := names[id]; ok {
			return name
		}
		name := to(id, 0)
		for try := 1; taken[name]; try++ {
			name = to(id, try)
		}
		names[id], taken[name] = name, true
		return name
	}
	out := make([]turn.Message, len(msgs))
	for i, m := range msgs {
		if m.ToolCallID != "" {
			m.ToolCallID = rename(m.ToolCallID)
		}
		if m.Role == turn.RoleAssistant {
			m.Content = append(turn.Content{}, m.Content...)
			for j, b := range m.Content {
				if b.Type == turn.BlockToolCall {
					m.Content[j].ID = rename(b.ID)
				}
			}
		}
		out[i] = m
	}
	return out
}

func alphanumericID(id string, try int) string {
	id = alphanumeric(id)
	if try > 0 || id == "" {
		id += "x" + strconv.Itoa(try)
	}
	return id
}

// nineID makes exactly nine letters and digits: the start of a long id is often
// the same for all, so its end counts.
func nineID(id string, try int) string {
	id = alphanumeric(id)
	if try > 0 {
		id += strconv.FormatInt(int64(try), 36)
	}
	if len(id) < 9 {
		return strings.Repeat("0", 9-len(id)) + id
	}
	return id[len(id)-9:]
}

func alphanumeric(id string) string {
	return strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return -1
	}, id)
}
