package chat

import (
	"slices"
	"strings"
	"unicode"
)

// stopWords abort the running work of a session when they are the whole message.
var stopWords = []string{"stop", "esc", "abort", "wait", "exit", "interrupt"}

// IsStop reports whether text asks to stop what is running: /stop, or exactly
// one of the stop words, in any case. See docs/protocol.md#chat-send.
func IsStop(text string) bool {
	if slices.Contains(stopWords, strings.ToLower(strings.TrimSpace(text))) {
		return true
	}
	c, ok := ParseCommand(text)
	return ok && c.Name == "stop" && c.Args == ""
}

// Command is a message that is one slash command. Name is lower case and has no
// slash; Args is the trimmed rest.
type Command struct {
	Name, Args string
}

// ParseCommand reads "/name", "/name args", "/name: args" and "/name@bot args".
// It reports false for anything else, such as a path like "/usr/bin". The caller
// decides whether the name is a command that exists.
func ParseCommand(text string) (Command, bool) {
	body, ok := strings.CutPrefix(strings.TrimSpace(text), "/")
	if !ok {
		return Command{}, false
	}
	end := strings.IndexFunc(body, func(r rune) bool { return !commandRune(r) })
	if end < 0 {
		end = len(body)
	}
	name, rest := body[:end], body[end:]
	if name == "" || !unicode.IsLetter(rune(name[0])) {
		return Command{}, false
	}
	if bot, found := strings.CutPrefix(rest, "@"); found {
		n := strings.IndexFunc(bot, func(r rune) bool { return !commandRune(r) })
		switch {
		case n == 0 || bot == "":
			return Command{}, false
		case n < 0:
			rest = ""
		default:
			rest = bot[n:]
		}
	}
	rest, colon := strings.CutPrefix(rest, ":")
	if !colon && rest != "" && !unicode.IsSpace(firstRune(rest)) {
		return Command{}, false
	}
	return Command{Name: strings.ToLower(name), Args: strings.TrimSpace(rest)}, true
}

// MatchTrigger reports whether text is one of triggers or starts with one and a
// space, in any case; rest is what follows, trimmed. It is how /new and /reset
// and their configured synonyms are found.
func MatchTrigger(text string, triggers []string) (rest string, ok bool) {
	text = strings.TrimSpace(text)
	for _, t := range triggers {
		t = strings.TrimSpace(t)
		if t == "" || len(text) < len(t) || !strings.EqualFold(text[:len(t)], t) {
			continue
		}
		rest = text[len(t):]
		if rest == "" || unicode.IsSpace(firstRune(rest)) {
			return strings.TrimSpace(rest), true
		}
	}
	return "", false
}

func commandRune(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-'
}

func firstRune(s string) rune {
	for _, r := range s {
		return r
	}
	return 0
}
