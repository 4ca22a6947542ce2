package session

import (
	"os"
	"sync"
	"time"
)

const (
	// textLen bounds a remembered text, in characters.
	textLen = 240
	// textRoom bounds the texts that are remembered, in bytes.
	textRoom = 4 << 20
)

// textCache remembers what lists show of transcripts, as long as the files do not
// change. When it is full it starts over.
type textCache struct {
	mu     sync.Mutex
	byPath map[string]texts
	size   int
}

type texts struct {
	size              int64
	mod               time.Time
	first, last       string
	hasFirst, hasLast bool
}

// First returns what the user said first in the transcript of e, shortened; empty
// when there is nothing or it cannot be read.
func (s *Store) First(e *Entry) string {
	t, path, ok := s.texts.look(s.TranscriptPath(*e))
	if ok && !t.hasFirst {
		text, err := FirstUserText(path)
		t.first, t.hasFirst = clip(text, textLen), true
		s.texts.keep(path, t, err == nil)
	}
	return t.first
}

// Last returns what the user or the model said last in the transcript of e,
// shortened; empty when there is nothing or it cannot be read.
func (s *Store) Last(e *Entry) string {
	t, path, ok := s.texts.look(s.TranscriptPath(*e))
	if ok && !t.hasLast {
		text, err := LastText(path)
		t.last, t.hasLast = clip(text, textLen), true
		s.texts.keep(path, t, err == nil)
	}
	return t.last
}

// look returns what is remembered of the file at path as it is now. A file that is
// not there has no texts; one in front of its first answer is looked at each time.
func (c *textCache) look(path string) (texts, string, bool) {
	info, err := os.Stat(path)
	if err != nil {
		info, err = os.Stat(path + sideSuffix)
		if err != nil {
			return texts{}, path, false
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if t, ok := c.byPath[path]; ok && t.of(info.Size(), info.ModTime()) {
		return t, path, true
	}
	return texts{size: info.Size(), mod: info.ModTime()}, path, true
}

func (c *textCache) keep(path string, t texts, good bool) {
	if !good {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byPath == nil || c.size > textRoom {
		c.byPath, c.size = map[string]texts{}, 0
	}
	old := c.byPath[path]
	if old.of(t.size, t.mod) { // another caller may have read the other text meanwhile
		if !t.hasFirst {
			t.first, t.hasFirst = old.first, old.hasFirst
		}
		if !t.hasLast {
			t.last, t.hasLast = old.last, old.hasLast
		}
	}
	c.size += len(t.first) + len(t.last) - len(old.first) - len(old.last)
	if old.mod.IsZero() {
		c.size += len(path) + 128
	}
	c.byPath[path] = t
}

// of reports whether t was read from a file of that size and time.
func (t texts) of(size int64, mod time.Time) bool { return t.size == size && t.mod.Equal(mod) }
