package doctor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"openclaw/internal/config"
	"openclaw/internal/config/json5"
	"openclaw/internal/logs"
	"openclaw/internal/model"
	"openclaw/internal/model/catalog"
)

var now = time.UnixMilli(1_800_000_000_000)

// families stand for the wire families; nothing is ever called.
var families = map[model.API]model.Family{
	model.APIResponses: func(model.Target) (model.Model, error) { return nil, nil },
	model.APIOffline:   func(model.Target) (model.Model, error) { return nil, nil },
}

// noKeys finds no credential.
type noKeys struct{}

func (noKeys) Find(string, logs.Secret, string) (model.Credential, bool) {
	return model.Credential{}, false
}

// patient is an installation in a folder of its own.
type patient struct {
	Config
	t *testing.T
}

func newPatient(t *testing.T, configText string) *patient {
	t.Helper()
	home := t.TempDir()
	p := &patient{t: t, Config: Config{
		Env: func(string) string { return "" }, Version: "1", Program: "openclaw",
		Models: func(snap *config.Snapshot) *model.Directory {
			return model.NewDirectory(model.DirectoryConfig{
				Settings:    func() model.Settings { return model.Settings{Primary: snap.Config.Agents.Defaults.Model.Primary} },
				Credentials: noKeys{}, Catalog: catalog.New(), Families: families,
			})
		},
		Listeners: func(int) []string { return nil },
		Probe:     func(context.Context) error { return errors.New("connection refused") },
		NewToken:  func() string { return "new-token-0123456789abcdef" },
		Now:       func() time.Time { return now },
	}}
	p.Paths = config.ResolvePaths(p.Env, home)
	if configText != "" {
		p.write(p.Paths.ConfigPath, configText)
	}
	return p
}

func (p *patient) write(path, text string) {
	p.t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		p.t.Fatal(err)
	}
}

func (p *patient) read(path string) string {
	p.t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		p.t.Fatal(err)
	}
	return string(data)
}

// findings runs all checks, repairing when repair agrees, and renders what they
// found as lines.
func (p *patient) findings(repair func(Finding) bool) string {
	p.t.Helper()
	var b strings.Builder
	for _, check := range Checks(p.Config) {
		for _, f := range check(p.t.Context()) {
			fmt.Fprintf(&b, "%s %s: %s\n", f.Level, f.Check, strings.ReplaceAll(f.Text, p.Paths.Home, "~"))
			if f.Repair == nil || !repair(f) {
				continue
			}
			done, err := f.Repair.Do(p.t.Context())
			if err != nil {
				fmt.Fprintf(&b, "  not repaired: %v\n", err)
			}
			for _, line := range done {
				fmt.Fprintf(&b, "  %s\n", strings.ReplaceAll(line, p.Paths.Home, "~"))
			}
		}
	}
	return b.String()
}

func never(Finding) bool  { return false }
func always(Finding) bool { return true }

func expect(t *testing.T, report string, lines ...string) {
	t.Helper()
	for _, line := range lines {
		if !strings.Contains(report, line) {
			t.Errorf("the report lacks %q:\n%s", line, report)
		}
	}
}

// CLI-034: looking changes nothing, not even where there is nothing.
func TestAnEmptyHome(t *testing.T) {
	p := newPatient(t, "")
	report := p.findings(never)
	expect(t, report, "note config: there is no config file at ~/.openclaw/openclaw.json", "note state folder: ~/.openclaw does not exist yet",
		"note gateway: it is not running (port 18789 is free)", "note model: the built-in offline model answers")
	if entries, err := os.ReadDir(p.Paths.Home); err != nil || len(entries) != 0 {
		t.Errorf("the home folder holds %v (%v), want nothing", entries, err)
	}
}

func TestRepairsAreDoneOnce(t *testing.T) {
	p := newPatient(t, `{
  // mine
  gateway: { prot: 1, mode: "local" },
  "from.the": { future: 1 },
}`)
	p.GenerateToken = true
	if err := os.Chmod(p.Paths.StateDir, 0o755); err != nil {
		t.Fatal(err)
	}
	expect(t, p.findings(always), "note config keys: gateway.prot: unknown key", "  removed gateway.prot", "  removed from.the",
		"problem state folder: ~/.openclaw can be opened by others (mode 0755)", "has mode 0700 now",
		"problem gateway secret: the gateway has no token", "  stored a new token in gateway.auth.token")
	text := p.read(p.Paths.ConfigPath)
	if !strings.Contains(text, "// mine") || strings.Contains(text, "prot:") || strings.Contains(text, "future") {
		t.Errorf("config file after the repair:\n%s\nwant the comment and no unknown key", text)
	}
	if bak := p.read(p.Paths.ConfigPath + ".bak"); !strings.Contains(bak, "// mine") {
		t.Errorf("the copy holds %q, want the text before the last change", bak)
	}
	// RT-132: nothing is left to do.
	if report := p.findings(always); strings.Contains(report, "\n  ") {
		t.Errorf("the second round repairs something:\n%s", report)
	}
	if again := p.read(p.Paths.ConfigPath); again != text {
		t.Errorf("the second round changed the config file (-before +after):\n%s", cmp.Diff(text, again))
	}
}

func TestABrokenFileComesBackFromItsCopy(t *testing.T) {
	p := newPatient(t, `{ gateway: { mode: "lo`)
	expect(t, p.findings(never), "problem config: SyntaxError")
	p.write(p.Paths.ConfigPath+".bak", `{ still broken`)
	p.write(p.Paths.ConfigPath+".bak.1", `{ gateway: { mode: "local" } }`)
	expect(t, p.findings(always), "  restored ~/.openclaw/openclaw.json.bak.1", "ok gateway mode: this machine is the gateway")
	if kept := p.read(fmt.Sprintf("%s.broken-%d", p.Paths.ConfigPath, now.UnixMilli())); kept != `{ gateway: { mode: "lo` {
		t.Errorf("the broken file is kept as %q", kept)
	}
}

// A wrong value is the user's to correct: going back would lose other changes.
func TestAWrongValueIsOnlyReported(t *testing.T) {
	const text = `{ gateway: { port: "many" } }`
	p := newPatient(t, text)
	p.write(p.Paths.ConfigPath+".bak", `{ gateway: { mode: "local" } }`)
	expect(t, p.findings(always), "problem config: gateway.port: ")
	if got := p.read(p.Paths.ConfigPath); got != text {
		t.Errorf("the file became %q", got)
	}
}

func TestGateway(t *testing.T) {
	const local = `{ gateway: { mode: "local", auth: { token: "a-token-0123456789abcdef" } } }`
	p := newPatient(t, local)
	p.Listeners = func(port int) []string { return []string{fmt.Sprintf("nginx (pid 7) *:%d", port)} }
	expect(t, p.findings(never), "problem gateway: port 18789 is taken by nginx (pid 7) *:18789")
	p.Probe = func(context.Context) error { return nil }
	expect(t, p.findings(never), "ok gateway: it runs and answers on port 18789", "ok gateway secret: clients need a token")

	p = newPatient(t, local)
	p.Env = func(name string) string {
		return map[string]string{"OPENCLAW_GATEWAY_TOKEN": "another-0123456789"}[name]
	}
	expect(t, p.findings(never), "note gateway secret: the token of the environment differs from gateway.auth.token and wins")

	p = newPatient(t, `{ gateway: { mode: "local", auth: { token: "short" } } }`)
	expect(t, p.findings(never), "problem gateway secret: the gateway's token has only 5 characters")
	p = newPatient(t, `{ gateway: { mode: "local", auth: { mode: "password" } } }`)
	expect(t, p.findings(never), "problem gateway secret: gateway.auth.mode is password, but no password is set")
	p = newPatient(t, `{ gateway: { mode: "remote" } }`)
	expect(t, p.findings(never), "problem gateway mode: gateway.mode is remote, but gateway.remote.url is not set")
}

func TestSessions(t *testing.T) {
	p := newPatient(t, `{}`)
	index := p.Paths.State("agents", "main", "sessions", "sessions.json")
	old := now.Add(-48 * time.Hour).UnixMilli()
	p.write(index, fmt.Sprintf(`{"agent:main:main":{"sessionId":"a","updatedAt":%d},"agent:main:x":{"sessionId":"b","updatedAt":%d},"agent:main:old":{"sessionId":"c","updatedAt":%d}}`,
		now.UnixMilli(), now.UnixMilli(), old))
	p.write(p.Paths.State("agents", "main", "sessions", "a.jsonl"), "{\"type\":\"session\"}\n")
	expect(t, p.findings(never), "ok sessions: 3 in 1 store(s)", "note transcripts: the transcript of agent:main:main holds one line only",
		"note transcripts: 1 recent session(s) of agent main have no transcript: [agent:main:x]")
	p.write(index, "garbage {{{")
	expect(t, p.findings(always), "problem sessions: the index of agent main is damaged", "  kept the damaged index as")
	if got := p.read(fmt.Sprintf("%s.damaged-%d", index, now.UnixMilli())); got != "garbage {{{" {
		t.Errorf("the damaged index is kept as %q", got)
	}
	expect(t, p.findings(always), "ok sessions: 0 in 1 store(s)")
}

func TestModelWithoutKey(t *testing.T) {
	p := newPatient(t, `{ agents: { defaults: { model: { primary: "openai/gpt-5.2" } } } }`)
	expect(t, p.findings(never), "problem model: openai/gpt-5.2: No API key for provider openai")
}

func TestReadProfiles(t *testing.T) {
	ms := func(d time.Duration) int64 { return now.Add(d).UnixMilli() }
	p := newPatient(t, "")
	path := filepath.Join(p.Paths.Home, "auth-profiles.json")
	p.write(path, fmt.Sprintf(`{"profiles":{
		"openai:key":{"type":"api_key","provider":"openai","key":"sk-secret"},
		"z:old":{"type":"token","provider":"Z.AI","token":"t","expires":%d},
		"anthropic:me":{"type":"oauth","provider":"anthropic","access":"a","expires":%d},
		"anthropic:other":{"type":"oauth","provider":"anthropic","access":"a","expires":%d}},
		"usageStats":{"openai:key":{"cooldownUntil":%d},"z:old":{"disabledUntil":%d,"disabledReason":"billing"}}}`,
		ms(-time.Hour), ms(time.Hour), ms(72*time.Hour), ms(time.Minute), ms(time.Hour)))
	got := ReadProfiles(path, now)
	left := func(d time.Duration) (*int64, *int64) { at, ms := ms(d), d.Milliseconds(); return &at, &ms }
	want := Profiles{
		Profiles: []ProfileHealth{
			{ProfileID: "anthropic:me", Provider: "anthropic", Type: "oauth", Status: Expiring},
			{ProfileID: "anthropic:other", Provider: "anthropic", Type: "oauth", Status: Valid},
			{ProfileID: "openai:key", Provider: "openai", Type: "api_key", Status: Static},
			{ProfileID: "z:old", Provider: "zai", Type: "token", Status: Expired},
		},
		Providers: []ProviderHealth{{"anthropic", Valid}, {"openai", Static}, {"zai", Expired}},
		Unusable: []UnusableProfile{
			{ProfileID: "openai:key", Provider: "openai", Kind: "cooldown", Until: ms(time.Minute), RemainingMs: 60_000},
			{ProfileID: "z:old", Provider: "zai", Kind: "disabled", Until: ms(time.Hour), RemainingMs: 3_600_000, Reason: "billing"},
		},
		WithOAuth: []string{"anthropic"},
	}
	for i, d := range []time.Duration{time.Hour, 72 * time.Hour, 0, -time.Hour} {
		if d != 0 {
			want.Profiles[i].ExpiresAt, want.Profiles[i].RemainingMs = left(d)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("ReadProfiles differs (-want +got):\n%s", diff)
	}
	if n := got.Count("anthropic"); n != 2 {
		t.Errorf("Count(anthropic) = %d, want 2", n)
	}
	p.write(path, `{"profiles": sk-secret`)
	if err := ReadProfiles(path, now).Err; err == nil || strings.Contains(err.Error(), "sk-secret") {
		t.Errorf("ReadProfiles of a damaged file says %v, want an error without the content", err)
	}
}

// RT-132: what a file of an earlier release becomes.
func TestMigrate(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"moved sections", `{ routing: { allowFrom: ["a"], queue: { mode: "collect" } }, telegram: { enabled: true } }`,
			`{ channels: { whatsapp: { allowFrom: ["a"] }, telegram: { enabled: true } }, messages: { queue: { mode: "collect" } } }`},
		{"what is set already wins", `{ tools: { bash: { timeoutSec: 5, host: "gateway" }, exec: { timeoutSec: 9 } }, gateway: { token: "old", auth: { token: "new" } } }`,
			`{ tools: { exec: { timeoutSec: 9, host: "gateway" } }, gateway: { auth: { token: "new" } } }`},
		{"agents", `{ routing: { agents: { work: { name: "W" }, home: {} }, defaultAgentId: "work" }, identity: { name: "C" } }`,
			`{ agents: { list: [{ id: "home" }, { id: "work", name: "W", default: true, identity: { name: "C" } }] } }`},
		{"identity alone", `{ identity: { name: "C" } }`, `{ agents: { list: [{ id: "main", default: true, identity: { name: "C" } }] } }`},
		{"bindings", `{ bindings: [{ agentId: "main", match: { channel: "telegram", accountID: "x" } }] }`,
			`{ bindings: [{ agentId: "main", match: { channel: "telegram", accountId: "x" } }] }`},
		{"tools of an agent", `{ agents: { list: [{ id: "main", tools: { bash: { host: "gateway" } } }] } }`,
			`{ agents: { list: [{ id: "main", tools: { exec: { host: "gateway" } } }] } }`},
		{"agent block", `{ agent: { model: "openai/gpt-5.2", workspace: "~/w", allowedModels: ["a/b"], modelAliases: { fast: "a/b" } } }`,
			`{ agents: { defaults: { model: { primary: "openai/gpt-5.2" }, workspace: "~/w", models: { "a/b": { alias: "fast" } } } } }`},
	}
	for _, tt := range tests {
		p := newPatient(t, tt.in)
		p.findings(always)
		got, err := json5.Decode(p.read(p.Paths.ConfigPath))
		if err != nil {
			t.Fatal(err)
		}
		tree := got.(map[string]any)
		delete(tree, "meta")
		delete(tree, "wizard")
		want, err := json5.Decode(tt.want)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, any(tree)); diff != "" {
			t.Errorf("%s: migrated file differs (-want +got):\n%s", tt.name, diff)
		}
		if snap := config.Load(p.Paths, p.Env); !snap.Valid {
			t.Errorf("%s: the migrated file is invalid: %v", tt.name, snap.Err())
		}
	}
}

func TestFindPath(t *testing.T) {
	tree, err := json5.Decode(`{ a: { "b.c": { d: 1 }, b: 2 }, list: [{ x: 1 }] }`)
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		dotted string
		want   []string
	}{
		{"a.b.c.d", []string{"a", "b.c", "d"}},
		{"a.b", []string{"a", "b"}},
		{"list.0.x", []string{"list", "0", "x"}},
		{"a.x", nil},
	}
	for _, tt := range tests {
		got, ok := findPath(tree, tt.dotted)
		if diff := cmp.Diff(tt.want, got); diff != "" || ok != (tt.want != nil) {
			t.Errorf("findPath(%q) = %v, %v, want %v", tt.dotted, got, ok, tt.want)
		}
	}
}
