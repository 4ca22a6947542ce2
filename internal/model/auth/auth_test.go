package auth_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"openclaw/internal/logs"
	"openclaw/internal/model"
	"openclaw/internal/model/auth"
)

var _ model.Credentials = (*auth.Keys)(nil)

var now = time.UnixMilli(1_767_225_600_000)

func write(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "auth-profiles.json")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// found is a credential as tests compare it.
type found struct {
	Key, Source, Profile string
	Bearer, OK           bool
}

func find(k *auth.Keys, provider string, configured logs.Secret, pinned string) found {
	c, ok := k.Find(provider, configured, pinned)
	return found{c.Key.Reveal(), c.Source, c.Profile, c.Bearer, ok}
}

const stored = `{"version":1,
 "profiles":{
  "anthropic:me":{"type":"oauth","provider":"anthropic","access":"acc","refresh":"ref","expires":1767225700000},
  "anthropic:old":{"type":"token","provider":"anthropic","token":"tok","expires":1767225500000},
  "anthropic:key":{"type":"api_key","provider":"Anthropic","key":" stored-key "},
  "openai:default":{"type":"api_key","provider":"openai","key":"openai-key","email":"a@b.c"},
  "broken":{"type":"api_key","provider":"openai"},
  "worse":7},
 "order":{},"lastGood":{"openai":"openai:default"},"usageStats":{"openai:default":{"lastUsed":5},"x":"y"}}`

// Key resolution: pinned profile, profile order, environment, configuration.
// See agent-runtime 18.3 and RT-094.
func TestFind(t *testing.T) {
	env := map[string]string{"OPENAI_API_KEY": "env-openai", "GEMINI_API_KEY": " env-gemini\n", "CHUTES_OAUTH_TOKEN": "env-chutes", "MY_SERVER_KEY": "env-mine"}
	k := auth.New(auth.Config{Path: write(t, stored), Env: func(n string) string { return env[n] }, Now: func() time.Time { return now }})
	tests := []struct {
		provider   string
		configured logs.Secret
		pinned     string
		want       found
	}{
		{"anthropic", "conf", "", found{"acc", "the auth profile anthropic:me", "anthropic:me", true, true}},
		{"anthropic", "", "anthropic:key", found{"stored-key", "the auth profile anthropic:key", "anthropic:key", false, true}},
		{"anthropic", "conf", "anthropic:old", found{}},
		{"anthropic", "conf", "openai:default", found{}},
		{"anthropic", "conf", "nobody", found{}},
		{"openai", "conf", "", found{"openai-key", "the auth profile openai:default", "openai:default", false, true}},
		{"google", "conf", "", found{"env-gemini", "the environment variable GEMINI_API_KEY", "", false, true}},
		{"chutes", "", "", found{"env-chutes", "the environment variable CHUTES_OAUTH_TOKEN", "", true, true}},
		{"mine", " conf ", "", found{"conf", "models.providers.mine.apiKey", "", false, true}},
		{"mine", "MY_SERVER_KEY", "", found{"env-mine", "models.providers.mine.apiKey", "", false, true}},
		{"mine", "MY_OTHER_KEY", "", found{"MY_OTHER_KEY", "models.providers.mine.apiKey", "", false, true}},
		{"mine", "", "", found{}},
	}
	for _, tt := range tests {
		if diff := cmp.Diff(tt.want, find(k, tt.provider, tt.configured, tt.pinned)); diff != "" {
			t.Errorf("Find(%s, pinned %q) differs (-want +got):\n%s", tt.provider, tt.pinned, diff)
		}
	}
}

// RT-094: order source, types, least recently used, cooled-down ones last.
func TestOrder(t *testing.T) {
	const profiles = `"profiles":{
	 "p:k1":{"type":"api_key","provider":"p","key":"1"},"p:k2":{"type":"api_key","provider":"p","key":"2"},
	 "p:t":{"type":"token","provider":"p","token":"3"},"p:o":{"type":"oauth","provider":"p","access":"4","expires":1767225700000},
	 "p:gone":{"type":"oauth","provider":"p","access":"5","expires":1},"q:k":{"type":"api_key","provider":"q","key":"6"}}`
	const usage = `"usageStats":{"p:k1":{"lastUsed":9},"p:k2":{"lastUsed":3},"p:t":{"cooldownUntil":1767225660000},"p:o":{"disabledUntil":1767225630000}}`
	tests := []struct {
		name     string
		file     string
		settings auth.Settings
		want     []string
	}{
		{"types, then least recently used", `{` + profiles + `,"usageStats":{"p:k1":{"lastUsed":9},"p:k2":{"lastUsed":3}}}`, auth.Settings{},
			[]string{"p:o", "p:t", "p:k2", "p:k1"}},
		{"cooled down last, soonest first", `{` + profiles + `,` + usage + `}`, auth.Settings{}, []string{"p:k2", "p:k1", "p:o", "p:t"}},
		{"stored order wins", `{` + profiles + `,"order":{"P":["p:k1","p:gone","nobody","q:k","p:o"]}}`,
			auth.Settings{Order: map[string][]string{"p": {"p:t"}}}, []string{"p:k1", "p:o"}},
		{"explicit order keeps, cooled down last", `{` + profiles + `,` + usage + `,"order":{"p":["p:t","p:k1","p:o","p:k2"]}}`,
			auth.Settings{}, []string{"p:k1", "p:k2", "p:o", "p:t"}},
		{"configured order", `{` + profiles + `}`, auth.Settings{Order: map[string][]string{"p": {"p:t", "p:k1"}}}, []string{"p:t", "p:k1"}},
		{"configured profiles", `{` + profiles + `}`, auth.Settings{Profiles: map[string]auth.Profile{
			"p:k1": {Provider: "p", Mode: "api_key"}, "p:k2": {Provider: "p", Mode: "oauth"}, "p:t": {Provider: "p", Mode: "oauth"}, "q:k": {Provider: "q"}}},
			[]string{"p:t", "p:k1"}},
	}
	for _, tt := range tests {
		k := auth.New(auth.Config{Path: write(t, tt.file), Env: func(string) string { return "" },
			Settings: func() auth.Settings { return tt.settings }, Now: func() time.Time { return now }})
		got, err := k.Order("p")
		if diff := cmp.Diff(tt.want, got); err != nil || diff != "" {
			t.Errorf("%s: Order differs, %v (-want +got):\n%s", tt.name, err, diff)
		}
	}
}

// An agent sees the profiles of main below its own.
func TestInheritance(t *testing.T) {
	main := write(t, `{"profiles":{"p:a":{"type":"api_key","provider":"p","key":"main-a"},"p:b":{"type":"api_key","provider":"p","key":"main-b"}}}`)
	own := write(t, `{"profiles":{"p:b":{"type":"api_key","provider":"p","key":"own-b"}},"order":{"p":["p:b","p:a"]}}`)
	k := auth.New(auth.Config{Path: own, MainPath: main, Env: func(string) string { return "" }})
	if got := find(k, "p", "", "").Key; got != "own-b" {
		t.Errorf("key = %q, want the agent's own", got)
	}
	if got := find(k, "p", "", "p:a").Key; got != "main-a" {
		t.Errorf("key of p:a = %q, want the main agent's", got)
	}
}

func TestFileChanges(t *testing.T) {
	path := filepath.Join(t.TempDir(), "auth-profiles.json")
	k := auth.New(auth.Config{Path: path, Env: func(string) string { return "" }})
	if got := find(k, "p", "", ""); got.OK {
		t.Errorf("Find without a file = %+v, want nothing", got)
	}
	for _, key := range []string{"first", "second one"} {
		if err := os.WriteFile(path, []byte(`{"profiles":{"p:a":{"type":"api_key","provider":"p","key":"`+key+`"}}}`), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := find(k, "p", "", "").Key; got != key {
			t.Errorf("key after a change = %q, want %q", got, key)
		}
	}
}

// What went wrong is told, and never with a secret.
func TestProblems(t *testing.T) {
	const secret = "sk-very-secret-value"
	env := func(string) string { return "" }
	tests := []struct{ name, file, pinned, want string }{
		{"expired", `{"profiles":{"p:a":{"type":"token","provider":"p","token":"` + secret + `","expires":1}}}`, "", "the auth profile p:a has expired"},
		{"pinned", `{}`, "p:x", "the chosen auth profile p:x is missing or has expired"},
		{"broken", `{"profiles":{"p:a":{"type":"api_key","provider":"p","key":"` + secret + `"`, "", "auth-profiles.json cannot be read"},
		{"wrong shape", `{"profiles":"` + secret + `"}`, "", "auth-profiles.json cannot be read"},
	}
	for _, tt := range tests {
		k := auth.New(auth.Config{Path: write(t, tt.file), Env: env})
		c, ok := k.Find("p", "", tt.pinned)
		if ok || !strings.Contains(c.Problem, tt.want) {
			t.Errorf("%s: Find = %+v, %v, want the problem %q", tt.name, c, ok, tt.want)
		}
		if strings.Contains(fmt.Sprintf("%+v %#v", c, c), secret) {
			t.Errorf("%s: the answer holds the secret", tt.name)
		}
	}
	dir := t.TempDir()
	if c, ok := auth.New(auth.Config{Path: dir, Env: env}).Find("p", "", ""); ok || c.Problem == "" {
		t.Errorf("Find with a folder as file = %+v, %v, want a problem", c, ok)
	}
	k := auth.New(auth.Config{Path: write(t, stored), Env: env, Now: func() time.Time { return now }})
	c, _ := k.Find("anthropic", "", "anthropic:key")
	if out := fmt.Sprintf("%v %+v %#v", c, c, c); strings.Contains(out, "stored-key") {
		t.Errorf("printing a credential shows the key: %s", out)
	}
}

func FuzzStore(f *testing.F) {
	f.Add([]byte(stored))
	f.Add([]byte(`{"profiles":{"a":null},"order":{"p":null},"usageStats":[]}`))
	f.Add([]byte(`[]`))
	path := filepath.Join(f.TempDir(), "auth-profiles.json")
	n := int64(0)
	f.Fuzz(func(t *testing.T, data []byte) {
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		n++ // the cache goes by time and size
		if err := os.Chtimes(path, now, now.Add(time.Duration(n)*time.Second)); err != nil {
			t.Fatal(err)
		}
		k := auth.New(auth.Config{Path: path, Env: func(string) string { return "" }})
		for _, p := range []string{"p", "anthropic", ""} {
			if c, ok := k.Find(p, "", ""); ok && c.Key == "" {
				t.Errorf("Find(%q) found an empty key in %q", p, data)
			}
		}
	})
}

func BenchmarkFind(b *testing.B) {
	path := filepath.Join(b.TempDir(), "auth-profiles.json")
	if err := os.WriteFile(path, []byte(stored), 0o600); err != nil {
		b.Fatal(err)
	}
	k := auth.New(auth.Config{Path: path, Env: func(string) string { return "" }})
	for b.Loop() {
		k.Find("openai", "", "")
	}
}
