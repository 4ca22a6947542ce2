package main

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"openclaw/internal/config"
	"openclaw/internal/disk"
	"openclaw/internal/workspace"
)

// setupCommand makes what an agent needs. See docs/commands/setup.md.
func setupCommand(p *program) *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use:   "setup",
		Short: "Make the config file, the workspace and the sessions folder",
		Args:  noArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return p.setup(cmd.Context(), dir) },
	}
	cmd.Flags().StringVar(&dir, "workspace", "", "folder of the agent's files (default: the configured one, else ~/.openclaw/workspace)")
	return cmd
}

// setup is idempotent: what exists is left alone. CLI-008.
func (p *program) setup(ctx context.Context, dir string) error {
	file, err := p.openConfig(nil, nil)
	if err != nil {
		return err
	}
	snap, err := p.setupConfig(ctx, file, dir)
	if err != nil {
		return err
	}
	c := snap.Config
	ok := p.io.OutStyle().Green("OK")
	fmt.Fprintf(p.io.Out, "Config %s: %s\n", ok, p.io.Path(snap.Path))
	ws := c.Workspace(p.paths, c.DefaultAgentID())
	if _, err := workspace.Ensure(ctx, ws, workspace.EnsureOptions{SkipFiles: c.Agents.Defaults.SkipBootstrap}); err != nil {
		return err
	}
	fmt.Fprintf(p.io.Out, "Workspace %s: %s\n", ok, p.io.Path(ws))
	sessions := filepath.Dir(c.SessionStore(p.paths, c.DefaultAgentID()))
	if err := disk.MkdirAll(sessions); err != nil {
		return err
	}
	fmt.Fprintf(p.io.Out, "Sessions %s: %s\n", ok, p.io.Path(sessions))
	p.setupNext(snap)
	return nil
}

// setupConfig stores the workspace in the config file when it is not there, or
// when the user names another one.
func (p *program) setupConfig(ctx context.Context, file *config.File, dir string) (*config.Snapshot, error) {
	snap := file.Snapshot()
	stored := snap.Config.Agents.Defaults.Workspace
	want := stored
	if dir != "" {
		abs, err := filepath.Abs(config.ExpandHome(dir, p.paths.Home))
		if err != nil {
			return nil, fmt.Errorf("find the workspace %s: %w", dir, err)
		}
		want = abs
	}
	if want == "" {
		want = snap.Config.Workspace(p.paths, snap.Config.DefaultAgentID())
	}
	if snap.Exists && want == stored {
		return snap, nil
	}
	return file.Edit(ctx, config.Op{Path: []string{"agents", "defaults", "workspace"}, Value: want})
}

// setupNext tells what is missing for a first conversation.
func (p *program) setupNext(snap *config.Snapshot) {
	c := snap.Config
	var next []string
	if c.Gateway.Mode == "" {
		next = append(next, "make this machine the gateway:  "+p.name+" config set gateway.mode local")
	}
	if c.Gateway.Auth.Token == "" && c.Gateway.Auth.Password == "" && envSecret("TOKEN") == "" && envSecret("PASSWORD") == "" {
		next = append(next, "give it a token:                "+p.name+" doctor --fix --generate-gateway-token")
	}
	if newModels(p.paths, func() *config.Snapshot { return snap }).base.Offline() {
		next = append(next, "connect a model, for example:   export ANTHROPIC_API_KEY=... (or OPENAI_API_KEY)")
	}
	next = append(next, "start it:                       "+p.name+" gateway", `talk to it:                     `+p.name+` agent --agent main --message "hello"`)
	p.io.Say("\nNext:")
	for _, line := range next {
		p.io.Say("  %s", line)
	}
}
