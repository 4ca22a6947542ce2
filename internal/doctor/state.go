package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"openclaw/internal/disk"
)

// stateFolder checks that the state folder is there, writable and private.
func (d *doctor) stateFolder(context.Context) []Finding {
	const check = "state folder"
	dir := d.Paths.StateDir
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return []Finding{note(check, d.Paths.Short(dir)+" does not exist yet", d.Program+" setup makes it")}
	case err != nil:
		return []Finding{problem(check, err.Error())}
	case !info.IsDir():
		return []Finding{problem(check, d.Paths.Short(dir)+" is not a folder", "move it away, or set OPENCLAW_STATE_DIR")}
	}
	var found []Finding
	probe := filepath.Join(dir, ".doctor-write-test")
	if err := disk.WriteFile(probe, []byte("x"), 0o600); err != nil {
		found = append(found, problem(check, fmt.Sprintf("%s cannot be written: %v", d.Paths.Short(dir), err),
			"give it to your user, or set OPENCLAW_STATE_DIR to a folder you may write"))
	} else if err := os.Remove(probe); err != nil {
		found = append(found, problem(check, err.Error()))
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 {
		f := problem(check, fmt.Sprintf("%s can be opened by others (mode %04o)", d.Paths.Short(dir), mode))
		f.Repair = tighten("make it private", dir, 0o700)
		found = append(found, f)
	}
	return or(found, check, d.Paths.Short(dir)+" is private and can be written")
}

// otherFolders tells of state and workspaces that are not in use.
func (d *doctor) otherFolders(context.Context) []Finding {
	const check = "other folders"
	var found []Finding
	for _, name := range []string{".openclaw", ".clawdbot", ".moltbot", ".moldbot"} {
		dir := filepath.Join(d.Paths.Home, name)
		if isDir(dir) && !sameFile(dir, d.Paths.StateDir) && d.Paths.Profile == "" && d.Env("OPENCLAW_STATE_DIR") == "" {
			found = append(found, note(check, fmt.Sprintf("%s is another state folder; %s is used", d.Paths.Short(dir), d.Paths.Short(d.Paths.StateDir))))
		}
	}
	c := d.snapshot().Config
	active := c.Workspace(d.Paths, c.DefaultAgentID())
	for _, name := range []string{"openclaw", "clawd"} {
		dir := filepath.Join(d.Paths.Home, name)
		if !d.NoSuggestions && isDir(dir) && exists(filepath.Join(dir, "AGENTS.md")) && !sameFile(dir, active) {
			found = append(found, note(check, fmt.Sprintf("%s looks like another workspace; %s is used", d.Paths.Short(dir), d.Paths.Short(active))))
		}
	}
	return found
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func sameFile(a, b string) bool {
	ia, errA := os.Stat(a)
	ib, errB := os.Stat(b)
	return errA == nil && errB == nil && os.SameFile(ia, ib)
}
