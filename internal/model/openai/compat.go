package openai

import (
	"cmp"
	"net/url"
	"strings"

	"openclaw/internal/model"
)

// dialect is how a server's Chat Completions differ from OpenAI's.
type dialect struct {
	store     bool   // knows store
	developer bool   // knows the developer role
	effort    bool   // knows reasoning_effort
	maxTokens string // name of the limit
	thinking  bool   // wants thinking: {type} instead of reasoning_effort
}

// dialectOf guesses from the address, and lets the configuration correct it.
func dialectOf(t model.Target) dialect {
	host := ""
	if u, err := url.Parse(t.BaseURL); err == nil {
		host = u.Hostname()
	}
	on := func(domains ...string) bool {
		for _, d := range domains {
			if host == d || strings.HasSuffix(host, "."+d) {
				return true
			}
		}
		return false
	}
	strict := on("cerebras.ai", "x.ai", "mistral.ai", "chutes.ai", "z.ai", "bigmodel.cn", "deepseek.com", "groq.com", "opencode.ai", "googleapis.com", "moonshot.ai")
	d := dialect{
		store:     !strict,
		developer: on("openai.com", "openai.azure.com"),
		effort:    !on("x.ai", "mistral.ai", "z.ai", "bigmodel.cn", "moonshot.ai"),
		thinking:  on("z.ai", "bigmodel.cn"),
		maxTokens: "max_completion_tokens",
	}
	if on("mistral.ai", "chutes.ai", "z.ai", "bigmodel.cn", "deepseek.com", "moonshot.ai") || t.Info.Ref.Provider == "ollama" {
		d.maxTokens = "max_tokens"
	}
	c := t.Compat
	if c.SupportsStore != nil {
		d.store = *c.SupportsStore
	}
	if c.SupportsDeveloperRole != nil {
		d.developer = *c.SupportsDeveloperRole
	}
	if c.SupportsReasoningEffort != nil {
		d.effort = *c.SupportsReasoningEffort
	}
	d.maxTokens = cmp.Or(c.MaxTokensField, d.maxTokens)
	return d
}
