package model

import (
	"strings"

	"openclaw/internal/logs"
)

// Settings is what the configuration says about models. The caller builds it
// from models.* and agents.defaults.*; see agent-runtime 2.4.
type Settings struct {
	// Primary is agents.defaults.model.primary as the user wrote it; empty when
	// the user chose none.
	Primary   string
	Fallbacks []string
	// Aliases maps a name to a ref, from agents.defaults.models.<ref>.alias.
	Aliases map[string]string
	// Allow are the keys of agents.defaults.models with their params. When it is
	// not empty it restricts which models may be selected.
	Allow map[string]Params
	// AlwaysAllow lists providers that the allowlist does not restrict: those of
	// CLI backends.
	AlwaysAllow []string
	// Providers is models.providers by provider id.
	Providers map[string]Provider
	// ReplaceCatalog is models.mode "replace": only configured models exist.
	ReplaceCatalog bool
	// ContextTokens caps every context window; 0 for no cap.
	ContextTokens int
}

// Provider is one entry of models.providers.
type Provider struct {
	BaseURL string
	APIKey  logs.Secret
	// Auth is api-key, token, oauth or aws-sdk; empty is api-key.
	Auth    string
	API     API
	Headers map[string]logs.Secret
	// AuthHeader sends the key as "Authorization: Bearer" where the family would
	// use a header of its own.
	AuthHeader bool
	Models     []ProviderModel
}

// ProviderModel is a model that the configuration describes. Zero fields are
// taken from the catalogue, then from the defaults of agent-runtime 2.3.
type ProviderModel struct {
	ID, Name      string
	API           API
	Reasoning     bool
	Input         []string
	Cost          Cost
	ContextWindow int
	MaxTokens     int
	Headers       map[string]logs.Secret
	Compat        Compat
}

// Compat says how an OpenAI-compatible server differs from OpenAI. Nil and empty
// mean the family's guess from the address.
type Compat struct {
	SupportsStore           *bool
	SupportsDeveloperRole   *bool
	SupportsReasoningEffort *bool
	MaxTokensField          string // max_tokens or max_completion_tokens
}

// Params are agents.defaults.models.<ref>.params.
type Params struct {
	Temperature    *float64
	MaxTokens      int
	CacheRetention string // none, short, long or empty
}

// ParseParams reads a params object. Unknown keys and values of the wrong type
// are ignored; cacheControlTtl is the old name of cacheRetention.
func ParseParams(raw map[string]any) Params {
	var p Params
	if t, ok := raw["temperature"].(float64); ok {
		p.Temperature = &t
	}
	if n, ok := raw["maxTokens"].(float64); ok && n > 0 {
		p.MaxTokens = int(n)
	}
	switch r, _ := raw["cacheRetention"].(string); r {
	case "none", "short", "long":
		p.CacheRetention = r
		return p
	}
	switch ttl, _ := raw["cacheControlTtl"].(string); strings.TrimSpace(ttl) {
	case "5m":
		p.CacheRetention = "short"
	case "1h":
		p.CacheRetention = "long"
	}
	return p
}
