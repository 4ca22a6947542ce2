package router_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"openclaw/internal/router"
	"openclaw/internal/run"
	"openclaw/internal/session"
	"openclaw/protocol"
)

func params(id, message, key string) protocol.AgentParams {
	return protocol.AgentParams{IdempotencyKey: id, Message: message, SessionKey: key}
}

// RT-064: accepted, then the result; the run id is the key.
func TestRT064Agent(t *testing.T) {
	b := newBench(t)
	b.stage.play = func(context.Context, run.Request) (run.Outcome, error) {
		return run.Outcome{Payloads: []run.Payload{{Text: "hi"}}}, nil
	}
	p := params("idem-1", "hello", "agent:main:Demo")
	p.ExtraSystemPrompt, p.Thinking, p.Timeout, p.Lane = "extra", "high", new(int64(5)), "nested"
	r := b.agent(p)
	if r.ID() != "idem-1" || r.SessionKey() != "agent:main:demo" || r.AcceptedAt().IsZero() {
		t.Errorf("run = %s in %q accepted at %v", r.ID(), r.SessionKey(), r.AcceptedAt())
	}
	out, err := finished(t, r)
	if err != nil || len(out.Payloads) != 1 || out.Payloads[0].Text != "hi" {
		t.Errorf("Result() = %+v, %v", out, err)
	}
	got := b.stage.requests()[0]
	if !regexp.MustCompile(`^\[\w{3} \d{4}-\d\d-\d\d \d\d:\d\d UTC\] hello$`).MatchString(got.Prompt) {
		t.Errorf("prompt = %q, want it stamped", got.Prompt)
	}
	got.Prompt = ""
	want := run.Request{ID: "idem-1", AgentID: "main", SessionKey: "agent:main:demo", EventKey: "agent:main:Demo",
		SessionID: got.SessionID, ExtraSystemPrompt: "extra", Thinking: "high", Timeout: 5 * time.Second, Lane: "nested", NewSession: true}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("request (-want +got):\n%s", diff)
	}
	// The entry of an agent call holds no more than recorded.
	if diff := cmp.Diff([]string{"sessionId", "updatedAt"}, sortedKeys(fields(t, b.entry("agent:main:demo")))); diff != "" {
		t.Errorf("entry fields (-want +got):\n%s", diff)
	}
	// The next call finds the session as it is, however old.
	if _, err := b.store.Update(t.Context(), "agent:main:demo", func(e *session.Entry) error { e.UpdatedAt = 1; return nil }); err != nil {
		t.Fatal(err)
	}
	id := b.entry("agent:main:demo").SessionID
	<-b.agent(params("idem-2", "again", "demo")).Done()
	if got := b.stage.requests()[1]; got.SessionID != id || got.NewSession || got.EventKey != "demo" {
		t.Errorf("second request = %+v, want session %s", got, id)
	}
}

func sortedKeys(m map[string]json.RawMessage) []string {
	var list []string
	for _, k := range []string{"abortedLastRun", "channel", "chatType", "compactionCount", "deliveryContext", "groupId", "label", "lastChannel",
		"modelOverride", "origin", "providerOverride", "sessionFile", "sessionId", "spawnedBy", "systemSent", "updatedAt"} {
		if _, ok := m[k]; ok {
			list = append(list, k)
			delete(m, k)
		}
	}
	for k := range m {
		list = append(list, "unexpected "+k)
	}
	return list
}

// RT-064: what is refused is refused before it is accepted, in recorded words.
func TestRT064Refusals(t *testing.T) {
	b := newBench(t)
	b.configure(strings.Replace(baseConfig, "models: {", `session: { sendPolicy: { rules: [{ action: "deny", match: { keyPrefix: "agent:main:locked" } }] } }, models: {`, 1))
	tests := []struct {
		name string
		p    protocol.AgentParams
		want string
	}{
		{"agent", protocol.AgentParams{AgentID: "nobody"}, `invalid agent params: unknown agent id "nobody"`},
		{"channel", protocol.AgentParams{Channel: "carrier-pigeon", SessionKey: "main"}, "invalid agent params: unknown channel: carrier-pigeon"},
		{"reply channel", protocol.AgentParams{ReplyChannel: "carrier-pigeon", SessionKey: "main"}, "invalid agent params: unknown channel: carrier-pigeon"},
		{"channel before agent", protocol.AgentParams{Channel: "x", AgentID: "nobody"}, "invalid agent params: unknown channel: x"},
		{"mismatch", protocol.AgentParams{AgentID: "main", SessionKey: "agent:other:main"},
			`invalid agent params: agent "main" does not match session key agent "other"`},
		{"agent of the key", protocol.AgentParams{SessionKey: "agent:other:main"}, `invalid agent params: unknown agent id "other"`},
		{"reserved key", protocol.AgentParams{SessionKey: "unknown"}, `invalid agent params: invalid session key "unknown"`},
		{"policy", protocol.AgentParams{SessionKey: "locked-1"}, "send blocked by session policy"},
		{"thinking", protocol.AgentParams{SessionKey: "main", Thinking: "enormous"},
			`invalid agent params: unknown thinking level "enormous" (use off|minimal|low|medium|high)`},
		{"attachment", protocol.AgentParams{SessionKey: "main", Attachments: []json.RawMessage{[]byte(`{"fileName":"a.png","content":"%%%"}`)}},
			"attachment a.png: invalid base64 content"},
	}
	for _, tt := range tests {
		tt.p.Message, tt.p.IdempotencyKey = "hi", "id-"+tt.name
		_, err := b.router.Agent(t.Context(), router.AgentRequest{AgentParams: tt.p})
		var refused *router.Error
		if !errors.As(err, &refused) || refused.Text != tt.want {
			t.Errorf("%s: Agent() = %v, want %q", tt.name, err, tt.want)
		}
	}
	if n := len(b.stage.requests()); n != 0 {
		t.Errorf("%d refused requests ran", n)
	}
	for _, ok := range []string{"whatsapp", "last", "WebChat", " telegram "} {
		p := params("ok-"+ok, "hi", "main")
		p.Channel = ok
		b.agent(p)
	}
}

// Where requests go that name no key.
func TestAgentTargets(t *testing.T) {
	b := newBench(t)
	<-b.agent(params("seed", "hi", "agent:main:known")).Done()
	known := b.entry("agent:main:known").SessionID
	tests := []struct {
		name          string
		p             protocol.AgentParams
		key, eventKey string
		agent         string
		sessionID     string
	}{
		{"agent id", protocol.AgentParams{AgentID: "Work"}, "agent:work:main", "agent:work:main", "work", ""},
		{"bare key", protocol.AgentParams{SessionKey: "main"}, "agent:main:main", "main", "main", ""},
		{"recipient", protocol.AgentParams{To: "+49151"}, "agent:main:main", "agent:main:main", "main", ""},
		{"new session id", protocol.AgentParams{SessionID: "by-id-1"}, "", "", "main", "by-id-1"},
		{"known session id", protocol.AgentParams{SessionID: known}, "agent:main:known", "", "main", known},
	}
	for _, tt := range tests {
		tt.p.Message, tt.p.IdempotencyKey = "hi", "id-"+tt.name
		<-b.agent(tt.p).Done()
		got := b.stage.requests()[len(b.stage.requests())-1]
		if got.SessionKey != tt.key || got.EventKey != tt.eventKey || got.AgentID != tt.agent || tt.sessionID != "" && got.SessionID != tt.sessionID {
			t.Errorf("%s: request = key %q, event key %q, agent %q, session %q", tt.name, got.SessionKey, got.EventKey, got.AgentID, got.SessionID)
		}
	}
}

// Recorded: a request without any target is accepted and then fails.
func TestAgentNoTarget(t *testing.T) {
	b := newBench(t)
	r := b.agent(protocol.AgentParams{IdempotencyKey: "none", Message: "hi"})
	_, err := finished(t, r)
	want := "Error: Pass --to <E.164>, --session-id, or --agent to choose a session"
	if err == nil || err.Error() != want {
		t.Errorf("Result() error = %v, want %q", err, want)
	}
	if snap, ok := b.router.Wait(t.Context(), "none", 0); !ok || snap.Error != want {
		t.Errorf("Wait() = %+v, %v, want the error", snap, ok)
	}
	if len(b.seen()) != 0 || len(b.stage.requests()) != 0 {
		t.Error("a request without a target ran or sent events")
	}
}

func TestAgentSessionFields(t *testing.T) {
	b := newBench(t)
	if _, err := b.store.Update(t.Context(), "agent:main:main", func(e *session.Entry) error {
		e.SessionID, e.GroupID, e.GroupChannel = "parent", "g1", "#room"
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	p := params("id", "hi", "agent:main:subagent:x")
	p.Label, p.SpawnedBy, p.Channel = " Bee ", "agent:main:main", "telegram"
	<-b.agent(p).Done()
	e := b.entry("agent:main:subagent:x")
	if e.Label != "Bee" || e.SpawnedBy != "agent:main:main" || e.GroupID != "g1" || e.GroupChannel != "#room" || e.Channel != "telegram" {
		t.Errorf("entry = %+v", e)
	}
	p = params("id2", "hi", "agent:main:other")
	p.Label = "Bee"
	_, err := b.router.Agent(t.Context(), router.AgentRequest{AgentParams: p})
	if err == nil || err.Error() != "label already in use: Bee" {
		t.Errorf("a label in use gave %v", err)
	}
}

func TestAgentModel(t *testing.T) {
	b := newBench(t)
	p := params("id", "hi", "main")
	p.Provider, p.Model = "mock", "two"
	<-b.agent(p).Done()
	if got := b.stage.requests()[0]; got.Provider != "mock" || got.Model != "two" {
		t.Errorf("model = %s/%s, want mock/two", got.Provider, got.Model)
	}
	if e := b.entry("agent:main:main"); e.ModelOverride != "" {
		t.Error("the model of one run was stored in the session")
	}
}

// An id that is in use is refused, whoever uses it.
func TestAgentIDInUse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.stage.play = until(time.Second)
		b.agent(params("same", "hi", "a"))
		_, err := b.router.Agent(t.Context(), router.AgentRequest{AgentParams: params("same", "hi", "b")})
		if refused := (*router.Error)(nil); !errors.As(err, &refused) {
			t.Errorf("second use of an id = %v, want it refused", err)
		}
	})
}

// RT-050: one run at a time for a session, in order; four at a time in all.
func TestRT050Lanes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.stage.play = until(time.Second)
		began := time.Now()
		var all []*router.Run
		for i := range 5 {
			all = append(all, b.agent(params(fmt.Sprint("one-", i), fmt.Sprint(i), "one")))
		}
		for _, r := range all {
			<-r.Done()
		}
		if got := time.Since(began); got != 5*time.Second {
			t.Errorf("five runs of one session took %v, want 5s", got)
		}
		if diff := cmp.Diff([]string{"0", "1", "2", "3", "4"}, b.stage.prompts()); diff != "" {
			t.Errorf("order (-want +got):\n%s", diff)
		}
		if b.stage.peak != 1 {
			t.Errorf("%d runs of one session at once", b.stage.peak)
		}

		began = time.Now()
		all = nil
		for i := range 12 {
			all = append(all, b.agent(params(fmt.Sprint("many-", i), "x", fmt.Sprint("s", i))))
		}
		for _, r := range all {
			<-r.Done()
		}
		if got := time.Since(began); got != 3*time.Second || b.stage.peak != 4 {
			t.Errorf("twelve sessions took %v with %d at once, want 3s with 4", got, b.stage.peak)
		}
	})
}

// RT-065: a timeout stops nothing; endings are remembered ten minutes.
func TestRT065Wait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.stage.play = until(700 * time.Millisecond)
		began := time.Now()
		r := b.agent(params("w", "hi", "main"))
		if _, ok := b.router.Wait(t.Context(), "w", 100*time.Millisecond); ok || time.Since(began) != 100*time.Millisecond {
			t.Errorf("Wait too short = %v after %v", ok, time.Since(began))
		}
		snap, ok := b.router.Wait(t.Context(), "w", 10*time.Second)
		if !ok || time.Since(began) != 700*time.Millisecond || !snap.StartedAt.Equal(began) || !snap.EndedAt.Equal(time.Now()) || snap.Error != "" {
			t.Errorf("Wait = %+v, %v after %v", snap, ok, time.Since(began))
		}
		<-r.Done()
		if again, ok := b.router.Wait(t.Context(), "w", time.Second); !ok || again != snap {
			t.Errorf("Wait after the end = %+v, %v, want the same", again, ok)
		}
		began = time.Now()
		if _, ok := b.router.Wait(t.Context(), "no-such-run", 200*time.Millisecond); ok || time.Since(began) != 200*time.Millisecond {
			t.Errorf("Wait for an unknown run = %v after %v, want to wait the whole time", ok, time.Since(began))
		}
		if _, ok := b.router.Wait(t.Context(), "no-such-run", 0); ok {
			t.Error("Wait without time for an unknown run = true")
		}
		time.Sleep(10*time.Minute + time.Second)
		if _, ok := b.router.Wait(t.Context(), "w", 0); ok {
			t.Error("the ending is remembered after ten minutes")
		}
	})
}

// A run that is heard of later than the one who waits for it.
func TestWaitBeforeStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		time.AfterFunc(time.Second, func() { b.agent(params("later", "hi", "main")) })
		if _, ok := b.router.Wait(t.Context(), "later", 5*time.Second); !ok {
			t.Error("Wait did not hear of a run that started meanwhile")
		}
	})
}

func TestFailedRun(t *testing.T) {
	b := newBench(t)
	b.stage.play = func(context.Context, run.Request) (run.Outcome, error) { return run.Outcome{}, errors.New("no key") }
	r := b.agent(params("f", "hi", "main"))
	if _, err := finished(t, r); err == nil || err.Error() != "no key" {
		t.Errorf("Result() = %v", err)
	}
	if snap, ok := b.router.Wait(t.Context(), "f", time.Second); !ok || snap.Error != "no key" {
		t.Errorf("Wait() = %+v, %v", snap, ok)
	}
}

func TestAttachments(t *testing.T) {
	png := base64.StdEncoding.EncodeToString([]byte("\x89PNG\r\n\x1a\n0000"))
	big := base64.StdEncoding.EncodeToString(make([]byte, 5_000_001))
	tests := []struct {
		name, in string
		want     []string // mime types
		err      string
	}{
		{"bare", `{"content":"` + png + `","mimeType":"image/gif"}`, []string{"image/png"}, ""},
		{"data url", `{"content":"data:image/jpeg;base64,` + png + `"}`, []string{"image/png"}, ""},
		{"no content", `{"fileName":"x"}`, nil, ""},
		{"null content", `{"content":null}`, nil, ""},
		{"no image", `{"content":"aGVsbG8="}`, nil, ""},
		{"not a string", `{"fileName":"x.png","content":7}`, nil, "attachment x.png: content must be base64 string"},
		{"type as label", `{"type":"image","content":"%"}`, nil, "attachment image: invalid base64 content"},
		{"no label", `{"content":"%"}`, nil, "attachment attachment-2: invalid base64 content"},
		{"data url without base64", `{"content":"data:text/plain,hi"}`, nil, "attachment attachment-2: invalid base64 content"},
		{"too big", `{"fileName":"big","content":"` + big + `"}`, nil, "attachment big: exceeds size limit (5000001 > 5000000 bytes)"},
	}
	for _, tt := range tests {
		b := newBench(t)
		p := params("id", "hi", "main")
		p.Attachments = []json.RawMessage{[]byte(`{}`), []byte(tt.in)}
		r, err := b.router.Agent(t.Context(), router.AgentRequest{AgentParams: p})
		if tt.err != "" {
			if err == nil || err.Error() != tt.err {
				t.Errorf("%s: Agent() = %v, want %q", tt.name, err, tt.err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: Agent() = %v", tt.name, err)
			continue
		}
		<-r.Done()
		var mimes []string
		for _, img := range b.stage.requests()[0].Images {
			mimes = append(mimes, img.MimeType)
		}
		if diff := cmp.Diff(tt.want, mimes); diff != "" {
			t.Errorf("%s: images (-want +got):\n%s", tt.name, diff)
		}
	}
}

// A surface that must not change what was said: no time in front, no words read as a
// command. Others get the time.
func TestAgentPlain(t *testing.T) {
	b := newBench(t)
	p := params("plain", "/approve 1 always", "main")
	p.Channel = "stagewhisper"
	r, err := b.router.Agent(t.Context(), router.AgentRequest{AgentParams: p, Plain: true})
	if err != nil {
		t.Fatal(err)
	}
	<-r.Done()
	<-b.agent(params("stamped", "/approve 1 always", "main")).Done()
	got := b.stage.requests()
	if got[0].Prompt != "/approve 1 always" || got[0].Channel != "stagewhisper" {
		t.Errorf("plain request = %q on %q", got[0].Prompt, got[0].Channel)
	}
	if !strings.HasPrefix(got[1].Prompt, "[") || !strings.HasSuffix(got[1].Prompt, "] /approve 1 always") {
		t.Errorf("other request = %q, want the time in front", got[1].Prompt)
	}
}

// New sessions get keys that can be listed; what is stored already is not locked out.
func TestNewKeys(t *testing.T) {
	b := newBench(t)
	long := "agent:main:" + strings.Repeat("k", 502)
	for key, want := range map[string]string{
		long:                   "invalid agent params: session key has 513 bytes, want at most 512",
		"agent:main:a\nb":      `invalid agent params: session key "agent:main:a\nb" must not hold control characters`,
		"agent:main:\u001b[2J": `invalid agent params: session key "agent:main:\x1b[2j" must not hold control characters`,
	} {
		_, err := b.router.Agent(t.Context(), router.AgentRequest{AgentParams: params("new-"+key[:12], "hi", key)})
		var refused *router.Error
		if !errors.As(err, &refused) || refused.Text != want {
			t.Errorf("%.20q: Agent() = %v, want %q", key, err, want)
		}
		if _, err := b.router.PatchSession(t.Context(), protocol.SessionsPatchParams{Key: key}); !errors.As(err, &refused) {
			t.Errorf("%.20q: PatchSession() = %v, want a refusal", key, err)
		}
		if _, err := b.store.Update(t.Context(), key, func(e *session.Entry) error { e.SessionID = session.NewID(); return nil }); err != nil {
			t.Fatal(err)
		}
		if _, err := b.router.Agent(t.Context(), router.AgentRequest{AgentParams: params("known-"+key[:12], "hi", key)}); err != nil && !strings.Contains(key, "\x1b") {
			t.Errorf("%.20q: a session that is stored is refused: %v", key, err)
		}
	}
	if _, err := b.router.Agent(t.Context(), router.AgentRequest{AgentParams: params("fits", "hi", long[:512])}); err != nil {
		t.Errorf("a key of 512 bytes is refused: %v", err)
	}
}
