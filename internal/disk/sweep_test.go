package disk_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"openclaw/internal/disk"
)

// P7: what a killed writer leaves goes away, and nothing else does.
func TestSweep(t *testing.T) {
	dir := t.TempDir()
	old := time.Now().Add(-time.Hour)
	write := func(name string, at time.Time) {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{".sessions.json123456789", ".openclaw.json.bak2077405276", ".openclaw.json.bak.1987654321", ".t.jsonl1234567", ".lock.2611248526", ".0f.jsonl.lock.1706040914"} {
		write(name, old)
	}
	for _, name := range []string{"sessions.json", "sessions.json123456789", ".sessions.json", ".env", ".json1", ".notes123456789", "openclaw.json.bak.1"} {
		write(name, old)
	}
	write(".fresh.json123456789", time.Now())
	if err := os.Mkdir(filepath.Join(dir, ".d.json123456789"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("sessions.json", filepath.Join(dir, ".l.json123456789")); err != nil {
		t.Fatal(err)
	}
	if n := disk.Sweep(time.Now().Add(-time.Minute), dir, filepath.Join(dir, "missing")); n != 6 {
		t.Errorf("Sweep removed %d files, want 6", n)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var left []string
	for _, e := range entries {
		left = append(left, e.Name())
	}
	want := []string{".d.json123456789", ".env", ".fresh.json123456789", ".json1", ".l.json123456789", ".notes123456789", ".sessions.json", "openclaw.json.bak.1", "sessions.json", "sessions.json123456789"}
	if diff := cmp.Diff(want, left); diff != "" {
		t.Errorf("left (-want +got):\n%s", diff)
	}
}
