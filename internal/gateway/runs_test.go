package gateway

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"openclaw/internal/run"
	"openclaw/internal/turn"
	"openclaw/protocol"
)

// toolEvents returns the tool events among frames, as "phase: data".
func toolEvents(t *testing.T, frames []protocol.Frame) []string {
	t.Helper()
	out := []string{}
	for _, f := range frames {
		var e protocol.AgentEvent
		if f.Event != protocol.EventAgent || json.Unmarshal(f.Payload, &e) != nil || e.Stream != protocol.StreamTool {
			continue
		}
		if f.Seq != 0 {
			t.Errorf("tool event has seq %d, want none: it is for one connection", f.Seq)
		}
		out = append(out, string(e.Data))
	}
	return out
}

// useTool lets a run call a tool at a verbose level.
func useTool(level string) func(*scriptedRun) {
	return func(r *scriptedRun) {
		out := &run.ToolOutput{Content: turn.Text("out")}
		for _, tool := range []run.Tool{
			{Phase: run.PhaseStart, Name: "exec", CallID: "1", Args: json.RawMessage(`{"command":"ls"}`)},
			{Phase: run.PhaseUpdate, Name: "exec", CallID: "1", PartialResult: out},
			{Phase: run.PhaseResult, Name: "exec", CallID: "1", Meta: "ls", Result: out, Duration: 7 * time.Millisecond},
		} {
			r.emit(run.Event{Stream: run.StreamTool, Tool: &tool, Verbose: level})
		}
	}
}

const (
	toolStart      = `{"phase":"start","name":"exec","toolCallId":"1","args":{"command":"ls"}}`
	toolStartTerse = `{"phase":"start","name":"exec","toolCallId":"1"}`
	toolUpdate     = `{"phase":"update","name":"exec","toolCallId":"1"}`
	toolUpdateFull = `{"phase":"update","name":"exec","toolCallId":"1","partialResult":{"content":[{"type":"text","text":"out"}]}}`
	toolResult     = `{"phase":"result","name":"exec","toolCallId":"1","meta":"ls","isError":false}`
	toolResultFull = `{"phase":"result","name":"exec","toolCallId":"1","meta":"ls","isError":false,"result":{"content":[{"type":"text","text":"out"}]}}`
	toolEndTerse   = `{"phase":"result","name":"exec","toolCallId":"1","isError":false,"durationMs":7}`
)

// GW-085, and GW-065 as far as tools go.
func TestToolStream(t *testing.T) {
	on := []string{toolStart, toolUpdate, toolResult}
	full := []string{toolStart, toolUpdateFull, toolResultFull}
	terse := []string{toolStartTerse, toolEndTerse}
	tests := []struct {
		level string
		want  map[string][]string // by client; nothing for those that are not named
	}{
		{"off", map[string][]string{"watcher": terse, "starter with status": terse}},
		{"on", map[string][]string{"starter": on, "watcher": on, "starter with status": on}},
		{"full", map[string][]string{"starter": full, "watcher": full, "starter with status": full}},
	}
	for _, tt := range tests {
		t.Run(tt.level, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHouse(t, "")
				caps := func(list ...string) func(object) { return set("caps", list) }
				clients := map[string]*wsClient{
					"starter":             h.connect(dialer{}, caps("tool-events")),
					"starter without cap": h.connect(dialer{}),
					"other":               h.connect(dialer{}, caps("tool-events")),
					"watcher":             h.connect(dialer{}, caps("openclaw-go", "tool-events", "tool-status")),
					"starter with status": h.connect(dialer{}, caps("openclaw-go", "tool-events", "tool-status")),
					"reference client":    h.connect(dialer{}, caps("tool-events", "tool-status")), // GW-065
					"watcher elsewhere":   h.connect(dialer{}, caps("openclaw-go", "tool-events", "tool-status")),
				}
				watch := func(name, key string) { clients[name].call(protocol.MethodChatHistory, object{"sessionKey": key}) }
				watch("watcher", "agent:main:work") // another form of the same key
				watch("reference client", "work")
				watch("watcher elsewhere", "work")
				watch("watcher elsewhere", "main") // the last one counts
				for _, name := range []string{"starter", "starter without cap", "starter with status"} {
					for _, c := range clients {
						c.drain()
					}
					id := name + tt.level
					f := clients[name].call(protocol.MethodAgent, object{"message": "x", "sessionKey": "work", "idempotencyKey": id})
					if !f.OK {
						t.Fatalf("agent = %+v", f.Error)
					}
					if name == "starter with status" {
						watch(name, "work")
					}
					h.runner.do(id, useTool(tt.level))
					h.runner.finish(id, "")
					synctest.Wait()
					for who, c := range clients {
						want := tt.want[who]
						if strings.HasPrefix(who, "starter") && who != name {
							want = nil // somebody else's run
						}
						if got := toolEvents(t, c.drain()); fmt.Sprint(got) != fmt.Sprint(append([]string{}, want...)) {
							t.Errorf("run of %q: %q received %s, want %s", name, who, got, want)
						}
					}
				}
				h.close()
			})
		})
	}
}

// The answer to a request comes before the first event of its run, always.
func TestAnswerBeforeEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, "")
		c := h.connect(dialer{})
		for i := range 50 {
			id := fmt.Sprint("k", i)
			h.runner.finish(id, "quick") // the run is over before anybody could look
			c.request(protocol.MethodAgent, object{"message": "x", "sessionKey": "main", "idempotencyKey": id})
			for {
				f := c.mustNext()
				if f.Type == protocol.TypeResponse {
					break
				}
				if strings.Contains(string(f.Payload), `"runId":"`+id+`"`) {
					t.Fatalf("run %d: %s came before the run was accepted", i, f.Event)
				}
			}
		}
		h.close()
	})
}

// P22: whatever happens in a run, everybody hears of exactly one end, also when
// it is aborted in the middle, events straggle in or the end comes twice.
func TestOneTerminalEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, "", func(c *Config) { c.Log = nil })
		watcher := h.connect(dialer{})
		type ends struct{ agent, chat int }
		seen := map[string]ends{}
		afterEnd := map[string]string{}
		collect := func() {
			for _, f := range watcher.drain() {
				var p struct{ RunID, State, Stream string }
				json.Unmarshal(f.Payload, &p)
				e := seen[p.RunID]
				switch {
				case f.Event == protocol.EventChat && e.chat > 0:
					afterEnd[p.RunID] = "chat " + p.State
				case f.Event == protocol.EventChat && p.State != protocol.ChatDelta:
					e.chat++
				case f.Event == protocol.EventAgent && p.Stream == "lifecycle" && !strings.Contains(string(f.Payload), `"phase":"start"`):
					e.agent++
				}
				seen[p.RunID] = e
			}
		}
		rng := rand.New(rand.NewPCG(1, 2))
		const runs = 300
		for i := range runs {
			id := fmt.Sprint("r", i)
			seq := 0
			emit := func(e run.Event) {
				seq++
				e.RunID, e.Seq, e.SessionKey, e.At = run.ID(id), seq, "main", time.Now()
				h.g.Publish(e)
			}
			emit(run.Event{Stream: run.StreamLifecycle, Lifecycle: &run.Lifecycle{Phase: run.PhaseStart}})
			for range rng.IntN(5) {
				emit(run.Event{Stream: run.StreamAssistant, Assistant: &run.Assistant{Text: strings.Repeat("x", seq), Delta: "x"}})
				if rng.IntN(6) == 0 {
					h.g.runs.abort([]string{id}, protocol.StopRPC)
				}
				time.Sleep(time.Duration(rng.IntN(200)) * time.Millisecond)
			}
			ends := []run.Lifecycle{
				{Phase: run.PhaseEnd}, {Phase: run.PhaseError, Error: "broke"}, {Phase: run.PhaseEnd, Aborted: true, StopReason: "timeout"},
				{Phase: run.PhaseEnd, Aborted: true, StopReason: "stop"}, {Phase: run.PhaseEnd, Silent: true},
			}
			for range 1 + rng.IntN(2) {
				end := ends[rng.IntN(len(ends))]
				emit(run.Event{Stream: run.StreamLifecycle, Lifecycle: &end})
			}
			emit(run.Event{Stream: run.StreamAssistant, Assistant: &run.Assistant{Text: "late"}})
			h.g.runs.abort([]string{id}, protocol.StopRPC)
			time.Sleep(chatThrottle)
			collect()
		}
		for i := range runs {
			id := fmt.Sprint("r", i)
			if e := seen[id]; e != (ends{1, 1}) {
				t.Errorf("run %s has %d agent and %d chat ends, want one of each", id, e.agent, e.chat)
			}
			if what := afterEnd[id]; what != "" {
				t.Errorf("run %s: %s after its end", id, what)
			}
		}
		// And nothing of them is remembered for ever.
		time.Sleep(runLinger + time.Minute)
		h.g.runs.sweep()
		if n := len(h.g.runs.byID); n != 0 {
			t.Errorf("%d runs are remembered after they ended, want 0", n)
		}
		h.close()
	})
}

// How a run's end shows in the chat.
func TestChatEnd(t *testing.T) {
	tests := []struct {
		name string
		text string
		end  run.Lifecycle
		want string // of the payload, after the seq
	}{
		{"reply", "hello", run.Lifecycle{Phase: run.PhaseEnd}, `"state":"final","message":{"role":"assistant","content":[{"type":"text","text":"hello"}],"timestamp":946684800000}}`},
		{"no reply", "", run.Lifecycle{Phase: run.PhaseEnd}, `"state":"final"}`},
		{"silence", "NO_REPLY", run.Lifecycle{Phase: run.PhaseEnd}, `"state":"final"}`},
		{"silence after text", "hello", run.Lifecycle{Phase: run.PhaseEnd, Silent: true}, `"state":"final"}`},
		{"model error", "", run.Lifecycle{Phase: run.PhaseEnd, Error: "model says no"}, `"state":"final","errorMessage":"model says no"}`},
		{"timeout", "", run.Lifecycle{Phase: run.PhaseEnd, Aborted: true, StopReason: "timeout"}, `"state":"final"}`},
		{"timeout after text", "hel", run.Lifecycle{Phase: run.PhaseEnd, Aborted: true, StopReason: "timeout"}, `"state":"final","message":{"role":"assistant","content":[{"type":"text","text":"hel"}],"timestamp":946684800000}}`},
		{"abort", "hel", run.Lifecycle{Phase: run.PhaseEnd, Aborted: true, StopReason: "rpc"}, `"state":"aborted","stopReason":"rpc"}`},
		{"error", "hel", run.Lifecycle{Phase: run.PhaseError, Error: "broke"}, `"state":"error","errorMessage":"broke"}`},
	}
	for _, tt := range tests {
		synctest.Test(t, func(t *testing.T) {
			h := newHouse(t, "")
			c := h.connect(dialer{})
			start := run.Event{RunID: "r", Seq: 1, SessionKey: "main", Stream: run.StreamAssistant, Assistant: &run.Assistant{Text: tt.text}}
			if tt.text != "" {
				h.g.Publish(start)
			}
			h.g.Publish(run.Event{RunID: "r", Seq: 2, SessionKey: "main", Stream: run.StreamLifecycle, Lifecycle: &tt.end})
			got := ""
			for _, f := range c.drain() {
				if f.Event == protocol.EventChat && !strings.Contains(string(f.Payload), `"delta"`) {
					_, got, _ = strings.Cut(string(f.Payload), `"seq":2,`)
				}
			}
			if got != tt.want {
				t.Errorf("%s: chat event %s, want %s", tt.name, got, tt.want)
			}
			h.close()
		})
	}
}

// A run streams faster than clients read: it is held back a little, nobody is
// dropped, and everybody gets everything.
func TestFastStreamHoldsBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, "", func(c *Config) { c.Log = nil })
		const events = 400
		var clients []*wsClient
		counts := make(chan int, 3)
		for range cap(counts) {
			c := h.connect(dialer{})
			clients = append(clients, c)
			go func() {
				n := 0
				for n < events {
					f, err := c.next()
					if err != nil {
						break
					}
					if f.Event == protocol.EventAgent {
						n++
						time.Sleep(time.Millisecond) // a client with other things to do
					}
				}
				counts <- n
			}()
		}
		text := strings.Repeat("x", 10_000) // 4 MB in all, the limit is 1.5 MB
		for i := range events {
			h.g.Publish(run.Event{RunID: "r", Seq: i + 1, Stream: run.StreamAssistant, At: time.Now(), Assistant: &run.Assistant{Text: text}})
		}
		for range clients {
			if n := <-counts; n != events {
				t.Errorf("a client got %d events, want all %d", n, events)
			}
		}
		h.close()
	})
}

// GW-127: one client's answers are not another's.
func TestAnswersBelongToTheirCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, "")
		a := h.connect(dialer{})
		b, f := h.with(newDevice(t), dialer{}, client("cli", "cli"))
		if !f.OK {
			t.Fatalf("connect = %+v", f.Error)
		}
		params := object{"message": "x", "sessionKey": "main", "idempotencyKey": "k"}
		id := a.request(protocol.MethodAgent, params)
		a.response(id)
		if f := b.call(protocol.MethodAgent, params); f.OK || f.Error.Code != protocol.CodeInvalidRequest {
			t.Errorf("another client's use of a running key = %s %+v, want a refusal", f.Payload, f.Error)
		}
		h.runner.finish("k", "for a only")
		if f := a.response(id); !f.OK {
			t.Fatalf("result = %+v", f.Error)
		}
		again := b.request(protocol.MethodAgent, params)
		if f := b.response(again); !f.OK || strings.Contains(string(f.Payload), "for a only") {
			t.Errorf("another client's use of a finished key = %s %+v, want a run of its own", f.Payload, f.Error)
		}
		h.runner.finish("k", "for b")
		b.response(again)
		h.close()
	})
}
