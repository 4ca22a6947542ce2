package disk

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
)

func TestAppend(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.jsonl")
	a, err := OpenAppend(path, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Append(true, []byte(`{"a":1}`), []byte(`{"b":2}`)); err != nil {
		t.Fatal(err)
	}
	if err := a.Append(false, []byte("x\ny")); err == nil {
		t.Error("a line with a newline was accepted")
	}
	if n, err := a.Size(); n != 16 || err != nil {
		t.Errorf("Size = %d, %v, want 16", n, err)
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	if err := a.Append(false, []byte("z")); !errors.Is(err, os.ErrClosed) {
		t.Errorf("Append after Close = %v, want ErrClosed", err)
	}
	if got, want := read(t, path), "{\"a\":1}\n{\"b\":2}\n"; got != want {
		t.Errorf("file = %q, want %q", got, want)
	}
}

func TestAppendEndsTornLine(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.jsonl")
	write(t, path, "{\"a\":1}\n{\"tor")
	a, err := OpenAppend(path, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	if err := a.Append(true); err != nil {
		t.Fatal(err)
	}
	if got := read(t, path); got != "{\"a\":1}\n{\"tor" {
		t.Errorf("an empty append wrote: %q", got)
	}
	for _, line := range []string{"1", "2"} {
		if err := a.Append(false, []byte(line)); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := read(t, path), "{\"a\":1}\n{\"tor\n1\n2\n"; got != want {
		t.Errorf("file = %q, want %q", got, want)
	}
}

func TestAppendConcurrent(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.jsonl")
	a, err := OpenAppend(path, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 50 {
				if err := a.Append(false, []byte("0123456789")); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if got := len(read(t, path)); got != 8*50*11 {
		t.Errorf("length = %d, want %d", got, 8*50*11)
	}
}

func TestOpenAppendRefuses(t *testing.T) {
	dir := t.TempDir()
	for _, path := range []string{dir, filepath.Join(dir, "no", "file"), os.DevNull} {
		if a, err := OpenAppend(path, 0o600); err == nil {
			a.Close()
			t.Errorf("OpenAppend(%q) succeeded", path)
		}
	}
}
