package model

import "testing"

// RT-093: split at the first slash, aliases, provider aliases, shorthand.
func TestParseRef(t *testing.T) {
	aliases := map[string]string{"Fast": "groq/some/model", "opus": "openrouter/anthropic/claude-opus-4.5"}
	tests := []struct{ in, want string }{
		{"openai/gpt-5.2", "openai/gpt-5.2"},
		{" OpenAI/gpt-5.2 ", "openai/gpt-5.2"},
		{"openrouter/anthropic/claude-opus-4.5", "openrouter/anthropic/claude-opus-4.5"},
		{"claude-sonnet-4-5", "anthropic/claude-sonnet-4-5"},
		{"anthropic/opus-4.5", "anthropic/claude-opus-4-5"},
		{"sonnet-4.5", "anthropic/claude-sonnet-4-5"},
		{"z.ai/glm-4.7", "zai/glm-4.7"}, {"Z-AI/glm-4.7", "zai/glm-4.7"},
		{"opencode-zen/x", "opencode/x"}, {"qwen/x", "qwen-portal/x"}, {"kimi-code/x", "kimi-coding/x"},
		{"fast", "groq/some/model"}, {"FAST", "groq/some/model"},
		{"opus", "openrouter/anthropic/claude-opus-4.5"}, // the user's alias wins
		{"Sonnet", "anthropic/claude-sonnet-4-5"}, {"gpt", "openai/gpt-5.2"}, {"gpt-mini", "openai/gpt-5-mini"},
		{"gemini", "google/gemini-3-pro-preview"}, {"gemini-flash", "google/gemini-3-flash-preview"},
		{"offline/offline", "offline/offline"},
	}
	for _, tt := range tests {
		got, err := ParseRef(tt.in, aliases)
		if err != nil || got.String() != tt.want {
			t.Errorf("ParseRef(%q) = %v, %v, want %s", tt.in, got, err, tt.want)
		}
	}
	for _, in := range []string{"", " ", "/", "openai/", "/gpt", "openai/ "} {
		if got, err := ParseRef(in, aliases); err == nil {
			t.Errorf("ParseRef(%q) = %v, want an error", in, got)
		}
	}
}

func FuzzParseRef(f *testing.F) {
	for _, s := range []string{"openai/gpt", "opus", "a/b/c", "/", "\x00/\xff"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		ref, err := ParseRef(s, nil)
		if err != nil {
			return
		}
		if again, err := ParseRef(ref.String(), nil); err != nil || again != ref {
			t.Errorf("ParseRef(%q) = %v, which reads back as %v, %v", s, ref, again, err)
		}
	})
}

func TestSupportsXHigh(t *testing.T) {
	for ref, want := range map[Ref]bool{{"openai", "gpt-5.2"}: true, {"openai-codex", "gpt-5.1-codex"}: true, {"openai", "gpt-5"}: false} {
		if got := SupportsXHigh(ref); got != want {
			t.Errorf("SupportsXHigh(%s) = %v, want %v", ref, got, want)
		}
	}
}

func TestParseParams(t *testing.T) {
	half := 0.5
	tests := []struct {
		in   map[string]any
		want Params
	}{
		{map[string]any{"temperature": 0.5, "maxTokens": 100.0, "cacheRetention": "long"}, Params{&half, 100, "long"}},
		{map[string]any{"cacheControlTtl": "5m"}, Params{CacheRetention: "short"}},
		{map[string]any{"cacheControlTtl": "1h", "cacheRetention": "none"}, Params{CacheRetention: "none"}},
		{map[string]any{"cacheControlTtl": "1h"}, Params{CacheRetention: "long"}},
		{map[string]any{"temperature": "hot", "maxTokens": -1.0, "cacheRetention": "ever"}, Params{}},
		{nil, Params{}},
	}
	for _, tt := range tests {
		got := ParseParams(tt.in)
		if got.MaxTokens != tt.want.MaxTokens || got.CacheRetention != tt.want.CacheRetention ||
			(got.Temperature == nil) != (tt.want.Temperature == nil) || got.Temperature != nil && *got.Temperature != *tt.want.Temperature {
			t.Errorf("ParseParams(%v) = %+v, want %+v", tt.in, got, tt.want)
		}
	}
}
