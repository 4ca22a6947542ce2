package workspace

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"openclaw/internal/disk"
)

// The files of a workspace that the program knows by name.
const (
	AgentsFile    = "AGENTS.md"
	SoulFile      = "SOUL.md"
	ToolsFile     = "TOOLS.md"
	IdentityFile  = "IDENTITY.md"
	UserFile      = "USER.md"
	HeartbeatFile = "HEARTBEAT.md"
	BootstrapFile = "BOOTSTRAP.md"
	BootFile      = "BOOT.md"
	MemoryFile    = "MEMORY.md"
	memoryFileAlt = "memory.md"
)

// standing are the files every workspace has, in the order of the prompt.
var standing = [...]string{AgentsFile, SoulFile, ToolsFile, IdentityFile, UserFile, HeartbeatFile}

//go:embed template/*.md
var templates embed.FS

// Time limits of git, which is a courtesy and must never hold up a reply.
const (
	gitProbeTimeout = 2 * time.Second
	gitInitTimeout  = 10 * time.Second
)

// EnsureOptions adjusts [Ensure].
type EnsureOptions struct {
	// SkipFiles creates the folder only (agents.defaults.skipBootstrap).
	SkipFiles bool
	// Git runs git with args in dir; nil runs the installed program.
	Git func(ctx context.Context, dir string, args ...string) error
}

// Created says what [Ensure] added.
type Created struct {
	// Files are the names of the files that were written, in order.
	Files []string
	// New says that none of the standing files existed before.
	New bool
	// Repository says that git was initialised.
	Repository bool
}

// Ensure makes dir a workspace: it creates the folder and every standing file
// that is missing. BOOTSTRAP.md and the git repository are made only for a brand
// new workspace, so removing either is final. Existing files are never touched,
// empty ones included. It is cheap when nothing is missing. See
// docs/runtime.md#workspace.
func Ensure(ctx context.Context, dir string, opts EnsureOptions) (Created, error) {
	if err := disk.MkdirAll(dir); err != nil {
		return Created{}, fmt.Errorf("create workspace: %w", err)
	}
	if opts.SkipFiles {
		return Created{}, nil
	}
	var missing []string
	for _, name := range standing {
		if !exists(filepath.Join(dir, name)) {
			missing = append(missing, name)
		}
	}
	created := Created{New: len(missing) == len(standing)}
	if created.New && !exists(filepath.Join(dir, BootstrapFile)) {
		missing = append(missing, BootstrapFile)
	}
	for _, name := range missing {
		if err := writeTemplate(dir, name); err != nil {
			return created, err
		}
		created.Files = append(created.Files, name)
	}
	if created.New {
		created.Repository = initRepository(ctx, dir, opts.Git)
	}
	return created, nil
}

// Template returns the text a file of that name starts with; ok is false for
// names that have none.
func Template(name string) (text string, ok bool) {
	data, err := templates.ReadFile("template/" + name)
	return string(data), err == nil
}

// Bootstrapping reports whether the first-run ritual of dir is still to be done.
func Bootstrapping(dir string) bool { return exists(filepath.Join(dir, BootstrapFile)) }

func writeTemplate(dir, name string) error {
	text, ok := Template(name)
	if !ok {
		return fmt.Errorf("create %s: no such template", name)
	}
	if err := disk.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
		return fmt.Errorf("create workspace file: %w", err)
	}
	return nil
}

// initRepository makes dir a git repository if git answers in time. A workspace
// works without one, so every failure is accepted.
func initRepository(ctx context.Context, dir string, git func(context.Context, string, ...string) error) bool {
	if exists(filepath.Join(dir, ".git")) {
		return false
	}
	if git == nil {
		git = runGit
	}
	call := func(limit time.Duration, args ...string) error {
		ctx, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		return git(ctx, dir, args...)
	}
	return call(gitProbeTimeout, "--version") == nil && call(gitInitTimeout, "init", "--quiet") == nil
}

func runGit(ctx context.Context, dir string, args ...string) error {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir = dir
	cmd.WaitDelay = time.Second // a helper that keeps the pipes open must not hold us
	return cmd.Run()
}

// exists reports whether something is at path. What cannot be looked at counts
// as existing: it must not be overwritten.
func exists(path string) bool {
	_, err := os.Lstat(path)
	return !errors.Is(err, fs.ErrNotExist)
}
