package session

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"openclaw/internal/disk"
)

// NewID returns a random session id, a UUID of version 4.
func NewID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// TranscriptPath returns where the transcript of e is: the file it names, else
// one in Dir named by its session id. An id never leads out of Dir.
func (s *Store) TranscriptPath(e Entry) string {
	switch {
	case e.SessionFile == "":
		return filepath.Join(s.cfg.Dir, fileName(e.SessionID)+".jsonl")
	case filepath.IsAbs(e.SessionFile):
		return filepath.Clean(e.SessionFile)
	}
	return filepath.Join(s.cfg.Dir, e.SessionFile)
}

// TopicPath returns the transcript path of a session in a topic or thread.
func (s *Store) TopicPath(sessionID, threadID string) string {
	return filepath.Join(s.cfg.Dir, fileName(sessionID)+"-topic-"+url.PathEscape(threadID)+".jsonl")
}

func fileName(id string) string {
	safe := url.PathEscape(id)
	if strings.HasPrefix(safe, ".") {
		safe = "%2E" + safe[1:]
	}
	return safe
}

// stampName is a time as it stands in file names.
func stampName(at time.Time) string {
	return strings.ReplaceAll(at.UTC().Format(isoMillis), ":", "-")
}

// Archive renames the transcript of e to <file>.deleted.<time> and returns the new
// path; empty when there was none. The entry in the index is not touched.
func (s *Store) Archive(ctx context.Context, e Entry) (string, error) {
	path := s.TranscriptPath(e)
	archived := ""
	err := s.replaceTranscript(ctx, path, func() error {
		if err := os.Remove(path + sideSuffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		to := path + ".deleted." + stampName(s.now())
		switch err := moveFile(path, to); {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return err
		}
		archived = to
		return nil
	})
	if err != nil {
		return "", fmt.Errorf("archive transcript %s: %w", e.SessionID, err)
	}
	return archived, nil
}

// DeleteTranscript removes the transcript of e for good. A missing one is fine.
func (s *Store) DeleteTranscript(ctx context.Context, e Entry) error {
	path := s.TranscriptPath(e)
	err := s.replaceTranscript(ctx, path, func() error {
		for _, p := range []string{path + sideSuffix, path} {
			if err := os.Remove(p); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("delete transcript %s: %w", e.SessionID, err)
	}
	return nil
}

// Trimmed is what [Store.TrimTranscript] did.
type Trimmed struct {
	Archived string // where the whole file is now; empty when it was short enough
	Kept     int    // lines, the header included
}

// TrimTranscript keeps the header and the newest lines of the transcript of e, at
// most maxLines together, and archives the whole file as <file>.bak.<time>. A
// missing transcript gives fs.ErrNotExist.
func (s *Store) TrimTranscript(ctx context.Context, e Entry, maxLines int) (Trimmed, error) {
	path := s.TranscriptPath(e)
	var done Trimmed
	err := s.replaceTranscript(ctx, path, func() error {
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		lines := textLines(data)
		done.Kept = min(len(lines), maxLines)
		if len(lines) <= maxLines {
			return nil
		}
		kept := lines[len(lines)-maxLines:]
		if h, ok := parseHead(lines[0]); ok && h.kind == lineSession {
			kept = append([][]byte{lines[0]}, kept[1:]...)
		}
		to := path + ".bak." + stampName(s.now())
		if err := disk.WriteFile(to, data, 0o600); err != nil {
			return err
		}
		done.Archived = to
		return disk.WriteFile(path, joinLines(kept), 0o600)
	})
	if err != nil {
		return Trimmed{}, fmt.Errorf("trim transcript %s: %w", e.SessionID, err)
	}
	return done, nil
}

func textLines(data []byte) (lines [][]byte) {
	for line := range bytes.Lines(data) {
		if line = bytes.TrimSpace(line); len(line) > 0 {
			lines = append(lines, line)
		}
	}
	return lines
}

// replaceTranscript runs change while nobody writes the transcript.
func (s *Store) replaceTranscript(ctx context.Context, path string, change func() error) (err error) {
	if s.logs.open(path) {
		return fmt.Errorf("%w: it is open in this process: %s", ErrLocked, path)
	}
	if _, err := os.Stat(s.cfg.Dir); errors.Is(err, fs.ErrNotExist) {
		return change()
	}
	lock, err := s.lockTranscript(ctx, path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Unlock()) }()
	s.logs.drop(path)
	return change()
}

// moveFile gives a file another name: a durable copy, then the old name goes.
// After a crash in between both exist.
func moveFile(from, to string) error {
	f, err := os.Open(from)
	if err != nil {
		return err
	}
	defer f.Close()
	err = disk.Replace(to, 0o600, func(w io.Writer) error {
		_, err := io.Copy(w, f)
		return err
	})
	if err != nil {
		return err
	}
	return os.Remove(from)
}
