package cue

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestFind(t *testing.T) {
	known := func(w string) bool { return w == "say" || w == "tool" }
	tests := []struct{ msg, want string }{
		{"say hello", "say hello"},
		{"[Thu 2026-01-01 00:00 UTC] say hello", "say hello"},
		{"[a] [b]  say x\n", "say x"},
		{"say first\nsay last", "say last"},
		{"say first\nplain words", "say first"},
		{"saying nothing", ""},
		{"[broken say x", ""},
		{"[] []", ""},
		{"", ""},
	}
	for _, tt := range tests {
		got, ok := Find(tt.msg, known)
		if got != tt.want || ok != (tt.want != "") {
			t.Errorf("Find(%q) = %q, %v, want %q", tt.msg, got, ok, tt.want)
		}
	}
}

func TestParse(t *testing.T) {
	tool := func(name, args string) Turn {
		return Turn{Verb: Tool, Calls: []Call{{Name: name, Args: args}}}
	}
	tests := []struct {
		line string
		want []Turn
	}{
		{"say a b", []Turn{{Verb: Say, Text: "a b"}}},
		{"echo ;; result ;; report ;; empty ;; hang ;; inspect", []Turn{{Verb: Echo}, {Verb: Result}, {Verb: Report}, {Verb: Empty}, {Verb: Hang}, {Verb: Inspect}}},
		{"long 3", []Turn{{Verb: Long, Count: 3}}},
		{`tool read {"path":"a b"}`, []Turn{tool("read", `{"path":"a b"}`)}},
		{"tool now", []Turn{tool("now", "{}")}},
		{"loop 2 now ;; say x", []Turn{tool("now", "{}"), tool("now", "{}"), {Verb: Say, Text: "x"}}},
		{`badtool exec {"command":`, []Turn{tool("exec", `{"command":`)}},
		{`tools [{"name":"a","args":{"x":1}},{"name":"b"}]`, []Turn{{Verb: Tool, Calls: []Call{{"a", `{"x":1}`}, {"b", "{}"}}}}},
		{"think why ;; sleep 5 ;; sleep 5 ;; usage 7 8 ;; say x ;; say y", []Turn{
			{Verb: Say, Text: "x", Thinking: "why", Delay: 10 * time.Millisecond, InTokens: 7, OutTokens: 8}, {Verb: Say, Text: "y"}}},
		{"sleep 5", []Turn{{Verb: Default, Delay: 5 * time.Millisecond}}},
		{"error 429 3", []Turn{{Verb: Fail, Failure: "429", RetryAfter: 3}}},
		{"overloaded", []Turn{{Verb: Fail, Failure: "overloaded"}}},
		{"context_overflow", []Turn{{Verb: Fail, Failure: "context_overflow"}}},
		{"cut 3 abcdef", []Turn{{Verb: Say, Text: "abcdef", Cut: 3}}},
		{"truncate ab", []Turn{{Verb: Say, Text: "ab", Stop: "length"}}},
		{"refuse ab", []Turn{{Verb: Say, Text: "ab", Stop: "refusal"}}},
	}
	for _, tt := range tests {
		p, err := Parse(tt.line)
		if err != nil {
			t.Errorf("Parse(%q) = %v", tt.line, err)
		}
		if diff := cmp.Diff(tt.want, p.Turns); diff != "" {
			t.Errorf("Parse(%q) differs (-want +got):\n%s", tt.line, diff)
		}
	}
	p, err := Parse("flaky 2 503 ;; say x")
	if err != nil || p.Flaky != 2 || p.FlakyFailure != "503" || len(p.Turns) != 1 {
		t.Errorf("Parse(flaky) = %+v, %v", p, err)
	}
}

// A malformed line is reported, yet still gives a plan for lenient callers.
func TestParseMalformed(t *testing.T) {
	for _, line := range []string{
		"error in my program", "error", "error 500 1 2", "tool support is nice", "tool", "long way home", "sleep well",
		"echo this", "tools none", `tools [{"args":{}}]`, "usage 1", "flaky often", "say x ;; what is this", "say", "think",
	} {
		if _, err := Parse(line); err == nil {
			t.Errorf("Parse(%q) succeeded, want an error", line)
		}
	}
	p, err := Parse("mumble something")
	if err == nil || len(p.Turns) != 1 || p.Turns[0].Text != "mumble something" {
		t.Errorf("Parse(unknown word) = %+v, %v, want its own text", p, err)
	}
}

func TestParseIsBounded(t *testing.T) {
	p, _ := Parse(strings.Repeat("loop 999999999 x ;; ", 3))
	if len(p.Turns) != maxTurns {
		t.Errorf("Parse(huge loop) made %d turns, want %d", len(p.Turns), maxTurns)
	}
	p, _ = Parse("long 99999999999")
	if p.Turns[0].Count > maxWords {
		t.Errorf("Parse(huge long) asks for %d words, want at most %d", p.Turns[0].Count, maxWords)
	}
}

func TestWords(t *testing.T) {
	if got := Words(11); got != "w1 w2 w3 w4 w5 w6 w7 w8 w9 w10 w11" {
		t.Errorf("Words(11) = %q", got)
	}
	if got := Words(0); got != "" {
		t.Errorf("Words(0) = %q, want nothing", got)
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{
		"say x", "think a ;; tool read {} ;; say b", "tools [{\"name\":\"a\"}]", "loop 3 x {}", "cut -1 x", "error 429 -2",
		"usage 1 2 ;; sleep 9", "flaky 1 500", ";; ;;", "badtool", "long -5", "[x] say y\nzzz",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if line, ok := Find(s, func(w string) bool { return w != "" }); ok && !strings.Contains(s, line) {
			t.Errorf("Find(%q) = %q, which is not in the message", s, line)
		}
		p, _ := Parse(s)
		if len(p.Turns) > maxTurns {
			t.Errorf("Parse(%q) made %d turns", s, len(p.Turns))
		}
		for _, turn := range p.Turns {
			if turn.Delay < 0 || turn.Count < 0 || turn.Cut < 0 || turn.Verb == Tool && turn.Calls == nil {
				t.Errorf("Parse(%q) made the turn %+v", s, turn)
			}
		}
	})
}
