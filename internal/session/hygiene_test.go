package session

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"openclaw/internal/turn"
)

func TestFamilyOf(t *testing.T) {
	tests := []struct {
		provider, api, model string
		want                 Family
	}{
		{"openai", "openai-completions", "gpt-5", FamilyOpenAI},
		{"openai-codex", "openai-responses", "gpt-5-codex", FamilyOpenAI},
		{"mockresp", "openai-responses", "mock-3", FamilyOpenAI},
		{"anthropic", "anthropic-messages", "claude", FamilyAnthropic},
		{"minimax", "anthropic-messages", "m2", FamilyAnthropic},
		{"google", "google-generative-ai", "gemini", FamilyGoogle},
		{"google-antigravity", "google-gemini-cli", "claude-opus", FamilyAntigravity},
		{"mistral", "openai-completions", "large", FamilyMistral},
		{"openrouter", "openai-completions", "mistralai/mixtral-8x7b", FamilyMistral},
		{"openrouter", "openai-completions", "google/gemini-3", FamilyOpenRouterGemini},
		{"mock", "openai-completions", "mock-1", FamilyOther},
	}
	for _, tt := range tests {
		if got := FamilyOf(tt.provider, tt.api, tt.model); got != tt.want {
			t.Errorf("FamilyOf(%q, %q, %q) = %q, want %q", tt.provider, tt.api, tt.model, got, tt.want)
		}
	}
}

// RT-031: each row of the matrix, and the history itself stays as it is.
func TestHygiene(t *testing.T) {
	thinking := func(s, sig string) turn.Block {
		return turn.Block{Type: turn.BlockThinking, Thinking: s, ThinkingSignature: sig}
	}
	signed := call("call_a|fc-1")
	signed.ThoughtSignature = "not base64!"
	good := text("t")
	good.ThoughtSignature = "QUJD"
	history := func() []turn.Message {
		return []turn.Message{
			assistant(thinking("unsigned", ""), text("hello")),
			assistant(text("again")),
			user("one"), user("two"),
			assistant(signed, call("call_b|fc-1"), good),
			result("call_a|fc-1", "x"), result("call_b|fc-1", "y"),
			assistant(thinking("lost", "rs_1")),
			assistant(text("end"), thinking("lost too", "rs_2")),
		}
	}
	before, _ := json.Marshal(history())
	tests := []struct {
		family Family
		want   []string
	}{
		{FamilyOther, []string{"assistant:hello", "assistant:again", "user:one", "user:two", "assistant:t[call_a|fc-1][call_b|fc-1]",
			"result:call_a|fc-1", "result:call_b|fc-1", "assistant:", "assistant:end"}},
		{FamilyOpenAI, []string{"assistant:hello", "assistant:again", "user:one", "user:two", "assistant:t[call_a|fc-1][call_b|fc-1]",
			"result:call_a|fc-1", "result:call_b|fc-1", "assistant:end"}},
		{FamilyAnthropic, []string{"assistant:hello", "assistant:again", "user:one\ntwo", "assistant:t[call_a|fc-1][call_b|fc-1]",
			"result:call_a|fc-1", "result:call_b|fc-1", "assistant:", "assistant:end"}},
		{FamilyGoogle, []string{"user:(session bootstrap)", "assistant:hello\nagain", "user:one", "user:two", "assistant:t[callafc1][callbfc1]",
			"result:callafc1", "result:callbfc1", "assistant:end"}},
		{FamilyMistral, []string{"assistant:hello", "assistant:again", "user:one", "user:two", "assistant:t[0callafc1][0callbfc1]",
			"result:0callafc1", "result:0callbfc1", "assistant:", "assistant:end"}},
	}
	for _, tt := range tests {
		msgs := history()
		got := Hygiene(tt.family, msgs)
		if diff := cmp.Diff(tt.want, outline(got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.family, diff)
		}
		if after, _ := json.Marshal(msgs); string(after) != string(before) {
			t.Errorf("%s: the history was changed", tt.family)
		}
	}
	if got := Hygiene(FamilyAntigravity, history())[1].Content; got[0].Type != turn.BlockText {
		t.Errorf("antigravity keeps unsigned thinking: %+v", got)
	}
	open := Hygiene(FamilyOpenRouterGemini, history())[4].Content
	if open[0].ThoughtSignature != "" || open[2].ThoughtSignature != "QUJD" {
		t.Errorf("signatures = %+v", open)
	}
	if !FamilyAnthropic.PairsTools() || !FamilyGoogle.PairsTools() || FamilyOpenAI.PairsTools() || FamilyMistral.PairsTools() {
		t.Error("PairsTools does not follow the matrix")
	}
}

// Different ids never become the same one, and equal ones stay equal.
func TestRenameCallsIsOneToOne(t *testing.T) {
	ids := []string{"call_1", "call-1", "call1", "", "!!!", "tool_use_0000000000001", "x_tool_use_0000000000001", "ö"}
	var msgs []turn.Message
	for _, id := range ids {
		msgs = append(msgs, assistant(turn.Block{Type: turn.BlockToolCall, ID: id, Name: "n", Arguments: json.RawMessage("{}")}))
	}
	nine := regexp.MustCompile(`^[0-9A-Za-z]{9}$`)
	for name, to := range map[string]func(string, int) string{"google": alphanumericID, "mistral": nineID} {
		seen := map[string]bool{}
		for _, m := range renameCalls(msgs, to) {
			id := m.Content[0].ID
			if seen[id] || id == "" {
				t.Errorf("%s: id %q is not fresh", name, id)
			}
			if name == "mistral" && !nine.MatchString(id) {
				t.Errorf("mistral: id %q is not nine letters and digits", id)
			}
			seen[id] = true
		}
	}
}

func TestLastTurns(t *testing.T) {
	msgs := []turn.Message{user("1"), assistant(text("a")), user("2"), assistant(text("b")), user("3")}
	for n, want := range map[int]int{0: 5, -1: 5, 1: 1, 2: 3, 3: 5, 9: 5} {
		if got := len(LastTurns(msgs, n)); got != want {
			t.Errorf("LastTurns(%d) keeps %d, want %d", n, got, want)
		}
	}
	if !strings.HasPrefix(outline(LastTurns(msgs, 2))[0], "user:2") {
		t.Error("LastTurns does not begin with a user turn")
	}
}
