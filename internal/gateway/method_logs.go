package gateway

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"openclaw/internal/logs"
	"openclaw/protocol"
)

// Defaults of logs.tail. See docs/protocol.md#logs.
const (
	tailLines = 500
	tailBytes = 250_000
)

func (g *Gateway) logsTail(_ context.Context, _ *request, p *protocol.LogsTailParams) (any, error) {
	if g.cfg.LogPath == nil {
		return nil, unavailable("Error: this gateway writes no log file")
	}
	path := newestLog(g.cfg.LogPath())
	limit, most := tailLines, int64(tailBytes)
	if p.Limit != nil {
		limit = *p.Limit
	}
	if p.MaxBytes != nil {
		most = *p.MaxBytes
	}
	return tailLog(path, p.Cursor, limit, most)
}

// newestLog returns path, or the newest dated log beside it when there is none
// for today yet.
func newestLog(path string) string {
	if _, err := os.Stat(path); err == nil {
		return path
	}
	found, err := filepath.Glob(filepath.Join(filepath.Dir(path), "openclaw-????-??-??.log"))
	if err != nil || len(found) == 0 {
		return path
	}
	return slices.Max(found) // dates sort like text
}

// tailLog reads complete lines of the log from cursor on, or its end.
func tailLog(path string, cursor *int64, limit int, most int64) (protocol.LogsTailResult, error) {
	out := protocol.LogsTailResult{File: path, Lines: []string{}}
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return out, nil
	}
	if err != nil {
		return out, fmt.Errorf("open log: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return out, fmt.Errorf("open log: %w", err)
	}
	out.Size = info.Size()
	start := max(0, out.Size-most)
	cut := start > 0
	if cursor != nil {
		switch {
		case *cursor > out.Size, out.Size-*cursor > most:
			out.Reset = true // another file, or too far behind
		default:
			start, cut = *cursor, false
		}
	}
	// One byte more tells whether a line begins there: a part of one is left out,
	// also because secrets are known by what stands before them.
	from := max(0, start-1)
	data := make([]byte, out.Size-from)
	if _, err := f.ReadAt(data, from); err != nil && !errors.Is(err, io.EOF) {
		return out, fmt.Errorf("read log: %w", err)
	}
	if start > 0 {
		i := bytes.IndexByte(data, '\n') + 1
		data, start = data[i:], from+int64(i)
		if i == 0 {
			data, start = nil, out.Size // one endless line
		}
	}
	out.Truncated = cut
	return splitLog(out, data, start, limit), nil
}

// splitLog fills in the lines of data, which begins at offset start of the log.
// A last line without its end is still being written and is left for the next
// call.
func splitLog(out protocol.LogsTailResult, data []byte, start int64, limit int) protocol.LogsTailResult {
	end := bytes.LastIndexByte(data, '\n') + 1
	out.Cursor = start + int64(end)
	for line := range bytes.Lines(data[:end]) {
		if text := strings.TrimRight(string(line), "\r\n"); text != "" {
			out.Lines = append(out.Lines, text)
		}
	}
	if n := len(out.Lines) - limit; n > 0 {
		out.Lines = out.Lines[n:]
		out.Truncated = true
	}
	for i, line := range out.Lines {
		out.Lines[i] = asOthersRead(logs.Redact(line))
	}
	return out
}
