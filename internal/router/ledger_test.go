package router_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"openclaw/internal/ledger"
	"openclaw/internal/router"
	"openclaw/internal/run"
	"openclaw/internal/session"
	"openclaw/internal/testkit"
	"openclaw/internal/turn"
	"openclaw/protocol"
)

func openLedger(t testing.TB, dir string) *ledger.Ledger {
	t.Helper()
	l, err := ledger.Open(ledger.Config{Dir: filepath.Join(dir, "runs"), Log: testkit.Log(t)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Errorf("close ledger: %v", err)
		}
	})
	return l
}

// newKept is a bench that remembers.
func newKept(t testing.TB, dir string) *bench {
	t.Helper()
	return newBenchIn(t, dir, openLedger(t, dir))
}

// killed is the state as a kill at this moment leaves it.
func (b *bench) killed() string {
	b.t.Helper()
	return copyState(b.t, b.dir)
}

// copyState copies a state folder, lock files included. Sessions name their
// transcripts with the whole path, so that is changed along with it.
func copyState(t testing.TB, dir string) string {
	t.Helper()
	to := t.TempDir()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(dir, path)
		switch {
		case err == nil && d.IsDir():
			return os.MkdirAll(filepath.Join(to, rel), 0o700)
		case err == nil:
			var data []byte
			if data, err = os.ReadFile(path); err == nil {
				return os.WriteFile(filepath.Join(to, rel), bytes.ReplaceAll(data, []byte(dir), []byte(to)), 0o600)
			}
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil // it went away this moment
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return to
}

// lost lists what a process that starts now would have lost.
func (b *bench) lost() []string {
	b.t.Helper()
	list, err := openLedger(b.t, b.killed()).Lost()
	if err != nil {
		b.t.Fatal(err)
	}
	ids := []string{}
	for _, e := range list {
		ids = append(ids, string(e.Accepted().Key()))
	}
	return ids
}

// recovered is the next process.
func (b *bench) recovered() *bench {
	b.t.Helper()
	next := newKept(b.t, b.killed())
	if err := next.router.Recover(b.t.Context()); err != nil {
		b.t.Fatal(err)
	}
	return next
}

func (b *bench) history(key string) []string {
	b.t.Helper()
	e, _ := b.store.Get(key)
	raw, err := session.History(b.store.TranscriptPath(e), 0, 0)
	if err != nil {
		b.t.Fatal(err)
	}
	list := []string{}
	for _, r := range raw {
		var m turn.Message
		if err := json.Unmarshal(r, &m); err != nil {
			b.t.Fatal(err)
		}
		s := fmt.Sprintf("%s: %s", m.Role, m.Text())
		if m.StopReason != "" {
			s += fmt.Sprintf(" (%s)", m.StopReason)
		}
		list = append(list, s)
	}
	return list
}

// waitFor is agent.wait without waiting.
func (b *bench) waitFor(id run.ID) string {
	b.t.Helper()
	snap, ok := b.router.Wait(b.t.Context(), id, 0)
	switch {
	case !ok:
		return "timeout"
	case snap.Error != "":
		return "error: " + snap.Error
	case snap.StopReason != "":
		return "stopped: " + snap.StopReason
	}
	return "ok"
}

// write plays a run that writes its message, and the answer if there is one, as the
// agent does, and then lasts until it is stopped.
func (b *bench) write(answers map[string]string) func(context.Context, run.Request) (run.Outcome, error) {
	return func(ctx context.Context, req run.Request) (run.Outcome, error) {
		tr, err := b.store.OpenTranscript(ctx, session.TranscriptOptions{SessionID: req.SessionID})
		if err != nil {
			return run.Outcome{}, err
		}
		defer tr.Close()
		if _, err := tr.Append(turn.User(req.Prompt, time.Now())); err != nil {
			return run.Outcome{}, err
		}
		if answer := answers[bare(req.Prompt)]; answer != "" {
			m := turn.Message{Role: turn.RoleAssistant, Content: turn.Text(answer), Provider: "mock", Model: "one",
				StopReason: turn.StopEnd, Usage: &turn.Usage{}, Timestamp: time.Now().UnixMilli()}
			if _, err := tr.Append(m); err != nil {
				return run.Outcome{}, err
			}
		}
		<-ctx.Done()
		return run.Outcome{Payloads: []run.Payload{}}, nil
	}
}

const (
	during = "⚠️ The gateway stopped while I was working on this"
	before = "⚠️ The gateway stopped before I could begin with this message"
)

// matches compares lines, of which those in want are the beginnings.
func matches(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	ok := len(got) == len(want)
	for i := range min(len(got), len(want)) {
		ok = ok && strings.HasPrefix(got[i], want[i])
	}
	if !ok {
		t.Errorf("%s = %q, want lines that begin with %q", what, got, want)
	}
}

// P3, P25: whatever was accepted is on the disk when its request is answered, and
// before its run begins; its end is on the disk before anybody hears of it.
func TestAcceptedIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newKept(t, t.TempDir())
		atBegin := map[run.ID][]string{}
		b.stage.play = func(ctx context.Context, req run.Request) (run.Outcome, error) {
			lost := b.lost()
			b.mu.Lock()
			atBegin[req.ID] = lost
			b.mu.Unlock()
			return until(time.Minute)(ctx, req)
		}
		b.agent(params("call", "x", "main"))
		if diff := cmp.Diff([]string{"call"}, b.lost()); diff != "" {
			t.Errorf("lost after acceptance (-want +got):\n%s", diff)
		}
		b.chat("other", "elsewhere", "work")
		synctest.Wait()
		queued := b.chat("queued", "main", "later").Run
		if diff := cmp.Diff([]string{"call", "other", "queued"}, b.lost()); diff != "" {
			t.Errorf("lost with a message in the queue (-want +got):\n%s", diff)
		}
		if got := b.lost(); !slices.Contains(got, "queued") || queued.ID() == "queued" {
			t.Errorf("the queued message is not known by the id it was sent under: %v", got)
		}
		<-queued.Done()
		if !slices.Contains(atBegin["call"], "call") || !slices.Contains(atBegin[queued.ID()], "queued") {
			t.Errorf("at the beginning of the runs: lost %v", atBegin)
		}
		if diff := cmp.Diff([]string{}, b.lost()); diff != "" {
			t.Errorf("lost after all ended (-want +got):\n%s", diff)
		}
	})
}

func TestEndIsKeptBeforeItIsTold(t *testing.T) {
	b := newKept(t, t.TempDir())
	var told []string
	b.onEvent = func(e run.Event) {
		if e.Terminal() {
			told = append(told, b.lost()...)
			past, ok := b.ledger.Lookup(ledger.Agent, "", e.RunID)
			told = append(told, fmt.Sprintf("%s %v %s %s", e.RunID, ok, past.Ending.State, past.Ending.Reason))
		}
	}
	failing := errors.New("nothing works")
	b.stage.play = func(_ context.Context, req run.Request) (run.Outcome, error) {
		if bare(req.Prompt) == "fail" {
			return run.Outcome{}, failing
		}
		return run.Outcome{Payloads: []run.Payload{}}, nil
	}
	<-b.agent(params("fine", "x", "main")).Done()
	<-b.agent(params("bad", "fail", "main")).Done()
	if diff := cmp.Diff([]string{"fine true finished ", "bad true failed nothing works"}, told); diff != "" {
		t.Errorf("when it was told (-want +got):\n%s", diff)
	}
}

// P3, P25: after a kill every accepted run has one end: for those who wait, for
// those who ask again, and in the session. GW: agent.wait, idempotency.
func TestRecover(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newKept(t, t.TempDir())
		b.stage.play = b.write(map[string]string{"answered": "the answer"})
		owned := func(id, text, key string) {
			t.Helper()
			if _, err := b.router.Agent(t.Context(), router.AgentRequest{AgentParams: params(id, text, key), Owner: "device:d"}); err != nil {
				t.Fatal(err)
			}
		}
		owned("answered", "answered", "agent:main:a")
		owned("open", "work", "agent:main:b")
		synctest.Wait()
		b.chat("q1", "agent:main:b", "later")
		b.chat("q2", "agent:main:b", "later")
		b.chat("one", "agent:main:c", "hi")
		synctest.Wait()
		if _, err := b.router.Abort(t.Context(), "agent:main:c", "one"); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()

		next := b.recovered()
		for id, want := range map[run.ID]string{
			"answered": "ok", "one": "stopped: rpc", "nobody": "timeout",
			"open": "error: the gateway stopped during this run",
			"q1":   "error: the gateway stopped before this run began", "q2": "error: the gateway stopped before this run began",
		} {
			if got := next.waitFor(id); got != want {
				t.Errorf("Wait(%s) = %q, want %q", id, got, want)
			}
		}
		matches(t, "answered session", next.history("agent:main:a"), "user: answered", "assistant: the answer (stop)")
		story := []string{"user: work", "assistant: " + during, "user: later", "assistant: " + before, "user: later", "assistant: " + before}
		matches(t, "session", next.history("agent:main:b"), story...)
		for key, want := range map[string]bool{"agent:main:a": false, "agent:main:b": true} {
			if e := next.entry(key); (e.AbortedLastRun != nil && *e.AbortedLastRun) != want {
				t.Errorf("%s: abortedLastRun = %v, want %v", key, e.AbortedLastRun, want)
			}
		}
		// Who asks again gets the same answer, and nobody else gets it.
		got, ok := next.router.Previous(ledger.Agent, "device:d", "answered")
		if !ok || !got.Ended || got.Err != nil || len(got.Outcome.Payloads) != 1 || got.Outcome.Payloads[0].Text != "the answer" || got.Outcome.Meta.AgentMeta.Model != "one" {
			t.Errorf("Previous(answered) = %+v, %v", got, ok)
		}
		if got, ok := next.router.Previous(ledger.Agent, "device:d", "open"); !ok || !got.Ended || fmt.Sprint(got.Err) != "the gateway stopped during this run" {
			t.Errorf("Previous(open) = %+v, %v", got, ok)
		}
		if got, ok := next.router.Previous(ledger.Chat, "", "q1"); !ok || got.ID == "q1" || got.Err == nil {
			t.Errorf("Previous(q1) = %+v, %v", got, ok)
		}
		for _, owner := range []string{"", "device:e"} {
			if got, ok := next.router.Previous(ledger.Agent, owner, "open"); ok {
				t.Errorf("Previous for owner %q = %+v, want nothing", owner, got)
			}
		}
		// The session goes on, knows that something was cut off, and says it once.
		next.stage.play = nil
		<-next.chat("go", "agent:main:b", "go on").Run.Done()
		if got := next.stage.requests()[0].Prompt; !strings.Contains(got, "your previous run was stopped") {
			t.Errorf("next prompt = %q, want the hint", got)
		}
		// Once more, in this process and in the one after it: nothing changes.
		if err := next.router.Recover(t.Context()); err != nil {
			t.Error(err)
		}
		third := next.recovered()
		matches(t, "session in the third process", third.history("agent:main:b"), story...)
		if got := third.waitFor("open"); got != "error: the gateway stopped during this run" {
			t.Errorf("Wait(open) in the third process = %q", got)
		}
		// Five minutes for idempotency, ten for those who wait.
		time.Sleep(6 * time.Minute)
		if got, ok := third.router.Previous(ledger.Agent, "device:d", "open"); ok {
			t.Errorf("Previous after six minutes = %+v", got)
		}
		if got := third.waitFor("open"); !strings.HasPrefix(got, "error") {
			t.Errorf("Wait after six minutes = %q", got)
		}
	})
}

// A kill in the middle of recovery: what was told is not told again.
func TestRecoverTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newKept(t, t.TempDir())
		b.stage.play = b.write(nil)
		b.chat("one", "main", "work")
		synctest.Wait()
		b.chat("two", "main", "more")
		next := b.recovered()
		story := next.history("agent:main:main")
		// The notes are written, the ledger does not know it yet.
		half := b.killed()
		if err := os.RemoveAll(filepath.Join(half, "sessions")); err != nil {
			t.Fatal(err)
		}
		if err := os.CopyFS(filepath.Join(half, "sessions"), os.DirFS(filepath.Join(next.killed(), "sessions"))); err != nil {
			t.Fatal(err)
		}
		again := newKept(t, half)
		if err := again.router.Recover(t.Context()); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(story, again.history("agent:main:main")); diff != "" || len(story) != 4 {
			t.Errorf("told again (-want +got):\n%s", diff)
		}
		if got := again.waitFor("one"); !strings.HasPrefix(got, "error") {
			t.Errorf("Wait(one) = %q", got)
		}
	})
}

// The view that a model gets of a session with lost runs has no gaps: a call that
// was cut off is answered, turns take turns.
func TestRecoverInTheMiddleOfATool(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newKept(t, t.TempDir())
		b.stage.play = func(ctx context.Context, req run.Request) (run.Outcome, error) {
			tr, err := b.store.OpenTranscript(ctx, session.TranscriptOptions{SessionID: req.SessionID})
			if err != nil {
				return run.Outcome{}, err
			}
			defer tr.Close()
			call := turn.Message{Role: turn.RoleAssistant, StopReason: turn.StopToolUse, Usage: &turn.Usage{}, Content: turn.Content{
				{Type: turn.BlockToolCall, ID: "c1", Name: "exec", Arguments: json.RawMessage(`{"command":"make"}`)}}}
			for _, m := range []turn.Message{turn.User(req.Prompt, time.Now()), call} {
				if _, err := tr.Append(m); err != nil {
					return run.Outcome{}, err
				}
			}
			<-ctx.Done()
			return run.Outcome{}, nil
		}
		b.chat("one", "main", "build it")
		synctest.Wait()
		next := b.recovered()
		e := next.entry("agent:main:main")
		tr, err := next.store.OpenTranscript(t.Context(), session.TranscriptOptions{SessionID: e.SessionID, Path: e.SessionFile})
		if err != nil {
			t.Fatal(err)
		}
		defer tr.Close()
		msgs, err := tr.Context()
		if err != nil {
			t.Fatal(err)
		}
		var roles []string
		for _, m := range msgs {
			roles = append(roles, string(m.Role))
		}
		if diff := cmp.Diff([]string{"user", "assistant", "toolResult", "assistant"}, roles); diff != "" {
			t.Errorf("what the model sees (-want +got):\n%s", diff)
		}
	})
}

// A session that was reset, deleted or belongs to an agent that is gone loses its
// runs as well, and disturbs nobody.
func TestRecoverWithoutASession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newKept(t, t.TempDir())
		b.stage.play = until(time.Hour)
		b.agent(params("deleted", "x", "agent:main:deleted"))
		b.agent(params("reset", "x", "agent:main:reset"))
		byID := params("by-id", "hello", "")
		byID.SessionID = "free-session"
		b.agent(byID)
		synctest.Wait()
		if _, err := b.store.Delete(t.Context(), "agent:main:deleted"); err != nil {
			t.Fatal(err)
		}
		if _, err := b.store.Update(t.Context(), "agent:main:reset", func(e *session.Entry) error { *e = session.Entry{SessionID: "new"}; return nil }); err != nil {
			t.Fatal(err)
		}
		next := b.recovered()
		for _, id := range []run.ID{"deleted", "reset", "by-id"} {
			if got := next.waitFor(id); !strings.HasPrefix(got, "error: ") {
				t.Errorf("Wait(%s) = %q", id, got)
			}
		}
		if _, ok := next.store.Get("agent:main:deleted"); ok {
			t.Error("the deleted session is back")
		}
		if e := next.entry("agent:main:reset"); e.SessionID != "new" || e.AbortedLastRun != nil {
			t.Errorf("entry of the new session = %+v", e)
		}
		raw, err := session.History(next.store.TranscriptPath(session.Entry{SessionID: "free-session"}), 0, 0)
		if err != nil || len(raw) != 2 {
			t.Errorf("transcript of a run by id has %d messages, %v, want 2", len(raw), err)
		}
	})
}

// P18: a message that was steered into a run is accepted for itself.
func TestSteeredIsKept(t *testing.T) {
	steering := func(t *testing.T) *bench {
		b := newKept(t, t.TempDir())
		b.chat("mode", "main", "/queue steer")
		b.stage.steer = func(run.ID, run.Steer) bool { return true }
		return b
	}
	t.Run("read", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b := steering(t)
			b.stage.play = until(time.Minute)
			r := b.chat("one", "main", "work").Run
			synctest.Wait()
			b.chat("two", "main", "faster")
			if diff := cmp.Diff([]string{"one", "two"}, b.lost()); diff != "" {
				t.Errorf("lost (-want +got):\n%s", diff)
			}
			<-r.Done()
			if got := b.lost(); len(got) != 0 {
				t.Errorf("lost after the run = %v", got)
			}
			if past, _ := b.ledger.Lookup(ledger.Chat, "", "two"); past.Ending.State != ledger.Finished {
				t.Errorf("end of the steered message = %+v", past.Ending)
			}
		})
	})
	t.Run("unread", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b := steering(t)
			b.swallow()
			r := b.chat("one", "main", "work").Run
			synctest.Wait()
			b.chat("two", "main", "faster")
			<-r.Done()
			time.Sleep(2 * time.Second) // the debounce of the queue
			if diff := cmp.Diff([]string{"two"}, b.lost()); diff != "" {
				t.Errorf("lost while the message has its own run (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff([]string{"work", "faster"}, b.stage.prompts()); diff != "" {
				t.Errorf("ran (-want +got):\n%s", diff)
			}
			time.Sleep(2 * time.Minute)
			if got := b.lost(); len(got) != 0 {
				t.Errorf("lost at the end = %v", got)
			}
		})
	})
	t.Run("refused", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b := steering(t)
			b.stage.steer = nil
			b.stage.play = until(time.Minute)
			b.chat("one", "main", "work")
			synctest.Wait()
			queued := b.chat("two", "main", "faster").Run
			if diff := cmp.Diff([]string{"one", "two"}, b.lost()); diff != "" {
				t.Errorf("lost (-want +got):\n%s", diff)
			}
			<-queued.Done()
			if got := b.lost(); len(got) != 0 {
				t.Errorf("lost at the end = %v", got)
			}
		})
	})
	t.Run("backlog", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b := steering(t)
			b.chat("mode2", "main", "/queue steer-backlog debounce:0ms")
			b.swallow()
			b.chat("one", "main", "work")
			synctest.Wait()
			queued := b.chat("two", "main", "faster").Run
			<-queued.Done()
			time.Sleep(5 * time.Minute)
			if diff := cmp.Diff([]string{"work", "faster"}, b.stage.prompts()); diff != "" {
				t.Errorf("ran (-want +got):\n%s", diff)
			}
			if got := b.lost(); len(got) != 0 {
				t.Errorf("lost at the end = %v", got)
			}
		})
	})
	t.Run("stopped", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b := steering(t)
			b.swallow()
			r := b.chat("one", "main", "work").Run
			synctest.Wait()
			b.chat("two", "main", "faster")
			b.chat("three", "main", "/stop")
			<-r.Done()
			if past, _ := b.ledger.Lookup(ledger.Chat, "", "two"); past.Ending.State != ledger.Aborted || past.Ending.Reason != "stop" {
				t.Errorf("end of the unread message = %+v", past.Ending)
			}
			if got := b.lost(); len(got) != 0 {
				t.Errorf("lost = %v", got)
			}
		})
	})
	t.Run("killed", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b := steering(t)
			b.stage.play = b.write(nil)
			b.chat("one", "main", "work")
			synctest.Wait()
			b.chat("two", "main", "faster")
			matches(t, "session", b.recovered().history("agent:main:main"),
				"assistant: ⚙️ Queue mode", "user: work", "assistant: "+during, "user: faster", "assistant: "+before)
		})
	})
}

// P3: a shutdown loses nothing either. What had not begun is told by the next
// process, what was cut off is told now.
func TestShutdownKeepsTheQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newKept(t, t.TempDir())
		b.stage.play = b.write(nil)
		r := b.chat("one", "main", "work").Run
		synctest.Wait()
		b.chat("two", "main", "more")
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := b.router.Drain(ctx); err == nil {
			t.Error("Drain = nil, want what it aborted")
		}
		<-r.Done()
		next := b.recovered()
		if got := next.waitFor("one"); got != "stopped: shutdown" {
			t.Errorf("Wait(one) = %q", got)
		}
		if got := next.waitFor("two"); got != "error: the gateway stopped before this run began" {
			t.Errorf("Wait(two) = %q", got)
		}
		matches(t, "session", next.history("agent:main:main"), "user: work", "user: more", "assistant: "+before)
	})
}

// Without a record there is no run: the request is refused, and nobody hears of it.
func TestRefusedByTheLedger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newKept(t, t.TempDir())
		if err := b.ledger.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := b.router.Agent(t.Context(), router.AgentRequest{AgentParams: params("a", "x", "main")}); !errors.Is(err, ledger.ErrClosed) {
			t.Errorf("Agent() = %v, want ErrClosed", err)
		}
		if _, err := b.router.Agent(t.Context(), router.AgentRequest{AgentParams: protocol.AgentParams{Message: "x", IdempotencyKey: "none"}}); !errors.Is(err, ledger.ErrClosed) {
			t.Errorf("Agent() without a target = %v, want ErrClosed", err)
		}
		for _, text := range []string{"hi", "/new hi"} {
			_, err := b.router.Chat(t.Context(), router.ChatRequest{ChatSendParams: protocol.ChatSendParams{SessionKey: "main", Message: text, IdempotencyKey: "b"}})
			if !errors.Is(err, ledger.ErrClosed) {
				t.Errorf("Chat(%q) = %v, want ErrClosed", text, err)
			}
		}
		synctest.Wait()
		if n := len(b.stage.requests()) + len(b.seen()) + len(b.router.Active()); n != 0 {
			t.Errorf("%d traces of refused runs", n)
		}
		if err := b.router.Recover(t.Context()); !errors.Is(err, ledger.ErrClosed) {
			t.Errorf("Recover() = %v", err)
		}
	})
}

// An answer that is too long to be kept is not kept in part.
func TestLongAnswerAskedForAgain(t *testing.T) {
	b := newKept(t, t.TempDir())
	b.stage.play = func(context.Context, run.Request) (run.Outcome, error) {
		return run.Outcome{Payloads: []run.Payload{{Text: strings.Repeat("x", ledger.MaxResponse)}},
			Meta: run.Meta{DurationMs: 7, SystemPromptReport: json.RawMessage(`{"big":true}`)}}, nil
	}
	<-b.agent(params("long", "x", "main")).Done()
	for _, at := range []*bench{b, b.recovered()} {
		got, ok := at.router.Previous(ledger.Agent, "", "long")
		if !ok || !got.Ended || len(got.Outcome.Payloads) != 1 || !strings.HasPrefix(got.Outcome.Payloads[0].Text, "(The answer is too long") ||
			got.Outcome.Meta.DurationMs != 7 || got.Outcome.Meta.SystemPromptReport != nil {
			t.Errorf("Previous() = %+v, %v", got, ok)
		}
	}
}

// What the ledger adds to a run: one sync at its acceptance.
func BenchmarkAgent(b *testing.B) {
	for _, kept := range []bool{false, true} {
		b.Run(fmt.Sprintf("ledger=%v", kept), func(b *testing.B) {
			dir := b.TempDir()
			var led *ledger.Ledger
			if kept {
				led = openLedger(b, dir)
			}
			bench := newBenchIn(b, dir, led)
			bench.stage.play = func(context.Context, run.Request) (run.Outcome, error) {
				return run.Outcome{Payloads: []run.Payload{{Text: "done"}}}, nil
			}
			b.ReportAllocs()
			n := 0
			for b.Loop() {
				n++
				<-bench.agent(params(fmt.Sprint(n), "say done", "main")).Done()
			}
		})
	}
}
