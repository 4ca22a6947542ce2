package mockllm

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"openclaw/internal/cue"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// listen serves s; its client is closed with the test.
func listen(t *testing.T, cfg Config) (*Server, *httptest.Server) {
	t.Helper()
	s := New(cfg)
	h := httptest.NewServer(s)
	t.Cleanup(h.Close)
	return s, h
}

func post(t *testing.T, h *httptest.Server, path, body string) (int, string) {
	t.Helper()
	r, err := h.Client().Post(h.URL+path, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	b, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return r.StatusCode, string(b)
}

func quoted(s string) string { b, _ := json.Marshal(s); return string(b) }

// bodies asks the same of every API.
func bodies(text string, stream bool) map[string]string {
	head := `{"model":"m"`
	if stream {
		head += `,"stream":true`
	}
	return map[string]string{
		"/v1/chat/completions": head + `,"messages":[{"role":"user","content":` + quoted(text) + `}]}`,
		"/responses":           head + `,"input":` + quoted(text) + `}`,
		"/v1/messages":         head + `,"max_tokens":5,"messages":[{"role":"user","content":[{"type":"text","text":` + quoted(text) + `}]}]}`,
	}
}

func TestSayOnEveryAPI(t *testing.T) {
	_, h := listen(t, Config{})
	for path, body := range bodies("[Mon 10:00] say hi there", false) {
		code, out := post(t, h, path, body)
		if code != 200 || !strings.Contains(out, `"hi there"`) {
			t.Errorf("POST %s = %d %s, want hi there", path, code, out)
		}
	}
}

// The step follows the number of assistant turns after the last user message.
func TestChainSteps(t *testing.T) {
	_, h := listen(t, Config{})
	user := quoted(`tool read {"path":"a"} ;; say end`)
	tests := []struct{ path, body, want string }{
		{"/v1/chat/completions", `{"messages":[{"role":"user","content":` + user + `}]}`, `"name":"read"`},
		{"/v1/chat/completions", `{"messages":[{"role":"user","content":` + user + `},{"role":"assistant","content":null},{"role":"tool","content":"x"}]}`, `"content":"end"`},
		{"/v1/chat/completions", `{"messages":[{"role":"user","content":` + user + `},{"role":"assistant","content":null},{"role":"tool","content":"x"},{"role":"assistant","content":"end"}]}`, `done after 1 tool result(s)`},
		{"/v1/messages", `{"max_tokens":1,"messages":[{"role":"user","content":` + user + `},{"role":"assistant","content":[{"type":"tool_use"}]},{"role":"user","content":[{"type":"tool_result","content":"x"}]}]}`, `"text":"end"`},
		{"/v1/responses", `{"input":[{"role":"user","content":` + user + `},{"type":"reasoning"},{"type":"function_call"},{"type":"function_call_output","output":"x"}]}`, `"text":"end"`},
	}
	for _, tt := range tests {
		if _, out := post(t, h, tt.path, tt.body); !strings.Contains(out, tt.want) {
			t.Errorf("POST %s %s = %s, want %s", tt.path, tt.body, out, tt.want)
		}
	}
}

// Cues that look at the conversation, and the replies that need no cue.
func TestReplies(t *testing.T) {
	_, h := listen(t, Config{Default: "standard"})
	tests := []struct{ do, want string }{
		{"echo", `"content":"echo"`},
		{"hello", `"content":"standard"`},
		{"sleep 1", `"content":"standard"`},
		{"reply HEARTBEAT_OK if all is well", `"content":"HEARTBEAT_OK"`},
		{"answer NO_REPLY", `"content":"NO_REPLY"`},
		{"empty", `"content":""`},
		{"first !mock say x\nsay y", `"content":"x"`},
		{"inspect", `"content":"model=m system_chars=0 messages=1 tools=0 stream=false effort="`},
		{"think why ;; say x", `"reasoning_content":"why"`},
		{"truncate half", `"finish_reason":"length"`},
		{"refuse no", `"finish_reason":"content_filter"`},
		{"usage 5 6 ;; say x", `"prompt_tokens":5`},
	}
	for _, tt := range tests {
		if _, out := post(t, h, "/v1/chat/completions", bodies(tt.do, false)["/v1/chat/completions"]); !strings.Contains(out, tt.want) {
			t.Errorf("reply to %q = %s, want %s", tt.do, out, tt.want)
		}
	}
	_, out := post(t, h, "/v1/chat/completions", `{"messages":[{"role":"user","content":"tool x ;; result"},{"role":"assistant"},{"role":"tool","content":"the result"}]}`)
	if !strings.Contains(out, `"content":"the result"`) {
		t.Errorf("reply to result = %s", out)
	}
}

// Joining the streamed deltas gives the whole text, whatever the piece size.
func TestStreamsJoin(t *testing.T) {
	for _, size := range []int{1, 7, 1000} {
		_, h := listen(t, Config{ChunkSize: size})
		for path, body := range bodies("long 40", true) {
			_, out := post(t, h, path, body)
			if got := joinText(t, out); got != cue.Words(40) {
				t.Errorf("text of %s with pieces of %d = %q", path, size, got)
			}
		}
	}
}

func joinText(t *testing.T, stream string) string {
	t.Helper()
	var got strings.Builder
	sc := bufio.NewScanner(strings.NewReader(stream))
	for sc.Scan() {
		data, ok := strings.CutPrefix(sc.Text(), "data: ")
		if !ok || data == "[DONE]" {
			continue
		}
		var v struct {
			Type    string `json:"type"`
			Delta   any    `json:"delta"`
			Choices []struct {
				Delta struct {
					Content string `json:"content"`
				} `json:"delta"`
			} `json:"choices"`
		}
		if err := json.Unmarshal([]byte(data), &v); err != nil {
			t.Fatal(err)
		}
		for _, c := range v.Choices {
			got.WriteString(c.Delta.Content)
		}
		if s, ok := v.Delta.(string); ok && v.Type == "response.output_text.delta" {
			got.WriteString(s)
		}
		if m, ok := v.Delta.(map[string]any); ok && m["type"] == "text_delta" {
			got.WriteString(m["text"].(string))
		}
	}
	return got.String()
}

func TestFailures(t *testing.T) {
	_, h := listen(t, Config{})
	tests := []struct {
		do, path string
		code     int
		want     string
	}{
		{"error 429", "/v1/messages", 429, "rate_limit_error"},
		{"error 402", "/v1/messages", 402, "billing_error"},
		{"error 500", "/v1/messages", 500, "api_error"},
		{"error 999", "/v1/messages", 500, "api_error"},
		{"overloaded", "/v1/messages", 529, "overloaded_error"},
		{"overloaded", "/v1/chat/completions", 503, "overloaded"},
		{"context_overflow", "/v1/messages", 400, "prompt is too long"},
		{"context_overflow", "/v1/chat/completions", 400, "context_length_exceeded"},
		{"error 500", "/v1/chat/completions", 500, "server_error"},
		{"flaky 1 500 ;; say fine", "/v1/chat/completions", 500, "server_error"},
		{"flaky 1 500 ;; say fine", "/v1/chat/completions", 200, "fine"},
	}
	for _, tt := range tests {
		code, out := post(t, h, tt.path, `{"max_tokens":1,"messages":[{"role":"user","content":`+quoted(tt.do)+`}]}`)
		if code != tt.code || !strings.Contains(out, tt.want) {
			t.Errorf("POST %s %q = %d %s, want %d %s", tt.path, tt.do, code, out, tt.code, tt.want)
		}
	}
	for path, body := range map[string]string{"/v1/messages": `{"messages":[]}`, "/v1/responses": `{}`, "/v1/chat/completions": `{`} {
		if code, out := post(t, h, path, body); code != 400 {
			t.Errorf("POST %s %s = %d %s, want 400", path, body, code, out)
		}
	}
}

func TestCutDropsTheConnection(t *testing.T) {
	s, h := listen(t, Config{ChunkSize: 4})
	r, err := h.Client().Post(h.URL+"/v1/chat/completions", "application/json",
		strings.NewReader(bodies("cut 6 abcdefghij", true)["/v1/chat/completions"]))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	b, err := io.ReadAll(r.Body)
	if err == nil {
		t.Fatal("the body ended cleanly, want a dropped connection")
	}
	if out := string(b); !strings.Contains(out, `"ef"`) || strings.Contains(out, "[DONE]") {
		t.Errorf("body = %s, want the text up to ef and no end", out)
	}
	h.Close() // waits for the handler
	if got := s.Stats().Aborted; got != 1 {
		t.Errorf("aborted = %d, want 1", got)
	}
}

func TestScriptAndRecord(t *testing.T) {
	script, err := ReadScript(strings.NewReader("# turns\n\n{\"match\":\"^go\",\"text\":\"one\"}\n{\"do\":\"tool exec {}\"}\n"))
	if err != nil {
		t.Fatal(err)
	}
	var rec bytes.Buffer
	s, h := listen(t, Config{APIKey: "k", Script: script, Record: &rec})
	send := func(text string) string {
		t.Helper()
		req, _ := http.NewRequest("POST", h.URL+"/v1/chat/completions", strings.NewReader(bodies(text, false)["/v1/chat/completions"]))
		req.Header.Set("Authorization", "Bearer k")
		r, err := h.Client().Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Body.Close()
		b, _ := io.ReadAll(r.Body)
		return string(b)
	}
	for _, tt := range []struct{ text, want string }{{"wait", "mock: ok"}, {"go", "one"}, {"x", "exec"}, {"x", "mock: ok"}} {
		if out := send(tt.text); !strings.Contains(out, tt.want) {
			t.Errorf("reply to %q = %s, want %s", tt.text, out, tt.want)
		}
	}
	if code, _ := post(t, h, "/v1/chat/completions", bodies("x", false)["/v1/chat/completions"]); code != 401 {
		t.Errorf("status without a key = %d, want 401", code)
	}
	h.Close()
	if out := rec.String(); strings.Count(out, "\n") != 5 || strings.Contains(out, "Bearer") || !strings.Contains(out, `redacted`) {
		t.Errorf("record = %s, want five lines without keys", out)
	}
	want := Stats{Calls: 4, MaxInFlight: 1}
	if diff := cmp.Diff(want, s.Stats()); diff != "" {
		t.Errorf("Stats() differs (-want +got):\n%s", diff)
	}
	s.Reset()
	if diff := cmp.Diff(Stats{}, s.Stats()); diff != "" {
		t.Errorf("Stats() after Reset differs (-want +got):\n%s", diff)
	}
	for _, bad := range []string{"{", `{"match":"("}`} {
		if _, err := ReadScript(strings.NewReader(bad)); err == nil {
			t.Errorf("ReadScript(%q) succeeded, want an error", bad)
		}
	}
}

func TestSideEndpoints(t *testing.T) {
	_, h := listen(t, Config{})
	_, a := post(t, h, "/v1/embeddings", `{"model":"e","input":["red apple","red apple"],"dimensions":8}`)
	var v struct {
		Data []struct{ Embedding []float64 }
	}
	if err := json.Unmarshal([]byte(a), &v); err != nil || len(v.Data) != 2 || len(v.Data[0].Embedding) != 8 {
		t.Fatalf("embeddings = %s, %v, want two vectors of 8", a, err)
	}
	if diff := cmp.Diff(v.Data[0], v.Data[1]); diff != "" {
		t.Errorf("the same text gave two vectors:\n%s", diff)
	}
	for _, path := range []string{"/v1/models", "/models", "/healthz", "/stats"} {
		r, err := h.Client().Get(h.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		r.Body.Close()
		if r.StatusCode != 200 || r.Header.Get("X-Mock-Llm") != "1" {
			t.Errorf("GET %s = %d, header %q", path, r.StatusCode, r.Header.Get("X-Mock-Llm"))
		}
	}
}

func FuzzRequests(f *testing.F) {
	for _, b := range bodies("say x", true) {
		f.Add(b)
	}
	f.Add(`{"input":[{"type":"function_call_output","output":[{"text":"x"}]},{"role":"user","content":5}]}`)
	f.Add(`{"max_tokens":1,"messages":[{"role":"user","content":[{"type":"tool_result"},{"text":"say y"}]}]}`)
	s := New(Config{})
	f.Fuzz(func(t *testing.T, body string) {
		for _, parse := range []parseFunc{parseChat, parseResponses, parseMessages} {
			if c, err := parse([]byte(body)); err == nil {
				s.decide(c)
			}
		}
	})
}
