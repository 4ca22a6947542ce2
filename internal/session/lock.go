package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"time"

	"openclaw/internal/disk"
)

// lockTranscript takes <path>.lock as other programs do. Within this process the
// tape is what is shared; between processes it is this file.
func (s *Store) lockTranscript(ctx context.Context, path string) (*disk.FileLock, error) {
	if err := disk.MkdirAll(filepath.Dir(path)); err != nil {
		return nil, err
	}
	return s.lockWithin(ctx, path, 10*time.Second)
}

func (s *Store) lockWithin(ctx context.Context, path string, timeout time.Duration) (*disk.FileLock, error) {
	lock, err := disk.Lock(ctx, path+".lock", disk.LockOptions{
		Content: func() []byte { return lockContent("createdAt", `"`+s.now().UTC().Format(isoMillis)+`"`) },
		Stale:   staleLock,
		Timeout: timeout,
	})
	var held *disk.LockedError
	if errors.As(err, &held) {
		pid := ""
		if n := lockPID(held.Content); n > 0 {
			pid = strconv.Itoa(n)
		}
		return nil, fmt.Errorf("%w (timeout %dms): pid=%s %s", ErrLocked, timeout.Milliseconds(), pid, path)
	}
	return lock, err
}

// ErrLocked says that another process writes the transcript.
var ErrLocked = errors.New("session file locked")

// staleLock judges the lock file of a program that uses no kernel locks.
func staleLock(content []byte, age time.Duration) bool {
	if age > 30*time.Minute {
		return true
	}
	pid := lockPID(content)
	return pid > 0 && !alive(pid)
}

func lockPID(content []byte) int {
	var owner struct {
		PID int `json:"pid"`
	}
	if json.Unmarshal(content, &owner) != nil {
		return 0
	}
	return owner.PID
}
