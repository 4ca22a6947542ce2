package router_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"openclaw/internal/router"
	"openclaw/internal/run"
	"openclaw/internal/session"
	"openclaw/internal/turn"
	"openclaw/protocol"
)

// seed gives a session a transcript of some turns.
func (b *bench) seed(key string, turns int) session.Entry {
	b.t.Helper()
	e, err := b.store.Update(b.t.Context(), key, func(e *session.Entry) error {
		if e.SessionID == "" {
			e.SessionID = session.NewID()
		}
		e.InputTokens, e.TotalTokens = new(10), new(10)
		return nil
	})
	if err != nil {
		b.t.Fatal(err)
	}
	tr, err := b.store.OpenTranscript(b.t.Context(), session.TranscriptOptions{SessionID: e.SessionID})
	if err != nil {
		b.t.Fatal(err)
	}
	for range turns {
		for _, m := range []turn.Message{turn.User("question", time.Now()), {Role: turn.RoleAssistant, Content: turn.Text("answer"), StopReason: turn.StopEnd, Timestamp: 1}} {
			if _, err := tr.Append(m); err != nil {
				b.t.Fatal(err)
			}
		}
	}
	if err := tr.Close(); err != nil {
		b.t.Fatal(err)
	}
	return e
}

// refused returns the text of a refusal; anything else fails the test.
func refused(t testing.TB, err error) string {
	t.Helper()
	var e *router.Error
	if !errors.As(err, &e) {
		t.Fatalf("error = %v, want a refusal", err)
	}
	return e.Text
}

func TestDeleteSession(t *testing.T) {
	b := newBench(t)
	e := b.seed("agent:main:old", 2)
	got, err := b.router.DeleteSession(t.Context(), "Old", false)
	if err != nil || !got.Deleted || got.Key != "agent:main:old" || len(got.Archived) != 1 {
		t.Fatalf("DeleteSession = %+v, %v, want it deleted with one archive", got, err)
	}
	if want := b.store.TranscriptPath(e) + ".deleted."; !strings.HasPrefix(got.Archived[0], want) || strings.Contains(filepath.Base(got.Archived[0]), ":") {
		t.Errorf("archive = %s, want %s<time without colons>", got.Archived[0], want)
	}
	if _, err := os.Stat(b.store.TranscriptPath(e)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("transcript after the deletion: %v, want it gone", err)
	}
	if _, ok := b.store.Get("agent:main:old"); ok {
		t.Error("the entry is still there")
	}
	again, err := b.router.DeleteSession(t.Context(), "old", false)
	if diff := cmp.Diff(router.DeleteResult{Key: "agent:main:old", Archived: []string{}}, again); err != nil || diff != "" {
		t.Errorf("second DeleteSession: %v (-want +got):\n%s", err, diff)
	}

	kept := b.seed("agent:main:kept", 1)
	if got, err := b.router.DeleteSession(t.Context(), "kept", true); err != nil || !got.Deleted || len(got.Archived) != 0 {
		t.Errorf("DeleteSession with its transcript kept = %+v, %v", got, err)
	}
	if _, err := os.Stat(b.store.TranscriptPath(kept)); err != nil {
		t.Errorf("transcript that was to be kept: %v", err)
	}
	for key, want := range map[string]string{
		"main":            "Cannot delete the main session (agent:main:main).",
		"agent:main:Main": "Cannot delete the main session (agent:main:main).",
		"agent:nobody:x":  `unknown agent id "nobody"`,
	} {
		if _, err := b.router.DeleteSession(t.Context(), key, false); refused(t, err) != want {
			t.Errorf("DeleteSession(%s) = %v, want %q", key, err, want)
		}
	}
	b.configure(strings.Replace(baseConfig, "agents:", `session: { scope: "global" }, agents:`, 1))
	if _, err := b.router.DeleteSession(t.Context(), "main", false); refused(t, err) != "Cannot delete the main session (global)." {
		t.Errorf("DeleteSession(main) with one session for all = %v", err)
	}
}

// What runs or waits in a session, and in its subagents, is stopped before the
// session goes; what comes meanwhile waits.
func TestDeleteSessionStopsRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.stage.play = until(time.Hour)
		if _, err := b.store.Update(t.Context(), "agent:main:subagent:kid", func(e *session.Entry) error {
			e.SessionID, e.SpawnedBy = "kid", "agent:main:busy"
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		one, kid := b.agent(params("one", "work", "busy")), b.agent(params("kid", "work", "agent:main:subagent:kid"))
		other := b.agent(params("other", "work", "elsewhere"))
		queued := b.chat("two", "busy", "next").Run
		synctest.Wait()
		got, err := b.router.DeleteSession(t.Context(), "busy", false)
		if err != nil || !got.Deleted {
			t.Fatalf("DeleteSession = %+v, %v, want it deleted", got, err)
		}
		for _, r := range []*router.Run{one, kid, queued} {
			if out, err := finished(t, r); err != nil || !out.Meta.Aborted {
				t.Errorf("run %s ended with %+v, %v, want it aborted", r.ID(), out.Meta, err)
			}
		}
		if !b.router.Busy(other.ID()) {
			t.Error("a run of another session was stopped")
		}
		if _, ok := b.store.Get("agent:main:busy"); ok {
			t.Error("the session came back")
		}
		b.router.Stop("elsewhere", run.AbortRPC)
	})
}

// A run that does not end keeps its session from being changed.
func TestSessionStaysBusy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		stubborn := make(chan struct{})
		b.stage.play = func(ctx context.Context, _ run.Request) (run.Outcome, error) {
			<-ctx.Done()
			<-stubborn
			return run.Outcome{}, nil
		}
		b.chat("one", "busy", "work")
		synctest.Wait()
		began := time.Now()
		_, err := b.router.DeleteSession(t.Context(), "busy", false)
		var busy *router.BusyError
		if !errors.As(err, &busy) || err.Error() != "Session agent:main:busy is still active; try again in a moment." {
			t.Errorf("DeleteSession of a busy session = %v", err)
		}
		if took := time.Since(began); took != 15*time.Second {
			t.Errorf("DeleteSession gave up after %v, want 15 s", took)
		}
		if _, ok := b.store.Get("agent:main:busy"); !ok {
			t.Error("the busy session is gone")
		}
		close(stubborn)
		if got, err := b.router.DeleteSession(t.Context(), "busy", false); err != nil || !got.Deleted {
			t.Errorf("DeleteSession at rest = %+v, %v", got, err)
		}
	})
}

func TestCompactSession(t *testing.T) {
	b := newBench(t)
	if got, err := b.router.CompactSession(t.Context(), "none", 4); err != nil || got != (router.CompactResult{Key: "agent:main:none", Reason: "no sessionId"}) {
		t.Errorf("CompactSession of nothing = %+v, %v", got, err)
	}
	if _, err := b.store.Update(t.Context(), "agent:main:fresh", func(e *session.Entry) error { e.SessionID = "fresh"; return nil }); err != nil {
		t.Fatal(err)
	}
	if got, err := b.router.CompactSession(t.Context(), "fresh", 4); err != nil || got != (router.CompactResult{Key: "agent:main:fresh", Reason: "no transcript"}) {
		t.Errorf("CompactSession without a transcript = %+v, %v", got, err)
	}
	b.seed("agent:main:long", 300)
	got, err := b.router.CompactSession(t.Context(), "long", 0)
	if err != nil || !got.Compacted || got.Kept != 400 || !strings.Contains(got.Archived, ".jsonl.bak.") {
		t.Fatalf("CompactSession = %+v, %v, want 400 lines kept", got, err)
	}
	if e := b.entry("agent:main:long"); e.TotalTokens != nil || e.InputTokens != nil {
		t.Errorf("token counts after compaction = %v, %v, want none", e.TotalTokens, e.InputTokens)
	}
	if got, err = b.router.CompactSession(t.Context(), "long", 400); err != nil || got != (router.CompactResult{Key: "agent:main:long", Kept: 400}) {
		t.Errorf("second CompactSession = %+v, %v", got, err)
	}
}

// Compaction lets the run that is under way finish.
func TestCompactSessionWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.seed("agent:main:long", 10)
		b.stage.play = until(3 * time.Second)
		r := b.agent(params("one", "work", "long"))
		synctest.Wait()
		got, err := b.router.CompactSession(t.Context(), "long", 4)
		if err != nil || !got.Compacted {
			t.Errorf("CompactSession = %+v, %v", got, err)
		}
		if out, err := finished(t, r); err != nil || out.Meta.Aborted {
			t.Errorf("run ended with %+v, %v, want it finished", out.Meta, err)
		}
	})
}

func TestInjectMessage(t *testing.T) {
	b := newBench(t)
	e := b.seed("agent:main:main", 1)
	id, m, err := b.router.InjectMessage(t.Context(), "main", " note ", "hello")
	if err != nil || len(id) != 8 || m.Text() != "[note]\n\nhello" || m.StopReason != turn.StopInjected {
		t.Fatalf("InjectMessage = %q, %+v, %v", id, m, err)
	}
	data, err := os.ReadFile(b.store.TranscriptPath(e))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	var line struct {
		Type, ID, ParentID, Timestamp string
		Message                       struct {
			Role, StopReason string
			Content          []struct{ Type, Text string }
			Usage            map[string]any
		}
	}
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &line); err != nil {
		t.Fatal(err)
	}
	if line.Type != "message" || line.ID != id || line.ParentID == "" || line.Message.Role != "assistant" ||
		line.Message.StopReason != "injected" || line.Message.Content[0].Text != "[note]\n\nhello" || line.Message.Usage["totalTokens"] != 0.0 {
		t.Errorf("line = %s", lines[len(lines)-1])
	}
	if _, err := b.store.Update(t.Context(), "agent:main:fresh", func(e *session.Entry) error { e.SessionID = "fresh"; return nil }); err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]string{
		"fresh": "transcript file not found", "none": "session not found", "agent:nobody:x": "session not found", "unknown": "session not found",
	} {
		if _, _, err := b.router.InjectMessage(t.Context(), key, "", "x"); refused(t, err) != want {
			t.Errorf("InjectMessage into %s = %v, want %q", key, err, want)
		}
	}
}

func TestResolveSession(t *testing.T) {
	b := newBench(t)
	for key, e := range map[string]session.Entry{
		"agent:main:one":           {SessionID: "id-1", Label: "First"},
		"agent:main:subagent:kid":  {SessionID: "id-2", SpawnedBy: "agent:main:one"},
		"global":                   {SessionID: "id-3"},
		"agent:main:twice":         {SessionID: "id-4"},
		"agent:main:twice-as-well": {SessionID: "id-5"},
	} {
		if _, err := b.store.Update(t.Context(), key, func(into *session.Entry) error { *into = e; return nil }); err != nil {
			t.Fatal(err)
		}
	}
	tests := []struct {
		p          protocol.SessionsResolveParams
		key, wrong string
	}{
		{p: protocol.SessionsResolveParams{Key: " One "}, key: "agent:main:one"},
		{p: protocol.SessionsResolveParams{Key: "none"}, wrong: "No session found: none"},
		{p: protocol.SessionsResolveParams{Key: "agent:nobody:x"}, wrong: "No session found: agent:nobody:x"},
		{p: protocol.SessionsResolveParams{SessionID: "id-1"}, key: "agent:main:one"},
		{p: protocol.SessionsResolveParams{SessionID: "id-9"}, wrong: "No session found: id-9"},
		{p: protocol.SessionsResolveParams{SessionID: "id-3"}, wrong: "No session found: id-3"},
		{p: protocol.SessionsResolveParams{SessionID: "id-3", IncludeGlobal: true}, key: "global"},
		{p: protocol.SessionsResolveParams{SessionID: "id-2", SpawnedBy: "one"}, key: "agent:main:subagent:kid"},
		{p: protocol.SessionsResolveParams{SessionID: "id-2", SpawnedBy: "main"}, wrong: "No session found: id-2"},
		{p: protocol.SessionsResolveParams{SessionID: "id-1", AgentID: "nobody"}, wrong: "No session found: id-1"},
		{p: protocol.SessionsResolveParams{Label: "First"}, key: "agent:main:one"},
		{p: protocol.SessionsResolveParams{Label: "Second"}, wrong: "No session found with label: Second"},
		{p: protocol.SessionsResolveParams{}, wrong: "Either key, sessionId, or label is required"},
		{p: protocol.SessionsResolveParams{Key: "one", Label: "First"}, wrong: "Provide either key, sessionId, or label (not multiple)"},
	}
	for _, tt := range tests {
		key, err := b.router.ResolveSession(tt.p)
		if tt.wrong != "" {
			if refused(t, err) != tt.wrong {
				t.Errorf("ResolveSession(%+v) = %v, want %q", tt.p, err, tt.wrong)
			}
			continue
		}
		if err != nil || key != tt.key {
			t.Errorf("ResolveSession(%+v) = %q, %v, want %q", tt.p, key, err, tt.key)
		}
	}
}

// Two agents may each have a session with the same label.
func TestResolveSessionTwice(t *testing.T) {
	b := newBench(t)
	other, err := session.Open(session.Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	rt := router.New(router.Config{Config: b.current, Sessions: func(id string) (*session.Store, error) {
		if id == "work" {
			return other, nil
		}
		return b.store, nil
	}})
	for st, key := range map[*session.Store]string{b.store: "agent:main:a", other: "agent:work:b"} {
		if _, err := st.Update(t.Context(), key, func(e *session.Entry) error { e.SessionID, e.Label = key, "Twin"; return nil }); err != nil {
			t.Fatal(err)
		}
	}
	_, err = rt.ResolveSession(protocol.SessionsResolveParams{Label: "Twin"})
	if got, want := refused(t, err), "Multiple sessions found for label: Twin (agent:main:a, agent:work:b)"; got != want {
		t.Errorf("ResolveSession of two = %q, want %q", got, want)
	}
	if key, err := rt.ResolveSession(protocol.SessionsResolveParams{Label: "Twin", AgentID: "Work"}); err != nil || key != "agent:work:b" {
		t.Errorf("ResolveSession of one agent = %q, %v", key, err)
	}
}

func TestCreateSession(t *testing.T) {
	b := newBench(t)
	got, err := b.router.CreateSession(t.Context(), protocol.SessionsCreateParams{AgentID: "Work", Label: "New", Model: "mock/two"})
	if err != nil || !strings.HasPrefix(got.Key, "agent:work:session:") || got.Entry.SessionID == "" || got.Entry.Label != "New" || got.Entry.ModelOverride != "two" {
		t.Errorf("CreateSession = %+v, %v", got, err)
	}
	if got, err := b.router.CreateSession(t.Context(), protocol.SessionsCreateParams{Key: "mine", AgentID: "work"}); err != nil || got.Key != "agent:work:mine" {
		t.Errorf("CreateSession with a key = %+v, %v", got, err)
	}
	for want, p := range map[string]protocol.SessionsCreateParams{
		`unknown agent id "nobody"`:                            {AgentID: "nobody"},
		`agent "work" does not match session key agent "main"`: {AgentID: "work", Key: "agent:main:x"},
		"label already in use: New":                            {Label: "New"},
		`invalid session key "unknown"`:                        {Key: "unknown"},
	} {
		if _, err := b.router.CreateSession(t.Context(), p); refused(t, err) != want {
			t.Errorf("CreateSession(%+v) = %v, want %q", p, err, want)
		}
	}
}

func TestAbortSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.stage.play = until(time.Hour)
		one := b.agent(params("one", "work", "busy"))
		queued := b.chat("two", "busy", "next").Run
		synctest.Wait()
		if id, ok := b.router.Running("Busy"); !ok || id != "one" {
			t.Errorf("Running = %q, %v, want one", id, ok)
		}
		if _, err := b.router.AbortSession("elsewhere", "one", false); refused(t, err) != "runId does not match sessionKey" {
			t.Errorf("AbortSession of a run elsewhere = %v", err)
		}
		if got, err := b.router.AbortSession("", "nobody", false); err != nil || got.Aborted {
			t.Errorf("AbortSession of nothing = %+v, %v", got, err)
		}
		got, err := b.router.AbortSession("busy", "", false)
		if diff := cmp.Diff(router.AbortResult{Aborted: true, RunIDs: []run.ID{"one"}}, got); err != nil || diff != "" {
			t.Errorf("AbortSession: %v (-want +got):\n%s", err, diff)
		}
		<-one.Done()
		time.Sleep(5 * time.Second) // it waits a little for more messages
		if id, ok := b.router.Running("busy"); !ok || id != queued.ID() {
			t.Errorf("Running after the abort = %q, %v, want the message that waited", id, ok)
		}
		b.chat("three", "busy", "one more")
		got, err = b.router.AbortSession("", "two", true) // by the id it was sent under
		if err != nil || len(got.RunIDs) != 2 {
			t.Errorf("AbortSession with what waits = %+v, %v, want two runs", got, err)
		}
		<-queued.Done()
		synctest.Wait()
		if id, ok := b.router.Running("busy"); ok {
			t.Errorf("Running at the end = %q, want nothing", id)
		}
	})
}
