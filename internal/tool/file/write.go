package file

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"openclaw/internal/tool"
)

type writeParams struct {
	_ struct{} `schema:"open"`

	Path     string `json:"path,omitempty" jsonschema:"File to write, absolute or relative to the workspace"`
	Content  string `json:"content" jsonschema:"The whole new content of the file"`
	FilePath string `json:"file_path,omitempty" jsonschema:"Another name for path"`
}

// Meta names the file.
func (p writeParams) Meta() string {
	path, _ := tool.Need("path", p.Path, p.FilePath)
	return path
}

func (s *scope) writeTool() tool.Tool {
	return tool.New(tool.Spec{
		Name: "write", Label: "Write",
		Description: "Write a file, replacing what is there. Missing parent folders are created.",
		Summary:     "Create or overwrite files",
	}, s.write)
}

func (s *scope) write(ctx context.Context, _ tool.Call, p writeParams) (tool.Result, error) {
	path, err := tool.Need("path", p.Path, p.FilePath)
	if err != nil {
		return tool.Result{}, err
	}
	at, err := s.locate(path, false)
	if err != nil {
		return tool.Result{}, err
	}
	defer func() { _ = at.Close() }()
	if err := ctx.Err(); err != nil {
		return tool.Result{}, err
	}
	if err := at.MkdirAll(filepath.Dir(at.name), 0o777); err != nil {
		return tool.Result{}, at.fail("mkdir", err)
	}
	if err := at.replace([]byte(p.Content)); err != nil {
		return tool.Result{}, err
	}
	return tool.Text(fmt.Sprintf("Successfully wrote %d bytes to %s", len(p.Content), path)), nil
}

// replace gives the file at p new content. A reader sees the old or the new
// file, never a part; mode and owner stay. Where that cannot be had (hard links,
// a folder that is not ours) the file is overwritten in place.
func (p *place) replace(data []byte) error {
	info, err := p.Stat(p.name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if _, err := p.Lstat(p.name); err == nil { // a link to a file that is yet to come
			return p.overwrite(data)
		}
		return p.swap(p.name, data, nil)
	case err != nil:
		return p.fail("open", err)
	}
	if err := p.regular(info, "open"); err != nil {
		return err
	}
	target := p.name
	if !p.confined() {
		if target, err = filepath.EvalSymlinks(p.name); err != nil {
			return p.fail("open", err)
		}
	}
	if linked(info) {
		return p.overwrite(data)
	}
	err = p.swap(target, data, info)
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS) {
		return p.overwrite(data)
	}
	return err
}

// swap writes a temporary file beside target and renames it over target. old
// is what target is now, nil for nothing.
func (p *place) swap(target string, data []byte, old fs.FileInfo) (err error) {
	tmp := filepath.Join(filepath.Dir(target), ".tmp-"+rand.Text()[:16])
	f, err := p.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return p.fail("open", err)
	}
	defer func() {
		if err != nil {
			_ = f.Close()
			_ = p.Remove(tmp)
		}
	}()
	if old != nil {
		if err := keepOwner(f, old); err != nil {
			return p.fail("open", err)
		}
		if err := f.Chmod(old.Mode().Perm()); err != nil {
			return p.fail("chmod", err)
		}
	}
	if _, err := f.Write(data); err != nil {
		return p.fail("write", err)
	}
	if err := f.Sync(); err != nil {
		return p.fail("write", err)
	}
	if err := f.Close(); err != nil {
		return p.fail("write", err)
	}
	if err := p.Rename(tmp, target); err != nil {
		return p.fail("rename", err)
	}
	return nil
}

// overwrite writes into the file that is there.
func (p *place) overwrite(data []byte) error {
	f, err := p.OpenFile(p.name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC|syscall.O_NONBLOCK, 0o666)
	if err != nil {
		return p.fail("open", err)
	}
	if _, err := f.Write(data); err != nil {
		_ = f.Close()
		return p.fail("write", err)
	}
	if err := f.Close(); err != nil {
		return p.fail("write", err)
	}
	return nil
}
