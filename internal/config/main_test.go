package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"openclaw/internal/config/json5"
	"openclaw/internal/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// home is a user's home folder in a test.
type home struct {
	t   *testing.T
	dir string
	env map[string]string
}

func newHome(t *testing.T) *home { return &home{t, t.TempDir(), map[string]string{}} }

func (h *home) getenv(name string) string { return h.env[name] }

func (h *home) paths() Paths { return ResolvePaths(h.getenv, h.dir) }

// path joins names to the home folder.
func (h *home) path(names ...string) string {
	return filepath.Join(append([]string{h.dir}, names...)...)
}

func (h *home) write(text string, names ...string) {
	h.t.Helper()
	path := h.path(names...)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		h.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		h.t.Fatal(err)
	}
}

func (h *home) read(names ...string) string {
	h.t.Helper()
	data, err := os.ReadFile(h.path(names...))
	if err != nil {
		h.t.Fatal(err)
	}
	return string(data)
}

// config writes the configuration file.
func (h *home) config(text string) *home {
	h.t.Helper()
	h.write(text, ".openclaw", "openclaw.json")
	return h
}

func (h *home) load() *Snapshot { return Load(h.paths(), h.getenv) }

// valid loads a file that must be valid.
func (h *home) valid() *Snapshot {
	h.t.Helper()
	s := h.load()
	if err := s.Err(); err != nil {
		h.t.Fatal(err)
	}
	return s
}

// load is the snapshot of a configuration text.
func load(t *testing.T, text string) *Snapshot {
	t.Helper()
	return newHome(t).config(text).load()
}

// lines shows issues one per line.
func lines(issues []Issue) string {
	out := make([]string, len(issues))
	for i, issue := range issues {
		out[i] = issue.String()
	}
	return strings.Join(out, "\n")
}

func decode(t *testing.T, text string) any {
	t.Helper()
	v, err := json5.Decode(text)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// at is the value at a dotted path, nil when there is none.
func at(tree any, path string) any {
	v, _ := lookup(tree, path)
	return v
}
