package workspace_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"openclaw/internal/workspace"
)

func fileNames(files []workspace.File) []string {
	var names []string
	for _, f := range files {
		names = append(names, f.Name)
	}
	return names
}

// RT-013: order, missing files and empty files.
func TestLoad(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "SOUL.md", "soul \n\n")
	write(t, dir, "USER.md", " \n\t\n")
	write(t, dir, "BOOTSTRAP.md", "hello")
	write(t, dir, "HEARTBEAT.md", "")
	got := workspace.Load(dir, workspace.LoadOptions{})
	missing := func(name string) workspace.File {
		path := filepath.Join(dir, name)
		content := "[MISSING] Expected at: " + path
		return workspace.File{Name: name, Path: path, Content: content, Missing: true, InjectedChars: len(content)}
	}
	want := []workspace.File{
		missing("AGENTS.md"),
		{Name: "SOUL.md", Path: filepath.Join(dir, "SOUL.md"), Content: "soul", RawChars: 4, InjectedChars: 4},
		missing("TOOLS.md"),
		missing("IDENTITY.md"),
		{Name: "BOOTSTRAP.md", Path: filepath.Join(dir, "BOOTSTRAP.md"), Content: "hello", RawChars: 5, InjectedChars: 5},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Load() (-want +got):\n%s", diff)
	}
}

// RT-014: who sees memory, what a subagent sees, and no marker for BOOTSTRAP.md.
func TestLoadScopes(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"AGENTS.md", "SOUL.md", "TOOLS.md", "IDENTITY.md", "USER.md", "HEARTBEAT.md", "MEMORY.md"} {
		write(t, dir, name, name)
	}
	base := []string{"AGENTS.md", "SOUL.md", "TOOLS.md", "IDENTITY.md", "USER.md", "HEARTBEAT.md"}
	tests := []struct {
		name string
		opts workspace.LoadOptions
		want []string
	}{
		{"main session", workspace.LoadOptions{Main: true}, append(base[:6:6], "MEMORY.md")},
		{"other session", workspace.LoadOptions{}, base},
		{"subagent", workspace.LoadOptions{Subagent: true}, []string{"AGENTS.md", "TOOLS.md"}},
		{"subagent of main", workspace.LoadOptions{Subagent: true, Main: true}, []string{"AGENTS.md", "TOOLS.md"}},
	}
	for _, tt := range tests {
		if diff := cmp.Diff(tt.want, fileNames(workspace.Load(dir, tt.opts))); diff != "" {
			t.Errorf("%s: Load() (-want +got):\n%s", tt.name, diff)
		}
	}
}

// RT-014: two names of one memory file count once, two files twice.
func TestLoadMemoryNames(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "MEMORY.md", "long term")
	if err := os.Link(filepath.Join(dir, "MEMORY.md"), filepath.Join(dir, "memory.md")); err != nil {
		t.Fatal(err)
	}
	count := func() int {
		n := 0
		for _, f := range workspace.Load(dir, workspace.LoadOptions{Main: true}) {
			if strings.EqualFold(f.Name, "MEMORY.md") {
				n++
			}
		}
		return n
	}
	if got := count(); got != 1 {
		t.Errorf("one file under two names was loaded %d times, want 1", got)
	}
	if err := os.Remove(filepath.Join(dir, "memory.md")); err != nil {
		t.Fatal(err)
	}
	write(t, dir, "memory.md", "another")
	if got := count(); got != 2 {
		t.Errorf("two files were loaded %d times, want 2", got)
	}
	if err := os.Remove(filepath.Join(dir, "MEMORY.md")); err != nil {
		t.Fatal(err)
	}
	if got := count(); got != 1 {
		t.Errorf("memory.md alone was loaded %d times, want 1", got)
	}
}

// RT-013: the cut is byte-exact and counts characters, not bytes.
func TestLoadTruncates(t *testing.T) {
	tests := []struct {
		name, text string
		max        int
		want       string
	}{
		{"at the limit", "0123456789", 10, "0123456789"},
		{"one over", "0123456789a", 10,
			"0123456\n\n[...truncated, read SOUL.md for full content...]\n…(truncated SOUL.md: kept 7+2 chars of 11)…\n\n9a"},
		{"wide characters", strings.Repeat("é", 30), 20,
			strings.Repeat("é", 14) + "\n\n[...truncated, read SOUL.md for full content...]\n…(truncated SOUL.md: kept 14+4 chars of 30)…\n\n" + strings.Repeat("é", 4)},
		{"limit whose product is not exact", strings.Repeat("x", 100), 90,
			strings.Repeat("x", 62) + "\n\n[...truncated, read SOUL.md for full content...]\n…(truncated SOUL.md: kept 62+18 chars of 100)…\n\n" + strings.Repeat("x", 18)},
		{"tiny limit", "abcdef", 1,
			"\n\n[...truncated, read SOUL.md for full content...]\n…(truncated SOUL.md: kept 0+0 chars of 6)…\n\n"},
		{"trimmed before counting", "0123456789  \n\n", 10, "0123456789"},
	}
	for _, tt := range tests {
		dir := t.TempDir()
		write(t, dir, "SOUL.md", tt.text)
		for _, f := range workspace.Load(dir, workspace.LoadOptions{MaxChars: tt.max}) {
			if f.Name != "SOUL.md" {
				continue
			}
			if diff := cmp.Diff(tt.want, f.Content); diff != "" {
				t.Errorf("%s: content (-want +got):\n%s", tt.name, diff)
			}
			if got := utf8.RuneCountInString(f.Content); got != f.InjectedChars {
				t.Errorf("%s: InjectedChars = %d, want %d", tt.name, f.InjectedChars, got)
			}
			if want := tt.want != strings.TrimSpace(tt.text); f.Truncated != want {
				t.Errorf("%s: Truncated = %v, want %v", tt.name, f.Truncated, want)
			}
		}
	}
}

func TestLoadInvalidUTF8(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "SOUL.md", "a\xff\xfeb")
	for _, f := range workspace.Load(dir, workspace.LoadOptions{}) {
		if !utf8.ValidString(f.Content) {
			t.Errorf("%s carries invalid text %q", f.Name, f.Content)
		}
	}
}

func TestParseIdentity(t *testing.T) {
	tests := []struct {
		name, text string
		want       workspace.Identity
	}{
		{"full", "# Who\n- **Name:** Rex\n- **Creature:** robot\r\n- **Vibe:** calm\n- **Theme:** space\n- **Emoji:** 🦞\n- **Avatar:** pics/me.png\n",
			workspace.Identity{Name: "Rex", Creature: "robot", Vibe: "calm", Theme: "space", Emoji: "🦞", Avatar: "pics/me.png"}},
		{"label case and marks", "-   __NAME__ : **Rex**\n* _eMoJi_: x\n",
			workspace.Identity{Name: "Rex", Emoji: "x"}},
		{"without bullet", "Name: Rex", workspace.Identity{Name: "Rex"}},
		{"url keeps its colons", "- **Avatar:** https://example.org/a.png", workspace.Identity{Avatar: "https://example.org/a.png"}},
		{"placeholders", "- **Name:** (pick one)\n- **Vibe:** _(warm?)_\n- **Emoji:** _one_\n- **Creature:** *one*\n", workspace.Identity{}},
		{"empty", "- **Name:**\n- **Vibe:**   \n", workspace.Identity{}},
		{"last wins", "- **Name:** A\n- **Name:** B\n- **Name:**\n", workspace.Identity{Name: "B"}},
	}
	for _, tt := range tests {
		if diff := cmp.Diff(tt.want, workspace.ParseIdentity(tt.text)); diff != "" {
			t.Errorf("%s: ParseIdentity(%q) (-want +got):\n%s", tt.name, tt.text, diff)
		}
	}
}

func FuzzParseIdentity(f *testing.F) {
	f.Add("- **Name:** Rex\n- **Emoji:** _(x)_")
	f.Add("name:*_*:")
	f.Add("- ** : **\n(")
	f.Fuzz(func(t *testing.T, text string) {
		id := workspace.ParseIdentity(text)
		for _, v := range []string{id.Name, id.Creature, id.Vibe, id.Theme, id.Emoji, id.Avatar} {
			if v != strings.TrimSpace(v) || strings.Contains(v, "\n") {
				t.Errorf("ParseIdentity(%q) holds %q, want one trimmed line", text, v)
			}
		}
	})
}

func BenchmarkLoad(b *testing.B) {
	dir := b.TempDir()
	g := &git{}
	if _, err := workspace.Ensure(b.Context(), dir, workspace.EnsureOptions{Git: g.run}); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		workspace.Load(dir, workspace.LoadOptions{Main: true})
	}
}
