package disk

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestDailyLog(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "openclaw")
	now := time.Date(2026, 1, 9, 23, 59, 59, 0, time.Local)
	l, err := OpenDailyLog(dir, func() time.Time { return now })
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for _, name := range []string{"openclaw-2026-01-02.log", "openclaw-2026-01-03.log", "openclaw-2026-01-04.log", "openclaw-notes.log", "other.log"} {
		write(t, filepath.Join(dir, name), "")
	}
	put := func(text string) {
		t.Helper()
		if _, err := l.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	put("one\n")
	now = now.Add(time.Second)
	put("two\n")
	if got := l.Path(); got != filepath.Join(dir, "openclaw-2026-01-10.log") {
		t.Errorf("Path = %s", got)
	}
	want := []string{"openclaw-2026-01-04.log", "openclaw-2026-01-09.log", "openclaw-2026-01-10.log", "openclaw-notes.log", "other.log"}
	if diff := cmp.Diff(want, names(t, dir)); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	// A cleaner removes the folder while we write.
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	now = now.Add(logCheck)
	put("three\n")
	if got := read(t, l.Path()); got != "three\n" {
		t.Errorf("log = %q, want the line after the removal", got)
	}
}

func TestOpenLog(t *testing.T) {
	path := filepath.Join(t.TempDir(), "deep", "my.log")
	l, err := OpenLog(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Write([]byte("x\n")); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(l.Close(), l.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Write(nil); !errors.Is(err, os.ErrClosed) {
		t.Errorf("Write after Close = %v, want ErrClosed", err)
	}
	if got := read(t, path); got != "x\n" {
		t.Errorf("log = %q", got)
	}
	if _, err := OpenLog(filepath.Dir(path)); err == nil {
		t.Error("OpenLog of a folder succeeded")
	}
}
