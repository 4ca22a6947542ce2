package main

import (
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"openclaw/internal/cli"
)

// commands is the command table: one verb, one file, one page in
// docs/commands/stagewhisper.
var commands = []func(*program) *cobra.Command{
	relayCommand,
	desktopCommand,
	assistantCommand,
	providersCommand,
	demoCommand,
	simCommand,
}

// rootCommand builds the command tree.
func rootCommand(p *program) *cobra.Command {
	root := &cobra.Command{
		Use:   p.name,
		Short: "The three sides of StageWhisper: relay, desktop, assistant",
		Long: `The three sides of StageWhisper: a desktop that listens to a call, the assistant it
asks, and the relay between them, which cannot read what it carries.

New here? Type ` + p.name + ` demo.`,
		Version:       version,
		Args:          noArgs,
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE:          help,
	}
	root.SetOut(p.io.Out)
	root.SetErr(p.io.Err)
	root.SetIn(p.io.In)
	root.SetVersionTemplate("{{.Version}}\n")
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return cli.Fail(err.Error(), helpHint(cmd)) })
	root.PersistentFlags().StringVar(&p.state, "state", "", "state folder (default $STAGEWHISPER_HOME, else ~/.stagewhisper)")
	for _, make := range commands {
		root.AddCommand(make(p))
	}
	return root
}

func help(cmd *cobra.Command, _ []string) error { return cmd.Help() }

// group is a command that only has others below it.
func group(use, short string, children ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{Use: use, Short: short, Args: noArgs, RunE: help}
	cmd.AddCommand(children...)
	return cmd
}

// noArgs refuses words after a command; on a command with children such a word is a
// command that does not exist.
func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if cmd.HasSubCommands() {
		return cli.Fail(fmt.Sprintf("unknown command %q for %q", args[0], cmd.CommandPath()), helpHint(cmd))
	}
	return cli.Fail(fmt.Sprintf("%q takes no argument, got %q", cmd.CommandPath(), args[0]), helpHint(cmd))
}

// wantArgs wants the named arguments; those in brackets may be left out.
func wantArgs(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		for i, name := range names {
			if i >= len(args) && name[0] != '[' {
				return cli.Fail(fmt.Sprintf("missing <%s>", name), helpHint(cmd))
			}
		}
		if len(args) > len(names) {
			return cli.Fail(fmt.Sprintf("unexpected argument %q", args[len(names)]), helpHint(cmd))
		}
		return nil
	}
}

func helpHint(cmd *cobra.Command) string { return "see " + cmd.CommandPath() + " --help" }

func (f *logFlags) register(fl *pflag.FlagSet) {
	fl.StringVar(&f.file, "log", "", "write the log to this file, as JSON lines, instead of standard error")
	fl.StringVar(&f.level, "log-level", "info", "error, warn, info or debug")
}
