package disk

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Move renames a file or folder to a path that must not exist yet (fs.ErrExist
// otherwise), in the same file system, and syncs both folders. The folder of to is
// created.
func Move(from, to string) error {
	if _, err := os.Lstat(to); err == nil {
		return fmt.Errorf("move %s to %s: %w", from, to, fs.ErrExist)
	}
	if err := MkdirAll(filepath.Dir(to)); err != nil {
		return err
	}
	if err := os.Rename(from, to); err != nil {
		return fmt.Errorf("move: %w", err)
	}
	for _, dir := range []string{filepath.Dir(to), filepath.Dir(from)} {
		if err := syncDir(dir); err != nil {
			return fmt.Errorf("move %s: %w", from, err)
		}
	}
	return nil
}
