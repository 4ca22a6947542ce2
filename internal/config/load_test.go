package config

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestLoadMissingFile(t *testing.T) {
	s := newHome(t).load()
	if !s.Valid || s.Exists || s.Raw != "" || s.Config.Gateway.Port != 18789 || len(s.Warnings) != 0 {
		t.Errorf("snapshot = %+v, want an empty valid one with defaults", s)
	}
	const empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
	if s.Hash != empty {
		t.Errorf("hash = %s, want that of the empty text", s.Hash)
	}
	if r := s.Redacted(); r.Raw != nil {
		t.Errorf("raw = %q, want none", *r.Raw)
	}
}

// GW-107: the hash is that of the bytes on disk, whatever they are.
func TestLoadHashGW107(t *testing.T) {
	for _, text := range []string{"{}", "\uFEFF{\r\n}\r\n", "{ // broken", "\xff"} {
		sum := sha256.Sum256([]byte(text))
		if s := load(t, text); s.Hash != hex.EncodeToString(sum[:]) || s.Raw != text || !s.Exists {
			t.Errorf("%q: hash = %s, raw = %q, exists %v", text, s.Hash, s.Raw, s.Exists)
		}
	}
}

func TestLoadOddFiles(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"no bytes after a crash", "", "the file is empty"},
		{"only space", "\uFEFF \r\n", "the file is empty"},
		{"zero bytes after a crash", "\x00\x00\x00", "the file is empty"},
		{"UTF-16", "\xff\xfe{\x00}\x00", "UTF-16"},
		{"syntax", "{\n  a: 1\n  b: 2\n}", "SyntaxError: JSON5: invalid character 'b' at 3:3"},
		{"no object", "[1]", "expected object, got array"},
		{"null", "null", "expected object, got null"},
		{"too long", "{/*" + strings.Repeat(" ", maxFile) + "*/}", "file too large"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := load(t, tt.text)
			if s.Valid || !s.Exists || !strings.Contains(lines(s.Issues), tt.want) {
				t.Errorf("valid %v, issues %q, want %q", s.Valid, lines(s.Issues), tt.want)
			}
			if s.Config == nil || s.Config.Gateway.Port != 18789 || s.Resolved == nil {
				t.Error("an invalid file must read as an empty one")
			}
			if err := s.Err(); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Err = %v", err)
			}
		})
	}
	if s := load(t, "\uFEFF// c\r\n{\r\n\tgateway: {port: 1,},\r\n}\r\n"); !s.Valid || s.Config.Gateway.Port != 1 {
		t.Errorf("BOM and Windows lines: %v", s.Err())
	}
	h := newHome(t).config("")
	h.write("{}", ".openclaw", "openclaw.json.bak")
	if s := h.load(); !strings.Contains(lines(s.Issues), "openclaw.json.bak") {
		t.Errorf("issues = %q, want a word about the backup", lines(s.Issues))
	}
}

func TestLoadFolderAndUnreadable(t *testing.T) {
	h := newHome(t)
	if err := os.MkdirAll(h.path(".openclaw", "openclaw.json"), 0o700); err != nil {
		t.Fatal(err)
	}
	if s := h.load(); s.Valid || !s.Exists || !strings.Contains(lines(s.Issues), "is a folder") {
		t.Errorf("folder: valid %v, issues %q", s.Valid, lines(s.Issues))
	}
	h = newHome(t)
	h.env["OPENCLAW_CONFIG_PATH"] = h.path("loop")
	if err := os.Symlink("loop", h.path("loop")); err != nil {
		t.Fatal(err)
	}
	if s := h.load(); s.Valid || !s.Exists {
		t.Errorf("link loop: valid %v, exists %v, issues %q", s.Valid, s.Exists, lines(s.Issues))
	}
	h = newHome(t).config("{gateway: {port: 7}}")
	h.env["OPENCLAW_CONFIG_PATH"] = h.path("link")
	if err := os.Symlink(filepath.Join(".openclaw", "openclaw.json"), h.path("link")); err != nil {
		t.Fatal(err)
	}
	if s := h.valid(); s.Config.Gateway.Port != 7 {
		t.Errorf("linked file: port = %d, want 7", s.Config.Gateway.Port)
	}
}

// RT-004: relative paths, lists of files, concatenation, siblings, nesting.
func TestIncludeRT004(t *testing.T) {
	h := newHome(t).config(`{
		$include: ["./a.json5", "sub/b.json5"],
		gateway: { port: 3 },
		tools: { $include: "tools.json5", deny: ["own"] },
		session: { $include: "session.json5" },
	}`)
	h.write(`{gateway: {port: 1, bind: "lan"}, bindings: [{agentId: "a", match: {channel: "x"}}]}`, ".openclaw", "a.json5")
	h.write(`{gateway: {port: 2, mode: "local"}, bindings: [{agentId: "b", match: {channel: "x"}}], $include: "c.json5"}`, ".openclaw", "sub", "b.json5")
	h.write(`{logging: {level: "debug"}, gateway: {mode: "remote"}}`, ".openclaw", "sub", "c.json5")
	h.write(`{deny: ["included"]}`, ".openclaw", "tools.json5")
	h.write(`{dmScope: "per-peer"}`, ".openclaw", "session.json5")
	s := h.valid()
	c := s.Config
	if c.Gateway.Port != 3 || c.Gateway.Bind != "lan" || c.Gateway.Mode != "local" || c.Logging.Level != "debug" || c.Session.DMScope != "per-peer" {
		t.Errorf("gateway = %+v, logging = %+v, session = %+v", c.Gateway, c.Logging, c.Session)
	}
	if diff := cmp.Diff([]string{"included", "own"}, c.Tools.Deny); diff != "" {
		t.Errorf("deny (-want +got):\n%s", diff)
	}
	if len(c.Bindings) != 2 || c.Bindings[0].AgentID != "a" || c.Bindings[1].AgentID != "b" {
		t.Errorf("bindings = %+v, want a, b", c.Bindings)
	}
	if len(s.Files) != 6 {
		t.Errorf("files = %v, want all six", s.Files)
	}
	if _, ok := s.Parsed.(map[string]any)["$include"]; !ok {
		t.Error("parsed lost the include")
	}
}

func TestIncludeErrorsRT004(t *testing.T) {
	chain := func(h *home, n int) {
		for i := range n {
			h.write(`{$include: "`+string(rune('a'+i+1))+`.json5"}`, ".openclaw", string(rune('a'+i))+".json5")
		}
		h.write(`{gateway: {port: 9}}`, ".openclaw", string(rune('a'+n))+".json5")
	}
	for _, tt := range []struct {
		name, text string
		setup      func(*home)
		want       string
	}{
		{"missing", `{gateway: {$include: "no.json5"}}`, nil, "gateway.$include: included file"},
		{"broken", `{$include: "b.json5"}`, func(h *home) { h.write("{", ".openclaw", "b.json5") }, "invalid end of input at 1:2"},
		{"itself", `{$include: "openclaw.json"}`, nil, "circular include"},
		{"cycle", `{$include: "a.json5"}`, func(h *home) {
			h.write(`{x: {$include: "b.json5"}}`, ".openclaw", "a.json5")
			h.write(`{y: {$include: "./a.json5"}}`, ".openclaw", "b.json5")
		}, "circular include"},
		{"too deep", `{$include: "a.json5"}`, func(h *home) { chain(h, 10) }, "deeper than 10"},
		{"deep enough", `{$include: "a.json5"}`, func(h *home) { chain(h, 9) }, ""},
		{"twice is no cycle", `{gateway: {$include: "b.json5"}, session: {$include: "b.json5"}}`, func(h *home) { h.write("{}", ".openclaw", "b.json5") }, ""},
		{"not a name", `{$include: 5}`, nil, "$include: expected a file name"},
		{"not names", `{$include: ["a.json5", {}]}`, func(h *home) { h.write("{}", ".openclaw", "a.json5") }, "expected file names, got object"},
		{"no object beside keys", `{tools: {deny: {$include: "l.json5", x: 1}}}`, func(h *home) { h.write("[1]", ".openclaw", "l.json5") }, "must hold an object"},
		{"a list alone", `{tools: {deny: {$include: "l.json5"}}}`, func(h *home) { h.write(`["a"]`, ".openclaw", "l.json5") }, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := newHome(t).config(tt.text)
			if tt.setup != nil {
				tt.setup(h)
			}
			s := h.load()
			if tt.want == "" {
				if err := s.Err(); err != nil {
					t.Error(err)
				}
				return
			}
			if s.Valid || !strings.Contains(lines(s.Issues), tt.want) {
				t.Errorf("issues = %q, want %q", lines(s.Issues), tt.want)
			}
		})
	}
}

// RT-005: the env block counts before substitution, a literal is possible, and a
// missing variable names the path.
func TestSubstituteRT005(t *testing.T) {
	h := newHome(t).config(`{
		env: { vars: { FROM_VARS: "v", TAKEN: "file", CHAIN: "${OUTER}/x" }, DIRECT: "d", shellEnv: {enabled: false} },
		gateway: { auth: { token: "${FROM_VARS}-${DIRECT}-${TAKEN}-${CHAIN}" } },
		messages: { messagePrefix: "$${FROM_VARS} ${lower} $5 ${", responsePrefix: "${OUTER}" },
		hooks: { $include: "hooks.json5" },
	}`)
	h.env["OUTER"], h.env["TAKEN"] = "out", "process"
	h.write(`{token: "${FROM_VARS}"}`, ".openclaw", "hooks.json5")
	s := h.valid()
	if got, want := s.Config.Gateway.Auth.Token.Reveal(), "v-d-process-out/x"; got != want {
		t.Errorf("token = %q, want %q", got, want)
	}
	if got, want := s.Config.Messages.MessagePrefix, "${FROM_VARS} ${lower} $5 ${"; got != want {
		t.Errorf("prefix = %q, want %q", got, want)
	}
	if got := s.Config.Hooks.Token.Reveal(); got != "v" {
		t.Errorf("included token = %q, want v", got)
	}
	want := map[string]string{"FROM_VARS": "v", "DIRECT": "d", "CHAIN": "out/x"}
	if diff := cmp.Diff(want, s.EnvVars); diff != "" {
		t.Errorf("exported (-want +got):\n%s", diff)
	}

	h = newHome(t).config(`{gateway: {auth: {token: "${NOPE}"}}, agents: {list: [{id: "a", name: "${EMPTY}"}]}}`)
	s = h.load()
	wantIssues := "agents.list.0.name: environment variable EMPTY is not set or empty\ngateway.auth.token: environment variable NOPE is not set or empty"
	if got := lines(s.Issues); got != wantIssues || s.Valid {
		t.Errorf("issues = %q, want %q", got, wantIssues)
	}
}

func TestExpand(t *testing.T) {
	env := func(name string) string { return map[string]string{"A": "1", "B_2": "${A}"}[name] }
	for in, want := range map[string]string{
		"${A}": "1", "x${A}y${A}": "x1y1", "$${A}": "${A}", "$$${A}": "$${A}", "${B_2}": "${A}", "${a}${A}": "${a}1",
		"${2A}": "${2A}", "${}": "${}", "${A": "${A", "$A": "$A", "": "",
	} {
		if got, _ := expand(in, env); got != want {
			t.Errorf("expand(%q) = %q, want %q", in, got, want)
		}
	}
}

func FuzzExpand(f *testing.F) {
	for _, s := range []string{"${A}", "$${A}${", "${${A}}", "$$$${A_1}"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got, names := expand(s, func(name string) string {
			if !isRefName(name) {
				t.Errorf("expand(%q) asks for %q", s, name)
			}
			return ""
		})
		if len(names) == 0 && !strings.Contains(s, "$${") && got != s {
			t.Errorf("expand(%q) = %q without using a variable", s, got)
		}
	})
}

// RT-002: default workspaces live in the home folder, whatever the state folder.
func TestWorkspaceRT002(t *testing.T) {
	for _, tt := range []struct {
		name, text, agent, profile string
		want                       string // below home
	}{
		{"nothing set", `{}`, "main", "", ".openclaw/workspace"},
		{"profile", `{}`, "main", "work", ".openclaw/workspace-work"},
		{"other agent", `{agents: {list: [{id: "main"}, {id: "Ops Team"}]}}`, "ops-team", "work", ".openclaw/workspace-ops-team"},
		{"defaults", `{agents: {defaults: {workspace: "~/w"}}}`, "main", "work", "w"},
		{"defaults are not for other agents", `{agents: {defaults: {workspace: "~/w"}, list: [{id: "main"}, {id: "b"}]}}`, "b", "", ".openclaw/workspace-b"},
		{"its own", `{agents: {defaults: {workspace: "~/w"}, list: [{id: "main", workspace: "~/m"}]}}`, "main", "", "m"},
		{"unlisted default", `{agents: {list: [{id: "x"}, {id: "y", default: true}], defaults: {workspace: "~/w"}}}`, "y", "", "w"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := newHome(t)
			h.env["OPENCLAW_STATE_DIR"], h.env["OPENCLAW_PROFILE"] = h.path("state"), tt.profile
			h.write(tt.text, "state", "openclaw.json")
			if got := h.valid().Config.Workspace(h.paths(), tt.agent); got != h.path(tt.want) {
				t.Errorf("workspace = %s, want %s", got, h.path(tt.want))
			}
		})
	}
}

// RT-002a: the agent block is an alias that warns, loses and never breaks a file.
func TestAgentAliasRT002a(t *testing.T) {
	s := load(t, `{
		agent: { workspace: "~/a", skipBootstrap: true, model: "x/y", timeoutSeconds: 5, heartbeat: { every: "5m", target: "none" },
			allowedModels: ["z"], nonsense: 1, maxConcurrent: "many" },
		agents: { defaults: { timeoutSeconds: 7, heartbeat: { every: "9m" } } },
	}`)
	if err := s.Err(); err != nil {
		t.Fatal(err)
	}
	d := s.Config.Agents.Defaults
	if !d.SkipBootstrap || d.Model.Primary != "x/y" || d.TimeoutSeconds != 7 || d.MaxConcurrent != 4 || !strings.HasSuffix(d.Workspace, "/a") {
		t.Errorf("defaults = %+v", d)
	}
	if d.Heartbeat.Every != "9m" || d.Heartbeat.Target != "none" {
		t.Errorf("heartbeat = %+v, want the own value over the alias, key by key", d.Heartbeat)
	}
	if _, ok := s.Resolved["agent"]; ok {
		t.Error("the alias is still in the resolved tree")
	}
	want := `agent.allowedModels: ignored: moved to agents.defaults.models; run "openclaw doctor" to move it
agent.heartbeat: read as agents.defaults.heartbeat; move it there
agent.maxConcurrent: ignored: expected positive integer, got "many"
agent.model: read as agents.defaults.model; move it there
agent.nonsense: unknown key
agent.skipBootstrap: read as agents.defaults.skipBootstrap; move it there
agent.timeoutSeconds: read as agents.defaults.timeoutSeconds; move it there
agent.workspace: read as agents.defaults.workspace; move it there`
	if diff := cmp.Diff(want, lines(s.Warnings)); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
	for _, text := range []string{`{agent: {workspace: "/w"}}`, `{agent: 5}`, `{agent: {}, agents: {}}`, `{agent: {workspace: "/w"}, agents: {list: [{id: "a"}]}}`} {
		if s := load(t, text); !s.Valid || len(s.Warnings) > 1 {
			t.Errorf("%s: %v, %d warnings", text, s.Err(), len(s.Warnings))
		}
	}
}

func TestLegacyKeys(t *testing.T) {
	s := load(t, `{
		routing: { allowFrom: ["+1"], queue: {mode: "steer"} }, identity: {name: "x"}, telegram: {botToken: "1:a"},
		tools: {bash: {}}, agents: {list: [{id: "a", tools: {bash: {}}}]}, bindings: [{agentId: "a", match: {channel: "x", accountID: "y"}}],
		gateway: {token: "old"}, messages: {tts: {enabled: true}},
	}`)
	if s.Valid {
		t.Error("a file with legacy keys is valid")
	}
	var paths []string
	for _, i := range s.LegacyIssues {
		if !strings.Contains(i.Message, "openclaw doctor") {
			t.Errorf("%s does not name the repair", i)
		}
		paths = append(paths, i.Path)
	}
	want := []string{"routing.allowFrom", "routing.queue", "identity", "tools.bash", "telegram", "bindings.0.match.accountID", "agents.list.0.tools.bash"}
	if diff := cmp.Diff(want, paths); diff != "" {
		t.Errorf("legacy (-want +got):\n%s", diff)
	}
	if len(s.Issues) != 0 || len(s.Warnings) != 2 {
		t.Errorf("issues %q, warnings %q: legacy keys are told twice", lines(s.Issues), lines(s.Warnings))
	}
	if s = load(t, `{gateway: {token: "old"}}`); !s.Valid || len(s.Warnings) != 1 {
		t.Errorf("gateway.token: %v, warnings %q", s.Err(), lines(s.Warnings))
	}
}

// RT-010: another main key is accepted, ignored and warned about.
func TestMainKeyRT010(t *testing.T) {
	s := load(t, `{session: {mainKey: "other"}}`)
	if !s.Valid || s.Config.Session.MainKey != "main" || at(s.Resolved, "session.mainKey") != "main" || !strings.Contains(lines(s.Warnings), "session.mainKey: ignored") {
		t.Errorf("key = %q, warnings %q, %v", s.Config.Session.MainKey, lines(s.Warnings), s.Err())
	}
	if s := load(t, `{session: {mainKey: "main"}}`); len(s.Warnings) != 0 {
		t.Errorf("warnings = %q", lines(s.Warnings))
	}
}

func TestDefaults(t *testing.T) {
	s := load(t, `{models: {providers: {p: {baseUrl: "http://x", models: [{id: "a", name: "A"}, {id: "b", name: "B", contextWindow: 4000, cost: {input: 3}}]}}},
		agents: {defaults: {models: {"openai/gpt-5.2": {}, "google/gemini-3-pro-preview": {alias: "g"}, "x/y": {}}}}}`)
	num := func(n string) any { return json.Number(n) }
	for path, want := range map[string]any{
		"messages.ackReactionScope":                                "group-mentions",
		"logging.redactSensitive":                                  "tools",
		"session.mainKey":                                          "main",
		"agents.defaults.maxConcurrent":                            num("4"),
		"agents.defaults.subagents.maxConcurrent":                  num("8"),
		"agents.defaults.compaction.mode":                          "safeguard",
		"agents.defaults.contextPruning":                           nil,
		"commands.native":                                          "auto",
		"commands.nativeSkills":                                    "auto",
		"talk":                                                     nil,
		"models.providers.p.models.0.reasoning":                    false,
		"models.providers.p.models.0.contextWindow":                num("200000"),
		"models.providers.p.models.0.maxTokens":                    num("8192"),
		"models.providers.p.models.0.cost.output":                  num("0"),
		"models.providers.p.models.0.input.0":                      "text",
		"models.providers.p.models.1.maxTokens":                    num("4000"),
		"models.providers.p.models.1.cost.input":                   num("3"),
		"agents.defaults.models.x/y.alias":                         nil,
		"agents.defaults.models.openai/gpt-5.2":                    nil, // the dot in the name needs Lookup
		"agents.defaults.models.google/gemini-3-pro-preview.alias": "g",
	} {
		if got := at(s.Resolved, path); got != want {
			t.Errorf("%s = %v, want %v", path, got, want)
		}
	}
	if got, _ := Lookup(s.Resolved, "agents", "defaults", "models", "openai/gpt-5.2", "alias"); got != "gpt" {
		t.Errorf("built-in alias = %v, want gpt", got)
	}
	if diff := cmp.Diff(map[string]string{"gpt": "openai/gpt-5.2", "g": "google/gemini-3-pro-preview"}, s.Config.Aliases()); diff != "" {
		t.Errorf("aliases (-want +got):\n%s", diff)
	}
	s = load(t, `{messages: {ackReactionScope: "all"}, commands: {native: false}, agents: {defaults: {maxConcurrent: 9}}}`)
	if s.Config.Messages.AckReactionScope != "all" || s.Config.Commands.Native != "false" || s.Config.Agents.Defaults.MaxConcurrent != 9 {
		t.Errorf("own values lost: %+v %+v", s.Config.Messages, s.Config.Commands)
	}
}

func TestAnthropicDefaults(t *testing.T) {
	const models = `agents: {defaults: {model: "anthropic/claude-opus-4-5", models: {"anthropic/claude-sonnet-4-5": {}, "openai/x": {}, "anthropic/kept": {params: {cacheRetention: "long"}}}}}`
	for _, tt := range []struct {
		name, text           string
		env                  map[string]string
		every, prune, sonnet any
		primary              any
	}{
		{"no credential", `{` + models + `}`, nil, nil, nil, nil, nil},
		{"key in the environment", `{` + models + `}`, map[string]string{"ANTHROPIC_API_KEY": "k"}, "30m", "cache-ttl", "short", "short"},
		{"token in the environment", `{` + models + `}`, map[string]string{"ANTHROPIC_OAUTH_TOKEN": "t", "ANTHROPIC_API_KEY": "k"}, "1h", "cache-ttl", nil, nil},
		{"key profile", `{auth: {profiles: {"anthropic:a": {provider: "anthropic", mode: "api_key"}}}, ` + models + `}`, nil, "30m", "cache-ttl", "short", "short"},
		{"oauth profile wins", `{auth: {profiles: {"anthropic:a": {provider: "anthropic", mode: "api_key"}, "anthropic:b": {provider: "anthropic", mode: "oauth"}}}, ` + models + `}`, nil, "1h", "cache-ttl", nil, nil},
		{"key by the env block", `{env: {ANTHROPIC_API_KEY: "k"}, ` + models + `}`, nil, "30m", "cache-ttl", "short", "short"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := newHome(t).config(tt.text)
			h.env = tt.env
			s := h.valid()
			if got := at(s.Resolved, "agents.defaults.heartbeat.every"); got != tt.every {
				t.Errorf("every = %v, want %v", got, tt.every)
			}
			if got := at(s.Resolved, "agents.defaults.contextPruning.mode"); got != tt.prune {
				t.Errorf("pruning = %v, want %v", got, tt.prune)
			}
			for ref, want := range map[string]any{"anthropic/claude-sonnet-4-5": tt.sonnet, "openai/x": nil, "anthropic/kept": "long", "anthropic/claude-opus-4-5": tt.primary} {
				if got := s.Config.ModelParams(ref)["cacheRetention"]; got != want {
					t.Errorf("%s: cacheRetention = %v, want %v", ref, got, want)
				}
			}
			if len(s.Config.Agents.Defaults.Models) != 3 {
				t.Error("the primary entered the allowlist")
			}
		})
	}
	h := newHome(t).config(`{agents: {defaults: {heartbeat: {every: "5m"}, contextPruning: {mode: "off"}}}}`)
	h.env["ANTHROPIC_API_KEY"] = "k"
	if d := h.valid().Config.Agents.Defaults; d.Heartbeat.Every != "5m" || d.ContextPruning.Mode != "off" {
		t.Errorf("own values lost: %+v %+v", d.Heartbeat, d.ContextPruning)
	}
}

func TestExpandHomeInPaths(t *testing.T) {
	h := newHome(t).config(`{
		logging: {file: "~/log"}, agents: {list: [{id: "a", workspace: "~/w", agentDir: "~"}]},
		tools: {exec: {pathPrepend: ["~/bin", "/x"]}}, plugins: {load: {paths: ["~/p"]}}, canvasHost: {root: "~/c"},
		messages: {messagePrefix: "~/no"}, memory: {qmd: {paths: [{path: "~/q", name: "~/n"}]}},
	}`)
	s := h.valid()
	for path, want := range map[string]string{
		"logging.file": h.path("log"), "agents.list.0.workspace": h.path("w"), "agents.list.0.agentDir": h.dir,
		"tools.exec.pathPrepend.0": h.path("bin"), "tools.exec.pathPrepend.1": "/x", "plugins.load.paths.0": h.path("p"),
		"canvasHost.root": h.path("c"), "messages.messagePrefix": "~/no", "memory.qmd.paths.0.path": h.path("q"), "memory.qmd.paths.0.name": "~/n",
	} {
		if got := at(s.Resolved, path); got != want {
			t.Errorf("%s = %v, want %s", path, got, want)
		}
	}
}
