package config

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"openclaw/internal/config/json5"
	"openclaw/internal/logs"
)

// Sentinel stands for a secret in everything that leaves this package for a
// client. In what comes back it means "keep the stored value".
const Sentinel = "__OPENCLAW_REDACTED__"

// Redacted is a snapshot as a client may see it.
type Redacted struct {
	Raw    *string // nil when there is no file
	Parsed any
	Config map[string]any
}

// Redacted replaces every secret of s by [Sentinel]: in the text, in comments
// too, in the parsed tree and in the resolved one. References such as ${TOKEN}
// are no secrets and stay. Numbers that JSON lacks become null.
func (s *Snapshot) Redacted() Redacted {
	r := Redacted{Parsed: redactTree(s.Parsed, nil, nil)}
	r.Config = redactTree(s.Resolved, nil, s.fromEnv).(map[string]any)
	if s.Exists {
		text := redactText(s.Raw)
		r.Raw = &text
	}
	return r
}

// Redact replaces the secrets of a part of the tree; path leads to it.
func Redact(v any, path ...string) any { return redactTree(v, path, nil) }

// redactTree copies v without its secrets. In a resolved tree fromEnv tells
// which texts came from which variables.
func redactTree(v any, path []string, fromEnv map[string][]string) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, e := range v {
			out[k] = redactTree(e, append(path, k), fromEnv)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = redactTree(e, append(path, strconv.Itoa(i)), fromEnv)
		}
		return out
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil
		}
	}
	if isSecret(v, path) {
		return Sentinel
	}
	if fromEnv != nil && slices.ContainsFunc(fromEnv[dotted(path)], logs.SensitiveKey) {
		return Sentinel
	}
	return v
}

// isSecret reports whether a scalar at path must not be shown.
func isSecret(v any, path []string) bool {
	text, ok := v.(string)
	if !ok {
		// A number can be a password, a switch cannot.
		_, number := floatOf(v)
		return number && secretAt(path)
	}
	if text == "" || text == Sentinel {
		return false
	}
	if hasRef(text) {
		// What is left beside the references must be too short to matter.
		rest, _ := expand(text, func(string) string { return "" })
		for _, scheme := range [...]string{"Bearer", "Basic"} {
			rest = strings.TrimPrefix(rest, scheme)
		}
		text = strings.TrimSpace(rest)
		return secretAt(path) && len(text) >= 8 || credential(text)
	}
	return secretAt(path) || credential(text)
}

// credential reports whether a text shows what it is, wherever it stands: keys
// of well-known vendors, addresses with a password.
func credential(text string) bool {
	return !strings.ContainsAny(text, " \n\t") && logs.Redact(text) != text
}

// secretAt reports whether the setting at path holds a secret by its name.
func secretAt(path []string) bool {
	for i := len(path) - 1; i >= 0; i-- {
		key := path[i]
		switch {
		case key == "headers", key == "env" && !slices.Contains(path[i:], "shellEnv"), key == "serviceAccount":
			return true
		case isIndex(key):
			continue
		case i == len(path)-1, i < len(path)-1 && isIndex(path[i+1]):
			if logs.SensitiveKey(key) {
				return true
			}
		}
	}
	return false
}

func isIndex(key string) bool {
	_, err := strconv.ParseUint(key, 10, 31)
	return err == nil
}

// redactText replaces the secrets of a JSON5 text and keeps all else.
func redactText(raw string) string {
	var values []string
	text, err := json5.Rewrite(raw, json5.Rewriter{
		Scalar: func(path []string, v any) (any, bool) {
			if !isSecret(v, path) {
				return nil, false
			}
			if s, ok := v.(string); ok && len(s) >= 6 {
				values = append(values, s)
			}
			return Sentinel, true
		},
	})
	if err != nil {
		// Not JSON5, so there are no keys to go by; hide what looks secret.
		return strings.ReplaceAll(logs.Redact(raw), logs.Hidden, Sentinel)
	}
	text, err = json5.Rewrite(text, json5.Rewriter{
		Comment: func(c string) string { return redactComment(c, values) },
	})
	if err != nil {
		return Sentinel
	}
	return text
}

// redactComment hides credentials in a comment, and the secrets of the file it
// belongs to. Its marks stay out of it, so that it still ends where it did.
func redactComment(comment string, values []string) string {
	start, end := comment[:2], ""
	if start == "/*" {
		end = "*/"
	}
	words := strings.TrimSuffix(comment[2:], end)
	for _, v := range values {
		words = strings.ReplaceAll(words, v, Sentinel)
	}
	return start + strings.ReplaceAll(logs.Redact(words), logs.Hidden, Sentinel) + end
}
