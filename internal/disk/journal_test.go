package disk

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

func put(t *testing.T, j *Journal, lines ...string) Mark {
	t.Helper()
	var list [][]byte
	for _, l := range lines {
		list = append(list, []byte(l))
	}
	m, err := j.Write(list...)
	if err != nil {
		t.Fatalf("Write(%q) = %v", lines, err)
	}
	return m
}

func TestJournal(t *testing.T) {
	dir := t.TempDir()
	one, two := filepath.Join(dir, "1"), filepath.Join(dir, "2")
	j := NewJournal(one, 0o600, []byte("head 1"))
	if _, err := os.Stat(one); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the file exists before the first line: %v", err)
	}
	if err := j.Sync(0); err != nil {
		t.Errorf("Sync of nothing = %v", err)
	}
	first := put(t, j, "a", "b")
	put(t, j, "c")
	if got, want := read(t, one), "head 1\na\nb\nc\n"; got != want {
		t.Errorf("file = %q, want %q", got, want)
	}
	if info, err := os.Stat(one); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode = %v, %v, want 0600", info.Mode(), err)
	}
	if got := j.Size(); got != int64(len(read(t, one))) {
		t.Errorf("Size = %d, want %d", got, len(read(t, one)))
	}
	if _, err := j.Write([]byte("x\ny")); err == nil {
		t.Error("a line with a newline was accepted")
	}
	if err := j.Rotate(two, []byte("head 2")); err != nil {
		t.Fatal(err)
	}
	if j.Path() != two || j.Size() != 0 {
		t.Errorf("after Rotate: path %q, size %d", j.Path(), j.Size())
	}
	if err := j.Sync(first); err != nil {
		t.Errorf("Sync of a write before Rotate = %v", err)
	}
	last := put(t, j, "d")
	if err := j.Sync(last); err != nil {
		t.Fatal(err)
	}
	if got, want := read(t, one)+read(t, two), "head 1\na\nb\nc\nhead 2\nd\n"; got != want {
		t.Errorf("files = %q, want %q", got, want)
	}
	put(t, j, "e")
	for range 2 {
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := j.Sync(last + 1); err != nil {
		t.Errorf("Sync after Close = %v, want nil: Close has synced", err)
	}
	if _, err := j.Write([]byte("f")); !errors.Is(err, os.ErrClosed) {
		t.Errorf("Write after Close = %v, want ErrClosed", err)
	}
	if err := j.Rotate(one); !errors.Is(err, os.ErrClosed) {
		t.Errorf("Rotate after Close = %v, want ErrClosed", err)
	}
}

// A file that is there already goes on, without a second head.
func TestJournalGoesOn(t *testing.T) {
	path := filepath.Join(t.TempDir(), "j")
	write(t, path, "head\na\nto")
	j := NewJournal(path, 0o600, []byte("head"))
	put(t, j, "b")
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	if got, want := read(t, path), "head\na\nto\nb\n"; got != want {
		t.Errorf("file = %q, want %q", got, want)
	}
}

// Many write, sync and rotate at once: no line is lost, and each writer's lines
// keep their order.
func TestJournalConcurrent(t *testing.T) {
	const writers, lines = 8, 200
	dir := t.TempDir()
	name := func(n int) string { return filepath.Join(dir, fmt.Sprintf("j%03d", n)) }
	j := NewJournal(name(0), 0o600)
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := range lines {
				m, err := j.Write(fmt.Appendf(nil, "%d %d", w, i))
				if err == nil && i%10 == 0 {
					err = j.Sync(m)
				}
				if err != nil {
					t.Errorf("writer %d line %d: %v", w, i, err)
				}
			}
		})
	}
	wg.Go(func() {
		for n := range 50 {
			if err := j.Rotate(name(n + 1)); err != nil {
				t.Errorf("Rotate = %v", err)
			}
		}
	})
	wg.Wait()
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	var all []byte
	for n := range 51 {
		data, err := os.ReadFile(name(n))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		all = append(all, data...)
	}
	next := make([]int, writers)
	for line := range bytes.Lines(all) {
		w, i, _ := strings.Cut(strings.TrimSpace(string(line)), " ")
		wn, _ := strconv.Atoi(w)
		if i != strconv.Itoa(next[wn]) {
			t.Fatalf("writer %s: line %s, want %d", w, i, next[wn])
		}
		next[wn]++
	}
	if slices.Min(next) != lines {
		t.Errorf("lines by writer = %v, want %d each", next, lines)
	}
}

// After a failed sync nobody knows what the file holds: every write that it may
// have taken with it is reported, and nothing is accepted before a new file.
func TestJournalFailedSync(t *testing.T) {
	dir := t.TempDir()
	j := NewJournal(filepath.Join(dir, "1"), 0o600)
	safe := put(t, j, "safe")
	if err := j.Sync(safe); err != nil {
		t.Fatal(err)
	}
	lost, late := put(t, j, "lost"), put(t, j, "late")
	if err := j.file.f.Close(); err != nil { // the disk goes away
		t.Fatal(err)
	}
	if err := j.Sync(lost); err == nil {
		t.Fatal("Sync succeeded on a dead file")
	}
	if _, err := j.Write([]byte("more")); err == nil {
		t.Error("Write succeeded after a failed sync")
	}
	if err := j.Rotate(filepath.Join(dir, "2")); err != nil {
		t.Fatal(err)
	}
	fresh := put(t, j, "fresh")
	for m, want := range map[Mark]bool{safe: true, lost: false, late: false, fresh: true} {
		if err := j.Sync(m); (err == nil) != want {
			t.Errorf("Sync(%d) = %v, want success %v", m, err, want)
		}
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
}

// Those who wait while a sync fails are not told that all is well by the next.
func TestJournalFailedSyncTellsWaiters(t *testing.T) {
	j := NewJournal(filepath.Join(t.TempDir(), "1"), 0o600)
	m := put(t, j, "a")
	j.slot <- struct{}{} // a sync is under way
	waiting := make(chan error)
	var wg sync.WaitGroup
	wg.Go(func() { waiting <- j.Sync(m) })
	for joined := false; !joined; {
		j.mu.Lock()
		joined = j.next != nil
		j.mu.Unlock()
	}
	if err := j.file.f.Close(); err != nil {
		t.Fatal(err)
	}
	if err := j.flush(nil); err == nil {
		t.Fatal("flush succeeded on a dead file")
	}
	<-j.slot
	if err := <-waiting; err == nil {
		t.Error("a waiting caller was told that its line is on the disk")
	}
	wg.Wait()
}

func BenchmarkJournal(b *testing.B) {
	line := bytes.Repeat([]byte("x"), 300)
	for _, callers := range []int{1, 64} {
		b.Run(fmt.Sprintf("callers=%d", callers), func(b *testing.B) {
			j := NewJournal(filepath.Join(b.TempDir(), "j"), 0o600)
			defer j.Close()
			b.SetParallelism(callers)
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					m, err := j.Write(line)
					if err == nil {
						err = j.Sync(m)
					}
					if err != nil {
						b.Error(err)
					}
				}
			})
		})
	}
}
