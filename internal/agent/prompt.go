package agent

import (
	"slices"
	"strings"
	"unicode/utf8"

	"openclaw/internal/tool"
	"openclaw/internal/workspace"
)

// promptMode says how much of the system prompt a run gets.
type promptMode int

const (
	promptFull    promptMode = iota
	promptMinimal            // subagents
	promptNone               // the identity line only
)

const heartbeatToken = "HEARTBEAT_OK"

// prompt is everything the system prompt depends on. There is no clock among
// it: the text stays the same from run to run, so that providers can cache it.
type prompt struct {
	mode  promptMode
	tools []tool.Spec

	skills    string  // the <available_skills> block
	citations bool    // quote sources of remembered facts
	aliases   []alias // in the order shown
	timezone  string

	workspace     string
	bootstrapping bool
	docs, docsURL string // documentation in a local folder and on the web
	sandbox       *sandbox
	owners        []string
	voice         string // hint for spoken replies
	extra         string
	reactions     string // "minimal" or "extensive", empty for none
	channel       string
	finalTags     bool // the provider reasons in <think> and answers in <final>
	files         []workspace.File
	heartbeat     string
	runtime       runtimeLine
	reasoning     string
}

// alias is a short name of a model.
type alias struct{ name, ref string }

// sandbox describes confinement to the model.
type sandbox struct {
	workspace, access string
	browser           bool
	elevated          string // level, empty when not available
}

// runtimeLine is the last section's machine-readable line. Empty parts are left out.
type runtimeLine struct {
	agent, host, repo, os, arch, version, model, defaultModel, channel string
	capabilities                                                       []string
	thinking                                                           string
}

// build assembles the prompt. The order of sections is fixed; see
// docs/runtime.md#system-prompt. projectChars is the size of the part that
// comes from workspace files.
func (p prompt) build() (text string, projectChars int) {
	lines := []string{"You are a personal assistant running inside OpenClaw."}
	if p.mode == promptNone {
		return lines[0], 0
	}
	sections := []func() []string{
		p.tooling, toolStyle, safety, cliReference,
		p.full(p.skillSection), p.full(p.memorySection), p.full(p.updateSection), p.full(p.aliasSection),
		p.timeHint, p.workspaceSection, p.docsSection, p.sandboxSection,
		p.full(p.ownerSection), p.timezoneSection, filesNote,
		p.full(replyTags), p.full(p.messaging), p.voiceSection, p.extraSection,
		p.reactionSection, p.reasoningFormat,
	}
	for _, section := range sections {
		lines = append(lines, section()...)
	}
	project := join(p.projectContext())
	lines = append(lines, project)
	if p.mode == promptFull {
		lines = append(lines, silentReplies()...)
		lines = append(lines, p.heartbeats()...)
	}
	lines = append(lines, p.runtimeSection()...)
	return join(lines), utf8.RuneCountInString(project)
}

// full leaves a section out of shorter prompts.
func (p prompt) full(section func() []string) func() []string {
	if p.mode == promptFull {
		return section
	}
	return func() []string { return nil }
}

// join puts one line under the other and drops empty ones.
func join(lines []string) string {
	return strings.Join(slices.DeleteFunc(slices.Clone(lines), func(s string) bool { return s == "" }), "\n")
}

func (p prompt) has(names ...string) bool {
	return slices.ContainsFunc(p.tools, func(t tool.Spec) bool { return slices.Contains(names, t.Name) })
}

// toolOrder is how the list begins; other tools follow by name.
var toolOrder = [...]string{"read", "write", "edit", "apply_patch", "grep", "find", "ls", "exec", "process",
	"web_search", "web_fetch", "browser", "canvas", "nodes", "cron", "message", "gateway", "agents_list",
	"sessions_list", "sessions_history", "sessions_send", "session_status", "image"}

// toolLines lists the tools as the prompt shows them.
func (p prompt) toolLines() []string {
	rank := func(name string) int {
		if i := slices.Index(toolOrder[:], name); i >= 0 {
			return i
		}
		return len(toolOrder)
	}
	specs := slices.Clone(p.tools)
	slices.SortStableFunc(specs, func(a, b tool.Spec) int {
		if d := rank(a.Name) - rank(b.Name); d != 0 {
			return d
		}
		return strings.Compare(a.Name, b.Name)
	})
	lines := make([]string, 0, len(specs))
	for _, s := range specs {
		if s.Summary == "" {
			lines = append(lines, "- "+s.Name)
			continue
		}
		lines = append(lines, "- "+s.Name+": "+s.Summary)
	}
	return lines
}
