package cli

import (
	"regexp"
	"strings"
)

// Globals are the flags in front of the command word.
// See docs/commands/openclaw.md.
type Globals struct {
	// Profile is the chosen profile in lower case, empty for none; "--dev" is
	// profile "dev".
	Profile string
	NoColor bool
}

var profileName = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,63}$`)

// SplitGlobals takes --dev and --profile off the front of args. Both count only
// before the first word that is no flag; later ones belong to the command.
// A wrong or missing profile name is an [*Error] with exit code 2.
func SplitGlobals(args []string) (Globals, []string, error) {
	var g Globals
	var rest []string
	var dev bool
	for i := 0; i < len(args); i++ {
		arg := args[i]
		name, value, hasValue := strings.Cut(arg, "=")
		switch {
		case arg == "--" || !strings.HasPrefix(arg, "-"):
			rest = append(rest, args[i:]...)
			return g.finish(dev, rest)
		case arg == "--dev":
			dev = true
		case name == "--profile":
			if !hasValue {
				if i++; i < len(args) {
					value = args[i]
				}
			}
			value = strings.ToLower(strings.TrimSpace(value))
			if !profileName.MatchString(value) {
				return g, nil, &Error{Code: 2, Text: "--profile needs a name of letters, digits, - and _ (at most 64)",
					Hints: []string{"type it as --profile work, before the command"}}
			}
			g.Profile = value
		default:
			if arg == "--no-color" {
				g.NoColor = true
			}
			rest = append(rest, arg)
		}
	}
	return g.finish(dev, rest)
}

func (g Globals) finish(dev bool, rest []string) (Globals, []string, error) {
	if dev {
		if g.Profile != "" {
			return g, nil, &Error{Code: 2, Text: "--dev and --profile exclude each other",
				Hints: []string{`--dev is the profile "dev"; give one of the two`}}
		}
		g.Profile = "dev"
	}
	return g, rest, nil
}
