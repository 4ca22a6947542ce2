package stagewhisper

import (
	"context"
	"errors"
	"iter"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"openclaw/byo"
	"openclaw/internal/assistant"
	"openclaw/internal/config"
	"openclaw/internal/model"
	"openclaw/internal/testkit"
	"openclaw/internal/turn"
)

// voices are models that answer with their own name, or fail.
type voices struct {
	fails map[string][]error // by model id, one for each call; then it answers

	mu    sync.Mutex
	asked []model.Request
}

type voice struct {
	*voices
	info model.Info
}

func (v voice) Stream(_ context.Context, req model.Request) iter.Seq2[model.Part, error] {
	return func(yield func(model.Part, error) bool) {
		v.mu.Lock()
		v.asked = append(v.asked, req)
		var err error
		if left := v.fails[v.info.Ref.ID]; len(left) > 0 {
			err, v.fails[v.info.Ref.ID] = left[0], left[1:]
		}
		v.mu.Unlock()
		if err != nil {
			yield(nil, err)
			return
		}
		a := model.NewAnswer()
		if yield(a.Text("from "+v.info.Ref.ID), nil) {
			yield(a.Done(v.info, turn.Usage{Input: 3, CacheRead: 4, Output: 5}, turn.StopEnd), nil)
		}
	}
}

// reasoner is the agent of a pairing over voices: two models may be chosen, no others.
func reasoner(t *testing.T, v *voices) *agent {
	t.Helper()
	c := open(t, `{agents:{defaults:{model:{primary:"mock/one",fallbacks:["mock/two"]},models:{"mock/one":{},"mock/two":{}}},list:[{id:"main"},{id:"`+OwnAgent(pairing)+`"}]}}`).Snapshot().Config
	provider := model.Provider{BaseURL: "http://127.0.0.1:1", APIKey: "k", API: model.APICompletions}
	for _, id := range []string{"one", "two"} {
		provider.Models = append(provider.Models, model.ProviderModel{ID: id})
	}
	models := model.NewDirectory(model.DirectoryConfig{Settings: func() model.Settings {
		return model.Settings{Primary: "mock/one", Fallbacks: []string{"mock/two"}, Allow: map[string]model.Params{"mock/one": {}, "mock/two": {}},
			Providers: map[string]model.Provider{"mock": provider}}
	}, Credentials: noKeys{}, Catalog: noModels{}, Families: map[model.API]model.Family{
		model.APICompletions: func(to model.Target) (model.Model, error) { return voice{v, to.Info}, nil },
	}})
	p := New(Config{Dir: t.TempDir(), Config: func() *config.Config { return c }, Env: func(string) string { return "" },
		Models: func(string) *model.Directory { return models }, Tools: func(string) []string { return []string{"read"} }, Log: testkit.Log(t)})
	return &agent{plugin: p, name: pairing, kind: "openclaw"}
}

func TestReason(t *testing.T) {
	busy := &model.Error{Kind: model.KindOverloaded, Status: 503, Text: "busy", RetryAfter: time.Millisecond}
	broke := &model.Error{Kind: model.KindBilling, Status: 402, Text: "no credit"}
	locked := &model.Error{Kind: model.KindAuth, Status: 401, Text: "wrong key"}
	tests := []struct {
		name  string
		fails map[string][]error
		named []string // by the jobs, one after the other
		want  string   // of the last; empty: it fails
		auth  bool
	}{
		{"the agent's own model", nil, []string{""}, "mock/one", false},
		{"the one that is named", nil, []string{"mock/two"}, "mock/two", false},
		{"the one that was named last", nil, []string{"mock/two", ""}, "mock/two", false},
		{"one that may not be chosen", nil, []string{"anthropic/claude-opus-4-5"}, "mock/one", false},
		{"one that does not exist", nil, []string{"nobody/nothing"}, "mock/one", false},
		{"a busy one is asked again", map[string][]error{"one": {busy, busy}}, []string{""}, "mock/one", false},
		{"a broken one has a fallback", map[string][]error{"one": {broke}}, []string{""}, "mock/two", false},
		{"all fail", map[string][]error{"one": {broke}, "two": {broke}}, []string{""}, "", false},
		{"no key", map[string][]error{"one": {locked}, "two": {locked}}, []string{""}, "", true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			v := &voices{fails: tt.fails}
			a := reasoner(t, v)
			var got assistant.Answer
			var err error
			for _, named := range tt.named {
				got, err = a.Reason(t.Context(), assistant.Question{ID: "j", Purpose: byo.PurposeLiveAnalysis, System: "look", Input: "{}", Model: named, MaxTokens: byo.MaxOutputTokens})
			}
			if got.ModelRef != tt.want || (err == nil) != (tt.want != "") || errors.Is(err, assistant.ErrAuth) != tt.auth {
				t.Errorf("Reason() = %q, %v, want %q", got.ModelRef, err, tt.want)
			}
		})
	}
}

// SW-45: a question has no tools, no session and no history, and a bounded answer.
func TestReasonIsApart(t *testing.T) {
	v := &voices{}
	a := reasoner(t, v)
	for range 2 {
		got, err := a.Reason(t.Context(), assistant.Question{ID: "j", System: "look", Input: "what they say", MaxTokens: byo.MaxOutputTokens})
		if err != nil || got.Text != "from one" || string(got.Usage) != `{"input_tokens":7,"output_tokens":5}` {
			t.Fatalf("Reason() = %+v, %v", got, err)
		}
	}
	for _, q := range v.asked {
		if len(q.Tools) != 0 || q.SessionID != "" || len(q.Messages) != 1 || q.Messages[0].Text() != "what they say" || q.System != "look" || q.MaxTokens > byo.MaxOutputTokens {
			t.Errorf("the model was asked %+v", q)
		}
	}
}

// SW-45: what desktops are shown of an agent.
func TestDescribe(t *testing.T) {
	got, err := reasoner(t, &voices{}).Describe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"mock/one", "mock/two"}, got.Models); diff != "" {
		t.Errorf("models (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"read"}, got.Tools); diff != "" || got.Agent.ProviderKind != "openclaw" {
		t.Errorf("agent %+v, tools (-want +got):\n%s", got.Agent, diff)
	}
}

// A pairing whose agent is gone is not answered by another.
func TestNoAgent(t *testing.T) {
	a := reasoner(t, &voices{})
	a.name = "99999999-3a38-4ec2-854a-693945810418"
	if _, err := a.Reason(t.Context(), assistant.Question{ID: "j"}); err == nil {
		t.Error("a job of a pairing without an agent is answered")
	}
	if err := a.Turn(t.Context(), chatTurn, func(assistant.Output) { t.Error("something is told") }); err == nil {
		t.Error("a turn of a pairing without an agent is run")
	}
}
