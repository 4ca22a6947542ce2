package run_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"openclaw/internal/run"
)

func TestTerminal(t *testing.T) {
	tests := []struct {
		event run.Event
		want  bool
	}{
		{run.Event{Lifecycle: &run.Lifecycle{Phase: run.PhaseStart}}, false},
		{run.Event{Lifecycle: &run.Lifecycle{Phase: run.PhaseEnd}}, true},
		{run.Event{Lifecycle: &run.Lifecycle{Phase: run.PhaseError}}, true},
		{run.Event{Tool: &run.Tool{Phase: run.PhaseEnd}}, false},
		{run.Event{}, false},
	}
	for _, tt := range tests {
		if got := tt.event.Terminal(); got != tt.want {
			t.Errorf("Terminal(%+v) = %v, want %v", tt.event, got, tt.want)
		}
	}
}

// The shapes that clients read: mediaUrl is always there, the rest when set.
func TestOutcomeJSON(t *testing.T) {
	out := run.Outcome{
		Payloads: []run.Payload{{Text: "hi"}, {Text: "bad", IsError: true}},
		Meta: run.Meta{DurationMs: 5, AgentMeta: run.AgentMeta{SessionID: "s", Provider: "p", Model: "m",
			Usage: &run.Usage{Input: 1, Output: 2, Total: 3}}},
		Unseen: []run.Steer{{Prompt: "secret"}},
	}
	got, err := json.Marshal(out)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"payloads":[{"text":"hi","mediaUrl":null},{"text":"bad","mediaUrl":null,"isError":true}],` +
		`"meta":{"durationMs":5,"agentMeta":{"sessionId":"s","provider":"p","model":"m",` +
		`"usage":{"input":1,"output":2,"cacheRead":0,"cacheWrite":0,"total":3}},"aborted":false}}`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("outcome JSON (-want +got):\n%s", diff)
	}
}

func TestCard(t *testing.T) {
	now := time.Date(2026, 1, 1, 8, 5, 0, 0, time.UTC)
	tests := []struct {
		name string
		card run.Card
		want string
	}{
		{"empty", run.Card{}, ""},
		{"full", run.Card{
			Version: "1.2.3", Now: now, Model: "a/b", DefaultModel: "c/d", Auth: "environment",
			Input: 12345, Output: 999, Cost: 0.125, Context: 50_000, Window: 200_000, Compactions: 1,
			SessionKey: "agent:main:main", Updated: now.Add(-3 * time.Hour), Running: true,
			Runtime: "direct", Think: "low", Verbose: "on", Reasoning: "off", Elevated: "ask",
			Activation: "mention", QueueMode: "collect", QueueDepth: 2,
		}, `🦞 OpenClaw 1.2.3
🕒 Time: Thu 2026-01-01 08:05 UTC
🧠 Model: a/b · key: environment · default: c/d
🧮 Tokens: 12k in / 999 out · est $0.1250
📚 Context: 50k/200k (25%) · Compactions: 1
🧵 Session: agent:main:main · updated 3h ago · running
⚙️ Runtime: direct · Think: low · Verbose: on · Reasoning: off · Elevated: ask
👥 Activation: mention
🪢 Queue: collect (depth 2)`},
		{"offline and fresh", run.Card{Now: now, Model: "offline/stand-in", Offline: true, Auth: "none",
			SessionKey: "k", Updated: now, Verbose: "off", Window: 1000, Think: "off"},
			`🕒 Time: Thu 2026-01-01 08:05 UTC
🧠 Model: offline/stand-in · offline: no model key is configured
📚 Context: 0/1k (0%) · Compactions: 0
🧵 Session: k · updated just now
⚙️ Think: off`},
		{"numbers", run.Card{Input: 1500, Output: 1_500_000, SessionKey: "k", Now: now, Updated: now.Add(-72 * time.Hour)},
			"🕒 Time: Thu 2026-01-01 08:05 UTC\n🧮 Tokens: 1.5k in / 1.5m out\n🧵 Session: k · updated 3d ago"},
	}
	for _, tt := range tests {
		if diff := cmp.Diff(tt.want, tt.card.String()); diff != "" {
			t.Errorf("%s: card (-want +got):\n%s", tt.name, diff)
		}
	}
}

// RT-044: synonyms of levels.
func TestLevels(t *testing.T) {
	tests := []struct {
		name string
		read func(string) (string, bool)
		in   string
		want string // empty: refused
	}{
		{"think", run.ThinkLevel, " HIGH ", "high"},
		{"think", run.ThinkLevel, "on", "low"},
		{"think", run.ThinkLevel, "ultrathink", "high"},
		{"think", run.ThinkLevel, "harder", "medium"},
		{"think", run.ThinkLevel, "x-high", "xhigh"},
		{"think", run.ThinkLevel, "think", "minimal"},
		{"think", run.ThinkLevel, "enormous", ""},
		{"think", run.ThinkLevel, "", ""},
		{"verbose", run.VerboseLevel, "yes", "on"},
		{"verbose", run.VerboseLevel, "everything", "full"},
		{"verbose", run.VerboseLevel, "stream", ""},
		{"reasoning", run.ReasoningLevel, "live", "stream"},
		{"reasoning", run.ReasoningLevel, "hide", "off"},
		{"elevated", run.ElevatedLevel, "approval", "ask"},
		{"elevated", run.ElevatedLevel, "auto", "full"},
	}
	for _, tt := range tests {
		got, ok := tt.read(tt.in)
		if got != tt.want || ok != (tt.want != "") {
			t.Errorf("%s level of %q = %q, %v, want %q", tt.name, tt.in, got, ok, tt.want)
		}
	}
}
