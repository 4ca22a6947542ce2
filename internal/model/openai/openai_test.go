package openai_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"openclaw/internal/logs"
	"openclaw/internal/model"
	"openclaw/internal/model/modeltest"
	"openclaw/internal/model/openai"
	"openclaw/internal/testkit"
	"openclaw/internal/turn"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// client returns a client whose connections end with the test.
func client(t testing.TB) *openai.Client {
	hc := model.NewHTTPClient(model.HTTPConfig{})
	t.Cleanup(hc.CloseIdleConnections)
	return openai.New(hc)
}

func TestCompletionsContract(t *testing.T) {
	modeltest.Run(t, modeltest.Setup{API: model.APICompletions, Wire: true, Signed: true, Open: func(t *testing.T, target model.Target) model.Model {
		target.BaseURL += "/v1"
		return completions(t, target)
	}})
}

func TestResponsesContract(t *testing.T) {
	modeltest.Run(t, modeltest.Setup{API: model.APIResponses, Wire: true, Signed: true, Open: func(t *testing.T, target model.Target) model.Model {
		target.BaseURL += "/v1"
		return responses(t, target)
	}})
}

func completions(t *testing.T, target model.Target) model.Model {
	t.Helper()
	m, err := client(t).Completions(target)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func responses(t *testing.T, target model.Target) model.Model {
	t.Helper()
	m, err := client(t).Responses(target)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// someTime stands in messages whose time does not matter.
var someTime = time.UnixMilli(1)

func info(api model.API) model.Info {
	return model.Info{Ref: model.Ref{Provider: "mock", ID: "mock-1"}, API: api, MaxTokens: 8192, Input: []string{"text", "image"}}
}

// request is a call with a whole conversation.
func request(msgs []turn.Message) model.Request {
	return model.Request{SessionID: "session-1", System: "You are <here> to help.", Messages: msgs, Think: "low", Tools: []model.Tool{
		{Name: "read", Description: "Reads a file.", Parameters: json.RawMessage(`{"type":"object","required":[],"properties":{"path":{"type":"string"}}}`)},
		{Name: "now", Parameters: json.RawMessage(`{"type":"object","properties":{}}`)}}}
}

// The bodies of agent-runtime 18.8 and samples/model-request-structure.json.
func TestRequests(t *testing.T) {
	plain, thinking := info(model.APICompletions), info(model.APIResponses)
	thinking.Reasoning = true
	textOnly := info(model.APICompletions)
	textOnly.Input, textOnly.Reasoning, textOnly.MaxTokens = []string{"text"}, true, 128_000
	no, half := false, 0.5
	strict := model.Compat{SupportsStore: &no, SupportsReasoningEffort: &no, MaxTokensField: "max_tokens"}
	tests := []struct {
		name   string
		open   func(*testing.T, model.Target) model.Model
		target model.Target
		req    model.Request
		path   string
	}{
		{"completions", completions, model.Target{Info: plain}, request(modeltest.History(plain, "reasoning_content")), "/v1/chat/completions"},
		{"completions_compat", completions, model.Target{Info: textOnly, Compat: strict}, request(modeltest.History(textOnly, "reasoning")), "/v1/chat/completions"},
		{"responses", responses, model.Target{Info: thinking}, request(modeltest.History(thinking, `{"id":"rs_1","type":"reasoning","summary":[]}`)), "/v1/responses"},
		{"responses_plain", responses, model.Target{Info: info(model.APIResponses)}, model.Request{SessionID: strings.Repeat("long", 40), Temperature: &half, MaxTokens: 100, Think: "off",
			Messages: []turn.Message{turn.User("hi", time.UnixMilli(1))}, CacheRetention: "long"}, "/v1/responses"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.target.BaseURL, tt.target.Key = "/v1", "secret"
			tt.target.Headers = map[string]logs.Secret{"X-Extra": "yes"}
			sent := modeltest.Capture(t, tt.open, tt.target, tt.req)
			testkit.Golden(t, tt.name+".json", sent.Body)
			if sent.Path != tt.path || sent.Header.Get("Authorization") != "Bearer secret" || sent.Header.Get("X-Extra") != "yes" {
				t.Errorf("sent to %s with %v", sent.Path, sent.Header)
			}
			for name := range sent.Header {
				if strings.HasPrefix(name, "X-Stainless") || strings.HasPrefix(name, "Openai-") {
					t.Errorf("header %s tells more than it should", name)
				}
			}
		})
	}
	keyless := modeltest.Capture(t, completions, model.Target{Info: plain, BaseURL: "/v1/"}, request(nil))
	if got := keyless.Header.Get("Authorization"); got != "" || keyless.Path != "/v1/chat/completions" {
		t.Errorf("without a key: Authorization %q, path %s", got, keyless.Path)
	}
	own := model.Target{Info: plain, BaseURL: "/v1", Key: "secret", Headers: map[string]logs.Secret{"authorization": "Custom x", "User-Agent": "mine"}}
	if got := modeltest.Capture(t, completions, own, request(nil)).Header; got.Get("Authorization") != "Custom x" || got.Get("User-Agent") != "mine" {
		t.Errorf("headers = %v, want the configured ones to win", got)
	}
}

func TestBadAddress(t *testing.T) {
	for _, base := range []string{"", "api.example.com/v1", "ftp://x"} {
		if _, err := client(t).Completions(model.Target{BaseURL: base}); err == nil {
			t.Errorf("Completions with baseUrl %q succeeded", base)
		}
		if _, err := client(t).Responses(model.Target{BaseURL: base}); err == nil {
			t.Errorf("Responses with baseUrl %q succeeded", base)
		}
	}
}

func BenchmarkCompletions(b *testing.B) {
	modeltest.Bench(b, client(b).Completions, model.Target{Info: info(model.APICompletions), BaseURL: "/v1", Key: "k"})
}

func BenchmarkResponses(b *testing.B) {
	modeltest.Bench(b, client(b).Responses, model.Target{Info: info(model.APIResponses), BaseURL: "/v1", Key: "k"})
}
