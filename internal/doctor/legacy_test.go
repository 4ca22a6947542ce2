package doctor

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"openclaw/internal/config"
	"openclaw/internal/config/json5"
	"openclaw/internal/session"
)

// files lists what lies below a folder, slash-separated.
func files(t *testing.T, dir string) []string {
	t.Helper()
	var list []string
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			rel, _ := filepath.Rel(dir, path)
			list = append(list, filepath.ToSlash(rel))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// RT-132: folders of earlier releases move to the default agent, the newer entry of a
// key wins, nothing is lost, and a second time changes nothing.
func TestStateMovesRT132(t *testing.T) {
	p := newPatient(t, `{ gateway: { mode: "local" }, agents: { list: [{ id: "office", default: true }] } }`)
	state := p.Paths.State
	old := filepath.Join(p.Paths.StateDir, "sessions")
	p.write(state("sessions", "sessions.json"), `{
		"main": {"sessionId": "a", "updatedAt": 2000, "label": "first", "sessionFile": "`+old+`/a.jsonl", "future": 1},
		"group:5": {"sessionId": "b", "updatedAt": 1000},
		"agent:office:both": {"sessionId": "c-old", "updatedAt": 1}
	}`)
	p.write(state("sessions", "a.jsonl"), "{\"type\":\"session\",\"id\":\"a\"}\n")
	p.write(state("sessions", "b.jsonl"), "{\"type\":\"session\",\"id\":\"b\"}\n")
	p.write(state("sessions", "notes.txt"), "mine")
	p.write(state("agents", "office", "sessions", "sessions.json"), `{"agent:office:both": {"sessionId": "c", "updatedAt": 5000, "label": "first"}}`)
	p.write(state("agents", "office", "sessions", "b.jsonl"), "{\"type\":\"session\",\"id\":\"other b\"}\n")
	p.write(state("agent", "auth-profiles.json"), `{"version":1,"profiles":{}}`)
	p.write(state("agent", "models.json"), `{"old":true}`)
	p.write(state("agents", "office", "agent", "models.json"), `{"new":true}`)

	expect(t, p.findings(never), "problem old state: ~/.openclaw/sessions and ~/.openclaw/agent are from an earlier release")
	before := files(t, p.Paths.StateDir)
	p.findings(never)
	if diff := cmp.Diff(before, files(t, p.Paths.StateDir)); diff != "" {
		t.Fatalf("looking changed something:\n%s", diff)
	}
	expect(t, p.findings(func(f Finding) bool { return f.Check == "old state" }),
		"moved 1 transcript(s) and 2 session(s) to ~/.openclaw/agents/office/sessions", "moved 1 file(s) of the agent to ~/.openclaw/agents/office/agent",
		"what is left is kept as ~/.openclaw/sessions.legacy-1800000000000", "what is left is kept as ~/.openclaw/agent.legacy-1800000000000")
	want := []string{
		"agent.legacy-1800000000000/models.json",
		"agents/office/agent/auth-profiles.json", "agents/office/agent/models.json",
		"agents/office/sessions/a.jsonl", "agents/office/sessions/b.jsonl", "agents/office/sessions/sessions.json",
		"openclaw.json",
		"sessions.legacy-1800000000000/b.jsonl", "sessions.legacy-1800000000000/notes.txt", "sessions.legacy-1800000000000/sessions.json",
	}
	if diff := cmp.Diff(want, files(t, p.Paths.StateDir)); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	st, err := session.Open(session.Config{Dir: state("agents", "office", "sessions"), AgentID: "office"})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	ids := map[string]string{}
	for _, it := range st.List() {
		ids[it.Key] = it.Entry.SessionID
	}
	if diff := cmp.Diff(map[string]string{"agent:office:main": "a", "agent:office:group:5": "b", "agent:office:both": "c"}, ids); diff != "" {
		t.Errorf("sessions (-want +got):\n%s", diff)
	}
	e, _ := st.Get("agent:office:main")
	if e.UpdatedAt != 2000 || string(e.Extra["future"]) != "1" || e.SessionFile != state("agents", "office", "sessions", "a.jsonl") || e.Label != "" {
		t.Errorf("the moved entry = %+v, want all of it but the taken label", e)
	}
	if data := p.read(state("agents", "office", "agent", "models.json")); data != `{"new":true}` {
		t.Errorf("models.json = %s, want the one that was there", data)
	}
	if report := p.findings(always); strings.Contains(report, "old state") {
		t.Errorf("a second look finds more:\n%s", report)
	}
	if again, err := (Moves{p.Paths, p.Env, config.Load(p.Paths, p.Env).Config, p.Now}).Run(t.Context()); err != nil || len(again) > 0 {
		t.Errorf("a second Run = %q, %v, want nothing to do", again, err)
	}
}

// What the configuration names is no leftover.
func TestStateMovesLeaveWhatIsInUse(t *testing.T) {
	p := newPatient(t, `{ session: { store: "~/.openclaw/sessions/{agentId}.json" }, agents: { list: [{ id: "main", agentDir: "~/.openclaw/agent" }] } }`)
	p.write(p.Paths.State("sessions", "main.json"), `{}`)
	p.write(p.Paths.State("agent", "auth-profiles.json"), `{}`)
	if dirs := (Moves{p.Paths, p.Env, config.Load(p.Paths, p.Env).Config, p.Now}).LegacyState(); len(dirs) > 0 {
		t.Errorf("LegacyState = %v, want none", dirs)
	}
}

// RT-132: keys of earlier releases, with a copy of the index before.
func TestSessionKeysRT132(t *testing.T) {
	const index = `{"main": {"sessionId": "a", "updatedAt": 2000}, "agent:main:main": {"sessionId": "b", "updatedAt": 1000}, "subagent:x": {"sessionId": "c", "updatedAt": 3}}`
	p := newPatient(t, `{ gateway: { mode: "local" } }`)
	path := p.Paths.State("agents", "main", "sessions", "sessions.json")
	p.write(path, index)
	expect(t, p.findings(always), "problem session keys: 2 session(s) of agent main have keys of an earlier release: main, subagent:x",
		"  moved main to agent:main:main", "  moved subagent:x to agent:main:subagent:x", "the index before is kept as ~/.openclaw/agents/main/sessions/sessions.json.legacy-1800000000000")
	if data := p.read(path + ".legacy-1800000000000"); data != index {
		t.Errorf("the copy holds %s", data)
	}
	if report := p.findings(always); strings.Contains(report, "session keys") {
		t.Errorf("a second look finds more:\n%s", report)
	}
}

func TestWhatsAppCredentials(t *testing.T) {
	p := newPatient(t, `{ gateway: { mode: "local" } }`)
	for _, name := range []string{"creds.json", "creds.json.bak", "pre-key-1.json", "session-1.0.json", "oauth.json", "telegram-pairing.json"} {
		p.write(p.Paths.State("credentials", name), name)
	}
	expect(t, p.findings(always), "problem WhatsApp credentials: they lie in ~/.openclaw/credentials", "moved 4 file(s) to ~/.openclaw/credentials/whatsapp/default")
	want := []string{"oauth.json", "telegram-pairing.json", "whatsapp/default/creds.json", "whatsapp/default/creds.json.bak", "whatsapp/default/pre-key-1.json", "whatsapp/default/session-1.0.json"}
	if diff := cmp.Diff(want, files(t, p.Paths.State("credentials"))); diff != "" {
		t.Errorf("credentials (-want +got):\n%s", diff)
	}
	if report := p.findings(always); strings.Contains(report, "WhatsApp") {
		t.Errorf("a second look finds more:\n%s", report)
	}
}

// P11, RT-132, RT-002a: thirty config files of earlier releases. Each boots after the
// safe repairs, which keep a copy, list what they did, and find nothing to do the
// second time.
func TestHistoricConfigsP11(t *testing.T) {
	paths, err := filepath.Glob("testdata/historic/*.json5")
	if err != nil || len(paths) < 30 {
		t.Fatalf("found %d config files, %v, want at least 30", len(paths), err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".json5"), func(t *testing.T) {
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			text := string(data)
			p := newPatient(t, text)
			p.Env = func(name string) string {
				return map[string]string{"GATEWAY_TOKEN": "env-gateway-token-0123456789", "ANTHROPIC_API_KEY": "k"}[name]
			}
			before := config.Load(p.Paths, p.Env)
			safe := func(f Finding) bool { return f.Repair.Safe && strings.HasPrefix(f.Check, "config") }
			report := p.findings(safe)
			if strings.Contains(report, "not repaired") {
				t.Errorf("a repair failed:\n%s", report)
			}
			after := config.Load(p.Paths, p.Env)
			if err := after.Err(); err != nil {
				t.Fatalf("the gateway does not boot: %v\n%s", err, report)
			}
			now := p.read(p.Paths.ConfigPath)
			if before.Valid && len(before.Warnings) == 0 && now != text {
				t.Errorf("a file that needs nothing was changed:\n%s", now)
			}
			if now != text {
				if bak := p.read(p.Paths.ConfigPath + ".bak"); bak == now {
					t.Error("the copy is not the file before")
				}
				if !strings.Contains(report, "  moved ") && !strings.Contains(report, "  renamed ") && !strings.Contains(report, "  merged ") {
					t.Errorf("the report does not say what was changed:\n%s", report)
				}
			}
			// Whatever a person wrote is still somewhere: under a known key, or named as
			// removed.
			for _, leaf := range leaves(t, text) {
				if !strings.Contains(now, leaf) && !strings.Contains(report, "removed ") {
					t.Errorf("%s is lost:\n%s\n%s", leaf, now, report)
				}
			}
			p.findings(safe)
			if again := p.read(p.Paths.ConfigPath); again != now {
				t.Errorf("the second repair changed the file:\n%s", cmp.Diff(now, again))
			}
		})
	}
}

// leaves lists the texts in a config file.
func leaves(t *testing.T, text string) []string {
	t.Helper()
	v, err := json5.Decode(text)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			for _, e := range v {
				walk(e)
			}
		case []any:
			for _, e := range v {
				walk(e)
			}
		case string:
			seen[v] = true
		}
	}
	walk(v)
	return slices.Sorted(maps.Keys(seen))
}
