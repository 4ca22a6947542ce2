package config

import (
	"encoding/json"
	"strings"
	"testing"

	"openclaw/internal/config/json5"
)

// secretive holds a secret in every kind of place; each contains "hush".
const secretive = `// do not tell: hush-gateway-token-1
{
  // token: "hush-commented-2"
  gateway: {
    port: 18789, // visible
    auth: { mode: "token", token: "hush-gateway-token-1", password: 'hush-3' },
    remote: { url: "ws://user:hush-4@host:1", token: "hush-5" },
  },
  env: { HUSH_A: "hush-6", vars: { B: "hush-7" }, shellEnv: { enabled: true, timeoutMs: 15000 } },
  models: { providers: {
    a: { baseUrl: "http://127.0.0.1:1/v1", apiKey: "${A_KEY}", headers: { "X-Team": "hush-8", Auth: "Bearer ${A_KEY}" }, models: [] },
    b: { baseUrl: "https://x.test/?token=hush-9", apiKey: "hush-10", models: [ { id: "m", name: "M", headers: { k: "hush-11" } } ] },
  } },
  channels: { telegram: { botToken: "hush-12", accounts: { w: { botToken: "hush-13" } } }, googlechat: { serviceAccount: { private_key: "hush-14" } }, irc: { password: 123456 } },
  skills: { entries: { s: { apiKey: "hush-15", env: { X: "hush-16" } } } },
  tools: { web: { search: { apiKey: "hush-17" } } },
  hooks: { token: "hush-18", gmail: { pushToken: "hush-19" }, mappings: [{ id: "x", transform: { module: "m" }, messageTemplate: "the token: {{x}}" }] },
  messages: { messagePrefix: "${PLAIN}", responsePrefix: "${SOME_SECRET}" },
  talk: { apiKey: "hush-20" },
  unknownNew: { clientSecret: "hush-21", tokenFile: "/visible/file" },
  cron: { store: "sk-hush0123456789" },
}
`

func secretHome(t *testing.T) *home {
	h := newHome(t).config(secretive)
	h.env = map[string]string{"A_KEY": "hush-env-22", "PLAIN": "plain text", "SOME_SECRET": "hush-env-23"}
	return h
}

// GW-107: no secret leaves in raw, parsed or config; references stay.
func TestRedactedGW107(t *testing.T) {
	s := secretHome(t).valid()
	r := s.Redacted()
	parsed, err := json.Marshal(r.Parsed)
	if err != nil {
		t.Fatal(err)
	}
	resolved, err := json.Marshal(r.Config)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"raw": *r.Raw, "parsed": string(parsed), "config": string(resolved)} {
		if i := strings.Index(text, "hush"); i >= 0 {
			t.Errorf("%s shows %q", name, text[i:min(len(text), i+20)])
		}
		if strings.Contains(text, "123456") {
			t.Errorf("%s shows a password that is a number", name)
		}
		for _, visible := range []string{"18789", "/visible/file", "http://127.0.0.1:1/v1", "the token: {{x}}", "15000"} {
			if !strings.Contains(text, visible) {
				t.Errorf("%s hides %q", name, visible)
			}
		}
	}
	for _, ref := range []string{"${A_KEY}", "Bearer ${A_KEY}", "${PLAIN}", "${SOME_SECRET}"} {
		if !strings.Contains(*r.Raw, ref) || !strings.Contains(string(parsed), ref) {
			t.Errorf("the reference %s is hidden", ref)
		}
	}
	if got := at(r.Config, "messages.messagePrefix"); got != "plain text" {
		t.Errorf("a harmless variable is shown as %v", got)
	}
	if !strings.Contains(*r.Raw, "// visible") {
		t.Error("a harmless comment is gone")
	}
	tree, err := json5.Decode(*r.Raw)
	if err != nil || !json5.Equal(tree, r.Parsed) {
		t.Errorf("raw and parsed differ: %v", err)
	}
}

func TestRedactedBrokenFile(t *testing.T) {
	s := load(t, "{\n  token: \"hush-12345\",\n  // here\n  port: ,\n}")
	r := s.Redacted()
	if s.Valid || r.Raw == nil || strings.Contains(*r.Raw, "hush") || !strings.Contains(*r.Raw, "// here") {
		t.Errorf("raw = %q", *r.Raw)
	}
}

func TestRedactPart(t *testing.T) {
	got := Redact(map[string]any{"apiKey": "x", "env": map[string]any{"A": "y"}, "n": json.Number("1")}, "skills", "entries", "s")
	want := map[string]any{"apiKey": Sentinel, "env": map[string]any{"A": Sentinel}, "n": json.Number("1")}
	if !json5.Equal(got, want) {
		t.Errorf("Redact = %v, want %v", got, want)
	}
	if got := Redact("v", "gateway", "auth", "token"); got != Sentinel {
		t.Errorf("Redact of a token = %v", got)
	}
	if got := Redact("v", "gateway", "bind"); got != "v" {
		t.Errorf("Redact of a mode = %v", got)
	}
}

func FuzzRedactText(f *testing.F) {
	f.Add(secretive)
	f.Add("{a: 'x', a: 1, /* token=abc */ }")
	f.Add("[{token: ['y']}] // ]")
	f.Fuzz(func(t *testing.T, raw string) {
		tree, err := json5.Decode(raw)
		if err != nil {
			return
		}
		text := redactText(raw)
		got, err := json5.Decode(text)
		if err != nil || !json5.Equal(got, redactJSON(tree)) {
			t.Errorf("redactText(%q) = %q, which is %v, %v", raw, text, got, err)
		}
	})
}

// redactJSON is redactTree for trees that may hold NaN.
func redactJSON(v any) any {
	if f, ok := v.(float64); ok {
		return f
	}
	switch v.(type) {
	case map[string]any, []any:
		text, err := json5.Format(v)
		if err == nil && !strings.Contains(text, "NaN") && !strings.Contains(text, "Infinity") {
			return redactTree(v, nil, nil)
		}
		back, _ := json5.Decode(redactText(text))
		return back
	}
	return redactTree(v, nil, nil)
}

// Whatever a client sends back unchanged leaves the file as it is.
func FuzzRoundTrip(f *testing.F) {
	f.Add(secretive)
	f.Add(typical)
	f.Add(`{models: {providers: {p: {baseUrl: 'x', apiKey: "a'b", headers: {a: 1}, models: [{id: "a", name: "a"}, {id: "b", name: "b"}]}}}} // token=abc`)
	f.Add("{env: {A: 'x', B: \"${A}\", vars: {C: '$${A}'}}, skills: {entries: {}}, agents: {list: [{id: 'a'}, {id: 'b'}]}}")
	dir := f.TempDir()
	p := Paths{Home: dir, StateDir: dir, ConfigPath: dir + "/openclaw.json"}
	env := func(name string) string { return "value of " + name }
	f.Fuzz(func(t *testing.T, text string) {
		if strings.Contains(text, "include") {
			return
		}
		s := evaluate(p, env, text, true)
		if !s.Valid {
			return
		}
		r := s.Redacted()
		if got, err := replacement(s, *r.Raw); err != nil || got != text {
			t.Errorf("raw of %q came back as %q, %v", text, got, err)
		}
		if hasNoJSON(s.Parsed) {
			return
		}
		form, err := json5.Format(r.Config)
		if err != nil {
			t.Fatal(err)
		}
		got, err := replacement(s, form)
		if err != nil {
			t.Fatalf("form of %q: %v", text, err)
		}
		if a, b := evaluate(p, env, got, true), s; !json5.Equal(a.Resolved, b.Resolved) {
			t.Errorf("form of %q came back as %q", text, got)
		}
	})
}

// hasNoJSON reports whether v holds numbers that a client sees as null.
func hasNoJSON(v any) bool {
	text, err := json5.Format(v)
	return err != nil || strings.Contains(text, "NaN") || strings.Contains(text, "Infinity")
}
