package gateway

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"openclaw/internal/config"
	"openclaw/internal/logs"
	"openclaw/protocol"
)

// fileHouse is a house over a real config file, with a client that notes every
// frame it receives.
type fileHouse struct {
	*house
	*wsClient
	file *config.File
	path string
	mu   sync.Mutex
	log  bytes.Buffer
}

// Write takes the lines of the gateway's log.
func (h *fileHouse) Write(line []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.log.Write(line)
}

// newFileHouse starts a gateway on files of a state folder; env are the variables
// that the config file may name. Without files the gateway has its token from a flag.
func newFileHouse(t *testing.T, files, env map[string]string) *fileHouse {
	t.Helper()
	f := &fileHouse{}
	f.house = newHouse(t, "", func(c *Config) {
		f.path = filepath.Join(c.StateDir, "openclaw.json")
		if err := os.Remove(f.path); err != nil {
			t.Fatal(err)
		}
		for name, text := range files {
			if err := os.WriteFile(filepath.Join(c.StateDir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		paths := config.Paths{Home: c.StateDir, StateDir: c.StateDir, ConfigPath: f.path}
		f.file = config.Open(config.Options{Paths: paths, Version: "1.2.3", Env: func(name string) string { return env[name] }})
		c.Settings = f.file
		if len(files) == 0 {
			c.Token = "secret"
		}
		c.Log = logs.New(logs.Config{File: f, Level: slog.LevelDebug})
	})
	return f
}

func (h *fileHouse) text() string {
	h.house.t.Helper()
	data, err := os.ReadFile(h.path)
	if err != nil {
		h.house.t.Fatal(err)
	}
	return string(data)
}

func (h *fileHouse) get() protocol.ConfigGetResult {
	h.house.t.Helper()
	return decode[protocol.ConfigGetResult](h.house.t, h.call(protocol.MethodConfigGet, object{}))
}

// GW-105: the base hash of every writing method, with its texts.
func TestBaseHashGW105(t *testing.T) {
	const text = `{gateway: {mode: "local", auth: {token: "secret"}}}`
	for _, method := range []string{protocol.MethodConfigSet, protocol.MethodConfigApply, protocol.MethodConfigPatch} {
		t.Run(method, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newFileHouse(t, map[string]string{"openclaw.json": text}, nil)
				h.wsClient = h.connect(dialer{})
				raw := `{"gateway":{"mode":"local","auth":{"token":"secret"}},"ui":{"seamColor":"#112233"}}`
				for _, tt := range []struct{ hash, want string }{
					{"", "config base hash required; re-run config.get and retry"},
					{"stale", "config changed since last load; re-run config.get and retry"},
				} {
					params := object{"raw": raw}
					if tt.hash != "" {
						params["baseHash"] = tt.hash
					}
					f := h.call(method, params)
					if f.OK || f.Error.Code != protocol.CodeInvalidRequest || f.Error.Message != tt.want || len(f.Error.Details) > 0 {
						t.Errorf("base hash %q = %+v, want INVALID_REQUEST %q", tt.hash, f.Error, tt.want)
					}
				}
				if got := h.text(); got != text {
					t.Fatalf("a refused write left %q", got)
				}
				if f := h.call(method, object{"raw": raw, "baseHash": h.get().Hash}); !f.OK {
					t.Fatalf("right base hash = %+v, want ok", f.Error)
				}
				if !strings.Contains(h.text(), "#112233") {
					t.Errorf("the file holds %q, want the new colour", h.text())
				}
			})
		})
		t.Run(method+" without a file", func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newFileHouse(t, nil, nil)
				h.wsClient = h.connect(dialer{})
				before := h.get()
				empty := sha256.Sum256(nil)
				if before.Exists || before.Raw != nil || !before.Valid || before.Hash != hex.EncodeToString(empty[:]) {
					t.Errorf("config.get without a file = %+v, want the hash of nothing", before)
				}
				if f := h.call(method, object{"raw": "{ui: {seamColor: '#112233'}}", "baseHash": "whatever"}); !f.OK {
					t.Fatalf("first write = %+v, want ok whatever the hash", f.Error)
				}
				if info, err := os.Stat(h.path); err != nil || info.Mode().Perm() != 0o600 {
					t.Errorf("file = %v, %v, want it private", info, err)
				}
			})
		})
	}
}

// GW-106: what is refused, in which words, and that it leaves no trace.
func TestInvalidConfigGW106(t *testing.T) {
	const text = "// mine\n{gateway: {mode: \"local\", auth: {token: \"secret\"}}, tools: {deny: [\"a\"]}}\n"
	synctest.Test(t, func(t *testing.T) {
		h := newFileHouse(t, map[string]string{"openclaw.json": text}, nil)
		h.wsClient = h.connect(dialer{})
		hash := h.get().Hash
		for _, tt := range []struct{ method, raw, want, issue string }{
			{protocol.MethodConfigPatch, "{not json", "SyntaxError: JSON5: invalid character 'j' at 1:6", ""},
			{protocol.MethodConfigPatch, "[1]", "config.patch raw must be an object", ""},
			{protocol.MethodConfigPatch, "{nosuchkey:1}", "invalid config", `Unrecognized key: "nosuchkey"`},
			{protocol.MethodConfigPatch, `{gateway: {port: "x"}}`, "invalid config", "expected integer"},
			{protocol.MethodConfigPatch, `{models: {providers: {a: {apiKey: "__OPENCLAW_REDACTED__"}}}}`, "invalid config", "redacted"},
			{protocol.MethodConfigApply, `{gateway: {bind: "everywhere"}}`, "invalid config", "gateway.bind"},
			{protocol.MethodConfigSet, "{gateway:", "SyntaxError: JSON5", ""},
			{protocol.MethodConfigSet, "", "invalid config.set params: at /raw: must NOT have fewer than 1 characters", ""},
		} {
			f := h.call(tt.method, object{"raw": tt.raw, "baseHash": hash})
			if f.OK || f.Error.Code != protocol.CodeInvalidRequest || !strings.HasPrefix(f.Error.Message, tt.want) {
				t.Errorf("%s %s = %+v, want INVALID_REQUEST %q", tt.method, tt.raw, f.Error, tt.want)
				continue
			}
			var d protocol.ConfigIssuesDetails
			if tt.issue != "" && (json.Unmarshal(f.Error.Details, &d) != nil || len(d.Issues) == 0 || !strings.Contains(d.Issues[0].Path+" "+d.Issues[0].Message, tt.issue)) {
				t.Errorf("%s %s: details %s, want an issue with %q", tt.method, tt.raw, f.Error.Details, tt.issue)
			}
		}
		if got := h.text(); got != text {
			t.Errorf("refused writes left %q", got)
		}
		if left, _ := filepath.Glob(filepath.Join(h.house.dir, "openclaw.json?*")); len(left) > 0 {
			t.Errorf("refused writes left files: %v", left)
		}
		if _, err := os.Stat(h.house.g.sentinelPath()); err == nil {
			t.Error("a refused write left a restart sentinel")
		}
		// null removes, objects merge, lists replace, comments stay.
		if f := h.call(protocol.MethodConfigPatch, object{"raw": `{gateway: {port: 4000}, tools: {deny: ["b"]}}`, "baseHash": hash, "restartDelayMs": 60000}); !f.OK {
			t.Fatalf("patch = %+v, want ok", f.Error)
		}
		if f := h.call(protocol.MethodConfigPatch, object{"raw": `{gateway: {port: null}}`, "baseHash": h.get().Hash, "restartDelayMs": 60000}); !f.OK {
			t.Fatalf("patch = %+v, want ok", f.Error)
		}
		if got := h.text(); strings.Contains(got, "port") || strings.Contains(got, `"a"`) || !strings.Contains(got, `"b"`) || !strings.HasPrefix(got, "// mine\n") {
			t.Errorf("the file holds %q", got)
		}

		// A file that somebody broke shows as it is, and cannot be patched, only replaced.
		if err := os.WriteFile(h.path, []byte("{gateway: {port: 'x'}}"), 0o600); err != nil {
			t.Fatal(err)
		}
		broken := h.get()
		if broken.Valid || len(broken.Issues) != 1 || broken.Issues[0].Path != "gateway.port" {
			t.Errorf("config.get of a broken file = %+v, want the issue", broken)
		}
		if f := h.call(protocol.MethodConfigPatch, object{"raw": "{}", "baseHash": broken.Hash}); f.OK || f.Error.Message != "invalid config; fix before patching" {
			t.Errorf("patch of a broken file = %+v, want it refused", f.Error)
		}
		if f := h.call(protocol.MethodConfigSet, object{"raw": usual, "baseHash": broken.Hash}); !f.OK {
			t.Errorf("replacement of a broken file = %+v, want ok", f.Error)
		}
	})
}

// GW-107: the hash is that of the bytes, and what config.get shows comes back
// without changing one of them.
func TestRoundTripGW107(t *testing.T) {
	const text = "// keep me: sk-abcdefghijklmnopqrstuvwx\n{\n  gateway: { mode: 'local', auth: { token: 'secret', password: \"${PASS}\" } }, // here\n" +
		"  models: { providers: { p: { baseUrl: 'http://x/v1', apiKey: 'key-0123456789abcdef', models: [] } } },\n}\n"
	synctest.Test(t, func(t *testing.T) {
		h := newFileHouse(t, map[string]string{"openclaw.json": text}, map[string]string{"PASS": "the-pass-word"})
		h.wsClient = h.connect(dialer{})
		got := h.get()
		sum := sha256.Sum256([]byte(text))
		if got.Hash != hex.EncodeToString(sum[:]) {
			t.Errorf("hash = %s, want the SHA-256 of the file", got.Hash)
		}
		for _, secret := range []string{"'secret'", "the-pass-word", "key-0123456789abcdef", "sk-abcdefghijklmnopqrstuvwx"} {
			if shown, _ := json.Marshal(got); strings.Contains(string(shown), secret) {
				t.Errorf("config.get shows %s", secret)
			}
		}
		for name, raw := range map[string]string{"raw": *got.Raw, "parsed": string(got.Parsed), "config": string(got.Config)} {
			f := h.call(protocol.MethodConfigSet, object{"raw": raw, "baseHash": h.get().Hash})
			if !f.OK {
				t.Fatalf("%s sent back = %+v, want ok", name, f.Error)
			}
			if now := h.text(); !onlyMeta(text, now) {
				t.Errorf("%s sent back changed the file to\n%s", name, now)
			}
		}
	})
}

// onlyMeta reports whether after is before, with or without the writer's stamp.
func onlyMeta(before, after string) bool {
	lines := func(s string) []string {
		var out []string
		inMeta := false
		for line := range strings.Lines(s) {
			switch word := strings.TrimSpace(line); {
			case strings.HasPrefix(word, "meta:"):
				inMeta = true
			case inMeta:
				inMeta = !strings.HasPrefix(word, "}")
			default:
				out = append(out, line)
			}
		}
		return out
	}
	return slices.Equal(lines(before), lines(after))
}

// P12: with references, an include and comments, every way of writing touches only
// what was asked for, and a resolved secret shows up in no file, no log line and no
// answer.
func TestSecretsStayReferencesP12(t *testing.T) {
	const (
		text = "// mine\n{\n  $include: './models.json5', // elsewhere\n  gateway: {\n    mode: 'local',\n    auth: { token: '${GW_TOKEN}' }, // from the environment\n  },\n  ui: { seamColor: '#000000' },\n}\n"
		more = "{ models: { providers: { p: { baseUrl: 'http://x/v1', apiKey: '${API_KEY}', headers: { 'X-Key': 'Bearer ${API_KEY}' }, models: [] } } } }\n"
	)
	env := map[string]string{"GW_TOKEN": "resolved-gateway-token", "API_KEY": "resolved-api-key"}
	synctest.Test(t, func(t *testing.T) {
		h := newFileHouse(t, map[string]string{"openclaw.json": text, "models.json5": more}, env)
		h.wsClient = h.connect(dialer{}, func(o object) { o["auth"] = object{"token": "resolved-gateway-token"} })
		var answers bytes.Buffer
		note := func(f protocol.Frame) protocol.Frame {
			data, err := json.Marshal(f)
			if err != nil {
				t.Fatal(err)
			}
			answers.Write(data)
			return f
		}
		color := "#000000"
		write := func(name, method string, raw func(protocol.ConfigGetResult) string) {
			got := decode[protocol.ConfigGetResult](t, note(h.call(protocol.MethodConfigGet, nil)))
			before := h.text()
			next := "#" + strings.Repeat(string('1'+color[1]-'0'), 6)
			params := object{"raw": strings.ReplaceAll(raw(got), color, next), "baseHash": got.Hash}
			if method != protocol.MethodConfigSet {
				params["restartDelayMs"] = 60000
			}
			f := note(h.call(method, params))
			if !f.OK {
				t.Fatalf("%s = %+v, want ok", name, f.Error)
			}
			if now := h.text(); !onlyMeta(strings.Replace(before, color, next, 1), now) {
				t.Errorf("%s changed more than the colour:\n%s", name, now)
			}
			color = next
		}
		patch := func(protocol.ConfigGetResult) string { return `{ui: {seamColor: "` + color + `"}}` }
		write("patch", protocol.MethodConfigPatch, patch)
		for _, method := range []string{protocol.MethodConfigSet, protocol.MethodConfigApply} {
			write(method+" of raw", method, func(g protocol.ConfigGetResult) string { return *g.Raw })
			write(method+" of parsed", method, func(g protocol.ConfigGetResult) string { return string(g.Parsed) })
			write(method+" of config", method, func(g protocol.ConfigGetResult) string { return string(g.Config) })
		}
		note(h.call(protocol.MethodConfigPatch, object{"raw": `{gateway: {auth: {token: 5}}}`, "baseHash": h.get().Hash}))
		note(h.call(protocol.MethodConfigSchema, nil))
		note(h.call(protocol.MethodStatus, nil))

		h.mu.Lock()
		places := map[string]string{"an answer": answers.String(), "the log": h.log.String()}
		h.mu.Unlock()
		err := filepath.WalkDir(h.house.dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return err
			}
			data, err := os.ReadFile(path)
			places[path] = string(data)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		if len(places) < 6 || places["the log"] == "" {
			t.Fatalf("looked at %d places only", len(places))
		}
		for where, text := range places {
			for _, secret := range env {
				if strings.Contains(text, secret) {
					t.Errorf("%s holds %s", where, secret)
				}
			}
		}
		if got, _ := os.ReadFile(filepath.Join(h.house.dir, "models.json5")); string(got) != more {
			t.Errorf("the included file holds %q", got)
		}
	})
}
