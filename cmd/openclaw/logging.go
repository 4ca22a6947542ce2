package main

import (
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"openclaw/internal/config"
	"openclaw/internal/disk"
	"openclaw/internal/logs"
)

// logger is the log of a process: a file, and standard error for the gateway.
// What the configuration says about it may change while it is in use.
type logger struct {
	*slog.Logger
	dir            string // of dated files
	level, console slog.LevelVar
	redact         atomic.Pointer[logs.Redactor]
	debug          bool

	mu    sync.Mutex
	file  *disk.LogFile // nil when it cannot be opened
	named string        // logging.file, as far as it was opened
}

// openLog opens the log that the configuration names. With console nil nothing
// is printed. A file that cannot be opened leaves the console, with a warning:
// the log is not worth refusing to work.
func (p *program) openLog(c *config.Config, console io.Writer, debug bool) (*logger, error) {
	l := &logger{debug: debug, dir: p.paths.LogDir()}
	redact, err := logs.NewRedactor(c.Logging.RedactPatterns)
	if err != nil {
		return nil, err
	}
	l.redact.Store(redact)
	cfg := logs.Config{
		File: l, Level: &l.level, Console: console, ConsoleLevel: &l.console, ConsoleStyle: c.Logging.ConsoleStyle,
		Color:  p.io.ErrTTY && !p.io.NoColor || p.io.ForceColor,
		Redact: func(text string) string { return l.redact.Load().Redact(text) },
	}
	if cfg.ConsoleStyle == "" && p.io.ErrTTY {
		cfg.ConsoleStyle = logs.StylePretty
	}
	l.Logger = logs.New(cfg)
	err = l.open(c.Logging.File)
	l.setLevels(c)
	if err != nil {
		l.Warn("the log file cannot be opened; logging to the console only", "err", err)
	}
	return l, nil
}

// open opens the file that logging.file names, or the dated one, and closes the
// one before it.
func (l *logger) open(name string) error {
	var file *disk.LogFile
	var err error
	if name != "" {
		file, err = disk.OpenLog(name)
	} else {
		file, err = disk.OpenDailyLog(l.dir, time.Now)
	}
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file != nil {
		_ = l.file.Close() // there is nowhere better to report it
	}
	l.file, l.named = file, name
	return nil
}

// Write appends a line to the file, if there is one.
func (l *logger) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == nil {
		return len(line), nil
	}
	return l.file.Write(line)
}

// apply takes what a changed configuration says about logging in.
func (l *logger) apply(c *config.Config) {
	l.setLevels(c)
	if redact, err := logs.NewRedactor(c.Logging.RedactPatterns); err != nil {
		l.Warn("logging.redactPatterns cannot be used; the patterns before stay", "err", err)
	} else {
		l.redact.Store(redact)
	}
	l.mu.Lock()
	same := l.named == c.Logging.File
	l.mu.Unlock()
	if same {
		return
	}
	if err := l.open(c.Logging.File); err != nil {
		l.Warn("the log file cannot be opened; the one before stays", "err", err)
		return
	}
	l.Info("the log goes on here", "file", l.path())
}

func (l *logger) setLevels(c *config.Config) {
	set := func(v *slog.LevelVar, name string) {
		level, err := logs.ParseLevel(name)
		if err != nil {
			level = slog.LevelInfo // validation refuses unknown names
		}
		if l.debug {
			level = min(level, slog.LevelDebug)
		}
		v.Set(level)
	}
	set(&l.level, c.Logging.Level)
	set(&l.console, c.Logging.ConsoleLevel)
}

// fileOnly is the log without the console, for what the command says itself.
func (l *logger) fileOnly() *slog.Logger {
	return logs.New(logs.Config{File: l, Level: &l.level, Redact: func(text string) string { return l.redact.Load().Redact(text) }})
}

// path is the file that is written now, "" for none.
func (l *logger) path() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == nil {
		return ""
	}
	return l.file.Path()
}

func (l *logger) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file != nil {
		_ = l.file.Close() // there is nowhere left to report it
	}
}
