package anthropic_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"openclaw/internal/logs"
	"openclaw/internal/model"
	"openclaw/internal/model/anthropic"
	"openclaw/internal/model/modeltest"
	"openclaw/internal/testkit"
	"openclaw/internal/turn"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// open makes a model whose connections end with the test.
func open(t *testing.T, target model.Target) model.Model {
	t.Helper()
	hc := model.NewHTTPClient(model.HTTPConfig{})
	t.Cleanup(hc.CloseIdleConnections)
	m, err := anthropic.New(hc).Messages(target)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestContract(t *testing.T) {
	modeltest.Run(t, modeltest.Setup{API: model.APIAnthropic, Wire: true, Signed: true, Open: open})
}

func info(id string) model.Info {
	return model.Info{Ref: model.Ref{Provider: "mock", ID: id}, API: model.APIAnthropic, MaxTokens: 8192, Reasoning: true, Input: []string{"text", "image"}}
}

// request is a call with a conversation.
func request(msgs []turn.Message) model.Request {
	return model.Request{SessionID: "session-1", System: "You are <here> to help.", Messages: msgs, Think: "low", Tools: []model.Tool{
		{Name: "read", Description: "Reads a file.", Parameters: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"}},"required":[]}`)}}}
}

// The body of agent-runtime 18.8 and samples/model-request-structure.json.
func TestRequest(t *testing.T) {
	textOnly := info("mock-2")
	textOnly.Input, textOnly.Reasoning, textOnly.MaxTokens = []string{"text"}, false, 0
	half := 0.5
	hello := turn.User("hi", time.UnixMilli(1))
	tests := []struct {
		name string
		info model.Info
		req  model.Request
	}{
		{"messages", info("mock-2"), request(modeltest.History(info("mock-2"), "mock-signature"))},
		{"text_only", textOnly, request(modeltest.History(textOnly, "redacted_thinking:secret"))},
		{"plain", info("claude-opus-5"), model.Request{Messages: []turn.Message{hello, turn.User(" ", time.UnixMilli(2))}, Temperature: &half, MaxTokens: 100, CacheRetention: "none"}},
		{"adaptive", info("claude-opus-5"), model.Request{Messages: []turn.Message{hello}, Temperature: &half, Think: "xhigh"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			sent := modeltest.Capture(t, open, model.Target{Info: tt.info, BaseURL: "/v1/", Key: "secret"}, tt.req)
			testkit.Golden(t, tt.name+".json", sent.Body)
			if sent.Path != "/v1/messages" || sent.Header.Get("Anthropic-Version") != "2023-06-01" ||
				sent.Header.Get("Anthropic-Beta") != "fine-grained-tool-streaming-2025-05-14,interleaved-thinking-2025-05-14" {
				t.Errorf("sent to %s with %v", sent.Path, sent.Header)
			}
			for name := range sent.Header {
				if strings.HasPrefix(name, "X-Stainless") {
					t.Errorf("header %s tells more than it should", name)
				}
			}
		})
	}
}

func TestCredentials(t *testing.T) {
	tests := []struct {
		name               string
		target             model.Target
		key, authorization string
		beta               string
	}{
		{"API key", model.Target{Key: "k"}, "k", "", ""},
		{"bearer", model.Target{Key: "k", Bearer: true}, "", "Bearer k", ""},
		{"subscription", model.Target{Key: "sk-ant-oat01-x"}, "", "Bearer sk-ant-oat01-x", "oauth-2025-04-20"},
		{"none", model.Target{}, "", "", ""},
		{"own header", model.Target{Key: "k", Headers: map[string]logs.Secret{"x-api-key": "mine"}}, "mine", "", ""},
	}
	for _, tt := range tests {
		tt.target.Info = info("mock-2")
		h := modeltest.Capture(t, open, tt.target, request(nil)).Header
		if h.Get("X-Api-Key") != tt.key || h.Get("Authorization") != tt.authorization || !strings.Contains(h.Get("Anthropic-Beta"), tt.beta) {
			t.Errorf("%s: headers %v, want key %q, authorization %q", tt.name, h, tt.key, tt.authorization)
		}
	}
	if _, err := anthropic.New(nil).Messages(model.Target{BaseURL: "api.example.com"}); err == nil {
		t.Error("Messages with a baseUrl without a scheme succeeded")
	}
}

// Budgets for models that know them, effort for those that do not.
func TestThinking(t *testing.T) {
	tests := []struct {
		id, level string
		limit     int // of the model
		asked     int // by the caller
		want      string
	}{
		{"mock-2", "low", 8192, 0, `{"max_tokens":8192,"thinking":{"type":"enabled","budget_tokens":2048}}`},
		{"mock-2", "minimal", 64_000, 0, `{"max_tokens":33024,"thinking":{"type":"enabled","budget_tokens":1024}}`},
		{"mock-2", "medium", 8192, 0, `{"max_tokens":8192,"thinking":{"type":"enabled","budget_tokens":7168}}`},
		{"mock-2", "high", 64_000, 1000, `{"max_tokens":17384,"thinking":{"type":"enabled","budget_tokens":16360}}`},
		{"claude-opus-4-5", "xhigh", 64_000, 0, `{"max_tokens":64000,"thinking":{"type":"enabled","budget_tokens":32768}}`},
		{"claude-sonnet-4-5-20250929", "low", 64_000, 0, `{"max_tokens":34048,"thinking":{"type":"enabled","budget_tokens":2048}}`},
		{"claude-opus-4-20250514", "low", 32_000, 0, `{"max_tokens":32000,"thinking":{"type":"enabled","budget_tokens":2048}}`},
		{"mock-2", "low", 1500, 0, `{"max_tokens":1500}`},
		{"mock-2", "off", 8192, 0, `{"max_tokens":8192}`},
		{"mock-2", "", 8192, 0, `{"max_tokens":8192}`},
		{"claude-opus-4-6", "minimal", 128_000, 0, `{"max_tokens":32000,"thinking":{"type":"adaptive","display":"summarized"},"output_config":{"effort":"low"}}`},
		{"claude-opus-4.6", "xhigh", 128_000, 0, `{"max_tokens":32000,"thinking":{"type":"adaptive","display":"summarized"},"output_config":{"effort":"max"}}`},
		{"claude-sonnet-5", "xhigh", 128_000, 0, `{"max_tokens":32000,"thinking":{"type":"adaptive","display":"summarized"},"output_config":{"effort":"xhigh"}}`},
		{"claude-fable-5", "off", 128_000, 0, `{"max_tokens":32000}`},
	}
	for _, tt := range tests {
		i := info(tt.id)
		i.MaxTokens = tt.limit
		sent := modeltest.Capture(t, open, model.Target{Info: i}, model.Request{Messages: []turn.Message{turn.User("hi", time.UnixMilli(1))}, Think: tt.level, MaxTokens: tt.asked})
		var got struct {
			MaxTokens    int             `json:"max_tokens"`
			Thinking     json.RawMessage `json:"thinking,omitempty"`
			OutputConfig json.RawMessage `json:"output_config,omitempty"`
		}
		if err := json.Unmarshal(sent.Body, &got); err != nil {
			t.Fatal(err)
		}
		out, _ := json.Marshal(got)
		if string(out) != tt.want {
			t.Errorf("%s at level %q = %s, want %s", tt.id, tt.level, out, tt.want)
		}
	}
}

// events joins events into a stream.
func events(list ...string) string {
	var b strings.Builder
	for _, e := range list {
		var v struct{ Type string }
		_ = json.Unmarshal([]byte(e), &v)
		b.WriteString("event: " + v.Type + "\ndata: " + e + "\n\n")
	}
	return b.String()
}

func TestStreams(t *testing.T) {
	const (
		start  = `{"type":"message_start","message":{"usage":{"input_tokens":10,"cache_read_input_tokens":5,"cache_creation_input_tokens":3,"output_tokens":1}}}`
		text   = `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`
		hi     = `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"hi"}}`
		stop   = `{"type":"content_block_stop","index":0}`
		end    = `{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":7}}`
		finish = `{"type":"message_stop"}`
	)
	usage := &turn.Usage{Input: 10, Output: 7, CacheRead: 5, CacheWrite: 3, TotalTokens: 25}
	tests := []struct {
		name, body string
		content    turn.Content
		stop       turn.StopReason
		usage      *turn.Usage
		kind       model.Kind
	}{
		{"usage from both ends", events(start, text, hi, stop, end, finish), turn.Text("hi"), turn.StopEnd, usage, ""},
		{"no message_stop", events(start, text, hi, stop, end), turn.Text("hi"), turn.StopEnd, usage, ""},
		{"totals repeated at the end", events(start, text, hi, stop, `{"type":"message_delta","delta":{"stop_reason":"stop_sequence"},"usage":{"input_tokens":11,"output_tokens":7,"cache_read_input_tokens":0}}`, finish),
			turn.Text("hi"), turn.StopEnd, &turn.Usage{Input: 11, Output: 7, CacheWrite: 3, TotalTokens: 21}, ""},
		{"redacted reasoning", events(start, `{"type":"content_block_start","index":0,"content_block":{"type":"redacted_thinking","data":"xyz"}}`, stop, text, hi, stop, end, finish),
			turn.Content{{Type: turn.BlockThinking, ThinkingSignature: "redacted_thinking:xyz"}, {Type: turn.BlockText, Text: "hi"}}, turn.StopEnd, usage, ""},
		{"hidden reasoning", events(start, `{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"si"}}`, `{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"g"}}`, stop, text, hi, stop, end, finish),
			turn.Content{{Type: turn.BlockThinking, ThinkingSignature: "sig"}, {Type: turn.BlockText, Text: "hi"}}, turn.StopEnd, usage, ""},
		{"arguments at the start", events(start, `{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"t","name":"x","input":{"a":1}}}`, stop, end, finish),
			turn.Content{{Type: turn.BlockToolCall, ID: "t", Name: "x", Arguments: json.RawMessage(`{"a":1}`)}}, turn.StopToolUse, usage, ""},
		{"text at the start", events(start, `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"hi"}}`, stop, end, finish), turn.Text("hi"), turn.StopEnd, usage, ""},
		{"block left open", events(start, text, hi, end, finish), turn.Text("hi"), turn.StopEnd, usage, ""},
		{"unknown events", events(start, `{"type":"novelty","x":[1]}`, text, `{"type":"content_block_delta","index":0,"delta":{"type":"citations_delta"}}`, hi, stop, end, finish), turn.Text("hi"), turn.StopEnd, usage, ""},
		{"window exceeded", events(start, text, hi, stop, `{"type":"message_delta","delta":{"stop_reason":"model_context_window_exceeded"},"usage":{"output_tokens":7}}`, finish), turn.Text("hi"), turn.StopLength, usage, ""},
		{"refused without a word", events(start, `{"type":"message_delta","delta":{"stop_reason":"refusal"}}`, finish), nil, "", nil, model.KindBadReply},
		{"overloaded", events(start, text, hi, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`), nil, "", nil, model.KindOverloaded},
		{"api error", events(`{"type":"error","error":{"type":"api_error","message":"Internal server error"}}`), nil, "", nil, model.KindServer},
		{"cut", events(start, text, hi), nil, "", nil, model.KindNetwork},
		{"stop without a reason", events(start, text, hi, stop, finish), nil, "", nil, model.KindNetwork},
		{"broken", events(start) + "event: content_block_delta\ndata: {\"type\":\n\n", nil, "", nil, model.KindBadReply},
	}
	for _, tt := range tests {
		r := modeltest.Stream(t, open, model.Target{Info: info("mock-2")}, tt.body)
		if r.Err != nil {
			if r.Err.Kind != tt.kind {
				t.Errorf("%s: error %v of kind %s, want %q", tt.name, r.Err, r.Err.Kind, tt.kind)
			}
			continue
		}
		got := struct {
			Content turn.Content
			Stop    turn.StopReason
			Usage   *turn.Usage
		}{r.Done.Content, r.Done.StopReason, r.Done.Usage}
		want := got
		want.Content, want.Stop, want.Usage = tt.content, tt.stop, tt.usage
		if diff := cmp.Diff(want, got); diff != "" || tt.kind != "" {
			t.Errorf("%s: answer differs, want kind %q (-want +got):\n%s", tt.name, tt.kind, diff)
		}
	}
}

// Ids of other families are made fit, the same way for a call and its result.
func TestForeignIDs(t *testing.T) {
	id := "call_" + strings.Repeat("é|", 60)
	sent := string(modeltest.Capture(t, open, model.Target{Info: info("mock-2")}, request([]turn.Message{
		turn.User("x", time.UnixMilli(1)),
		{Role: turn.RoleAssistant, StopReason: turn.StopToolUse, Content: turn.Content{{Type: turn.BlockToolCall, ID: id, Name: "read"}}},
		{Role: turn.RoleToolResult, ToolCallID: id, Content: turn.Text("r")}})).Body)
	fit := "call_" + strings.Repeat("_", 59)
	if !strings.Contains(sent, `"id": "`+fit+`"`) || !strings.Contains(sent, `"tool_use_id": "`+fit+`"`) {
		t.Errorf("body = %s, want the id %s in both places", sent, fit)
	}
}

func BenchmarkMessages(b *testing.B) {
	hc := model.NewHTTPClient(model.HTTPConfig{})
	b.Cleanup(hc.CloseIdleConnections)
	modeltest.Bench(b, anthropic.New(hc).Messages, model.Target{Info: info("mock-2"), Key: "k"})
}
