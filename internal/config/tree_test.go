package config

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"openclaw/internal/config/json5"
)

// CLI-006: dots, brackets, escapes; list positions; errors.
func TestParsePathCLI006(t *testing.T) {
	for text, want := range map[string][]string{
		"gateway.port":      {"gateway", "port"},
		"gateway":           {"gateway"},
		"agents.list[0].id": {"agents", "list", "0", "id"},
		"agents.list.0.id":  {"agents", "list", "0", "id"},
		`agents.defaults.models.openai/gpt-5\.2.alias`: {"agents", "defaults", "models", "openai/gpt-5.2", "alias"},
		"agents.defaults.models[openai/gpt-5.2].alias": {"agents", "defaults", "models", "openai/gpt-5.2", "alias"},
		`models["a.b"]['c d'].e`:                       {"models", "a.b", "c d", "e"},
		`a[b\]c]`:                                      {"a", "b]c"},
		`a\.b\[c\\`:                                    {`a.b[c\`},
		"a[0][1]":                                      {"a", "0", "1"},
		"[a].b":                                        {"a", "b"},
		"a[ b ]":                                       {"a", "b"},
		"env.vars.MY_KEY":                              {"env", "vars", "MY_KEY"},
		"a b.c d":                                      {"a b", "c d"},
	} {
		got, err := ParsePath(text)
		if err != nil {
			t.Errorf("ParsePath(%q): %v", text, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("ParsePath(%q) (-want +got):\n%s", text, diff)
		}
	}
	for text, want := range map[string]string{
		"": "empty", "  ": "empty", ".": "empty part", ".a": "empty part", "a.": "empty part", "a..b": "empty part",
		"a[": "not closed", "a[]": "empty brackets", "a[0]b": "expected . or [", `a\`: "ends in a backslash", `a[b\`: "not closed",
		"a[0].": "empty part", "a.[]": "empty brackets",
	} {
		if got, err := ParsePath(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("ParsePath(%q) = %q, %v, want %q", text, got, err, want)
		}
	}
}

func FuzzParsePath(f *testing.F) {
	for _, s := range []string{`a.b[0]["c.d"]`, `\..\[`, "[x]y", "a.[b]", "é.ü[1]"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		path, err := ParsePath(text)
		if err != nil {
			return
		}
		if len(path) == 0 {
			t.Fatalf("ParsePath(%q) is empty", text)
		}
		if strings.TrimSpace(FormatPath(path)) == "" {
			return // a key of spaces cannot be written alone
		}
		again, err := ParsePath(FormatPath(path))
		if err != nil || !cmp.Equal(path, again) {
			t.Errorf("ParsePath(%q) = %q, written as %q, read as %q, %v", text, path, FormatPath(path), again, err)
		}
	})
}

func TestSetAtCLI006(t *testing.T) {
	for _, tt := range []struct{ tree, path, value, want string }{
		{`{}`, "a.b.c", `1`, `{a: {b: {c: 1}}}`},
		{`{a: {b: 1, x: 2}}`, "a.b", `[3]`, `{a: {b: [3], x: 2}}`},
		{`{}`, "a[0].b", `1`, `{a: [{b: 1}]}`},
		{`{a: [1, 2]}`, "a[1]", `9`, `{a: [1, 9]}`},
		{`{a: [1]}`, "a.1", `2`, `{a: [1, 2]}`},
		{`{a: {"0": 1}}`, "a.0", `2`, `{a: {"0": 2}}`},
		{`{a: null}`, "a.b", `1`, `{a: {b: 1}}`},
		{`null`, "0.a", `1`, `{"0": {a: 1}}`},
	} {
		path, err := ParsePath(tt.path)
		if err != nil {
			t.Fatal(err)
		}
		before := decode(t, tt.tree)
		got, err := setAt(before, path, decode(t, tt.value))
		if err != nil || !json5.Equal(got, decode(t, tt.want)) {
			t.Errorf("set %s in %s = %v, %v, want %s", tt.path, tt.tree, got, err, tt.want)
		}
		if !json5.Equal(before, decode(t, tt.tree)) {
			t.Errorf("set %s changed the old tree to %v", tt.path, before)
		}
	}
	for _, tt := range []struct{ tree, path, want string }{
		{`{a: [1]}`, "a.x", "a is a list; use a position"},
		{`{a: [1]}`, "a[2]", "beyond the end"},
		{`{a: [1]}`, "a[-1]", "use a position"},
		{`{a: 5}`, "a.b", "a holds 5, not an object"},
		{`{gateway: {auth: {token: "hush"}}}`, "gateway.auth.token.x", "gateway.auth.token holds string"},
	} {
		path, err := ParsePath(tt.path)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := setAt(decode(t, tt.tree), path, 1); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("set %s in %s = %v, %v, want %q", tt.path, tt.tree, got, err, tt.want)
		}
	}
}

func TestUnsetAtCLI006(t *testing.T) {
	for _, tt := range []struct {
		tree, path, want string
		ok               bool
	}{
		{`{a: {b: 1, c: 2}}`, "a.b", `{a: {c: 2}}`, true},
		{`{a: [1, 2, 3]}`, "a[1]", `{a: [1, 3]}`, true},
		{`{a: [{b: 1}]}`, "a.0.b", `{a: [{}]}`, true},
		{`{a: null}`, "a", `{}`, true},
		{`{a: 1}`, "b", `{a: 1}`, false},
		{`{a: 1}`, "a.b", `{a: 1}`, false},
		{`{a: [1]}`, "a[1]", `{a: [1]}`, false},
		{`{a: [1]}`, "a.x", `{a: [1]}`, false},
	} {
		path, err := ParsePath(tt.path)
		if err != nil {
			t.Fatal(err)
		}
		got, ok := unsetAt(decode(t, tt.tree), path)
		if ok != tt.ok || !json5.Equal(got, decode(t, tt.want)) {
			t.Errorf("unset %s in %s = %v, %v, want %s, %v", tt.path, tt.tree, got, ok, tt.want, tt.ok)
		}
	}
	if _, ok := unsetAt(map[string]any{}, nil); ok {
		t.Error("unset of the whole tree succeeded")
	}
}

// CLI-006: values are JSON5, else the text itself.
func TestParseValueCLI006(t *testing.T) {
	for text, want := range map[string]any{
		"true": true, "'x'": "x", "plain words": "plain words", "": "", "null": nil, "~/dir": "~/dir", "{": "{",
	} {
		if got, err := ParseValue(text, false); err != nil || got != want {
			t.Errorf("ParseValue(%q) = %v, %v, want %v", text, got, err, want)
		}
	}
	if got, err := ParseValue("{a: [1,]}", true); err != nil || !json5.Equal(got, decode(t, `{"a": [1]}`)) {
		t.Errorf("ParseValue = %v, %v", got, err)
	}
	if _, err := ParseValue("plain words", true); err == nil {
		t.Error("strict ParseValue took plain words")
	}
}
