package shell

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// environ builds the environment of a command: the base, the scope's additions,
// the call's, then the folders in front of PATH.
func (t *tools) environ(host, dir string, call map[string]any) ([]string, error) {
	env := newEnviron(t.sh.cfg.Env)
	env.add(t.scope.Env...)
	for _, key := range slices.Sorted(maps.Keys(call)) {
		if err := checkName(host, key); err != nil {
			return nil, err
		}
		value, err := envValue(call[key])
		if err != nil {
			return nil, fmt.Errorf("env %s: %w", key, err)
		}
		env.set(key, value)
	}
	if pre := t.scope.Settings.PathPrepend; len(pre) > 0 && host != hostNode {
		env.set("PATH", strings.Trim(strings.Join(append(slices.Clone(pre), env.get("PATH")), string(os.PathListSeparator)), string(os.PathListSeparator)))
	}
	env.set("PWD", dir)
	return env.list(), nil
}

// checkName refuses names that are none, and on a host without a sandbox those
// that decide which code a program loads.
func checkName(host, key string) error {
	if key == "" || strings.ContainsAny(key, "=\x00") {
		return fmt.Errorf("env: %q is not a name", key)
	}
	if host == hostSandbox {
		return nil
	}
	upper := strings.ToUpper(key)
	if strings.HasPrefix(upper, "LD_") || strings.HasPrefix(upper, "DYLD_") || slices.Contains(loaderNames(), upper) {
		return fmt.Errorf("env: %s is refused on host %s, because it changes which code programs run", key, host)
	}
	return nil
}

func loaderNames() []string {
	return []string{"PATH", "NODE_OPTIONS", "NODE_PATH", "PYTHONPATH", "PYTHONHOME", "RUBYLIB", "PERL5LIB",
		"BASH_ENV", "ENV", "GCONV_PATH", "IFS", "SSLKEYLOGFILE"}
}

func envValue(v any) (string, error) {
	var s string
	switch v := v.(type) {
	case nil:
	case string:
		s = v
	case bool:
		s = strconv.FormatBool(v)
	case float64:
		s = strconv.FormatFloat(v, 'f', -1, 64)
	default:
		return "", errors.New("the value must be text")
	}
	if strings.ContainsRune(s, 0) {
		return "", errors.New("the value must not hold a NUL byte")
	}
	return s, nil
}

// environ is an ordered set of variables; the last word on a name counts.
type environ struct {
	names  []string
	values map[string]string
}

func newEnviron(base []string) *environ {
	e := &environ{values: make(map[string]string, len(base)+8)}
	e.add(base...)
	return e
}

func (e *environ) add(pairs ...string) {
	for _, pair := range pairs {
		if name, value, ok := strings.Cut(pair, "="); ok && name != "" {
			e.set(name, value)
		}
	}
}

func (e *environ) set(name, value string) {
	if _, ok := e.values[name]; !ok {
		e.names = append(e.names, name)
	}
	e.values[name] = value
}

func (e *environ) get(name string) string { return e.values[name] }

func (e *environ) list() []string {
	out := make([]string, len(e.names))
	for i, name := range e.names {
		out[i] = name + "=" + e.values[name]
	}
	return out
}

// pickShell returns the program that takes -c.
func pickShell(shell string, env []string) string {
	const standard = "/bin/sh"
	if shell = strings.TrimSpace(shell); !filepath.IsAbs(shell) || !executable(shell) {
		return standard
	}
	if filepath.Base(shell) != "fish" {
		return shell
	}
	for _, dir := range filepath.SplitList(newEnviron(env).get("PATH")) {
		if bash := filepath.Join(dir, "bash"); filepath.IsAbs(bash) && executable(bash) {
			return bash
		}
	}
	return standard
}

func executable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}

// folder returns the folder where a command runs, with a warning if it is not
// the one that was asked for.
func (t *tools) folder(asked string) (dir, warning string, err error) {
	home := t.sh.cfg.Home
	wish := strings.TrimSpace(asked)
	switch {
	case wish == "":
		wish = t.scope.Dir
	case (wish == "~" || strings.HasPrefix(wish, "~/")) && home != "":
		wish = filepath.Join(home, wish[1:])
	case !filepath.IsAbs(wish):
		wish = filepath.Join(t.scope.Dir, wish)
	}
	for _, dir := range []string{wish, t.scope.Dir, home, "/"} {
		if info, err := os.Stat(dir); err != nil || !info.IsDir() {
			continue
		}
		if dir != wish {
			warning = fmt.Sprintf("Warning: the folder %s is not there, the command runs in %s.", wish, dir)
		}
		return filepath.Clean(dir), warning, nil
	}
	return "", "", fmt.Errorf("no folder to run the command in: %s is not there", wish)
}
