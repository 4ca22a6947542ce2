package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Env looks up environment variables; os.Getenv is one. An unset variable is
// empty.
type Env func(name string) string

// first returns the first of names that is set.
func (e Env) first(names ...string) string {
	for _, name := range names {
		if v := strings.TrimSpace(e(name)); v != "" {
			return v
		}
	}
	return ""
}

// With returns an Env in which vars fill what e lacks.
func (e Env) With(vars map[string]string) Env {
	return func(name string) string {
		if v := e(name); v != "" {
			return v
		}
		return vars[name]
	}
}

// Paths says where this program keeps its files. All are absolute.
type Paths struct {
	Home string // the user's home folder
	// StateDir is usually <home>/.openclaw. It may not exist yet.
	StateDir string
	// ConfigPath is usually <state>/openclaw.json. It may not exist yet.
	ConfigPath string
	// Profile is OPENCLAW_PROFILE; empty for the default profile.
	Profile string
}

const (
	stateName  = ".openclaw"
	configName = "openclaw.json"
)

// Names of earlier releases, tried in this order.
var (
	legacyStateNames  = [...]string{".clawdbot", ".moltbot", ".moldbot"}
	legacyConfigNames = [...]string{"clawdbot.json", "moltbot.json", "moldbot.json"}
)

// ResolvePaths finds the state folder and the configuration file as
// agent-runtime 1.1 says. It reads the disk only to see which of them exist.
// Home must not be empty.
func ResolvePaths(env Env, home string) Paths {
	p := Paths{Home: home}
	if profile := env.first("OPENCLAW_PROFILE"); !strings.EqualFold(profile, "default") {
		p.Profile = profile
	}
	dirs := []string{filepath.Join(home, stateName)}
	if dir := env.first("OPENCLAW_STATE_DIR", "CLAWDBOT_STATE_DIR"); dir != "" {
		dirs[0] = ExpandHome(dir, home)
		p.StateDir = dirs[0]
	} else {
		for _, name := range legacyStateNames {
			dirs = append(dirs, filepath.Join(home, name))
		}
		p.StateDir = firstExisting(dirs, dirs[0])
	}
	if path := env.first("OPENCLAW_CONFIG_PATH", "CLAWDBOT_CONFIG_PATH"); path != "" {
		p.ConfigPath = ExpandHome(path, home)
	} else {
		p.ConfigPath = findConfig(p.StateDir, dirs)
	}
	p.StateDir, p.ConfigPath = absolute(p.StateDir), absolute(p.ConfigPath)
	return p
}

// absolute makes path absolute; only a working folder that is gone prevents it.
func absolute(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return path
}

// findConfig looks for an existing file in the state folder, then in the others.
func findConfig(state string, dirs []string) string {
	var candidates []string
	for _, dir := range append([]string{state}, dirs...) {
		candidates = append(candidates, filepath.Join(dir, configName))
		for _, name := range legacyConfigNames {
			candidates = append(candidates, filepath.Join(dir, name))
		}
	}
	return firstExisting(candidates, candidates[0])
}

func firstExisting(paths []string, fallback string) string {
	for _, path := range paths {
		if _, err := os.Stat(path); err == nil {
			return path
		}
	}
	return fallback
}

// State joins elem to the state folder.
func (p Paths) State(elem ...string) string {
	return filepath.Join(append([]string{p.StateDir}, elem...)...)
}

// HomeState joins elem to ~/.openclaw, where some files live whatever the state
// folder is: exec-approvals.json and default workspaces.
func (p Paths) HomeState(elem ...string) string {
	return filepath.Join(append([]string{p.Home, stateName}, elem...)...)
}

// LogDir is the folder of the dated log files.
func (p Paths) LogDir() string {
	if os.PathSeparator == '/' {
		return "/tmp/openclaw"
	}
	return filepath.Join(os.TempDir(), "openclaw")
}

// Short shows a path with the home folder as "~", for messages.
func (p Paths) Short(path string) string {
	if rest, ok := strings.CutPrefix(path, p.Home); ok && p.Home != "" {
		if rest == "" || os.IsPathSeparator(rest[0]) {
			return "~" + rest
		}
	}
	return path
}

// ExpandHome replaces a leading "~" or "~/" by home.
func ExpandHome(path, home string) string {
	if path == "~" {
		return home
	}
	if len(path) > 1 && path[0] == '~' && os.IsPathSeparator(path[1]) {
		return filepath.Join(home, path[2:])
	}
	return path
}

// ProfileEnv returns the variables that --profile and --dev set before anything
// else is read: only those that env lacks, except OPENCLAW_PROFILE itself. With
// neither flag it returns none.
func ProfileEnv(profile string, dev bool, env Env, home string) (map[string]string, error) {
	switch {
	case dev && profile != "":
		return nil, errors.New("--dev and --profile cannot be used together")
	case dev:
		profile = "dev"
	case profile == "":
		return nil, nil
	}
	if !validProfile(profile) {
		return nil, fmt.Errorf("invalid profile name %q: use letters, digits, - and _, at most 64 characters, starting with a letter or digit", profile)
	}
	vars := map[string]string{"OPENCLAW_PROFILE": profile}
	state := env.first("OPENCLAW_STATE_DIR")
	if state == "" {
		state = filepath.Join(home, stateName+"-"+profile)
		if strings.EqualFold(profile, "default") {
			state = filepath.Join(home, stateName)
		}
		vars["OPENCLAW_STATE_DIR"] = state
	}
	if env.first("OPENCLAW_CONFIG_PATH") == "" {
		vars["OPENCLAW_CONFIG_PATH"] = filepath.Join(ExpandHome(state, home), configName)
	}
	if dev && env.first("OPENCLAW_GATEWAY_PORT") == "" {
		vars["OPENCLAW_GATEWAY_PORT"] = "19001"
	}
	return vars, nil
}

func validProfile(name string) bool {
	for i, c := range strings.ToLower(name) {
		word := c >= 'a' && c <= 'z' || c >= '0' && c <= '9'
		if !word && (i == 0 || c != '-' && c != '_') {
			return false
		}
	}
	return name != "" && len(name) <= 64
}
