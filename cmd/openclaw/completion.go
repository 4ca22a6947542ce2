package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"openclaw/internal/cli"
	"openclaw/internal/disk"
)

// shells that completion scripts exist for, with the file that loads them.
var shells = []struct{ name, cache, profile string }{
	{"zsh", "openclaw.zsh", ".zshrc"},
	{"bash", "openclaw.bash", ".bashrc"},
	{"fish", "openclaw.fish", ".config/fish/config.fish"},
	{"powershell", "openclaw.ps1", ".config/powershell/Microsoft.PowerShell_profile.ps1"},
}

// completionCommand prints or installs shell completion.
// See docs/commands/completion.md.
func completionCommand(p *program) *cobra.Command {
	var shell string
	var install, writeState, yes bool
	cmd := &cobra.Command{
		Use:   "completion [shell]",
		Short: "Print or install shell completion",
		Args:  atMostOne,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 && shell == "" {
				shell = args[0]
			}
			if shell == "" {
				shell = p.detectShell()
			}
			i := shellIndex(shell)
			if i < 0 {
				return cli.Fail(fmt.Sprintf("unknown shell %q", shell), "choose one of zsh, bash, fish and powershell with --shell")
			}
			switch {
			case writeState:
				return p.writeCompletions(cmd.Root())
			case install:
				return p.installCompletion(cmd.Root(), i, yes)
			}
			script, err := completionScript(cmd.Root(), shells[i].name)
			if err != nil {
				return err
			}
			_, err = p.io.Out.Write(script)
			return err
		},
	}
	cmd.Flags().StringVarP(&shell, "shell", "s", "", "zsh, bash, fish or powershell (default: the shell you use)")
	cmd.Flags().BoolVarP(&install, "install", "i", false, "load the completion from your shell profile")
	cmd.Flags().BoolVar(&writeState, "write-state", false, "only write the scripts into the state folder")
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask before changing the profile")
	return cmd
}

func shellIndex(name string) int {
	for i, s := range shells {
		if s.name == name {
			return i
		}
	}
	return -1
}

func (p *program) detectShell() string {
	name := strings.TrimSuffix(filepath.Base(p.env("SHELL")), ".exe")
	if name == "pwsh" {
		name = "powershell"
	}
	if shellIndex(name) < 0 {
		return "zsh"
	}
	return name
}

func completionScript(root *cobra.Command, shell string) ([]byte, error) {
	var b bytes.Buffer
	var err error
	switch shell {
	case "zsh":
		err = root.GenZshCompletion(&b)
	case "bash":
		err = root.GenBashCompletionV2(&b, true)
	case "fish":
		err = root.GenFishCompletion(&b, true)
	case "powershell":
		err = root.GenPowerShellCompletionWithDesc(&b)
	}
	if err != nil {
		return nil, fmt.Errorf("generate %s completion: %w", shell, err)
	}
	return b.Bytes(), nil
}

func (p *program) completionDir() string { return filepath.Join(p.paths.StateDir, "completions") }

func (p *program) writeCompletions(root *cobra.Command) error {
	if err := disk.MkdirAll(p.completionDir()); err != nil {
		return err
	}
	for _, s := range shells {
		script, err := completionScript(root, s.name)
		if err != nil {
			return err
		}
		if err := disk.WriteFile(filepath.Join(p.completionDir(), s.cache), script, 0o600); err != nil {
			return fmt.Errorf("write %s completion: %w", s.name, err)
		}
	}
	return nil
}

// installCompletion adds one line to the shell profile that loads the cached
// script. It does nothing when the line is there.
func (p *program) installCompletion(root *cobra.Command, i int, yes bool) error {
	if err := p.writeCompletions(root); err != nil {
		return err
	}
	s := shells[i]
	profile := filepath.Join(p.paths.Home, s.profile)
	cache := filepath.Join(p.completionDir(), s.cache)
	line := fmt.Sprintf("[ -f %q ] && source %q # openclaw completion", cache, cache)
	switch s.name {
	case "fish":
		line = fmt.Sprintf("test -f %q; and source %q # openclaw completion", cache, cache)
	case "powershell":
		line = fmt.Sprintf("if (Test-Path %q) { . %q } # openclaw completion", cache, cache)
	}
	old, err := os.ReadFile(profile)
	if err != nil && !os.IsNotExist(err) {
		return fmt.Errorf("read shell profile: %w", err)
	}
	if bytes.Contains(old, []byte(line)) {
		p.io.Say("completion is already loaded from %s", p.io.Path(profile))
		return nil
	}
	if !yes && p.io.InTTY {
		ok, err := p.io.Confirm(fmt.Sprintf("Add one line to %s?", p.io.Path(profile)))
		if err != nil || !ok {
			return err
		}
	}
	text := string(old)
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	if err := disk.MkdirAll(filepath.Dir(profile)); err != nil {
		return err
	}
	mode := os.FileMode(0o644)
	if info, err := os.Stat(profile); err == nil {
		mode = info.Mode().Perm()
	}
	if err := disk.WriteFile(profile, []byte(text+line+"\n"), mode); err != nil {
		return fmt.Errorf("write shell profile: %w", err)
	}
	p.io.Say("added completion to %s; open a new shell to use it", p.io.Path(profile))
	return nil
}
