package agent

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"openclaw/internal/model"
	"openclaw/internal/session"
	"openclaw/internal/tool"
)

func (b *bench) status(args string) (tool.Result, error) {
	b.t.Helper()
	return b.agent.statusTool("main", testKey).Execute(b.t.Context(), tool.Call{ID: "c", Args: json.RawMessage(args)})
}

// Agent-runtime 20.17: the card, and the model of the session.
func TestSessionStatus(t *testing.T) {
	b := newBench(t, say("hi"))
	b.run(t.Context(), b.request("go"))
	res, err := b.status(`{}`)
	if err != nil {
		t.Fatal(err)
	}
	card := res.Content.Text()
	for _, want := range []string{"OpenClaw 9.9", "Time: ", "Model: fake/one · key: the configuration", "Tokens: 100 in / 10 out",
		"Context: 123/100k (0%)", "Session: " + testKey, "Think: off", "Queue: collect"} {
		if !strings.Contains(card, want) {
			t.Errorf("card lacks %q:\n%s", want, card)
		}
	}
	if diff := cmp.Diff(statusDetails{OK: true, SessionKey: testKey, StatusText: card}, res.Details); diff != "" {
		t.Errorf("details (-want +got):\n%s", diff)
	}

	res, err = b.status(`{"model":"spare/one"}`)
	if err != nil || !res.Details.(statusDetails).ChangedModel || !strings.Contains(res.Content.Text(), "Model: spare/one") ||
		!strings.Contains(res.Content.Text(), "default: fake/one") {
		t.Errorf("setting the model: %+v, %v", res, err)
	}
	if e, _ := b.store.Get(testKey); e.ProviderOverride != "spare" || e.ModelOverride != "one" {
		t.Errorf("override = %s/%s, want spare/one", e.ProviderOverride, e.ModelOverride)
	}
	res, _ = b.status(`{"model":"default","sessionKey":"test"}`)
	if e, _ := b.store.Get(testKey); e.ProviderOverride != "" || e.ModelOverride != "" || !res.Details.(statusDetails).ChangedModel {
		t.Error("default did not remove the override")
	}
}

func TestSessionStatusRefusals(t *testing.T) {
	b := newBench(t)
	b.request("")
	b.models.Allow = map[string]model.Params{"fake/one": {}}
	for args, want := range map[string]string{
		`{"sessionKey":"agent:other:main"}`: "another agent",
		`{"sessionKey":"nobody"}`:           "no session agent:main:nobody",
		`{"model":"openai/gpt-5.2"}`:        "not allowed",
	} {
		res, err := b.status(args)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(res.Content.Text(), want) {
			t.Errorf("session_status(%s) = %s, want %q in it", args, res.Content.Text(), want)
		}
	}
}

func TestStatusOfUnusableModel(t *testing.T) {
	b := newBench(t)
	b.request("")
	b.patch(func(e *session.Entry) {
		e.ProviderOverride, e.ModelOverride, e.ThinkingLevel = "nobody", "nothing", "high"
	})
	card, err := b.agent.Status("main", testKey)
	if err != nil || card.Model != "nobody/nothing" || card.Auth != "missing" || card.Think != "high" {
		t.Errorf("Status() = %+v, %v", card, err)
	}
}

// RT-044: levels of a run, and what a model makes of them.
func TestLevels(t *testing.T) {
	tests := []struct {
		request, entry, agent, ref string
		reasons                    bool
		want                       string
	}{
		{"", "", "", "fake/one", false, "off"},
		{"high", "", "", "fake/one", false, "off"},
		{"", "", "", "deep/one", true, "low"},
		{"", "", "medium", "deep/one", true, "medium"},
		{"", "minimal", "medium", "deep/one", true, "minimal"},
		{"off", "high", "medium", "deep/one", true, "off"},
		{"", "xhigh", "", "deep/one", true, "high"},
		{"", "xhigh", "", "openai/gpt-5.2", true, "xhigh"},
		{"nonsense", "high", "", "deep/one", true, "high"},
	}
	for _, tt := range tests {
		b := newBench(t)
		req := b.request("")
		req.Thinking = tt.request
		ref, err := model.ParseRef(tt.ref, nil)
		if err != nil {
			t.Fatal(err)
		}
		l := levelsOf(req, session.Entry{ThinkingLevel: tt.entry}, Settings{Thinking: tt.agent})
		if got := thinkFor(l.think, model.Info{Ref: ref, Reasoning: tt.reasons}); got != tt.want {
			t.Errorf("%+v: level = %q, want %q", tt, got, tt.want)
		}
	}
}
