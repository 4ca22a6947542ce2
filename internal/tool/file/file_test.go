package file

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"openclaw/internal/tool"
	"openclaw/internal/tool/tooltest"
)

// kit is a workspace with its tools.
type kit struct {
	t   *testing.T
	dir string
	s   Scope
}

func newKit(t *testing.T) *kit {
	dir := t.TempDir()
	return &kit{t: t, dir: dir, s: Scope{Dir: dir}}
}

func confinedKit(t *testing.T) *kit {
	k := newKit(t)
	k.dir = filepath.Join(k.dir, "root")
	k.must(os.Mkdir(k.dir, 0o755))
	k.s = Scope{Dir: k.dir, Root: k.dir}
	return k
}

func (k *kit) must(err error) {
	k.t.Helper()
	if err != nil {
		k.t.Fatal(err)
	}
}

func (k *kit) path(name string) string { return filepath.Join(k.dir, name) }

func (k *kit) put(name, content string) string {
	k.t.Helper()
	k.must(os.MkdirAll(filepath.Dir(k.path(name)), 0o755))
	k.must(os.WriteFile(k.path(name), []byte(content), 0o644))
	return k.path(name)
}

func (k *kit) content(name string) string {
	k.t.Helper()
	data, err := os.ReadFile(k.path(name))
	k.must(err)
	return string(data)
}

// call executes a tool; args alternate names and values.
func (k *kit) call(ctx context.Context, name string, args ...any) (tool.Result, error) {
	k.t.Helper()
	object := map[string]any{}
	for i := 0; i < len(args); i += 2 {
		object[args[i].(string)] = args[i+1]
	}
	data, err := json.Marshal(object)
	k.must(err)
	for _, t := range New(Config{Home: k.dir}).Tools(k.s) {
		if t.Spec().Name == name {
			return t.Execute(ctx, tool.Call{ID: "call", Args: data})
		}
	}
	k.t.Fatalf("no tool %s", name)
	return tool.Result{}, nil
}

// text is call for calls that must work.
func (k *kit) text(name string, args ...any) string {
	k.t.Helper()
	r, err := k.call(k.t.Context(), name, args...)
	if err != nil {
		k.t.Fatalf("%s%v = %v", name, args, err)
	}
	if text, failed := outcome(r); failed {
		k.t.Fatalf("%s%v failed: %s", name, args, text)
	}
	return r.Content[0].Text
}

// fails is call for calls that must not work; it returns the error's text.
func (k *kit) fails(name string, args ...any) string {
	k.t.Helper()
	r, err := k.call(k.t.Context(), name, args...)
	if err != nil {
		k.t.Fatalf("%s%v = %v, want a failure as a result", name, args, err)
	}
	text, failed := outcome(r)
	if !failed {
		k.t.Fatalf("%s%v = %q, want a failure", name, args, r.Content.Text())
	}
	return text
}

func outcome(r tool.Result) (string, bool) {
	details, _ := r.DetailsJSON()
	return tool.Failed(r.IsError, r.Content, details)
}

func wantContains(t *testing.T, got string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if !strings.Contains(got, p) {
			t.Errorf("text = %q, want %q in it", got, p)
		}
	}
}

func TestToolsAndMeta(t *testing.T) {
	tools := New(Config{}).Tools(Scope{Dir: "/w"})
	args := map[string]string{
		"read":  `{"file_path":" notes.md "}`,
		"edit":  `{"path":"a.go","oldText":"x","newText":"y"}`,
		"write": `{"path":"b.go","content":""}`,
	}
	want := map[string]string{"read": "notes.md", "edit": "a.go", "write": "b.go"}
	for _, tl := range tools {
		name := tl.Spec().Name
		if got := tl.(tool.Describer).Describe(json.RawMessage(args[name])); got != want[name] {
			t.Errorf("Describe of %s = %q, want %q", name, got, want[name])
		}
		delete(want, name)
		if s := tl.Spec(); s.Description == "" || s.Summary == "" || s.Label == "" {
			t.Errorf("spec of %s lacks a text: %+v", name, s)
		}
	}
	if len(want) != 0 {
		t.Errorf("tools without a test: %v", want)
	}
	read := tools[0].(tool.Describer)
	for args, want := range map[string]string{
		`{"path":"a","offset":5}`:             "a:5-",
		`{"path":"a","limit":10}`:             "a:1-10",
		`{"path":"a","offset":5,"limit":"2"}`: "a:5-6",
	} {
		if got := read.Describe(json.RawMessage(args)); got != want {
			t.Errorf("Describe(%s) = %q, want %q", args, got, want)
		}
	}
}

func TestContract(t *testing.T) {
	tooltest.Run(t, New(Config{}).Tools(Scope{Dir: t.TempDir()}))
}

func TestMissingArguments(t *testing.T) {
	k := newKit(t)
	for _, tt := range []struct{ name, want string }{
		{"read", "path required"},
		{"edit", "path required"},
	} {
		if got := k.fails(tt.name, "path", "  "); got != tt.want {
			t.Errorf("%s without a path = %q, want %q", tt.name, got, tt.want)
		}
	}
	var bad *tool.ArgumentError
	if _, err := k.call(t.Context(), "write", "path", "x"); !errors.As(err, &bad) {
		t.Errorf("write without content = %v, want an argument error", err)
	}
	if got := k.fails("edit", "path", "x", "newText", "y"); got != "oldText required" {
		t.Errorf("edit without oldText = %q", got)
	}
	if got := k.fails("edit", "path", "x", "oldText", "y"); got != "newText required" {
		t.Errorf("edit without newText = %q", got)
	}
}

// The spellings of a path that models and chats produce.
func TestPathSpellings(t *testing.T) {
	k := newKit(t)
	k.put("plain.txt", "plain")
	k.put("two words.txt", "spaces")
	k.put("@scope/pkg.txt", "scoped")
	k.put("sub/Screenshot 2026-01-02 at 3.04.05\u202fPM.txt", "screenshot")
	k.put("it\u2019s.txt", "apostrophe")
	tests := []struct{ path, want string }{
		{"plain.txt", "plain"},
		{"./sub/../plain.txt", "plain"},
		{k.path("plain.txt"), "plain"},
		{"@plain.txt", "plain"},
		{"~/plain.txt", "plain"},
		{"@~/plain.txt", "plain"},
		{"two\u00a0words.txt", "spaces"},
		{"@two\u2009words.txt", "spaces"},
		{"@scope/pkg.txt", "scoped"},
		{"sub/Screenshot 2026-01-02 at 3.04.05 PM.txt", "screenshot"},
		{"it's.txt", "apostrophe"},
	}
	for _, tt := range tests {
		if got := k.text("read", "path", tt.path); got != tt.want {
			t.Errorf("read(%q) = %q, want %q", tt.path, got, tt.want)
		}
	}
	k.text("write", "path", "@new\u00a0file.txt", "content", "x")
	if got := k.content("new file.txt"); got != "x" {
		t.Errorf("a written @path holds %q, want %q", got, "x")
	}
	k.text("write", "path", "@scope/new.txt", "content", "y")
	if got := k.content("@scope/new.txt"); got != "y" {
		t.Errorf("a path in an existing @folder holds %q", got)
	}
	wantContains(t, k.fails("read", "path", "a\x00b"), "NUL")
}

// RT-101: in the sandbox no path leads out and no link is followed.
func TestRT101Confined(t *testing.T) {
	k := confinedKit(t)
	outside := filepath.Join(filepath.Dir(k.dir), "outside.txt")
	k.must(os.WriteFile(outside, []byte("secret"), 0o644))
	k.put("in.txt", "inside")
	k.put("sub/deep.txt", "deep")
	k.must(os.Symlink(outside, k.path("out-link")))
	k.must(os.Symlink("in.txt", k.path("in-link")))
	k.must(os.Symlink("..", k.path("sub/up")))
	k.must(os.Symlink("/", k.path("slash")))

	for _, good := range []string{"in.txt", "sub/../in.txt", k.path("in.txt")} {
		if got := k.text("read", "path", good); got != "inside" {
			t.Errorf("read(%q) = %q, want %q", good, got, "inside")
		}
	}
	k.text("write", "path", "new/folder/f.txt", "content", "fresh")
	if got := k.content("new/folder/f.txt"); got != "fresh" {
		t.Errorf("written file = %q, want %q", got, "fresh")
	}
	k.text("edit", "path", "sub/deep.txt", "oldText", "deep", "newText", "deeper")
	if got := k.content("sub/deep.txt"); got != "deeper" {
		t.Errorf("edited file = %q, want %q", got, "deeper")
	}

	for _, bad := range []string{"../outside.txt", "sub/../../outside.txt", outside, "/etc/passwd", "out-link",
		"in-link", "sub/up/in.txt", "slash/etc/passwd", "..", "new/../../x"} {
		for _, args := range [][]any{
			{"read", "path", bad},
			{"write", "path", bad, "content", "owned"},
			{"edit", "path", bad, "oldText", "secret", "newText", "owned"},
		} {
			text := k.fails(args[0].(string), args[1:]...)
			if !strings.Contains(text, "sandbox") && !strings.Contains(text, "EISDIR") && !strings.Contains(text, "ENOENT") {
				t.Errorf("%v = %q, want a refusal", args, text)
			}
		}
	}
	if got, _ := os.ReadFile(outside); string(got) != "secret" {
		t.Errorf("the file outside holds %q, want it untouched", got)
	}
	if got := k.content("in.txt"); got != "inside" {
		t.Errorf("the linked file holds %q, want it untouched", got)
	}
}

// A confined place that is a link itself works by both of its names.
func TestConfinedRootBehindLink(t *testing.T) {
	k := confinedKit(t)
	k.put("f.txt", "x")
	link := filepath.Join(filepath.Dir(k.dir), "alias")
	k.must(os.Symlink(k.dir, link))
	real, err := filepath.EvalSymlinks(k.dir)
	k.must(err)
	k.s = Scope{Dir: link, Root: link}
	for _, p := range []string{"f.txt", filepath.Join(link, "f.txt"), filepath.Join(real, "f.txt")} {
		if got := k.text("read", "path", p); got != "x" {
			t.Errorf("read(%q) = %q, want %q", p, got, "x")
		}
	}
}

// Whatever a path looks like, a confined tool stays inside.
func FuzzConfined(f *testing.F) {
	for _, s := range []string{"a", "../a", "/etc/passwd", "~", "@../x", "a/../../b", "./\u00a0/..", "\u2024./x", "sub/../..//x", "....//x"} {
		f.Add(s)
	}
	base := f.TempDir()
	root := filepath.Join(base, "root")
	if err := os.MkdirAll(filepath.Join(root, "sub"), 0o755); err != nil {
		f.Fatal(err)
	}
	s := &scope{Scope: Scope{Dir: filepath.Join(root, "sub"), Root: root}, files: New(Config{Home: base})}
	f.Fuzz(func(t *testing.T, path string) {
		p, err := s.locate(path, true)
		if err != nil {
			return
		}
		defer func() { _ = p.Close() }()
		if !p.confined() || !filepath.IsLocal(p.name) {
			t.Errorf("locate(%q) = %q, want it inside the root", path, p.name)
		}
		if rel, err := filepath.Rel(root, p.path); err != nil || !filepath.IsLocal(rel) {
			t.Errorf("locate(%q).path = %q, want it inside the root", path, p.path)
		}
	})
}

func newCancelled(t *testing.T) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx, cancel
}
