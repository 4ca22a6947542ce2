package agent

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"openclaw/internal/model"
	"openclaw/internal/run"
	"openclaw/internal/session"
	"openclaw/internal/tool"
	"openclaw/internal/turn"
)

var (
	overloaded = model.Error{Kind: model.KindOverloaded, Status: 503, Text: "fake is overloaded at the moment."}
	cutOff     = model.Error{Kind: model.KindNetwork, Text: "The connection broke off."}
	badKey     = model.Error{Kind: model.KindAuth, Status: 401, Text: "fake refused the credentials."}
)

// RT-068: three retries after 2, 4 and 8 s; what the failed tries said is in the
// file, but neither in the retried context nor in the payloads. RT-061: still
// one start and one end.
func TestRT068Retry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, fail(cutOff, "half a"), fail(overloaded, ""), fail(cutOff, "half b"), say("whole"))
		began := time.Now()
		out := b.run(t.Context(), b.request("go"))
		if got := time.Since(began); got != 14*time.Second {
			t.Errorf("run took %v, want 14s of waiting", got)
		}
		if diff := cmp.Diff([]string{"whole"}, texts(out.Payloads)); diff != "" {
			t.Errorf("payloads (-want +got):\n%s", diff)
		}
		want := []string{"lifecycle start", `assistant "half a" +"half a"`, `assistant "half b" +"half b"`, `assistant "whole" +"whole"`, "lifecycle end"}
		if diff := cmp.Diff(want, tell(b.seen())); diff != "" {
			t.Errorf("events (-want +got):\n%s", diff)
		}
		checkEvents(t, b.seen())
		for i, req := range b.script.requests() {
			if diff := cmp.Diff([]string{"user go"}, briefs(req.Messages)); diff != "" {
				t.Errorf("context of try %d (-want +got):\n%s", i+1, diff)
			}
		}
		lines := []string{"user go", "assistant half a !error", "assistant !error", "assistant half b !error", "assistant whole"}
		if diff := cmp.Diff(lines, b.transcript()[4:]); diff != "" {
			t.Errorf("transcript (-want +got):\n%s", diff)
		}
	})
}

// RT-068: a reply from before a failed call is not lost by the retry.
func TestRT068RetryKeepsEarlierReplies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls []string
		b := newBench(t, use("looking", want{"c1", "read", `{"path":"a"}`}), fail(cutOff, "hal"), say("found"))
		b.tools = []tool.Tool{reader(&calls)}
		out := b.run(t.Context(), b.request("go"))
		if diff := cmp.Diff([]string{"looking", "found"}, texts(out.Payloads)); diff != "" {
			t.Errorf("payloads (-want +got):\n%s", diff)
		}
	})
}

// RT-068, RT-070: after the last retry the error is the reply, with phase end.
func TestRT068GivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, fail(overloaded, ""), fail(overloaded, ""), fail(overloaded, ""), fail(overloaded, ""))
		out := b.run(t.Context(), b.request("go"))
		if diff := cmp.Diff([]string{overloaded.Text}, texts(out.Payloads)); diff != "" {
			t.Errorf("payloads (-want +got):\n%s", diff)
		}
		if n := len(b.script.requests()); n != 4 {
			t.Errorf("model was asked %d times, want 4", n)
		}
		if diff := cmp.Diff([]string{"lifecycle start", "lifecycle end " + overloaded.Text}, tell(b.seen())); diff != "" {
			t.Errorf("events (-want +got):\n%s", diff)
		}
		if u := out.Meta.AgentMeta.Usage; u == nil || *u != (run.Usage{}) {
			t.Errorf("usage = %+v, want zeros", u)
		}
	})
}

func TestRetryAfter(t *testing.T) {
	tests := []struct {
		name  string
		after time.Duration
		want  time.Duration // of the whole run
		tries int
	}{
		{"longer than ours", 30 * time.Second, 30 * time.Second, 2},
		{"shorter than ours", time.Second, 2 * time.Second, 2},
		{"too long", 61 * time.Second, 0, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := model.Error{Kind: model.KindRateLimit, Status: 429, Text: "slow down", RetryAfter: tt.after}
				b := newBench(t, fail(e, ""), say("ok"))
				began := time.Now()
				b.run(t.Context(), b.request("go"))
				if got := time.Since(began); got != tt.want {
					t.Errorf("run took %v, want %v", got, tt.want)
				}
				if got := len(b.script.requests()); got != tt.tries {
					t.Errorf("model was asked %d times, want %d", got, tt.tries)
				}
			})
		})
	}
}

// RT-070: errors that no retry helps end the run at once, in friendly words.
func TestRT070Errors(t *testing.T) {
	overflow := model.Error{Kind: model.KindOverflow, Status: 400, Text: `{"error":{"raw":true}}`}
	tests := []struct {
		name string
		err  model.Error
		want string
	}{
		{"auth", badKey, badKey.Text},
		{"overflow", overflow, "This conversation has grown too long for fake/one. Send /new to start a fresh session."},
		{"no words", model.Error{Kind: model.KindUnknown}, "The model fake/one failed to answer. Please try again."},
	}
	for _, tt := range tests {
		b := newBench(t, fail(tt.err, "partial"))
		out := b.run(t.Context(), b.request("go"))
		if diff := cmp.Diff([]string{tt.want, "partial"}, texts(out.Payloads)); diff != "" {
			t.Errorf("%s: payloads (-want +got):\n%s", tt.name, diff)
		}
		last := b.seen()[len(b.seen())-1].Lifecycle
		if last.Phase != run.PhaseEnd || last.Error != tt.want {
			t.Errorf("%s: end = %+v, want phase end with the text", tt.name, last)
		}
		if got := out.Meta.Error != nil && out.Meta.Error.Kind == "context_overflow"; got != (tt.name == "overflow") {
			t.Errorf("%s: meta.error = %+v", tt.name, out.Meta.Error)
		}
		checkEvents(t, b.seen())
	}
}

// Model fallback: the next candidate goes on where the first stopped, and nothing
// is said twice (P5, P20).
func TestFallback(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls []string
		b := newBench(t, use("", want{"c1", "read", `{"path":"a"}`}), fail(overloaded, "par"), fail(overloaded, "par"), say("saved"))
		b.models.Fallbacks = []string{"spare/one"}
		b.tools = []tool.Tool{reader(&calls)}
		began := time.Now()
		out := b.run(t.Context(), b.request("go"))
		if got := time.Since(began); got != 2*time.Second {
			t.Errorf("failing over took %v, want 2s", got)
		}
		if diff := cmp.Diff([]string{"saved"}, texts(out.Payloads)); diff != "" {
			t.Errorf("payloads (-want +got):\n%s", diff)
		}
		if len(calls) != 1 {
			t.Errorf("the tool ran %d times, want once", len(calls))
		}
		last := b.script.requests()[3]
		if last.Ref.String() != "spare/one" {
			t.Errorf("last model = %v, want spare/one", last.Ref)
		}
		if diff := cmp.Diff([]string{"user go", `assistant read({"path":"a"})`, "toolResult content of a"}, briefs(last.Messages)); diff != "" {
			t.Errorf("context of the fallback (-want +got):\n%s", diff)
		}
		if out.Meta.AgentMeta.Provider != "spare" {
			t.Errorf("agentMeta = %+v, want the model that answered", out.Meta.AgentMeta)
		}
		e, _ := b.store.Get(testKey)
		if e.ModelProvider != "spare" {
			t.Errorf("entry names provider %q, want spare", e.ModelProvider)
		}
		checkEvents(t, b.seen())
	})
}

func TestFallbackSkipsMissingKey(t *testing.T) {
	b := newBench(t, say("ok"))
	b.models.Primary, b.models.Fallbacks = "keyless/one", []string{"spare/one"}
	out := b.run(t.Context(), b.request("go"))
	if diff := cmp.Diff([]string{"ok"}, texts(out.Payloads)); diff != "" {
		t.Errorf("payloads (-want +got):\n%s", diff)
	}
}

// RT-096: the primary stands in for an override that cannot be asked, not for one
// that answered with an error: without configured fallbacks that is the answer.
func TestPrimaryStandsIn(t *testing.T) {
	b := newBench(t, fail(badKey, ""), say("ok"))
	for _, tt := range []struct{ provider, want string }{{"spare", badKey.Text}, {"keyless", "ok"}} {
		req := b.request("go")
		req.Provider, req.Model = tt.provider, "one"
		if got := texts(b.run(t.Context(), req).Payloads); len(got) != 1 || got[0] != tt.want {
			t.Errorf("payloads with %s/one = %v, want %q", tt.provider, got, tt.want)
		}
	}
}

func TestFallbackAllFail(t *testing.T) {
	b := newBench(t, fail(badKey, ""), fail(badKey, ""))
	b.models.Fallbacks = []string{"spare/one"}
	out := b.run(t.Context(), b.request("go"))
	if got := texts(out.Payloads); len(got) != 1 || !strings.HasPrefix(got[0], "All models failed (2): fake/one: ") {
		t.Errorf("payloads = %v, want one text that names both failures", got)
	}
}

// A run that cannot start says why and ends with phase error (P25).
func TestCannotStart(t *testing.T) {
	b := newBench(t)
	b.models.Primary = "keyless/one"
	out, err := b.agent.Run(t.Context(), b.request("go"))
	if err == nil || !strings.Contains(err.Error(), "No API key for provider keyless") {
		t.Fatalf("Run() = %v, want the missing key named", err)
	}
	if out.Payloads == nil {
		t.Error("payloads of a failed run are null")
	}
	if diff := cmp.Diff([]string{"lifecycle error " + err.Error()}, tell(b.seen())); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	checkEvents(t, b.seen())
}

// A panic ends its run with a clear error and nothing else (P15).
func TestPanic(t *testing.T) {
	b := newBench(t, func(context.Context, model.Info, func(model.Part, error) bool) { panic("model bug") }, say("alive"))
	_, err := b.agent.Run(t.Context(), b.request("go"))
	if !errors.Is(err, errInternal) || strings.Contains(err.Error(), "model bug") {
		t.Errorf("Run() = %v, want the internal error without details", err)
	}
	checkEvents(t, b.seen())
	b.events = nil
	if got := texts(b.run(t.Context(), b.request("again")).Payloads); !slices.Equal(got, []string{"alive"}) {
		t.Errorf("payloads after the panic = %v, want alive", got)
	}
}

// RT-066: the timeout ends the run as aborted, without payloads and in time.
func TestRT066Timeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, hang("thinking about"))
		req := b.request("go")
		req.Timeout = time.Second
		began := time.Now()
		out := b.run(t.Context(), req)
		if got := time.Since(began); got != time.Second {
			t.Errorf("run took %v, want 1s", got)
		}
		if !out.Meta.Aborted || len(out.Payloads) != 0 || out.Meta.AgentMeta.Usage != nil {
			t.Errorf("outcome: aborted %v, payloads %v, usage %v; want aborted without payloads and usage",
				out.Meta.Aborted, texts(out.Payloads), out.Meta.AgentMeta.Usage)
		}
		last := b.seen()[len(b.seen())-1].Lifecycle
		if last.Phase != run.PhaseEnd || !last.Aborted || last.StopReason != "timeout" || last.StartedAt.IsZero() || last.Error == "" {
			t.Errorf("end = %+v, want an aborted end that names the timeout", last)
		}
		checkEvents(t, b.seen())
		if got := b.transcript(); got[len(got)-1] != "assistant thinking about !aborted" {
			t.Errorf("transcript ends with %q, want what was said", got[len(got)-1])
		}
		if e, _ := b.store.Get(testKey); *e.AbortedLastRun {
			t.Error("abortedLastRun is set, though nobody stopped the run")
		}
	})
}

// RT-066: a timeout counts as a failure, so the next model gets its turn.
func TestRT066TimeoutFallsBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, hang(""), say("in time"))
		b.models.Fallbacks = []string{"spare/one"}
		b.settings.Timeout = 5 * time.Second
		out := b.run(t.Context(), b.request("go"))
		if diff := cmp.Diff([]string{"in time"}, texts(out.Payloads)); diff != "" || out.Meta.Aborted {
			t.Errorf("aborted %v, payloads (-want +got):\n%s", out.Meta.Aborted, diff)
		}
		checkEvents(t, b.seen())
	})
}

func TestDefaultTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, hang(""))
		began := time.Now()
		b.run(t.Context(), b.request("go"))
		if got := time.Since(began); got != DefaultTimeout {
			t.Errorf("run took %v, want %v", got, DefaultTimeout)
		}
	})
}

// RT-067: aborts while the model streams, during a retry wait and in a tool.
func TestAbort(t *testing.T) {
	slow := tool.New(tool.Spec{Name: "slow"}, func(ctx context.Context, _ tool.Call, _ struct{}) (tool.Result, error) {
		<-ctx.Done()
		return tool.Result{}, ctx.Err()
	})
	tests := []struct {
		name       string
		steps      []step
		transcript []string // what follows the user's message; nil: no file at all
	}{
		{"before the first word", []step{hang("")}, nil},
		{"in the middle", []step{hang("half")}, []string{"assistant half !aborted"}},
		{"waiting for a retry", []step{fail(overloaded, "")}, []string{"assistant !error"}},
		{"in a tool", []step{use("", want{"c1", "slow", "{}"}, want{"c2", "slow", "{}"})}, []string{
			"assistant slow({}) slow({})", "toolResult " + textStopped + " !failed", "toolResult " + textNotRun + " !failed"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, append(tt.steps, say("alive"))...)
				b.tools = []tool.Tool{slow}
				ctx, cancel := context.WithCancelCause(t.Context())
				time.AfterFunc(time.Second, func() { cancel(run.AbortStop) })
				began := time.Now()
				out := b.run(ctx, b.request("go"))
				if got := time.Since(began); got != time.Second {
					t.Errorf("run ended after %v, want at the abort", got)
				}
				if !out.Meta.Aborted || len(out.Payloads) != 0 {
					t.Errorf("outcome: aborted %v, payloads %v; want aborted without payloads", out.Meta.Aborted, texts(out.Payloads))
				}
				if got := tell(b.seen()); got[len(got)-1] != "lifecycle end aborted stop" {
					t.Errorf("events = %v", got)
				}
				checkEvents(t, b.seen())
				if e, _ := b.store.Get(testKey); e.AbortedLastRun == nil || !*e.AbortedLastRun {
					t.Error("abortedLastRun is not set")
				}
				if tt.transcript != nil {
					if diff := cmp.Diff(tt.transcript, b.transcript()[5:]); diff != "" {
						t.Errorf("transcript (-want +got):\n%s", diff)
					}
				}
				b.events = nil
				b.run(t.Context(), b.request("next"))
				last := b.script.requests()[len(b.script.requests())-1].Messages
				if got := brief(last[len(last)-1]); got != "user next" {
					t.Errorf("the next run ends its context with %q", got)
				}
				checkPairs(t, last)
			})
		})
	}
}

// checkPairs is a strict provider: every call has its result right behind it, and
// no user message is answered by another one unless something came between.
func checkPairs(t *testing.T, msgs []turn.Message) {
	t.Helper()
	open := map[string]bool{}
	for i, m := range msgs {
		if m.Role == turn.RoleToolResult {
			if !open[m.ToolCallID] {
				t.Errorf("message %d answers no open call: %s", i, brief(m))
			}
			delete(open, m.ToolCallID)
			continue
		}
		if len(open) > 0 {
			t.Errorf("message %d comes before the results of %v", i, open)
		}
		for _, c := range m.ToolCalls() {
			open[c.ID] = true
		}
	}
}

// RT-030: a question that was never answered is stepped over.
func TestRT030Orphan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, say("first answer"), hang(""), say("third answer"))
		b.run(t.Context(), b.request("first"))
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, run.AbortRPC)
		defer cancel()
		b.run(ctx, b.request("second"))
		b.run(t.Context(), b.request("third"))
		asked := b.script.requests()[2].Messages
		if diff := cmp.Diff([]string{"user first", "assistant first answer", "user third"}, briefs(asked)); diff != "" {
			t.Errorf("context (-want +got):\n%s", diff)
		}
	})
}

// A context that ends without a cause of ours is a shutdown.
func TestCancelWithoutCause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, hang(""))
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		b.run(ctx, b.request("go"))
		if got := tell(b.seen()); got[len(got)-1] != "lifecycle end aborted shutdown" {
			t.Errorf("events = %v", got)
		}
	})
}

// A session that was reset during the run keeps its new entry.
func TestResetDuringRun(t *testing.T) {
	b := newBench(t, func(ctx context.Context, info model.Info, yield func(model.Part, error) bool) {}, say("x"))
	b.script.steps = []step{func(ctx context.Context, info model.Info, yield func(model.Part, error) bool) {
		b.patch(func(e *session.Entry) { e.SessionID = "another"; e.TotalTokens = new(0) })
		say("late")(ctx, info, yield)
	}}
	b.run(t.Context(), b.request("go"))
	if e, _ := b.store.Get(testKey); e.SessionID != "another" || *e.TotalTokens != 0 || e.Model != "" {
		t.Errorf("entry = %+v, want it untouched by the old run", e)
	}
}

// A receiver of events that panics ends the run, not the process (P15).
func TestPanicInReceiver(t *testing.T) {
	b := newBench(t, say("hello"))
	b.onSend = func(run.Event) { panic("receiver bug") }
	if _, err := b.agent.Run(t.Context(), b.request("go")); !errors.Is(err, errInternal) {
		t.Errorf("Run() = %v, want the internal error", err)
	}
}

// An abort while the run still waits for its transcript is an abort, not a
// failure, and leaves nothing locked.
func TestAbortBeforeStart(t *testing.T) {
	b := newBench(t, say("alive"))
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(run.AbortRPC)
	out := b.run(ctx, b.request("go"))
	if !out.Meta.Aborted || len(b.script.requests()) != 0 {
		t.Errorf("aborted %v, model asked %d times; want an aborted run that asked nothing", out.Meta.Aborted, len(b.script.requests()))
	}
	if got := tell(b.seen()); got[len(got)-1] != "lifecycle end aborted rpc" {
		t.Errorf("events = %v", got)
	}
	checkEvents(t, b.seen())
	b.events = nil
	if got := texts(b.run(t.Context(), b.request("again")).Payloads); !slices.Equal(got, []string{"alive"}) {
		t.Errorf("payloads of the next run = %v", got)
	}
}

func TestPinnedProfile(t *testing.T) {
	e := session.Entry{AuthProfileOverride: "fake:work"}
	if got := pinned(e, model.Ref{Provider: "fake", ID: "one"}); got != "fake:work" {
		t.Errorf("pinned for its provider = %q, want the profile", got)
	}
	if got := pinned(e, model.Ref{Provider: "spare", ID: "one"}); got != "" {
		t.Errorf("pinned for another provider = %q, want none", got)
	}
}
