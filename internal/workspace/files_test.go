package workspace

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func listed(dir string) []string {
	var got []string
	for _, f := range List(dir) {
		s := f.Name
		if f.Missing {
			s += " missing"
		}
		got = append(got, s)
	}
	return got
}

func put(t *testing.T, dir, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// GW-121: the named files and no others, in the order of the reference.
func TestGW121List(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "workspace")
	all := []string{"AGENTS.md", "SOUL.md", "TOOLS.md", "IDENTITY.md", "USER.md", "HEARTBEAT.md", "BOOTSTRAP.md", "MEMORY.md"}
	var missing []string
	for _, name := range all {
		missing = append(missing, name+" missing")
	}
	if diff := cmp.Diff(missing, listed(dir)); diff != "" {
		t.Errorf("List of no folder (-want +got):\n%s", diff)
	}
	if _, err := Ensure(t.Context(), dir, EnsureOptions{}); err != nil {
		t.Fatal(err)
	}
	put(t, dir, "secrets.txt", "x")
	want := append(all[:7:7], "MEMORY.md missing")
	if diff := cmp.Diff(want, listed(dir)); diff != "" {
		t.Errorf("List of a new workspace (-want +got):\n%s", diff)
	}
	put(t, dir, "memory.md", "hello")
	got := List(dir)
	if last := got[len(got)-1]; last.Name != "memory.md" || last.Size != 5 || last.ModTime.IsZero() || last.Path != filepath.Join(dir, "memory.md") {
		t.Errorf("memory file = %+v, want the one that is there", last)
	}
	put(t, dir, "MEMORY.md", "hello")
	if got := listed(dir); got[len(got)-1] != "MEMORY.md" || len(got) != 8 {
		t.Errorf("List with both spellings = %q, want MEMORY.md alone", got)
	}
}

// GW-121: reading and writing, and what is refused.
func TestGW121ReadWrite(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "workspace")
	f, text, err := ReadFile(dir, "SOUL.md")
	if err != nil || !f.Missing || text != "" {
		t.Errorf("ReadFile of a missing file = %+v, %q, %v", f, text, err)
	}
	f, err = WriteFile(dir, "MEMORY.md", "test memory\n")
	if err != nil || f.Missing || f.Size != 12 || f.ModTime.IsZero() {
		t.Fatalf("WriteFile = %+v, %v", f, err)
	}
	if info, err := os.Stat(f.Path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode of a new file = %v, %v, want 0600", info.Mode(), err)
	}
	if got, text, err := ReadFile(dir, "MEMORY.md"); err != nil || text != "test memory\n" || got != f {
		t.Errorf("ReadFile = %+v, %q, %v, want what was written", got, text, err)
	}
	put(t, dir, "SOUL.md", "old")
	if err := os.Chmod(filepath.Join(dir, "SOUL.md"), 0o640); err != nil {
		t.Fatal(err)
	}
	if f, err = WriteFile(dir, "SOUL.md", "new"); err != nil {
		t.Fatal(err)
	}
	if info, _ := os.Stat(f.Path); info.Mode().Perm() != 0o640 {
		t.Errorf("mode of a replaced file = %v, want it kept", info.Mode())
	}
	put(t, dir, "USER.md", "a\xffb")
	if _, text, _ := ReadFile(dir, "USER.md"); text != "a\uFFFDb" {
		t.Errorf("ReadFile of bytes that are no text = %q", text)
	}
	for _, name := range []string{"secrets.txt", "", "agents.md", "../AGENTS.md", "./AGENTS.md", "AGENTS.md/", "AGENTS.md\x00", "memory/2026-01-01.md", "/etc/passwd"} {
		if _, _, err := ReadFile(dir, name); !errors.Is(err, ErrUnsupported) {
			t.Errorf("ReadFile(%q) = %v, want it refused", name, err)
		}
		if _, err := WriteFile(dir, name, "x"); !errors.Is(err, ErrUnsupported) {
			t.Errorf("WriteFile(%q) = %v, want it refused", name, err)
		}
	}
	if _, err := WriteFile(dir, "SOUL.md", strings.Repeat("x", maxFile+1)); !errors.Is(err, ErrTooLarge) {
		t.Errorf("WriteFile of too much = %v", err)
	}
	put(t, dir, "TOOLS.md", strings.Repeat("x", maxFile+1))
	if _, _, err := ReadFile(dir, "TOOLS.md"); !errors.Is(err, ErrTooLarge) {
		t.Errorf("ReadFile of too much = %v", err)
	}
	if err := os.Mkdir(filepath.Join(dir, "HEARTBEAT.md"), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, _, err := ReadFile(dir, "HEARTBEAT.md"); err == nil {
		t.Error("ReadFile of a folder = nil, want an error")
	}
	if _, err := WriteFile(dir, "HEARTBEAT.md", "x"); err == nil {
		t.Error("WriteFile over a folder = nil, want an error")
	}
}

// GW-121: links may go round inside the workspace, but not out of it.
func TestGW121Links(t *testing.T) {
	if runtime.GOOS == "windows" {
		return // links need rights there
	}
	base := t.TempDir()
	outside := filepath.Join(base, "outside")
	dir := filepath.Join(base, "workspace")
	for _, d := range []string{outside, filepath.Join(dir, "sub")} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	put(t, outside, "secret", "top secret")
	put(t, dir, "sub/real.md", "inside")
	link := func(target, name string) {
		t.Helper()
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	link(filepath.Join(outside, "secret"), "SOUL.md")
	link("../outside/secret", "TOOLS.md")
	link(filepath.Join(outside, "not-there"), "USER.md")
	link("sub/real.md", "AGENTS.md")
	link("SOUL.md", "IDENTITY.md")
	for _, name := range []string{"SOUL.md", "TOOLS.md", "USER.md", "IDENTITY.md"} {
		if _, text, err := ReadFile(dir, name); !errors.Is(err, ErrOutside) || text != "" {
			t.Errorf("ReadFile(%s) = %q, %v, want it refused", name, text, err)
		}
		if _, err := WriteFile(dir, name, "x"); !errors.Is(err, ErrOutside) {
			t.Errorf("WriteFile(%s) = %v, want it refused", name, err)
		}
	}
	if data, _ := os.ReadFile(filepath.Join(outside, "secret")); string(data) != "top secret" {
		t.Errorf("file outside = %q, want it untouched", data)
	}
	if _, err := os.Lstat(filepath.Join(outside, "not-there")); err == nil {
		t.Error("a file was made outside")
	}
	want := []string{"AGENTS.md", "SOUL.md missing", "TOOLS.md missing", "IDENTITY.md missing", "USER.md missing", "HEARTBEAT.md missing", "BOOTSTRAP.md missing", "MEMORY.md missing"}
	if diff := cmp.Diff(want, listed(dir)); diff != "" {
		t.Errorf("List (-want +got):\n%s", diff)
	}
	if _, err := WriteFile(dir, "AGENTS.md", "changed"); err != nil {
		t.Fatal(err)
	}
	if data, _ := os.ReadFile(filepath.Join(dir, "sub/real.md")); string(data) != "changed" {
		t.Errorf("file behind a link inside = %q, want it changed", data)
	}
	// The workspace itself may be a link.
	if err := os.Symlink(dir, filepath.Join(base, "link")); err != nil {
		t.Fatal(err)
	}
	if _, text, err := ReadFile(filepath.Join(base, "link"), "AGENTS.md"); err != nil || text != "changed" {
		t.Errorf("ReadFile through a linked workspace = %q, %v", text, err)
	}
}
