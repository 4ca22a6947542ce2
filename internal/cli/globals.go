package cli

import (
	"strings"
)

// Globals are the flags in front of the command word.
// See docs/commands/openclaw.md.
type Globals struct {
	// Profile is the value of --profile, empty for none.
	Profile string
	Dev     bool
	NoColor bool
}

// SplitGlobals takes --dev and --profile off the front of args. Both count only
// before the first word that is no flag; later ones belong to the command. A
// missing profile name is an [*Error] with exit code 2.
func SplitGlobals(args []string) (Globals, []string, error) {
	var g Globals
	var rest []string
	for i := 0; i < len(args); i++ {
		arg := args[i]
		name, value, hasValue := strings.Cut(arg, "=")
		switch {
		case arg == "--" || !strings.HasPrefix(arg, "-"):
			return g, append(rest, args[i:]...), g.check()
		case arg == "--dev":
			g.Dev = true
		case name == "--profile":
			if !hasValue {
				if i++; i < len(args) {
					value = args[i]
				}
			}
			if g.Profile = strings.TrimSpace(value); g.Profile == "" || strings.HasPrefix(g.Profile, "-") {
				return g, nil, &Error{Code: 2, Text: "--profile needs a name", Hints: []string{"type it as --profile work, before the command"}}
			}
		default:
			g.NoColor = g.NoColor || arg == "--no-color"
			rest = append(rest, arg)
		}
	}
	return g, rest, g.check()
}

func (g Globals) check() error {
	if g.Dev && g.Profile != "" {
		return &Error{Code: 2, Text: "--dev and --profile exclude each other", Hints: []string{`--dev is the profile "dev"; give one of the two`}}
	}
	return nil
}
