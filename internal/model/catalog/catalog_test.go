package catalog_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"openclaw/internal/model"
	"openclaw/internal/model/catalog"
)

var _ model.Catalog = (*catalog.Catalog)(nil)

func TestFind(t *testing.T) {
	c := catalog.New()
	tests := []struct{ ref, want model.Info }{
		{model.Info{Ref: model.Ref{Provider: "anthropic", ID: "claude-opus-4-5"}}, model.Info{Name: "Claude Opus 4.5", API: model.APIAnthropic,
			ContextWindow: 200_000, MaxTokens: 64_000, Reasoning: true, Input: []string{"text", "image"},
			Cost: model.Cost{Input: 5, Output: 25, CacheRead: 0.5, CacheWrite: 6.25}}},
		{model.Info{Ref: model.Ref{Provider: "openai", ID: "gpt-5.2"}}, model.Info{Name: "GPT-5.2", API: model.APIResponses,
			ContextWindow: 400_000, MaxTokens: 128_000, Reasoning: true, Input: []string{"text", "image"},
			Cost: model.Cost{Input: 1.75, Output: 14, CacheRead: 0.175}}},
		{model.Info{Ref: model.Ref{Provider: "google", ID: "gemini-3-pro-preview"}}, model.Info{Name: "Gemini 3 Pro", API: model.APIGoogle,
			ContextWindow: 1_048_576, MaxTokens: 64_000, Reasoning: true, Input: []string{"text", "image"},
			Cost: model.Cost{Input: 2, Output: 12, CacheRead: 0.2}}},
	}
	for _, tt := range tests {
		got, ok := c.Find(tt.ref.Ref)
		tt.want.Ref = tt.ref.Ref
		if diff := cmp.Diff(tt.want, got); !ok || diff != "" {
			t.Errorf("Find(%s) = %v, differs (-want +got):\n%s", tt.ref.Ref, ok, diff)
		}
	}
	for _, ref := range []model.Ref{{Provider: "anthropic", ID: "claude-opus-4"}, {Provider: "anthropic", ID: "gpt-5.2"}, {Provider: "nobody", ID: "x"}} {
		if got, ok := c.Find(ref); ok != (ref.ID == "claude-opus-4") {
			t.Errorf("Find(%s) = %+v, %v", ref, got, ok)
		}
	}
}

// Every model that is a default somewhere, or an alias, must be real.
func TestKnowsTheDefaults(t *testing.T) {
	c := catalog.New()
	for _, b := range model.Builtins() {
		if infos := c.Models(b.ID); b.Default != "" && len(infos) > 0 {
			if _, ok := c.Find(model.Ref{Provider: b.ID, ID: b.Default}); !ok {
				t.Errorf("the default %s/%s is not in the catalogue", b.ID, b.Default)
			}
		}
	}
	for _, alias := range []string{"opus", "sonnet", "gpt", "gpt-mini", "gemini", "gemini-flash"} {
		ref, err := model.ParseRef(alias, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := c.Find(ref); !ok {
			t.Errorf("alias %s means %s, which is not in the catalogue", alias, ref)
		}
	}
}

func TestModelsAreUsable(t *testing.T) {
	c := catalog.New()
	count := 0
	for _, b := range model.Builtins() {
		for _, info := range c.Models(b.ID) {
			count++
			if info.Ref.Provider != b.ID || info.Ref.ID == "" || info.Name == "" || info.API == "" || !slices.Contains(info.Input, "text") {
				t.Errorf("unusable entry %+v", info)
			}
			if info.Cost.CacheRead > info.Cost.Input {
				t.Errorf("%s: reading the cache costs %v, fresh input %v", info.Ref, info.Cost.CacheRead, info.Cost.Input)
			}
		}
	}
	if count < 500 {
		t.Errorf("the catalogue has %d models, want hundreds", count)
	}
}

func BenchmarkFirstUse(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		catalog.New().Find(model.DefaultRef())
	}
}
