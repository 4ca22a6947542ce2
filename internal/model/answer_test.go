package model

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"openclaw/internal/turn"
)

func TestAnswerJoinsPieces(t *testing.T) {
	a := NewAnswer()
	if !a.Empty() {
		t.Error("a new answer is not empty")
	}
	a.Thinking("let ")
	a.Thinking("me")
	a.Sign(turn.BlockThinking, "sig")
	a.Sign(turn.BlockThinking, "hidden")
	a.Text("one ")
	a.Text("two")
	a.Sign(turn.BlockText, "msg")
	a.Sign(turn.BlockText, "ignored")
	a.Thinking("open")
	a.Text("closed by kind")
	if p := a.Call("c1", "read", ` {"a":1}`, "thought"); p != (ToolCall{"c1", "read", ` {"a":1}`}) {
		t.Errorf("Call = %+v", p)
	}
	if p := a.Call("c2", "now", "", ""); p.Arguments != "{}" {
		t.Errorf("Call without arguments = %+v, want {}", p)
	}
	if p := a.Call("c3", "bad", `[1]`, ""); p.Arguments != `[1]` {
		t.Errorf("Call with a list = %+v, want it as it came", p)
	}
	info := Info{Ref: Ref{"p", "m"}, API: APIResponses, Cost: Cost{Input: 1, Output: 10, CacheRead: 0.1, CacheWrite: 2}}
	got := a.Done(info, turn.Usage{Input: 1e6, Output: 1e6, CacheRead: 1e6, CacheWrite: 1e6}, turn.StopEnd).Message
	want := turn.Message{Role: turn.RoleAssistant, API: "openai-responses", Provider: "p", Model: "m", StopReason: turn.StopToolUse,
		Usage: &turn.Usage{Input: 1e6, Output: 1e6, CacheRead: 1e6, CacheWrite: 1e6, TotalTokens: 4e6,
			Cost: turn.Cost{Input: 1, Output: 10, CacheRead: 0.1, CacheWrite: 2, Total: 13.1}},
		Content: turn.Content{
			{Type: turn.BlockThinking, Thinking: "let me", ThinkingSignature: "sig"},
			{Type: turn.BlockThinking, ThinkingSignature: "hidden"},
			{Type: turn.BlockText, Text: "one two", TextSignature: "msg"},
			{Type: turn.BlockThinking, Thinking: "open"},
			{Type: turn.BlockText, Text: "closed by kind"},
			{Type: turn.BlockToolCall, ID: "c1", Name: "read", Arguments: json.RawMessage(` {"a":1}`), ThoughtSignature: "thought"},
			{Type: turn.BlockToolCall, ID: "c2", Name: "now", Arguments: json.RawMessage("{}")},
			{Type: turn.BlockToolCall, ID: "c3", Name: "bad", Arguments: json.RawMessage("{}")},
		}}
	got.Timestamp = 0
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("message differs (-want +got):\n%s", diff)
	}
}

func TestReplay(t *testing.T) {
	info := Info{Ref: Ref{"p", "m"}, API: APIAnthropic}
	call := func(id string) turn.Block {
		return turn.Block{Type: turn.BlockToolCall, ID: id, Name: "x", ThoughtSignature: "t"}
	}
	thinking := turn.Block{Type: turn.BlockThinking, Thinking: "hm", ThinkingSignature: "s"}
	text := turn.Block{Type: turn.BlockText, Text: "hi", TextSignature: "id"}
	from := func(api API, provider string, stop turn.StopReason, blocks ...turn.Block) turn.Message {
		return turn.Message{Role: turn.RoleAssistant, API: string(api), Provider: provider, Model: "other", StopReason: stop, Content: blocks}
	}
	result := func(id string) turn.Message {
		return turn.Message{Role: turn.RoleToolResult, ToolCallID: id, Content: turn.Text("r")}
	}
	user := turn.Message{Role: turn.RoleUser, Content: turn.Text("u")}
	in := []turn.Message{
		user,
		from(APIAnthropic, "p", turn.StopError, text, call("c1")), result("c1"), // failed, with its result
		from(APIAnthropic, "p", turn.StopAborted, text),
		from(APIAnthropic, "p", turn.StopError),
		from(APIAnthropic, "p", turn.StopToolUse, thinking, text, call("c1")), result("c1"), // the retry
		{Role: turn.RoleUser}, // nothing to say
		from(APIResponses, "q", turn.StopEnd, thinking, text, call("c2")), result("c2"), // another vendor
		from(APIAnthropic, "q", turn.StopEnd, thinking), // another provider, nothing left
		from(APIAnthropic, "p", turn.StopEnd, turn.Block{Type: turn.BlockText}),
	}
	want := []turn.Message{
		user,
		from(APIAnthropic, "p", turn.StopToolUse, thinking, text, call("c1")), result("c1"),
		from(APIResponses, "q", turn.StopEnd, turn.Block{Type: turn.BlockText, Text: "hi"}, turn.Block{Type: turn.BlockToolCall, ID: "c2", Name: "x"}), result("c2"),
	}
	if diff := cmp.Diff(want, Replay(info, in)); diff != "" {
		t.Errorf("Replay differs (-want +got):\n%s", diff)
	}
	if in[8].Content[1].TextSignature != "id" {
		t.Error("Replay changed what it was given")
	}
}
