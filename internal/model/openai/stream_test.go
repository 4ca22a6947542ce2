package openai_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"openclaw/internal/model"
	"openclaw/internal/model/modeltest"
	"openclaw/internal/turn"
)

// events joins chunks into a stream; done adds the marker of its end.
func events(done bool, chunks ...string) string {
	var b strings.Builder
	for _, c := range chunks {
		b.WriteString("data: " + c + "\n\n")
	}
	if done {
		b.WriteString("data: [DONE]\n\n")
	}
	return b.String()
}

func delta(d string) string { return `{"choices":[{"index":0,"delta":` + d + `}]}` }

func finish(reason string) string {
	return `{"choices":[{"index":0,"delta":{},"finish_reason":"` + reason + `"}]}`
}

// outcome is what the tests compare.
type outcome struct {
	Text, Thinking, Calls string
	Stop                  turn.StopReason
	Kind                  model.Kind
	Usage                 [4]int // input, output, cache read, cache write
}

func outcomeOf(r modeltest.Result) outcome {
	o := outcome{Text: r.Text, Thinking: r.Thinking}
	var calls []string
	for _, c := range r.Calls {
		calls = append(calls, c.ID+" "+c.Name+c.Arguments)
	}
	o.Calls = strings.Join(calls, ", ")
	if r.Err != nil {
		o.Kind = r.Err.Kind
	}
	if r.Done != nil {
		u := r.Done.Usage
		o.Stop, o.Usage = r.Done.StopReason, [4]int{u.Input, u.Output, u.CacheRead, u.CacheWrite}
	}
	return o
}

// Chat Completions as servers other than OpenAI stream them.
func TestCompletionStreams(t *testing.T) {
	tests := []struct {
		name, body string
		want       outcome
	}{
		{"Gemini repeats growing usage", events(true,
			`{"choices":[{"delta":{"content":"a"}}],"usage":{"prompt_tokens":10,"completion_tokens":1,"total_tokens":11}}`,
			`{"choices":[{"delta":{"content":"b"},"finish_reason":"stop"}],"usage":{"prompt_tokens":10,"completion_tokens":2,"total_tokens":12}}`),
			outcome{Text: "ab", Stop: turn.StopEnd, Usage: [4]int{10, 2}}},
		{"cached tokens are part of the prompt", events(true, delta(`{"content":"a"}`), finish("stop"),
			`{"choices":[],"usage":{"prompt_tokens":100,"completion_tokens":5,"prompt_tokens_details":{"cached_tokens":60,"cache_write_tokens":10}}}`),
			outcome{Text: "a", Stop: turn.StopEnd, Usage: [4]int{30, 5, 60, 10}}},
		{"DeepSeek counts hits apart", events(true, delta(`{"content":"a"}`), finish("stop"),
			`{"choices":[],"usage":{"prompt_tokens":100,"completion_tokens":5,"prompt_cache_hit_tokens":64}}`),
			outcome{Text: "a", Stop: turn.StopEnd, Usage: [4]int{36, 5, 64}}},
		{"Moonshot's usage inside the choice", events(true, `{"choices":[{"delta":{"content":"a"},"finish_reason":"stop","usage":{"prompt_tokens":3,"completion_tokens":1}}]}`),
			outcome{Text: "a", Stop: turn.StopEnd, Usage: [4]int{3, 1}}},
		{"comments between", ": OPENROUTER PROCESSING\n\n" + events(true, delta(`{"content":"a"}`)+"\n\n: still there", finish("stop")), outcome{Text: "a", Stop: turn.StopEnd}},
		{"reasoning that is no text", events(true, delta(`{"reasoning":{"x":1},"content":"a"}`), finish("stop")), outcome{Text: "a", Stop: turn.StopEnd}},
		{"reasoning field", events(true, delta(`{"content":"","reasoning":"hm "}`), delta(`{"reasoning":"hm","reasoning_details":[{}]}`), delta(`{"content":"a"}`), finish("stop")),
			outcome{Thinking: "hm hm", Text: "a", Stop: turn.StopEnd}},
		{"error null", events(true, `{"error":null,"choices":[{"delta":{"content":"a"}}]}`, finish("stop")), outcome{Text: "a", Stop: turn.StopEnd}},
		{"no index, new ids", events(true, delta(`{"tool_calls":[{"id":"c1","function":{"name":"x","arguments":"{\"a\":"}}]}`),
			delta(`{"tool_calls":[{"function":{"arguments":"1}"}}]}`), delta(`{"tool_calls":[{"id":"c2","function":{"name":"y","arguments":"{}"}}]}`), finish("tool_calls")),
			outcome{Calls: `c1 x{"a":1}, c2 y{}`, Stop: turn.StopToolUse}},
		{"every index 0, name repeated", events(true, delta(`{"tool_calls":[{"index":0,"id":"c1","function":{"name":"x","arguments":"{"}}]}`),
			delta(`{"tool_calls":[{"index":0,"id":"c1","function":{"name":"x","arguments":"}"}}]}`), delta(`{"tool_calls":[{"index":0,"id":"c2","function":{"name":"y","arguments":"{"}}]}`),
			delta(`{"tool_calls":[{"index":0,"function":{"arguments":"}"}}]}`), finish("tool_calls")),
			outcome{Calls: `c1 x{}, c2 y{}`, Stop: turn.StopToolUse}},
		{"stop with calls", events(true, delta(`{"tool_calls":[{"index":0,"id":"c","function":{"name":"x","arguments":""}}]}`), finish("stop")),
			outcome{Calls: `c x{}`, Stop: turn.StopToolUse}},
		{"error in the stream", events(false, delta(`{"content":"par"}`), `{"error":{"code":503,"message":"The model is overloaded.","status":"UNAVAILABLE"}}`),
			outcome{Text: "par", Kind: model.KindOverloaded}},
		{"rate limit in the stream", events(false, `{"error":{"code":429,"message":"Rate limit exceeded"},"choices":[]}`), outcome{Kind: model.KindRateLimit}},
		{"end without a reason", events(true, delta(`{"content":"par"}`)), outcome{Text: "par", Kind: model.KindNetwork}},
		{"end without anything", events(false, delta(`{"content":"par"}`)), outcome{Text: "par", Kind: model.KindNetwork}},
		{"reason error", events(true, delta(`{"content":"par"}`), finish("error")), outcome{Text: "par", Kind: model.KindNetwork}},
		{"no [DONE]", events(false, delta(`{"content":"a"}`), finish("stop")), outcome{Text: "a", Stop: turn.StopEnd}},
		{"filtered without a word", events(true, delta(`{}`), finish("content_filter")), outcome{Kind: model.KindBadReply}},
		{"refusal text", events(true, delta(`{"refusal":"I cannot"}`), finish("stop")), outcome{Text: "I cannot", Stop: turn.StopEnd}},
		{"only [DONE]", events(true), outcome{Kind: model.KindBadReply}},
	}
	for _, tt := range tests {
		r := modeltest.Stream(t, completions, model.Target{Info: info(model.APICompletions)}, tt.body)
		if diff := cmp.Diff(tt.want, outcomeOf(r)); diff != "" {
			t.Errorf("%s: outcome differs (-want +got):\n%s", tt.name, diff)
		}
	}
}

// Gemini binds a signature to a call and wants it back; a call without an id
// gets one that no other call has.
func TestCompletionSignaturesAndIDs(t *testing.T) {
	target := model.Target{Info: info(model.APIGoogle)}
	body := events(true, delta(`{"tool_calls":[{"index":0,"function":{"name":"x","arguments":"{}"},"extra_content":{"google":{"thought_signature":"sig=="}}}]}`), finish("tool_calls"))
	first, second := modeltest.Stream(t, completions, target, body), modeltest.Stream(t, completions, target, body)
	if first.Err != nil || first.Calls[0].ID == "" || first.Calls[0].ID == second.Calls[0].ID {
		t.Fatalf("calls = %+v and %+v, want two different ids", first.Calls, second.Calls)
	}
	target.BaseURL = "/v1"
	sent := modeltest.Capture(t, completions, target, request([]turn.Message{turn.User("x", someTime), *first.Done}))
	if !strings.Contains(string(sent.Body), `"thought_signature": "sig=="`) {
		t.Errorf("the signature does not go back: %s", sent.Body)
	}
}

func TestResponsesStreams(t *testing.T) {
	created := `{"type":"response.created","response":{"status":"in_progress"}}`
	completed := `{"type":"response.completed","response":{"status":"completed","usage":{"input_tokens":100,"output_tokens":7,"input_tokens_details":{"cached_tokens":40}}}}`
	text := `{"type":"response.output_text.delta","delta":"hi"}`
	tests := []struct {
		name, body string
		want       outcome
	}{
		{"cached tokens", events(false, created, text, completed), outcome{Text: "hi", Stop: turn.StopEnd, Usage: [4]int{60, 7, 40}}},
		{"summary in parts", events(false, created, `{"type":"response.reasoning_summary_part.added"}`, `{"type":"response.reasoning_summary_text.delta","delta":"a"}`,
			`{"type":"response.reasoning_summary_part.added"}`, `{"type":"response.reasoning_summary_text.delta","delta":"b"}`,
			`{"type":"response.output_item.done","item":{"type":"reasoning","id":"rs"}}`, text, completed),
			outcome{Thinking: "a\n\nb", Text: "hi", Stop: turn.StopEnd, Usage: [4]int{60, 7, 40}}},
		{"open reasoning", events(false, created, `{"type":"response.reasoning_text.delta","delta":"a"}`, text, completed),
			outcome{Thinking: "a", Text: "hi", Stop: turn.StopEnd, Usage: [4]int{60, 7, 40}}},
		{"refusal", events(false, created, `{"type":"response.refusal.delta","delta":"no"}`, completed), outcome{Text: "no", Stop: turn.StopEnd, Usage: [4]int{60, 7, 40}}},
		{"unknown events", events(false, created, `{"type":"response.web_search_call.searching","x":[1]}`, `{"type":"keepalive"}`, text, completed), outcome{Text: "hi", Stop: turn.StopEnd, Usage: [4]int{60, 7, 40}}},
		{"incomplete", events(false, created, text, `{"type":"response.incomplete","response":{"incomplete_details":{"reason":"max_output_tokens"}}}`), outcome{Text: "hi", Stop: turn.StopLength}},
		{"filtered", events(false, created, `{"type":"response.incomplete","response":{"incomplete_details":{"reason":"content_filter"}}}`), outcome{Kind: model.KindBadReply}},
		{"failed", events(false, created, text, `{"type":"response.failed","response":{"status":"failed","error":{"code":"rate_limit_exceeded","message":"Rate limit reached"}}}`), outcome{Text: "hi", Kind: model.KindRateLimit}},
		{"failed without a word", events(false, created, `{"type":"response.failed"}`), outcome{Kind: model.KindUnknown}},
		{"error event", events(false, created, `{"type":"error","code":"server_error","message":"The server had an error","param":null}`), outcome{Kind: model.KindServer}},
		{"nested error event", events(false, `{"type":"error","error":{"type":"invalid_request_error","code":"context_length_exceeded","message":"too long"}}`), outcome{Kind: model.KindOverflow}},
		{"cut", events(false, created, text), outcome{Text: "hi", Kind: model.KindNetwork}},
		{"broken item", events(false, created, `{"type":"response.output_item.done","item":7}`), outcome{Kind: model.KindBadReply}},
		{"end without a response", events(false, created, `{"type":"response.completed"}`), outcome{Kind: model.KindBadReply}},
	}
	for _, tt := range tests {
		r := modeltest.Stream(t, responses, model.Target{Info: info(model.APIResponses)}, tt.body)
		if diff := cmp.Diff(tt.want, outcomeOf(r)); diff != "" {
			t.Errorf("%s: outcome differs (-want +got):\n%s", tt.name, diff)
		}
	}
}

// The stored answer has the form of samples/session-responses-thinking.jsonl.
func TestResponsesStoresItems(t *testing.T) {
	item := `{"id":"rs_1","type":"reasoning","summary":[{"type":"summary_text","text":"hm"}],"encrypted_content":"abc"}`
	r := modeltest.Stream(t, responses, model.Target{Info: info(model.APIResponses)}, events(false,
		`{"type":"response.reasoning_summary_text.delta","delta":"hm"}`, `{"type":"response.output_item.done","item":`+item+`}`,
		`{"type":"response.output_text.delta","delta":"hi"}`, `{"type":"response.output_item.done","item":{"type":"message","id":"msg_1"}}`,
		`{"type":"response.output_item.done","item":{"type":"message","id":"msg_2"}}`,
		`{"type":"response.output_item.done","item":{"type":"function_call","id":"fc_1","call_id":"call_1","name":"x","arguments":"{\"a\":1}"}}`,
		`{"type":"response.completed","response":{}}`))
	want := turn.Content{
		{Type: turn.BlockThinking, Thinking: "hm", ThinkingSignature: item},
		{Type: turn.BlockText, Text: "hi", TextSignature: "msg_1"},
		{Type: turn.BlockToolCall, ID: "call_1|fc_1", Name: "x", Arguments: json.RawMessage(`{"a":1}`)},
	}
	if r.Done == nil {
		t.Fatal(r.Err)
	}
	if diff := cmp.Diff(want, r.Done.Content); diff != "" {
		t.Errorf("content differs (-want +got):\n%s", diff)
	}
}

// Reasoning goes back only in front of what it led to, and only to its model.
func TestResponsesReplaysReasoning(t *testing.T) {
	target := model.Target{Info: info(model.APIResponses), BaseURL: "/v1"}
	answer := func(id string, blocks ...turn.Block) turn.Message {
		return turn.Message{Role: turn.RoleAssistant, API: string(model.APIResponses), Provider: "mock", Model: id, StopReason: turn.StopEnd, Content: blocks}
	}
	thought := turn.Block{Type: turn.BlockThinking, Thinking: "hm", ThinkingSignature: `{"id":"rs_1","type":"reasoning"}`}
	text := turn.Block{Type: turn.BlockText, Text: "hi", TextSignature: "msg_1"}
	for _, tt := range []struct {
		name string
		m    turn.Message
		want bool
	}{
		{"same model", answer("mock-1", thought, text), true},
		{"alone", answer("mock-1", thought), false},
		{"at the end", answer("mock-1", text, thought), false},
		{"other model", answer("mock-2", thought, text), false},
	} {
		sent := string(modeltest.Capture(t, responses, target, request([]turn.Message{turn.User("x", someTime), tt.m})).Body)
		if got := strings.Contains(sent, "rs_1"); got != tt.want {
			t.Errorf("%s: reasoning sent %v, want %v: %s", tt.name, got, tt.want, sent)
		}
	}
}
