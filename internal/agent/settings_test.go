package agent

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"openclaw/internal/config"
)

func TestSettingsOf(t *testing.T) {
	home := t.TempDir()
	env := config.Env(func(name string) string {
		if name == "OPENCLAW_STATE_DIR" {
			return home
		}
		return ""
	})
	read := func(text string) *config.Config {
		t.Helper()
		if err := os.WriteFile(filepath.Join(home, "openclaw.json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		snap := config.Load(config.ResolvePaths(env, home), env)
		if !snap.Valid {
			t.Fatalf("configuration is invalid: %v", snap.Issues)
		}
		return snap.Config
	}
	paths := config.ResolvePaths(env, home)

	got := SettingsOf(read(`{}`), paths, "main")
	want := Settings{Workspace: filepath.Join(home, ".openclaw", "workspace"), BootstrapMaxChars: 20000, Timeout: 600 * time.Second,
		Verbose: "off", Aliases: map[string]string{}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("defaults (-want +got):\n%s", diff)
	}

	got = SettingsOf(read(`{
		agents: {
			defaults: { thinkingDefault: "medium", verboseDefault: "full", timeoutSeconds: 5, userTimezone: "UTC", repoRoot: "/r", skipBootstrap: true,
				heartbeat: { prompt: "beat" }, models: { "openai/gpt-5.2": { alias: "Best" } } },
			list: [{ id: "main" }, { id: "work", workspace: "/w", model: { primary: "a/b", fallbacks: [] }, heartbeat: { prompt: "mine" } }],
		},
		commands: { ownerAllowFrom: ["7"] }, messages: { queue: { mode: "steer" } },
		tools: { elevated: { allowFrom: { webchat: ["*"] } } },
	}`), paths, "work")
	want = Settings{Workspace: "/w", SkipBootstrap: true, BootstrapMaxChars: 20000, RepoRoot: "/r", Zone: time.UTC, Timeout: 5 * time.Second,
		Thinking: "medium", Verbose: "full", Elevated: "on", Model: "a/b", Fallbacks: []string{}, Aliases: map[string]string{"best": "openai/gpt-5.2"},
		Owners: []string{"7"}, HeartbeatPrompt: "mine", QueueMode: "steer"}
	if diff := cmp.Diff(want, got, cmp.Comparer(func(a, b *time.Location) bool { return a.String() == b.String() })); diff != "" {
		t.Errorf("settings of work (-want +got):\n%s", diff)
	}
}
