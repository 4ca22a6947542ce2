package file

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

func TestWrite(t *testing.T) {
	k := newKit(t)
	if got, want := k.text("write", "path", "note.txt", "content", "alpha\nbeta\n"), "Successfully wrote 11 bytes to note.txt"; got != want {
		t.Errorf("write = %q, want %q", got, want)
	}
	if got, want := k.text("write", "file_path", "a/b/c.txt", "content", "é"), "Successfully wrote 2 bytes to a/b/c.txt"; got != want {
		t.Errorf("write = %q, want %q", got, want)
	}
	k.text("write", "path", "note.txt", "content", "")
	if got := k.content("note.txt"); got != "" {
		t.Errorf("content after overwriting = %q, want nothing", got)
	}
	k.text("write", "path", "~/home.txt", "content", "  kept  ")
	if got := k.content("home.txt"); got != "  kept  " {
		t.Errorf("content = %q, want the blanks kept", got)
	}
	if left, _ := filepath.Glob(k.path(".tmp-*")); len(left) != 0 {
		t.Errorf("temporary files left: %v", left)
	}
}

func TestWriteKeepsModeLinksAndNames(t *testing.T) {
	k := newKit(t)
	script := k.put("run.sh", "old")
	k.must(os.Chmod(script, 0o750))
	k.must(os.Symlink("run.sh", k.path("link")))
	k.must(os.Symlink("not-yet", k.path("dangling")))
	k.put("one", "x")
	k.must(os.Link(k.path("one"), k.path("two")))

	k.text("write", "path", "link", "content", "new")
	info, err := os.Lstat(k.path("link"))
	k.must(err)
	if info.Mode()&os.ModeSymlink == 0 {
		t.Error("writing through a link replaced the link")
	}
	info, err = os.Stat(script)
	k.must(err)
	if got := k.content("run.sh"); got != "new" || info.Mode().Perm() != 0o750 {
		t.Errorf("target = %q with mode %v, want %q with -rwxr-x---", got, info.Mode(), "new")
	}
	k.text("write", "path", "dangling", "content", "made")
	if got := k.content("not-yet"); got != "made" {
		t.Errorf("target of a dangling link = %q, want %q", got, "made")
	}
	k.text("write", "path", "one", "content", "both")
	if got := k.content("two"); got != "both" {
		t.Errorf("the other name holds %q, want %q: a hard link was parted", got, "both")
	}
}

func TestWriteConfinedKeepsMode(t *testing.T) {
	k := confinedKit(t)
	k.must(os.Chmod(k.put("s.sh", "old"), 0o700))
	k.text("write", "path", "s.sh", "content", "new")
	info, err := os.Stat(k.path("s.sh"))
	k.must(err)
	if info.Mode().Perm() != 0o700 || k.content("s.sh") != "new" {
		t.Errorf("mode = %v, content = %q, want 0700 and the new text", info.Mode(), k.content("s.sh"))
	}
}

// A reader sees the old file or the new one, never a part.
func TestWriteIsAtomic(t *testing.T) {
	k := newKit(t)
	a, b := strings.Repeat("a", 200_000), strings.Repeat("b", 200_000)
	k.put("f", a)
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			data, err := os.ReadFile(k.path("f"))
			if err != nil || string(data) != a && string(data) != b {
				t.Errorf("a reader saw %d bytes, %v, want one of the two files", len(data), err)
				return
			}
		}
	})
	for i := range 20 {
		content := a
		if i%2 == 0 {
			content = b
		}
		k.text("write", "path", "f", "content", content)
	}
	close(stop)
	wg.Wait()
}
