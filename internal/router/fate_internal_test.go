package router

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"openclaw/internal/chat"
	"openclaw/internal/ledger"
	"openclaw/internal/run"
	"openclaw/internal/turn"
)

// The transcript tells how far a lost run got.
func TestFateOf(t *testing.T) {
	at := time.UnixMilli(1_000_000)
	user := func(text string, after int64) turn.Message {
		return turn.User(text, at.Add(time.Duration(after)*time.Millisecond))
	}
	says := func(text string, stop turn.StopReason) turn.Message {
		return turn.Message{Role: turn.RoleAssistant, Content: turn.Text(text), StopReason: stop}
	}
	calls := turn.Message{Role: turn.RoleAssistant, StopReason: turn.StopToolUse, Content: turn.Content{{Type: turn.BlockToolCall, ID: "c", Name: "exec"}}}
	result := turn.Message{Role: turn.RoleToolResult, ToolCallID: "c", Content: turn.Text("ok")}
	note := injected(noteDuring, at)
	tests := []struct {
		name string
		msgs []turn.Message
		want fateKind
		left int
	}{
		{"empty", nil, fateAbsent, 0},
		{"an older message with the same text", []turn.Message{user("hi", -1), says("hello", turn.StopEnd)}, fateAbsent, 2},
		{"another text", []turn.Message{user("say hi", 5)}, fateAbsent, 1},
		{"written", []turn.Message{user("hi", 0)}, fateOpen, 0},
		{"behind what a queue dropped", []turn.Message{user("[Queue overflow] Dropped 1 message(s) due to cap.\n\n[Sat 2000-01-01 00:00 UTC] hi", 5)}, fateOpen, 0},
		{"answered", []turn.Message{user("hi", 5), says("hello", turn.StopEnd)}, fateAnswered, 1},
		{"cut by the model's limit", []turn.Message{user("hi", 5), says("hel", turn.StopLength)}, fateAnswered, 1},
		{"at a tool", []turn.Message{user("hi", 5), calls}, fateOpen, 1},
		{"after a tool", []turn.Message{user("hi", 5), calls, result}, fateOpen, 2},
		{"answered after a tool", []turn.Message{user("hi", 5), calls, result, says("done", turn.StopEnd)}, fateAnswered, 3},
		{"the model failed", []turn.Message{user("hi", 5), says("", turn.StopError)}, fateOpen, 1},
		{"a command's answer came between", []turn.Message{user("hi", 5), calls, says("status", turn.StopInjected)}, fateOpen, 2},
		{"noted", []turn.Message{user("hi", 5), calls, note}, fateNoted, 2},
		{"answered, and the next one noted", []turn.Message{user("hi", 5), says("hello", turn.StopEnd), user("next", 9), note}, fateAnswered, 3},
		{"noted, and the next one answered", []turn.Message{user("hi", 5), note, user("next", 9), says("hello", turn.StopEnd)}, fateNoted, 3},
		{"steered and answered", []turn.Message{user("hi", 5), calls, result, user("faster", 7), says("done", turn.StopEnd)}, fateAnswered, 4},
	}
	for _, tt := range tests {
		was := ledger.Accepted{At: at, Request: run.Request{Prompt: chat.AddMessageID("[Sat 2000-01-01 00:00 UTC] hi", "id")}}
		got, rest := fateOf(was, tt.msgs)
		if got.kind != tt.want || len(rest) != tt.left {
			t.Errorf("%s: fate %d with %d messages left, want %d with %d", tt.name, got.kind, len(rest), tt.want, tt.left)
		}
		if began := tt.want != fateAbsent; began == got.began.IsZero() {
			t.Errorf("%s: began %v", tt.name, got.began)
		}
		if tt.want == fateAnswered && got.answer.Text() == "" {
			t.Errorf("%s: no answer", tt.name)
		}
	}
	// Whoever asks again gets every message of the run, as the first one would have.
	looks := says("I look.", turn.StopToolUse)
	looks.Content = append(looks.Content, calls.Content...)
	f, _ := fateOf(ledger.Accepted{At: at, Request: run.Request{Prompt: "hi"}},
		[]turn.Message{user("hi", 5), looks, result, says("It is five.", turn.StopEnd), user("next", 9), says("other", turn.StopEnd)})
	if want := []string{"I look.", "It is five."}; !slices.Equal(f.said, want) {
		t.Errorf("said %q, want %q", f.said, want)
	}
	// Two runs with the same words: each has a message of its own.
	msgs := []turn.Message{user("hi", 1), says("hello", turn.StopEnd), user("hi", 2)}
	was := ledger.Accepted{At: at, Request: run.Request{Prompt: "hi"}}
	var kinds []fateKind
	for range 3 {
		var f fate
		f, msgs = fateOf(was, msgs)
		kinds = append(kinds, f.kind)
	}
	if fmt.Sprint(kinds) != fmt.Sprint([]fateKind{fateAnswered, fateOpen, fateAbsent}) {
		t.Errorf("fates = %v", kinds)
	}
	// A run that was accepted later may have begun earlier: neither loses its message.
	msgs = []turn.Message{user("second", 3), says("two", turn.StopEnd), user("first", 4)}
	kinds = nil
	for _, text := range []string{"first", "second"} {
		var f fate
		f, msgs = fateOf(ledger.Accepted{At: at, Request: run.Request{Prompt: text}}, msgs)
		kinds = append(kinds, f.kind)
	}
	if fmt.Sprint(kinds) != fmt.Sprint([]fateKind{fateOpen, fateAnswered}) {
		t.Errorf("fates out of order = %v", kinds)
	}
}
