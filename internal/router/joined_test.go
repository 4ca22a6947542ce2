package router_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"openclaw/internal/agent"
	"openclaw/internal/config"
	"openclaw/internal/lane"
	"openclaw/internal/ledger"
	"openclaw/internal/mockllm"
	"openclaw/internal/model"
	"openclaw/internal/model/openai"
	"openclaw/internal/router"
	"openclaw/internal/run"
	"openclaw/internal/session"
	"openclaw/internal/testkit"
	"openclaw/internal/tool"
	"openclaw/internal/turn"
	"openclaw/protocol"
)

// joined is router, agent, store and a model family over the mock server, put
// together as the program does it.
type joined struct {
	t      *testing.T
	store  *session.Store
	router *router.Router

	mu     sync.Mutex
	events []run.Event
}

func newJoined(t *testing.T) *joined {
	t.Helper()
	return newJoinedIn(t, t.TempDir(), nil)
}

// newJoinedIn is the same on the state in home, with a ledger or without.
func newJoinedIn(t *testing.T, home string, led *ledger.Ledger) *joined {
	t.Helper()
	j := &joined{t: t}
	srv := httptest.NewServer(mockllm.New(mockllm.Config{}))
	t.Cleanup(srv.Close)
	text := fmt.Sprintf(`{
		agents: { defaults: { model: { primary: "mock/mock-1" }, userTimezone: "UTC", workspace: %q } },
		models: { providers: { mock: { baseUrl: %q, apiKey: "k", api: "openai-completions", models: [{ id: "mock-1", name: "Mock" }] } } },
	}`, filepath.Join(home, "workspace"), srv.URL+"/v1")
	if err := os.WriteFile(filepath.Join(home, "openclaw.json"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	env := config.Env(func(name string) string { return map[string]string{"OPENCLAW_STATE_DIR": home}[name] })
	paths := config.ResolvePaths(env, home)
	snap := config.Load(paths, env)
	if !snap.Valid {
		t.Fatalf("configuration is invalid: %v", snap.Issues)
	}
	c := snap.Config

	store, err := session.Open(session.Config{Dir: filepath.Join(home, "sessions"), Log: testkit.Log(t)})
	if err != nil {
		t.Fatal(err)
	}
	j.store = store
	models := model.NewDirectory(model.DirectoryConfig{
		Settings: func() model.Settings {
			p := c.Models.Providers["mock"]
			return model.Settings{Primary: c.AgentModel("main").Primary, Providers: map[string]model.Provider{"mock": {
				BaseURL: p.BaseURL, APIKey: p.APIKey, API: model.API(p.API), Models: []model.ProviderModel{{ID: "mock-1"}}}}}
		},
		Credentials: keys{}, Catalog: noCatalog{},
		Families: map[model.API]model.Family{model.APICompletions: openai.New(srv.Client()).Completions},
	})
	work := tool.New(tool.Spec{Name: "work", Label: "Work", Summary: "work for a while"},
		func(ctx context.Context, _ tool.Call, p struct {
			Ms int `json:"ms"`
		}) (tool.Result, error) {
			select {
			case <-time.After(time.Duration(p.Ms) * time.Millisecond):
				return tool.Text(fmt.Sprint("worked ", p.Ms)), nil
			case <-ctx.Done():
				return tool.Result{}, ctx.Err()
			}
		})

	// The join: what cmd does, with more agents and more tools.
	var rt *router.Router
	ag := agent.New(agent.Config{
		Sessions: func(string) (*session.Store, error) { return store, nil },
		Models:   func(string) *model.Directory { return models },
		Settings: func(id string) agent.Settings { return agent.SettingsOf(c, paths, id) },
		Tools:    func(_ agent.ToolScope, own []tool.Tool) []tool.Tool { return append([]tool.Tool{work}, own...) },
		Emit:     func(e run.Event) { rt.Publish(e) },
		Version:  "9.9", Host: "box", Home: home, Log: testkit.Log(t),
	})
	rt = router.New(router.Config{
		Runner: ag, Lanes: lane.New(lane.Config{}), Config: func() *config.Config { return c },
		Sessions:  func(string) (*session.Store, error) { return store, nil },
		Models:    func(string) *model.Directory { return models },
		Status:    ag.Status,
		Workspace: func(id string) string { return c.Workspace(paths, id) },
		Emit:      j.take, Ledger: led, Log: testkit.Log(t),
	})
	j.router = rt
	t.Cleanup(func() {
		if err := rt.Drain(context.Background()); err != nil {
			t.Errorf("Drain() = %v", err)
		}
		if err := store.Close(); err != nil {
			t.Errorf("close store: %v", err)
		}
	})
	return j
}

func (j *joined) take(e run.Event) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.events = append(j.events, e)
}

// of returns what the run with id told, as short lines.
func (j *joined) of(id run.ID) []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	list := []string{}
	for _, e := range j.events {
		if e.RunID != id {
			continue
		}
		switch {
		case e.Assistant != nil:
			list = append(list, fmt.Sprintf("%d assistant %s", e.Seq, e.Assistant.Text))
		case e.Tool != nil:
			list = append(list, fmt.Sprintf("%d tool %s %s", e.Seq, e.Tool.Phase, e.Tool.Name))
		case e.Lifecycle != nil:
			s := fmt.Sprintf("%d %s", e.Seq, e.Lifecycle.Phase)
			if e.Lifecycle.Aborted {
				s += " aborted " + e.Lifecycle.StopReason
			}
			list = append(list, s)
		}
	}
	return list
}

// until waits for an event of the run that fits.
func (j *joined) until(id run.ID, text string) {
	j.t.Helper()
	deadline := time.Now().Add(10 * time.Second)
	for time.Now().Before(deadline) {
		for _, line := range j.of(id) {
			if strings.HasSuffix(line, text) {
				return
			}
		}
		j.router.Wait(j.t.Context(), "nobody", 2*time.Millisecond)
	}
	j.t.Fatalf("run %s did not come to %q: %v", id, text, j.of(id))
}

func (j *joined) chat(id, key, text string) router.ChatResult {
	j.t.Helper()
	res, err := j.router.Chat(j.t.Context(), router.ChatRequest{ChatSendParams: protocol.ChatSendParams{
		SessionKey: key, Message: text, IdempotencyKey: id}})
	if err != nil {
		j.t.Fatalf("Chat(%q) = %v", text, err)
	}
	return res
}

// history returns the messages of a session's transcript as short lines.
func (j *joined) history(key string) []string {
	j.t.Helper()
	e, _ := j.store.Get(key)
	raw, err := session.History(j.store.TranscriptPath(e), 100, 1<<20)
	if err != nil {
		j.t.Fatal(err)
	}
	list := []string{}
	for _, r := range raw {
		var m turn.Message
		if err := json.Unmarshal(r, &m); err != nil {
			j.t.Fatal(err)
		}
		s := string(m.Role) + " " + m.Text()
		for _, c := range m.ToolCalls() {
			s += fmt.Sprintf("%s(%s) ", c.Name, c.Arguments)
		}
		list = append(list, strings.TrimSpace(s))
	}
	return list
}

// Recorded in agent-run-tool: the numbers of events, tools included.
func TestJoinedTools(t *testing.T) {
	j := newJoined(t)
	r, err := j.router.Agent(t.Context(), router.AgentRequest{AgentParams: params("tools",
		`tools [{"name":"work","args":{"ms":1}},{"name":"work","args":{"ms":2}}] ;; tool nope {} ;; tool work {} ;; say all done`, "agent:main:demo")})
	if err != nil {
		t.Fatal(err)
	}
	out, err := finished(t, r)
	if err != nil || len(out.Payloads) != 1 || out.Payloads[0].Text != "all done" {
		t.Errorf("Result() = %+v, %v", out.Payloads, err)
	}
	want := []string{"1 start", "2 tool start work", "3 tool result work", "4 tool start work", "5 tool result work",
		"6 tool start nope", "7 tool result nope", "8 tool start work", "9 tool result work", "10 assistant all done", "11 end"}
	if diff := cmp.Diff(want, j.of("tools")); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	e, _ := j.store.Get("agent:main:demo")
	got := sortedKeys(fields(t, e))
	wantFields := []string{"abortedLastRun", "sessionId", "updatedAt"}
	if diff := cmp.Diff(wantFields, got[:3]); diff != "" || len(got) != 9 {
		t.Errorf("entry fields = %v, want those recorded: %v, tokens, model and window", got, wantFields)
	}
}

// Recorded in agent-errors: a model error is the reply, and the run ends well.
func TestJoinedErrors(t *testing.T) {
	j := newJoined(t)
	tests := []struct{ id, prompt, want string }{
		{"e400", "error 400", "mock client error"},
		{"e401", "error 401", "invalid api key"},
		{"over", "context_overflow", "/new"},
		{"empty", "empty", ""},
		{"silent", "say NO_REPLY", ""},
		{"bad", `badtool work {"ms": ;; say after bad`, "after bad"},
		{"half", "truncate half a reply", "half a reply"},
	}
	for _, tt := range tests {
		r, err := j.router.Agent(t.Context(), router.AgentRequest{AgentParams: params(tt.id, tt.prompt, "agent:main:errors")})
		if err != nil {
			t.Fatal(err)
		}
		out, err := finished(t, r)
		switch {
		case err != nil:
			t.Errorf("%s: Result() error = %v", tt.id, err)
		case tt.want == "" && len(out.Payloads) != 0:
			t.Errorf("%s: payloads = %+v, want none", tt.id, out.Payloads)
		case tt.want != "" && (len(out.Payloads) != 1 || !strings.Contains(out.Payloads[0].Text, tt.want)):
			t.Errorf("%s: payloads = %+v, want %q", tt.id, out.Payloads, tt.want)
		case strings.Contains(fmt.Sprint(out.Payloads), "{\""):
			t.Errorf("%s: a raw error reached the reply: %+v", tt.id, out.Payloads)
		}
		if lines := j.of(run.ID(tt.id)); !strings.HasSuffix(lines[len(lines)-1], " end") {
			t.Errorf("%s: events = %v, want phase end", tt.id, lines)
		}
	}
}

// Recorded in queue-steer.
func TestJoinedSteer(t *testing.T) {
	j := newJoined(t)
	if got := j.chat("s0", "agent:main:steer", "/queue steer").Reply; got != "⚙️ Queue mode set to steer." {
		t.Errorf("reply = %q", got)
	}
	res := j.chat("s1", "agent:main:steer", `tools [{"name":"work","args":{"ms":300}},{"name":"work","args":{"ms":1}}] ;; say not steered`)
	j.until("s1", "tool start work")
	if steered := j.chat("s2", "agent:main:steer", "say steered"); !steered.Answered || steered.Run != nil {
		t.Errorf("Chat() = %+v, want it steered", steered)
	}
	<-res.Run.Done()
	want := []string{"1 start", "2 tool start work", "3 tool result work", "4 tool start work", "5 tool result work", "6 assistant steered", "7 end"}
	got := j.of("s1")
	// The server sends the reply in one piece; what counts is the numbering.
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	wantHistory := []string{"assistant ⚙️ Queue mode set to steer.",
		`user tools [{"name":"work","args":{"ms":300}},{"name":"work","args":{"ms":1}}] ;; say not steered`,
		`assistant work({"ms":300}) work({"ms":1})`, "toolResult worked 300", "toolResult Skipped due to queued user message.",
		"user say steered", "assistant steered"}
	if diff := cmp.Diff(wantHistory, j.history("agent:main:steer")); diff != "" {
		t.Errorf("history (-want +got):\n%s", diff)
	}
}

// Recorded in queue-collect: each queued message gets a reply of its own.
func TestJoinedCollect(t *testing.T) {
	j := newJoined(t)
	j.chat("c0", "agent:main:collect", "/queue collect debounce:30ms")
	j.chat("c1", "agent:main:collect", "sleep 200 ;; say first")
	j.until("c1", "start")
	second, third := j.chat("c2", "agent:main:collect", "say second"), j.chat("c3", "agent:main:collect", "say third")
	for _, res := range []router.ChatResult{second, third} {
		if !res.Answered || res.Run == nil {
			t.Fatalf("Chat() = %+v, want it queued", res)
		}
		<-res.Run.Done()
	}
	if diff := cmp.Diff([]string{"1 start", "2 assistant third", "3 end"}, j.of(third.Run.ID())); diff != "" {
		t.Errorf("events of the last (-want +got):\n%s", diff)
	}
	want := []string{"assistant ⚙️ Queue mode set to collect. ⚙️ Queue debounce set to 30ms.", "user sleep 200 ;; say first", "assistant first",
		"user say second", "assistant second", "user say third", "assistant third"}
	if diff := cmp.Diff(want, j.history("agent:main:collect")); diff != "" {
		t.Errorf("history (-want +got):\n%s", diff)
	}
}

// Recorded in chat-abort: during a model call, during a tool, by a stop word; the
// next message works.
func TestJoinedAbort(t *testing.T) {
	j := newJoined(t)
	key := "agent:main:abort"
	one := j.chat("a1", key, "sleep 4000 ;; say never").Run
	j.until("a1", "start")
	began := time.Now()
	if res, err := j.router.Abort(t.Context(), key, "a1"); err != nil || !res.Aborted {
		t.Errorf("Abort() = %+v, %v", res, err)
	}
	<-one.Done()
	if got := time.Since(began); got > time.Second {
		t.Errorf("the run ended %v after the abort", got)
	}
	two := j.chat("a2", key, `tool work {"ms":20000} ;; say never`).Run
	j.until("a2", "tool start work")
	if res, _ := j.router.Abort(t.Context(), key, ""); !res.Aborted {
		t.Error("abort of the session found nothing")
	}
	<-two.Done()
	three := j.chat("a3", key, "sleep 4000 ;; say never").Run
	j.until("a3", "start")
	if res := j.chat("a3-stop", key, "/stop"); res.Stopped == nil || !res.Stopped.Aborted {
		t.Errorf("stop word = %+v", res)
	}
	<-three.Done()
	for id, want := range map[run.ID]string{"a1": "2 end aborted rpc", "a2": "4 end aborted rpc", "a3": "2 end aborted stop"} {
		if lines := j.of(id); lines[len(lines)-1] != want {
			t.Errorf("events of %s = %v, want %q at the end", id, lines, want)
		}
	}
	out, err := finished(t, j.chat("a4", key, "say still alive").Run)
	if err != nil || len(out.Payloads) != 1 || out.Payloads[0].Text != "still alive" {
		t.Errorf("message after the aborts = %+v, %v", out.Payloads, err)
	}
}

// Recorded in chat-commands: /new with a prompt, and text that only looks like a
// command.
func TestJoinedCommands(t *testing.T) {
	j := newJoined(t)
	key := "agent:main:commands"
	if res := j.chat("k0", key, "/status"); !res.Answered || !strings.Contains(res.Reply, "Model: mock/mock-1") {
		t.Errorf("/status = %+v", res)
	}
	before, _ := j.store.Get(key)
	for id, tt := range map[string][2]string{"k1": {"/new say fresh session", "fresh session"}, "k2": {"/no-such-command", "mock: ok"}, "k3": {"/new", "mock: ok"}} {
		out, err := finished(t, j.chat(id, key, tt[0]).Run)
		if err != nil || len(out.Payloads) != 1 || out.Payloads[0].Text != tt[1] {
			t.Errorf("%q = %+v, %v, want %q", tt[0], out.Payloads, err, tt[1])
		}
	}
	if after, _ := j.store.Get(key); after.SessionID == before.SessionID {
		t.Error("/new did not replace the session")
	}
}

// P21, P22: many sessions at once; no word of one reaches another, and each run
// has one end.
func TestJoinedManySessions(t *testing.T) {
	j := newJoined(t)
	var wg sync.WaitGroup
	for s := range 24 {
		wg.Go(func() {
			for i := range 3 {
				id := fmt.Sprintf("run-%d-%d", s, i)
				out, err := finished(t, j.chat(id, fmt.Sprintf("agent:main:many-%d", s), "say canary "+id).Run)
				if err != nil || len(out.Payloads) != 1 || out.Payloads[0].Text != "canary "+id {
					t.Errorf("run %s = %+v, %v", id, out.Payloads, err)
				}
			}
		})
	}
	wg.Wait()
	ends := map[run.ID]int{}
	for _, e := range j.events {
		if e.Assistant != nil && !strings.HasPrefix("canary "+string(e.RunID), e.Assistant.Text) {
			t.Errorf("run %s said %q", e.RunID, e.Assistant.Text)
		}
		if e.Terminal() {
			ends[e.RunID]++
		}
	}
	if len(ends) != 72 {
		t.Errorf("%d runs ended, want 72", len(ends))
	}
	for id, n := range ends {
		if n != 1 {
			t.Errorf("run %s ended %d times", id, n)
		}
	}
	for s := range 24 {
		if got := j.history(fmt.Sprintf("agent:main:many-%d", s)); len(got) != 6 || got[5] != fmt.Sprintf("assistant canary run-%d-2", s) {
			t.Errorf("history of session %d = %v", s, got)
		}
	}
}
