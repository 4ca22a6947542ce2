package model

import "slices"

// Builtin is a provider that needs only a key: its address and family are known.
type Builtin struct {
	ID      string
	BaseURL string
	API     API
	Env     []string // variables that hold its key, first one wins
	Default string   // model used when only this provider has a key; may be empty
}

// builtins is never written to. See agent-runtime 18.3 for the variables.
var builtins = []Builtin{
	{"anthropic", "https://api.anthropic.com", APIAnthropic, []string{"ANTHROPIC_OAUTH_TOKEN", "ANTHROPIC_API_KEY"}, "claude-opus-4-5"},
	{"openai", "https://api.openai.com/v1", APIResponses, []string{"OPENAI_API_KEY"}, "gpt-5.2"},
	{"google", "https://generativelanguage.googleapis.com/v1beta/openai", APIGoogle, []string{"GEMINI_API_KEY"}, "gemini-3-pro-preview"},
	{"openrouter", "https://openrouter.ai/api/v1", APICompletions, []string{"OPENROUTER_API_KEY"}, "anthropic/claude-opus-4.5"},
	{"xai", "https://api.x.ai/v1", APICompletions, []string{"XAI_API_KEY"}, "grok-4.5"},
	{"mistral", "https://api.mistral.ai/v1", APICompletions, []string{"MISTRAL_API_KEY"}, "mistral-large-latest"},
	{"groq", "https://api.groq.com/openai/v1", APICompletions, []string{"GROQ_API_KEY"}, "moonshotai/kimi-k2-instruct-0905"},
	{"cerebras", "https://api.cerebras.ai/v1", APICompletions, []string{"CEREBRAS_API_KEY"}, "gpt-oss-120b"},
	{"vercel-ai-gateway", "https://ai-gateway.vercel.sh/v1", APICompletions, []string{"AI_GATEWAY_API_KEY"}, "anthropic/claude-opus-4.5"},
	{"moonshot", "https://api.moonshot.ai/v1", APICompletions, []string{"MOONSHOT_API_KEY"}, "kimi-k2.5"},
	{"kimi-coding", "https://api.kimi.com/coding", APIAnthropic, []string{"KIMI_API_KEY", "KIMICODE_API_KEY"}, "kimi-for-coding"},
	{"zai", "https://api.z.ai/api/coding/paas/v4", APICompletions, []string{"ZAI_API_KEY", "Z_AI_API_KEY"}, "glm-4.7"},
	{"minimax", "https://api.minimax.io/anthropic", APIAnthropic, []string{"MINIMAX_API_KEY"}, "MiniMax-M2.7"},
	{"minimax-portal", "https://api.minimax.io/anthropic", APIAnthropic, []string{"MINIMAX_OAUTH_TOKEN"}, "MiniMax-M2.7"},
	{"opencode", "https://opencode.ai/zen/v1", APICompletions, []string{"OPENCODE_API_KEY", "OPENCODE_ZEN_API_KEY"}, "claude-opus-4-5"},
	{"synthetic", "https://api.synthetic.new/openai/v1", APICompletions, []string{"SYNTHETIC_API_KEY"}, "syn:large:text"},
	{"venice", "https://api.venice.ai/api/v1", APICompletions, []string{"VENICE_API_KEY"}, ""},
	{"chutes", "https://llm.chutes.ai/v1", APICompletions, []string{"CHUTES_OAUTH_TOKEN", "CHUTES_API_KEY"}, ""},
	{"xiaomi", "https://api.xiaomimimo.com/anthropic", APIAnthropic, []string{"XIAOMI_API_KEY"}, "mimo-v2-flash"},
	{"qwen-portal", "https://portal.qwen.ai/v1", APICompletions, []string{"QWEN_OAUTH_TOKEN", "QWEN_PORTAL_API_KEY"}, "coder-model"},
	{"ollama", "http://127.0.0.1:11434/v1", APICompletions, []string{"OLLAMA_API_KEY"}, ""},
}

// Builtins lists the known providers, the preferred ones first.
func Builtins() []Builtin { return slices.Clone(builtins) }

// LookupBuiltin returns the known provider with this canonical id.
func LookupBuiltin(id string) (Builtin, bool) {
	for _, b := range builtins {
		if b.ID == id {
			return b, true
		}
	}
	return Builtin{}, false
}
