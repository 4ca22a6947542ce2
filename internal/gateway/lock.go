package gateway

import (
	"context"
	"crypto/sha1"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"openclaw/internal/disk"
)

// Times of the single-instance lock. See docs/protocol.md#single-instance.
const (
	lockTimeout = 5000 * time.Millisecond
	lockPoll    = 100 * time.Millisecond
	lockStale   = 30_000 * time.Millisecond
)

// lockOwner is the content of the lock file; other implementations read it too.
type lockOwner struct {
	PID        int    `json:"pid"`
	CreatedAt  string `json:"createdAt"`
	ConfigPath string `json:"configPath"`
	StartTime  int64  `json:"startTime,omitempty"`
}

// RunningError says that another gateway with the same config is running.
type RunningError struct {
	// PID of the other gateway, 0 when it is not known.
	PID int
}

func (e *RunningError) Error() string {
	owner := ""
	if e.PID > 0 {
		owner = fmt.Sprintf(" (pid %d)", e.PID)
	}
	return fmt.Sprintf("gateway already running%s; lock timeout after %dms", owner, lockTimeout.Milliseconds())
}

// lockInstance makes sure that this is the only gateway with the config at
// configPath. It returns a [*RunningError] when it is not. Tmp is the folder for
// temporary files of the host.
func lockInstance(ctx context.Context, tmp, configPath string) (*disk.FileLock, error) {
	dir := "openclaw"
	if uid := os.Getuid(); uid >= 0 {
		dir += "-" + strconv.Itoa(uid)
	}
	dir = filepath.Join(tmp, dir)
	if err := disk.MkdirAll(dir); err != nil {
		return nil, fmt.Errorf("create lock folder: %w", err)
	}
	sum := sha1.Sum([]byte(configPath))
	path := filepath.Join(dir, "gateway."+hex.EncodeToString(sum[:])[:8]+".lock")
	lock, err := disk.Lock(ctx, path, disk.LockOptions{
		Content: func() []byte { return lockContent(configPath) },
		Stale:   staleLock,
		Poll:    lockPoll,
		Timeout: lockTimeout,
	})
	var locked *disk.LockedError
	if errors.As(err, &locked) {
		var owner lockOwner
		// An owner that cannot be read is reported without its pid.
		_ = json.Unmarshal(locked.Content, &owner)
		return nil, &RunningError{PID: owner.PID}
	}
	if err != nil {
		return nil, fmt.Errorf("take gateway lock: %w", err)
	}
	return lock, nil
}

func lockContent(configPath string) []byte {
	start, _ := processStart(os.Getpid())
	data, _ := json.Marshal(lockOwner{
		PID:        os.Getpid(),
		CreatedAt:  time.Now().UTC().Format("2006-01-02T15:04:05.000Z"),
		ConfigPath: configPath,
		StartTime:  start,
	})
	return data
}

// staleLock judges a lock of another implementation: its owner is gone, or
// nobody can prove that it lives and the file is old.
func staleLock(content []byte, age time.Duration) bool {
	var owner lockOwner
	if json.Unmarshal(content, &owner) != nil || owner.PID <= 0 {
		return age > lockStale
	}
	alive, known := processAlive(owner)
	if !known {
		return age > lockStale
	}
	return !alive
}

// processAlive reports whether the owner still runs. On Linux a recycled pid is
// told apart by its start time; without that the answer is not known.
func processAlive(o lockOwner) (alive, known bool) {
	p, err := os.FindProcess(o.PID)
	if err != nil {
		return false, true
	}
	if err := p.Signal(syscall.Signal(0)); errors.Is(err, os.ErrProcessDone) || errors.Is(err, syscall.ESRCH) {
		return false, true
	}
	if runtime.GOOS != "linux" {
		return true, true
	}
	start, ok := processStart(o.PID)
	if o.StartTime == 0 || !ok {
		return true, false
	}
	return start == o.StartTime, true
}

// processStart reads when a process began, field 22 of its stat file on Linux;
// other systems have no such file.
func processStart(pid int) (int64, bool) {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0, false
	}
	// The command name, field 2, may hold spaces and parentheses.
	_, rest, ok := strings.Cut(string(data[max(0, strings.LastIndexByte(string(data), ')')):]), " ")
	fields := strings.Fields(rest)
	if !ok || len(fields) < 20 {
		return 0, false
	}
	n, err := strconv.ParseInt(fields[19], 10, 64)
	return n, err == nil
}
