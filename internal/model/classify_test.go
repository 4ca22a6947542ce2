package model

import (
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// Error bodies as vendors and servers send them. See agent-runtime 18.5.
func TestFailureKinds(t *testing.T) {
	tests := []struct {
		name   string
		status int
		body   string
		want   Kind
		said   string
	}{
		{"OpenAI key", 401, `{"error":{"message":"Incorrect API key provided.","type":"invalid_request_error","param":null,"code":"invalid_api_key"}}`, KindAuth, "Incorrect API key provided."},
		{"OpenAI rate", 429, `{"error":{"message":"Rate limit reached for gpt-5 on tokens per min (TPM): Limit 30000","type":"tokens","code":"rate_limit_exceeded"}}`, KindRateLimit, "Rate limit reached for gpt-5 on tokens per min (TPM): Limit 30000"},
		{"OpenAI quota", 429, `{"error":{"message":"You exceeded your current quota, please check your plan and billing details.","type":"insufficient_quota","code":"insufficient_quota"}}`, KindBilling, "You exceeded your current quota, please check your plan and billing details."},
		{"OpenAI overflow", 400, `{"error":{"message":"This model's maximum context length is 128000 tokens.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}`, KindOverflow, "This model's maximum context length is 128000 tokens."},
		{"OpenAI model", 404, `{"error":{"message":"The model 'gpt-9' does not exist","code":"model_not_found"}}`, KindNotFound, "The model 'gpt-9' does not exist"},
		{"OpenAI bad request", 400, `{"error":{"message":"Invalid value for 'temperature'","type":"invalid_request_error"}}`, KindFormat, "Invalid value for 'temperature'"},
		{"Anthropic overloaded", 529, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, KindOverloaded, "Overloaded"},
		{"Anthropic overloaded in a stream", 0, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, KindOverloaded, "Overloaded"},
		{"Anthropic credit", 400, `{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low to access the Anthropic API."}}`, KindBilling, "Your credit balance is too low to access the Anthropic API."},
		{"Anthropic overflow", 400, `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 250000 tokens > 200000 maximum"}}`, KindOverflow, "prompt is too long: 250000 tokens > 200000 maximum"},
		{"Anthropic size", 413, `{"type":"error","error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}`, KindOverflow, "Request exceeds the maximum size"},
		{"Anthropic rate of input tokens", 429, `{"type":"error","error":{"type":"rate_limit_error","message":"This request would exceed the rate limit of 10000 input tokens per minute; reduce the prompt length"}}`, KindRateLimit, "This request would exceed the rate limit of 10000 input tokens per minute; reduce the prompt length"},
		{"Anthropic api_error in a stream", 0, `{"type":"error","error":{"type":"api_error","message":"Internal server error"}}`, KindServer, "Internal server error"},
		{"Anthropic permission", 403, `{"type":"error","error":{"type":"permission_error","message":"no access"}}`, KindAuth, "no access"},
		{"Gemini key", 400, `[{"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT"}}]`, KindAuth, "API key not valid. Please pass a valid API key."},
		{"Gemini quota", 429, `[{"error":{"code":429,"message":"Resource has been exhausted (e.g. check quota).","status":"RESOURCE_EXHAUSTED"}}]`, KindRateLimit, "Resource has been exhausted (e.g. check quota)."},
		{"Gemini overflow", 400, `{"error":{"code":400,"message":"The input token count (2000000) exceeds the maximum number of tokens allowed (1048576).","status":"INVALID_ARGUMENT"}}`, KindOverflow, "The input token count (2000000) exceeds the maximum number of tokens allowed (1048576)."},
		{"Gemini busy in a stream", 0, `{"error":{"code":503,"message":"The service is currently unavailable.","status":"UNAVAILABLE"}}`, KindOverloaded, "The service is currently unavailable."},
		{"OpenRouter relay", 502, `{"error":{"message":"Provider returned error","code":502,"metadata":{"raw":"{\"error\":{\"message\":\"upstream says: context window exceeded\"}}","provider_name":"X"}}}`, KindOverflow, "upstream says: context window exceeded"},
		{"OpenRouter credits", 402, `{"error":{"message":"This request requires more credits","code":402}}`, KindBilling, "This request requires more credits"},
		{"nested JSON text", 400, `{"error":{"message":"{\"message\":\"bad thing\"}"}}`, KindFormat, "bad thing"},
		{"FastAPI", 422, `{"detail":[{"loc":["body"],"msg":"field required"}]}`, KindFormat, "field required"},
		{"FastAPI text", 400, `{"detail":"nope"}`, KindFormat, "nope"},
		{"vLLM", 400, `{"object":"error","message":"This model's maximum context length is 4096 tokens.","type":"BadRequestError","code":400}`, KindOverflow, "This model's maximum context length is 4096 tokens."},
		{"llama.cpp", 400, `{"error":{"code":400,"message":"the request exceeds the available context size. try increasing it","type":"exceed_context_size_error"}}`, KindOverflow, "the request exceeds the available context size. try increasing it"},
		{"Ollama", 404, `{"error":{"message":"model \"x\" not found, try pulling it first","type":"api_error"}}`, KindNotFound, `model "x" not found, try pulling it first`},
		{"plain error", 500, `{"error":"boom"}`, KindServer, "boom"},
		{"page", 502, `<html><body>Bad Gateway</body></html>`, KindServer, ""},
		{"text", 503, `upstream connect error`, KindOverloaded, ""},
		{"nothing", 504, ``, KindTimeout, ""},
		{"timeout in a stream", 0, `{"error":{"message":"Request timed out."}}`, KindTimeout, "Request timed out."},
		{"mystery in a stream", 0, `{"error":{"message":"???"}}`, KindUnknown, "???"},
	}
	for _, tt := range tests {
		f := ParseFailure(tt.status, []byte(tt.body))
		if got := f.Kind(); got != tt.want || f.Message != tt.said {
			t.Errorf("%s: kind %s, message %q, want %s, %q", tt.name, got, f.Message, tt.want, tt.said)
		}
	}
	if f := ParseFailure(429, []byte(`{"error":{"message":"x","details":[{"@type":"y"},{"retryDelay":"34s"}]}}`)); f.RetryAfter != 34*time.Second {
		t.Errorf("RetryAfter = %v, want 34s", f.RetryAfter)
	}
}

func TestFailTexts(t *testing.T) {
	target := Target{Info: Info{Ref: Ref{"mock", "mock-1"}}, KeySource: "the environment variable MOCK_KEY"}
	tests := []struct {
		f    Failure
		want string
	}{
		{Failure{Status: 401, Message: "invalid api key"}, "mock refused the credentials: invalid api key. Check the environment variable MOCK_KEY."},
		{Failure{Status: 402, Message: "insufficient credits"}, "mock reports a billing problem: insufficient credits. Check the balance of the account."},
		{Failure{Status: 429, Message: "slow down."}, "mock limits how often it may be asked: slow down. Try again in a while."},
		{Failure{Status: 529, Message: "Overloaded"}, "mock is overloaded at the moment. Please try again shortly."},
		{Failure{Status: 500}, "mock had an internal problem."},
		{Failure{Status: 408}, "mock took too long to answer."},
		{Failure{Status: 400, Message: "prompt is too long"}, "The conversation no longer fits the context window of mock-1: prompt is too long."},
		{Failure{Status: 404, Message: "no such model"}, `mock does not offer "mock-1" at this address: no such model. Check the model id and the baseUrl.`},
		{Failure{Status: 400, Message: "roles must alternate"}, "The messages of this conversation stand in an order that mock-1 refuses. Start a new session with /new."},
		{Failure{Status: 400, Message: "image exceeds 5 MB maximum"}, "An image is too large for mock-1: image exceeds 5 MB maximum."},
		{Failure{Status: 400, Message: "what?"}, "mock did not accept the request: what?"},
		{Failure{Message: "gone"}, "mock broke off its answer: gone."},
	}
	for _, tt := range tests {
		if got := target.Fail(tt.f).Text; got != tt.want {
			t.Errorf("Fail(%+v).Text = %q, want %q", tt.f, got, tt.want)
		}
	}
}

func TestEfforts(t *testing.T) {
	tests := []struct {
		msg  string
		want []string
	}{
		{"Unsupported value: 'xhigh' is not supported with the 'gpt-5' model. Supported values are: 'minimal', 'low', 'medium', and 'high'.", []string{"minimal", "low", "medium", "high"}},
		{"supported values are: none or low. Visit the docs", []string{"none", "low"}},
		{"no list here", nil},
	}
	for _, tt := range tests {
		if diff := cmp.Diff(tt.want, (Target{}).Fail(Failure{Status: 400, Message: tt.msg}).Efforts); diff != "" {
			t.Errorf("efforts of %q differ (-want +got):\n%s", tt.msg, diff)
		}
	}
}

func TestCleanMessages(t *testing.T) {
	long := strings.Repeat("word ", 200)
	tests := []struct{ in, want string }{
		{"  two\n lines\t here ", "two lines here"},
		{"<html>page</html>", ""},
		{`{"a":1}`, ""},
		{"bell\x07 and\u2028break", "bell and break"},
	}
	for _, tt := range tests {
		if got := clean(tt.in); got != tt.want {
			t.Errorf("clean(%q) = %q, want %q", tt.in, got, tt.want)
		}
	}
	for _, in := range []string{long, strings.Repeat("x", 1000), strings.Repeat("é", 1000)} {
		if got := clean(in); len([]rune(got)) > maxVendorText+1 || !strings.HasSuffix(got, "…") {
			t.Errorf("clean of %d characters gives %d: %q", len([]rune(in)), len([]rune(got)), got)
		}
	}
	if got := clean("Incorrect API key provided: sk-proj-abcdefghijklmnopqrstuvwxyz123456."); strings.Contains(got, "abcdefghij") {
		t.Errorf("clean keeps a key: %q", got)
	}
}

func FuzzParseFailure(f *testing.F) {
	for _, s := range []string{`{"error":{"message":"x","code":1,"metadata":{"raw":"{\"error\":\"y\"}"}}}`, `[[[[["x"]]]]]`, `{"message":{"message":{"message":"x"}}}`, `"x"`, `<a>`, `{"error":{"message":"supported values are: a"}}`} {
		f.Add(400, []byte(s))
	}
	f.Fuzz(func(t *testing.T, status int, body []byte) {
		e := Target{Info: Info{Ref: Ref{"p", "m"}}}.Fail(ParseFailure(status, body))
		if e.Text == "" || e.Kind == "" || !utf8.ValidString(e.Text) || len([]rune(e.Text)) > 2*maxVendorText {
			t.Errorf("ParseFailure(%d, %q) gives %+v", status, body, e)
		}
		if strings.ContainsFunc(e.Text, unicode.IsControl) {
			t.Errorf("ParseFailure(%d, %q) gives the text %q with control characters", status, body, e.Text)
		}
	})
}
