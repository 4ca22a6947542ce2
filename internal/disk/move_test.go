package disk

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

func TestMove(t *testing.T) {
	dir := t.TempDir()
	a, b := filepath.Join(dir, "a"), filepath.Join(dir, "new", "b")
	for _, path := range []string{a, filepath.Join(dir, "taken")} {
		if err := os.WriteFile(path, []byte(filepath.Base(path)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := Move(a, filepath.Join(dir, "taken")); !errors.Is(err, fs.ErrExist) {
		t.Errorf("Move onto a file = %v, want fs.ErrExist", err)
	}
	if err := Move(a, b); err != nil {
		t.Fatalf("Move = %v", err)
	}
	if data, err := os.ReadFile(b); err != nil || string(data) != "a" {
		t.Errorf("moved file = %q, %v", data, err)
	}
	if _, err := os.Lstat(a); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("old path = %v, want it gone", err)
	}
	if err := Move(a, filepath.Join(dir, "c")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Move of nothing = %v, want fs.ErrNotExist", err)
	}
	if data, _ := os.ReadFile(filepath.Join(dir, "taken")); string(data) != "taken" {
		t.Errorf("the file in the way holds %q", data)
	}
}
