//go:build unix

package disk

import (
	"path/filepath"
	"syscall"
	"testing"
)

// A disk that fills up in the middle of a write must not leave half a line.
func TestAppendTakesPartialWriteBack(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.jsonl")
	a, err := OpenAppend(path, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	if err := a.Append(false, []byte("whole")); err != nil {
		t.Fatal(err)
	}
	var old syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &old); err != nil {
		t.Fatal(err)
	}
	limited := old
	limited.Cur = 10
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limited); err != nil {
		t.Fatal(err)
	}
	err = a.Append(false, []byte("0123456789"))
	if rerr := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &old); rerr != nil {
		t.Fatal(rerr)
	}
	if err == nil {
		t.Fatal("Append beyond the limit succeeded")
	}
	if got := read(t, path); got != "whole\n" {
		t.Errorf("file = %q, want the whole line only", got)
	}
	if err := a.Append(false, []byte("next")); err != nil {
		t.Fatal(err)
	}
	if got := read(t, path); got != "whole\nnext\n" {
		t.Errorf("file = %q, want two lines", got)
	}
}
