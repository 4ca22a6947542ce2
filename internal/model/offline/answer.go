package offline

import (
	"fmt"
	"strings"

	"openclaw/internal/cue"
	"openclaw/internal/model"
	"openclaw/internal/turn"
)

// help is the answer to a message that is no directive.
const help = `This is the built-in offline model. No language model is connected, so I cannot understand or answer your message.

To connect one, either set an API key in the environment of the gateway, such as ANTHROPIC_API_KEY or OPENAI_API_KEY, or describe a server under models.providers in the configuration and name it in agents.defaults.model.primary. Then send your message again.

Until then I obey a few directives, so that you can try everything else. Steps are chained with ;; and each takes one turn:
- say TEXT, echo, result, empty, long N: answer with text
- think TEXT, sleep MS: reason or wait before the next step
- tool NAME {json}, tools [{"name": …, "args": {…}}, …]: call tools
- report: show what the tools returned
- error CODE: fail like a server would

Example: tool read {"path": "AGENTS.md"} ;; tool exec {"command": "date"} ;; report`

// isWord says which first words may begin a directive. Those of the test server
// that only make sense there are left out.
func isWord(w string) bool {
	switch w {
	case "say", "echo", "result", "report", "empty", "long", "think", "sleep", "tool", "tools", "error":
		return true
	}
	return false
}

// answer decides what to do in this turn.
func (m *Model) answer(req model.Request) cue.Turn {
	c := look(req.Messages)
	if token, ok := housekeeping(c.user); ok {
		return say(token)
	}
	plan, ok := directive(c.user)
	if !ok {
		if len(c.results) > 0 {
			return say(c.report())
		}
		return say(help)
	}
	if c.step >= len(plan.Turns) {
		if len(c.results) > 0 {
			return say(c.report())
		}
		return say("The directive is used up.")
	}
	t := plan.Turns[c.step]
	switch t.Verb {
	case cue.Default:
		t.Text = help
	case cue.Long:
		t.Text = cue.Words(t.Count)
	case cue.Echo:
		t.Text = c.user
	case cue.Result:
		t.Text = c.lastResult()
	case cue.Report:
		t.Text = c.report()
	}
	return t
}

func say(text string) cue.Turn { return cue.Turn{Verb: cue.Say, Text: text} }

// directive finds a well-formed directive. Anything else is a message of a
// person, even when it starts with the same word: "error in my program".
func directive(msg string) (cue.Plan, bool) {
	line, ok := cue.Find(msg, isWord)
	if !ok {
		return cue.Plan{}, false
	}
	for step := range strings.SplitSeq(line, cue.Separator) {
		if word, _, _ := strings.Cut(strings.TrimSpace(step), " "); word != "" && !isWord(word) {
			return cue.Plan{}, false
		}
	}
	plan, err := cue.Parse(line)
	return plan, err == nil
}

// housekeeping finds the token that a heartbeat or memory prompt wants back
// when there is nothing to do; without it an idle gateway would talk.
func housekeeping(msg string) (token string, ok bool) {
	for _, token := range []string{"HEARTBEAT_OK", "NO_REPLY"} {
		if strings.Contains(msg, token) {
			return token, true
		}
	}
	return "", false
}

// conversation is what an answer depends on.
type conversation struct {
	user    string // last user message
	step    int    // assistant turns since then
	results []turn.Message
}

func look(msgs []turn.Message) conversation {
	var c conversation
	for _, m := range msgs {
		switch m.Role {
		case turn.RoleUser:
			c = conversation{user: m.Text()}
		case turn.RoleAssistant:
			if m.StopReason != turn.StopError && m.StopReason != turn.StopAborted {
				c.step++
			}
		case turn.RoleToolResult:
			c.results = append(c.results, m)
		}
	}
	return c
}

func (c conversation) lastResult() string {
	if len(c.results) == 0 {
		return ""
	}
	return c.results[len(c.results)-1].Text()
}

// maxQuote bounds how much of one tool result a report shows, in characters.
const maxQuote = 2000

// report quotes what the tools of this run returned.
func (c conversation) report() string {
	if len(c.results) == 0 {
		return "No tool was called, so there is nothing to report."
	}
	var b strings.Builder
	fmt.Fprintf(&b, "The offline model called %s and passes on what came back, without understanding it.", count(len(c.results), "tool"))
	for _, r := range c.results {
		verb := "returned"
		if r.Failed() {
			verb = "failed with"
		}
		fmt.Fprintf(&b, "\n\n%s %s:\n%s", r.ToolName, verb, quote(r.Text()))
	}
	return b.String()
}

func count(n int, noun string) string {
	if n == 1 {
		return "one " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// quote fences text, with a fence longer than any in it.
func quote(text string) string {
	text = strings.TrimRight(text, "\n")
	if rs := []rune(text); len(rs) > maxQuote {
		text = string(rs[:maxQuote]) + fmt.Sprintf("\n… (%d more characters)", len(rs)-maxQuote)
	}
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	return fence + "\n" + text + "\n" + fence
}
