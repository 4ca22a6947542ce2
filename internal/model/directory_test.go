package model

import (
	"context"
	"errors"
	"iter"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"openclaw/internal/logs"
)

// keys are credentials by provider.
type keys map[string]Credential

func (k keys) Find(provider string, configured logs.Secret, pinned string) (Credential, bool) {
	if pinned != "" {
		provider += "@" + pinned
	}
	if c, ok := k[provider]; ok {
		return c, c.Key != ""
	}
	return Credential{Key: configured, Source: "models.providers." + provider + ".apiKey"}, configured != ""
}

// table is a catalogue.
type table []Info

func (c table) Find(ref Ref) (Info, bool) {
	for _, i := range c {
		if i.Ref == ref {
			return i, true
		}
	}
	return Info{}, false
}

func (c table) Models(provider string) []Info {
	var out []Info
	for _, i := range c {
		if i.Ref.Provider == provider {
			out = append(out, i)
		}
	}
	return out
}

// stub remembers what it was opened for.
type stub struct{ target Target }

func (stub) Stream(context.Context, Request) iter.Seq2[Part, error] { return nil }

func open(t Target) (Model, error) {
	if t.BaseURL == "bad" {
		return nil, errors.New("that is no address")
	}
	return stub{t}, nil
}

var known = table{
	{Ref: Ref{"anthropic", "claude-opus-4-5"}, Name: "Opus", API: APIAnthropic, ContextWindow: 200_000, MaxTokens: 64_000, Reasoning: true, Input: []string{"text", "image"}},
	{Ref: Ref{"openai", "gpt-5.2"}, Name: "GPT", API: APIResponses, ContextWindow: 400_000, MaxTokens: 128_000, Reasoning: true, Input: []string{"text", "image"}, Cost: Cost{Input: 2}},
}

func directory(s Settings, k keys) *Directory {
	return NewDirectory(DirectoryConfig{
		Settings: func() Settings { return s }, Credentials: k, Catalog: known,
		Families: map[API]Family{APICompletions: open, APIResponses: open, APIAnthropic: open, APIGoogle: open, APIOffline: open},
	})
}

func resolve(t *testing.T, d *Directory, ref string) (Endpoint, Target) {
	t.Helper()
	e, err := d.Resolve(ref)
	if err != nil {
		t.Fatalf("Resolve(%q) = %v", ref, err)
	}
	return e, e.Model.(stub).target
}

// mock is the provider of the recordings.
func mock() Provider {
	return Provider{BaseURL: "http://127.0.0.1:9/v1", APIKey: "mock-key", API: APICompletions,
		Models: []ProviderModel{{ID: "mock-1", Name: "Mock 1", ContextWindow: 128_000, MaxTokens: 8192}, {ID: "mock-2", API: APIAnthropic, Reasoning: true}}}
}

func TestDefault(t *testing.T) {
	key := Credential{Key: "k", Source: "x"}
	custom := Settings{Providers: map[string]Provider{"mock": mock(), "abc": {BaseURL: "https://abc.example", Models: []ProviderModel{{ID: "m"}}}}}
	tests := []struct {
		name string
		s    Settings
		k    keys
		want string
	}{
		{"nothing at all", Settings{}, nil, "offline/offline"},
		{"anthropic key", Settings{}, keys{"anthropic": key, "openai": key}, "anthropic/claude-opus-4-5"},
		{"openai key only", Settings{}, keys{"openai": key}, "openai/gpt-5.2"},
		{"openrouter key only", Settings{}, keys{"openrouter": key}, "openrouter/anthropic/claude-opus-4.5"},
		{"a key without a default model", Settings{}, keys{"venice": key}, "offline/offline"},
		{"custom provider with a key", custom, nil, "mock/mock-1"},
		{"configured", Settings{Primary: "openai/gpt-5.2"}, nil, "openai/gpt-5.2"},
		{"configured by alias", Settings{Primary: "quick", Aliases: map[string]string{"quick": "mock/mock-1"}}, nil, "mock/mock-1"},
		{"own models of a known provider", Settings{Providers: map[string]Provider{"openai": {Models: []ProviderModel{{ID: "gpt-x"}}}}}, keys{"openai": key}, "openai/gpt-x"},
	}
	for _, tt := range tests {
		d := directory(tt.s, tt.k)
		if got := d.Default().String(); got != tt.want {
			t.Errorf("%s: Default() = %s, want %s", tt.name, got, tt.want)
		}
		offline := tt.want == "offline/offline"
		if d.Offline() != offline || (d.OfflineReason() != "") != offline {
			t.Errorf("%s: Offline() = %v, reason %q", tt.name, d.Offline(), d.OfflineReason())
		}
	}
}

func TestResolve(t *testing.T) {
	yes := true
	half := 0.5
	s := Settings{
		Primary: "mock/mock-1",
		Aliases: map[string]string{"gem": "google/gemini-x"},
		Allow:   map[string]Params{"mock/mock-1": {Temperature: &half, MaxTokens: 10, CacheRetention: "long"}, "gem": {MaxTokens: 3}},
		Providers: map[string]Provider{
			"mock": mock(),
			"Z.AI": {Headers: map[string]logs.Secret{"X-A": "provider", "X-B": "provider"}, AuthHeader: true,
				Models: []ProviderModel{{ID: "glm", Headers: map[string]logs.Secret{"X-B": "model"}, Compat: Compat{SupportsStore: &yes, MaxTokensField: "max_tokens"}}}},
			"local":  {BaseURL: "http://localhost:8080/v1"},
			"headed": {BaseURL: "https://headed.example/v1", Headers: map[string]logs.Secret{"Authorization": "Bearer x"}},
		},
	}
	k := keys{"openai": {Key: "sk", Source: "the environment variable OPENAI_API_KEY"}, "anthropic": {Key: "tok", Bearer: true, Source: "s", Profile: "anthropic:me"},
		"anthropic@anthropic:two": {Key: "two", Source: "s2", Profile: "anthropic:two"}, "zai": {Key: "z", Source: "s"}, "google": {Key: "g", Source: "s"}}
	d := directory(s, k)

	e, target := resolve(t, d, "")
	if e.Info.Ref.String() != "mock/mock-1" || e.Info.ContextWindow != 128_000 || e.Info.API != APICompletions || e.KeySource != "models.providers.mock.apiKey" {
		t.Errorf("Resolve() = %+v, want mock/mock-1 as configured", e)
	}
	if target.BaseURL != "http://127.0.0.1:9/v1" || target.Key != "mock-key" || target.Bearer {
		t.Errorf("target = %+v", target)
	}
	if *e.Params.Temperature != 0.5 || e.Params.MaxTokens != 10 || e.Params.CacheRetention != "long" {
		t.Errorf("params = %+v", e.Params)
	}
	if e, _ := resolve(t, d, "mock/mock-2"); e.Info.API != APIAnthropic || !e.Info.Reasoning || e.Info.ContextWindow != DefaultWindow {
		t.Errorf("Resolve(mock-2) = %+v, want the model's own API and the default window", e.Info)
	}
	if e, target := resolve(t, d, "gpt"); e.Info.ContextWindow != 400_000 || e.Info.API != APIResponses || target.BaseURL != "https://api.openai.com/v1" || target.Key != "sk" {
		t.Errorf("Resolve(gpt) = %+v, %+v, want the catalogue's facts", e.Info, target)
	}
	if e, target := resolve(t, d, "opus"); e.Profile != "anthropic:me" || !target.Bearer {
		t.Errorf("Resolve(opus) = %+v, want the profile's token", e)
	}
	if e, err := d.ResolveAs("opus", "anthropic:two"); err != nil || e.Profile != "anthropic:two" {
		t.Errorf("ResolveAs(opus, anthropic:two) = %+v, %v", e, err)
	}
	_, target = resolve(t, d, "z-ai/glm")
	want := map[string]logs.Secret{"X-A": "provider", "X-B": "model"}
	if diff := cmp.Diff(want, target.Headers); diff != "" || !target.Bearer || target.Compat.MaxTokensField != "max_tokens" || target.BaseURL == "" {
		t.Errorf("target of zai = %+v, headers differ (-want +got):\n%s", target, diff)
	}
	if e, _ := resolve(t, d, "gem"); e.Info.API != APIGoogle || e.Params.MaxTokens != 3 {
		t.Errorf("Resolve(gem) = %+v, want the family of the provider and the alias's params", e)
	}
	for _, ref := range []string{"local/any", "headed/any"} { // no key wanted
		if _, target := resolve(t, d, ref); target.Key != "" {
			t.Errorf("target of %s = %+v, want no key", ref, target)
		}
	}
	if e, _ := resolve(t, directory(Settings{}, nil), ""); e.Info.API != APIOffline {
		t.Errorf("Resolve() without anything = %+v, want the offline model", e.Info)
	}
	if e, _ := resolve(t, d, "offline/offline"); e.Info.API != APIOffline {
		t.Errorf("Resolve(offline) = %+v", e.Info)
	}
}

// Errors name the next step.
func TestResolveErrors(t *testing.T) {
	s := Settings{Providers: map[string]Provider{
		"mock": mock(), "remote": {BaseURL: "https://remote.example/v1"}, "aws": {BaseURL: "https://x", Auth: "aws-sdk"},
		"bed": {BaseURL: "https://x", API: APIBedrock, APIKey: "k"}, "odd": {BaseURL: "https://x", API: "smoke-signals", APIKey: "k"},
		"bad":  {BaseURL: "bad", APIKey: "k"},
		"tiny": {BaseURL: "http://localhost", Models: []ProviderModel{{ID: "m", ContextWindow: 8000}}},
	}}
	k := keys{"openai": {Problem: "the auth profile openai:x has expired"}}
	tests := []struct {
		primary, ref string
		kind         Kind
		want         string
	}{
		{"", "anthropic/claude-opus-4-5", KindAuth, "ANTHROPIC_API_KEY"},
		{"anthropic/claude-opus-4-5", "", KindAuth, "models.providers.anthropic.apiKey"},
		{"", "openai/gpt-5.2", KindAuth, "(the auth profile openai:x has expired)"},
		{"", "remote/m", KindAuth, "models.providers.remote.apiKey"},
		{"", "nobody/m", KindNotFound, `Unknown provider "nobody". Known are anthropic`},
		{"", "aws/m", KindConfig, "Bedrock"},
		{"", "bed/m", KindConfig, "bedrock tag"},
		{"", "amazon-bedrock/m", KindConfig, "Bedrock"},
		{"", "github-copilot/m", KindConfig, "Copilot"},
		{"", "odd/m", KindConfig, `"smoke-signals"`},
		{"", "bad/m", KindConfig, "that is no address"},
		{"", "tiny/m", KindConfig, "8000 tokens"},
		{"openai/", "", KindConfig, "names no model"},
	}
	for _, tt := range tests {
		s.Primary = tt.primary
		_, err := directory(s, k).Resolve(tt.ref)
		var e *Error
		if !errors.As(err, &e) || e.Kind != tt.kind || !strings.Contains(e.Text, tt.want) {
			t.Errorf("Resolve(%q) with primary %q = %v (%s), want kind %s and %q", tt.ref, tt.primary, err, KindOf(err), tt.kind, tt.want)
		}
	}
}

// RT-093: an empty allowlist allows all, another one its keys, the default, and
// what the configuration describes.
func TestAllowed(t *testing.T) {
	s := Settings{Primary: "openai/gpt-5.2", Aliases: map[string]string{"son": "anthropic/claude-sonnet-4-5"},
		Allow: map[string]Params{"google/gemini-x": {}, "son": {}, "Z.ai/glm": {}}, AlwaysAllow: []string{"claude-cli"},
		Providers: map[string]Provider{"mock": mock()}}
	d := directory(s, nil)
	for ref, want := range map[string]bool{
		"google/gemini-x": true, "anthropic/claude-sonnet-4-5": true, "son": true, "zai/glm": true, "openai/gpt-5.2": true,
		"claude-cli/opus": true, "mock/mock-2": true, "mock/other": false, "anthropic/claude-opus-4-5": false, "google/other": false,
	} {
		_, err := d.Select(ref)
		if (err == nil) != want {
			t.Errorf("Select(%s) = %v, want allowed %v", ref, err, want)
		}
	}
	if _, err := directory(Settings{}, nil).Select("any/thing"); err != nil {
		t.Errorf("Select without an allowlist = %v", err)
	}
	if _, err := d.Select("/"); err == nil {
		t.Error("Select(/) succeeded, want an error")
	}
}

// RT-097: 32000 warns, 16000 refuses; the configured cap counts.
func TestWindowGuard(t *testing.T) {
	tests := []struct {
		window, limit  int
		warns, refuses bool
	}{
		{200_000, 0, false, false}, {32_000, 0, false, false}, {31_999, 0, true, false}, {16_000, 0, true, false},
		{15_999, 0, false, true}, {200_000, 20_000, true, false}, {200_000, 1000, false, true}, {20_000, 50_000, true, false},
	}
	for _, tt := range tests {
		s := Settings{ContextTokens: tt.limit, Providers: map[string]Provider{"l": {BaseURL: "http://localhost", Models: []ProviderModel{{ID: "m", ContextWindow: tt.window}}}}}
		e, err := directory(s, nil).Resolve("l/m")
		if (err != nil) != tt.refuses || (e.Warning != "") != tt.warns {
			t.Errorf("window %d, cap %d: warning %q, error %v", tt.window, tt.limit, e.Warning, err)
		}
	}
}

func TestList(t *testing.T) {
	names := func(infos []Info) string {
		var out []string
		for _, i := range infos {
			out = append(out, i.Ref.String())
		}
		return strings.Join(out, " ")
	}
	s := Settings{Providers: map[string]Provider{"mock": mock(), "openai": {APIKey: "k", Models: []ProviderModel{{ID: "gpt-5.2", Name: "Mine"}}}}}
	infos := directory(s, nil).List()
	if got := names(infos); got != "anthropic/claude-opus-4-5 mock/mock-1 mock/mock-2 openai/gpt-5.2" {
		t.Errorf("List() = %s", got)
	}
	if got := infos[3]; got.Name != "Mine" || got.ContextWindow != 400_000 || got.Cost.Input != 2 {
		t.Errorf("merged entry = %+v, want the configured name and the catalogue's facts", got)
	}
	s.ReplaceCatalog = true
	if got := names(directory(s, nil).List()); got != "mock/mock-1 mock/mock-2 openai/gpt-5.2" {
		t.Errorf("List() in replace mode = %s", got)
	}
	if got := names(directory(Settings{}, nil).List()); !strings.Contains(got, "offline/offline") {
		t.Errorf("List() while offline = %s, want the offline model in it", got)
	}
}

func TestFor(t *testing.T) {
	d := directory(Settings{}, nil)
	other := d.For(keys{"openai": {Key: "k"}})
	if d.Offline() == false || other.Offline() {
		t.Error("For did not give one agent its own keys")
	}
}

// RT-096: order, replacement by the agent's list, allowlist, the primary last.
func TestCandidates(t *testing.T) {
	s := Settings{Primary: "a/primary", Fallbacks: []string{"b/one", "c/two", "/", "a/primary"}, Allow: map[string]Params{"b/one": {}, "d/agent": {}}}
	tests := []struct {
		name, text string
		fallbacks  []string
		want       string
	}{
		{"default model", "", nil, "a/primary b/one"},
		{"override", "x/y", nil, "x/y b/one a/primary"},
		{"override that is a fallback", "b/one", nil, "b/one a/primary"},
		{"agent list replaces", "", []string{"d/agent", "c/two"}, "a/primary d/agent"},
		{"agent list and override", "x/y", []string{"d/agent"}, "x/y d/agent"},
		{"empty list disables", "x/y", []string{}, "x/y"},
	}
	for _, tt := range tests {
		got, err := directory(s, nil).Candidates(tt.text, tt.fallbacks)
		var names []string
		for _, r := range got {
			names = append(names, r.String())
		}
		if strings.Join(names, " ") != tt.want || err != nil {
			t.Errorf("%s: Candidates(%q, %v) = %v, %v, want %s", tt.name, tt.text, tt.fallbacks, names, err, tt.want)
		}
	}
	if d := directory(s, nil); !d.HasFallbacks(nil) || d.HasFallbacks([]string{}) || directory(Settings{}, nil).HasFallbacks(nil) {
		t.Error("HasFallbacks takes an empty list for fallbacks, or the defaults for none")
	}
	if _, err := directory(s, nil).Candidates("x/", nil); err == nil {
		t.Error("Candidates(x/) succeeded, want an error")
	}
	if got, _ := directory(Settings{Fallbacks: []string{"b/one"}}, nil).Candidates("", nil); len(got) != 1 || got[0] != OfflineRef() {
		t.Errorf("Candidates while offline = %v, want the offline model alone", got)
	}
}

func TestAllFailed(t *testing.T) {
	limit := &Error{Kind: KindRateLimit, Status: 429, Text: "slow down"}
	auth := &Error{Kind: KindAuth, Text: "no key"}
	if err := AllFailed([]Attempt{{Ref{"a", "b"}, limit}}); err != limit {
		t.Errorf("AllFailed of one = %v, want its own error", err)
	}
	err := AllFailed([]Attempt{{Ref{"a", "b"}, limit}, {Ref{"c", "d"}, auth}})
	if want := "All models failed (2): a/b: 429 slow down (rate_limit) | c/d: no key (auth)"; err.Error() != want || KindOf(err) != KindAuth {
		t.Errorf("AllFailed = %q (%s), want %q", err, KindOf(err), want)
	}
	if err := AllFailed(nil); err != nil {
		t.Errorf("AllFailed(nil) = %v", err)
	}
}

func BenchmarkResolve(b *testing.B) {
	b.ReportAllocs()
	d := directory(Settings{Primary: "mock/mock-1", Providers: map[string]Provider{"mock": mock()}}, nil)
	for b.Loop() {
		if _, err := d.Resolve(""); err != nil {
			b.Fatal(err)
		}
	}
}
