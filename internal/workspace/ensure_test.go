package workspace_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"openclaw/internal/workspace"
)

// git is a stand-in that records calls and fails when told to.
type git struct {
	calls []string
	err   error
}

func (g *git) run(_ context.Context, dir string, args ...string) error {
	g.calls = append(g.calls, strings.Join(args, " "))
	return g.err
}

func list(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

var allFiles = []string{"AGENTS.md", "BOOTSTRAP.md", "HEARTBEAT.md", "IDENTITY.md", "SOUL.md", "TOOLS.md", "USER.md"}

// RT-011, RT-012: a brand new workspace gets everything, once.
func TestEnsureBrandNew(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "deep", "workspace")
	g := &git{}
	created, err := workspace.Ensure(t.Context(), dir, workspace.EnsureOptions{Git: g.run})
	if err != nil {
		t.Fatal(err)
	}
	if !created.New || !created.Repository || len(created.Files) != 7 {
		t.Errorf("Ensure() = %+v, want a new workspace with 7 files and a repository", created)
	}
	if diff := cmp.Diff(allFiles, list(t, dir)); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"--version", "init --quiet"}, g.calls); diff != "" {
		t.Errorf("git calls (-want +got):\n%s", diff)
	}
	for _, name := range allFiles {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Mode().Perm(); got != 0o600 {
			t.Errorf("mode of %s = %o, want 600", name, got)
		}
	}

	if err := os.Remove(filepath.Join(dir, "BOOTSTRAP.md")); err != nil {
		t.Fatal(err)
	}
	again, err := workspace.Ensure(t.Context(), dir, workspace.EnsureOptions{Git: g.run})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(workspace.Created{}, again); diff != "" {
		t.Errorf("second Ensure() (-want +got):\n%s", diff)
	}
	if workspace.Bootstrapping(dir) {
		t.Error("BOOTSTRAP.md came back after deletion")
	}
	if len(g.calls) != 2 {
		t.Errorf("git was called again: %v", g.calls)
	}
}

// RT-011: existing files survive, empty ones too, and stop the first-run ritual.
func TestEnsureKeepsFiles(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "SOUL.md", "mine")
	write(t, dir, "USER.md", "")
	if err := os.Symlink(filepath.Join(dir, "nowhere"), filepath.Join(dir, "TOOLS.md")); err != nil {
		t.Fatal(err)
	}
	g := &git{}
	created, err := workspace.Ensure(t.Context(), dir, workspace.EnsureOptions{Git: g.run})
	if err != nil {
		t.Fatal(err)
	}
	want := workspace.Created{Files: []string{"AGENTS.md", "IDENTITY.md", "HEARTBEAT.md"}}
	if diff := cmp.Diff(want, created); diff != "" {
		t.Errorf("Ensure() (-want +got):\n%s", diff)
	}
	for name, want := range map[string]string{"SOUL.md": "mine", "USER.md": ""} {
		got, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil || string(got) != want {
			t.Errorf("%s = %q, %v, want %q", name, got, err, want)
		}
	}
	if _, err := os.Lstat(filepath.Join(dir, "nowhere")); err == nil {
		t.Error("a dangling link was written through")
	}
	if len(g.calls) != 0 {
		t.Errorf("git calls = %v, want none", g.calls)
	}
}

func TestEnsureSkipFiles(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "ws")
	created, err := workspace.Ensure(t.Context(), dir, workspace.EnsureOptions{SkipFiles: true})
	if err != nil || created.New {
		t.Errorf("Ensure() = %+v, %v, want nothing created", created, err)
	}
	if names := list(t, dir); len(names) != 0 {
		t.Errorf("files = %v, want none", names)
	}
}

// RT-012: git is optional and an existing repository is left alone.
func TestEnsureGitFailures(t *testing.T) {
	g := &git{err: errors.New("no git here")}
	created, err := workspace.Ensure(t.Context(), t.TempDir(), workspace.EnsureOptions{Git: g.run})
	if err != nil || created.Repository || len(created.Files) != 7 {
		t.Errorf("Ensure() without git = %+v, %v, want 7 files and no repository", created, err)
	}
	if diff := cmp.Diff([]string{"--version"}, g.calls); diff != "" {
		t.Errorf("git calls (-want +got):\n%s", diff)
	}

	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, ".git"), 0o700); err != nil {
		t.Fatal(err)
	}
	g = &git{}
	if created, err := workspace.Ensure(t.Context(), dir, workspace.EnsureOptions{Git: g.run}); err != nil || created.Repository {
		t.Errorf("Ensure() in a repository = %+v, %v", created, err)
	}
	if len(g.calls) != 0 {
		t.Errorf("git calls in a repository = %v, want none", g.calls)
	}
}

func TestEnsureFolderIsFile(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "taken", "x")
	if _, err := workspace.Ensure(t.Context(), filepath.Join(dir, "taken"), workspace.EnsureOptions{}); err == nil {
		t.Error("Ensure() on a file gave no error")
	}
}

func TestTemplates(t *testing.T) {
	must := map[string][]string{
		"AGENTS.md": {"BOOTSTRAP.md", "SOUL.md", "USER.md", "MEMORY.md", "memory/YYYY-MM-DD.md", "main session",
			"Safety", "HEARTBEAT_OK", "NO_REPLY", "group"},
		"SOUL.md":     {"Boundaries", "Tone"},
		"TOOLS.md":    {"guidance"},
		"IDENTITY.md": {"- **Name:**", "- **Creature:**", "- **Vibe:**", "- **Emoji:**", "- **Avatar:**"},
		"USER.md":     {"address", "Timezone", "Notes"},
		"BOOTSTRAP.md": {"IDENTITY.md", "USER.md", "SOUL.md", "name", "nature", "vibe", "emoji", "channel",
			"Delete this file"},
		"BOOT.md": {"boot-md", "message tool", "NO_REPLY"},
	}
	for name, words := range must {
		text, ok := workspace.Template(name)
		if !ok {
			t.Errorf("Template(%q) does not exist", name)
		}
		if strings.HasPrefix(text, "---") {
			t.Errorf("%s starts with front matter", name)
		}
		for _, w := range words {
			if !strings.Contains(text, w) {
				t.Errorf("%s does not mention %q", name, w)
			}
		}
	}
	if _, ok := workspace.Template("../doc.go"); ok {
		t.Error("Template reached outside its folder")
	}
	// A fresh HEARTBEAT.md must not cause a single heartbeat run.
	text, _ := workspace.Template("HEARTBEAT.md")
	for line := range strings.Lines(text) {
		if l := strings.TrimSpace(line); l != "" && !strings.HasPrefix(l, "#") {
			t.Errorf("HEARTBEAT.md is not effectively empty: %q", line)
		}
	}
	// A fresh identity is unknown, not made of placeholders.
	text, _ = workspace.Template("IDENTITY.md")
	if id := workspace.ParseIdentity(text); !id.IsZero() {
		t.Errorf("identity of the template = %+v, want none", id)
	}
}

func BenchmarkEnsureNothingToDo(b *testing.B) {
	dir := b.TempDir()
	g := &git{}
	for b.Loop() {
		if _, err := workspace.Ensure(b.Context(), dir, workspace.EnsureOptions{Git: g.run}); err != nil {
			b.Fatal(err)
		}
	}
}
