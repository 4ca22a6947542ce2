package disk

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/google/renameio/v2"
)

// ErrTooLarge is returned by [ReadFile] for a file beyond its limit.
var ErrTooLarge = errors.New("file too large")

// WriteFile replaces path with data: a temporary file in the same folder is
// written, synced and renamed over it, then the folder is synced. On any error
// the previous content is untouched. The folder must exist. When path is a
// symbolic link, the file it names is replaced and the link stays.
func WriteFile(path string, data []byte, perm os.FileMode) error {
	return Replace(path, perm, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}

// Replace is [WriteFile] for content that is produced while it is written. An
// error from fill leaves the previous content untouched.
func Replace(path string, perm os.FileMode, fill func(io.Writer) error) error {
	target, err := followLink(path)
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	dir := filepath.Dir(target)
	f, err := renameio.NewPendingFile(target, renameio.WithTempDir(dir), renameio.WithStaticPermissions(perm))
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	defer f.Cleanup() // does nothing after the replacement
	if err := fill(f); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	if err := f.CloseAtomicallyReplace(); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	if err := syncDir(dir); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

// MkdirAll creates path and its missing parents with mode 0700. Folders that
// exist keep their mode.
func MkdirAll(path string) error {
	if err := os.MkdirAll(path, 0o700); err != nil {
		return fmt.Errorf("create folder %s: %w", path, err)
	}
	return nil
}

// ReadFile reads a regular file of at most limit bytes. It refuses folders,
// pipes and devices, so a misplaced path never blocks. A missing file is
// [fs.ErrNotExist], a longer one [ErrTooLarge].
func ReadFile(path string, limit int64) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		return nil, fmt.Errorf("read %s: is a folder, not a file", path)
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("read %s: is not a regular file", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	if int64(len(data)) > limit {
		return nil, fmt.Errorf("read %s: %w (limit %d bytes)", path, ErrTooLarge, limit)
	}
	return data, nil
}

// Backup keeps copies of path before it is overwritten: path.bak is the newest,
// then path.bak.1 up to path.bak.<keep-1>; the oldest is dropped. A missing
// path is not an error.
func Backup(path string, keep int) error {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("back up %s: %w", path, err)
	}
	for i := keep - 1; i >= 1; i-- {
		err := os.Rename(BackupName(path, i-1), BackupName(path, i))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("rotate backups of %s: %w", path, err)
		}
	}
	return WriteFile(BackupName(path, 0), data, 0o600)
}

// BackupName returns the path of a copy that [Backup] keeps; 0 is the newest.
func BackupName(path string, i int) string {
	if i == 0 {
		return path + ".bak"
	}
	return fmt.Sprintf("%s.bak.%d", path, i)
}

// followLink returns what a write to path must replace. A dangling link is
// followed too, so that the first write creates the file it names.
func followLink(path string) (string, error) {
	for range 16 {
		info, err := os.Lstat(path)
		if err != nil || info.Mode()&fs.ModeSymlink == 0 {
			return path, nil // a missing path is created, other errors show on create
		}
		next, err := os.Readlink(path)
		if err != nil {
			return "", err
		}
		if !filepath.IsAbs(next) {
			next = filepath.Join(filepath.Dir(path), next)
		}
		path = next
	}
	return "", errors.New("too many symbolic links")
}
