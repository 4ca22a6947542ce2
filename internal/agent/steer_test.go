package agent

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"openclaw/internal/model"
	"openclaw/internal/run"
	"openclaw/internal/tool"
)

// RT-053: the steered message ends the round, the calls that are left are
// answered in order, and the model sees the message before it goes on.
func TestRT053Steer(t *testing.T) {
	b := newBench(t, use("", want{"c1", "work", "{}"}, want{"c2", "work", "{}"}, want{"c3", "work", "{}"}), say("steered"))
	ran := 0
	b.tools = []tool.Tool{tool.New(tool.Spec{Name: "work"}, func(context.Context, tool.Call, struct{}) (tool.Result, error) {
		ran++
		if !b.agent.Steer("run-1", run.Steer{Prompt: "turn left", At: time.UnixMilli(1)}) {
			t.Error("Steer during a tool = false, want true")
		}
		return tool.Text("worked"), nil
	})}
	out := b.run(t.Context(), b.request("go"))
	if ran != 1 {
		t.Errorf("tool ran %d times, want 1", ran)
	}
	want := []string{"user go", "assistant work({}) work({}) work({})", "toolResult worked",
		"toolResult Skipped due to queued user message. !failed", "toolResult Skipped due to queued user message. !failed", "user turn left"}
	if diff := cmp.Diff(want, briefs(b.script.requests()[1].Messages)); diff != "" {
		t.Errorf("second context (-want +got):\n%s", diff)
	}
	if got := b.script.requests()[1].Messages[3]; string(got.Details) != "{}" {
		t.Errorf("details of a skipped call = %s, want {}", got.Details)
	}
	events := []string{"lifecycle start", "tool start work c1", "tool result work c1", "tool start work c2", "tool result work c2 error",
		"tool start work c3", "tool result work c3 error", `assistant "steered" +"steered"`, "lifecycle end"}
	if diff := cmp.Diff(events, tell(b.seen())); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"steered"}, texts(out.Payloads)); diff != "" || len(out.Unseen) != 0 {
		t.Errorf("unseen %v, payloads (-want +got):\n%s", out.Unseen, diff)
	}
}

// A message that arrives while the last answer streams is read before the end;
// two messages are read one at a time.
func TestSteerDuringAnswer(t *testing.T) {
	b := newBench(t)
	b.script.steps = []step{
		func(ctx context.Context, info model.Info, yield func(model.Part, error) bool) {
			b.agent.Steer("run-1", run.Steer{Prompt: "one"})
			b.agent.Steer("run-1", run.Steer{Prompt: "two"})
			say("first")(ctx, info, yield)
		}, say("second"), say("third")}
	out := b.run(t.Context(), b.request("go"))
	if diff := cmp.Diff([]string{"first", "second", "third"}, texts(out.Payloads)); diff != "" {
		t.Errorf("payloads (-want +got):\n%s", diff)
	}
	want := []string{"user go", "assistant first", "user one", "assistant second", "user two"}
	if diff := cmp.Diff(want, briefs(b.script.requests()[2].Messages)); diff != "" {
		t.Errorf("last context (-want +got):\n%s", diff)
	}
}

// RT-054: no run, no steering.
func TestSteerRefused(t *testing.T) {
	b := newBench(t, say("done"))
	if b.agent.Steer("run-1", run.Steer{Prompt: "x"}) {
		t.Error("Steer before the run = true, want false")
	}
	b.onSend = func(e run.Event) {
		if e.Terminal() && b.agent.Steer("run-1", run.Steer{Prompt: "x"}) {
			t.Error("Steer at the end of the run = true, want false")
		}
	}
	b.run(t.Context(), b.request("go"))
	if b.agent.Steer("run-1", run.Steer{Prompt: "x"}) {
		t.Error("Steer after the run = true, want false")
	}
}

// What a run accepted and did not read comes back to the caller.
func TestSteerUnseen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, hang(""))
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() {
			b.agent.Steer("run-1", run.Steer{Prompt: "left over"})
			cancel(run.AbortRPC)
		})
		out := b.run(ctx, b.request("go"))
		if len(out.Unseen) != 1 || out.Unseen[0].Prompt != "left over" {
			t.Errorf("unseen = %v, want the message", out.Unseen)
		}
	})
}

// P18: whenever a message is steered, it is either refused, read exactly once
// before a model call, or handed back; never lost, never doubled.
func TestSteerNeverLost(t *testing.T) {
	var accepted, refused atomic.Int64
	var calls []string
	steps := func() []step {
		var list []step
		for i := range 20 {
			list = append(list, use("", want{fmt.Sprint("c", i), "read", `{"path":"a"}`}))
		}
		return append(list, say("end"))
	}
	for round := range 10 {
		b := newBench(t, steps()...)
		b.tools = []tool.Tool{reader(&calls)}
		req := b.request("go")
		req.ID = run.ID(fmt.Sprint("run-", round))
		stop := make(chan struct{})
		var mine []string
		var wg sync.WaitGroup
		wg.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				text := fmt.Sprintf("m%d-%d", round, i)
				if b.agent.Steer(req.ID, run.Steer{Prompt: text}) {
					accepted.Add(1)
					mine = append(mine, text)
				} else {
					refused.Add(1)
				}
				if len(mine) > 50 {
					return
				}
			}
		})
		out := b.run(t.Context(), req)
		close(stop)
		wg.Wait()
		var read []string
		for _, m := range b.script.requests()[len(b.script.requests())-1].Messages {
			if strings.HasPrefix(m.Text(), "m") && m.Role == "user" {
				read = append(read, m.Text())
			}
		}
		for _, s := range out.Unseen {
			read = append(read, s.Prompt)
		}
		if !slices.Equal(read, mine) {
			t.Errorf("round %d: accepted %v, seen %v", round, mine, read)
		}
	}
	if accepted.Load() == 0 {
		t.Error("no message was ever accepted; the test proves nothing")
	}
}
