package agent

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"openclaw/internal/testkit"
	"openclaw/internal/tool"
	"openclaw/internal/workspace"
)

func spec(name, summary string) tool.Spec {
	return tool.Spec{Name: name, Summary: summary, Description: "does " + name,
		Parameters: json.RawMessage(`{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"number"}}}`)}
}

const skillsBlock = `<available_skills>
  <skill>
    <name>weather</name>
    <description>tells the weather</description>
    <location>/skills/weather/SKILL.md</location>
  </skill>
</available_skills>`

// everything is a prompt in which every section has something to say.
func everything() prompt {
	return prompt{
		tools: []tool.Spec{spec("zebra", ""), spec("session_status", "show the status card"), spec("exec", "run commands"),
			spec("read", "read files"), spec("memory_search", "search notes"), spec("message", "send messages"),
			spec("gateway", "control the gateway"), spec("sessions_spawn", "start a sub-agent"), spec("sessions_send", "write to a session")},
		skills: skillsBlock, citations: true,
		aliases:  []alias{{"gpt", "openai/gpt-5.2"}, {"opus", "anthropic/claude-opus-4-5"}},
		timezone: "Europe/Berlin", workspace: "/home/u/.openclaw/workspace", bootstrapping: true, docs: "/usr/share/openclaw/docs",
		docsURL: "https://docs.example",
		sandbox: &sandbox{workspace: "/sandbox", access: "ro", browser: true, elevated: "ask"},
		owners:  []string{"+4915112345", "telegram:7"}, voice: "Speak slowly.", extra: "You are in a group called Test.",
		reactions: "minimal", channel: "telegram", finalTags: true,
		files: []workspace.File{
			{Name: "AGENTS.md", Path: "/w/AGENTS.md", Content: "# Rules\n\nBe kind.", RawChars: 17, InjectedChars: 17},
			{Name: "SOUL.md", Path: "/w/SOUL.md", Content: "warm", RawChars: 4, InjectedChars: 4},
			{Name: "TOOLS.md", Path: "/w/TOOLS.md", Content: "[MISSING] Expected at: /w/TOOLS.md", Missing: true, InjectedChars: 34},
		},
		heartbeat: "Look at HEARTBEAT.md.",
		runtime: runtimeLine{agent: "main", host: "box", repo: "/home/u/repo", os: "linux", arch: "amd64", version: "go1.26",
			model: "openai/gpt-5.2", defaultModel: "anthropic/claude-opus-4-5", channel: "telegram",
			capabilities: []string{"inlineButtons"}, thinking: "low"},
		reasoning: "stream",
	}
}

// plain is what a fresh installation sends.
func plain() prompt {
	return prompt{
		tools:     []tool.Spec{spec("read", "read files"), spec("exec", "run commands"), spec("session_status", "show the status card")},
		timezone:  "UTC",
		workspace: "/home/u/.openclaw/workspace",
		files:     []workspace.File{{Name: "AGENTS.md", Content: "rules"}},
		heartbeat: "Look at HEARTBEAT.md.",
		runtime:   runtimeLine{agent: "main", os: "linux", arch: "amd64", model: "a/b", thinking: "off"},
	}
}

// RT-015: golden prompts of every mode.
func TestRT015PromptGolden(t *testing.T) {
	minimal := everything()
	minimal.mode = promptMinimal
	none := everything()
	none.mode = promptNone
	for name, p := range map[string]prompt{"full": everything(), "minimal": minimal, "none": none, "plain": plain(), "bare": {}} {
		text, _ := p.build()
		testkit.Golden(t, "prompt-"+name+".txt", []byte(text+"\n"))
	}
}

var heading = regexp.MustCompile(`(?m)^#{1,3} .*$`)

// RT-015: the order of headings is contract, F-only sections leave the minimal mode.
func TestRT015SectionOrder(t *testing.T) {
	full := []string{
		"## Tooling", "## Tool Call Style", "## Safety", "## OpenClaw CLI Quick Reference", "## Skills (mandatory)",
		"## Memory Recall", "## OpenClaw Self-Update", "## Model Aliases", "## Workspace", "## Documentation", "## Sandbox",
		"## User Identity", "## Current Date & Time", "## Workspace Files (injected)", "## Reply Tags", "## Messaging",
		"### message tool", "## Voice (TTS)", "## Group Chat Context", "## Reactions", "## Reasoning Format",
		"# Project Context", "## AGENTS.md", "# Rules", "## SOUL.md", "## TOOLS.md", "## Silent Replies", "## Heartbeats", "## Runtime",
	}
	text, _ := everything().build()
	if diff := cmp.Diff(full, heading.FindAllString(text, -1)); diff != "" {
		t.Errorf("headings (-want +got):\n%s", diff)
	}

	p := everything()
	p.mode = promptMinimal
	onlyFull := []string{"## Skills (mandatory)", "## Memory Recall", "## OpenClaw Self-Update", "## Model Aliases", "## User Identity",
		"## Reply Tags", "## Messaging", "### message tool", "## Silent Replies", "## Heartbeats"}
	want := slices.DeleteFunc(slices.Clone(full), func(h string) bool { return slices.Contains(onlyFull, h) })
	want[slices.Index(want, "## Group Chat Context")] = "## Subagent Context"
	text, _ = p.build()
	if diff := cmp.Diff(want, heading.FindAllString(text, -1)); diff != "" {
		t.Errorf("headings of the minimal mode (-want +got):\n%s", diff)
	}
	if !strings.Contains(text, "call session_status") {
		t.Error("the minimal mode lost the time hint")
	}

	p.mode = promptNone
	if text, _ := p.build(); strings.Contains(text, "\n") {
		t.Errorf("mode none = %q, want the identity line only", text)
	}
}

// RT-015: lines are joined without blank ones; only files bring their own.
func TestRT015NoBlankLines(t *testing.T) {
	p := everything()
	p.files = nil
	text, chars := p.build()
	if strings.Contains(text, "\n\n") {
		t.Error("the prompt holds a blank line outside injected files")
	}
	if chars != 0 {
		t.Errorf("project characters without files = %d, want 0", chars)
	}
}

// RT-015: two runs at different times send the same bytes.
func TestRT015NoClock(t *testing.T) {
	text, _ := everything().build()
	year := time.Now().Format("2006")
	if strings.Contains(text, year) || regexp.MustCompile(`\d{1,2}:\d{2}`).MatchString(text) {
		t.Error("the prompt holds a date or a time of day")
	}
	if again, _ := everything().build(); again != text {
		t.Error("the same input gave two different prompts")
	}
}

func TestToolOrder(t *testing.T) {
	want := []string{"- read: read files", "- exec: run commands", "- message: send messages", "- gateway: control the gateway",
		"- sessions_send: write to a session", "- session_status: show the status card", "- memory_search: search notes",
		"- sessions_spawn: start a sub-agent", "- zebra"}
	if diff := cmp.Diff(want, everything().toolLines()); diff != "" {
		t.Errorf("tool lines (-want +got):\n%s", diff)
	}
}

// RT-016: names, order and omission of absent parts.
func TestRT016RuntimeLine(t *testing.T) {
	tests := []struct {
		line runtimeLine
		want string
	}{
		{everything().runtime, "Runtime: agent=main | host=box | repo=/home/u/repo | os=linux (amd64) | node=go1.26 | model=openai/gpt-5.2 | " +
			"default_model=anthropic/claude-opus-4-5 | channel=telegram | capabilities=inlineButtons | thinking=low"},
		{runtimeLine{agent: "main", os: "linux", model: "a/b", channel: "webchat", thinking: "off"},
			"Runtime: agent=main | os=linux | model=a/b | channel=webchat | capabilities=none | thinking=off"},
		{runtimeLine{arch: "amd64", capabilities: []string{"x"}}, "Runtime: "},
	}
	for _, tt := range tests {
		if got := tt.line.String(); got != tt.want {
			t.Errorf("runtime line = %q, want %q", got, tt.want)
		}
	}
}

func TestReport(t *testing.T) {
	p := everything()
	text, project := p.build()
	r := newReport(p, text, project, time.UnixMilli(1767225600000))
	r.SessionID, r.SessionKey, r.Provider, r.Model, r.BootstrapMaxChars = "sid", "agent:main:main", "openai", "gpt-5.2", 20000
	got, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	testkit.Golden(t, "report.json", append(got, '\n'))
	if r.SystemPrompt.Chars != r.SystemPrompt.ProjectChars+r.SystemPrompt.NonProjectChars {
		t.Errorf("characters do not add up: %+v", r.SystemPrompt)
	}
	if empty := newReport(prompt{}, "", 0, time.UnixMilli(0)); empty.Files == nil || empty.Tools.Entries == nil || empty.Skills.Entries == nil {
		t.Error("an empty report holds null lists")
	}
}

func BenchmarkPrompt(b *testing.B) {
	p := everything()
	p.files[0].Content = strings.Repeat("A line of rules that the agent shall follow.\n", 400)
	for b.Loop() {
		p.build()
	}
}
