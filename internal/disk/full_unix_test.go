//go:build unix

package disk_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"openclaw/internal/disk"
)

// A disk that is full: every writer says so, keeps what it had, and leaves nothing cut
// in half. The limit on the size of files of a child process stands in for the disk.
func TestFullDisk(t *testing.T) {
	const limit = 64 << 10
	if os.Getenv("DISK_IS_FULL") == "" {
		cmd := exec.Command(os.Args[0], "-test.run=^TestFullDisk$", "-test.v")
		cmd.Env = append(os.Environ(), "DISK_IS_FULL=1")
		if out, err := cmd.CombinedOutput(); err != nil || !bytes.Contains(out, []byte("--- PASS: TestFullDisk")) {
			t.Fatalf("on a full disk: %v\n%s", err, out)
		}
		return
	}
	signal.Ignore(syscall.SIGXFSZ) // the error tells
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: limit, Max: limit}); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	line := []byte(strings.Repeat("x", 1000))

	t.Run("replace", func(t *testing.T) {
		if err := disk.WriteFile(path("r"), line, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := disk.WriteFile(path("r"), bytes.Repeat(line, 100), 0o600); err == nil {
			t.Error("a file that does not fit is written")
		}
		if got, err := os.ReadFile(path("r")); err != nil || !bytes.Equal(got, line) {
			t.Errorf("after that the file has %d bytes (%v), want the old ones", len(got), err)
		}
	})
	t.Run("append", func(t *testing.T) {
		f, err := disk.OpenAppend(path("a"), 0o600)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		lines := 0
		for err == nil {
			if err = f.Append(true, line); err == nil {
				lines++
			}
		}
		if got, err := os.ReadFile(path("a")); err != nil || len(got) != lines*1001 {
			t.Errorf("%d lines were taken and the file has %d bytes (%v)", lines, len(got), err)
		}
	})
	t.Run("journal", func(t *testing.T) {
		j := disk.NewJournal(path("j"), 0o600)
		defer j.Close()
		lines := 0
		var err error
		for err == nil {
			var m disk.Mark
			if m, err = j.Write(line); err == nil {
				if err = j.Sync(m); err == nil {
					lines++
				}
			}
		}
		if got, err := os.ReadFile(path("j")); err != nil || bytes.Count(got, []byte("\n")) < lines || len(got)%1001 != 0 {
			t.Errorf("%d lines were taken and the file has %d bytes (%v)", lines, len(got), err)
		}
	})
	t.Run("table", func(t *testing.T) {
		table := openTable(t, path("t"))
		rows := 0
		var err error
		for err == nil {
			if err = table.Apply(disk.Change{Key: fmt.Sprint(rows), Value: json.RawMessage(`"` + string(line) + `"`)}); err == nil {
				rows++
			}
		}
		if table.Len() != rows {
			t.Errorf("%d rows were taken and the table has %d", rows, table.Len())
		}
		table.Close()
		if got := openTable(t, path("t")).Len(); got != rows {
			t.Errorf("%d rows were taken and %d are on the disk", rows, got)
		}
	})
	t.Run("lock", func(t *testing.T) {
		_, err := disk.Lock(t.Context(), path("l"), disk.LockOptions{Content: func() []byte { return bytes.Repeat(line, 100) }})
		if err == nil {
			t.Error("a lock file that does not fit is held")
		}
		if _, err := os.Stat(path("l")); err == nil {
			t.Error("half a lock file is left")
		}
	})
}
