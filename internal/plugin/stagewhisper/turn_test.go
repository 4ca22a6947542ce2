package stagewhisper

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"openclaw/byo"
	"openclaw/internal/assistant"
	"openclaw/internal/config"
	"openclaw/internal/lane"
	"openclaw/internal/ledger"
	"openclaw/internal/logs"
	"openclaw/internal/model"
	"openclaw/internal/router"
	"openclaw/internal/run"
	"openclaw/internal/session"
	"openclaw/internal/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// stage stands in for the agent behind the router.
type stage struct {
	publish func(run.Event)
	play    func(ctx context.Context, req run.Request, tell func(run.Event)) (run.Outcome, error)

	mu   sync.Mutex
	seen []run.Request
}

func (s *stage) Steer(run.ID, run.Steer) bool { return false }

func (s *stage) Run(ctx context.Context, req run.Request) (run.Outcome, error) {
	s.mu.Lock()
	s.seen = append(s.seen, req)
	s.mu.Unlock()
	tell := func(e run.Event) {
		e.RunID, e.SessionKey = req.ID, req.EventKey
		if e.Lifecycle != nil {
			e.Lifecycle.EndedAt = time.Now()
		}
		s.publish(e)
	}
	return s.play(ctx, req, tell)
}

func (s *stage) prompts() (list []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, q := range s.seen {
		list = append(list, q.Prompt)
	}
	return list
}

// bench is a plugin on a router whose agent is a stage.
type bench struct {
	stage  *stage
	plugin *Plugin
	agent  *agent
	router *router.Router
	ledger *ledger.Ledger
}

// newBench works on the state in dir, as a process would until the end of the test.
func newBench(t *testing.T, dir string) *bench {
	t.Helper()
	c := open(t, `{agents:{defaults:{model:{primary:"mock/one"}},list:[{id:"main"},{id:"`+OwnAgent(pairing)+`"}]},
		models:{providers:{mock:{baseUrl:"http://127.0.0.1:1",apiKey:"k",models:[{id:"one",name:"One"}]}}}}`).Snapshot().Config
	led, err := ledger.Open(ledger.Config{Dir: filepath.Join(dir, "runs"), Log: testkit.Log(t)})
	if err != nil {
		t.Fatal(err)
	}
	store, err := session.Open(session.Config{Dir: filepath.Join(dir, "sessions"), AgentID: OwnAgent(pairing), Log: testkit.Log(t)})
	if err != nil {
		t.Fatal(err)
	}
	models := model.NewDirectory(model.DirectoryConfig{Settings: func() model.Settings {
		return model.Settings{Primary: "mock/one", Providers: map[string]model.Provider{"mock": {BaseURL: "http://127.0.0.1:1", APIKey: "k", Models: []model.ProviderModel{{ID: "one"}}}}}
	}, Credentials: noKeys{}, Catalog: noModels{}})
	b := &bench{stage: &stage{}, ledger: led}
	b.router = router.New(router.Config{
		Runner: b.stage, Lanes: lane.New(lane.Config{}), Config: func() *config.Config { return c },
		Sessions: func(string) (*session.Store, error) { return store, nil }, Models: func(string) *model.Directory { return models },
		Status: func(string, string) (run.Card, error) { return run.Card{}, nil }, Workspace: func(string) string { return dir },
		Emit: func(e run.Event) { b.plugin.Publish(e) }, Ledger: led, Log: testkit.Log(t),
	})
	b.stage.publish = b.router.Publish
	b.plugin = New(Config{Dir: filepath.Join(dir, "pairings"), Config: func() *config.Config { return c }, Env: func(string) string { return "" }, Router: b.router,
		Models: func(string) *model.Directory { return models }, Tools: func(string) []string { return nil }, Log: testkit.Log(t)})
	b.agent = &agent{plugin: b.plugin, name: pairing, kind: "openclaw"}
	if err := b.router.Recover(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		now, cancel := context.WithCancel(context.Background())
		cancel()
		_ = b.router.Drain(now) // says how many were aborted
		if err := errors.Join(led.Close(), store.Close()); err != nil {
			t.Error(err)
		}
	})
	return b
}

type noKeys struct{}

func (noKeys) Find(_ string, configured logs.Secret, _ string) (model.Credential, bool) {
	return model.Credential{Key: configured, Source: "the test"}, true
}

type noModels struct{}

func (noModels) Find(model.Ref) (model.Info, bool) { return model.Info{}, false }
func (noModels) Models(string) []model.Info        { return nil }

// turn plays a turn and returns what the desktop is told.
func (b *bench) turn(ctx context.Context, t assistant.Turn) (told []assistant.Output, err error) {
	var mu sync.Mutex
	err = b.agent.Turn(ctx, t, func(o assistant.Output) {
		mu.Lock()
		defer mu.Unlock()
		told = append(told, o)
	})
	return told, err
}

func messages(told []assistant.Output) (list []string) {
	for _, o := range told {
		if o.Message != "" {
			list = append(list, o.Message)
		}
	}
	return list
}

func saying(texts ...string) run.Outcome {
	out := run.Outcome{Payloads: []run.Payload{}}
	for _, t := range texts {
		out.Payloads = append(out.Payloads, run.Payload{Text: t})
	}
	return out
}

func say(all, delta string) run.Event {
	return run.Event{Stream: run.StreamAssistant, Assistant: &run.Assistant{Text: all, Delta: delta}}
}

func over(l run.Lifecycle) run.Event { return run.Event{Stream: run.StreamLifecycle, Lifecycle: &l} }

var chatTurn = assistant.Turn{ID: "task-1", SessionID: "S-1", Kind: assistant.Chat, Text: "/approve 1 always", Context: "a call with Ann"}

// SW-49: the text reaches the agent as it is; what is said before a tool is a message
// of its own, and nothing is said twice.
func TestTurn(t *testing.T) {
	b := newBench(t, t.TempDir())
	b.stage.play = func(_ context.Context, _ run.Request, tell func(run.Event)) (run.Outcome, error) {
		tell(over(run.Lifecycle{Phase: run.PhaseStart}))
		tell(say("Let me", "Let me"))
		tell(say("Let me look.", " look."))
		tell(run.Event{Stream: run.StreamTool, Tool: &run.Tool{Phase: run.PhaseStart, Name: "read"}})
		tell(run.Event{Stream: run.StreamTool, Tool: &run.Tool{Phase: run.PhaseStart, Name: "exec"}})
		tell(say("It is 42.", "It is 42."))
		tell(over(run.Lifecycle{Phase: run.PhaseEnd}))
		return saying("Let me look.", "It is 42."), nil
	}
	told, err := b.turn(t.Context(), chatTurn)
	if err != nil {
		t.Fatal(err)
	}
	if !told[0].Taken {
		t.Errorf("the first word is %+v, want that the text is taken", told[0])
	}
	var rest []assistant.Output
	deltas := ""
	for _, o := range told[1:] {
		if deltas += o.Delta; o.Delta == "" {
			rest = append(rest, o)
		}
	}
	want := []assistant.Output{{Typing: "Thinking"}, {Message: "Let me look."}, {Typing: "Using read"}, {Typing: "Using exec"}, {Message: "It is 42."}}
	if diff := cmp.Diff(want, rest); diff != "" || deltas != "Let me look.It is 42." {
		t.Errorf("told (-want +got):\n%s\ndeltas %q", diff, deltas)
	}
	if diff := cmp.Diff([]string{"[Context: a call with Ann]\n\n/approve 1 always"}, b.stage.prompts()); diff != "" {
		t.Errorf("the agent heard (-want +got):\n%s", diff)
	}
	if got, want := b.stage.seen[0].SessionKey, sessionKey(OwnAgent(pairing), pairing, "S-1", assistant.Chat); got != want {
		t.Errorf("session = %s, want %s", got, want)
	}
}

// How a turn fails, in words for the one who wrote.
func TestTurnFailures(t *testing.T) {
	tests := []struct {
		name     string
		end      run.Lifecycle
		out      run.Outcome
		messages []string
		want     error
	}{
		{"the model", run.Lifecycle{Phase: run.PhaseEnd, Error: "No credit."}, saying("No credit.", "Half of it"), []string{"Half of it"},
			&assistant.TurnError{Code: byo.FailAgent, Text: "No credit."}},
		{"the time", run.Lifecycle{Phase: run.PhaseEnd, Aborted: true, StopReason: string(run.AbortTimeout), Error: "Too long."}, saying(), nil,
			&assistant.TurnError{Code: byo.FailAgentTimeout, Text: "Too long."}},
		{"somebody stopped it", run.Lifecycle{Phase: run.PhaseEnd, Aborted: true, StopReason: string(run.AbortRPC)}, saying(), nil, nil},
		{"a tool", run.Lifecycle{Phase: run.PhaseEnd}, run.Outcome{Payloads: []run.Payload{{Text: "exec failed", IsError: true}}}, nil,
			&assistant.TurnError{Code: byo.FailAgent, Text: "exec failed"}},
		{"silence", run.Lifecycle{Phase: run.PhaseEnd, Silent: true}, saying(), nil, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t, t.TempDir())
			b.stage.play = func(_ context.Context, _ run.Request, tell func(run.Event)) (run.Outcome, error) {
				tell(over(tt.end))
				return tt.out, nil
			}
			told, err := b.turn(t.Context(), chatTurn)
			if diff := cmp.Diff(tt.messages, messages(told)); diff != "" {
				t.Errorf("messages (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.want, err, cmp.Comparer(func(a, b error) bool { return errors.Is(a, b) || a != nil && b != nil && a.Error() == b.Error() })); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
		})
	}
}

// A turn that an earlier process began: its answer is told again, one that was cut off
// goes on under a new name, one that never got to the agent is run.
func TestTurnAgain(t *testing.T) {
	answer := func(_ context.Context, _ run.Request, tell func(run.Event)) (run.Outcome, error) {
		tell(over(run.Lifecycle{Phase: run.PhaseEnd}))
		return saying("the answer"), nil
	}
	again := chatTurn
	again.Again = 1

	t.Run("it had ended", func(t *testing.T) {
		b := newBench(t, t.TempDir())
		b.stage.play = answer
		if _, err := b.turn(t.Context(), chatTurn); err != nil {
			t.Fatal(err)
		}
		told, err := b.turn(t.Context(), again)
		if diff := cmp.Diff([]assistant.Output{{Message: "the answer"}}, told); diff != "" || err != nil {
			t.Errorf("told %v (-want +got):\n%s", err, diff)
		}
		if n := len(b.stage.prompts()); n != 1 {
			t.Errorf("the agent ran %d times, want once", n)
		}
	})
	t.Run("it runs still", func(t *testing.T) {
		b := newBench(t, t.TempDir())
		started, finish := make(chan struct{}), make(chan struct{})
		b.stage.play = func(ctx context.Context, req run.Request, tell func(run.Event)) (run.Outcome, error) {
			close(started)
			<-finish
			return answer(ctx, req, tell)
		}
		ctx, leave := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { _, err := b.turn(ctx, chatTurn); ended <- err }()
		<-started
		leave()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Fatalf("a turn that was left = %v", err)
		}
		close(finish)
		told, err := b.turn(t.Context(), again)
		if diff := cmp.Diff([]string{"the answer"}, messages(told)); diff != "" || err != nil || len(b.stage.prompts()) != 1 {
			t.Errorf("told %v after %d runs (-want +got):\n%s", err, len(b.stage.prompts()), diff)
		}
	})
	t.Run("it was cut off", func(t *testing.T) {
		dir := t.TempDir()
		t.Run("first process", func(t *testing.T) {
			b := newBench(t, dir)
			ctx, leave := context.WithCancel(t.Context())
			started := make(chan struct{})
			b.stage.play = func(ctx context.Context, _ run.Request, tell func(run.Event)) (run.Outcome, error) {
				close(started)
				<-ctx.Done()
				tell(over(run.Lifecycle{Phase: run.PhaseEnd, Aborted: true, StopReason: string(run.AbortShutdown)}))
				return saying(), nil
			}
			go func() {
				<-started
				now, cancel := context.WithCancel(context.Background())
				cancel()
				_ = b.router.Drain(now) // the abort is what is wanted
				leave()
			}()
			told, err := b.turn(ctx, chatTurn)
			if !errors.Is(err, context.Canceled) || len(messages(told)) != 0 {
				t.Errorf("a turn that a stop cut off = %v, %v: want it left open", told, err)
			}
		})
		b := newBench(t, dir)
		b.stage.play = answer
		told, err := b.turn(t.Context(), again)
		if err != nil {
			t.Fatal(err)
		}
		if last := told[len(told)-1]; last.Message != "the answer" || !last.Fresh {
			t.Errorf("told %+v, want a fresh answer", last)
		}
		if got := b.stage.prompts(); len(got) != 1 || !strings.Contains(got[0], "was stopped while") || !strings.HasSuffix(got[0], again.Text) {
			t.Errorf("the agent heard %q", got)
		}
		again.Again = 2
		if told, err = b.turn(t.Context(), again); err != nil || len(b.stage.prompts()) != 1 || len(messages(told)) != 1 {
			t.Errorf("the third beginning: %v, %v after %d runs", told, err, len(b.stage.prompts()))
		}
	})
	t.Run("it never got there", func(t *testing.T) {
		b := newBench(t, t.TempDir())
		b.stage.play = answer
		again.Again = 3
		told, err := b.turn(t.Context(), again)
		if diff := cmp.Diff([]string{"the answer"}, messages(told)); diff != "" || err != nil {
			t.Errorf("told %v (-want +got):\n%s", err, diff)
		}
		if got := b.stage.prompts(); len(got) != 1 || got[0] != again.Prompt() {
			t.Errorf("the agent heard %q", got)
		}
	})
}

// A gateway that ends leaves the turn to the next one.
func TestTurnWhileClosing(t *testing.T) {
	b := newBench(t, t.TempDir())
	now, cancel := context.WithCancel(context.Background())
	cancel()
	if err := b.router.Drain(now); err != nil {
		t.Fatal(err)
	}
	ctx, leave := context.WithCancel(t.Context())
	time.AfterFunc(10*time.Millisecond, leave)
	if told, err := b.turn(ctx, chatTurn); !errors.Is(err, context.Canceled) || len(told) != 0 {
		t.Errorf("turn = %v, %v: want it left open", told, err)
	}
}
