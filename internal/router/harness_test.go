package router_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"openclaw/internal/config"
	"openclaw/internal/lane"
	"openclaw/internal/ledger"
	"openclaw/internal/logs"
	"openclaw/internal/model"
	"openclaw/internal/router"
	"openclaw/internal/run"
	"openclaw/internal/session"
	"openclaw/internal/testkit"
	"openclaw/protocol"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// stage is a runner that plays what the test says and remembers what it ran.
type stage struct {
	publish func(run.Event)
	play    func(ctx context.Context, req run.Request) (run.Outcome, error) // nil: answers at once
	steer   func(id run.ID, s run.Steer) bool                               // nil: refuses

	mu   sync.Mutex
	ran  []run.Request
	ends []run.ID
	now  int
	peak int
}

func (s *stage) Run(ctx context.Context, req run.Request) (out run.Outcome, err error) {
	s.mu.Lock()
	s.ran = append(s.ran, req)
	s.now++
	s.peak = max(s.peak, s.now)
	s.mu.Unlock()
	e := run.Event{RunID: req.ID, AgentID: req.AgentID, SessionKey: req.EventKey, SessionID: req.SessionID, Stream: run.StreamLifecycle}
	started := time.Now()
	e.Seq, e.Lifecycle = 1, &run.Lifecycle{Phase: run.PhaseStart, StartedAt: started}
	s.publish(e)
	end := &run.Lifecycle{Phase: run.PhaseEnd}
	if s.play != nil {
		out, err = s.play(ctx, req)
	}
	if why, ok := context.Cause(ctx).(run.Abort); ok && err == nil {
		end.Aborted, end.StopReason, out.Meta.Aborted = true, string(why), true
	}
	if err != nil {
		end.Phase, end.Error = run.PhaseError, err.Error()
	}
	end.EndedAt = time.Now()
	e.Seq, e.Lifecycle = 2, end
	s.mu.Lock()
	s.now--
	s.ends = append(s.ends, req.ID)
	s.mu.Unlock()
	s.publish(e)
	return out, err
}

func (s *stage) Steer(id run.ID, m run.Steer) bool { return s.steer != nil && s.steer(id, m) }

func (s *stage) requests() []run.Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]run.Request(nil), s.ran...)
}

func (s *stage) prompts() []string {
	list := []string{}
	for _, r := range s.requests() {
		list = append(list, bare(r.Prompt))
	}
	return list
}

// bare removes the stamp and the id line from a prompt.
func bare(prompt string) string {
	if i := strings.Index(prompt, "] "); strings.HasPrefix(prompt, "[") && i > 0 {
		prompt = prompt[i+2:]
	}
	prompt, _, _ = strings.Cut(prompt, "\n[message_id:")
	return prompt
}

// until plays a run that lasts d unless it is stopped.
func until(d time.Duration) func(context.Context, run.Request) (run.Outcome, error) {
	return func(ctx context.Context, _ run.Request) (run.Outcome, error) {
		timer := time.NewTimer(d)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
		}
		return run.Outcome{Payloads: []run.Payload{{Text: "done"}}}, nil
	}
}

type keys struct{}

func (keys) Find(_ string, configured logs.Secret, _ string) (model.Credential, bool) {
	return model.Credential{Key: configured}, configured != ""
}

type noCatalog struct{}

func (noCatalog) Find(model.Ref) (model.Info, bool) { return model.Info{}, false }
func (noCatalog) Models(string) []model.Info        { return nil }

// bench is a router with everything around it.
type bench struct {
	t      testing.TB
	stage  *stage
	dir    string
	store  *session.Store
	ledger *ledger.Ledger // nil without one
	lanes  *lane.Lanes
	router *router.Router

	onEvent func(run.Event) // nil: nothing; set before the first run

	mu     sync.Mutex
	config *config.Config
	events []run.Event
	unseen []run.Steer
}

// swallow makes the stage take steered messages and give them back unread when the
// run of "work" is over, after a minute.
func (b *bench) swallow() {
	b.stage.steer = func(_ run.ID, s run.Steer) bool {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.unseen = append(b.unseen, s)
		return true
	}
	b.stage.play = func(ctx context.Context, req run.Request) (run.Outcome, error) {
		out, err := until(time.Minute)(ctx, req)
		b.mu.Lock()
		defer b.mu.Unlock()
		if bare(req.Prompt) == "work" {
			out.Unseen = b.unseen
		}
		return out, err
	}
}

const baseConfig = `{
  agents: { defaults: { model: { primary: "mock/one" }, userTimezone: "UTC" }, list: [{ id: "main" }, { id: "work" }] },
  models: { providers: { mock: { baseUrl: "http://127.0.0.1:1", apiKey: "k", models: [{ id: "one", name: "One" }, { id: "two", name: "Two" }] } } },
}`

func newBench(t testing.TB) *bench {
	t.Helper()
	return newBenchIn(t, t.TempDir(), nil)
}

// newBenchIn is a bench on the state in dir, with a ledger or without.
func newBenchIn(t testing.TB, dir string, led *ledger.Ledger) *bench {
	t.Helper()
	b := &bench{t: t, stage: &stage{}, dir: dir, ledger: led, lanes: lane.New(lane.Config{})}
	b.configure(baseConfig)
	store, err := session.Open(session.Config{Dir: filepath.Join(dir, "sessions"), Log: testkit.Log(t)})
	if err != nil {
		t.Fatal(err)
	}
	b.store = store
	models := model.NewDirectory(model.DirectoryConfig{
		Settings: func() model.Settings {
			s := model.Settings{Primary: "mock/one", Aliases: b.current().Aliases(), Allow: map[string]model.Params{}, Providers: map[string]model.Provider{}}
			for ref := range b.current().Agents.Defaults.Models {
				s.Allow[ref] = model.Params{}
			}
			for id, p := range b.current().Models.Providers {
				mp := model.Provider{BaseURL: p.BaseURL, APIKey: p.APIKey}
				for _, m := range p.Models {
					mp.Models = append(mp.Models, model.ProviderModel{ID: m.ID})
				}
				s.Providers[id] = mp
			}
			return s
		},
		Credentials: keys{}, Catalog: noCatalog{},
	})
	b.router = router.New(router.Config{
		Runner: b.stage, Lanes: b.lanes, Config: b.current,
		Sessions: func(string) (*session.Store, error) { return b.store, nil },
		Models:   func(string) *model.Directory { return models },
		Status: func(agentID, key string) (run.Card, error) {
			return run.Card{Version: "9.9", SessionKey: key}, nil
		},
		Workspace: func(string) string { return "/workspace" },
		Emit: func(e run.Event) {
			if b.onEvent != nil {
				b.onEvent(e)
			}
			b.mu.Lock()
			defer b.mu.Unlock()
			b.events = append(b.events, e)
		},
		Ledger: led,
		Log:    testkit.Log(t),
	})
	b.stage.publish = b.router.Publish
	t.Cleanup(func() {
		ctx, cancel := context.WithCancelCause(context.Background())
		cancel(run.AbortShutdown)
		_ = b.router.Drain(ctx) // runs that a test left behind are aborted here
		if err := store.Close(); err != nil {
			t.Errorf("close store: %v", err)
		}
	})
	return b
}

func (b *bench) configure(text string) {
	b.t.Helper()
	dir := b.t.TempDir()
	path := filepath.Join(dir, "openclaw.json")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		b.t.Fatal(err)
	}
	env := config.Env(func(name string) string {
		if name == "OPENCLAW_STATE_DIR" {
			return dir
		}
		return ""
	})
	snap := config.Load(config.ResolvePaths(env, dir), env)
	if !snap.Valid {
		b.t.Fatalf("configuration is invalid: %v", snap.Issues)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.config = snap.Config
}

func (b *bench) current() *config.Config {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.config
}

func (b *bench) seen() []run.Event {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]run.Event(nil), b.events...)
}

// agent sends an agent request that must be accepted.
func (b *bench) agent(p protocol.AgentParams) *router.Run {
	b.t.Helper()
	r, err := b.router.Agent(b.t.Context(), router.AgentRequest{AgentParams: p})
	if err != nil {
		b.t.Fatalf("Agent(%+v) = %v, want it accepted", p, err)
	}
	return r
}

// chat sends a message that must be accepted.
func (b *bench) chat(id, key, text string) router.ChatResult {
	b.t.Helper()
	r, err := b.router.Chat(b.t.Context(), router.ChatRequest{ChatSendParams: protocol.ChatSendParams{
		SessionKey: key, Message: text, IdempotencyKey: id}})
	if err != nil {
		b.t.Fatalf("Chat(%q) = %v, want it accepted", text, err)
	}
	return r
}

func (b *bench) entry(key string) session.Entry {
	b.t.Helper()
	e, ok := b.store.Get(key)
	if !ok {
		b.t.Fatalf("no session %s", key)
	}
	return e
}

// fields returns the names of the fields that an entry has.
func fields(t testing.TB, e session.Entry) map[string]json.RawMessage {
	t.Helper()
	data, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	var m map[string]json.RawMessage
	if err := json.Unmarshal(data, &m); err != nil {
		t.Fatal(err)
	}
	return m
}

func finished(t testing.TB, r *router.Run) (run.Outcome, error) {
	t.Helper()
	<-r.Done()
	return r.Result()
}

// tell writes the ends of runs as lines.
func tell(events []run.Event) []string {
	list := []string{}
	for _, e := range events {
		l := e.Lifecycle
		if l == nil {
			continue
		}
		s := fmt.Sprintf("%s %s", e.RunID, l.Phase)
		if l.Aborted {
			s += " aborted " + l.StopReason
		}
		list = append(list, s)
	}
	return list
}
