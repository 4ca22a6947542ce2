package workspace_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"openclaw/internal/workspace"
)

// age makes the files of dir look as if nobody had touched them for a while.
func age(t testing.TB, dir string) {
	t.Helper()
	old := time.Now().Add(-time.Hour)
	files, err := filepath.Glob(filepath.Join(dir, "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range files {
		if err := os.Chtimes(path, old, old); err != nil {
			t.Fatal(err)
		}
	}
}

func contentOf(files []workspace.File, name string) string {
	for _, f := range files {
		if f.Name == name {
			return f.Content
		}
	}
	return ""
}

// What the cache says is what the files say, whatever happens to them between two
// runs.
func TestCacheFollowsTheFiles(t *testing.T) {
	dir := t.TempDir()
	if _, err := workspace.Ensure(t.Context(), dir, workspace.EnsureOptions{Git: (&git{}).run}); err != nil {
		t.Fatal(err)
	}
	write(t, dir, "USER.md", "called Ada")
	write(t, dir, "SOUL.md", "")
	age(t, dir)
	path := filepath.Join(dir, "USER.md")
	var c workspace.Cache
	for _, step := range []struct {
		name string
		do   func() error
	}{
		{"nothing", func() error { return nil }},
		{"nothing again", func() error { return nil }},
		{"edited", func() error { return os.WriteFile(path, []byte("called Ada Lovelace"), 0o600) }},
		{"edited again at once, as long as before", func() error { return os.WriteFile(path, []byte("called Ada Hopper?!"), 0o600) }},
		{"replaced by one as long and as old", func() error {
			age(t, dir)
			c.Load(dir, workspace.LoadOptions{})
			info, err := os.Stat(path)
			if err != nil {
				return err
			}
			other := filepath.Join(dir, "other")
			if err := os.WriteFile(other, []byte("called Ada anything"), 0o600); err != nil {
				return err
			}
			if err := os.Chtimes(other, info.ModTime(), info.ModTime()); err != nil {
				return err
			}
			return os.Rename(other, path)
		}},
		{"removed", func() error { return os.Remove(path) }},
		{"back", func() error { return os.WriteFile(path, []byte("back"), 0o600) }},
	} {
		if err := step.do(); err != nil {
			t.Fatal(err)
		}
		for _, opts := range []workspace.LoadOptions{{}, {Main: true}, {Subagent: true}, {MaxChars: 8}} {
			if diff := cmp.Diff(workspace.Load(dir, opts), c.Load(dir, opts)); diff != "" {
				t.Errorf("%s: Cache.Load(%+v) (-file +cache):\n%s", step.name, opts, diff)
			}
		}
	}
}

// A file that has rested is not read again: one that changed without changing its
// size and time shows it.
func TestCacheDoesNotReadAgain(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "USER.md", "before")
	age(t, dir)
	path := filepath.Join(dir, "USER.md")
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	var c workspace.Cache
	c.Load(dir, workspace.LoadOptions{})
	write(t, dir, "USER.md", "after!")
	if err := os.Chtimes(path, info.ModTime(), info.ModTime()); err != nil {
		t.Fatal(err)
	}
	if got := contentOf(c.Load(dir, workspace.LoadOptions{}), "USER.md"); got != "before" {
		t.Errorf("Load read the file again: %q", got)
	}
}

// A file that was just written is read each time: a second write in the same tick
// of the file system's clock would not show.
func TestCacheWaitsUntilFilesRest(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "USER.md", "before")
	path := filepath.Join(dir, "USER.md")
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	var c workspace.Cache
	c.Load(dir, workspace.LoadOptions{})
	write(t, dir, "USER.md", "after!")
	if err := os.Chtimes(path, info.ModTime(), info.ModTime()); err != nil {
		t.Fatal(err)
	}
	if got := contentOf(c.Load(dir, workspace.LoadOptions{}), "USER.md"); got != "after!" {
		t.Errorf("Load gave %q for a file that was written a moment ago, want its text now", got)
	}
}

func BenchmarkCacheLoad(b *testing.B) {
	dir := b.TempDir()
	if _, err := workspace.Ensure(b.Context(), dir, workspace.EnsureOptions{Git: (&git{}).run}); err != nil {
		b.Fatal(err)
	}
	age(b, dir)
	var c workspace.Cache
	b.ReportAllocs()
	for b.Loop() {
		c.Load(dir, workspace.LoadOptions{Main: true})
	}
}
