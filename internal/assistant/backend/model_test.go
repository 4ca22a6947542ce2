package backend_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"openclaw/byo"
	"openclaw/internal/assistant"
	"openclaw/internal/assistant/backend"
	"openclaw/internal/logs"
	"openclaw/internal/mockllm"
)

// apis are the two wires with the path of each.
var apis = map[string]func(backend.Endpoint) backend.API{"openai-chat": backend.NewChat, "openresponses": backend.NewResponses}

// sent is what a server was asked.
type sent struct {
	mu     sync.Mutex
	bodies []string
}

func (s *sent) Reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.bodies = nil
}

func (s *sent) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(s.bodies, "\n")
}

// server is a model server, and what it was sent.
func server(t *testing.T, cfg mockllm.Config) (*httptest.Server, *sent) {
	record, model := new(sent), mockllm.New(cfg)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		record.mu.Lock()
		record.bodies = append(record.bodies, string(body))
		record.mu.Unlock()
		r.Body = io.NopCloser(bytes.NewReader(body))
		model.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	return s, record
}

func model(t *testing.T, api func(backend.Endpoint) backend.API, url, key, dir string) *backend.Model {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{}}
	t.Cleanup(client.CloseIdleConnections)
	return backend.NewModel(backend.ModelConfig{API: api(backend.Endpoint{URL: url + "/v1", Key: logs.Secret(key), HTTP: client}),
		Memory: backend.Memory{Dir: dir}, Name: "mock-1", ProviderKind: "hermes", Version: "1.2.0"})
}

// said collects the output of a turn.
func said(t *testing.T, a assistant.Agent, turn assistant.Turn) (messages, deltas string, err error) {
	t.Helper()
	err = a.Turn(t.Context(), turn, func(o assistant.Output) {
		if o.Message != "" {
			messages += "[" + o.Message + "]"
		}
		deltas += o.Delta
	})
	return messages, deltas, err
}

func chat(id, text string) assistant.Turn {
	return assistant.Turn{ID: id, SessionID: "s-7", Kind: assistant.Chat, Text: text}
}

func TestModelTurns(t *testing.T) {
	for name, api := range apis {
		t.Run(name, func(t *testing.T) {
			s, record := server(t, mockllm.Config{APIKey: "mock-key-0123456789"})
			dir := t.TempDir()
			m := model(t, api, s.URL, "mock-key-0123456789", dir)
			first := chat("t-1", "say the tide is high")
			first.Context = "A pilot trial ends."
			got, deltas, err := said(t, m, first)
			if err != nil || got != "[the tide is high]" || deltas != "the tide is high" {
				t.Fatalf("the first turn says %s, in pieces %q, %v", got, deltas, err)
			}

			record.Reset()
			m = model(t, api, s.URL, "mock-key-0123456789", dir) // the process began again
			if got, _, err := said(t, m, chat("t-2", "say and now it is low")); err != nil || got != "[and now it is low]" {
				t.Fatalf("the second turn says %s, %v", got, err)
			}
			sent := record.String()
			for _, want := range []string{"[Context: A pilot trial ends.]", "say the tide is high", "the tide is high", "say and now it is low", `"stream":true`} {
				if !strings.Contains(sent, want) {
					t.Errorf("the server was not sent %q: %s", want, sent)
				}
			}

			record.Reset()
			if got, _, err := said(t, m, chat("t-2", "say and now it is low")); err != nil || got != "[and now it is low]" {
				t.Errorf("the turn under the same id says %s, %v", got, err)
			}
			other := chat("t-3", "inspect")
			other.Kind = assistant.Reasoning
			if _, _, err := said(t, m, other); err != nil {
				t.Fatal(err)
			}
			if strings.Contains(record.String(), "tide") {
				t.Error("what is said in a call reaches the model together with the chat")
			}
		})
	}
}

func TestModelReason(t *testing.T) {
	for name, api := range apis {
		t.Run(name, func(t *testing.T) {
			s, record := server(t, mockllm.Config{})
			dir := t.TempDir()
			m := model(t, api, s.URL, "", dir)
			a, err := m.Reason(t.Context(), assistant.Question{ID: "j-1", System: "Only JSON.", Input: `say {"a":1}`, Model: "mock-2", MaxTokens: 77})
			if err != nil || a.Text != `{"a":1}` || a.ModelRef != "mock-2" || a.RunID == "" {
				t.Errorf("the answer is %+v, %v", a, err)
			}
			var used byo.Usage
			if err := json.Unmarshal(a.Usage, &used); err != nil || used.InputTokens == 0 || used.OutputTokens == 0 {
				t.Errorf("the usage is %s, %v", a.Usage, err)
			}
			for _, want := range []string{"Only JSON.", "77"} {
				if !strings.Contains(record.String(), want) {
					t.Errorf("the server was not sent %q: %s", want, record)
				}
			}
			if entries, _ := os.ReadDir(dir); len(entries) != 0 {
				t.Errorf("a job left %v in the memory", entries)
			}
		})
	}
}

// Errors say what a person can do, keys that are refused are ErrAuth, what is worth
// another try gets one, and a turn that failed is remembered without an answer.
func TestModelErrors(t *testing.T) {
	for name, api := range apis {
		t.Run(name, func(t *testing.T) {
			s, record := server(t, mockllm.Config{APIKey: "mock-key-0123456789"})
			m := model(t, api, s.URL, "mock-key-of-another", t.TempDir())
			_, _, err := said(t, m, chat("t-1", "say hello"))
			var told *assistant.TurnError
			if !errors.Is(err, assistant.ErrAuth) || !errors.As(err, &told) || told.Code != byo.FailAgent {
				t.Errorf("a refused key gives %v", err)
			}
			if strings.Contains(fmt.Sprint(err), "mock-key-of-another") {
				t.Error("the error holds the key")
			}
			if _, err := m.Reason(t.Context(), assistant.Question{ID: "j", Input: "say hello"}); !errors.Is(err, assistant.ErrAuth) {
				t.Errorf("a refused key gives %v for a job", err)
			}

			m = model(t, api, s.URL, "mock-key-0123456789", t.TempDir())
			record.Reset()
			if _, _, err = said(t, m, chat("t-1", "error 400")); !errors.As(err, &told) || !strings.Contains(told.Text, "refuses the request") {
				t.Errorf("a refused request gives %v", err)
			}
			if n := strings.Count(record.String(), "error 400"); n != 1 {
				t.Errorf("a refused request was sent %d times", n)
			}
			if got, _, err := said(t, m, chat("t-2", "flaky 1 503 ;; say at last")); err != nil || got != "[at last]" {
				t.Errorf("after one failure the turn says %s, %v", got, err)
			}

			gone := model(t, api, "http://127.0.0.1:1", "", t.TempDir())
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			if err := gone.Turn(ctx, chat("t-1", "hello"), func(assistant.Output) {}); !errors.Is(err, context.Canceled) {
				t.Errorf("a turn that is no longer wanted ends with %v", err)
			}
		})
	}
}

// What is remembered is bounded, private, and of no use to another session.
func TestMemoryBounds(t *testing.T) {
	s, record := server(t, mockllm.Config{})
	dir := t.TempDir()
	m := model(t, backend.NewChat, s.URL, "", dir)
	for i := range 60 {
		if _, _, err := said(t, m, chat(fmt.Sprintf("t-%d", i), fmt.Sprintf("say number %d %s", i, strings.Repeat("x", 2000)))); err != nil {
			t.Fatal(err)
		}
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil || len(files) != 1 {
		t.Fatalf("the memory has the files %v, %v", files, err)
	}
	info, err := os.Stat(files[0])
	if err != nil || info.Mode().Perm() != 0o600 || info.Size() > 120<<10 {
		t.Errorf("the memory is %v, %v", info, err)
	}
	record.Reset()
	if _, _, err := said(t, m, chat("t-last", "say done")); err != nil {
		t.Fatal(err)
	}
	if got := record.String(); !strings.Contains(got, "number 59 ") || strings.Contains(got, "number 1 ") {
		t.Error("the memory does not end with the newest messages")
	}
	record.Reset()
	other := chat("t-other", "say hi")
	other.SessionID = "S-7"
	if _, _, err := said(t, m, other); err != nil || strings.Contains(record.String(), "number 59 ") {
		t.Errorf("another session sees this one's messages, %v", err)
	}
}
