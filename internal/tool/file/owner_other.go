//go:build !unix

package file

import (
	"io/fs"
	"os"
)

func linked(fs.FileInfo) bool { return false }

func keepOwner(*os.File, fs.FileInfo) error { return nil }
