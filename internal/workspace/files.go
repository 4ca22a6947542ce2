package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"openclaw/internal/disk"
)

// maxFile bounds a file that is read or written here, in bytes.
const maxFile = 4 << 20

var (
	// ErrUnsupported says that a name is none of the workspace's own files.
	ErrUnsupported = errors.New("unsupported file")
	// ErrOutside says that a link leads out of the workspace.
	ErrOutside = errors.New("the file leads out of the workspace")
	// ErrTooLarge says that a file is beyond 4 MiB.
	ErrTooLarge = errors.New("the file is too large")
)

// FileInfo describes one of the workspace's own files.
type FileInfo struct {
	Name, Path string
	Missing    bool
	Size       int64
	ModTime    time.Time
}

// List describes the files that make an agent what it is, missing ones included,
// in the order of the prompt. Of the two spellings of the memory file only the
// one in use is listed. A file that cannot be had, because a link leads out of the
// workspace, counts as missing.
func List(dir string) []FileInfo {
	list := append(standing[:len(standing):len(standing)], BootstrapFile)
	memory := MemoryFile
	if stat(dir, memory).Missing && !stat(dir, memoryFileAlt).Missing {
		memory = memoryFileAlt
	}
	var files []FileInfo
	for _, name := range append(list, memory) {
		files = append(files, stat(dir, name))
	}
	return files
}

func stat(dir, name string) FileInfo {
	f := FileInfo{Name: name, Path: filepath.Join(dir, name), Missing: true}
	real, err := within(dir, name)
	if err != nil {
		return f
	}
	if info, err := os.Stat(real); err == nil && info.Mode().IsRegular() {
		f.Missing, f.Size, f.ModTime = false, info.Size(), info.ModTime()
	}
	return f
}

// ReadFile returns one of the workspace's own files. A missing one has no content
// and is no error. Errors are [ErrUnsupported], [ErrOutside], [ErrTooLarge] and
// those of the disk.
func ReadFile(dir, name string) (FileInfo, string, error) {
	if !known(name) {
		return FileInfo{}, "", ErrUnsupported
	}
	real, err := within(dir, name)
	if err != nil {
		return FileInfo{}, "", err
	}
	f := stat(dir, name)
	data, err := disk.ReadFile(real, maxFile)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		f.Missing, f.Size, f.ModTime = true, 0, time.Time{}
		return f, "", nil
	case errors.Is(err, disk.ErrTooLarge):
		return f, "", ErrTooLarge
	case err != nil:
		return f, "", fmt.Errorf("read workspace file: %w", err)
	}
	return f, strings.ToValidUTF8(string(data), string(utf8.RuneError)), nil
}

// WriteFile replaces one of the workspace's own files as a whole, or creates it and
// the folder. Its errors are those of [ReadFile].
func WriteFile(dir, name, content string) (FileInfo, error) {
	if !known(name) {
		return FileInfo{}, ErrUnsupported
	}
	if len(content) > maxFile {
		return FileInfo{}, ErrTooLarge
	}
	if err := disk.MkdirAll(dir); err != nil {
		return FileInfo{}, fmt.Errorf("create workspace: %w", err)
	}
	real, err := within(dir, name)
	if err != nil {
		return FileInfo{}, err
	}
	perm := os.FileMode(0o600)
	switch info, err := os.Stat(real); {
	case err == nil && !info.Mode().IsRegular():
		return FileInfo{}, fmt.Errorf("write workspace file: %s is no regular file", name)
	case err == nil:
		perm = info.Mode().Perm()
	}
	if err := disk.WriteFile(real, []byte(content), perm); err != nil {
		return FileInfo{}, fmt.Errorf("write workspace file: %w", err)
	}
	return stat(dir, name), nil
}

// known reports whether name is one of the workspace's own files, spelled exactly.
func known(name string) bool {
	return isStanding(name) || slices.Contains([]string{BootstrapFile, MemoryFile, memoryFileAlt}, name)
}

// within returns the path behind dir/name with every link followed. A link that
// leads out of dir, or nowhere, is refused; the folder itself may be a link.
func within(dir, name string) (string, error) {
	path := filepath.Join(dir, name)
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return path, nil
	}
	root, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return "", fmt.Errorf("look at workspace: %w", err)
	}
	real, err := filepath.EvalSymlinks(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", ErrOutside // whatever it names, nobody can say where it leads
	}
	if err != nil {
		return "", fmt.Errorf("look at workspace file: %w", err)
	}
	rel, err := filepath.Rel(root, real)
	if err != nil || !filepath.IsLocal(rel) {
		return "", ErrOutside
	}
	return real, nil
}
