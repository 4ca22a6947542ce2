package router_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"openclaw/internal/router"
	"openclaw/internal/run"
	"openclaw/internal/session"
	"openclaw/protocol"
)

var uuid = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)

// Recorded in queue-collect: a message to a busy session ends at once under its
// own id and runs later, under a new one, after those before it.
func TestFollowups(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.stage.play = until(1500 * time.Millisecond)
		b.chat("set", "collect", "/queue collect debounce:300ms")
		first := b.chat("first", "collect", "one").Run
		synctest.Wait()
		time.Sleep(400 * time.Millisecond)
		began := time.Now()
		var queued []*router.Run
		for _, text := range []string{"two", "three"} {
			res := b.chat("id-"+text, "collect", text)
			if !res.Answered || res.Reply != "" || res.Run == nil || !uuid.MatchString(string(res.Run.ID())) {
				t.Fatalf("Chat(%q) = %+v, want it answered and queued under a new id", text, res)
			}
			if snap, ok := b.router.Wait(t.Context(), res.ID, 0); !ok || snap.Error != "" {
				t.Errorf("the id of a queued message has no ending: %+v, %v", snap, ok)
			}
			queued = append(queued, res.Run)
		}
		<-first.Done()
		if got := time.Since(began); got != 1100*time.Millisecond {
			t.Errorf("first run ended after %v", got)
		}
		<-queued[1].Done()
		if got := time.Since(began); got != 4100*time.Millisecond {
			t.Errorf("queued runs ended after %v, want them right behind the first", got)
		}
		if diff := cmp.Diff([]string{"one", "two", "three"}, b.stage.prompts()); diff != "" {
			t.Errorf("order (-want +got):\n%s", diff)
		}
		if got := b.stage.requests()[1].Prompt; !strings.HasSuffix(got, "[message_id: id-two]") {
			t.Errorf("prompt = %q, want the message's own id in it", got)
		}
	})
}

// RT-056: a queued message waits for a moment of quiet.
func TestRT056Debounce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.stage.play = until(100 * time.Millisecond)
		b.chat("first", "main", "one")
		synctest.Wait()
		two := b.chat("two", "main", "two").Run
		time.Sleep(800 * time.Millisecond) // the first run is long over
		three := b.chat("three", "main", "three")
		if !three.Answered {
			t.Error("a message overtook one that waits for quiet")
		}
		began := time.Now()
		<-two.Done()
		if got := time.Since(began); got != 1100*time.Millisecond {
			t.Errorf("queued message ended %v after the last one came, want 1s of quiet and its run", got)
		}
		<-three.Run.Done()
		if diff := cmp.Diff([]string{"one", "two", "three"}, b.stage.prompts()); diff != "" {
			t.Errorf("order (-want +got):\n%s", diff)
		}
	})
}

// A run that has said its last word does not make the next message queue.
func TestNoQueueAfterTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.stage.play = until(time.Second)
		var next router.ChatResult
		publish := b.stage.publish
		b.stage.publish = func(e run.Event) {
			publish(e)
			if e.Terminal() && e.RunID == "one" {
				next = b.chat("two", "main", "more")
			}
		}
		<-b.chat("one", "main", "work").Run.Done()
		if next.Answered || next.Run == nil || next.Run.ID() != "two" {
			t.Errorf("message right at the end = %+v, want it to run under its own id", next)
		}
		<-next.Run.Done()
	})
}

// RT-054, RT-055 and the steering modes.
func TestSteerModes(t *testing.T) {
	tests := []struct {
		mode    string
		takes   bool
		ran     []string
		steered int
	}{
		{"steer", true, []string{"one"}, 1},
		{"steer", false, []string{"one", "two"}, 1},
		{"steer-backlog", true, []string{"one", "two"}, 1},
		{"steer-backlog", false, []string{"one", "two"}, 1},
		{"followup", true, []string{"one", "two"}, 0},
		{"interrupt", true, []string{"one", "two"}, 0},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprint(tt.mode, tt.takes), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t)
				steered := 0
				b.stage.steer = func(id run.ID, s run.Steer) bool {
					steered++
					if id != "one" || !strings.HasSuffix(s.Prompt, " two\n[message_id: two]") || s.At.IsZero() {
						t.Errorf("steered %q into %s", s.Prompt, id)
					}
					return tt.takes
				}
				b.stage.play = until(2 * time.Second)
				b.chat("set", "main", "/queue "+tt.mode)
				one := b.chat("one", "main", "one").Run
				synctest.Wait()
				res := b.chat("two", "main", "two")
				if res.Answered != (tt.mode != "interrupt") {
					t.Errorf("Chat() = %+v", res)
				}
				<-one.Done()
				if out, _ := one.Result(); out.Meta.Aborted != (tt.mode == "interrupt") {
					t.Errorf("first run aborted = %v", out.Meta.Aborted)
				}
				if res.Run != nil {
					<-res.Run.Done()
				}
				if diff := cmp.Diff(tt.ran, b.stage.prompts()); diff != "" || steered != tt.steered {
					t.Errorf("steered %d times, ran (-want +got):\n%s", steered, diff)
				}
			})
		})
	}
}

// What was steered into a run and not read runs after it.
func TestUnseenSteersRun(t *testing.T) {
	b := newBench(t)
	b.stage.play = func(_ context.Context, req run.Request) (run.Outcome, error) {
		if req.ID == "one" {
			return run.Outcome{Unseen: []run.Steer{{Prompt: "left one"}, {Prompt: "left two"}}}, nil
		}
		return run.Outcome{}, nil
	}
	<-b.chat("one", "main", "work").Run.Done()
	for active := b.router.Active(); len(active) > 0; active = b.router.Active() {
		b.router.Wait(t.Context(), active[0].ID, 5*time.Second)
	}
	if diff := cmp.Diff([]string{"work", "left one", "left two"}, b.stage.prompts()); diff != "" {
		t.Errorf("ran (-want +got):\n%s", diff)
	}
}

// RT-057: a full queue.
func TestRT057Overflow(t *testing.T) {
	tests := []struct {
		drop string
		ran  []string
		full int // messages that were told that the queue is full
	}{
		{"new", []string{"m0", "m1", "m2"}, 2},
		{"old", []string{"m0", "m3", "m4"}, 0},
		{"summarize", []string{"m0", "[Queue overflow] Dropped 2 message(s) due to cap.\nSummary:\n- m1\n- m2\n\nm3", "m4"}, 0},
	}
	for _, tt := range tests {
		t.Run(tt.drop, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t)
				b.stage.play = until(2 * time.Second)
				b.chat("set", "main", "/queue followup cap:2 drop:"+tt.drop)
				full := 0
				var last *router.Run
				for i := range 5 {
					res := b.chat(fmt.Sprint("id", i), "main", fmt.Sprint("m", i))
					synctest.Wait()
					if res.Reply != "" {
						full++
					}
					if res.Run != nil {
						last = res.Run
					}
				}
				<-last.Done()
				var ran []string
				for _, r := range b.stage.requests() {
					head, rest, ok := strings.Cut(r.Prompt, "\n\n")
					switch {
					case ok:
						lines := regexp.MustCompile(`- \[.*?\] (.*?) \[message_id: \w+\]`).ReplaceAllString(head, "- $1")
						ran = append(ran, lines+"\n\n"+bare(rest))
					default:
						ran = append(ran, bare(r.Prompt))
					}
				}
				if diff := cmp.Diff(tt.ran, ran); diff != "" || full != tt.full {
					t.Errorf("told full %d times, ran (-want +got):\n%s", full, diff)
				}
			})
		})
	}
}

// RT-052: what decides about the queue.
func TestRT052QueueSettings(t *testing.T) {
	b := newBench(t)
	b.configure(strings.Replace(baseConfig, "models: {", `messages: { queue: { mode: "followup", byChannel: { webchat: "queue" }, debounceMs: 5,
		debounceMsByChannel: { webchat: 7 }, cap: 3, drop: "new" } }, models: {`, 1))
	if got := b.chat("a", "main", "/queue").Reply; !strings.HasPrefix(got, "Queue mode: steer. Debounce 7ms, cap 3, drop new; 0 waiting.") {
		t.Errorf("/queue = %q", got)
	}
	b.chat("b", "main", "/queue interrupts debounce:1m cap:9 drop:summary")
	if got := b.chat("c", "main", "/queue").Reply; !strings.HasPrefix(got, "Queue mode: interrupt. Debounce 60000ms, cap 9, drop summarize; 0 waiting.") {
		t.Errorf("/queue = %q", got)
	}
}

// Shutdown: the door closes, runs may finish, then they are aborted.
func TestDrain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.stage.play = until(3 * time.Second)
		quick := b.chat("quick", "main", "work").Run
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		began := time.Now()
		done := make(chan error, 1)
		var wg sync.WaitGroup
		wg.Go(func() { done <- b.router.Drain(ctx) })
		synctest.Wait()
		if _, err := b.router.Chat(t.Context(), router.ChatRequest{ChatSendParams: protocol.ChatSendParams{SessionKey: "x", Message: "hi", IdempotencyKey: "late"}}); err == nil {
			t.Error("a message was accepted during shutdown")
		}
		if err := <-done; err != nil || time.Since(began) != 3*time.Second {
			t.Errorf("Drain() = %v after %v, want the run finished", err, time.Since(began))
		}
		wg.Wait()
		if out, err := finished(t, quick); err != nil || out.Meta.Aborted {
			t.Errorf("run during shutdown = %+v, %v, want it finished", out, err)
		}
	})
}

func TestDrainAborts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.stage.play = until(time.Hour)
		long := b.chat("long", "main", "work").Run
		synctest.Wait()
		waiting := b.agent(params("waiting", "hi", "main"))
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		if err := b.router.Drain(ctx); err == nil || !strings.Contains(err.Error(), "2 aborted") {
			t.Errorf("Drain() = %v, want the aborted runs counted", err)
		}
		for _, r := range []*router.Run{long, waiting} {
			if out, err := finished(t, r); err != nil || !out.Meta.Aborted {
				t.Errorf("run %s = %+v, %v, want it aborted", r.ID(), out, err)
			}
		}
		got := tell(b.seen())
		slices.Sort(got)
		if diff := cmp.Diff([]string{"long end aborted shutdown", "long start", "waiting end aborted shutdown"}, got); diff != "" {
			t.Errorf("events (-want +got):\n%s", diff)
		}
		if err := b.router.Drain(t.Context()); err != nil {
			t.Errorf("second Drain() = %v", err)
		}
	})
}

// P22: whatever happens, each run has exactly one terminal event, and Wait, event
// and result agree. Many sessions, messages, stops and calls at once.
func TestOneEndEach(t *testing.T) {
	b := newBench(t)
	b.stage.play = func(ctx context.Context, req run.Request) (run.Outcome, error) {
		if rand.IntN(4) == 0 {
			<-ctx.Done()
		}
		return run.Outcome{Payloads: []run.Payload{}}, nil
	}
	b.stage.steer = func(run.ID, run.Steer) bool { return rand.IntN(2) == 0 }
	for s := range 8 {
		if _, err := b.store.Update(t.Context(), fmt.Sprintf("agent:main:s%d", s), func(e *session.Entry) error {
			e.QueueMode = []string{"collect", "steer", "steer-backlog", "interrupt"}[s%4]
			e.SessionID, e.QueueDebounceMs, e.UpdatedAt = session.NewID(), new(1), time.Now().UnixMilli()
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	var mu sync.Mutex
	var all []*router.Run
	keep := func(r *router.Run) {
		if r != nil {
			mu.Lock()
			all = append(all, r)
			mu.Unlock()
		}
	}
	var wg sync.WaitGroup
	for worker := range 8 {
		wg.Go(func() {
			for i := range 40 {
				key := fmt.Sprintf("agent:main:s%d", rand.IntN(8))
				id := fmt.Sprintf("w%d-%d", worker, i)
				switch rand.IntN(10) {
				case 0:
					b.router.Stop(key, run.AbortStop)
				case 1:
					if _, err := b.router.Abort(t.Context(), key, ""); err != nil {
						t.Errorf("Abort() = %v", err)
					}
				case 2:
					r, err := b.router.Agent(t.Context(), router.AgentRequest{AgentParams: params(id, "call", key)})
					if err != nil {
						t.Errorf("Agent() = %v", err)
					}
					keep(r)
				default:
					res, err := b.router.Chat(t.Context(), router.ChatRequest{ChatSendParams: protocol.ChatSendParams{
						SessionKey: key, Message: "hi", IdempotencyKey: id}})
					if err != nil {
						t.Errorf("Chat() = %v", err)
					}
					keep(res.Run)
				}
			}
		})
	}
	wg.Wait()
	ctx, cancel := context.WithTimeoutCause(t.Context(), 300*time.Millisecond, run.AbortShutdown)
	defer cancel()
	_ = b.router.Drain(ctx) // those that hang are aborted
	ends := map[run.ID]run.Event{}
	for _, e := range b.seen() {
		if e.Terminal() {
			if _, twice := ends[e.RunID]; twice {
				t.Errorf("run %s ended twice", e.RunID)
			}
			ends[e.RunID] = e
		}
	}
	for _, r := range all {
		out, err := finished(t, r)
		end, ok := ends[r.ID()]
		snap, known := b.router.Wait(t.Context(), r.ID(), 0)
		if !ok || !known || err != nil || out.Meta.Aborted != end.Lifecycle.Aborted || snap.StopReason != end.Lifecycle.StopReason {
			t.Errorf("run %s: event %v, wait %+v, result aborted %v, %v; want them to agree", r.ID(), ok, snap, out.Meta.Aborted, err)
		}
	}
	if n := len(b.router.Active()); n != 0 {
		t.Errorf("%d runs are left", n)
	}
}

// BenchmarkChat is what the router adds to a run.
func BenchmarkChat(b *testing.B) {
	h := newBench(b)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		res, err := h.router.Chat(b.Context(), router.ChatRequest{ChatSendParams: protocol.ChatSendParams{
			SessionKey: "main", Message: "hello", IdempotencyKey: fmt.Sprint(i)}})
		if err != nil {
			b.Fatal(err)
		}
		<-res.Run.Done()
	}
}
