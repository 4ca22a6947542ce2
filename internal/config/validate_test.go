package config

import (
	"encoding/json"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Every setting of the reference release is known here, with its kind. RT-003
// depends on it: a file that works there draws no warning here.
func TestReferenceKeysAreKnown(t *testing.T) {
	data, err := os.ReadFile("testdata/reference-keys.txt")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		n++
		fields := strings.Split(line, "\t")
		path := strings.Split(fields[0], " ")
		s := known()
		for _, key := range path {
			if s = s.child(key); s == nil {
				break
			}
		}
		if s == nil {
			t.Errorf("%s: not known", fields[0])
			continue
		}
		checkKind(t, fields[0], fields[1], s.target())
	}
	if n < 700 {
		t.Errorf("only %d reference keys were checked", n)
	}
}

// checkKind feeds s with values of the reference kind.
func checkKind(t *testing.T, path, kind string, s *shape) {
	t.Helper()
	name, list, _ := strings.Cut(kind, " ")
	var values []string
	if list != "" {
		if err := json.Unmarshal([]byte(list), &values); err != nil {
			t.Fatal(err)
		}
	}
	accept := func(v any) {
		t.Helper()
		var c checker
		c.check(v, s, nil)
		for _, i := range c.issues {
			if !strings.HasSuffix(i.Message, "is required") {
				t.Errorf("%s refuses %v: %s", path, v, i.Message)
			}
		}
	}
	for _, k := range append(values, name) {
		switch {
		case name == "enum" && k != name:
			accept(k)
		case k == "string" && s.color:
			accept("#112233")
		case k == "string":
			accept("x")
		case k == "number":
			accept(json.Number(plain(max(s.min, min(s.max, 0.75)))))
		case k == "integer":
			accept(json.Number(plain(max(s.min, min(s.max, 5)))))
		case k == "boolean":
			accept(true)
		case k == "object":
			accept(map[string]any{})
		case k == "array":
			accept([]any{})
		}
	}
}

func TestValidateTypes(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{`{gateway: {port: "x"}}`, `gateway.port: expected integer from 1 to 65535, got "x"`},
		{`{gateway: {port: 70000}}`, `gateway.port: expected integer from 1 to 65535, got 70000`},
		{`{gateway: {port: 1.5}}`, `gateway.port: expected integer from 1 to 65535, got 1.5`},
		{`{gateway: {port: Infinity}}`, `gateway.port: expected integer from 1 to 65535, got Infinity`},
		{`{gateway: {port: 18789.0, bind: "lan"}}`, ``},
		{`{gateway: []}`, `gateway: expected object, got array`},
		{`{gateway: null}`, `gateway: expected object, got null`},
		{`{gateway: {bind: "wan"}}`, `gateway.bind: expected one of "auto", "lan", "loopback", "custom", "tailnet", got "wan"`},
		{`{gateway: {trustedProxies: ["a", 5]}}`, `gateway.trustedProxies.1: expected string, got 5`},
		{`{gateway: {auth: {token: 12345}}}`, `gateway.auth.token: expected string, got number`}, // no secret in an issue
		{`{gateway: {auth: {mode: "sk-0123456789abcdef"}}}`, `gateway.auth.mode: expected one of "token", "password", "none", "trusted-proxy", got string`},
		{`{agents: {list: [{}]}}`, `agents.list.0.id: is required`},
		{`{agents: {list: [{id: "a", model: 5}]}}`, `agents.list.0.model: expected string or object, got 5`},
		{`{agents: {list: [{id: "a", model: {primary: 5}}]}}`, `agents.list.0.model.primary: expected string, got 5`},
		{`{agents: {defaults: {timeoutSeconds: 0}}}`, `agents.defaults.timeoutSeconds: expected positive integer, got 0`},
		{`{agents: {defaults: {mediaMaxMb: 0}}}`, `agents.defaults.mediaMaxMb: expected positive number, got 0`},
		{`{agents: {defaults: {compaction: {maxHistoryShare: 0.95}}}}`, `agents.defaults.compaction.maxHistoryShare: expected number from 0.1 to 0.9, got 0.95`},
		{`{messages: {queue: {debounceMs: -1}}}`, `messages.queue.debounceMs: expected integer, got -1`},
		{`{models: {providers: {p: {baseUrl: "", models: []}}}}`, `models.providers.p.baseUrl: expected non-empty string, got ""`},
		{`{models: {providers: {p: {models: [{id: "x"}]}}}}`, "models.providers.p.models.0.name: is required\nmodels.providers.p.baseUrl: is required"},
		{`{ui: {seamColor: "red"}}`, `ui.seamColor: expected color like #1a2b3c, got "red"`},
		{`{ui: {seamColor: "112233", assistant: {name: "` + strings.Repeat("é", 50) + `"}}}`, ``},
		{`{ui: {assistant: {name: "` + strings.Repeat("é", 51) + `"}}}`, `ui.assistant.name: expected string of at most 50 characters, got "` + strings.Repeat("é", 51) + `"`},
		{`{commands: {native: "yes"}}`, `commands.native: expected boolean or "auto", got "yes"`},
		{`{commands: {native: true, ownerAllowFrom: [1, "2"]}}`, ``},
		{`{commands: {ownerAllowFrom: [true]}}`, `commands.ownerAllowFrom.0: expected string or number, got true`},
		{`{browser: {snapshotDefaults: {mode: "full"}}}`, `browser.snapshotDefaults.mode: expected "efficient", got "full"`},
		{`{messages: {tts: {timeoutMs: 10}}}`, `messages.tts.timeoutMs: expected integer from 1000 to 120000, got 10`},
		{`{tools: {web: {search: {cacheTtlMinutes: -1}}}}`, `tools.web.search.cacheTtlMinutes: expected number of at least 0, got -1`},
		{`{messages: {messagePrefix: 9007199254740993}}`, `messages.messagePrefix: expected string, got 9007199254740993`},
		{`{channels: {telegram: {dmPolicy: "maybe", anything: {goes: [1]}}, custom: {x: 1}}}`, `channels.telegram.dmPolicy: expected one of "pairing", "allowlist", "open", "disabled", got "maybe"`},
		{`{channels: {discord: {allowFrom: [123456789012345678]}}, plugins: {entries: {x: {config: {deep: {er: 1}}}}}}`, ``},
		{`{agents: {defaults: {sandbox: {docker: {ulimits: {nofile: {soft: 1, hard: -2}, x: "1", y: 2}}}}}}`, `agents.defaults.sandbox.docker.ulimits.nofile.hard: expected integer, got -2`},
		{`{skills: {entries: {s: {config: {any: [null]}}}}, $schema: "x"}`, ``},
		{`{gateway: {auth: {mode: "` + strings.Repeat("long ", 30) + `"}}}`, `gateway.auth.mode: expected one of "token", "password", "none", "trusted-proxy", got "` + strings.Repeat("long ", 12) + `…"`},
	} {
		s := load(t, tt.text)
		if got := lines(s.Issues); got != tt.want || s.Valid != (tt.want == "") || len(s.Warnings) > 0 {
			t.Errorf("%s:\n got %s\nwant %s\nwarnings %q", tt.text, got, tt.want, lines(s.Warnings))
		}
	}
}

// RT-003: unknown keys warn once each, with their path and the nearest known key.
func TestUnknownKeysRT003(t *testing.T) {
	s := load(t, `{
		gatway: {}, gateway: {prot: 1, auth: {tokn: "x"}, zzzzzzzz: 1}, $new: 1,
		agents: {list: [{id: "a", wrkspace: "x", newer: {deep: 1}}], defaults: {modle: "x"}},
		session: {resetByType: {dm: {atHuor: 1}}},
	}`)
	if err := s.Err(); err != nil {
		t.Fatal(err)
	}
	want := []string{
		`$new: unknown key`,
		`agents.defaults.modle: unknown key; did you mean "model"?`,
		`agents.list.0.newer: unknown key`,
		`agents.list.0.wrkspace: unknown key; did you mean "workspace"?`,
		`gateway.auth.tokn: unknown key; did you mean "token"?`,
		`gateway.prot: unknown key; did you mean "port"?`,
		`gateway.zzzzzzzz: unknown key`,
		`gatway: unknown key; did you mean "gateway"?`,
		`session.resetByType.dm.atHuor: unknown key; did you mean "atHour"?`,
	}
	got := strings.Split(lines(s.Warnings), "\n")
	slices.Sort(got)
	for i, line := range got { // a hint for a key like nothing else is not promised
		if strings.HasPrefix(line, "$new:") || strings.Contains(line, "newer:") {
			got[i], _, _ = strings.Cut(line, ";")
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
}

// RT-009: settings that contradict each other.
func TestRulesRT009(t *testing.T) {
	both := `allow: ["a"], alsoAllow: ["b"]`
	for _, tt := range []struct{ name, text, want string }{
		{"tools", `{tools: {` + both + `}}`, `tools: allow and alsoAllow`},
		{"tools by provider", `{tools: {byProvider: {p: {` + both + `}}}}`, `tools.byProvider.p: allow`},
		{"subagents", `{tools: {subagents: {tools: {` + both + `}}}}`, `tools.subagents.tools: allow`},
		{"sandbox", `{tools: {sandbox: {tools: {` + both + `}}}}`, `tools.sandbox.tools: allow`},
		{"agent", `{agents: {list: [{id: "a", tools: {` + both + `}}]}}`, `agents.list.0.tools: allow`},
		{"agent by provider", `{agents: {list: [{id: "a", tools: {byProvider: {"p/m": {` + both + `}}}}]}}`, `agents.list.0.tools.byProvider.p/m: allow`},
		{"agent sandbox", `{agents: {list: [{id: "a", tools: {sandbox: {tools: {` + both + `}}}}]}}`, `agents.list.0.tools.sandbox.tools: allow`},
		{"in two scopes", `{tools: {allow: ["a"]}, agents: {list: [{id: "a", tools: {alsoAllow: ["b"]}}]}}`, ``},
		{"empty lists", `{tools: {allow: [], alsoAllow: ["b"]}}`, ``},

		{"same agent dir", `{agents: {list: [{id: "a", agentDir: "/x"}, {id: "b", agentDir: "/x/"}]}}`, `agents.list.1.agentDir: agents a and b use the same agent folder /x`},
		{"same id", `{agents: {list: [{id: "Ops Team"}, {id: "ops-team"}]}}`, `agents.list.1.id: agents ops-team and ops-team`},
		{"default dir taken", `{agents: {list: [{id: "a"}, {id: "b", agentDir: "~/.openclaw/agents/a/agent"}]}}`, `agents.list.1.agentDir: agents a and b`},
		{"own dirs", `{agents: {list: [{id: "a"}, {id: "b", agentDir: "/x"}]}}`, ``},

		{"open without star", `{channels: {telegram: {dmPolicy: "open", allowFrom: ["1"]}}}`, `channels.telegram.allowFrom: channels.telegram.dmPolicy="open" requires channels.telegram.allowFrom to contain "*"`},
		{"open without list", `{channels: {whatsapp: {dmPolicy: "open"}}}`, `channels.whatsapp.dmPolicy="open" requires channels.whatsapp.allowFrom`},
		{"open dm block", `{channels: {discord: {dm: {policy: "open", allowFrom: []}}}}`, `channels.discord.dm.policy="open" requires channels.discord.dm.allowFrom`},
		{"open account", `{channels: {telegram: {accounts: {b: {dmPolicy: "open"}}}}}`, `channels.telegram.accounts.b.dmPolicy="open" requires channels.telegram.accounts.b.allowFrom`},
		{"open with star", `{channels: {telegram: {dmPolicy: "open", allowFrom: ["*"], accounts: {b: {dmPolicy: "open"}}}, slack: {dm: {policy: "open", allowFrom: ["*", 1]}}}}`, ``},

		{"unknown broadcast agent", `{agents: {list: [{id: "a"}]}, broadcast: {strategy: "parallel", "+1": ["a", "b"]}}`, `broadcast.+1.1: unknown agent "b"`},
		{"broadcast without list", `{broadcast: {"+1": ["b"]}}`, ``},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := load(t, tt.text)
			if got := lines(s.Issues); tt.want == "" && got != "" || !strings.Contains(got, tt.want) || s.Valid != (tt.want == "") {
				t.Errorf("valid %v, issues = %q, want %q", s.Valid, got, tt.want)
			}
		})
	}
	if s := load(t, `{agents: {list: [{id: "a", default: true}, {id: "b", default: true}]}}`); !s.Valid || s.Config.DefaultAgentID() != "a" || len(s.Warnings) != 1 {
		t.Errorf("two defaults: %v, agent %s, warnings %q", s.Err(), s.Config.DefaultAgentID(), lines(s.Warnings))
	}
}

func TestNearest(t *testing.T) {
	names := []string{"port", "mode", "bind", "controlUi", "trustedProxies"}
	for key, want := range map[string]string{
		"prot": "port", "PORT": "port", "controlUI": "controlUi", "trustedProxy": "trustedProxies", "bnid": "bind", "xyz": "", "": "",
		strings.Repeat("x", 1000): "",
	} {
		if got := nearest(key, names); got != want {
			t.Errorf("nearest(%.20q) = %q, want %q", key, got, want)
		}
	}
}

func TestParseKnownErrors(t *testing.T) {
	for text, want := range map[string]string{
		"@root\n  a wat":        "unknown type",
		"@root\n    a s":        "indented below nothing",
		"@root\n  a s\n    b s": "indented below nothing",
		"@root\n  a @none":      "@none is used but not described",
		"@other\n  a s":         "no @root",
		"@root\n  a i 5":        "bounds",
		"@root\n  a i x..2":     "invalid syntax",
		"@root\n  a i 1..y":     "invalid syntax",
		"@root\n  a s or wat":   "unknown type",
		"@root\n  a x|y 1..2":   "unknown type",
		"@root\n  a []wat":      "unknown type",
	} {
		if _, err := parseKnown(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("parseKnown(%q) = %v, want %q", text, err, want)
		}
	}
}

func FuzzLoad(f *testing.F) {
	f.Add(typical)
	f.Add(`{agent: {x: 1}, tools: {allow: 1}, channels: {a: {accounts: []}}, agents: {list: [1, {id: 5}], defaults: []}}`)
	f.Add(`{models: {providers: {p: {models: [null, {}]}}}, bindings: {}, broadcast: [], env: {vars: 1}, session: 1}`)
	f.Add(`{agents: {defaults: {models: {"anthropic/x": 1}}}, auth: {profiles: {a: {provider: "anthropic", mode: "api_key"}}}}`)
	dir := f.TempDir()
	p := Paths{Home: dir, StateDir: dir, ConfigPath: dir + "/openclaw.json"}
	f.Fuzz(func(t *testing.T, text string) {
		if strings.Contains(text, "include") {
			return // reads other files
		}
		s := evaluate(p, func(string) string { return "" }, text, true)
		if s.Config == nil || s.Resolved == nil || s.Valid && len(s.Problems()) > 0 {
			t.Errorf("snapshot of %q is incomplete", text)
		}
		if _, err := json.Marshal(s.Redacted()); err != nil {
			t.Errorf("redacted %q: %v", text, err)
		}
	})
}

func TestFits(t *testing.T) {
	big := &shape{kind: shapeInt, min: 0, max: math.Inf(1)}
	for v, want := range map[any]bool{json.Number("9007199254740992"): true, json.Number("9007199254740994"): false, json.Number("1e3"): true, "1": false, 5: true} {
		if got := big.fits(v); got != want {
			t.Errorf("fits(%v) = %v, want %v", v, got, want)
		}
	}
	if got := strconv.Quote((&shape{kind: shapeAny}).describe()); got != `"value"` {
		t.Errorf("describe = %s", got)
	}
}
