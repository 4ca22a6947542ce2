package model

import (
	"fmt"
	"strings"
)

// DefaultProvider serves refs without a provider.
const DefaultProvider = "anthropic"

// DefaultRef is the model used when nothing is configured and its key exists.
// See agent-runtime 18.1.
func DefaultRef() Ref { return Ref{DefaultProvider, "claude-opus-4-5"} }

// OfflineRef names the built-in offline model.
func OfflineRef() Ref { return Ref{"offline", "offline"} }

// NormalizeProvider returns the canonical id of a provider: lower case, old
// spellings replaced.
func NormalizeProvider(id string) string {
	switch id = strings.ToLower(strings.TrimSpace(id)); id {
	case "z.ai", "z-ai":
		return "zai"
	case "opencode-zen":
		return "opencode"
	case "qwen":
		return "qwen-portal"
	case "kimi-code":
		return "kimi-coding"
	}
	return id
}

// normalizeID expands the shorthand that some providers' models have.
func normalizeID(provider, id string) string {
	if provider != DefaultProvider {
		return id
	}
	switch strings.ToLower(id) {
	case "opus-4.5":
		return "claude-opus-4-5"
	case "sonnet-4.5":
		return "claude-sonnet-4-5"
	}
	return id
}

// builtinAlias returns the target of an alias that works without configuration.
func builtinAlias(name string) (string, bool) {
	switch name {
	case "opus":
		return "anthropic/claude-opus-4-5", true
	case "sonnet":
		return "anthropic/claude-sonnet-4-5", true
	case "gpt":
		return "openai/gpt-5.2", true
	case "gpt-mini":
		return "openai/gpt-5-mini", true
	case "gemini":
		return "google/gemini-3-pro-preview", true
	case "gemini-flash":
		return "google/gemini-3-flash-preview", true
	}
	return "", false
}

// ParseRef reads "provider/model", split at the first slash, an alias or, for
// the default provider, a bare model id. Aliases are looked up without regard to
// case; those of the user win over the built-in ones.
func ParseRef(text string, aliases map[string]string) (Ref, error) {
	text = strings.TrimSpace(text)
	if target, ok := aliasTarget(text, aliases); ok {
		text = strings.TrimSpace(target)
	}
	provider, id, slash := strings.Cut(text, "/")
	if !slash {
		provider, id = DefaultProvider, text
	}
	provider, id = NormalizeProvider(provider), strings.TrimSpace(id)
	if provider == "" || id == "" {
		return Ref{}, fmt.Errorf("%q names no model; write provider/model, such as %s", text, DefaultRef())
	}
	return Ref{provider, normalizeID(provider, id)}, nil
}

func aliasTarget(name string, aliases map[string]string) (string, bool) {
	if name == "" || strings.Contains(name, "/") {
		return "", false
	}
	if target, ok := aliases[name]; ok {
		return target, true
	}
	lower := strings.ToLower(name)
	for alias, target := range aliases {
		if strings.ToLower(alias) == lower {
			return target, true
		}
	}
	return builtinAlias(lower)
}

// SupportsXHigh reports whether a model knows the thinking level xhigh.
func SupportsXHigh(r Ref) bool {
	switch r.String() {
	case "openai/gpt-5.2", "openai-codex/gpt-5.2-codex", "openai-codex/gpt-5.1-codex":
		return true
	}
	return false
}
