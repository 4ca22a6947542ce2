package modeltest

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"openclaw/internal/cue"
	"openclaw/internal/logs"
	"openclaw/internal/mockllm"
	"openclaw/internal/model"
	"openclaw/internal/turn"
)

// Key is the credential that the suite calls with. It must never show up in an
// error. It has the look of a real one and opens nothing.
const Key = logs.Secret("sk-test-Zq8vN3xT7bLw2RkY9mPc4HsD")

// Setup describes the family under test.
type Setup struct {
	API model.API
	// Open makes the model that t describes; t.BaseURL is the root of a server,
	// without /v1.
	Open func(t *testing.T, target model.Target) model.Model
	// Wire says that the model calls the server. Without it the cases about
	// servers are left out.
	Wire bool
	// Signed says that reasoning comes back with a signature.
	Signed bool
}

// Run runs the whole suite.
func Run(t *testing.T, s Setup) {
	t.Run("text", s.text)
	t.Run("long text in pieces", s.longText)
	t.Run("reasoning", s.reasoning)
	t.Run("tool call", s.toolCall)
	t.Run("several tool calls", s.severalCalls)
	t.Run("conversation", s.conversation)
	t.Run("images", s.images)
	t.Run("empty answer", s.empty)
	t.Run("error status", s.statuses)
	t.Run("cancelled before", s.cancelledBefore)
	t.Run("cancelled while waiting", s.cancelledWaiting)
	t.Run("caller stops early", s.stopsEarly)
	t.Run("many at once", s.concurrent)
	if !s.Wire {
		return
	}
	t.Run("usage and cost", s.usage)
	t.Run("broken arguments", s.brokenArguments)
	t.Run("cut for length", s.length)
	t.Run("refusal", s.refusal)
	t.Run("vendor errors", s.vendorErrors)
	t.Run("no retries of its own", s.noRetries)
	t.Run("cut connection", s.cut)
	t.Run("hang and cancel", s.hang)
	t.Run("no model reply", s.nonsense)
	t.Run("cannot connect", s.unreachable)
	t.Run("keeps the key", s.secrecy)
}

// info is the model that the suite asks for.
func (s Setup) info() model.Info {
	return model.Info{Ref: model.Ref{Provider: "mock", ID: "mock-1"}, Name: "Mock 1", API: s.API, ContextWindow: 200_000,
		MaxTokens: 8192, Reasoning: true, Input: []string{"text", "image"},
		Cost: model.Cost{Input: 1, Output: 2, CacheRead: 0.5, CacheWrite: 1.5}}
}

func (s Setup) openAt(t *testing.T, base string) model.Model {
	t.Helper()
	return s.Open(t, model.Target{Info: s.info(), BaseURL: base, Key: Key, KeySource: "the environment variable MOCK_KEY"})
}

// open starts a mock server and a model that calls it.
func (s Setup) open(t *testing.T, cfg mockllm.Config) (model.Model, *mockllm.Server) {
	t.Helper()
	if !s.Wire {
		return s.openAt(t, ""), nil
	}
	cfg.APIKey = Key.Reveal()
	mock := mockllm.New(cfg)
	h := httptest.NewServer(mock)
	t.Cleanup(h.Close)
	return s.openAt(t, h.URL), mock
}

// raw starts a server that answers every request the same way.
func (s Setup) raw(t *testing.T, handle http.HandlerFunc) model.Model {
	t.Helper()
	h := httptest.NewServer(handle)
	t.Cleanup(h.Close)
	return s.openAt(t, h.URL)
}

// ask is a request with one user message.
func ask(text string) model.Request {
	return model.Request{Ref: model.Ref{Provider: "mock", ID: "mock-1"}, SessionID: "session-1", System: "You are under test.",
		Messages: []turn.Message{turn.User(text, time.UnixMilli(1))}, Think: "low",
		Tools: []model.Tool{{Name: "read", Description: "reads", Parameters: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"}}}`)}}}
}

// Result is everything a stream gave.
type Result struct {
	Text, Thinking string
	Pieces         int // of text
	Calls          []model.ToolCall
	Done           *turn.Message
	Err            *model.Error
}

// Collect drains a stream and checks the rules that hold for every one: parts
// before the end, one end, errors of the right type.
func Collect(t *testing.T, ctx context.Context, m model.Model, req model.Request) Result {
	t.Helper()
	var r Result
	var text, thinking strings.Builder
	for part, err := range m.Stream(ctx, req) {
		if r.Done != nil || r.Err != nil {
			t.Fatalf("the stream went on after its end with %#v, %v", part, err)
		}
		if err != nil {
			r.Err = typed(t, err)
			continue
		}
		switch p := part.(type) {
		case model.Text:
			r.Pieces++
			text.WriteString(p.Delta)
		case model.Thinking:
			thinking.WriteString(p.Delta)
		case model.ToolCall:
			r.Calls = append(r.Calls, p)
		case model.Done:
			r.Done = &p.Message
		default:
			t.Fatalf("unknown part %#v", part)
		}
	}
	r.Text, r.Thinking = text.String(), thinking.String()
	if r.Done == nil && r.Err == nil {
		t.Fatal("the stream ended without a Done part and without an error")
	}
	return r
}

func typed(t *testing.T, err error) *model.Error {
	t.Helper()
	e, ok := err.(*model.Error)
	if !ok {
		t.Fatalf("the error is a %T (%v), want a *model.Error", err, err)
	}
	if e.Text == "" || strings.ContainsAny(e.Text, "\n\r{}") || strings.Contains(e.Text, "<html") || len([]rune(e.Text)) > 600 {
		t.Errorf("error text %q is not one short line for people", e.Text)
	}
	if e.Kind != model.KindAborted && e.Ref.IsZero() {
		t.Errorf("error %v names no model", e)
	}
	return e
}

// mustFinish collects a stream that has to succeed.
func mustFinish(t *testing.T, m model.Model, text string) Result {
	t.Helper()
	r := Collect(t, t.Context(), m, ask(text))
	if r.Err != nil {
		t.Fatalf("Stream(%q) = %v (%s), want an answer", text, r.Err, r.Err.Kind)
	}
	return r
}

func (s Setup) text(t *testing.T) {
	m, _ := s.open(t, mockllm.Config{})
	before := time.Now()
	r := mustFinish(t, m, "[Thu 2026-01-01 00:00 UTC] say hello there")
	if r.Text != "hello there" || r.Thinking != "" || r.Calls != nil {
		t.Errorf("answer = %+v, want the text hello there only", r)
	}
	want := turn.Message{Role: turn.RoleAssistant, Content: turn.Text("hello there"), API: string(s.API), Provider: "mock", Model: "mock-1", StopReason: turn.StopEnd}
	if diff := cmp.Diff(want, *r.Done, cmpopts.IgnoreFields(turn.Message{}, "Timestamp", "Usage"), cmpopts.IgnoreFields(turn.Block{}, "TextSignature")); diff != "" {
		t.Errorf("message differs (-want +got):\n%s", diff)
	}
	if at := r.Done.Timestamp; at < before.UnixMilli() || at > time.Now().UnixMilli() {
		t.Errorf("timestamp = %d, want the time of the call", at)
	}
	if u := r.Done.Usage; u == nil || u.Input <= 0 || u.Output <= 0 || u.TotalTokens != u.Input+u.Output+u.CacheRead+u.CacheWrite {
		t.Errorf("usage = %+v, want counts that add up", u)
	}
}

func (s Setup) longText(t *testing.T) {
	m, _ := s.open(t, mockllm.Config{ChunkSize: 7})
	r := mustFinish(t, m, "long 300")
	if want := cue.Words(300); r.Text != want || r.Done.Text() != want {
		t.Errorf("streamed %d characters, stored %d, want the same %d", len(r.Text), len(r.Done.Text()), len(want))
	}
	if r.Pieces < 10 {
		t.Errorf("text came in %d pieces, want many", r.Pieces)
	}
}

func (s Setup) reasoning(t *testing.T) {
	m, _ := s.open(t, mockllm.Config{ChunkSize: 3})
	r := mustFinish(t, m, "think let me see ;; say done")
	if r.Thinking != "let me see" || r.Text != "done" {
		t.Errorf("reasoning = %q, text = %q", r.Thinking, r.Text)
	}
	want := turn.Content{{Type: turn.BlockThinking, Thinking: "let me see"}, {Type: turn.BlockText, Text: "done"}}
	if diff := cmp.Diff(want, r.Done.Content, cmpopts.IgnoreFields(turn.Block{}, "TextSignature", "ThinkingSignature")); diff != "" {
		t.Errorf("content differs (-want +got):\n%s", diff)
	}
	if got := r.Done.Content[0].ThinkingSignature; s.Signed && got == "" {
		t.Error("the reasoning has no signature")
	}
}

func (s Setup) toolCall(t *testing.T) {
	m, _ := s.open(t, mockllm.Config{ChunkSize: 4})
	args := `{"path":"a file.txt","limit":20,"note":"ünïcode <&>"}`
	r := mustFinish(t, m, "think first ;; tool read "+args)
	if len(r.Calls) != 1 || r.Calls[0].Name != "read" || r.Calls[0].Arguments != args || r.Calls[0].ID == "" {
		t.Fatalf("calls = %+v, want one of read with %s", r.Calls, args)
	}
	if r.Done.StopReason != turn.StopToolUse {
		t.Errorf("stop reason = %s, want %s", r.Done.StopReason, turn.StopToolUse)
	}
	calls := r.Done.ToolCalls()
	if len(calls) != 1 || calls[0].ID != r.Calls[0].ID || string(calls[0].Arguments) != args {
		t.Errorf("stored calls = %+v, want the streamed one", calls)
	}
}

func (s Setup) severalCalls(t *testing.T) {
	m, _ := s.open(t, mockllm.Config{ChunkSize: 5})
	r := mustFinish(t, m, `tools [{"name":"read","args":{"path":"a"}},{"name":"exec","args":{"command":"ls"}},{"name":"read","args":{"path":"b"}}]`)
	var got []string
	ids := map[string]bool{}
	for _, c := range r.Calls {
		got = append(got, c.Name+" "+c.Arguments)
		ids[c.ID] = true
	}
	if diff := cmp.Diff([]string{`read {"path":"a"}`, `exec {"command":"ls"}`, `read {"path":"b"}`}, got); diff != "" {
		t.Errorf("calls differ (-want +got):\n%s", diff)
	}
	if len(ids) != 3 {
		t.Errorf("%d different ids, want 3", len(ids))
	}
}

// conversation plays a run with two tool turns to its end, as an agent would.
func (s Setup) conversation(t *testing.T) {
	m, _ := s.open(t, mockllm.Config{})
	req := ask(`think one ;; tool read {"path":"a"} ;; think two ;; tool read {"path":"b"} ;; result`)
	at := time.UnixMilli(2)
	for i, want := range []string{"content of a", "content of b"} {
		r := Collect(t, t.Context(), m, req)
		if r.Err != nil || len(r.Calls) != 1 {
			t.Fatalf("turn %d = %+v, want one tool call", i, r)
		}
		req.Messages = append(req.Messages, *r.Done, turn.ToolResult(r.Done.ToolCalls()[0], turn.Text(want), i == 1, nil, at))
	}
	r := Collect(t, t.Context(), m, req)
	if r.Err != nil || r.Text != "content of b" || r.Done.StopReason != turn.StopEnd {
		t.Errorf("last turn = %+v, want the last result as text", r)
	}
}

func (s Setup) images(t *testing.T) {
	m, _ := s.open(t, mockllm.Config{})
	req := ask("say seen")
	pixel := turn.Block{Type: turn.BlockImage, MimeType: "image/png", Data: "iVBORw0KGgo="}
	req.Messages[0].Content = append(req.Messages[0].Content, pixel)
	if r := Collect(t, t.Context(), m, req); r.Err != nil || r.Text != "seen" {
		t.Errorf("answer = %+v, want seen", r)
	}
}

func (s Setup) empty(t *testing.T) {
	m, _ := s.open(t, mockllm.Config{})
	r := mustFinish(t, m, "empty")
	if r.Text != "" || len(r.Done.Content) != 0 || r.Done.StopReason != turn.StopEnd {
		t.Errorf("answer = %+v, want a done message without content", r)
	}
}

func (s Setup) concurrent(t *testing.T) {
	m, _ := s.open(t, mockllm.Config{ChunkSize: 5})
	for range 16 {
		t.Run("call", func(t *testing.T) {
			t.Parallel()
			if r := mustFinish(t, m, "long 50"); r.Text != cue.Words(50) {
				t.Errorf("text = %q", r.Text)
			}
		})
	}
}

func (s Setup) usage(t *testing.T) {
	m, _ := s.open(t, mockllm.Config{})
	r := mustFinish(t, m, "usage 1000000 500000 ;; say x")
	want := &turn.Usage{Input: 1_000_000, Output: 500_000, TotalTokens: 1_500_000, Cost: turn.Cost{Input: 1, Output: 1, Total: 2}}
	if diff := cmp.Diff(want, r.Done.Usage); diff != "" {
		t.Errorf("usage differs (-want +got):\n%s", diff)
	}
}

// Arguments that are no JSON reach the caller as they came; the stored message
// stays valid.
func (s Setup) brokenArguments(t *testing.T) {
	m, _ := s.open(t, mockllm.Config{ChunkSize: 3})
	r := mustFinish(t, m, `badtool exec {"command":`)
	if len(r.Calls) != 1 || r.Calls[0].Arguments != `{"command":` {
		t.Fatalf("calls = %+v, want the broken arguments", r.Calls)
	}
	if _, err := json.Marshal(r.Done); err != nil {
		t.Errorf("the message cannot be stored: %v", err)
	}
	if got := string(r.Done.ToolCalls()[0].Arguments); got != "{}" {
		t.Errorf("stored arguments = %s, want {}", got)
	}
}

func (s Setup) length(t *testing.T) {
	m, _ := s.open(t, mockllm.Config{})
	r := mustFinish(t, m, "truncate half a reply")
	if r.Text != "half a reply" || r.Done.StopReason != turn.StopLength {
		t.Errorf("answer = %+v, want half a reply, stopped for length", r)
	}
}

func (s Setup) refusal(t *testing.T) {
	m, _ := s.open(t, mockllm.Config{})
	if r := mustFinish(t, m, "refuse I will not"); r.Text != "I will not" || r.Done.StopReason != turn.StopEnd {
		t.Errorf("answer = %+v, want the model's own words", r)
	}
}
