package file

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// fsys is the part of a file system the tools use. Names are absolute on the
// host and relative to the root in an [os.Root], which is the other implementation.
type fsys interface {
	Stat(name string) (fs.FileInfo, error)
	Lstat(name string) (fs.FileInfo, error)
	OpenFile(name string, flag int, perm fs.FileMode) (*os.File, error)
	MkdirAll(name string, perm fs.FileMode) error
	Rename(from, to string) error
	Remove(name string) error
	Close() error
}

type host struct{}

func (host) Stat(name string) (fs.FileInfo, error)        { return os.Stat(name) }
func (host) Lstat(name string) (fs.FileInfo, error)       { return os.Lstat(name) }
func (host) MkdirAll(name string, perm fs.FileMode) error { return os.MkdirAll(name, perm) }
func (host) Rename(from, to string) error                 { return os.Rename(from, to) }
func (host) Remove(name string) error                     { return os.Remove(name) }
func (host) Close() error                                 { return nil }
func (host) OpenFile(name string, flag int, perm fs.FileMode) (*os.File, error) {
	return os.OpenFile(name, flag, perm)
}

// place is where a path of the model leads.
type place struct {
	fsys
	name string // for fsys
	path string // absolute, for messages
}

func (p *place) confined() bool { _, ok := p.fsys.(host); return !ok }

// sibling names another entry of p's folder.
func (p *place) sibling(base string) string { return filepath.Join(filepath.Dir(p.name), base) }

// locate finds the file that path means. Among its spellings an existing file
// wins, then a file in an existing folder whose name begins with @, then, when
// folded is set, a file that looks the same, then the last spelling. The caller
// closes the place.
func (s *scope) locate(path string, folded bool) (*place, error) {
	if strings.ContainsRune(path, 0) {
		return nil, errors.New("path must not hold a NUL byte")
	}
	var last *place
	folder := ""
	if first, _, ok := strings.Cut(path, "/"); ok && strings.HasPrefix(first, "@") {
		folder = first
	}
	for _, spelling := range spellings(path) {
		p, err := s.at(spelling)
		if last != nil {
			_ = last.Close()
		}
		if err != nil {
			return nil, err
		}
		last = p
		if _, err := p.Lstat(p.name); err == nil {
			return p, nil
		}
		if folder != "" && spelling == path && s.hasFolder(folder) {
			return p, nil
		}
	}
	if folded {
		if base, ok := lookalike(last); ok {
			last.name, last.path = last.sibling(base), filepath.Join(filepath.Dir(last.path), base)
		}
	}
	return last, nil
}

// at returns the place of a path as it is written.
func (s *scope) at(path string) (*place, error) {
	abs, err := s.absolute(path)
	if err != nil {
		return nil, err
	}
	return s.place(abs)
}

// hasFolder reports whether the scope's folder has the named entry.
func (s *scope) hasFolder(name string) bool {
	p, err := s.at(name)
	if err != nil {
		return false
	}
	defer func() { _ = p.Close() }()
	info, err := p.Stat(p.name)
	return err == nil && info.IsDir()
}

// absolute expands ~ and starts relative paths at the scope's folder.
func (s *scope) absolute(path string) (string, error) {
	if path == "~" || strings.HasPrefix(path, "~/") {
		if s.files.home == "" {
			return "", fmt.Errorf("no home folder is known, cannot expand %s", path)
		}
		path = filepath.Join(s.files.home, path[1:])
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(s.Dir, path)
	}
	return filepath.Clean(path), nil
}

// place opens the file system that serves abs and refuses what leaves the root.
func (s *scope) place(abs string) (*place, error) {
	if s.Root == "" {
		return &place{fsys: host{}, name: abs, path: abs}, nil
	}
	rel, ok := within(s.Root, abs)
	if !ok {
		// The model may have seen the root's real path, as printed by pwd.
		if real, err := filepath.EvalSymlinks(s.Root); err == nil {
			rel, ok = within(real, abs)
		}
	}
	if !ok {
		return nil, fmt.Errorf("path is outside the sandbox root %s: %s", s.Root, abs)
	}
	root, err := os.OpenRoot(s.Root)
	if err != nil {
		return nil, fmt.Errorf("open sandbox root: %w", err)
	}
	if link, ok := symlink(root, rel); ok {
		_ = root.Close()
		return nil, fmt.Errorf("symbolic links are not followed in the sandbox: %s", filepath.Join(s.Root, link))
	}
	return &place{fsys: root, name: rel, path: abs}, nil
}

func within(root, abs string) (rel string, ok bool) {
	rel, err := filepath.Rel(root, abs)
	return rel, err == nil && filepath.IsLocal(rel)
}

// symlink finds the first component of rel that is a symbolic link.
func symlink(root *os.Root, rel string) (string, bool) {
	parts := strings.Split(filepath.ToSlash(rel), "/")
	for i := range parts {
		name := filepath.Join(parts[:i+1]...)
		info, err := root.Lstat(name)
		if err != nil {
			return "", false
		}
		if info.Mode()&fs.ModeSymlink != 0 {
			return name, true
		}
	}
	return "", false
}

// openRegular opens p for reading if it is a regular file. It neither waits for
// the other end of a pipe nor wakes a device.
func (p *place) openRegular(op string) (*os.File, fs.FileInfo, error) {
	info, err := p.Stat(p.name)
	if err != nil {
		return nil, nil, p.fail("access", err)
	}
	if err := p.regular(info, op); err != nil {
		return nil, nil, err
	}
	f, err := p.OpenFile(p.name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, p.fail("open", err)
	}
	// What was opened may be something else than what was looked at.
	if info, err = f.Stat(); err == nil {
		err = p.regular(info, op)
	}
	if err != nil {
		_ = f.Close()
		return nil, nil, err
	}
	return f, info, nil
}

// regular refuses everything but regular files.
func (p *place) regular(info fs.FileInfo, op string) error {
	mode := info.Mode()
	switch {
	case mode.IsRegular():
		return nil
	case mode.IsDir():
		return fmt.Errorf("EISDIR: illegal operation on a directory, %s '%s'", op, p.path)
	}
	kind := "a special file"
	switch {
	case mode&fs.ModeNamedPipe != 0:
		kind = "a named pipe"
	case mode&fs.ModeSocket != 0:
		kind = "a socket"
	case mode&fs.ModeDevice != 0:
		kind = "a device"
	}
	return fmt.Errorf("%s is %s, not a regular file", p.path, kind)
}

// fail words an error of the file system the way models know it, code first.
func (p *place) fail(op string, err error) error {
	var errno syscall.Errno
	if errors.As(err, &errno) {
		if code := errnoName(errno); code != "" {
			return &pathError{text: fmt.Sprintf("%s: %s, %s '%s'", code, errno.Error(), op, p.path), err: err}
		}
	}
	return fmt.Errorf("%s %s: %w", op, p.path, err)
}

type pathError struct {
	text string
	err  error
}

func (e *pathError) Error() string { return e.text }
func (e *pathError) Unwrap() error { return e.err }

func errnoName(errno syscall.Errno) string {
	switch errno {
	case syscall.ENOENT:
		return "ENOENT"
	case syscall.EACCES:
		return "EACCES"
	case syscall.EPERM:
		return "EPERM"
	case syscall.ENOTDIR:
		return "ENOTDIR"
	case syscall.EISDIR:
		return "EISDIR"
	case syscall.EROFS:
		return "EROFS"
	case syscall.ENOSPC:
		return "ENOSPC"
	case syscall.ELOOP:
		return "ELOOP"
	case syscall.ENAMETOOLONG:
		return "ENAMETOOLONG"
	case syscall.EBUSY:
		return "EBUSY"
	}
	return ""
}
