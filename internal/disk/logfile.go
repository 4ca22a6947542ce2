package disk

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"
)

const (
	// keepLogs is how many dated log files stay in a folder.
	keepLogs = 7
	// logCheck is how often a writer looks whether its file was removed, as
	// cleaners of /tmp do.
	logCheck                      = 5 * time.Second
	logPrefix, logSuffix, logDate = "openclaw-", ".log", "2006-01-02"
)

// LogFile is a log that other programs may rotate or delete at any time. It is
// safe for concurrent use.
type LogFile struct {
	now   func() time.Time
	daily string // folder of dated files; empty for a fixed path

	mu      sync.Mutex
	path    string
	f       *os.File
	checkAt time.Time
	nextDay time.Time
}

// OpenDailyLog opens dir/openclaw-YYYY-MM-DD.log, dated in local time, moves to
// a new file each day and keeps those of the last seven days. It creates dir.
// A nil now means the clock.
func OpenDailyLog(dir string, now func() time.Time) (*LogFile, error) {
	if err := MkdirAll(dir); err != nil {
		return nil, err
	}
	return openLog(&LogFile{daily: dir, now: now})
}

// OpenLog opens one fixed log file and creates its folder.
func OpenLog(path string) (*LogFile, error) {
	if err := MkdirAll(filepath.Dir(path)); err != nil {
		return nil, err
	}
	return openLog(&LogFile{path: path})
}

func openLog(l *LogFile) (*LogFile, error) {
	if l.now == nil {
		l.now = time.Now
	}
	if err := l.open(l.now()); err != nil {
		return nil, err
	}
	return l, nil
}

// Path returns the file that is written now.
func (l *LogFile) Path() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.path
}

// Write appends p, which should be whole lines.
func (l *LogFile) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.f == nil {
		return 0, fmt.Errorf("write %s: %w", l.path, os.ErrClosed)
	}
	now := l.now()
	if l.moved(now) {
		if err := l.open(now); err != nil {
			return 0, err
		}
	}
	return l.f.Write(p)
}

// Close closes the file. Later calls do nothing.
func (l *LogFile) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.f == nil {
		return nil
	}
	err := l.f.Close()
	l.f = nil
	return err
}

// moved reports whether the open file is no longer the one to write.
func (l *LogFile) moved(now time.Time) bool {
	if l.daily != "" && !now.Before(l.nextDay) {
		return true
	}
	if now.Before(l.checkAt) {
		return false
	}
	l.checkAt = now.Add(logCheck)
	there, err := os.Stat(l.path)
	if errors.Is(err, fs.ErrNotExist) {
		return true
	}
	mine, merr := l.f.Stat()
	return err == nil && merr == nil && !os.SameFile(there, mine)
}

func (l *LogFile) open(now time.Time) error {
	path := l.path
	if l.daily != "" {
		y, m, d := now.Date()
		l.nextDay = time.Date(y, m, d+1, 0, 0, 0, 0, now.Location())
		path = filepath.Join(l.daily, logPrefix+now.Format(logDate)+logSuffix)
	}
	if err := MkdirAll(filepath.Dir(path)); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("open log: %w", err)
	}
	if l.f != nil {
		l.f.Close()
	}
	l.f, l.path, l.checkAt = f, path, now.Add(logCheck)
	if l.daily != "" {
		prune(l.daily, now)
	}
	return nil
}

// prune removes old dated logs. It is best effort: a log that cannot be removed
// must not stop logging.
func prune(dir string, now time.Time) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	oldest := now.AddDate(0, 0, -keepLogs).Format(logDate)
	for _, e := range entries {
		day, ok := logDay(e.Name())
		if ok && day <= oldest && e.Type().IsRegular() {
			os.Remove(filepath.Join(dir, e.Name()))
		}
	}
}

// logDay returns the date in the name of a dated log file.
func logDay(name string) (string, bool) {
	if len(name) != len(logPrefix)+len(logDate)+len(logSuffix) ||
		name[:len(logPrefix)] != logPrefix || name[len(name)-len(logSuffix):] != logSuffix {
		return "", false
	}
	day := name[len(logPrefix) : len(name)-len(logSuffix)]
	_, err := time.Parse(logDate, day)
	return day, err == nil
}
