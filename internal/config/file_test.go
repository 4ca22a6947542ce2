package config

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"openclaw/internal/config/json5"
)

var stamped = time.Date(2026, 1, 2, 3, 4, 5, 6e6, time.UTC)

// metaText is what a write adds to a text that ends in "}\n".
const metaText = "  meta: {\n    lastTouchedAt: \"2026-01-02T03:04:05.006Z\",\n    lastTouchedVersion: \"2026.2.3\",\n  },\n}\n"

func (h *home) open() *File {
	return Open(Options{Paths: h.paths(), Env: h.getenv, Version: "2026.2.3", Now: func() time.Time { return stamped }})
}

func (h *home) text() string { h.t.Helper(); return h.read(".openclaw", "openclaw.json") }

// refused fails unless err is an [*Error] with this text in it.
func refused(t *testing.T, err error, want string) {
	t.Helper()
	var e *Error
	if !errors.As(err, &e) || !strings.Contains(err.Error(), want) {
		t.Errorf("error = %v, want an Error with %q", err, want)
	}
}

// GW-105: missing, stale and right base hash; no file.
func TestBaseHashGW105(t *testing.T) {
	for name, write := range map[string]func(*File, string) (*Snapshot, error){
		"set": func(f *File, hash string) (*Snapshot, error) {
			return f.Set(t.Context(), `{ui: {seamColor: "#112233"}}`, hash)
		},
		"patch": func(f *File, hash string) (*Snapshot, error) {
			return f.Patch(t.Context(), `{ui: {seamColor: "#112233"}}`, hash)
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHome(t)
			f := h.open()
			s, err := write(f, "anything") // without a file the hash does not matter
			if err != nil || s.Config.UI.SeamColor != "#112233" || !f.Read().Valid {
				t.Fatalf("first write = %v", err)
			}
			h.config("{gateway: {port: 1}} // by hand")
			_, err = write(f, "")
			refused(t, err, "config base hash required; re-run config.get and retry")
			_, err = write(f, s.Hash)
			refused(t, err, "config changed since last load; re-run config.get and retry")
			if got := h.text(); got != "{gateway: {port: 1}} // by hand" {
				t.Errorf("a refused write changed the file to %q", got)
			}
			s, err = write(f, f.Read().Hash)
			if err != nil || s.Hash != f.Read().Hash || s.Hash != f.Snapshot().Hash {
				t.Errorf("right hash: %v", err)
			}
		})
	}
	h := newHome(t)
	if err := os.MkdirAll(h.path(".openclaw", "openclaw.json"), 0o700); err != nil {
		t.Fatal(err)
	}
	_, err := h.open().Set(t.Context(), "{}", "x")
	refused(t, err, "config base hash unavailable; re-run config.get and retry")
}

// GW-106: what is invalid never reaches the disk.
func TestInvalidNeverWrittenGW106(t *testing.T) {
	const text = "{gateway: {port: 1}, oldUnknown: 1}"
	h := newHome(t).config(text)
	f := h.open()
	hash := f.Snapshot().Hash
	set := func(raw string) error { _, err := f.Set(t.Context(), raw, hash); return err }
	patch := func(raw string) error { _, err := f.Patch(t.Context(), raw, hash); return err }
	refused(t, set("{not json"), "SyntaxError: JSON5: invalid character 'j' at 1:6")
	refused(t, patch("{not json"), "SyntaxError: JSON5: invalid character 'j' at 1:6")
	refused(t, set(`{gateway: {port: "x"}}`), `gateway.port: expected integer from 1 to 65535, got "x"`)
	refused(t, patch(`{gateway: {port: "x"}}`), "invalid config")
	refused(t, patch(`[1]`), "config.patch raw must be an object")
	refused(t, set(`[1]`), "expected object, got array")
	refused(t, set(`{telegram: {}}`), "telegram: moved to channels.telegram")
	refused(t, set(`{gateway: {auth: {token: "${NOPE}"}}}`), "environment variable NOPE")
	refused(t, set(`{gateway: {$include: "none.json5"}}`), "does not exist")
	// RT-003: a write must not bring in unknown keys; the path is that of the object, as in the reference.
	refused(t, patch("{nosuchkey: 1}"), `Unrecognized key: "nosuchkey"`)
	err := patch("{gateway: {prot: 1}}")
	var e *Error
	if !errors.As(err, &e) || len(e.Issues) != 1 || e.Issues[0].Path != "gateway" || e.Message != "invalid config" {
		t.Errorf("issues = %+v", e)
	}
	if got := h.text(); got != text {
		t.Errorf("the file holds %q", got)
	}
	if _, err := os.Stat(h.path(".openclaw", "openclaw.json.bak")); err == nil {
		t.Error("a refused write made a backup")
	}
	if err := patch("{gateway: {port: 2}}"); err != nil { // the old unknown key stays
		t.Errorf("RT-003: %v", err)
	}
	if !strings.Contains(h.text(), "oldUnknown: 1") {
		t.Errorf("RT-003: the unknown key is gone: %q", h.text())
	}

	h = newHome(t).config(`{gateway: {port: "x"}}`)
	f = h.open()
	_, err = f.Patch(t.Context(), "{}", f.Snapshot().Hash)
	refused(t, err, "invalid config; fix before patching")
	if _, err := f.Set(t.Context(), "{gateway: {port: 5}}", f.Snapshot().Hash); err != nil {
		t.Errorf("a whole new text must repair an invalid file: %v", err)
	}
}

// GW-106: null deletes, objects merge, lists replace; comments stay.
func TestPatchGW106(t *testing.T) {
	h := newHome(t).config("// mine\n{\n  gateway: { port: 1, bind: 'lan' }, // net\n  tools: {\n    deny: ['a', 'b'], // no\n    allow: ['c'],\n  },\n}\n")
	f := h.open()
	s, err := f.Patch(t.Context(), `{"gateway":{"bind":null,"mode":"local"},"tools":{"deny":["b","z"],"allow":null},"cron":{"enabled":false},"talk":null}`, f.Snapshot().Hash)
	if err != nil {
		t.Fatal(err)
	}
	want := "// mine\n{\n  gateway: { port: 1, mode: 'local' }, // net\n  tools: {\n    deny: ['b', 'z'], // no\n  },\n" +
		"  cron: {\n    enabled: false,\n  },\n" + strings.ReplaceAll(metaText, `"`, "'")
	if diff := cmp.Diff(want, h.text()); diff != "" {
		t.Errorf("file (-want +got):\n%s", diff)
	}
	if s.Raw != h.text() || s.Config.Cron.Enabled {
		t.Error("the answer is not what the file holds")
	}
}

// GW-107: what config.get shows can be sent back unchanged, in any of its forms.
func TestRoundTripGW107(t *testing.T) {
	asText := func(v any) string {
		text, err := json5.Format(v)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	for name, form := range map[string]func(Redacted) string{
		"raw":    func(r Redacted) string { return *r.Raw },
		"parsed": func(r Redacted) string { return asText(r.Parsed) },
		"config": func(r Redacted) string { return asText(r.Config) },
	} {
		t.Run(name, func(t *testing.T) {
			h := secretHome(t)
			f := h.open()
			s, err := f.Set(t.Context(), form(f.Snapshot().Redacted()), f.Snapshot().Hash)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(secretive, h.text()); diff != "" || s.Raw != secretive {
				t.Errorf("the file changed (-want +got):\n%s", diff)
			}
		})
	}
}

// RT-007: a form sends the resolved tree with one change; only that change
// reaches the file, no default, no substituted secret, no included value.
func TestFormWritesOnlyTheChangeRT007(t *testing.T) {
	const text = "// mine\n{\n  $include: 'base.json5',\n  gateway: { auth: { token: '${TOKEN}' } }, // ref\n  agents: {\n    list: [{ id: 'a', workspace: '~/w' }, { id: 'b' }],\n  },\n" +
		"  models: { providers: { p: { baseUrl: 'http://x', apiKey: 'hush-1', models: [{ id: 'm', name: 'M' }] } } },\n}\n"
	h := newHome(t).config(text)
	h.env["TOKEN"] = "hush-token"
	h.write("{logging: {level: 'debug'}, hooks: {token: 'hush-2'}, tools: {deny: ['x']}}", ".openclaw", "base.json5")
	f := h.open()
	form := f.Snapshot().Redacted().Config
	set := func(path string, v any) {
		next, err := setAt(form, strings.Split(path, "."), v)
		if err != nil {
			t.Fatal(err)
		}
		form = next.(map[string]any)
	}
	set("agents.list.1.name", "Bee")
	set("models.providers.p.models.0.maxTokens", 100)
	set("gateway.port", 4242)
	body, err := json5.Format(form)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Set(t.Context(), body, f.Snapshot().Hash); err != nil {
		t.Fatal(err)
	}
	want := strings.NewReplacer(
		"token: '${TOKEN}' } }", "token: '${TOKEN}' }, port: 4242 }",
		"{ id: 'b' }", "{ id: 'b', name: 'Bee' }",
		"name: 'M' }", "name: 'M', maxTokens: 100 }",
	).Replace(strings.TrimSuffix(text, "}\n")) + strings.ReplaceAll(metaText, `"`, "'")
	if diff := cmp.Diff(want, h.text()); diff != "" {
		t.Errorf("file (-want +got):\n%s", diff)
	}

	// What comes from the include can be overridden, but not removed.
	form = f.Snapshot().Redacted().Config
	set("logging.level", "warn")
	body, _ = json5.Format(form)
	if s, err := f.Set(t.Context(), body, f.Snapshot().Hash); err != nil || s.Config.Logging.Level != "warn" {
		t.Errorf("override: %v", err)
	}
	form = f.Snapshot().Redacted().Config
	delete(form, "hooks")
	body, _ = json5.Format(form)
	_, err = f.Set(t.Context(), body, f.Snapshot().Hash)
	refused(t, err, "hooks: comes from an included file")
	form = f.Snapshot().Redacted().Config
	set("tools.deny", []any{})
	body, _ = json5.Format(form)
	_, err = f.Set(t.Context(), body, f.Snapshot().Hash)
	refused(t, err, "tools.deny: comes from an included file")
}

func TestSentinelWithoutValue(t *testing.T) {
	h := newHome(t).config(`{models: {providers: {p: {baseUrl: "http://x", apiKey: "hush-p", models: []}}}}`)
	f := h.open()
	hash := f.Snapshot().Hash
	_, err := f.Set(t.Context(), `{gateway: {auth: {token: "`+Sentinel+`"}}}`, hash)
	refused(t, err, "gateway.auth.token: is redacted and no value is stored")
	_, err = f.Patch(t.Context(), `{models: {providers: {q: {baseUrl: "http://y", apiKey: "`+Sentinel+`", models: []}}}}`, hash)
	refused(t, err, "models.providers.q.apiKey: is redacted")
	s, err := f.Patch(t.Context(), `{models: {providers: {p: {baseUrl: "http://y", apiKey: "`+Sentinel+`"}}}}`, hash)
	if err != nil || s.Config.Models.Providers["p"].APIKey != "hush-p" || s.Config.Models.Providers["p"].BaseURL != "http://y" {
		t.Errorf("patch beside a sentinel: %v", err)
	}
}

// A sentinel in a list belongs to the element it came with, not to the position.
func TestSentinelFollowsElement(t *testing.T) {
	const model = `{id: "%", name: "%", headers: {k: "hush-%"}}`
	m := func(id string) string { return strings.ReplaceAll(model, "%", id) }
	h := newHome(t).config(`{models: {providers: {p: {baseUrl: "http://x", models: [` + m("a") + "," + m("b") + "," + m("c") + `]}}}}`)
	f := h.open()
	sent := func(id, more string) string {
		return `{id: "` + id + `", name: "` + id + `", headers: {k: "` + Sentinel + `"}` + more + `}`
	}
	raw := `{models: {providers: {p: {baseUrl: "http://x", models: [` + sent("c", ", reasoning: true") + "," + sent("a", "") + `]}}}}`
	s, err := f.Set(t.Context(), raw, f.Snapshot().Hash)
	if err != nil {
		t.Fatal(err)
	}
	models := s.Config.Models.Providers["p"].Models
	if len(models) != 2 || models[0].Headers["k"] != "hush-c" || models[1].Headers["k"] != "hush-a" || !models[0].Reasoning {
		t.Errorf("file = %s", h.text())
	}
	_, err = f.Set(t.Context(), `{models: {providers: {p: {baseUrl: "http://x", models: [`+sent("new", "")+`]}}}}`, s.Hash)
	refused(t, err, "models.providers.p.models.0.headers.k: is redacted")
}

// A text from a program keeps the person's comments; a person's text counts as it is.
func TestSetKeepsComments(t *testing.T) {
	const text = "// mine\n{\n  gateway: { port: 1 }, // net\n}\n"
	h := newHome(t).config(text)
	f := h.open()
	if _, err := f.Set(t.Context(), "{\n  \"gateway\": {\n    \"port\": 2\n  }\n}\n", f.Snapshot().Hash); err != nil {
		t.Fatal(err)
	}
	if want := "// mine\n{\n  gateway: { port: 2 }, // net\n" + metaText; h.text() != want {
		t.Errorf("file = %q, want %q", h.text(), want)
	}
	const person = "{ gateway: { port: 3 } } // short\n"
	if _, err := f.Set(t.Context(), person, f.Snapshot().Hash); err != nil {
		t.Fatal(err)
	}
	if got := h.text(); !strings.HasPrefix(got, "{ gateway: { port: 3 }, meta: {") || !strings.HasSuffix(got, "} // short\n") {
		t.Errorf("file = %q", got)
	}
}

// CLI-007, RT-007: an edit touches its key only, backs up, stamps and keeps
// includes and references.
func TestEditCLI007(t *testing.T) {
	const text = "// mine\n{\n  $include: \"base.json5\", // shared\n  gateway: {\n    port: 1, // net\n    auth: { token: \"${TOKEN}\" },\n  },\n}\n"
	h := newHome(t).config(text)
	h.env["TOKEN"] = "hush"
	h.write("{logging: {level: 'debug'}}", ".openclaw", "base.json5")
	f := h.open()
	s, err := f.Edit(t.Context(), Op{Path: []string{"gateway", "port"}, Value: 2}, Op{Path: []string{"gateway", "trustedProxies", "0"}, Value: "10.0.0.1"})
	if err != nil {
		t.Fatal(err)
	}
	want := "// mine\n{\n  $include: \"base.json5\", // shared\n  gateway: {\n    port: 2, // net\n    auth: { token: \"${TOKEN}\" },\n" +
		"    trustedProxies: [\n      \"10.0.0.1\",\n    ],\n  },\n" + metaText
	if diff := cmp.Diff(want, h.text()); diff != "" {
		t.Errorf("file (-want +got):\n%s", diff)
	}
	if s.Config.Gateway.Port != 2 || s.Config.Logging.Level != "debug" || f.Snapshot() != s {
		t.Error("the answer is not in force")
	}
	if got := h.read(".openclaw", "openclaw.json.bak"); got != text {
		t.Errorf("backup = %q", got)
	}
	for _, name := range []string{"openclaw.json", "openclaw.json.bak"} {
		if info, err := os.Stat(h.path(".openclaw", name)); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: mode %v, %v, want 0600", name, info.Mode(), err)
		}
	}
	same, err := f.Edit(t.Context(), Op{Path: []string{"gateway", "port"}, Value: 2})
	if err != nil || same.Raw != s.Raw {
		t.Errorf("an edit without effect wrote: %v", err)
	}
	if _, err := os.Stat(h.path(".openclaw", "openclaw.json.bak.1")); err == nil {
		t.Error("an edit without effect made a backup")
	}
}

func TestEditRefuses(t *testing.T) {
	h := newHome(t).config(`{$include: "base.json5", gateway: {port: 1}, tools: {deny: ["a"]}}`)
	h.write("{logging: {level: 'debug'}}", ".openclaw", "base.json5")
	f := h.open()
	unset := func(path ...string) error {
		_, err := f.Edit(t.Context(), Op{Path: path, Unset: true})
		return err
	}
	for want, err := range map[string]error{
		"gateway.bind: not set":                 unset("gateway", "bind"),
		"logging.level comes from an included":  unset("logging", "level"),
		"session.mainKey has its default value": unset("session", "mainKey"),
	} {
		if !errors.Is(err, ErrNotFound) || !strings.Contains(err.Error(), want) {
			t.Errorf("unset = %v, want ErrNotFound with %q", err, want)
		}
	}
	_, err := f.Edit(t.Context(), Op{Path: []string{"tools", "deny", "x"}, Value: 1})
	refused(t, err, "use a position")
	_, err = f.Edit(t.Context(), Op{Path: []string{"gateway", "port"}, Value: 2}, Op{Path: []string{"gateway", "port"}, Value: "x"})
	refused(t, err, "gateway.port: expected integer")
	_, err = f.Edit(t.Context(), Op{})
	refused(t, err, "the path is empty")
	if s := f.Read(); s.Config.Gateway.Port != 1 {
		t.Error("half of the edit was made")
	}
	_, err = f.Patch(t.Context(), "{logging: {level: null}}", f.Snapshot().Hash)
	refused(t, err, "logging.level: comes from an included file")
	h.config("{broken")
	_, err = f.Edit(t.Context(), Op{Path: []string{"gateway", "port"}, Value: 2})
	refused(t, err, "fix it before changing it")
}

func TestEditCreatesFile(t *testing.T) {
	h := newHome(t)
	if _, err := h.open().Edit(t.Context(), Op{Path: []string{"gateway", "mode"}, Value: "local"}); err != nil {
		t.Fatal(err)
	}
	want := "{\n  \"gateway\": {\n    \"mode\": \"local\"\n  },\n  \"meta\": {\n    \"lastTouchedAt\": \"2026-01-02T03:04:05.006Z\",\n    \"lastTouchedVersion\": \"2026.2.3\"\n  }\n}\n"
	if diff := cmp.Diff(want, h.text()); diff != "" {
		t.Errorf("file (-want +got):\n%s", diff)
	}
	if info, err := os.Stat(h.path(".openclaw")); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("folder: %v, %v", info.Mode(), err)
	}
}

func TestBackupsRotateRT007(t *testing.T) {
	h := newHome(t).config("{gateway: {port: 1}}")
	f := h.open()
	for port := 2; port < 9; port++ {
		if _, err := f.Edit(t.Context(), Op{Path: []string{"gateway", "port"}, Value: port}); err != nil {
			t.Fatal(err)
		}
	}
	for suffix, port := range map[string]string{"": "8", ".bak": "7", ".bak.1": "6", ".bak.2": "5", ".bak.3": "4", ".bak.4": "3"} {
		if got := h.read(".openclaw", "openclaw.json"+suffix); !strings.Contains(got, "port: "+port) {
			t.Errorf("%s = %q, want port %s", suffix, got, port)
		}
	}
	entries, err := os.ReadDir(h.path(".openclaw"))
	if err != nil || len(entries) != 6 {
		t.Errorf("%d files, %v, want six and no lock", len(entries), err)
	}
}

func TestWriteThroughLink(t *testing.T) {
	h := newHome(t)
	h.write("{gateway: {port: 1}} // dotfiles", "dotfiles", "oc.json5")
	if err := os.MkdirAll(h.path(".openclaw"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(h.path("dotfiles", "oc.json5"), h.path(".openclaw", "openclaw.json")); err != nil {
		t.Fatal(err)
	}
	if _, err := h.open().Edit(t.Context(), Op{Path: []string{"gateway", "port"}, Value: 2}); err != nil {
		t.Fatal(err)
	}
	if got := h.read("dotfiles", "oc.json5"); !strings.HasPrefix(got, "{gateway: {port: 2}") {
		t.Errorf("linked file = %q", got)
	}
	if info, err := os.Lstat(h.path(".openclaw", "openclaw.json")); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Error("the link became a file")
	}
}

func TestNixModeIsReadOnly(t *testing.T) {
	h := newHome(t).config("{}")
	h.env["OPENCLAW_NIX_MODE"] = "1"
	_, err := h.open().Edit(t.Context(), Op{Path: []string{"gateway", "port"}, Value: 2})
	refused(t, err, "read-only")
}

func TestChangeGivesUp(t *testing.T) {
	f := newHome(t).config("{}").open()
	<-f.turn
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := f.Edit(ctx, Op{Path: []string{"gateway", "port"}, Value: 2}); !errors.Is(err, context.Canceled) {
		t.Errorf("Edit = %v, want Canceled", err)
	}
	f.turn <- struct{}{}
	// A folder that cannot be written is named.
	h := newHome(t)
	h.write("", "file")
	h.env["OPENCLAW_CONFIG_PATH"] = h.path("file", "openclaw.json")
	if _, err := h.open().Edit(t.Context(), Op{Path: []string{"gateway", "port"}, Value: 2}); err == nil || !strings.Contains(err.Error(), h.path("file")) {
		t.Errorf("Edit below a file = %v, want an error naming it", err)
	}
}

func TestConcurrentEdits(t *testing.T) {
	h := newHome(t).config("{}")
	files := []*File{h.open(), h.open()} // as two processes
	done := make(chan error)
	for i := range 8 {
		go func() {
			_, err := files[i%2].Edit(t.Context(), Op{Path: []string{"env", "vars", "V" + string(rune('0'+i))}, Value: "x"})
			done <- err
		}()
	}
	for range 8 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	vars, _ := h.valid().Get([]string{"env", "vars"})
	if len(vars.(map[string]any)) != 8 {
		t.Errorf("vars = %v, want all eight", vars)
	}
}

// RT-003: a broken file at start gives way to the last good copy only when asked.
func TestAllowLastGoodRT003(t *testing.T) {
	h := newHome(t).config("{gateway: {port: 1}}")
	f := h.open()
	for _, port := range []int{2, 3} {
		if _, err := f.Edit(t.Context(), Op{Path: []string{"gateway", "port"}, Value: port}); err != nil {
			t.Fatal(err)
		}
	}
	h.config("{gateway: {port: \"x\"}}")
	h.write("{broken", ".openclaw", "openclaw.json.bak")
	if s := h.open().Snapshot(); s.Valid {
		t.Error("the broken file is in force")
	}
	opts := Options{Paths: h.paths(), Env: h.getenv, AllowLastGood: true}
	s := Open(opts).Snapshot()
	if !s.Valid || s.Config.Gateway.Port != 1 || len(s.Warnings) != 1 || !strings.Contains(s.Warnings[0].Message, "openclaw.json.bak.1") || !strings.Contains(s.Warnings[0].Message, "gateway.port") {
		t.Errorf("port = %d, warnings %q, %v", s.Config.Gateway.Port, lines(s.Warnings), s.Err())
	}
	h.write("{broken", ".openclaw", "openclaw.json.bak.1")
	if s := Open(opts).Snapshot(); s.Valid {
		t.Error("without a good copy the file counts as valid")
	}
	_, err := f.Set(t.Context(), h.text(), f.Read().Hash)
	refused(t, err, "invalid config")
}

// RT-006: a restart inside the process keeps the configuration in force when the
// file has become invalid, and takes the repaired one in.
func TestOpenInForceRT006(t *testing.T) {
	h := newHome(t).config("{gateway: {port: 1234}}")
	before := h.open().Snapshot()
	h.config("{gateway: ")
	f := Open(Options{Paths: h.paths(), Env: h.getenv, InForce: before})
	s := f.Snapshot()
	if !s.Valid || s.Config.Gateway.Port != 1234 {
		t.Errorf("snapshot = valid %v, port %d, want the one in force", s.Valid, s.Config.Gateway.Port)
	}
	if len(s.Warnings) != 1 || !strings.Contains(s.Warnings[0].Message, "JSON5") || len(before.Warnings) != 0 {
		t.Errorf("warnings = %v, want one that says what is wrong", s.Warnings)
	}
	if f.Read().Valid {
		t.Error("Read = valid, want what lies on disk")
	}
	h.config("{gateway: {port: 99}}")
	if got := Open(Options{Paths: h.paths(), Env: h.getenv, InForce: before}).Snapshot().Config.Gateway.Port; got != 99 {
		t.Errorf("port of a valid file = %d, want 99", got)
	}
}
