package session

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv("SESSION_TEST_WRITER"); dir != "" {
		writeUntilKilled(dir)
		return
	}
	if dir := os.Getenv("SESSION_TEST_TALKER"); dir != "" {
		talkUntilKilled(dir)
		return
	}
	goleak.VerifyTestMain(m)
}

func openStore(t *testing.T, cfg Config) *Store {
	t.Helper()
	s, err := Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("Close = %v", err)
		}
	})
	return s
}

func update(t *testing.T, s *Store, key string, fn func(*Entry)) Entry {
	t.Helper()
	e, err := s.Update(t.Context(), key, func(e *Entry) error { fn(e); return nil })
	if err != nil {
		t.Fatalf("Update(%q) = %v", key, err)
	}
	return e
}

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func write(t *testing.T, path, data string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(data), 0o600); err != nil {
		t.Fatal(err)
	}
}

func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	var list []string
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return list
}

// crash forgets a store as a kill does: the lock goes, the journal stays.
func crash(t *testing.T, s *Store) {
	t.Helper()
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.flushing <- struct{}{}
	if s.journal != nil {
		s.journal.Close()
	}
	if s.owner != nil {
		if err := s.owner.Unlock(); err != nil {
			t.Fatal(err)
		}
	}
	release(s.flushing)
}

// clock is a settable time source.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func newClock() *clock { return &clock{at: time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)} }

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

// logBuffer is a log sink for several goroutines.
type logBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *logBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *logBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

func sampleTranscripts(t *testing.T) []string {
	t.Helper()
	paths, err := filepath.Glob("testdata/session-*.jsonl")
	if err != nil || len(paths) < 6 {
		t.Fatalf("found %d sample transcripts, %v", len(paths), err)
	}
	return paths
}

func hasPrefix(list []string, prefix string) (found []string) {
	for _, s := range list {
		if strings.HasPrefix(s, prefix) {
			found = append(found, s)
		}
	}
	return found
}

var background = context.Background()

func contextWithCancel() (context.Context, context.CancelFunc) { return context.WithCancel(background) }

// heldBytes is how much more memory is in use after build than before.
func heldBytes(build func()) int64 {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	build()
	runtime.GC()
	runtime.ReadMemStats(&after)
	return int64(after.HeapAlloc) - int64(before.HeapAlloc)
}
