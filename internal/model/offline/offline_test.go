package offline_test

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"openclaw/internal/model"
	"openclaw/internal/model/modeltest"
	"openclaw/internal/model/offline"
	"openclaw/internal/turn"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(t *testing.T, target model.Target) model.Model {
	t.Helper()
	m, err := offline.New(target)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestContract(t *testing.T) {
	modeltest.Run(t, modeltest.Setup{API: model.APIOffline, Open: open})
}

func target() model.Target {
	return model.Target{Info: model.Info{Ref: model.OfflineRef(), API: model.APIOffline}}
}

func ask(text string, more ...turn.Message) model.Request {
	return model.Request{Messages: append([]turn.Message{turn.User(text, time.UnixMilli(1))}, more...)}
}

func answer(t *testing.T, req model.Request) string {
	t.Helper()
	r := modeltest.Collect(t, t.Context(), open(t, target()), req)
	if r.Err != nil {
		t.Fatal(r.Err)
	}
	return r.Text
}

// A message of a person gets the truth and a way out, whatever word it starts with.
func TestPlainTextIsAnsweredHonestly(t *testing.T) {
	for _, msg := range []string{"hello", "error in my program, please help", "tool support is nice", "long time no see", "sleep well", "report the weather", "echo hello", "say x ;; and then what", ""} {
		got := answer(t, ask(msg))
		for _, want := range []string{"No language model is connected", "ANTHROPIC_API_KEY", "models.providers", "tool NAME {json}"} {
			if !strings.Contains(got, want) {
				t.Errorf("answer to %q = %q, want it to mention %q", msg, got, want)
			}
		}
	}
}

func TestHousekeepingIsSilent(t *testing.T) {
	if got := answer(t, ask("Check the list. If nothing needs attention, reply HEARTBEAT_OK.")); got != "HEARTBEAT_OK" {
		t.Errorf("answer to a heartbeat = %q", got)
	}
}

// The demonstration: read a file, run a command, answer with what came back.
func TestReport(t *testing.T) {
	req := ask(`[Thu 2026-01-01 00:00 UTC] tool read {"path":"notes.md"} ;; tool exec {"command":"date"} ;; report`)
	m := open(t, target())
	for i, result := range []string{"# Notes\nbuy milk\n```go\nx\n```", "permission denied"} {
		r := modeltest.Collect(t, t.Context(), m, req)
		if len(r.Calls) != 1 {
			t.Fatalf("turn %d = %+v, want a tool call", i, r)
		}
		req.Messages = append(req.Messages, *r.Done, turn.ToolResult(r.Done.ToolCalls()[0], turn.Text(result), i == 1, nil, time.UnixMilli(2)))
	}
	got := answer(t, req)
	want := "The offline model called 2 tools and passes on what came back, without understanding it.\n\n" +
		"read returned:\n````\n# Notes\nbuy milk\n```go\nx\n```\n````\n\n" +
		"exec failed with:\n```\npermission denied\n```"
	if got != want {
		t.Errorf("report = %q, want %q", got, want)
	}
	// A chain without report ends with one all the same.
	short := ask("tool now", turn.Message{Role: turn.RoleAssistant, Content: turn.Content{{Type: turn.BlockToolCall, ID: "c", Name: "now", Arguments: json.RawMessage("{}")}}},
		turn.ToolResult(turn.Block{ID: "c", Name: "now"}, turn.Text(strings.Repeat("é", 2500)), false, nil, time.UnixMilli(2)))
	if got := answer(t, short); !strings.Contains(got, "one tool") || !strings.Contains(got, "… (500 more characters)") {
		t.Errorf("report of a long result = %q", got)
	}
	if got := answer(t, ask("report")); got != "No tool was called, so there is nothing to report." {
		t.Errorf("report without tools = %q", got)
	}
}

// A failed answer does not count as a step: the retry gives the same turn.
func TestRetriesSeeTheSameStep(t *testing.T) {
	failed := turn.Message{Role: turn.RoleAssistant, StopReason: turn.StopError}
	if got := answer(t, ask("say first ;; say second", failed)); got != "first" {
		t.Errorf("answer after a failed one = %q, want first", got)
	}
}

func TestSleepTakesItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		answer(t, ask("sleep 1500 ;; say x"))
		if took := time.Since(began); took != 1500*time.Millisecond {
			t.Errorf("the answer took %v, want 1.5s", took)
		}
	})
}

func BenchmarkCall(b *testing.B) {
	m, err := offline.New(target())
	if err != nil {
		b.Fatal(err)
	}
	req := ask("say hello there")
	for b.Loop() {
		for _, err := range m.Stream(b.Context(), req) {
			if err != nil {
				b.Fatal(err)
			}
		}
	}
}
