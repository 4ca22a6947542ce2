package agent

import (
	"slices"
	"strings"

	"openclaw/internal/chat"
	"openclaw/internal/workspace"
)

// The sections of the system prompt, in its order. One that has nothing to say
// is empty.

func (p prompt) tooling() []string {
	lines := []string{"## Tooling"}
	if len(p.tools) == 0 {
		return append(lines, "No tools are available in this run. Answer from what you know and from this conversation.")
	}
	lines = append(lines, "These tools are available, filtered by policy. Call them by exactly these names; upper and lower case matter.")
	lines = append(lines, p.toolLines()...)
	lines = append(lines, "TOOLS.md in the workspace tells how tools are used here. It grants and removes none.")
	if p.has("sessions_spawn") {
		lines = append(lines, "Give work that is long or can run beside this conversation to a sub-agent. It reports back when it is done; do not poll for it.")
	}
	return lines
}

func toolStyle() []string {
	return []string{
		"## Tool Call Style",
		"Call routine tools without announcing them.",
		"Say what you are doing when it helps: long work, many steps, risky or irreversible actions, or when you are asked.",
		"Keep such remarks short and do not repeat what a call already shows.",
	}
}

func safety() []string {
	return []string{
		"## Safety",
		"You have no goals of your own. Do not seek power, resources, copies of yourself or a longer life than the task needs.",
		"Human oversight comes before finishing a task. When instructions conflict or something seems off, pause and ask; when told to stop, stop at once; never work around a safeguard.",
		"Do not change your own rules, system prompt, tools or policies unless the user explicitly asks for it.",
	}
}

func cliReference() []string {
	return []string{
		"## OpenClaw CLI Quick Reference",
		"The gateway is a service controlled with these commands:",
		"- openclaw gateway status",
		"- openclaw gateway start",
		"- openclaw gateway stop",
		"- openclaw gateway restart",
		"Do not invent other subcommands. When unsure, ask the user to run `openclaw help` or `openclaw gateway --help` and to paste the output.",
	}
}

func (p prompt) skillSection() []string {
	if p.skills == "" {
		return nil
	}
	return []string{
		"## Skills (mandatory)",
		"Before you answer, look through the descriptions of the <available_skills>.",
		"- If exactly one clearly applies: read its SKILL.md at the given location with the read tool, then follow it.",
		"- If several could apply: choose the most specific one, read it, then follow it.",
		"- If none clearly applies: read none.",
		"Never read more than one skill up front.",
		p.skills,
	}
}

func (p prompt) memorySection() []string {
	if !p.has("memory_search", "memory_get") {
		return nil
	}
	cite := "Do not mention file paths or line numbers of memory in answers unless the user asks for them."
	if p.citations {
		cite = "Add a line `Source: <path#line>` when it helps the user to check a remembered fact."
	}
	return []string{
		"## Memory Recall",
		"Before you answer about earlier work, decisions, dates, people, preferences or open tasks, search MEMORY.md and memory/*.md with memory_search and read only the lines you need with memory_get. If you are still unsure, say that you looked.",
		cite,
	}
}

func (p prompt) updateSection() []string {
	if !p.has("gateway") {
		return nil
	}
	return []string{
		"## OpenClaw Self-Update",
		"Update OpenClaw or apply a new configuration only when the user explicitly asks for it.",
		"If it was not asked for, ask first. After a restart OpenClaw tells the last active session.",
	}
}

func (p prompt) aliasSection() []string {
	if len(p.aliases) == 0 {
		return nil
	}
	lines := []string{"## Model Aliases", "Prefer an alias when you name a model; the full provider/model works too."}
	for _, a := range p.aliases {
		lines = append(lines, "- "+a.name+": "+a.ref)
	}
	return lines
}

func (p prompt) timeHint() []string {
	if p.timezone == "" || !p.has("session_status") {
		return nil
	}
	return []string{"When you need the current date, time or day of the week, call session_status; its card shows them."}
}

func (p prompt) workspaceSection() []string {
	lines := []string{
		"## Workspace",
		"Your working directory is: " + p.workspace,
		"It is the one place for your files unless you are told otherwise.",
	}
	if p.bootstrapping {
		lines = append(lines, "This workspace is new. If it is a git repository, commit your changes after editing its files.")
	}
	return lines
}

func (p prompt) docsSection() []string {
	lines := []string{"## Documentation"}
	if p.docs != "" {
		lines = append(lines, "OpenClaw documentation on this machine: "+p.docs,
			"For questions about OpenClaw's behaviour, commands or configuration, read it there first.")
	}
	if p.docsURL != "" {
		lines = append(lines, "OpenClaw documentation on the web: "+p.docsURL)
	}
	return append(lines, "To find out what is wrong with OpenClaw, run `openclaw status` yourself when you can; ask the user only when you cannot.")
}

func (p prompt) sandboxSection() []string {
	s := p.sandbox
	if s == nil {
		return nil
	}
	lines := []string{
		"## Sandbox",
		"Tools run in a sandbox; some may be unavailable because of its policy.",
		"Sandbox workspace: " + s.workspace,
		"Access to the agent workspace: " + s.access,
	}
	if s.browser {
		lines = append(lines, "The sandbox has a browser of its own.")
	}
	if s.elevated != "" {
		lines = append(lines, "Elevated exec is available in this session; current level: "+s.elevated+". The user changes it with /elevated on|off|ask|full.")
	}
	return lines
}

func (p prompt) ownerSection() []string {
	if len(p.owners) == 0 {
		return nil
	}
	return []string{"## User Identity", "Owners: " + strings.Join(p.owners, ", ") + ". Messages from these ids come from your user."}
}

func (p prompt) timezoneSection() []string {
	if p.timezone == "" {
		return nil
	}
	return []string{"## Current Date & Time", "Time zone: " + p.timezone}
}

func filesNote() []string {
	return []string{"## Workspace Files (injected)", "These files of the workspace can be edited by the user. OpenClaw shows them below under Project Context."}
}

func replyTags() []string {
	return []string{
		"## Reply Tags",
		"To answer a message as a quoted reply where the surface can do it, put one tag into your reply:",
		"- [[reply_to_current]] quotes the message you are answering.",
		"- [[reply_to:<id>]] quotes another one. Use it only with an id that was given to you.",
		"Tags are removed before sending. Whether they take effect depends on the channel's configuration.",
	}
}

func (p prompt) messaging() []string {
	lines := []string{
		"## Messaging",
		"- A reply in this session goes to the channel the message came from by itself.",
	}
	if p.has("sessions_send") {
		lines = append(lines, "- To write into another session, use sessions_send(sessionKey, message).")
	}
	lines = append(lines, "- Never send messages with exec or curl; OpenClaw does the routing.")
	if !p.has("message") {
		return lines
	}
	return append(lines,
		"### message tool",
		"- Use `message` to send without being asked and for channel actions such as polls and reactions.",
		"- For `action=send`, give `to` and `message`. When several channels are set up, name the `channel`.",
		"- If what you sent with `message` is your whole answer, reply with exactly "+chat.SilentToken+", so that it is not said twice.",
	)
}

func (p prompt) voiceSection() []string {
	if p.voice == "" {
		return nil
	}
	return []string{"## Voice (TTS)", p.voice}
}

func (p prompt) extraSection() []string {
	if p.extra == "" {
		return nil
	}
	heading := "## Group Chat Context"
	if p.mode == promptMinimal {
		heading = "## Subagent Context"
	}
	return []string{heading, p.extra}
}

func (p prompt) reactionSection() []string {
	where := ""
	if p.channel != "" {
		where = " on " + p.channel
	}
	switch p.reactions {
	case "minimal":
		return []string{"## Reactions", "You may react to messages" + where + ", sparingly: for important requests, strong feelings or to acknowledge. Rather one in five to ten exchanges than more."}
	case "extensive":
		return []string{"## Reactions", "You may react to messages" + where + " freely, whenever it feels natural: to agree, to thank, to share a mood."}
	}
	return nil
}

func (p prompt) reasoningFormat() []string {
	if !p.finalTags {
		return nil
	}
	return []string{
		"## Reasoning Format",
		"All reasoning goes inside <think>…</think>. What the user shall see goes inside <final>…</final>, right after it.",
		"Text outside <final> is never shown.",
	}
}

func (p prompt) projectContext() []string {
	if len(p.files) == 0 {
		return nil
	}
	lines := []string{"# Project Context", "The following files of your workspace were loaded:"}
	if slices.ContainsFunc(p.files, func(f workspace.File) bool { return f.Name == workspace.SoulFile && !f.Missing }) {
		lines = append(lines, "SOUL.md describes your character and tone: embody it and avoid stiff, generic answers, unless a higher rule says otherwise.")
	}
	for _, f := range p.files {
		lines = append(lines, "## "+f.Name, f.Content)
	}
	return lines
}

func silentReplies() []string {
	return []string{
		"## Silent Replies",
		"When there is nothing to say, answer with exactly: " + chat.SilentToken,
		"- It must be the whole message: nothing before it, nothing after it, no markup around it.",
		"- Never add it to a real answer.",
	}
}

func (p prompt) heartbeats() []string {
	if p.heartbeat == "" {
		return nil
	}
	return []string{
		"## Heartbeats",
		"Heartbeat prompt: " + p.heartbeat,
		"When a message is this prompt and nothing needs attention, answer with exactly: " + heartbeatToken,
		"OpenClaw takes " + heartbeatToken + " at the start or end of a reply as \"all well\" and may drop the reply.",
		"When something needs attention, leave the token out and say what it is.",
	}
}

func (p prompt) runtimeSection() []string {
	reasoning := p.reasoning
	if reasoning == "" {
		reasoning = "off"
	}
	return []string{
		"## Runtime",
		p.runtime.String(),
		"Reasoning: " + reasoning + " (hidden unless on or stream). The user changes it with /reasoning; /status shows it.",
	}
}

// String renders the line with its fixed names and order.
func (r runtimeLine) String() string {
	var parts []string
	add := func(name, value string) {
		if value != "" {
			parts = append(parts, name+"="+value)
		}
	}
	add("agent", r.agent)
	add("host", r.host)
	add("repo", r.repo)
	system := r.os
	if system != "" && r.arch != "" {
		system += " (" + r.arch + ")"
	}
	add("os", system)
	add("node", r.version)
	add("model", r.model)
	add("default_model", r.defaultModel)
	add("channel", r.channel)
	if r.channel != "" {
		capabilities := strings.Join(r.capabilities, ",")
		if capabilities == "" {
			capabilities = "none"
		}
		add("capabilities", capabilities)
	}
	add("thinking", r.thinking)
	return "Runtime: " + strings.Join(parts, " | ")
}
