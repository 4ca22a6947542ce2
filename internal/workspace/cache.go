package workspace

import (
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"
)

const (
	// settled is how long a file must have rested before its size and time prove
	// that it is the same: a later write within one tick of the clock of the file
	// system could leave both as they were.
	settled = 2 * time.Second
	// cacheBytes bounds the texts that are kept.
	cacheBytes = 2 << 20
)

// Cache remembers workspace files between runs, so that a run looks at them
// instead of reading them. What was edited, replaced or removed is noticed. The
// zero value is ready; it is safe for concurrent use.
type Cache struct {
	mu    sync.Mutex
	files map[cacheKey]cached
	size  int
}

type cacheKey struct {
	path  string
	limit int // of characters
}

type cached struct {
	info fs.FileInfo
	file File
	show bool // false for an empty file
}

// Load is like the function [Load].
func (c *Cache) Load(dir string, opts LoadOptions) []File { return load(dir, opts, c.read) }

func (c *Cache) read(dir, name string, limit int) (File, bool) {
	key := cacheKey{filepath.Join(dir, name), limit}
	before, err := os.Stat(key.path)
	if err != nil {
		return read(dir, name, limit) // missing, or as unreadable as for everybody
	}
	if was, ok := c.get(key); ok && same(was.info, before) {
		return was.file, was.show
	}
	now := time.Now()
	f, show := read(dir, name, limit)
	if now.Sub(before.ModTime()) > settled && !f.Missing {
		c.put(key, cached{before, f, show})
	}
	return f, show
}

func same(a, b fs.FileInfo) bool {
	return a.Size() == b.Size() && a.ModTime().Equal(b.ModTime()) && os.SameFile(a, b)
}

func (c *Cache) get(key cacheKey) (cached, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	was, ok := c.files[key]
	return was, ok
}

func (c *Cache) put(key cacheKey, is cached) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.size += len(is.file.Content) - len(c.files[key].file.Content)
	if c.files == nil || c.size > cacheBytes {
		c.files, c.size = map[cacheKey]cached{}, len(is.file.Content) // what is in use comes back
	}
	c.files[key] = is
}
