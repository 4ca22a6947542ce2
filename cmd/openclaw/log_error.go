package main

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"openclaw/internal/config"
	"openclaw/internal/logs"
)

// logEnd is how much of a log is searched for its last error.
const logEnd = 256 << 10

// lastError is the last error that the gateway of this machine wrote into its log,
// "" when there is none.
func (p *program) lastError(c *config.Config) string {
	path := c.Logging.File
	if path == "" {
		dated, err := filepath.Glob(filepath.Join(p.paths.LogDir(), "openclaw-????-??-??.log"))
		if err != nil || len(dated) == 0 {
			return ""
		}
		path = slices.Max(dated) // dates sort like text
	}
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close() //nolint:errcheck // it was only read
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return ""
	} else if _, err := f.Seek(max(0, info.Size()-logEnd), io.SeekStart); err != nil {
		return ""
	}
	data, err := io.ReadAll(io.LimitReader(f, logEnd))
	if err != nil {
		return ""
	}
	last := ""
	for line := range strings.Lines(string(data)) {
		l := parseLogLine(strings.TrimSpace(line))
		switch l.Level {
		case "error", "fatal":
			last = joinNonEmpty(" ", l.Time, l.Message, l.attrs)
		}
		if l.Message == "gateway ready" {
			last = "" // what went wrong before a good start is history
		}
	}
	return logs.Redact(last)
}
