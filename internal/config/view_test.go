package config

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Every field of the typed view is a known setting: a misspelt tag would read nothing.
func TestViewMatchesKnown(t *testing.T) {
	var walk func(typ reflect.Type, s *shape, path string)
	walk = func(typ reflect.Type, s *shape, path string) {
		for typ.Kind() == reflect.Pointer {
			typ = typ.Elem()
		}
		if s = s.target(); s.kind == shapeUnion {
			for _, alt := range s.alts {
				if alt.target().kind == shapeObject {
					s = alt.target()
				}
			}
		}
		switch typ.Kind() {
		case reflect.Struct:
			for _, f := range fieldTable()[typ] {
				at := path + "." + f.key
				c, ok := s.keys[f.key]
				if !ok && (typ == reflect.TypeFor[ToolRules]() || typ == reflect.TypeFor[FetchRules]()) {
					continue // one type for two places, one of which has fewer keys
				}
				if !ok {
					t.Errorf("%s is not a known setting", at)
					continue
				}
				walk(typ.Field(f.index).Type, c, at)
			}
		case reflect.Slice:
			if s.kind != shapeList {
				t.Errorf("%s is no list in the table", path)
			} else {
				walk(typ.Elem(), s.elem, path+"[]")
			}
		case reflect.Map:
			if s.kind == shapeObject && s.rest != nil {
				walk(typ.Elem(), s.rest, path+".*")
			} else if s.kind != shapeObject {
				t.Errorf("%s is no object in the table", path)
			}
		case reflect.Bool:
			if s.kind != shapeBool {
				t.Errorf("%s is no boolean in the table", path)
			}
		case reflect.Int, reflect.Int64, reflect.Float64:
			if s.kind != shapeInt && s.kind != shapeNumber {
				t.Errorf("%s is no number in the table", path)
			}
		}
	}
	walk(reflect.TypeFor[Config](), known(), "")
}

func TestViewOfTypicalFile(t *testing.T) {
	h := newHome(t).config(typical)
	h.env = map[string]string{"OPENCLAW_TOKEN": "t", "TELEGRAM_BOT_TOKEN": "b", "BRAVE_API_KEY": "k"}
	s := h.valid()
	if len(s.Warnings) > 0 {
		t.Errorf("warnings = %q", lines(s.Warnings))
	}
	c := s.Config
	if c.Gateway.Auth.Token.Reveal() != "t" || c.Tools.Web.Search.APIKey.Reveal() != "k" || c.Tools.Web.Search.MaxResults != 5 {
		t.Error("secrets or defaults are missing")
	}
	p := c.Models.Providers["local"]
	if len(p.Models) != 2 || p.Models[0].ContextWindow != 128000 || p.Models[1].ContextWindow != 200000 || p.Models[1].MaxTokens != 8192 || p.Models[1].Input[0] != "text" {
		t.Errorf("models = %+v", p.Models)
	}
	if a, ok := c.Agent("WORK"); !ok || a.Tools.Rules().Profile != "coding" || a.ID != "work" {
		t.Errorf("agent work = %+v, %v", a, ok)
	}
	if a, ok := c.Agent("nobody"); ok || a.ID != "nobody" {
		t.Errorf("unknown agent = %+v, %v", a, ok)
	}
	if *c.Session.Reset.AtHour != 4 || c.Session.Reset.IdleMinutes != nil || c.Agents.Defaults.Heartbeat.Target != "last" {
		t.Errorf("reset = %+v, heartbeat = %+v", c.Session.Reset, c.Agents.Defaults.Heartbeat)
	}
	if got, _ := lookup(c.Channels, "telegram.botToken"); got != "b" {
		t.Errorf("channels = %v", c.Channels)
	}
	if diff := cmp.Diff([]string{"main", "work"}, c.AgentIDs()); diff != "" {
		t.Errorf("agents (-want +got):\n%s", diff)
	}
	if strings.Contains(fmt.Sprintf("%+v %#v", c.Gateway, c.Models), `"t"`) {
		t.Error("printing the view shows the token")
	}
}

func TestViewForms(t *testing.T) {
	c := load(t, `{
		agents: {defaults: {model: {primary: "p/d", fallbacks: ["p/f"]}, blockStreamingChunk: {minChars: 10}, models: {"p/d": {params: {temperature: 0.5, deep: {n: 1}}}}},
			list: [{id: "a", model: "p/a"}, {id: "b", model: {fallbacks: []}}, {id: "c", default: true}]},
		commands: {native: true, ownerAllowFrom: [5, "x"]}, tools: {elevated: {allowFrom: {telegram: [123456789012345678, "u"]}}},
		session: {scope: "global", store: "~/s/{agentId}.json"}, hooks: {maxBodyBytes: 1e6},
	}`).Config
	for id, want := range map[string]ModelChoice{
		"a": {"p/a", []string{"p/f"}}, "b": {"p/d", []string{}}, "c": {"p/d", []string{"p/f"}}, "x": {"p/d", []string{"p/f"}},
	} {
		if diff := cmp.Diff(want, c.AgentModel(id)); diff != "" {
			t.Errorf("model of %s (-want +got):\n%s", id, diff)
		}
	}
	if c.DefaultAgentID() != "c" || !c.Session.Global() || c.Commands.Native != "true" || c.Hooks.MaxBodyBytes != 1000000 {
		t.Errorf("%s %v %s %d", c.DefaultAgentID(), c.Session.Global(), c.Commands.Native, c.Hooks.MaxBodyBytes)
	}
	if diff := cmp.Diff([]string{"5", "x"}, c.Commands.OwnerAllowFrom); diff != "" {
		t.Errorf("owners (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"123456789012345678", "u"}, c.Tools.Elevated.AllowFrom["telegram"]); diff != "" {
		t.Errorf("big ids (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]any{"temperature": 0.5, "deep": map[string]any{"n": 1.0}}, c.ModelParams("p/d")); diff != "" {
		t.Errorf("params (-want +got):\n%s", diff)
	}
	if d := c.Agents.Defaults.BlockStreamingChunk; d.MinChars != 10 || d.MaxChars != 1200 {
		t.Errorf("chunk = %+v, want the default beside the own value", d)
	}
}

func TestAgentFolders(t *testing.T) {
	h := newHome(t).config(`{agents: {list: [{id: "a"}, {id: "b", agentDir: "~/b"}]}, session: {}}`)
	c, p := h.valid().Config, h.paths()
	env := Env(func(name string) string { return map[string]string{"PI_CODING_AGENT_DIR": "~/pi"}[name] })
	for got, want := range map[string]string{
		c.AgentDir(p, h.getenv, "a"): ".openclaw/agents/a/agent",
		c.AgentDir(p, env, "a"):      "pi",
		c.AgentDir(p, env, "b"):      "b",
		c.AgentDir(p, env, "c"):      ".openclaw/agents/c/agent",
		c.SessionStore(p, "A"):       ".openclaw/agents/a/sessions/sessions.json",
	} {
		if got != h.path(want) {
			t.Errorf("folder = %s, want %s", got, h.path(want))
		}
	}
	h.config(`{session: {store: "~/s/{agentId}/x.json"}}`)
	if got := h.valid().Config.SessionStore(p, "Ops"); got != h.path("s/ops/x.json") {
		t.Errorf("store = %s", got)
	}
}

// GW 1.1: the environment wins over the file.
func TestPort(t *testing.T) {
	for _, tt := range []struct {
		text   string
		env    map[string]string
		port   int
		source string
	}{
		{`{}`, nil, 18789, "default"},
		{`{gateway: {port: 5}}`, nil, 5, "config"},
		{`{gateway: {port: 5}}`, map[string]string{"OPENCLAW_GATEWAY_PORT": "6", "CLAWDBOT_GATEWAY_PORT": "7"}, 6, "env"},
		{`{gateway: {port: 5}}`, map[string]string{"CLAWDBOT_GATEWAY_PORT": "7"}, 7, "env"},
		{`{gateway: {port: 5}}`, map[string]string{"OPENCLAW_GATEWAY_PORT": "x"}, 5, "config"},
		{`{}`, map[string]string{"OPENCLAW_GATEWAY_PORT": "70000"}, 18789, "default"},
	} {
		port, source := load(t, tt.text).Config.Port(func(n string) string { return tt.env[n] })
		if port != tt.port || source != tt.source {
			t.Errorf("%s %v: Port = %d, %s, want %d, %s", tt.text, tt.env, port, source, tt.port, tt.source)
		}
	}
}
