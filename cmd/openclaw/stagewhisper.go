package main

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/spf13/cobra"

	"openclaw/internal/assistant"
	"openclaw/internal/cli"
	"openclaw/internal/config"
)

// stageWhisperDir is where the pairings are, below the state folder.
var stageWhisperDir = []string{"credentials", "stagewhisper"}

// stagewhisperCommand pairs the gateway with desktops that listen to a call. See
// docs/commands/stagewhisper.md.
func stagewhisperCommand(p *program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "stagewhisper",
		Short: "Answer the questions of a desktop during a live call, end to end encrypted",
		Args:  noArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(stagewhisperPairCommand(p), stagewhisperPairCodeCommand(p), stagewhisperStatusCommand(p),
		stagewhisperUnpairCommand(p), stagewhisperReasoningCheckCommand(p))
	return cmd
}

func (p *program) stageWhisperDir(name ...string) string {
	return p.paths.State(append(append([]string{}, stageWhisperDir...), name...)...)
}

// ourPairings returns the names of the pairings: those over relays, then the direct one.
func (p *program) ourPairings() (over map[string]*assistant.Pairing, direct *assistant.Direct, err error) {
	over, err = assistant.Pairings(p.stageWhisperDir())
	if err != nil {
		return nil, nil, err
	}
	direct, err = assistant.LoadDirect(p.stageWhisperDir(assistant.DirectName))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, err
	}
	return over, direct, nil
}

// theirs finds the pairing that a command means: the named one, or the only one.
func (p *program) theirs(args []string) (string, error) {
	over, direct, err := p.ourPairings()
	if err != nil {
		return "", err
	}
	names := sortedKeys(over)
	if direct != nil {
		names = append(names, assistant.DirectName)
	}
	if len(args) > 0 {
		var found []string
		for _, n := range names {
			if n == args[0] {
				return n, nil
			}
			if len(args[0]) >= 4 && len(n) > len(args[0]) && n[:len(args[0])] == args[0] {
				found = append(found, n)
			}
		}
		if len(found) == 1 {
			return found[0], nil
		}
		return "", cli.Fail(fmt.Sprintf("no pairing is called %q", args[0]), p.name+" stagewhisper status lists them")
	}
	switch len(names) {
	case 0:
		return "", cli.Fail("nothing is paired", p.name+" stagewhisper pair --code CODE")
	case 1:
		return names[0], nil
	}
	return "", cli.Fail("there is more than one pairing", append([]string{"name one of:"}, names...)...)
}

// changeConfig applies changes to the config file after checking the whole result.
func (p *program) changeConfig(cmd *cobra.Command, file *config.File, ops []config.Op) error {
	if len(ops) == 0 {
		return nil
	}
	_, err := file.Edit(cmd.Context(), ops...)
	if refused := (*config.Error)(nil); errors.As(err, &refused) {
		return p.refusedEdit(refused)
	}
	return err
}

// served reports whether a process answers for a pairing.
func (p *program) served(name string) bool {
	return assistant.InUse(p.stageWhisperDir(name))
}
