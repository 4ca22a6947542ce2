package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"openclaw/internal/cli"
	"openclaw/internal/config"
)

// configCommand reads and changes single settings. See docs/commands/config.md.
func configCommand(p *program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Read and change single settings of the config file",
		Args:  noArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(configGetCommand(p), configSetCommand(p), configUnsetCommand(p))
	return cmd
}

func configGetCommand(p *program) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "get <path>",
		Short: "Print a setting with defaults and variables filled in",
		Args:  exactArgs("path"),
		RunE: func(cmd *cobra.Command, args []string) error {
			path, err := parsePath(args[0])
			if err != nil {
				return err
			}
			value, ok := p.snapshot().Get(path)
			if !ok {
				return cli.Fail(fmt.Sprintf("%s is not set", args[0]))
			}
			return p.printSetting(value, asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print every value as JSON")
	return cmd
}

// printSetting prints plain values as they are and the rest as JSON. CLI-006.
func (p *program) printSetting(value any, asJSON bool) error {
	if !asJSON {
		switch v := value.(type) {
		case string:
			_, err := fmt.Fprintln(p.io.Out, v)
			return err
		case bool, json.Number, float64:
			_, err := fmt.Fprintln(p.io.Out, v)
			return err
		}
	}
	return p.io.JSON(value)
}

func parsePath(text string) ([]string, error) {
	path, err := config.ParsePath(text)
	if err != nil {
		return nil, cli.Hint(err, "paths look like gateway.port, agents.list[0].id or models.providers.my\\.vendor.baseUrl")
	}
	return path, nil
}

func configSetCommand(p *program) *cobra.Command {
	var strict bool
	cmd := &cobra.Command{
		Use:   "set <path> <value>",
		Short: "Change a setting; the value is JSON5, or text when it is none",
		Args:  exactArgs("path", "value"),
		RunE: func(cmd *cobra.Command, args []string) error {
			path, err := parsePath(args[0])
			if err != nil {
				return err
			}
			value, err := config.ParseValue(args[1], strict)
			if err != nil {
				return cli.Hint(err, `with --json text needs quotes: '"text"'`)
			}
			return p.editConfig(cmd, config.Op{Path: path, Value: value}, "set "+args[0])
		},
	}
	cmd.Flags().BoolVar(&strict, "json", false, "refuse a value that is no JSON5")
	return cmd
}

func configUnsetCommand(p *program) *cobra.Command {
	return &cobra.Command{
		Use:   "unset <path>",
		Short: "Remove a setting",
		Args:  exactArgs("path"),
		RunE: func(cmd *cobra.Command, args []string) error {
			path, err := parsePath(args[0])
			if err != nil {
				return err
			}
			err = p.editConfig(cmd, config.Op{Path: path, Unset: true}, "removed "+args[0])
			if errors.Is(err, config.ErrNotFound) {
				return cli.Fail(fmt.Sprintf("%s is not set in %s", args[0], p.io.Path(p.paths.ConfigPath)))
			}
			return err
		},
	}
}

// editConfig changes the file, after checking the whole result, and says what a
// running gateway makes of it. CLI-007.
func (p *program) editConfig(cmd *cobra.Command, op config.Op, done string) error {
	file, err := p.openConfig(nil, nil)
	if err != nil {
		return err
	}
	before := file.Snapshot()
	after, err := file.Edit(cmd.Context(), op)
	var refused *config.Error
	if errors.As(err, &refused) {
		return p.refusedEdit(refused)
	}
	if err != nil {
		return err
	}
	p.io.Say("%s in %s", done, p.io.Path(after.Path))
	if config.Compare(before, after).Plan.Restart {
		p.io.Say("a running gateway must be restarted for this to count")
	}
	return nil
}

func (p *program) refusedEdit(refused *config.Error) error {
	e := &cli.Error{Text: refused.Message, Hints: []string{"nothing was changed"}}
	for _, i := range refused.Issues {
		e.Details = append(e.Details, i.String())
	}
	if strings.HasPrefix(refused.Message, "invalid config;") {
		e.Hints = append(e.Hints, p.name+" doctor --fix")
	}
	return e
}
