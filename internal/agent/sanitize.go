package agent

import (
	"encoding/json"
	"strings"
	"unicode/utf8"

	"openclaw/internal/logs"
	"openclaw/internal/tool"
)

// maxMeta is how much of a call's summary is shown, in characters.
const maxMeta = 300

// clip keeps the first n characters of s and adds mark when something was cut.
func clip(s string, n int, mark string) string {
	if len(s) <= n || utf8.RuneCountInString(s) <= n {
		return s
	}
	for i := range s {
		if n == 0 {
			return s[:i] + mark
		}
		n--
	}
	return s
}

// object returns args if it is a JSON object, and an empty one otherwise: what
// is not an object cannot be stored or sent back.
func object(args string) json.RawMessage {
	if isObject(args) {
		return json.RawMessage(args)
	}
	return json.RawMessage("{}")
}

func isObject(args string) bool {
	return strings.HasPrefix(strings.TrimSpace(args), "{") && json.Valid([]byte(args))
}

// meta says in one line what a call is about, with secrets removed and the home
// folder written as "~".
func meta(t tool.Tool, args json.RawMessage, home string) string {
	d, ok := t.(tool.Describer)
	if !ok {
		return ""
	}
	s := strings.Join(strings.Fields(d.Describe(args)), " ")
	return clip(logs.Redact(tilde(s, home)), maxMeta, "…")
}

// tilde writes paths below home with "~".
func tilde(s, home string) string {
	if len(home) < 2 {
		return s
	}
	if s == home {
		return "~"
	}
	return strings.ReplaceAll(s, home+"/", "~/")
}
