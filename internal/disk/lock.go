package disk

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/gofrs/flock"
)

// ErrLocked is what a [*LockedError] wraps.
var ErrLocked = errors.New("locked by another process")

// LockedError reports a lock that was not freed in time. Content is what its
// owner wrote into the lock file.
type LockedError struct {
	Path    string
	Content []byte
	Timeout time.Duration
}

func (e *LockedError) Error() string {
	return fmt.Sprintf("lock %s: %v (timeout %dms)", e.Path, ErrLocked, e.Timeout.Milliseconds())
}

func (e *LockedError) Unwrap() error { return ErrLocked }

// LockOptions says what a lock file holds and when somebody else's is dead.
type LockOptions struct {
	// Content is the JSON object to write into the lock file, such as
	// {"pid":1,"createdAt":"…"}. Nil writes the process id.
	Content func() []byte
	// Stale reports whether a lock file of a program that does not use kernel
	// locks may be removed; age counts from its last modification. It is never
	// asked about a lock of ours, whose kernel lock tells. Nil means never.
	Stale func(content []byte, age time.Duration) bool
	// Poll is the wait between two tries; default 50 ms.
	Poll time.Duration
	// Timeout bounds the wait; default 10 s, negative means a single try.
	Timeout time.Duration
}

// FileLock is a held lock file.
type FileLock struct {
	path string
	fl   *flock.Flock
}

// marker tells our lock files from those of other programs sharing the path: it
// promises that the owner holds a kernel lock on the file while it lives.
const marker = `"flock":true}`

// Lock creates the lock file path exclusively and waits while somebody else
// holds it. The file appears with its content and a kernel lock in one step, so
// a file of ours whose kernel lock is free belongs to a dead process and is
// removed at once. It returns a [*LockedError] after opts.Timeout, or the cause
// of ctx. The folder must exist.
func Lock(ctx context.Context, path string, opts LockOptions) (*FileLock, error) {
	timeout := cmp.Or(opts.Timeout, 10*time.Second)
	deadline := time.Now().Add(timeout)
	for {
		l, err := create(path, opts)
		if err == nil {
			return l, nil
		}
		if !errors.Is(err, fs.ErrExist) {
			return nil, fmt.Errorf("lock %s: %w", path, err)
		}
		freed, content, err := removeStale(path, opts)
		if err != nil {
			return nil, fmt.Errorf("lock %s: %w", path, err)
		}
		if freed {
			continue
		}
		left := time.Until(deadline)
		if left <= 0 {
			return nil, &LockedError{Path: path, Content: content, Timeout: max(timeout, 0)}
		}
		wait := time.NewTimer(min(left, cmp.Or(opts.Poll, 50*time.Millisecond)))
		select {
		case <-ctx.Done():
			wait.Stop()
			return nil, fmt.Errorf("lock %s: %w", path, context.Cause(ctx))
		case <-wait.C:
		}
	}
}

// Unlock removes the lock file. Later calls do nothing.
func (l *FileLock) Unlock() error {
	if !l.fl.Locked() {
		return nil
	}
	// Remove first: once the kernel lock is free, anybody may own the path. A
	// program that took the lock by force owns it already.
	var err error
	if mine, serr := l.fl.Stat(); serr == nil && isFile(l.path, mine) {
		err = os.Remove(l.path)
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	if uerr := l.fl.Unlock(); err == nil {
		err = uerr
	}
	if err != nil {
		return fmt.Errorf("unlock %s: %w", l.path, err)
	}
	return nil
}

func isFile(path string, want os.FileInfo) bool {
	info, err := os.Stat(path)
	return err == nil && os.SameFile(info, want)
}

// create makes the lock file under a private name, locks it and links it to
// path, which fails with [fs.ErrExist] when path is taken.
func create(path string, opts LockOptions) (*FileLock, error) {
	tmp, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return nil, err
	}
	defer os.Remove(tmp.Name())
	_, err = tmp.Write(content(opts))
	if cerr := tmp.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return nil, err
	}
	fl := flock.New(tmp.Name())
	if ok, err := fl.TryLock(); err != nil || !ok {
		return nil, cmp.Or(err, error(fs.ErrExist))
	}
	err = os.Link(tmp.Name(), path)
	if err == nil {
		return &FileLock{path: path, fl: fl}, nil
	}
	fl.Unlock()
	if errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	return createPlain(path, opts) // a file system without hard links
}

// createPlain is [create] without links: the content follows the file, and the
// marker comes last, after the kernel lock.
func createPlain(path string, opts LockOptions) (*FileLock, error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	fl := flock.New(path)
	if err := fl.Lock(); err != nil {
		os.Remove(path)
		return nil, err
	}
	if _, err := f.Write(content(opts)); err != nil {
		os.Remove(path)
		fl.Unlock()
		return nil, err
	}
	return &FileLock{path: path, fl: fl}, nil
}

func content(opts LockOptions) []byte {
	body := []byte(`{"pid":` + strconv.Itoa(os.Getpid()) + `}`)
	if opts.Content != nil {
		body = bytes.TrimSpace(opts.Content())
	}
	object, ok := bytes.CutSuffix(body, []byte("}"))
	if !ok {
		return body
	}
	object = bytes.Clone(object)
	if !bytes.Equal(object, []byte("{")) {
		object = append(object, ',')
	}
	return append(object, marker...)
}

// removeStale removes a dead lock file. It holds the kernel lock while it
// looks, so two processes of ours never remove each other's fresh lock.
func removeStale(path string, opts LockOptions) (freed bool, owner []byte, err error) {
	fl := flock.New(path, flock.SetFlag(os.O_RDONLY))
	ok, err := fl.TryLock()
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil, nil
	}
	if err != nil {
		return false, nil, err
	}
	owner, readErr := os.ReadFile(path)
	if !ok {
		return false, owner, nil // alive
	}
	defer fl.Unlock()
	mine, err := fl.Stat()
	if err != nil {
		return false, owner, err
	}
	now, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) || readErr != nil || err == nil && !os.SameFile(mine, now) {
		return true, nil, nil // it changed hands meanwhile
	}
	if err != nil {
		return false, owner, err
	}
	dead := bytes.HasSuffix(owner, []byte(marker))
	if !dead && opts.Stale != nil {
		dead = opts.Stale(owner, time.Since(now.ModTime()))
	}
	if !dead {
		return false, owner, nil
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, owner, err
	}
	return true, nil, nil
}
