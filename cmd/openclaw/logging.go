package main

import (
	"io"
	"log/slog"
	"time"

	"openclaw/internal/config"
	"openclaw/internal/disk"
	"openclaw/internal/logs"
)

// logger is the log of a process: a file, and standard error for the gateway.
type logger struct {
	*slog.Logger
	file *disk.LogFile
	// level and console change with the configuration.
	level, console slog.LevelVar
	debug          bool
}

// openLog opens the log that the configuration names. With console nil nothing
// is printed. A file that cannot be opened leaves the console, with a warning:
// the log is not worth refusing to work.
func (p *program) openLog(c *config.Config, console io.Writer, debug bool) (*logger, error) {
	l := &logger{debug: debug}
	var err error
	if c.Logging.File != "" {
		l.file, err = disk.OpenLog(c.Logging.File)
	} else {
		l.file, err = disk.OpenDailyLog(p.paths.LogDir(), time.Now)
	}
	redact, patternErr := logs.NewRedactor(c.Logging.RedactPatterns)
	if patternErr != nil {
		return nil, patternErr
	}
	cfg := logs.Config{
		Level: &l.level, Console: console, ConsoleLevel: &l.console, ConsoleStyle: c.Logging.ConsoleStyle,
		Color: p.io.ErrTTY && !p.io.NoColor || p.io.ForceColor, Redact: redact.Redact,
	}
	if cfg.ConsoleStyle == "" && p.io.ErrTTY {
		cfg.ConsoleStyle = logs.StylePretty
	}
	if l.file != nil {
		cfg.File = l.file
	}
	l.Logger = logs.New(cfg)
	l.apply(c)
	if err != nil {
		l.file = nil
		l.Warn("the log file cannot be opened; logging to the console only", "err", err)
	}
	return l, nil
}

// apply sets the levels of a configuration.
func (l *logger) apply(c *config.Config) {
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

// path is the file that is written now, "" for none.
func (l *logger) path() string {
	if l.file == nil {
		return ""
	}
	return l.file.Path()
}

func (l *logger) close() {
	if l.file != nil {
		_ = l.file.Close() // there is nowhere left to report it
	}
}
