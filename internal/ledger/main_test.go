package ledger

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"openclaw/internal/run"
	"openclaw/internal/testkit"
	"openclaw/internal/turn"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv("LEDGER_TEST_WRITER"); dir != "" {
		writeUntilKilled(dir)
		return
	}
	testkit.Main(m)
}

// clock is a time that tests move.
type clock struct{ at time.Time }

func (c *clock) now() time.Time { return c.at }

func newClock() *clock { return &clock{time.UnixMilli(1_790_000_000_000)} }

func open(t testing.TB, dir string, c *clock) *Ledger {
	t.Helper()
	cfg := Config{Dir: dir, Log: testkit.Log(t)}
	if c != nil {
		cfg.Now = c.now
	}
	l, err := Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { shut(t, l) })
	return l
}

func shut(t testing.TB, l *Ledger) {
	t.Helper()
	if err := l.Close(); err != nil {
		t.Errorf("Close = %v", err)
	}
}

// request is an acceptance with every field set.
func ask(id string, at time.Time) Accepted {
	return Accepted{Kind: Chat, Owner: "device:d", At: at, Request: run.Request{
		ID: run.ID(id), AgentID: "main", SessionKey: "agent:main:main", EventKey: "main", SessionID: "s-" + id,
		Prompt: "say <" + id + ">\nplease", Images: []turn.Block{{Type: turn.BlockImage, MimeType: "image/png", Data: "aGk="}},
		ExtraSystemPrompt: "extra", Provider: "p", Model: "m", Thinking: "low", Verbose: "on",
		Timeout: 90 * time.Second, Lane: "cron", Channel: "webchat", NewSession: true, Chat: true,
	}}
}

func accept(t testing.TB, l *Ledger, a Accepted) *Entry {
	t.Helper()
	e := l.New(a)
	if err := e.Commit(); err != nil {
		t.Fatalf("Commit(%s) = %v", a.Request.ID, err)
	}
	return e
}

func end(t testing.TB, e *Entry, x Ending) {
	t.Helper()
	if err := e.End(x); err != nil {
		t.Fatalf("End = %v", err)
	}
}

// lost returns the ids that the ledger has lost, in order.
func lost(t testing.TB, l *Ledger) []string {
	t.Helper()
	list, err := l.Lost()
	if err != nil {
		t.Fatal(err)
	}
	ids := []string{}
	for _, e := range list {
		ids = append(ids, string(e.Accepted().Request.ID))
	}
	return ids
}

// crash copies the ledger as a kill at this moment would leave it.
func crash(t testing.TB, dir string) string {
	t.Helper()
	to := t.TempDir()
	if err := os.CopyFS(to, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	return to
}

// files lists the files in dir, relative, without lock files.
func files(t testing.TB, dir string) []string {
	t.Helper()
	list := []string{}
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err == nil && !d.IsDir() && d.Name() != lockName {
			rel, _ := filepath.Rel(dir, p)
			list = append(list, rel)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(list)
	return list
}

func numbered(prefix string, n int) []string {
	list := []string{}
	for i := range n {
		list = append(list, fmt.Sprint(prefix, i))
	}
	return list
}
