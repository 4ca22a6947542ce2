//go:build unix

package file

import (
	"io/fs"
	"os"
	"syscall"
)

// linked reports whether the file has other names, which a rename would part
// it from.
func linked(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && st.Nlink > 1
}

// keepOwner gives f the owner of old. It fails where that takes more rights
// than this process has.
func keepOwner(f *os.File, old fs.FileInfo) error {
	st, ok := old.Sys().(*syscall.Stat_t)
	if !ok {
		return nil
	}
	now, err := f.Stat()
	if err != nil {
		return err
	}
	if mine, ok := now.Sys().(*syscall.Stat_t); ok && mine.Uid == st.Uid && mine.Gid == st.Gid {
		return nil
	}
	return f.Chown(int(st.Uid), int(st.Gid))
}
