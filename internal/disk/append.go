package disk

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
)

// AppendFile is a file of lines that only grows, such as a transcript. Its
// methods are safe for concurrent use.
type AppendFile struct {
	path string

	mu      sync.Mutex
	f       *os.File
	torn    bool // the last line has no newline yet
	created bool // the folder entry is not synced yet
	buf     []byte
}

// OpenAppend opens or creates path with mode perm. The folder must exist.
func OpenAppend(path string, perm os.FileMode) (*AppendFile, error) {
	_, statErr := os.Stat(path)
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, perm)
	if err != nil {
		return nil, fmt.Errorf("open %s for appending: %w", path, err)
	}
	torn, err := endsTorn(f)
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("open %s for appending: %w", path, err)
	}
	return &AppendFile{path: path, f: f, torn: torn, created: os.IsNotExist(statErr)}, nil
}

// Append writes lines in one write, each with its newline; a line must not hold
// one itself. With sync it returns after the bytes are on the disk. A last line
// that a crash left without newline is ended first, so one bad line never
// swallows the next. On error nothing of lines stays in the file.
func (a *AppendFile) Append(sync bool, lines ...[]byte) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.f == nil {
		return fmt.Errorf("append to %s: %w", a.path, os.ErrClosed)
	}
	a.buf = a.buf[:0]
	if a.torn {
		a.buf = append(a.buf, '\n')
	}
	for _, line := range lines {
		if bytes.IndexByte(line, '\n') >= 0 {
			return fmt.Errorf("append to %s: line holds a newline", a.path)
		}
		a.buf = append(append(a.buf, line...), '\n')
	}
	if len(lines) > 0 {
		if err := a.write(a.buf); err != nil {
			return fmt.Errorf("append to %s: %w", a.path, err)
		}
	}
	if cap(a.buf) > 1<<20 {
		a.buf = nil // one huge line must not pin its memory
	}
	if !sync {
		return nil
	}
	if err := a.sync(); err != nil {
		return fmt.Errorf("append to %s: %w", a.path, err)
	}
	return nil
}

// Sync returns when everything that was appended before is on the disk. Others
// may append meanwhile.
func (a *AppendFile) Sync() error {
	a.mu.Lock()
	f, created := a.f, a.created
	a.mu.Unlock()
	if f == nil {
		return fmt.Errorf("sync %s: %w", a.path, os.ErrClosed)
	}
	err := f.Sync()
	if err == nil && created {
		err = syncDir(filepath.Dir(a.path))
	}
	if err != nil {
		return fmt.Errorf("sync %s: %w", a.path, err)
	}
	if created {
		a.mu.Lock()
		a.created = false
		a.mu.Unlock()
	}
	return nil
}

// Size returns the length of the file in bytes.
func (a *AppendFile) Size() (int64, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.f == nil {
		return 0, fmt.Errorf("stat %s: %w", a.path, os.ErrClosed)
	}
	info, err := a.f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// Close closes the file. Later calls do nothing.
func (a *AppendFile) Close() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.f == nil {
		return nil
	}
	err := a.f.Close()
	a.f = nil
	return err
}

// write appends data and takes a partial write back, as on a full disk.
func (a *AppendFile) write(data []byte) error {
	n, err := a.f.Write(data)
	if err == nil {
		a.torn = false
		return nil
	}
	if n > 0 {
		if end, serr := a.f.Seek(0, io.SeekEnd); serr != nil || a.f.Truncate(end-int64(n)) != nil {
			a.torn = data[n-1] != '\n'
		}
	}
	return err
}

func (a *AppendFile) sync() error {
	if err := a.f.Sync(); err != nil {
		return err
	}
	if !a.created {
		return nil
	}
	if err := syncDir(filepath.Dir(a.path)); err != nil {
		return err
	}
	a.created = false
	return nil
}

func endsTorn(f *os.File) (bool, error) {
	info, err := f.Stat()
	if err != nil {
		return false, err
	}
	if !info.Mode().IsRegular() {
		return false, errors.New("is not a regular file")
	}
	if info.Size() == 0 {
		return false, nil
	}
	var last [1]byte
	if _, err := f.ReadAt(last[:], info.Size()-1); err != nil {
		return false, err
	}
	return last[0] != '\n', nil
}
