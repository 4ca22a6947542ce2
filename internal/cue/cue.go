package cue

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Separator parts the steps of a chain.
const Separator = ";;"

// maxTurns bounds what one line can ask for, so that "loop 999999999 …" costs nothing.
const maxTurns = 10_000

// maxWords bounds "long N".
const maxWords = 1_000_000

// Verb says what a [Turn] does.
type Verb string

const (
	Say     Verb = "say"     // Text is the answer
	Long    Verb = "long"    // the answer is [Words] of Count
	Echo    Verb = "echo"    // the answer is the last user message
	Result  Verb = "result"  // the answer is the text of the last tool result
	Report  Verb = "report"  // the answer quotes every tool result of this run
	Inspect Verb = "inspect" // the answer describes the request
	Empty   Verb = "empty"   // the answer has no content
	Tool    Verb = "tool"    // Calls are made
	Fail    Verb = "error"   // the call fails as Failure says
	Hang    Verb = "hang"    // nothing comes until the caller gives up
	// Default is the turn of a chain that ends in a modifier: the caller's own
	// standard answer, modified.
	Default Verb = ""
)

// Call is one tool call of a turn. Args is what stands in the cue, which is
// broken JSON after "badtool".
type Call struct {
	Name string `json:"name"`
	Args string `json:"args"`
}

// Turn is one model turn.
type Turn struct {
	Verb  Verb
	Text  string // Say
	Count int    // Long: number of words
	Calls []Call // Tool

	// Failure is an HTTP status, "overloaded" or "context_overflow"; RetryAfter
	// is in seconds, 0 for none.
	Failure    string
	RetryAfter int

	Cut  int    // above zero: the connection drops after so many characters of Text
	Stop string // "", "length" or "refusal"

	// Set by the modifiers in front of the turn.
	Thinking            string
	Delay               time.Duration // before the first byte
	InTokens, OutTokens int           // token counts to report when InTokens is above zero
}

// Plan is a parsed cue.
type Plan struct {
	Turns []Turn
	// Flaky is how many calls with this user message fail first, with FlakyFailure.
	Flaky        int
	FlakyFailure string
}

// Find picks the cue out of a message: the last line whose first word is known,
// after any "[…]" stamps in front of it.
func Find(msg string, known func(word string) bool) (line string, ok bool) {
	for msg != "" {
		rest, last := "", msg
		if i := strings.LastIndexByte(msg, '\n'); i >= 0 {
			rest, last = msg[:i], msg[i+1:]
		}
		last = trimStamps(last)
		word, _, _ := strings.Cut(last, " ")
		if known(word) {
			return last, true
		}
		msg = rest
	}
	return "", false
}

// trimStamps drops leading "[…]" groups and the space around them.
func trimStamps(line string) string {
	line = strings.TrimSpace(line)
	for strings.HasPrefix(line, "[") {
		end := strings.IndexByte(line, ']')
		if end < 0 {
			break
		}
		line = strings.TrimSpace(line[end+1:])
	}
	return line
}

// Parse reads a chain. The plan is usable even when err is not nil: a malformed
// step does the nearest sensible thing, a step of unknown kind says its own
// text. The error names the first such step; strict callers refuse the line.
func Parse(line string) (Plan, error) {
	var p parser
	for _, step := range strings.Split(line, Separator) {
		step = strings.TrimSpace(step)
		word, rest, _ := strings.Cut(step, " ")
		if err := p.step(word, strings.TrimSpace(rest), step); err != nil && p.err == nil {
			p.err = fmt.Errorf("step %q: %w", step, err)
		}
	}
	if m := p.pending; m.Delay > 0 || m.Thinking != "" || m.InTokens > 0 {
		p.push(Turn{Verb: Default})
	}
	return p.plan, p.err
}

type parser struct {
	plan    Plan
	pending Turn // modifiers waiting for their turn
	err     error
}

func (p *parser) push(t Turn) {
	if len(p.plan.Turns) >= maxTurns {
		return
	}
	t.Thinking, t.Delay = p.pending.Thinking, p.pending.Delay
	t.InTokens, t.OutTokens = p.pending.InTokens, p.pending.OutTokens
	p.plan.Turns = append(p.plan.Turns, t)
	p.pending = Turn{}
}

var (
	errArgument = errors.New("takes no argument")
	errNumber   = errors.New("needs a number")
	errText     = errors.New("needs text")
	errName     = errors.New("needs a tool name")
	errObject   = errors.New("arguments are no JSON object")
)

// step adds one step. It returns an error for a step that is not well formed.
func (p *parser) step(word, rest, whole string) error {
	switch word {
	case "":
		return nil
	case "say":
		p.push(Turn{Verb: Say, Text: rest})
		return needs(rest != "", errText)
	case "echo", "result", "report", "inspect", "empty", "hang":
		p.push(Turn{Verb: Verb(word)})
		return needs(rest == "", errArgument)
	case "long":
		n, err := number(rest, 100)
		p.push(Turn{Verb: Long, Count: min(max(n, 0), maxWords)})
		return err
	case "overloaded", "context_overflow":
		p.push(Turn{Verb: Fail, Failure: word})
		return needs(rest == "", errArgument)
	case "truncate":
		p.push(Turn{Verb: Say, Text: rest, Stop: "length"})
		return nil
	case "refuse":
		p.push(Turn{Verb: Say, Text: rest, Stop: "refusal"})
		return nil
	case "cut":
		count, text, _ := strings.Cut(rest, " ")
		n, err := number(count, 1)
		p.push(Turn{Verb: Say, Text: text, Cut: max(1, n)})
		return err
	case "error":
		return p.failure(rest)
	case "tool", "tools", "badtool", "loop":
		return p.calls(word, rest)
	case "sleep", "think", "usage", "flaky":
		return p.modify(word, rest)
	}
	p.push(Turn{Verb: Say, Text: whole})
	return errors.New("unknown word")
}

// failure reads "error CODE [RETRY_AFTER]".
func (p *parser) failure(rest string) error {
	t := Turn{Verb: Fail, Failure: "500"}
	f := strings.Fields(rest)
	var err error
	if len(f) > 0 {
		t.Failure = f[0]
		_, err = number(f[0], 0)
	} else {
		err = errNumber
	}
	if len(f) > 1 {
		var bad error
		t.RetryAfter, bad = number(f[1], 0)
		err = errors.Join(err, bad)
	}
	if len(f) > 2 {
		err = errors.Join(err, errArgument)
	}
	p.push(t)
	return err
}

// calls reads the steps that call tools.
func (p *parser) calls(word, rest string) error {
	times := 1
	var errs error
	if word == "loop" {
		count, call, _ := strings.Cut(rest, " ")
		times, errs = number(count, 1)
		rest = strings.TrimSpace(call)
	}
	if word == "tools" {
		list, err := toolList(rest)
		p.push(Turn{Verb: Tool, Calls: list})
		return err
	}
	name, args, _ := strings.Cut(rest, " ")
	if word != "badtool" {
		if args = strings.TrimSpace(args); args == "" {
			args = "{}"
		}
		errs = errors.Join(errs, needs(isObject(args), errObject))
	}
	for range min(times, maxTurns) {
		p.push(Turn{Verb: Tool, Calls: []Call{{Name: name, Args: args}}})
	}
	return errors.Join(errs, needs(name != "", errName))
}

// modify reads the steps that change the next turn.
func (p *parser) modify(word, rest string) error {
	f := strings.Fields(rest)
	switch word {
	case "sleep":
		n, err := number(rest, 0)
		p.pending.Delay += time.Duration(min(max(n, 0), int(time.Hour/time.Millisecond))) * time.Millisecond
		return err
	case "think":
		p.pending.Thinking = rest
		return needs(rest != "", errText)
	case "usage":
		if len(f) != 2 {
			return errNumber
		}
		in, err := number(f[0], 0)
		out, err2 := number(f[1], 0)
		p.pending.InTokens, p.pending.OutTokens = in, out
		return errors.Join(err, err2)
	case "flaky":
		if len(f) != 2 {
			return errNumber
		}
		n, err := number(f[0], 0)
		p.plan.Flaky, p.plan.FlakyFailure = n, f[1]
		return err
	}
	return nil
}

// toolList reads the argument of "tools".
func toolList(raw string) ([]Call, error) {
	var in []struct {
		Name string          `json:"name"`
		Args json.RawMessage `json:"args"`
	}
	if err := json.Unmarshal([]byte(raw), &in); err != nil {
		return []Call{{Name: "invalid_directive", Args: "{}"}}, errors.New("needs a JSON list of {name, args}")
	}
	var bad error
	list := make([]Call, 0, len(in))
	for _, c := range in {
		args := string(c.Args)
		if args == "" {
			args = "{}"
		}
		bad = errors.Join(bad, needs(c.Name != "", errName), needs(isObject(args), errObject))
		list = append(list, Call{Name: c.Name, Args: args})
	}
	return list, bad
}

// Words is the text of "long n": n numbered words, so that a lost or doubled
// one shows.
func Words(n int) string {
	b := make([]byte, 0, n*6)
	for i := 1; i <= n; i++ {
		if i > 1 {
			b = append(b, ' ')
		}
		b = append(b, 'w')
		b = strconv.AppendInt(b, int64(i), 10)
	}
	return string(b)
}

func needs(ok bool, err error) error {
	if ok {
		return nil
	}
	return err
}

func number(s string, def int) (int, error) {
	n, err := strconv.Atoi(strings.TrimSpace(s))
	if err != nil {
		return def, errNumber
	}
	return n, nil
}

func isObject(s string) bool {
	return strings.HasPrefix(s, "{") && json.Valid([]byte(s))
}
