package agent

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"openclaw/internal/model"
	"openclaw/internal/run"
	"openclaw/internal/session"
	"openclaw/internal/tool"
	"openclaw/internal/turn"
)

type pathArgs struct {
	Path string `json:"path"`
}

func (p pathArgs) Meta() string { return p.Path }

// reader answers with the path it was given and fails for "missing".
func reader(calls *[]string) tool.Tool {
	return tool.New(tool.Spec{Name: "read", Label: "Read", Summary: "read files", Description: "reads"},
		func(_ context.Context, c tool.Call, p pathArgs) (tool.Result, error) {
			*calls = append(*calls, c.ID)
			switch p.Path {
			case "missing":
				return tool.Result{}, errors.New("no such file: missing\nsecond line")
			case "panic":
				panic("tool bug")
			}
			return tool.Result{Content: turn.Text("content of " + p.Path), Details: map[string]any{"path": p.Path}}, nil
		})
}

// A plain run: events, payload, transcript in the recorded order, session entry.
func TestRunPlain(t *testing.T) {
	b := newBench(t, say("hel", "lo"))
	out := b.run(t.Context(), b.request("hi"))
	want := []string{"lifecycle start", `assistant "hel" +"hel"`, `assistant "hello" +"lo"`, "lifecycle end"}
	if diff := cmp.Diff(want, tell(b.seen())); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	checkEvents(t, b.seen())
	for _, e := range b.seen() {
		if e.SessionKey != "test" || e.SessionID != testID || e.Verbose != "off" {
			t.Errorf("event %+v lacks the requester's key, the session id or the level", e)
		}
	}
	if diff := cmp.Diff([]string{"hello"}, texts(out.Payloads)); diff != "" {
		t.Errorf("payloads (-want +got):\n%s", diff)
	}
	wantMeta := run.AgentMeta{SessionID: testID, Provider: "fake", Model: "one",
		Usage: &run.Usage{Input: 100, Output: 10, CacheRead: 20, CacheWrite: 3, Total: 133}}
	if diff := cmp.Diff(wantMeta, out.Meta.AgentMeta); diff != "" {
		t.Errorf("agentMeta (-want +got):\n%s", diff)
	}
	lines := []string{"session", "model_change one", "thinking_level_change off", "custom model-snapshot", "user hi", "assistant hello"}
	if diff := cmp.Diff(lines, b.transcript()); diff != "" {
		t.Errorf("transcript (-want +got):\n%s", diff)
	}

	// RT-024: the total is the size of the last prompt, cache included.
	e, _ := b.store.Get(testKey)
	if e.ModelProvider != "fake" || e.Model != "one" || *e.ContextTokens != 100_000 || *e.AbortedLastRun ||
		*e.InputTokens != 100 || *e.OutputTokens != 10 || *e.TotalTokens != 123 {
		t.Errorf("entry after the run = %+v", e)
	}
	if e.SystemSent != nil || e.SystemPromptReport != nil {
		t.Error("an agent run marked the session as a chat")
	}
}

func TestRunChatRemembersReport(t *testing.T) {
	b := newBench(t, say("hello"))
	req := b.request("hi")
	req.Chat = true
	out := b.run(t.Context(), req)
	e, _ := b.store.Get(testKey)
	if e.SystemSent == nil || !*e.SystemSent {
		t.Error("systemSent is not set after a chat run")
	}
	for name, raw := range map[string]json.RawMessage{"entry": e.SystemPromptReport, "outcome": out.Meta.SystemPromptReport} {
		var r report
		if err := json.Unmarshal(raw, &r); err != nil {
			t.Fatalf("report in the %s: %v", name, err)
		}
		if r.Source != "run" || r.SessionID != testID || r.SessionKey != req.EventKey || r.Model != "one" || len(r.Files) != 6 || r.SystemPrompt.Chars < 1000 {
			t.Errorf("report in the %s = %+v", name, r)
		}
	}
}

// What the model is sent: the prompt, the history, the tools, the session id.
func TestRunRequest(t *testing.T) {
	var calls []string
	b := newBench(t, say("one"), say("two"))
	b.tools = []tool.Tool{reader(&calls)}
	b.run(t.Context(), b.request("first"))
	req := b.request("second")
	req.Images = []turn.Block{{Type: turn.BlockImage, MimeType: "image/png", Data: "AAAA"}}
	b.run(t.Context(), req)
	asked := b.script.requests()[1]
	if diff := cmp.Diff([]string{"user first", "assistant one", "user second <image>"}, briefs(asked.Messages)); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
	if asked.SessionID != testID || asked.Ref.String() != "fake/one" || asked.Think != "off" {
		t.Errorf("request = session %q, model %v, think %q", asked.SessionID, asked.Ref, asked.Think)
	}
	var names []string
	for _, tl := range asked.Tools {
		names = append(names, tl.Name)
	}
	if diff := cmp.Diff([]string{"read", "session_status"}, names); diff != "" {
		t.Errorf("tools (-want +got):\n%s", diff)
	}
	if !strings.Contains(asked.System, "about SOUL.md") || !strings.Contains(asked.System, "Runtime: agent=main | host=box") {
		t.Error("the system prompt lacks the workspace files or the runtime line")
	}
	if asked.System != b.script.requests()[0].System {
		t.Error("two runs of one session got different system prompts, which no provider can cache")
	}
}

// RT-060: calls run one by one in order; every kind of failure becomes a result
// and the run goes on.
func TestRT060Tools(t *testing.T) {
	var calls []string
	b := newBench(t,
		use("let me look", want{"c1", "read", `{"path":"a"}`}, want{"c2", "read", `{"path":"missing"}`},
			want{"c3", "no_such_tool", `{"a":1}`}, want{"c4", "read", `{}`}, want{"c5", "read", `{"path":`},
			want{"c6", "read", `{"path":"panic"}`}),
		say("survived"))
	b.tools = []tool.Tool{reader(&calls)}
	out := b.run(t.Context(), b.request("go"))

	if diff := cmp.Diff([]string{"c1", "c2", "c6"}, calls); diff != "" {
		t.Errorf("executed calls (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"let me look", "survived"}, texts(out.Payloads)); diff != "" {
		t.Errorf("payloads (-want +got):\n%s", diff)
	}
	events := b.seen()
	checkEvents(t, events)
	want := []string{"lifecycle start", `assistant "let me look" +"let me look"`,
		"tool start read c1", "tool result read c1", "tool start read c2", "tool result read c2 error",
		"tool start no_such_tool c3", "tool result no_such_tool c3 error", "tool start read c4", "tool result read c4 error",
		"tool start read c5", "tool result read c5 error", "tool start read c6", "tool result read c6 error",
		`assistant "survived" +"survived"`, "lifecycle end"}
	if diff := cmp.Diff(want, tell(events)); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	results := b.script.requests()[1].Messages[2:]
	check := func(i int, text string, isError bool, details string) {
		t.Helper()
		r := results[i]
		if r.Text() != text || r.Failed() != isError || string(r.Details) != details {
			t.Errorf("result %d = %q, isError %v, details %s; want %q, %v, %s", i, r.Text(), r.Failed(), r.Details, text, isError, details)
		}
	}
	check(0, "content of a", false, `{"path":"a"}`)
	check(1, "{\n  \"status\": \"error\",\n  \"tool\": \"read\",\n  \"error\": \"no such file: missing\\nsecond line\"\n}", false,
		`{"status":"error","tool":"read","error":"no such file: missing\nsecond line"}`)
	check(2, "Tool no_such_tool not found", true, `{}`)
	check(3, "Validation failed for tool \"read\":\n  - path: must have required property 'path'\n\nReceived arguments:\n{}", true, `{}`)
	check(4, "Validation failed for tool \"read\":\n  - root: must be a JSON object\n\nReceived arguments:\n{\"path\":", true, `{}`)
	if !strings.Contains(results[5].Text(), "internal error") || strings.Contains(results[5].Text(), "tool bug") {
		t.Errorf("result of a panic = %q", results[5].Text())
	}
	for _, e := range events {
		if e.Tool != nil && e.Tool.CallID == "c1" && e.Tool.Phase == run.PhaseResult && e.Tool.Meta != "a" {
			t.Errorf("meta = %q, want %q", e.Tool.Meta, "a")
		}
	}
}

// RT-063: events carry neither long text nor image data; the model gets both.
func TestRT063ToolEvents(t *testing.T) {
	picture := base64.StdEncoding.EncodeToString(make([]byte, 300))
	long := strings.Repeat("é", 8001)
	var late func(tool.Result)
	big := tool.New(tool.Spec{Name: "big"}, func(_ context.Context, c tool.Call, _ struct{}) (tool.Result, error) {
		late = c.Update
		c.Update(tool.Text(long))
		return tool.Result{Content: turn.Content{{Type: turn.BlockText, Text: long},
			{Type: turn.BlockImage, MimeType: "image/png", Data: picture}}}, nil
	})
	b := newBench(t, use("", want{"c1", "big", `{}`}), say("ok"))
	b.tools = []tool.Tool{big}
	b.run(t.Context(), b.request("go"))
	late(tool.Text("too late"))

	var outputs []*run.ToolOutput
	for _, e := range b.seen() {
		if e.Tool != nil && e.Tool.PartialResult != nil {
			outputs = append(outputs, e.Tool.PartialResult)
		}
		if e.Tool != nil && e.Tool.Result != nil {
			outputs = append(outputs, e.Tool.Result)
		}
	}
	if len(outputs) != 2 {
		t.Fatalf("run has %d tool outputs, want an update and a result", len(outputs))
	}
	for i, o := range outputs {
		if want := strings.Repeat("é", 8000) + "\n…(truncated)…"; o.Content[0].Text != want {
			t.Errorf("output %d was not cut to 8000 characters", i)
		}
		data, err := json.Marshal(o)
		if err != nil || strings.Contains(string(data), picture[:40]) {
			t.Errorf("output %d carries image data (%v)", i, err)
		}
	}
	if img := outputs[1].Content[1]; img.Bytes != 300 || !img.Omitted {
		t.Errorf("image in the event = %+v, want 300 bytes omitted", img)
	}
	sent := b.script.requests()[1].Messages[2]
	if sent.Content[0].Text != long || sent.Content[1].Data != picture {
		t.Error("the model did not get the whole result")
	}
	checkEvents(t, b.seen())
}

// RT-062: nothing is shown that is not certain to be part of the reply.
func TestRT062Streaming(t *testing.T) {
	tests := []struct {
		name   string
		pieces []string
		want   []string
	}{
		{"pieces", []string{"a", "b", "c"}, []string{`"a" +"a"`, `"ab" +"b"`, `"abc" +"c"`}},
		{"reasoning tags", []string{"<thi", "nk>secret</think>", "hi <b>"}, []string{`"hi <b>" +"hi <b>"`}},
		{"tag never closed", []string{"a <fin", "e"}, []string{`"a " +"a "`, `"a <fine" +"<fine"`}},
		{"leading space", []string{"\n\n", "  hi"}, []string{`"hi" +"hi"`}},
		{"capital N at a cut", []string{"see N", "ew York"}, []string{`"see " +"see "`, `"see New York" +"New York"`}},
		{"blank", []string{" ", "\n"}, nil},
	}
	for _, tt := range tests {
		b := newBench(t, say(tt.pieces...))
		b.run(t.Context(), b.request("go"))
		var got []string
		for _, line := range tell(b.seen()) {
			if rest, ok := strings.CutPrefix(line, "assistant "); ok {
				got = append(got, rest)
			}
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s: assistant events (-want +got):\n%s", tt.name, diff)
		}
		checkEvents(t, b.seen())
	}
}

// RT-080, P10: silence in many spellings, cut anywhere, is never shown.
func TestRT080Silence(t *testing.T) {
	for _, text := range []string{"NO_REPLY", " NO_REPLY\n", "NO_REPLY.", "**NO_REPLY**", "no_reply", "`NO_REPLY`", "NO_REPLY -- nothing to say",
		"NO\\_REPLY"} {
		for cut := range len(text) + 1 {
			b := newBench(t, say(text[:cut], text[cut:]))
			out := b.run(t.Context(), b.request("go"))
			if diff := cmp.Diff([]string{"lifecycle start", "lifecycle end silent"}, tell(b.seen())); diff != "" {
				t.Errorf("%q cut at %d: events (-want +got):\n%s", text, cut, diff)
			}
			if len(out.Payloads) != 0 {
				t.Errorf("%q cut at %d: payloads = %v, want none", text, cut, texts(out.Payloads))
			}
		}
	}
	// A token at the end silences the reply; what streamed before is withdrawn.
	b := newBench(t, say("all done\n\nNO_", "REPLY"))
	out := b.run(t.Context(), b.request("go"))
	if len(out.Payloads) != 0 {
		t.Errorf("payloads = %v, want none", texts(out.Payloads))
	}
	for _, line := range tell(b.seen()) {
		if strings.Contains(line, "NO_") {
			t.Errorf("the token was shown: %s", line)
		}
	}
	if last := b.seen()[len(b.seen())-1]; !last.Lifecycle.Silent {
		t.Error("the end does not say that the reply is silence")
	}
	// The words inside a sentence arrive as they are.
	b = newBench(t, say("Use NO_REPLY", " when there is nothing to say."))
	out = b.run(t.Context(), b.request("go"))
	if diff := cmp.Diff([]string{"Use NO_REPLY when there is nothing to say."}, texts(out.Payloads)); diff != "" {
		t.Errorf("payloads (-want +got):\n%s", diff)
	}
}

// RT-083: a failed last tool is told when there is nothing else to say.
func TestRT083ToolFailureNotice(t *testing.T) {
	var calls []string
	tests := []struct {
		name  string
		steps []step
		want  []string
	}{
		{"no answer", []step{use("", want{"c1", "read", `{"path":"missing"}`}), say("")}, []string{"⚠️ Read: missing failed: no such file: missing"}},
		{"answer", []step{use("", want{"c1", "read", `{"path":"missing"}`}), say("it is gone")}, []string{"it is gone"}},
		{"last one worked", []step{use("", want{"c1", "read", `{"path":"missing"}`}, want{"c2", "read", `{"path":"a"}`}), say("")}, []string{}},
		{"chosen silence", []step{use("", want{"c1", "read", `{"path":"missing"}`}), say("NO_REPLY")}, []string{}},
		{"unknown tool", []step{use("", want{"c1", "nope", `{}`}), say("")}, []string{"⚠️ nope failed: Tool nope not found"}},
	}
	for _, tt := range tests {
		b := newBench(t, tt.steps...)
		b.tools = []tool.Tool{reader(&calls)}
		if diff := cmp.Diff(tt.want, texts(b.run(t.Context(), b.request("go")).Payloads)); diff != "" {
			t.Errorf("%s: payloads (-want +got):\n%s", tt.name, diff)
		}
	}
}

func TestReasoningPayload(t *testing.T) {
	b := newBench(t, thinkSay("first\nsecond", "answer"), thinkSay("hidden", "again"))
	b.request("")
	b.patch(func(e *session.Entry) { e.ReasoningLevel = "on" })
	out := b.run(t.Context(), b.request("go"))
	if diff := cmp.Diff([]string{"Reasoning:\n_first_\n_second_", "answer"}, texts(out.Payloads)); diff != "" {
		t.Errorf("payloads (-want +got):\n%s", diff)
	}
	b.patch(func(e *session.Entry) { e.ReasoningLevel = "off" })
	out = b.run(t.Context(), b.request("go"))
	if diff := cmp.Diff([]string{"again"}, texts(out.Payloads)); diff != "" {
		t.Errorf("payloads with reasoning off (-want +got):\n%s", diff)
	}
}

// Agent-runtime 11.5: the loop guard never touches calls whose results change.
func TestLoopGuard(t *testing.T) {
	polls := 0
	poll := tool.New(tool.Spec{Name: "poll"}, func(context.Context, tool.Call, struct {
		ID string `json:"id,omitempty"`
		At int    `json:"at,omitempty"`
	}) (tool.Result, error) {
		polls++
		return tool.Text(fmt.Sprint("state ", polls)), nil
	})
	same := 0
	stuck := tool.New(tool.Spec{Name: "stuck"}, func(context.Context, tool.Call, struct {
		A int `json:"a,omitempty"`
		B int `json:"b,omitempty"`
	}) (tool.Result, error) {
		same++
		return tool.Result{Content: turn.Text("same"), Details: map[string]int{"took": same}}, nil
	})
	var steps []step
	for i := range 30 {
		args := `{"a":1,"b":2}`
		if i%2 == 1 {
			args = `{ "b":2, "a":1 }`
		}
		steps = append(steps, use("", want{fmt.Sprint("s", i), "stuck", args}))
	}
	for i := range 40 {
		steps = append(steps, use("", want{fmt.Sprint("p", i), "poll", `{}`}))
	}
	b := newBench(t, append(steps, say("end"))...)
	b.tools = []tool.Tool{stuck, poll}
	b.run(t.Context(), b.request("go"))
	if same != maxRepeats {
		t.Errorf("the same call ran %d times, want %d", same, maxRepeats)
	}
	if polls != 40 {
		t.Errorf("calls with changing results ran %d times, want 40", polls)
	}
	msgs := b.script.requests()[70].Messages
	if last := msgs[2*30]; !last.Failed() || !strings.Contains(last.Text(), "loop") {
		t.Errorf("result of a blocked call = %q, failed %v", last.Text(), last.Failed())
	}
}

// The model wants another thinking level than we asked for.
func TestThinkingLevelRefused(t *testing.T) {
	b := newBench(t,
		fail(model.Error{Kind: model.KindFormat, Status: 400, Text: "no", Efforts: []string{"medium", "high"}}, ""),
		say("fine"))
	b.models.Primary = "deep/one"
	b.run(t.Context(), b.request("go"))
	asked := b.script.requests()
	if len(asked) != 2 || asked[0].Think != "low" || asked[1].Think != "medium" {
		t.Errorf("levels asked for = %d requests, first %q, want low and then medium", len(asked), asked[0].Think)
	}
}
