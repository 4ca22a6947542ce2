package router_test

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"openclaw/internal/chat"
	"openclaw/internal/router"
	"openclaw/internal/run"
	"openclaw/internal/session"
	"openclaw/protocol"
)

// A message runs at once under its own id; the session knows where it came from.
func TestChatRun(t *testing.T) {
	b := newBench(t)
	res := b.chat("idem-1", "Main", " hello ")
	if res.Run == nil || res.Run.ID() != "idem-1" || res.ID != "idem-1" || res.Answered || res.Stopped != nil {
		t.Fatalf("Chat() = %+v, want a run under the id of the message", res)
	}
	<-res.Run.Done()
	got := b.stage.requests()[0]
	if !strings.HasSuffix(got.Prompt, " UTC] hello\n[message_id: idem-1]") || !strings.HasPrefix(got.Prompt, "[") {
		t.Errorf("prompt = %q", got.Prompt)
	}
	if got.EventKey != "Main" || got.SessionKey != "agent:main:main" || !got.Chat || !got.NewSession || got.Channel != "webchat" {
		t.Errorf("request = %+v", got)
	}
	e := b.entry("agent:main:main")
	want := []string{"abortedLastRun", "chatType", "compactionCount", "deliveryContext", "lastChannel", "origin", "sessionFile", "sessionId",
		"systemSent", "updatedAt"}
	f := fields(t, e)
	if diff := cmp.Diff(want, sortedKeys(f)); diff != "" {
		t.Errorf("entry fields (-want +got):\n%s", diff)
	}
	if e.DeliveryContext.Channel != "webchat" || e.Origin.Surface != "webchat" || e.LastChannel != "webchat" || e.ChatType != "direct" {
		t.Errorf("entry = %+v", e)
	}
	<-b.chat("idem-2", "main", "again").Run.Done()
	if got := b.stage.requests()[1]; got.SessionID != e.SessionID || got.NewSession {
		t.Errorf("second message = session %q, new %v, want the same session", got.SessionID, got.NewSession)
	}
}

// P21: a session's route to another surface does not move.
func TestChatKeepsRoute(t *testing.T) {
	b := newBench(t)
	if _, err := b.store.Update(t.Context(), "agent:main:main", func(e *session.Entry) error {
		e.SessionID, e.LastChannel, e.LastTo = "s", "telegram", "7"
		e.DeliveryContext = &session.Route{Channel: "telegram", To: "7"}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	<-b.chat("id", "main", "hi").Run.Done()
	if e := b.entry("agent:main:main"); e.DeliveryContext.Channel != "telegram" || e.LastChannel != "telegram" {
		t.Errorf("route = %+v, last channel %q, want telegram", e.DeliveryContext, e.LastChannel)
	}
}

func TestChatRefusals(t *testing.T) {
	b := newBench(t)
	tests := []struct {
		name string
		p    protocol.ChatSendParams
		want string
	}{
		{"blank", protocol.ChatSendParams{SessionKey: "main", Message: "   "}, "message or attachment required"},
		{"agent", protocol.ChatSendParams{SessionKey: "agent:other:x", Message: "hi"}, `unknown agent id "other"`},
		{"key", protocol.ChatSendParams{SessionKey: "  ", Message: "hi"}, `invalid session key "  "`},
	}
	for _, tt := range tests {
		tt.p.IdempotencyKey = "id-" + tt.name
		_, err := b.router.Chat(t.Context(), router.ChatRequest{ChatSendParams: tt.p})
		if refused := (*router.Error)(nil); !errors.As(err, &refused) || refused.Text != tt.want {
			t.Errorf("%s: Chat() = %v, want %q", tt.name, err, tt.want)
		}
	}
	if _, err := b.store.Update(t.Context(), "agent:main:main", func(e *session.Entry) error {
		e.SessionID, e.SendPolicy = "s", "deny"
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	_, err := b.router.Chat(t.Context(), router.ChatRequest{ChatSendParams: protocol.ChatSendParams{SessionKey: "main", Message: "hi", IdempotencyKey: "x"}})
	if err == nil || err.Error() != "send blocked by session policy" {
		t.Errorf("denied session: Chat() = %v", err)
	}
}

func TestChatOptions(t *testing.T) {
	b := newBench(t)
	send := func(id string, p protocol.ChatSendParams) run.Request {
		t.Helper()
		p.SessionKey, p.IdempotencyKey = "main", id
		r, err := b.router.Chat(t.Context(), router.ChatRequest{ChatSendParams: p})
		if err != nil {
			t.Fatal(err)
		}
		<-r.Run.Done()
		return b.stage.requests()[len(b.stage.requests())-1]
	}
	if got := send("a", protocol.ChatSendParams{Message: "hi", Thinking: "max", TimeoutMs: new(int64(1500))}); got.Thinking != "high" || got.Timeout != 1500*time.Millisecond {
		t.Errorf("thinking %q, timeout %v, want high and 1.5s", got.Thinking, got.Timeout)
	}
	if got := send("b", protocol.ChatSendParams{Message: "/unknown", Thinking: "high", TimeoutMs: new(int64(0))}); got.Thinking != "" || got.Timeout != run.MaxTimeout {
		t.Errorf("thinking %q, timeout %v, want none before a slash and no limit", got.Thinking, got.Timeout)
	}
}

// RT-032: a stale session is replaced when a message comes.
func TestChatStaleSession(t *testing.T) {
	b := newBench(t)
	<-b.chat("a", "main", "hi").Run.Done()
	old := b.entry("agent:main:main")
	if _, err := b.store.Update(t.Context(), "agent:main:main", func(e *session.Entry) error {
		e.UpdatedAt, e.ThinkingLevel = time.Now().Add(-50*time.Hour).UnixMilli(), "high"
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	<-b.chat("b", "main", "hi").Run.Done()
	e := b.entry("agent:main:main")
	if e.SessionID == old.SessionID || e.ThinkingLevel != "" || !b.stage.requests()[1].NewSession {
		t.Errorf("entry = %+v, want a new session", e)
	}
}

// RT-033: triggers, what follows them, and the model of the new session.
func TestRT033Triggers(t *testing.T) {
	tests := []struct {
		text   string
		prompt string // bare; "greet" for the greeting
		model  string
	}{
		{"/new", "greet", ""},
		{" /RESET ", "greet", ""},
		{"/new say fresh session", "say fresh session", ""},
		{"/reset\thello there", "hello there", ""},
		{"/new mock/two what now", "what now", "mock/two"},
		{"/new mock two what now", "what now", "mock/two"},
		{"/new mock/two", "greet", "mock/two"},
		{"/new mock/one hi", "hi", ""},
		{"/new and/or", "and/or", ""},
		{"/new opus", "greet", "anthropic/claude-opus-4-5"},
	}
	for _, tt := range tests {
		b := newBench(t)
		<-b.chat("first", "main", "hi").Run.Done()
		old := b.entry("agent:main:main").SessionID
		res := b.chat("second", "main", tt.text)
		if res.Run == nil {
			t.Errorf("%q: Chat() = %+v, want a run", tt.text, res)
			continue
		}
		<-res.Run.Done()
		got := b.stage.requests()[1]
		if got.SessionID == old || !got.NewSession || res.Run.ID() != "second" {
			t.Errorf("%q: session %q, run %s, want a new session under the id of the message", tt.text, got.SessionID, res.Run.ID())
		}
		prompt := bare(got.Prompt)
		if strings.Contains(prompt, "A new session has just been started") {
			if strings.Contains(prompt, "uses the model") != (tt.model != "") {
				t.Errorf("%q: greeting %q names the model wrongly", tt.text, prompt)
			}
			prompt = "greet"
		}
		if prompt != tt.prompt {
			t.Errorf("%q: prompt = %q, want %q", tt.text, prompt, tt.prompt)
		}
		e := b.entry("agent:main:main")
		if model := strings.Trim(e.ProviderOverride+"/"+e.ModelOverride, "/"); model != tt.model {
			t.Errorf("%q: model override = %q, want %q", tt.text, model, tt.model)
		}
	}
}

func TestNewWithForbiddenModel(t *testing.T) {
	b := newBench(t)
	b.configure(strings.Replace(baseConfig, `userTimezone: "UTC"`, `userTimezone: "UTC", models: { "mock/one": {} }`, 1))
	<-b.chat("first", "main", "hi").Run.Done()
	old := b.entry("agent:main:main").SessionID
	res := b.chat("second", "main", "/new openai/gpt-5.2 hi")
	if !res.Answered || !strings.Contains(res.Reply, "not allowed") || res.Run != nil {
		t.Errorf("Chat() = %+v, want a refusal", res)
	}
	if b.entry("agent:main:main").SessionID != old {
		t.Error("the session was replaced all the same")
	}
}

// P18: /new stops what runs, at once, and starts fresh.
func TestNewStopsTheRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.stage.play = until(time.Hour)
		old := b.chat("long", "main", "work").Run
		synctest.Wait()
		queued := b.chat("queued", "main", "more").Run
		synctest.Wait()
		began := time.Now()
		b.stage.play = until(0)
		fresh := b.chat("fresh", "main", "/new hello").Run
		<-fresh.Done()
		if got := time.Since(began); got > 100*time.Millisecond {
			t.Errorf("/new took %v to have an effect", got)
		}
		<-old.Done()
		<-queued.Done()
		want := []string{"long start", string(queued.ID()) + " end aborted stop", "long end aborted stop", "fresh start", "fresh end"}
		got := tell(b.seen())
		slices.Sort(got)
		slices.Sort(want)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("events, sorted (-want +got):\n%s", diff)
		}
	})
}

// Commands are answered without a run, also while one is at work, and the answer
// is in the transcript.
func TestCommands(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.stage.play = until(time.Hour)
		b.chat("long", "main", "work")
		synctest.Wait()
		for _, text := range []string{"/status", "/STATUS", "/status@bot"} {
			res := b.chat("cmd"+text, "main", text)
			if !res.Answered || res.Run != nil || !strings.Contains(res.Reply, "OpenClaw 9.9") || !strings.Contains(res.Reply, "running") {
				t.Errorf("%q: Chat() = %+v, want the card", text, res)
			}
		}
		if snap, ok := b.router.Wait(t.Context(), "cmd/status", 0); !ok || snap.EndedAt.IsZero() {
			t.Error("the id of a command has no ending")
		}
		data, err := os.ReadFile(b.store.TranscriptPath(b.entry("agent:main:main")))
		if err != nil || strings.Count(string(data), `"stopReason":"injected"`) != 3 || !strings.Contains(string(data), `"cwd":"/workspace"`) {
			t.Errorf("transcript = %s, %v; want three injected answers", data, err)
		}
		if got := b.chat("other", "main", "/no-such-command"); got.Run == nil {
			t.Error("an unknown command did not go to the agent")
		}
	})
}

func TestQueueCommand(t *testing.T) {
	b := newBench(t)
	tests := []struct{ text, want string }{
		{"/queue collect debounce:300ms", "⚙️ Queue mode set to collect. ⚙️ Queue debounce set to 300ms."},
		{"/queue steer", "⚙️ Queue mode set to steer."},
		{"/queue cap=5 drop:oldest", "⚙️ Queue cap set to 5. ⚙️ Queue drop policy set to old."},
		{"/queue sideways", `Unrecognized queue setting "sideways". Valid modes: steer, followup, collect, steer-backlog, interrupt. Options: debounce:<duration> cap:<number> drop:old|new|summarize.`},
		{"/queue debounce:soon", `Invalid debounce "soon". Use a duration such as 500ms, 2s or 1m.`},
		{"/queue cap:0", `Invalid cap "0". Use a whole number of at least 1.`},
		{"/queue drop:some", `Invalid drop policy "some". Valid policies: old, new, summarize.`},
	}
	for i, tt := range tests {
		if got := b.chat(fmt.Sprint("q", i), "main", tt.text).Reply; got != tt.want {
			t.Errorf("%q = %q, want %q", tt.text, got, tt.want)
		}
	}
	e := b.entry("agent:main:main")
	if e.QueueMode != "steer" || *e.QueueDebounceMs != 300 || *e.QueueCap != 5 || e.QueueDrop != "old" {
		t.Errorf("entry = mode %q, debounce %v, cap %v, drop %q", e.QueueMode, e.QueueDebounceMs, e.QueueCap, e.QueueDrop)
	}
	if got := b.chat("show", "main", "/queue").Reply; !strings.HasPrefix(got, "Queue mode: steer. Debounce 300ms, cap 5, drop old; 0 waiting.") {
		t.Errorf("/queue = %q", got)
	}
	b.chat("reset", "main", "/queue reset")
	if e := b.entry("agent:main:main"); e.QueueMode != "" || e.QueueDebounceMs != nil || e.QueueCap != nil || e.QueueDrop != "" {
		t.Errorf("entry after reset = %+v", e)
	}
}

// RT-067: stop words pass every queue, stop all of the session and leave the
// hint for the next prompt, once.
func TestRT067Stop(t *testing.T) {
	for _, word := range []string{"/stop", " STOP ", "esc", "abort", "wait", "exit", "interrupt"} {
		t.Run(word, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t)
				b.stage.play = until(time.Hour)
				running := b.chat("running", "main", "work").Run
				synctest.Wait()
				queued := b.chat("queued", "main", "more").Run
				call := b.agent(params("call", "x", "main"))
				other := b.chat("other", "elsewhere", "work").Run
				synctest.Wait()
				res := b.chat("stop", "main", word)
				want := &router.AbortResult{Aborted: true, RunIDs: []run.ID{"running", queued.ID(), "call"}}
				if diff := cmp.Diff(want, res.Stopped); diff != "" {
					t.Errorf("stopped (-want +got):\n%s", diff)
				}
				<-running.Done()
				<-queued.Done()
				<-call.Done()
				if len(b.stage.requests()) != 2 {
					t.Errorf("runs that waited ran all the same: %v", b.stage.prompts())
				}
				select {
				case <-other.Done():
					t.Error("a run of another session was stopped")
				default:
				}
				if again := b.chat("stop2", "main", word).Stopped; again.Aborted || len(again.RunIDs) != 0 {
					t.Errorf("stopping nothing = %+v", again)
				}
				// What the agent stores after a stopped run.
				if _, err := b.store.Update(t.Context(), "agent:main:main", func(e *session.Entry) error { e.AbortedLastRun = new(true); return nil }); err != nil {
					t.Fatal(err)
				}
				b.stage.play = nil
				<-b.chat("next", "main", "hi").Run.Done()
				<-b.chat("after", "main", "hi").Run.Done()
				reqs := b.stage.requests()
				first, second := reqs[len(reqs)-2].Prompt, reqs[len(reqs)-1].Prompt
				if !strings.Contains(first, "UTC; note: your previous run was stopped") || !strings.HasSuffix(first, "] hi\n[message_id: next]") {
					t.Errorf("prompt after the stop = %q, want the hint before the message", first)
				}
				if shown := chat.StripEnvelope(first); shown != "hi" {
					t.Errorf("history shows %q, want the hint left out", shown)
				}
				if strings.Contains(second, "previous run was stopped") {
					t.Errorf("the hint came twice: %q", second)
				}
			})
		})
	}
}

// Chat.abort: by run, by session, only chat runs, never another session's.
func TestAbort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.stage.play = until(time.Hour)
		one := b.chat("one", "agent:main:a", "work").Run
		synctest.Wait()
		call := b.agent(params("call", "x", "agent:main:b"))
		synctest.Wait()
		if _, err := b.router.Abort(t.Context(), "other", "one"); err == nil || err.Error() != "runId does not match sessionKey" {
			t.Errorf("foreign session: Abort() = %v", err)
		}
		for _, id := range []run.ID{"no-such-run", "call"} {
			if res, err := b.router.Abort(t.Context(), "agent:main:b", id); err != nil || res.Aborted || res.RunIDs == nil || len(res.RunIDs) != 0 {
				t.Errorf("Abort(%s) = %+v, %v, want nothing", id, res, err)
			}
		}
		if res, _ := b.router.Abort(t.Context(), "agent:main:b", ""); res.Aborted {
			t.Error("an agent run was aborted through the session")
		}
		res, err := b.router.Abort(t.Context(), "AGENT:main:a", "one")
		if diff := cmp.Diff(router.AbortResult{Aborted: true, RunIDs: []run.ID{"one"}}, res); diff != "" || err != nil {
			t.Errorf("Abort() error %v (-want +got):\n%s", err, diff)
		}
		if out, err := finished(t, one); err != nil || !out.Meta.Aborted {
			t.Errorf("aborted run = %+v, %v", out, err)
		}
		if res, _ := b.router.Abort(t.Context(), "agent:main:a", "one"); res.Aborted {
			t.Error("a run was aborted twice")
		}
		// The session goes on at once; all of it can be stopped, waiting ones too.
		two := b.chat("two", "agent:main:a", "work").Run
		synctest.Wait()
		three := b.chat("three", "agent:main:a", "more").Run
		synctest.Wait()
		res, _ = b.router.Abort(t.Context(), "agent:main:a", "")
		if diff := cmp.Diff([]run.ID{"two", three.ID()}, res.RunIDs); diff != "" {
			t.Errorf("aborted (-want +got):\n%s", diff)
		}
		<-two.Done()
		<-three.Done()
		select {
		case <-call.Done():
			t.Error("the agent run ended")
		default:
		}
		if diff := cmp.Diff([]string{"one start", "call start", "one end aborted rpc", "two start"}, tell(b.seen())[:4]); diff != "" {
			t.Errorf("events (-want +got):\n%s", diff)
		}
	})
}

// A queued message can be stopped by the id it was sent under.
func TestAbortQueuedByItsID(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.stage.play = until(time.Minute)
		b.chat("one", "main", "work")
		synctest.Wait()
		queued := b.chat("two", "main", "more").Run
		res, err := b.router.Abort(t.Context(), "main", "two")
		if err != nil || !slices.Equal(res.RunIDs, []run.ID{queued.ID()}) {
			t.Errorf("Abort() = %+v, %v, want the queued run", res, err)
		}
		<-queued.Done()
		if diff := cmp.Diff([]string{"work"}, b.stage.prompts()); diff != "" {
			t.Errorf("ran (-want +got):\n%s", diff)
		}
	})
}

// Recorded in chat-commands: settings of the session are shown and changed
// without a run. RT-042.
func TestSettingCommands(t *testing.T) {
	b := newBench(t)
	tests := []struct{ text, want string }{
		{"/think", "Current thinking level: off.\nOptions: off, minimal, low, medium, high."},
		{"/think low", "Thinking level set to low."},
		{"/t: max", "Thinking level set to high."},
		{"/think enormous", `Unrecognized thinking level "enormous". Valid: off, minimal, low, medium, high.`},
		{"/thinking off", "Thinking disabled."},
		{"/verbose on", "⚙️ Verbose logging enabled."},
		{"/v everything", "⚙️ Verbose logging set to full."},
		{"/verbose", "Current verbose level: full.\nOptions: off, on, full."},
		{"/reasoning stream", "⚙️ Reasoning is shown live where the surface can do it."},
		{"/model mock/two", "Model set to mock/two."},
		{"/model", "Current model: mock/two (default mock/one).\nChange it with /model <provider/model> or an alias; /model default goes back."},
		{"/model list", "Current model: mock/two (default mock/one).\nChange it with /model <provider/model> or an alias; /model default goes back.\n- mock/one\n- mock/two"},
		{"/model nobody/nothing", ""}, // the reason is the directory's
		{"/model default", "Model set to the default, mock/one."},
		{"/whoami", "You are an operator of this gateway.\nChannel: webchat\nAgent: main\nSession: agent:main:main"},
	}
	for i, tt := range tests {
		res := b.chat(fmt.Sprint("c", i), "main", tt.text)
		if !res.Answered || res.Run != nil || tt.want != "" && res.Reply != tt.want {
			t.Errorf("%q = %+v, want %q", tt.text, res, tt.want)
		}
		if tt.want == "" && !strings.HasPrefix(res.Reply, "Model not changed: ") {
			t.Errorf("%q = %q, want a refusal", tt.text, res.Reply)
		}
	}
	e := b.entry("agent:main:main")
	if e.ThinkingLevel != "" || e.VerboseLevel != "full" || e.ReasoningLevel != "stream" || e.ModelOverride != "" {
		t.Errorf("entry = %+v", e)
	}
	help := b.chat("help", "main", "/help").Reply
	for _, word := range []string{"/new", "/reset", "/stop", "/status", "/think", "/queue", "/model", "/whoami"} {
		if !strings.Contains(help, word) {
			t.Errorf("/help does not name %s", word)
		}
	}
	if n := len(b.stage.requests()); n != 0 {
		t.Errorf("commands caused %d runs", n)
	}
	for _, text := range []string{"/think low and tell me", "/status please", "tell me /status"} {
		if res := b.chat("agent "+text, "main", text); res.Run == nil {
			t.Errorf("%q was taken for a command", text)
		} else {
			<-res.Run.Done()
		}
	}
}
