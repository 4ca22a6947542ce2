package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"openclaw/internal/cli"
	"openclaw/internal/config"
	"openclaw/internal/workspace"
)

// prepareDev makes the config and the workspace of gateway --dev, if there are
// none. The workspace has no first-run ritual.
func (p *program) prepareDev(ctx context.Context, reset bool) error {
	if reset {
		if err := p.resetDev(); err != nil {
			return err
		}
	}
	file, err := p.openConfig(nil, nil)
	if err != nil {
		return err
	}
	snap := file.Snapshot()
	if !snap.Exists {
		snap, err = file.Edit(ctx,
			config.Op{Path: []string{"gateway", "mode"}, Value: "local"},
			config.Op{Path: []string{"gateway", "bind"}, Value: "loopback"},
			config.Op{Path: []string{"gateway", "auth"}, Value: map[string]any{"mode": "token", "token": newToken()}},
			config.Op{Path: []string{"agents", "defaults", "workspace"}, Value: p.devWorkspace(snap.Config)})
		if err != nil {
			return fmt.Errorf("write the dev config: %w", err)
		}
		p.io.Say("made %s", p.io.Path(snap.Path))
	}
	dir := snap.Config.Workspace(p.paths, snap.Config.DefaultAgentID())
	created, err := workspace.Ensure(ctx, dir, workspace.EnsureOptions{})
	if err != nil {
		return err
	}
	if slices.Contains(created.Files, workspace.BootstrapFile) {
		if err := os.Remove(filepath.Join(dir, workspace.BootstrapFile)); err != nil {
			return fmt.Errorf("leave the first-run ritual out: %w", err)
		}
		p.io.Say("made %s", p.io.Path(dir))
	}
	return nil
}

// devWorkspace keeps trying things out away from the workspace of the user.
func (p *program) devWorkspace(c *config.Config) string {
	if p.paths.Profile == "" {
		return p.paths.HomeState("workspace-dev")
	}
	return c.Workspace(p.paths, c.DefaultAgentID())
}

// resetDev removes what a dev profile holds. The user's own profile is never
// touched.
func (p *program) resetDev() error {
	if p.paths.Profile == "" {
		return cli.Fail("--reset would remove your own config, sessions and workspace",
			fmt.Sprintf("use a profile for trying things out: %s --dev gateway --dev --reset", p.name))
	}
	dirs := []string{p.paths.State("agents"), p.paths.State("credentials"), p.paths.HomeState("workspace-" + p.paths.Profile)}
	paths := append(dirs, p.paths.ConfigPath)
	for _, path := range paths {
		if err := os.RemoveAll(path); err != nil {
			return fmt.Errorf("reset the dev profile: %w", err)
		}
	}
	p.io.Say("removed the config, the sessions and the workspace of profile %s", p.paths.Profile)
	return nil
}

// newToken makes a gateway token of 130 random bits.
func newToken() string { return strings.ToLower(rand.Text()) }
