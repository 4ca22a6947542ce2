package disk

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}

func TestWriteFileReplaces(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.json")
	if err := os.WriteFile(path, []byte("old"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := WriteFile(path, []byte("new"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := read(t, path); got != "new" {
		t.Errorf("content = %q, want %q", got, "new")
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm() != 0o600 {
		t.Errorf("mode = %v, want 0600", info.Mode())
	}
}

func TestReplaceKeepsOldFileOnError(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.json")
	write(t, path, "precious")
	full := errors.New("no space left on device")
	err := Replace(path, 0o600, func(w io.Writer) error {
		if _, err := w.Write([]byte("half")); err != nil {
			return err
		}
		return full
	})
	if !errors.Is(err, full) || !strings.HasPrefix(err.Error(), "write "+path) {
		t.Errorf("Replace = %v, want the cause behind the path", err)
	}
	if got := read(t, path); got != "precious" {
		t.Errorf("content = %q, want the old one", got)
	}
	if got := names(t, dir); len(got) != 1 {
		t.Errorf("left over files: %v", got)
	}
}

func TestWriteFileFollowsLinks(t *testing.T) {
	dir := t.TempDir()
	target, link, chain := filepath.Join(dir, "real.json"), filepath.Join(dir, "link"), filepath.Join(dir, "chain")
	for _, pair := range [][2]string{{"real.json", link}, {link, chain}} {
		if err := os.Symlink(pair[0], pair[1]); err != nil {
			t.Fatal(err)
		}
	}
	// The first write goes through a dangling link.
	for _, text := range []string{"one", "two"} {
		if err := WriteFile(chain, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := read(t, target); got != text {
			t.Errorf("target = %q, want %q", got, text)
		}
	}
	if info, _ := os.Lstat(link); info.Mode()&fs.ModeSymlink == 0 {
		t.Error("the link was replaced by a file")
	}
	loop := filepath.Join(dir, "loop")
	if err := os.Symlink("loop", loop); err != nil {
		t.Fatal(err)
	}
	if err := WriteFile(loop, nil, 0o600); err == nil {
		t.Error("WriteFile through a link loop succeeded")
	}
}

func TestReadFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a")
	write(t, path, "12345")
	if got, err := ReadFile(path, 5); err != nil || string(got) != "12345" {
		t.Errorf("ReadFile = %q, %v", got, err)
	}
	if _, err := ReadFile(path, 4); !errors.Is(err, ErrTooLarge) {
		t.Errorf("ReadFile over the limit = %v, want ErrTooLarge", err)
	}
	if _, err := ReadFile(filepath.Join(dir, "none"), 1); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("ReadFile of nothing = %v, want ErrNotExist", err)
	}
	if _, err := ReadFile(dir, 1); err == nil || !strings.Contains(err.Error(), "is a folder") {
		t.Errorf("ReadFile of a folder = %v", err)
	}
	if _, err := ReadFile(os.DevNull, 1); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("ReadFile of a device = %v", err)
	}
}

func TestBackupRotates(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "c.json")
	if err := Backup(path, 5); err != nil {
		t.Errorf("Backup of a missing file = %v", err)
	}
	for _, text := range []string{"1", "2", "3", "4", "5", "6", "7"} {
		write(t, path, text)
		if err := Backup(path, 5); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]string{".bak": "7", ".bak.1": "6", ".bak.2": "5", ".bak.3": "4", ".bak.4": "3"} {
		if got := read(t, path+name); got != want {
			t.Errorf("%s = %q, want %q", name, got, want)
		}
	}
	if got := names(t, dir); len(got) != 6 {
		t.Errorf("files = %v, want the file and five copies", got)
	}
}

func TestMkdirAll(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a", "b")
	if err := MkdirAll(path); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(filepath.Dir(path))
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("mode = %v, %v, want 0700", info.Mode(), err)
	}
	file := filepath.Join(path, "f")
	write(t, file, "")
	if err := MkdirAll(file); err == nil {
		t.Error("MkdirAll over a file succeeded")
	}
}
