package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"openclaw/internal/cli"
	"openclaw/internal/config"
)

// How a command gets along with the config file. CLI-004.
const (
	configUnused  = iota // never looks at it
	configAnyhow         // tells what is wrong and goes on
	configIsValid        // refuses to run on an invalid file
)

// configNeeds lists the commands that do not need a valid config file.
var configNeeds = map[string]int{
	"": configUnused, "help": configUnused, "completion": configUnused, "doctor": configUnused,
	"demo": configUnused, "protocol": configUnused, "protocol schema": configUnused,
	"gateway": configUnused, "gateway run": configUnused, // they decide for themselves
	cobra.ShellCompRequestCmd: configUnused, cobra.ShellCompNoDescRequestCmd: configUnused,
	"logs": configAnyhow, "health": configAnyhow, "status": configAnyhow,
	"gateway status": configAnyhow, "gateway probe": configAnyhow, "gateway health": configAnyhow,
	"gateway call": configAnyhow,
}

// guard runs before every command and stops it when the config file is invalid
// and the command would act on it.
func (p *program) guard(cmd *cobra.Command) error {
	path := strings.TrimSpace(strings.TrimPrefix(cmd.CommandPath(), cmd.Root().CommandPath()))
	need, listed := configNeeds[path]
	if !listed {
		need = configIsValid
	}
	if need == configUnused {
		return nil
	}
	snap := p.snapshot()
	if !snap.Exists || snap.Valid {
		return nil
	}
	err := p.invalidConfig(snap)
	if need == configAnyhow {
		cli.Report(p.io.Err, p.name, err)
		return nil
	}
	return err
}

// invalidConfig tells what is wrong with the config file and how to repair it.
func (p *program) invalidConfig(snap *config.Snapshot) error {
	e := &cli.Error{Text: fmt.Sprintf("the config file %s is invalid", p.io.Path(snap.Path))}
	for _, issue := range snap.Issues {
		e.Details = append(e.Details, issueLine(issue))
	}
	for _, issue := range snap.LegacyIssues {
		e.Details = append(e.Details, "legacy: "+issueLine(issue))
	}
	e.Hints = []string{fmt.Sprintf("run %s doctor --fix, or edit the file", p.name)}
	return e
}

func issueLine(i config.Issue) string {
	if i.Path == "" {
		return i.Message
	}
	return i.Path + ": " + i.Message
}
