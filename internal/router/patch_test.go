package router_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"openclaw/internal/router"
	"openclaw/protocol"
)

func (b *bench) patch(p protocol.SessionsPatchParams) (router.PatchResult, error) {
	b.t.Helper()
	return b.router.PatchSession(b.t.Context(), p)
}

// Recorded in sessions: fields are set, cleared and shown.
func TestPatchSession(t *testing.T) {
	b := newBench(t)
	v := protocol.Value[string]
	res, err := b.patch(protocol.SessionsPatchParams{Key: "brand-new", Label: v(" New one ")})
	if err != nil {
		t.Fatal(err)
	}
	if res.Key != "agent:main:brand-new" || res.Path != b.store.Path() || res.Model.String() != "mock/one" {
		t.Errorf("PatchSession() = %+v", res)
	}
	if diff := cmp.Diff([]string{"label", "sessionId", "updatedAt"}, sortedKeys(fields(t, res.Entry))); diff != "" || res.Entry.Label != "New one" {
		t.Errorf("label %q, fields of a new entry (-want +got):\n%s", res.Entry.Label, diff)
	}
	res, err = b.patch(protocol.SessionsPatchParams{Key: "brand-new", ThinkingLevel: v("LOW"), VerboseLevel: v("full"), ReasoningLevel: v("on"),
		ElevatedLevel: v("ask"), ResponseUsage: v("on"), SendPolicy: v("deny"), GroupActivation: v("always"), ExecHost: v("node"),
		ExecSecurity: v("allowlist"), ExecAsk: v("on-miss"), ExecNode: v("pi"), Model: v("other/thing")})
	e := res.Entry
	if err != nil || e.ThinkingLevel != "low" || e.VerboseLevel != "full" || e.ReasoningLevel != "on" || e.ElevatedLevel != "ask" ||
		e.ResponseUsage != "tokens" || e.SendPolicy != "deny" || e.GroupActivation != "always" || e.ExecHost != "node" ||
		e.ExecSecurity != "allowlist" || e.ExecAsk != "on-miss" || e.ExecNode != "pi" || e.ProviderOverride != "other" || e.ModelOverride != "thing" {
		t.Errorf("patched entry = %+v, %v", e, err)
	}
	if res.Model.String() != "other/thing" {
		t.Errorf("resolved model = %v, want other/thing", res.Model)
	}
	n := protocol.Null[string]()
	res, err = b.patch(protocol.SessionsPatchParams{Key: "brand-new", Label: n, ThinkingLevel: n, VerboseLevel: n, ReasoningLevel: n, ElevatedLevel: n,
		ResponseUsage: n, SendPolicy: n, GroupActivation: n, ExecHost: n, ExecSecurity: n, ExecAsk: n, ExecNode: n, Model: n, SpawnedBy: n})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"sessionId", "updatedAt"}, sortedKeys(fields(t, res.Entry))); diff != "" {
		t.Errorf("cleared entry (-want +got):\n%s", diff)
	}
}

// Values that stand for "no override".
func TestPatchDefaults(t *testing.T) {
	b := newBench(t)
	v := protocol.Value[string]
	res, err := b.patch(protocol.SessionsPatchParams{Key: "k", ThinkingLevel: v("off"), ReasoningLevel: v("off"), ResponseUsage: v("off"), Model: v("mock/one")})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"sessionId", "updatedAt"}, sortedKeys(fields(t, res.Entry))); diff != "" {
		t.Errorf("entry (-want +got):\n%s", diff)
	}
	res, _ = b.patch(protocol.SessionsPatchParams{Key: "k", VerboseLevel: v("off"), ElevatedLevel: v("off")})
	if res.Entry.VerboseLevel != "off" || res.Entry.ElevatedLevel != "off" {
		t.Errorf("entry = %+v, want off stored for verbose and elevated", res.Entry)
	}
}

func TestPatchRefusals(t *testing.T) {
	b := newBench(t)
	v, n := protocol.Value[string], protocol.Null[string]()
	if _, err := b.patch(protocol.SessionsPatchParams{Key: "other", Label: v("Bee")}); err != nil {
		t.Fatal(err)
	}
	if _, err := b.patch(protocol.SessionsPatchParams{Key: "subagent:x", SpawnedBy: v("agent:main:main")}); err != nil {
		t.Fatal(err)
	}
	b.configure(strings.Replace(baseConfig, `userTimezone: "UTC"`, `userTimezone: "UTC", models: { "mock/one": {}, "openai/gpt-5.2": {} }`, 1))
	tests := []struct {
		name string
		p    protocol.SessionsPatchParams
		want string
	}{
		{"thinking", protocol.SessionsPatchParams{ThinkingLevel: v("enormous")}, "invalid thinkingLevel (use off|minimal|low|medium|high)"},
		{"xhigh", protocol.SessionsPatchParams{ThinkingLevel: v("xhigh")}, `thinkingLevel "xhigh" is not supported by mock/one (use off|minimal|low|medium|high)`},
		{"verbose", protocol.SessionsPatchParams{VerboseLevel: v("loud")}, "invalid verboseLevel (use on|off|full)"},
		{"reasoning", protocol.SessionsPatchParams{ReasoningLevel: v("loud")}, "invalid reasoningLevel (use on|off|stream)"},
		{"elevated", protocol.SessionsPatchParams{ElevatedLevel: v("high")}, "invalid elevatedLevel (use on|off|ask|full)"},
		{"host", protocol.SessionsPatchParams{ExecHost: v("moon")}, "invalid execHost (use sandbox|gateway|node)"},
		{"security", protocol.SessionsPatchParams{ExecSecurity: v("none")}, "invalid execSecurity (use deny|allowlist|full)"},
		{"ask", protocol.SessionsPatchParams{ExecAsk: v("maybe")}, "invalid execAsk (use off|on-miss|always)"},
		{"node", protocol.SessionsPatchParams{ExecNode: v("  ")}, "invalid execNode: empty"},
		{"label in use", protocol.SessionsPatchParams{Label: v("Bee")}, "label already in use: Bee"},
		{"blank label", protocol.SessionsPatchParams{Label: v("  ")}, "invalid label: empty"},
		{"spawnedBy", protocol.SessionsPatchParams{SpawnedBy: v("agent:main:main")}, "spawnedBy is only supported for subagent:* sessions"},
		{"spawnedBy changed", protocol.SessionsPatchParams{Key: "subagent:x", SpawnedBy: v("agent:main:b")}, "spawnedBy cannot be changed once set"},
		{"spawnedBy cleared", protocol.SessionsPatchParams{Key: "subagent:x", SpawnedBy: n}, "spawnedBy cannot be cleared once set"},
		{"model", protocol.SessionsPatchParams{Model: v("nobody/nothing")},
			"model nobody/nothing is not allowed; add it to agents.defaults.models or choose one that is listed there"},
		{"agent", protocol.SessionsPatchParams{Key: "agent:other:x"}, `unknown agent id "other"`},
	}
	for _, tt := range tests {
		if tt.p.Key == "" {
			tt.p.Key = "refused"
		}
		_, err := b.patch(tt.p)
		if refused := (*router.Error)(nil); !errors.As(err, &refused) || refused.Text != tt.want {
			t.Errorf("%s: PatchSession() = %v, want %q", tt.name, err, tt.want)
		}
	}
	if _, ok := b.store.Get("agent:main:refused"); ok {
		t.Error("a refused change made a session")
	}
}

// RT-044: xhigh follows the model.
func TestPatchXHigh(t *testing.T) {
	b := newBench(t)
	v := protocol.Value[string]
	res, err := b.patch(protocol.SessionsPatchParams{Key: "k", Model: v("openai/gpt-5.2"), ThinkingLevel: v("x-high")})
	if err != nil || res.Entry.ThinkingLevel != "xhigh" {
		t.Errorf("PatchSession() = %+v, %v, want xhigh", res.Entry, err)
	}
	res, err = b.patch(protocol.SessionsPatchParams{Key: "k", Model: protocol.Null[string]()})
	if err != nil || res.Entry.ThinkingLevel != "high" {
		t.Errorf("after the switch = %q, %v, want high", res.Entry.ThinkingLevel, err)
	}
}

// Recorded in sessions: what a reset keeps. What runs is stopped.
func TestResetSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.stage.play = until(time.Hour)
		v := protocol.Value[string]
		if _, err := b.patch(protocol.SessionsPatchParams{Key: "k", VerboseLevel: v("on"), Label: v("L")}); err != nil {
			t.Fatal(err)
		}
		running := b.chat("one", "k", "work").Run
		synctest.Wait()
		old := b.entry("agent:main:k")
		key, e, err := b.router.ResetSession(context.Background(), "K")
		if err != nil || key != "agent:main:k" || e.SessionID == old.SessionID || e.VerboseLevel != old.VerboseLevel || e.Label != "L" ||
			*e.TotalTokens != 0 || *e.InputTokens != 0 || *e.SystemSent || *e.AbortedLastRun {
			t.Errorf("ResetSession() = %s, %+v, %v", key, e, err)
		}
		if out, _ := finished(t, running); !out.Meta.Aborted {
			t.Error("the run of the old session went on")
		}
		if diff := cmp.Diff(e, b.entry(key)); diff != "" {
			t.Errorf("stored entry (-want +got):\n%s", diff)
		}
		_, e, err = b.router.ResetSession(context.Background(), "nothing")
		if err != nil || e.SessionID == "" {
			t.Errorf("reset of an unknown session = %+v, %v", e, err)
		}
	})
}
