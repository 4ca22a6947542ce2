package tool

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

type fake struct{ name string }

func (f fake) Spec() Spec                                    { return Spec{Name: f.name} }
func (f fake) Execute(context.Context, Call) (Result, error) { return Result{}, nil }

type fakePlugin struct {
	fake
	id string
}

func (f fakePlugin) PluginID() string { return f.id }

type fakeOwner struct{ fake }

func (fakeOwner) OwnerOnly() bool { return true }

func fakes(names string) []Tool {
	var tools []Tool
	for _, n := range strings.Fields(names) {
		if id, name, ok := strings.Cut(n, ":"); ok {
			tools = append(tools, fakePlugin{fake{name}, id})
		} else {
			tools = append(tools, fake{n})
		}
	}
	return tools
}

func names(tools []Tool) string {
	var all []string
	for _, t := range tools {
		all = append(all, t.Spec().Name)
	}
	return strings.Join(all, " ")
}

const everything = "read write edit apply_patch exec process web_search web_fetch browser canvas cron gateway message tts " +
	"sessions_list sessions_history sessions_send sessions_spawn session_status memory_search memory_get image nodes agents_list " +
	"voice:voice_call voice:voice_end jira:jira_search"

func list(s string) []string { return strings.Fields(s) }

// RT-100: deny wins, groups, patterns, aliases, exec lets apply_patch pass.
func TestRT100Layer(t *testing.T) {
	tests := []struct {
		name string
		l    Layer
		want string
	}{
		{"no lists allow all", Layer{}, everything},
		{"blank entries are no list", Layer{Allow: []string{" "}}, everything},
		{"exact names, any case", Layer{Allow: list("READ Exec")}, "read apply_patch exec"},
		{"aliases", Layer{Allow: list("bash"), Deny: list("apply-patch")}, "exec"},
		{"group", Layer{Allow: list("group:fs")}, "read write edit apply_patch"},
		{"deny wins over allow", Layer{Allow: list("group:fs exec"), Deny: list("write apply_patch")}, "read edit exec"},
		{"deny alone", Layer{Deny: list("group:openclaw group:plugins tts")}, "read write edit apply_patch exec process"},
		{"pattern", Layer{Allow: list("web_* *_get")}, "web_search web_fetch memory_get"},
		{"star with deny", Layer{Allow: list("*"), Deny: list("*s*")}, "read write edit apply_patch exec web_fetch cron gateway memory_get image voice_call voice_end"},
		{"plugin id beside a built-in", Layer{Allow: list("read voice")}, "read voice_call voice_end"},
		{"all plugins", Layer{Allow: list("read group:plugins")}, "read voice_call voice_end jira_search"},
		{"alsoAllow adds to allow", Layer{Allow: list("read"), AlsoAllow: list("cron")}, "read cron"},
		{"alsoAllow alone restrains nothing", Layer{AlsoAllow: list("cron"), Deny: list("group:openclaw group:plugins tts")}, "read write edit apply_patch exec process"},
		{"strict list of unknown names", Layer{Allow: list("nothing"), Strict: true}, ""},
		{"a built-in tool that this run lacks still restrains", Layer{Allow: list("web_search")}, "web_search"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			all := fakes(everything)
			got, _ := Filter(all, tt.l)
			if diff := cmp.Diff(names(fakes(tt.want)), names(got)); diff != "" {
				t.Errorf("Filter(%+v) (-want +got):\n%s", tt.l, diff)
			}
			if len(all) != len(fakes(everything)) || all[0].Spec().Name != "read" {
				t.Error("Filter changed its argument")
			}
		})
	}
}

// RT-100: a list of unknown names only does not restrain built-in tools, and is told.
func TestRT100UnknownOnlyAllowList(t *testing.T) {
	all := fakes("read exec voice:voice_call jira:jira_search")
	tests := []struct {
		allow string
		want  string
		notes []Note
	}{
		{"voice", "read exec voice_call", nil},
		{"voice_call", "read exec voice_call", nil},
		{"group:plugins", "read exec voice_call jira_search", nil},
		{"raed", "read exec", []Note{{Layer: "tools", Unknown: list("raed"), Ignored: true}}},
		{"raed read", "read", []Note{{Layer: "tools", Unknown: list("raed")}}},
		{"browser", "", nil}, // known, though this run has none
	}
	for _, tt := range tests {
		got, notes := Filter(all, Layer{Name: "tools", Allow: list(tt.allow)})
		if names(got) != tt.want {
			t.Errorf("Filter(allow %q) = %q, want %q", tt.allow, names(got), tt.want)
		}
		if diff := cmp.Diff(tt.notes, notes); diff != "" {
			t.Errorf("notes of allow %q (-want +got):\n%s", tt.allow, diff)
		}
	}
}

// RT-100: order of the layers, profiles, and what the agent replaces.
func TestRT100Layers(t *testing.T) {
	global := Rules{
		Profile: "coding", AlsoAllow: list("cron"), Deny: list("image"),
		ByProvider: map[string]Rules{
			"openai":       {Deny: list("exec")},
			"OpenAI/gpt-x": {Deny: list("write")},
			"openrouter":   {Profile: "minimal"},
		},
	}
	tests := []struct {
		name            string
		agent           Rules
		provider, model string
		want            string
	}{
		{"profile and alsoAllow", Rules{}, "anthropic", "claude",
			"read write edit apply_patch exec process cron sessions_list sessions_history sessions_send sessions_spawn session_status memory_search memory_get"},
		{"provider", Rules{}, "openai", "other",
			"read write edit apply_patch process cron sessions_list sessions_history sessions_send sessions_spawn session_status memory_search memory_get"},
		{"provider and model first", Rules{}, "openai", "gpt-x",
			"read edit apply_patch exec process cron sessions_list sessions_history sessions_send sessions_spawn session_status memory_search memory_get"},
		{"provider profile", Rules{}, "openrouter", "anthropic/claude", "session_status"},
		{"agent profile replaces", Rules{Profile: "messaging"}, "a", "b",
			"cron message sessions_list sessions_history sessions_send session_status"},
		{"agent alsoAllow replaces", Rules{AlsoAllow: list("tts"), Allow: list("tts read")}, "a", "b", "read tts"},
		{"agent full", Rules{Profile: "full", Allow: list("group:ui image")}, "a", "b", "browser canvas"},
		{"agent by provider", Rules{ByProvider: map[string]Rules{"a": {Allow: list("read")}}}, "a", "b", "read"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			layers, err := Layers(global, tt.agent, tt.provider, tt.model)
			if err != nil {
				t.Fatal(err)
			}
			got, notes := Filter(fakes(everything), layers...)
			if want := names(fakes(sorted(tt.want))); names(got) != want {
				t.Errorf("tools = %q\nwant    %q", names(got), want)
			}
			if len(notes) != 0 {
				t.Errorf("notes = %v, want none", notes)
			}
		})
	}
	if _, err := Layers(Rules{Profile: "codign"}, Rules{}, "a", "b"); err == nil || !strings.Contains(err.Error(), "tools.profile") {
		t.Errorf("Layers with an unknown profile = %v, want an error naming tools.profile", err)
	}
}

// sorted puts names into the order of everything.
func sorted(want string) string {
	var out []string
	for _, n := range list(everything) {
		for _, w := range list(want) {
			if _, bare, ok := strings.Cut(n, ":"); n == w || ok && bare == w {
				out = append(out, w)
			}
		}
	}
	return strings.Join(out, " ")
}

// RT-100: subagents lose session tools, sandboxes keep image.
func TestRT100SubagentAndSandbox(t *testing.T) {
	tests := []struct {
		name  string
		layer Layer
		want  string
	}{
		{"subagent", SubagentLayer(Rules{}), "read write edit apply_patch exec process web_search web_fetch browser canvas message tts image nodes voice_call voice_end jira_search"},
		{"subagent allow only", SubagentLayer(Rules{Allow: list("read cron exec"), Deny: list("exec")}), "read apply_patch"},
		{"sandbox", SandboxLayer(Rules{}, []string{"telegram"}), "read write edit apply_patch exec process sessions_list sessions_history sessions_send sessions_spawn session_status image"},
		{"sandbox allow replaces, image stays", SandboxLayer(Rules{Allow: list("read cron"), Deny: []string{}}, nil), "read cron image"},
		{"sandbox image denied", SandboxLayer(Rules{Allow: list("read"), Deny: list("image")}, nil), "read"},
		{"sandbox unrestricted", SandboxLayer(Rules{Allow: []string{}, Deny: list("group:openclaw group:plugins tts")}, nil), "read write edit apply_patch exec process"},
	}
	for _, tt := range tests {
		got, _ := Filter(fakes(everything), tt.layer)
		if want := sorted(tt.want); names(got) != want {
			t.Errorf("%s: tools = %q\nwant    %q", tt.name, names(got), want)
		}
	}
}

func TestWithoutOwnerOnly(t *testing.T) {
	got := WithoutOwnerOnly([]Tool{fake{"read"}, fakeOwner{fake{"whatsapp_login"}}})
	if names(got) != "read" {
		t.Errorf("WithoutOwnerOnly = %q, want %q", names(got), "read")
	}
}

func FuzzGlobs(f *testing.F) {
	for _, s := range []string{"web_*|web_search", "*|", "a*b*c|aXbYc", "**|x", "a*a|a"} {
		p, n, _ := strings.Cut(s, "|")
		f.Add(p, n)
	}
	f.Fuzz(func(t *testing.T, pattern, name string) {
		if !strings.Contains(pattern, "*") {
			pattern += "*"
		}
		got := globs(pattern, name)
		if want := slowGlobs(pattern, name); got != want {
			t.Errorf("globs(%q, %q) = %v, want %v", pattern, name, got, want)
		}
	})
}

// slowGlobs is the textbook definition.
func slowGlobs(p, n string) bool {
	if len(p) > 12 || len(n) > 24 {
		return globs(p, n)
	}
	switch {
	case p == "":
		return n == ""
	case p[0] == '*':
		return slowGlobs(p[1:], n) || n != "" && slowGlobs(p, n[1:])
	}
	return n != "" && p[0] == n[0] && slowGlobs(p[1:], n[1:])
}

// BenchmarkFilter is what a run pays for its policy.
func BenchmarkFilter(b *testing.B) {
	all := fakes(everything)
	layers, err := Layers(Rules{Profile: "coding", AlsoAllow: list("web_* cron")}, Rules{Deny: list("gateway")}, "openai", "gpt")
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		Filter(all, layers...)
	}
}
