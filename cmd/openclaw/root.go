package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"openclaw/internal/cli"
)

// commands is the command table: one verb, one file, one page in docs/commands.
var commands = []func(*program) *cobra.Command{
	setupCommand,
	gatewayCommand,
	agentCommand,
	healthCommand,
	statusCommand,
	sessionsCommand,
	logsCommand,
	configCommand,
	modelsCommand,
	devicesCommand,
	systemCommand,
	dashboardCommand,
	doctorCommand,
	completionCommand,
	protocolCommand,
	stagewhisperCommand,
	demoCommand,
}

// rootCommand builds the command tree.
func rootCommand(p *program) *cobra.Command {
	root := &cobra.Command{
		Use:   p.name,
		Short: "The OpenClaw gateway and its command line",
		Long: `The OpenClaw gateway and its command line.

New here? Type these:
  ` + p.name + ` demo      see an agent turn, without any key or account
  ` + p.name + ` setup     make the config file and the workspace
  ` + p.name + ` doctor    check everything and say what to fix`,
		Args:          noArgs,
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			for _, name := range []string{"version", "version-short"} {
				if on, _ := cmd.Flags().GetBool(name); on {
					fmt.Fprintln(p.io.Out, version)
					return nil
				}
			}
			return cmd.Help()
		},
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error { return p.guard(cmd) },
	}
	root.SetOut(p.io.Out)
	root.SetErr(p.io.Err)
	root.SetIn(p.io.In)
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetFlagErrorFunc(flagError)
	root.SetHelpCommand(helpCommand(p))
	root.Flags().BoolP("version", "V", false, "print the version")
	root.Flags().BoolP("version-short", "v", false, "print the version")
	_ = root.Flags().MarkHidden("version-short") // the flag was defined in the line above
	root.Flags().Bool("dev", false, `use the profile "dev": state in ~/.openclaw-dev, gateway port 19001`)
	root.Flags().String("profile", "", "use a profile of its own: state in ~/.openclaw-<name>")
	root.PersistentFlags().Bool("no-color", false, "print without colours")
	for _, make := range commands {
		root.AddCommand(make(p))
	}
	return root
}

// helpCommand is cobra's, but an unknown topic is an error.
func helpCommand(p *program) *cobra.Command {
	return &cobra.Command{
		Use:   "help [command]",
		Short: "Explain a command",
		RunE: func(cmd *cobra.Command, args []string) error {
			topic, rest, err := cmd.Root().Find(args)
			if err != nil || topic == nil || len(rest) > 0 && topic == cmd.Root() {
				return unknownCommand(cmd.Root(), strings.Join(args, " "))
			}
			topic.InitDefaultHelpFlag()
			return topic.Help()
		},
	}
}

// noArgs refuses words after a command; on a command with children such a word
// is a command that does not exist.
func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if cmd.HasSubCommands() {
		return unknownCommand(cmd, args[0])
	}
	return cli.Fail(fmt.Sprintf("%q takes no argument, got %q", cmd.CommandPath(), args[0]), helpHint(cmd))
}

func unknownCommand(cmd *cobra.Command, word string) error {
	var hints []string
	cmd.SuggestionsMinimumDistance = 2
	if near := cmd.SuggestionsFor(word); len(near) > 0 {
		for i, n := range near {
			near[i] = cmd.CommandPath() + " " + n
		}
		hints = append(hints, "did you mean "+strings.Join(near, " or ")+"?")
	}
	return cli.Fail(fmt.Sprintf("unknown command %q for %q", word, cmd.CommandPath()), append(hints, helpHint(cmd))...)
}

// exactArgs wants the named arguments.
func exactArgs(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) < len(names) {
			return cli.Fail(fmt.Sprintf("missing <%s>", names[len(args)]), helpHint(cmd))
		}
		if len(args) > len(names) {
			return cli.Fail(fmt.Sprintf("unexpected argument %q", args[len(names)]), helpHint(cmd))
		}
		return nil
	}
}

// atMostOne wants one argument or none.
func atMostOne(cmd *cobra.Command, args []string) error {
	if len(args) > 1 {
		return cli.Fail(fmt.Sprintf("unexpected argument %q", args[1]), helpHint(cmd))
	}
	return nil
}

func flagError(cmd *cobra.Command, err error) error { return cli.Fail(err.Error(), helpHint(cmd)) }

func helpHint(cmd *cobra.Command) string { return "see " + cmd.CommandPath() + " --help" }
