package main

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"openclaw/internal/config"
	"openclaw/internal/doctor"
	"openclaw/internal/model"
	"openclaw/protocol"
)

// doctorFlags are the flags of doctor.
type doctorFlags struct {
	fix, repair, yes, nonInteractive bool
	noSuggestions, token, json       bool
}

// doctorCommand checks the installation. See docs/commands/doctor.md.
func doctorCommand(p *program) *cobra.Command {
	var f doctorFlags
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check the installation and repair what can be repaired",
		Args:  noArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return p.doctor(cmd.Context(), &f) },
	}
	fl := cmd.Flags()
	fl.BoolVar(&f.fix, "fix", false, "repair what can be repaired; every changed file is copied first")
	fl.BoolVar(&f.repair, "repair", false, "the same as --fix")
	fl.BoolVarP(&f.yes, "yes", "y", false, "agree to every repair")
	fl.BoolVar(&f.nonInteractive, "non-interactive", false, "never ask; make only safe repairs unless --fix is given")
	fl.BoolVar(&f.noSuggestions, "no-workspace-suggestions", false, "leave out tips about the workspace")
	fl.BoolVar(&f.token, "generate-gateway-token", false, "make a token for the gateway when there is none")
	fl.BoolVar(&f.json, "json", false, "print the findings as JSON")
	return cmd
}

// doctorLine is a finding and what became of it.
type doctorLine struct {
	doctor.Finding
	Repaired []string `json:"repaired,omitempty"`
	Error    string   `json:"error,omitempty"`
}

// doctor runs the checks one after the other and repairs as far as the user
// agrees. CLI-010.
func (p *program) doctor(ctx context.Context, f *doctorFlags) error {
	lines := []doctorLine{}
	open := 0 // findings that a repair would mend
	for _, check := range doctor.Checks(p.doctorConfig(f)) {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		for _, finding := range check(ctx) {
			line := doctorLine{Finding: finding}
			if !f.json {
				p.printFinding(finding)
			}
			if finding.Repair != nil {
				agreed, err := p.agree(f, finding.Repair)
				if err != nil {
					return err
				}
				if agreed {
					line.repair(ctx)
				} else {
					open++
				}
				if !f.json {
					p.printRepair(line, agreed)
				}
			}
			lines = append(lines, line)
		}
	}
	if f.json {
		return p.io.JSON(map[string]any{"findings": lines})
	}
	p.doctorEnd(lines, open)
	return nil
}

func (l *doctorLine) repair(ctx context.Context) {
	done, err := l.Repair.Do(ctx)
	if err != nil {
		l.Error = err.Error()
		return
	}
	l.Repaired = done
}

// agree decides about a repair; it asks on a terminal only.
func (p *program) agree(f *doctorFlags, r *doctor.Repair) (bool, error) {
	switch {
	case f.fix || f.repair || f.yes:
		return true, nil
	case f.nonInteractive:
		return r.Safe, nil
	case f.json:
		return false, nil
	}
	return p.io.Confirm("  " + r.Title + "?")
}

func (p *program) doctorConfig(f *doctorFlags) doctor.Config {
	return doctor.Config{
		Paths: p.paths, Env: os.Getenv, Version: version, Program: p.name,
		Models: func(snap *config.Snapshot) *model.Directory {
			return newModels(p.paths, func() *config.Snapshot { return snap }).base
		},
		Listeners: func(port int) []string {
			var out []string
			for _, l := range portListeners(port) {
				out = append(out, l.String())
			}
			return out
		},
		Probe: func(ctx context.Context) error {
			t, err := p.localTarget()
			if err != nil {
				return err
			}
			conn, err := p.dialAs(ctx, gatewayFlags{timeout: 3000}, t, dialOptions{mode: protocol.ModeProbe})
			if err != nil {
				return err
			}
			defer conn.Close()
			return conn.call(ctx, protocol.MethodHealth, nil, nil)
		},
		NewToken: newToken, GenerateToken: f.token, NoSuggestions: f.noSuggestions,
	}
}

func (p *program) printFinding(f doctor.Finding) {
	style := p.io.OutStyle()
	word := style.Green("ok     ")
	switch f.Level {
	case doctor.Note:
		word = style.Yellow("note   ")
	case doctor.Problem:
		word = style.Red("problem")
	}
	fmt.Fprintf(p.io.Out, "%s  %s: %s\n", word, f.Check, f.Text)
	for _, h := range f.Hints {
		fmt.Fprintf(p.io.Out, "         hint: %s\n", h)
	}
}

func (p *program) printRepair(l doctorLine, agreed bool) {
	style := p.io.OutStyle()
	if !agreed {
		fmt.Fprintf(p.io.Out, "         can be repaired: %s\n", l.Repair.Title)
		return
	}
	if l.Error != "" {
		fmt.Fprintf(p.io.Out, "         %s %s: %s\n", style.Red("not repaired,"), l.Repair.Title, l.Error)
		return
	}
	for _, done := range l.Repaired {
		fmt.Fprintf(p.io.Out, "         %s %s\n", style.Green("repaired:"), done)
	}
}

// doctorEnd sums up.
func (p *program) doctorEnd(lines []doctorLine, open int) {
	problems := 0
	for _, l := range lines {
		if l.Level == doctor.Problem && len(l.Repaired) == 0 {
			problems++
		}
	}
	switch {
	case open > 0:
		fmt.Fprintf(p.io.Out, "\n%s can be repaired: %s doctor --fix\n", count(open, "finding"), p.name)
	case problems > 0:
		fmt.Fprintf(p.io.Out, "\n%s left\n", count(problems, "problem"))
	default:
		fmt.Fprintf(p.io.Out, "\nnothing is wrong\n")
	}
}
