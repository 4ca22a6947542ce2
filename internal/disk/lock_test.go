package disk

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func TestLockExcludes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.lock")
	opts := LockOptions{Poll: time.Millisecond}
	var inside, most atomic.Int32
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 20 {
				l, err := Lock(t.Context(), path, opts)
				if err != nil {
					t.Error(err)
					return
				}
				if n := inside.Add(1); n > most.Load() {
					most.Store(n)
				}
				inside.Add(-1)
				if err := l.Unlock(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if most.Load() != 1 {
		t.Errorf("%d owners at once, want 1", most.Load())
	}
	if got := names(t, filepath.Dir(path)); len(got) != 0 {
		t.Errorf("left over files: %v", got)
	}
}

func TestLockContentAndTimeout(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.lock")
	l, err := Lock(t.Context(), path, LockOptions{Content: func() []byte { return []byte(`{"pid":7,"createdAt":"x"}`) }})
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal([]byte(read(t, path)), &got); err != nil || got["pid"] != 7.0 || got["createdAt"] != "x" {
		t.Errorf("content = %v, %v", got, err)
	}
	// Our own lock is never stale while its owner lives, whatever Stale says.
	_, err = Lock(t.Context(), path, LockOptions{
		Timeout: 5 * time.Millisecond, Poll: time.Millisecond,
		Stale: func([]byte, time.Duration) bool { return true },
	})
	var locked *LockedError
	if !errors.As(err, &locked) || !errors.Is(err, ErrLocked) || !strings.Contains(string(locked.Content), `"pid":7`) {
		t.Errorf("Lock of a held lock = %v, want a LockedError with its content", err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("given up")
	cancel(why)
	if _, err := Lock(ctx, path, LockOptions{}); !errors.Is(err, why) {
		t.Errorf("Lock with ended context = %v, want its cause", err)
	}
	if err := errors.Join(l.Unlock(), l.Unlock()); err != nil {
		t.Error(err)
	}
	l, err = Lock(t.Context(), path, LockOptions{Timeout: -1})
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Unlock(); err != nil {
		t.Error(err)
	}
}

func TestLockStale(t *testing.T) {
	old := time.Now().Add(-time.Hour)
	for _, tt := range []struct {
		name, content string
		stale         func([]byte, time.Duration) bool
		want          bool
	}{
		{"ours without owner", `{"pid":1,"flock":true}`, nil, true},
		{"foreign, no rule", `{"pid":1}`, nil, false},
		{"foreign, dead", `{"pid":1}`, func(c []byte, age time.Duration) bool {
			return string(c) == `{"pid":1}` && age > 30*time.Minute
		}, true},
		{"foreign, alive", `{"pid":1}`, func([]byte, time.Duration) bool { return false }, false},
		{"empty after a crash", "", func(_ []byte, age time.Duration) bool { return age > time.Minute }, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "s.lock")
			write(t, path, tt.content)
			if err := os.Chtimes(path, old, old); err != nil {
				t.Fatal(err)
			}
			l, err := Lock(t.Context(), path, LockOptions{Timeout: -1, Stale: tt.stale})
			if got := err == nil; got != tt.want {
				t.Fatalf("Lock = %v, want taken over: %v", err, tt.want)
			}
			if err != nil {
				return
			}
			if err := l.Unlock(); err != nil {
				t.Error(err)
			}
		})
	}
}

// A lock dies with its process, also when that is killed.
func TestLockOfKilledProcess(t *testing.T) {
	path := os.Getenv("DISK_TEST_LOCK")
	if path != "" {
		if _, err := Lock(t.Context(), path, LockOptions{}); err != nil {
			t.Fatal(err)
		}
		os.Stdout.WriteString("locked\n")
		select {} // until killed
	}
	path = filepath.Join(t.TempDir(), "s.lock")
	cmd := exec.Command(os.Args[0], "-test.run=^TestLockOfKilledProcess$")
	cmd.Env = append(os.Environ(), "DISK_TEST_LOCK="+path)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 7)
	if _, err := out.Read(buf); err != nil || string(buf) != "locked\n" {
		t.Fatalf("child said %q, %v", buf, err)
	}
	if _, err := Lock(t.Context(), path, LockOptions{Timeout: -1}); !errors.Is(err, ErrLocked) {
		t.Errorf("Lock while the owner lives = %v, want ErrLocked", err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	cmd.Wait() // reports the kill
	l, err := Lock(t.Context(), path, LockOptions{Timeout: -1})
	if err != nil {
		t.Fatalf("Lock after the owner was killed: %v", err)
	}
	if err := l.Unlock(); err != nil {
		t.Error(err)
	}
}

func TestUnlockLeavesStolenLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.lock")
	l, err := Lock(t.Context(), path, LockOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	write(t, path, `{"pid":2}`)
	if err := l.Unlock(); err != nil {
		t.Fatal(err)
	}
	if got := read(t, path); got != `{"pid":2}` {
		t.Errorf("the new owner's lock holds %q", got)
	}
}

func TestCreatePlain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.lock")
	l, err := createPlain(path, LockOptions{Content: func() []byte { return []byte("{}") }})
	if err != nil {
		t.Fatal(err)
	}
	if got := read(t, path); got != `{"flock":true}` {
		t.Errorf("content = %q", got)
	}
	if _, err := createPlain(path, LockOptions{}); !errors.Is(err, os.ErrExist) {
		t.Errorf("second createPlain = %v, want ErrExist", err)
	}
	if _, err := Lock(t.Context(), path, LockOptions{Timeout: -1}); !errors.Is(err, ErrLocked) {
		t.Errorf("Lock = %v, want ErrLocked", err)
	}
	if err := l.Unlock(); err != nil {
		t.Error(err)
	}
}
