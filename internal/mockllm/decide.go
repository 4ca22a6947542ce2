package mockllm

import (
	"fmt"
	"strings"

	"openclaw/internal/cue"
)

// reply is one whole assistant turn, independent of any wire format.
type reply struct {
	cue.Turn
	hang bool
}

// isWord says which first words make a line a cue.
func isWord(w string) bool {
	switch w {
	case "say", "echo", "long", "tool", "tools", "loop", "badtool", "sleep", "think", "error", "flaky",
		"context_overflow", "overloaded", "empty", "cut", "hang", "truncate", "refuse", "usage", "inspect", "result":
		return true
	}
	return false
}

// findCue looks for "!mock CUE" first, then for a line that is a cue.
func findCue(msg string) (string, bool) {
	if _, after, ok := strings.Cut(msg, "!mock "); ok {
		line, _, _ := strings.Cut(after, "\n")
		return strings.TrimSpace(line), true
	}
	return cue.Find(msg, isWord)
}

// decide computes the reply to a conversation.
func (s *Server) decide(c *conversation) reply {
	if r, ok := s.nextScripted(c); ok {
		return r
	}
	if line, ok := findCue(c.lastUser); ok {
		return s.follow(line, c, c.step)
	}
	// Housekeeping prompts name the exact token they want back.
	for _, token := range []string{"HEARTBEAT_OK", "NO_REPLY"} {
		if strings.Contains(c.lastUser, token) {
			return say(token)
		}
	}
	return say(s.cfg.Default)
}

// follow returns the turn of a cue that is due at step.
func (s *Server) follow(line string, c *conversation, step int) reply {
	plan, _ := cue.Parse(line) // lenient on purpose: odd steps are said aloud
	if plan.Flaky > 0 && s.hits(c.lastUser) <= plan.Flaky {
		return reply{Turn: cue.Turn{Verb: cue.Fail, Failure: plan.FlakyFailure}}
	}
	if step >= len(plan.Turns) {
		// Past the end of the chain: close the run.
		return say(fmt.Sprintf("done after %d tool result(s)", c.toolResults))
	}
	r := reply{Turn: plan.Turns[step]}
	switch r.Verb {
	case cue.Default:
		r.Text = s.cfg.Default
	case cue.Long:
		r.Text = cue.Words(r.Count)
	case cue.Echo:
		r.Text = c.lastUser
	case cue.Result, cue.Report:
		r.Text = c.lastToolResult
	case cue.Inspect:
		r.Text = fmt.Sprintf("model=%s system_chars=%d messages=%d tools=%d stream=%t effort=%s",
			c.model, c.systemChars, c.messages, len(c.tools), c.stream, c.effort)
	case cue.Hang:
		r.hang = true
	}
	return r
}

func say(text string) reply { return reply{Turn: cue.Turn{Verb: cue.Say, Text: text}} }

// hits counts the requests with this user message.
func (s *Server) hits(key string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen[key]++
	return s.seen[key]
}

// tokensOf is a fixed rule of thumb, four characters to a token.
func tokensOf(s string) int { return (len([]rune(s)) + 3) / 4 }

// usage is the token count of an exchange, input and output.
func (x *exchange) usage() (in, out int) {
	r := x.reply
	if r.InTokens > 0 {
		return r.InTokens, r.OutTokens
	}
	out = tokensOf(r.Text) + tokensOf(r.Thinking)
	for _, t := range r.Calls {
		out += tokensOf(t.Name) + tokensOf(t.Args)
	}
	return (len(x.body) + 3) / 4, max(out, 1)
}
