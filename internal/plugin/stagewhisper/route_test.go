package stagewhisper

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"openclaw/internal/assistant"
	"openclaw/internal/config"
)

const pairing = "1f76a5b5-3a38-4ec2-854a-693945810418"

// open returns a config file with that text.
func open(t *testing.T, text string) *config.File {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, "openclaw.json")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	env := config.Env(func(name string) string {
		if name == "OPENCLAW_STATE_DIR" {
			return dir
		}
		return ""
	})
	file := config.Open(config.Options{Paths: config.ResolvePaths(env, dir), Env: env})
	if snap := file.Snapshot(); !snap.Valid {
		t.Fatalf("the configuration is invalid: %v", snap.Issues)
	}
	return file
}

func TestAgentOf(t *testing.T) {
	tests := []struct {
		name, config, pairing string
		want                  string // empty: nobody answers
	}{
		{"an own agent", `{agents:{list:[{id:"main"},{id:"stagewhisper-1f76a5b5-3a38-4ec2-854a-693945810418"}]}}`, pairing, "stagewhisper-1f76a5b5-3a38-4ec2-854a-693945810418"},
		{"no agent", `{}`, pairing, ""},
		{"a binding", `{agents:{list:[{id:"main"},{id:"work"}]},bindings:[{agentId:"work",match:{channel:"stagewhisper",accountId:"` + pairing + `"}}]}`, pairing, "work"},
		{"a binding for all", `{bindings:[{agentId:"main",match:{channel:"stagewhisper"}}]}`, pairing, "main"},
		{"the nearer binding", `{agents:{list:[{id:"main"},{id:"work"}]},bindings:[{agentId:"main",match:{channel:"stagewhisper",accountId:"*"}},{agentId:"work",match:{channel:"stagewhisper",accountId:"` + pairing + `"}}]}`, pairing, "work"},
		{"another channel's binding", `{bindings:[{agentId:"main",match:{channel:"telegram"}}]}`, pairing, ""},
		{"a binding to nobody", `{bindings:[{agentId:"gone",match:{channel:"stagewhisper"}}]}`, pairing, ""},
		{"a listener of the configuration", `{agents:{list:[{id:"work"}]}}`, assistant.DirectName, "work"},
		{"a listener with an agent", `{agents:{list:[{id:"work"},{id:"stagewhisper-direct"}]}}`, assistant.DirectName, "stagewhisper-direct"},
	}
	for _, tt := range tests {
		got, err := AgentOf(open(t, tt.config).Snapshot().Config, tt.pairing)
		if got != tt.want || (err == nil) != (tt.want != "") {
			t.Errorf("%s: AgentOf() = %q, %v, want %q", tt.name, got, err, tt.want)
		}
	}
}

// What pairing adds to the configuration, and that unpairing takes it away again.
func TestBind(t *testing.T) {
	const own = "stagewhisper-1f76a5b5-3a38-4ec2-854a-693945810418"
	tests := []struct {
		name, config, agent string
		agents              []string
		fallback            string // the default agent, before and after
		answers             string
		left                []string // agents after the end of the pairing
	}{
		{"nothing is listed", `{}`, "", []string{"main", own}, "main", own, []string{"main"}},
		{"an agent is listed", `{agents:{list:[{id:"work"}]}}`, "", []string{"work", own}, "work", own, []string{"work"}},
		{"one that is there", `{agents:{list:[{id:"work"}]}}`, "Work", []string{"work"}, "work", "work", []string{"work"}},
		{"again", `{agents:{list:[{id:"main"},{id:"` + own + `"}]},bindings:[{agentId:"main",match:{channel:"stagewhisper",accountId:"` + pairing + `"}}]}`, "",
			[]string{"main", own}, "main", own, []string{"main"}},
		{"an agent that others need", `{agents:{list:[{id:"main"},{id:"` + own + `"}]},bindings:[{agentId:"` + own + `",match:{channel:"telegram"}}]}`, "",
			[]string{"main", own}, "main", own, []string{"main", own}},
	}
	for _, tt := range tests {
		file := open(t, tt.config)
		before := file.Snapshot().Config
		ops, err := Bind(before, pairing, tt.agent, "Studio")
		if err != nil {
			t.Fatalf("%s: Bind: %v", tt.name, err)
		}
		if _, err := file.Edit(t.Context(), ops...); err != nil {
			t.Fatalf("%s: edit: %v", tt.name, err)
		}
		c := file.Snapshot().Config
		if diff := cmp.Diff(tt.agents, c.AgentIDs()); diff != "" {
			t.Errorf("%s: agents (-want +got):\n%s", tt.name, diff)
		}
		if got, err := AgentOf(c, pairing); got != tt.answers || err != nil {
			t.Errorf("%s: answered by %q, %v, want %q", tt.name, got, err, tt.answers)
		}
		if before.DefaultAgentID() != tt.fallback || c.DefaultAgentID() != tt.fallback {
			t.Errorf("%s: default agent %q, then %q, want %q", tt.name, before.DefaultAgentID(), c.DefaultAgentID(), tt.fallback)
		}
		if _, err := file.Edit(t.Context(), Unbind(c, pairing)...); err != nil {
			t.Fatalf("%s: edit: %v", tt.name, err)
		}
		c = file.Snapshot().Config
		if diff := cmp.Diff(tt.left, c.AgentIDs()); diff != "" {
			t.Errorf("%s: agents that are left (-want +got):\n%s", tt.name, diff)
		}
		for _, b := range c.Bindings {
			if b.Match.AccountID == pairing {
				t.Errorf("%s: the binding is left: %+v", tt.name, b)
			}
		}
	}
	if _, err := Bind(open(t, `{}`).Snapshot().Config, pairing, "nobody", ""); err == nil {
		t.Error("a pairing is bound to an agent that does not exist")
	}
}

// SW-53: an agent that answers for two pairings keeps their sessions apart.
func TestSessionKeys(t *testing.T) {
	const other = "2f76a5b5-3a38-4ec2-854a-693945810418"
	a, b := sessionKey("work", pairing, "s-1", assistant.Chat), sessionKey("work", other, "s-1", assistant.Chat)
	if a == b {
		t.Errorf("two pairings share the session %s", a)
	}
	if got, want := sessionKey(OwnAgent(pairing), pairing, "s-1", assistant.Chat), "agent:stagewhisper-1f76a5b5-3a38-4ec2-854a-693945810418:stagewhisper:direct:sw:s-1:chat"; got != want {
		t.Errorf("session of an own agent = %s, want %s", got, want)
	}
	for key, want := range map[string]bool{
		sessionKey("work", pairing, "s-1", assistant.Reasoning): true,
		sessionKey("work", pairing, "s-1", assistant.Chat):      false,
		// A desktop chooses the middle of the key, never its ends.
		sessionKey("work", pairing, "x:reasoning", assistant.Chat): false,
		"agent:main:telegram:direct:1:reasoning":                   false,
		"main":                                                     false,
	} {
		if Overheard(key) != want {
			t.Errorf("Overheard(%s) = %v, want %v", key, !want, want)
		}
	}
}

// SW-53: ids that differ in their last letter only have agents and runs of their own.
func TestLookAlikes(t *testing.T) {
	alike := pairing[:len(pairing)-1] + "9"
	if OwnAgent(pairing) == OwnAgent(alike) {
		t.Errorf("two pairings share the agent %s", OwnAgent(alike))
	}
	a, b := &agent{name: pairing}, &agent{name: alike}
	if a.runID("t", 0) == b.runID("t", 0) {
		t.Errorf("two pairings share the run %s", a.runID("t", 0))
	}
}
