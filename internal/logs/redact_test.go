package logs

import (
	"strings"
	"testing"
)

func TestRedact(t *testing.T) {
	const jwt = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abcDEF_-123"
	for _, tt := range []struct{ in, want string }{
		{"using sk-ant-api03-abcdefgh for anthropic", "using [redacted] for anthropic"},
		{"ghp_0123456789abcdef0123 x", "[redacted] x"},
		{"xoxb-123-456-abcdef", "[redacted]"},
		{"id " + jwt + ".", "id [redacted]."},
		{"Authorization: Bearer abc12345def", "Authorization: Bearer [redacted]"},
		{"authorization: Basic dXNlcjpwYXNzd29yZA==", "authorization: Basic [redacted]"},
		{`{"apiKey":"hunter2","port":18789}`, `{"apiKey":"[redacted]","port":18789}`},
		{`"{\"token\":\"hunter2\"}"`, `"{\"token\":\"[redacted]\"}"`},
		{`OPENAI_API_KEY=hunter2 run`, `OPENAI_API_KEY=[redacted] run`},
		{`openclaw health --token 5f3c9a7be1 --json`, `openclaw health --token [redacted] --json`},
		{"ws://127.0.0.1:18789/?token=abc&x=1", "ws://127.0.0.1:18789/?token=[redacted]&x=1"},
		{"https://x.test/v1?key=abc#f", "https://x.test/v1?key=[redacted]#f"},
		{"postgres://me:pa55@db/x", "postgres://me:[redacted]@db/x"},
		{"bot 123456789:AAaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "bot [redacted]"},
		{"-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY----- rest", "[redacted] rest"},
		{"-----BEGIN PRIVATE KEY-----\nMIIE", "[redacted]"},
		{"password: s3cr3tpass", "password: [redacted]"},

		// What people must still be able to read.
		{"gateway.auth.token: expected string, got 5", "gateway.auth.token: expected string, got 5"},
		{"unauthorized: gateway token mismatch", "unauthorized: gateway token mismatch"},
		{`{"maxTokens":8192,"totalTokens": 12345678}`, `{"maxTokens":8192,"totalTokens": 12345678}`},
		{"Basic authentication failed", "Basic authentication failed"},
		{`token: "${OPENCLAW_GATEWAY_TOKEN}"`, `token: "${OPENCLAW_GATEWAY_TOKEN}"`},
		{"session agent:main:main run 4f0e", "session agent:main:main run 4f0e"},
		{"http://127.0.0.1:18789/health", "http://127.0.0.1:18789/health"},
		{"", ""},
	} {
		got := Redact(tt.in)
		if got != tt.want {
			t.Errorf("Redact(%q) = %q, want %q", tt.in, got, tt.want)
		}
		if again := Redact(got); again != got {
			t.Errorf("Redact twice of %q = %q, want %q", tt.in, again, got)
		}
	}
}

func TestNewRedactor(t *testing.T) {
	r, err := NewRedactor([]string{`order-(\d+)`, `/BADGE-[a-z]+/gi`})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := r.Redact("order-12 badge-xyz sk-0123456789"), "order-[redacted] [redacted] [redacted]"; got != want {
		t.Errorf("Redact = %q, want %q", got, want)
	}
	for _, bad := range []string{"(", "/x/q"} {
		if _, err := NewRedactor([]string{bad}); err == nil || !strings.Contains(err.Error(), bad) {
			t.Errorf("NewRedactor(%q) = %v, want an error naming it", bad, err)
		}
	}
}

func FuzzRedact(f *testing.F) {
	for _, s := range []string{`{"token":"abc\"def","x":[1]}`, "Bearer 0123456789", "a://b:c@d", "token=\x00", "password: \\\"x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		const secret = "sk-0123456789abcdef"
		if got := Redact(s + " " + secret); strings.Contains(got, secret) {
			t.Errorf("Redact(%q) kept the secret: %q", s, got)
		}
	})
}

func BenchmarkRedactClean(b *testing.B) {
	const line = "run finished session=agent:main:main run=0b0f8e5a-5c5e-4a57-9f0b-0c5f2d7d8f1e duration=1.25s model=gpt-5.2"
	b.ReportAllocs()
	for b.Loop() {
		Redact(line)
	}
}
