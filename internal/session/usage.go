package session

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"openclaw/internal/turn"
)

// Usage adds up what model calls used. Missing counts the calls of which no cost
// is known.
type Usage struct {
	Input, Output, CacheRead, CacheWrite, Total int64 // tokens
	Cost                                        float64
	Missing                                     int64
}

// Add adds what other used.
func (u *Usage) Add(other Usage) {
	u.Input += other.Input
	u.Output += other.Output
	u.CacheRead += other.CacheRead
	u.CacheWrite += other.CacheWrite
	u.Total += other.Total
	u.Cost += other.Cost
	u.Missing += other.Missing
}

// meter remembers what each transcript says about usage, so that only what was
// appended since is read the next time.
type meter struct {
	mu    sync.Mutex // held while files are read
	files map[string]*metered
}

type metered struct {
	info fs.FileInfo // when it was read
	off  int64       // what was read, whole lines
	days map[string]Usage
}

// Usage returns what the model calls of all transcripts used, by local day
// ("2006-01-02"), from the day of since on. Transcripts of deleted sessions count
// as well: that money was spent. What was cut away by a compaction is not counted
// any more. Files that did not change since the last call are not read again.
func (s *Store) Usage(ctx context.Context, since time.Time) (map[string]Usage, error) {
	s.meter.mu.Lock()
	defer s.meter.mu.Unlock()
	entries, err := os.ReadDir(s.cfg.Dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("add up usage: %w", err)
	}
	first := since.Format(time.DateOnly)
	sum, known := map[string]Usage{}, map[string]*metered{}
	for _, entry := range entries {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if !isTranscript(entry.Name()) {
			continue
		}
		info, err := entry.Info()
		if err != nil || !info.Mode().IsRegular() {
			continue // gone in the meantime, or nothing of ours
		}
		m := s.meter.files[entry.Name()]
		if m == nil && info.ModTime().Format(time.DateOnly) < first {
			continue // nothing in it is young enough
		}
		if m, err = m.read(filepath.Join(s.cfg.Dir, entry.Name()), info); err != nil {
			s.log.Warn("usage of a transcript is not known", "path", entry.Name(), "err", err)
			continue
		}
		known[entry.Name()] = m
		for day, u := range m.days {
			if day >= first {
				total := sum[day]
				total.Add(u)
				sum[day] = total
			}
		}
	}
	s.meter.files = known
	return sum, nil
}

// isTranscript reports whether a file holds a conversation, also one that was put
// aside, but no copy of one.
func isTranscript(name string) bool {
	base, rest, ok := strings.Cut(name, ".jsonl")
	return ok && base != "" && (rest == "" || strings.HasPrefix(rest, ".deleted.") || strings.HasPrefix(rest, ".reset."))
}

// read returns m with what came to the file since; m may be nil.
func (m *metered) read(path string, info fs.FileInfo) (*metered, error) {
	if m != nil && m.info.Size() == info.Size() && m.info.ModTime().Equal(info.ModTime()) && os.SameFile(m.info, info) {
		return m, nil
	}
	next := &metered{info: info, days: map[string]Usage{}}
	if m != nil && os.SameFile(m.info, info) && info.Size() > m.info.Size() {
		next.off, next.days = m.off, m.days // it only grew
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if _, err := f.Seek(next.off, io.SeekStart); err != nil {
		return nil, err
	}
	return next, next.scan(f)
}

// scan adds the whole lines of r.
func (m *metered) scan(r io.Reader) error {
	br := bufio.NewReaderSize(r, historyBlock)
	var long []byte // the start of a line beyond the buffer
	for {
		part, err := br.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			long = append(long, part...)
			continue
		}
		if errors.Is(err, io.EOF) {
			return nil // a line without its end is still being written
		}
		if err != nil {
			return err
		}
		line := part
		if len(long) > 0 {
			line = append(long, part...)
			long = nil
		}
		m.off += int64(len(line))
		m.add(line)
	}
}

// add counts the usage that a line tells of, if any.
func (m *metered) add(line []byte) {
	if !bytes.Contains(line, []byte(`"usage"`)) {
		return
	}
	raw := rawMessage(line)
	if raw == nil || roleOf(raw) != string(turn.RoleAssistant) {
		return
	}
	var msg struct {
		Timestamp int64 `json:"timestamp"`
		Usage     *struct {
			Input, Output, CacheRead, CacheWrite, TotalTokens int64
			Cost                                              *struct{ Total *float64 }
		} `json:"usage"`
	}
	if json.Unmarshal(raw, &msg) != nil || msg.Usage == nil {
		return
	}
	u := Usage{Input: msg.Usage.Input, Output: msg.Usage.Output, CacheRead: msg.Usage.CacheRead, CacheWrite: msg.Usage.CacheWrite, Total: msg.Usage.TotalTokens}
	parts := u.Input + u.Output + u.CacheRead + u.CacheWrite
	if u.Total == 0 {
		u.Total = parts
	}
	if u.Total == 0 || msg.Timestamp <= 0 {
		return // no model was asked
	}
	if c := msg.Usage.Cost; c != nil && c.Total != nil {
		u.Cost = *c.Total
	} else {
		u.Missing = 1
	}
	day := time.UnixMilli(msg.Timestamp).Format(time.DateOnly)
	total := m.days[day]
	total.Add(u)
	m.days[day] = total
}
