package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"openclaw/internal/logs"
	"openclaw/internal/model"
	"openclaw/internal/run"
	"openclaw/internal/session"
	"openclaw/internal/testkit"
	"openclaw/internal/tool"
	"openclaw/internal/turn"
)

// step is what a scripted model does for one call. A false return of yield must
// end it.
type step func(ctx context.Context, info model.Info, yield func(model.Part, error) bool)

// script is a model that plays steps in order and remembers what it was asked.
type script struct {
	mu    sync.Mutex
	steps []step
	asked []model.Request
}

func (s *script) next(req model.Request) step {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, req)
	if len(s.steps) == 0 {
		return say("script is over")
	}
	first := s.steps[0]
	s.steps = s.steps[1:]
	return first
}

func (s *script) requests() []model.Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]model.Request(nil), s.asked...)
}

// voice is the script speaking as one model.
type voice struct {
	script *script
	info   model.Info
}

func (v voice) Stream(ctx context.Context, req model.Request) iter.Seq2[model.Part, error] {
	return func(yield func(model.Part, error) bool) { v.script.next(req)(ctx, v.info, yield) }
}

func done(info model.Info, content turn.Content, stop turn.StopReason) model.Done {
	return model.Done{Message: turn.Message{Role: turn.RoleAssistant, Content: content, API: string(info.API),
		Provider: info.Ref.Provider, Model: info.Ref.ID, StopReason: stop,
		Usage: &turn.Usage{Input: 100, Output: 10, CacheRead: 20, CacheWrite: 3, TotalTokens: 133}}}
}

// say answers with text, one part per piece.
func say(pieces ...string) step {
	return func(_ context.Context, info model.Info, yield func(model.Part, error) bool) {
		for _, p := range pieces {
			if !yield(model.Text{Delta: p}, nil) {
				return
			}
		}
		yield(done(info, turn.Text(strings.Join(pieces, "")), turn.StopEnd), nil)
	}
}

// thinkSay thinks aloud before it answers.
func thinkSay(thoughts, text string) step {
	return func(_ context.Context, info model.Info, yield func(model.Part, error) bool) {
		if !yield(model.Thinking{Delta: thoughts}, nil) || !yield(model.Text{Delta: text}, nil) {
			return
		}
		yield(done(info, turn.Content{{Type: turn.BlockThinking, Thinking: thoughts, ThinkingSignature: "sig"},
			{Type: turn.BlockText, Text: text}}, turn.StopEnd), nil)
	}
}

type want struct{ id, name, args string }

// use calls tools, after saying text if there is any.
func use(text string, calls ...want) step {
	return func(_ context.Context, info model.Info, yield func(model.Part, error) bool) {
		var content turn.Content
		if text != "" {
			if !yield(model.Text{Delta: text}, nil) {
				return
			}
			content = turn.Text(text)
		}
		for _, c := range calls {
			if !yield(model.ToolCall{ID: c.id, Name: c.name, Arguments: c.args}, nil) {
				return
			}
			content = append(content, turn.Block{Type: turn.BlockToolCall, ID: c.id, Name: c.name, Arguments: json.RawMessage(c.args)})
		}
		yield(done(info, content, turn.StopToolUse), nil)
	}
}

// fail breaks after text.
func fail(e model.Error, text string) step {
	return func(_ context.Context, info model.Info, yield func(model.Part, error) bool) {
		if text != "" && !yield(model.Text{Delta: text}, nil) {
			return
		}
		e.Ref = info.Ref
		yield(nil, &e)
	}
}

// hang says text and then waits for the caller to give up.
func hang(text string) step {
	return func(ctx context.Context, info model.Info, yield func(model.Part, error) bool) {
		if text != "" && !yield(model.Text{Delta: text}, nil) {
			return
		}
		<-ctx.Done()
		yield(nil, &model.Error{Kind: model.KindAborted, Ref: info.Ref, Text: "aborted"})
	}
}

type keys struct{}

func (keys) Find(provider string, configured logs.Secret, _ string) (model.Credential, bool) {
	return model.Credential{Key: configured, Source: "the configuration"}, configured != ""
}

type noCatalog struct{}

func (noCatalog) Find(model.Ref) (model.Info, bool) { return model.Info{}, false }
func (noCatalog) Models(string) []model.Info        { return nil }

// bench is an agent with everything around it.
type bench struct {
	t        testing.TB
	script   *script
	store    *session.Store
	settings Settings
	models   model.Settings
	tools    []tool.Tool
	agent    *Agent

	mu     sync.Mutex
	events []run.Event
	onSend func(run.Event)
}

func newBench(t testing.TB, steps ...step) *bench {
	t.Helper()
	b := &bench{t: t, script: &script{steps: steps}}
	dir := t.TempDir()
	b.settings = Settings{Workspace: filepath.Join(dir, "workspace"), Zone: time.UTC}
	if err := os.MkdirAll(filepath.Join(b.settings.Workspace, ".git"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"AGENTS.md", "SOUL.md", "TOOLS.md", "IDENTITY.md", "USER.md", "HEARTBEAT.md"} {
		if err := os.WriteFile(filepath.Join(b.settings.Workspace, name), []byte("about "+name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	provider := func(id string, reasoning bool) model.Provider {
		return model.Provider{BaseURL: "https://" + id + ".example", APIKey: "key", API: model.APICompletions,
			Models: []model.ProviderModel{{ID: "one", ContextWindow: 100_000, Reasoning: reasoning, Input: []string{"text", "image"}}}}
	}
	b.models = model.Settings{Primary: "fake/one", Providers: map[string]model.Provider{
		"fake": provider("fake", false), "deep": provider("deep", true), "spare": provider("spare", false),
		"keyless": {BaseURL: "https://keyless.example", Models: []model.ProviderModel{{ID: "one"}}},
	}}
	store, err := session.Open(session.Config{Dir: filepath.Join(dir, "sessions"), Log: testkit.Log(t)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Errorf("close store: %v", err)
		}
	})
	b.store = store
	family := func(target model.Target) (model.Model, error) { return voice{b.script, target.Info}, nil }
	directory := model.NewDirectory(model.DirectoryConfig{
		Settings: func() model.Settings { return b.models }, Credentials: keys{}, Catalog: noCatalog{},
		Families: map[model.API]model.Family{model.APICompletions: family, model.APIOffline: family},
	})
	b.agent = New(Config{
		Sessions: func(string) (*session.Store, error) { return b.store, nil },
		Models:   func(string) *model.Directory { return directory },
		Settings: func(string) Settings { return b.settings },
		Tools:    func(_ ToolScope, own []tool.Tool) []tool.Tool { return append(b.tools, own...) },
		Emit:     b.take, Version: "9.9", Host: "box", Log: testkit.Log(t),
	})
	return b
}

func (b *bench) take(e run.Event) {
	b.mu.Lock()
	b.events = append(b.events, e)
	hook := b.onSend
	b.mu.Unlock()
	if hook != nil {
		hook(e)
	}
}

func (b *bench) seen() []run.Event {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]run.Event(nil), b.events...)
}

const (
	testKey = "agent:main:test"
	testID  = "11111111-2222-4333-8444-555555555555"
)

// request is a run in the test session, whose entry is made if missing.
func (b *bench) request(prompt string) run.Request {
	b.t.Helper()
	_, err := b.store.Update(context.Background(), testKey, func(e *session.Entry) error {
		if e.SessionID != "" {
			return session.Skip
		}
		e.SessionID = testID
		return nil
	})
	if err != nil {
		b.t.Fatal(err)
	}
	return run.Request{ID: "run-1", AgentID: "main", SessionKey: testKey, EventKey: "test", SessionID: testID, Prompt: prompt}
}

// run executes a request that must not throw.
func (b *bench) run(ctx context.Context, req run.Request) run.Outcome {
	b.t.Helper()
	out, err := b.agent.Run(ctx, req)
	if err != nil {
		b.t.Fatalf("Run(%q) = %v, want no error", req.Prompt, err)
	}
	return out
}

func (b *bench) patch(fn func(*session.Entry)) {
	b.t.Helper()
	if _, err := b.store.Update(context.Background(), testKey, func(e *session.Entry) error { fn(e); return nil }); err != nil {
		b.t.Fatal(err)
	}
}

// transcript returns the lines of the test session's file in short form.
func (b *bench) transcript() []string {
	b.t.Helper()
	data, err := os.ReadFile(b.store.TranscriptPath(session.Entry{SessionID: testID}))
	if err != nil {
		b.t.Fatal(err)
	}
	var lines []string
	for line := range strings.Lines(string(data)) {
		var l struct {
			Type, ModelID, ThinkingLevel, CustomType string
			Message                                  turn.Message
		}
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			b.t.Fatal(err)
		}
		switch l.Type {
		case "message":
			lines = append(lines, brief(l.Message))
		default:
			lines = append(lines, strings.TrimSpace(l.Type+" "+l.ModelID+l.ThinkingLevel+l.CustomType))
		}
	}
	return lines
}

// brief writes a message as one line.
func brief(m turn.Message) string {
	parts := []string{string(m.Role)}
	for _, b := range m.Content {
		switch b.Type {
		case turn.BlockText:
			parts = append(parts, b.Text)
		case turn.BlockToolCall:
			parts = append(parts, fmt.Sprintf("%s(%s)", b.Name, b.Arguments))
		default:
			parts = append(parts, "<"+string(b.Type)+">")
		}
	}
	if m.StopReason == turn.StopError || m.StopReason == turn.StopAborted {
		parts = append(parts, "!"+string(m.StopReason))
	}
	if m.Failed() {
		parts = append(parts, "!failed")
	}
	return strings.Join(parts, " ")
}

func briefs(msgs []turn.Message) []string {
	var list []string
	for _, m := range msgs {
		list = append(list, brief(m))
	}
	return list
}

// tell writes events as lines: stream, phase and what matters.
func tell(events []run.Event) []string {
	var list []string
	for _, e := range events {
		switch {
		case e.Lifecycle != nil:
			l := e.Lifecycle
			s := "lifecycle " + string(l.Phase)
			if l.Aborted {
				s += " aborted " + l.StopReason
			}
			if l.Silent {
				s += " silent"
			}
			if l.Error != "" {
				s += " " + l.Error
			}
			list = append(list, s)
		case e.Assistant != nil:
			list = append(list, fmt.Sprintf("assistant %q +%q", e.Assistant.Text, e.Assistant.Delta))
		case e.Tool != nil:
			s := fmt.Sprintf("tool %s %s %s", e.Tool.Phase, e.Tool.Name, e.Tool.CallID)
			if e.Tool.IsError {
				s += " error"
			}
			list = append(list, s)
		}
	}
	return list
}

// checkEvents holds what is true for the events of every run. RT-061, RT-062.
func checkEvents(t *testing.T, events []run.Event) {
	t.Helper()
	terminal, last := 0, ""
	for i, e := range events {
		if e.Seq != i+1 {
			t.Errorf("event %d has seq %d, want %d", i, e.Seq, i+1)
		}
		if e.RunID == "" || e.AgentID == "" {
			t.Errorf("event %d has no run or agent id", i)
		}
		if e.Terminal() {
			terminal++
			if i != len(events)-1 {
				t.Errorf("terminal event %d is not the last of %d", i, len(events))
			}
		}
		if e.Assistant != nil {
			a := e.Assistant
			if !strings.HasSuffix(a.Text, a.Delta) || a.Delta == "" {
				t.Errorf("assistant event %d: text %q does not end with delta %q", i, a.Text, a.Delta)
			}
			if before := strings.TrimSuffix(a.Text, a.Delta); before != "" && before != last {
				t.Errorf("assistant event %d: %q does not extend %q", i, a.Text, last)
			}
			last = a.Text
		}
	}
	if terminal != 1 {
		t.Errorf("run has %d terminal events, want 1: %v", terminal, tell(events))
	}
}

func texts(list []run.Payload) []string {
	out := []string{}
	for _, p := range list {
		out = append(out, p.Text)
	}
	return out
}
