package config

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// envBlock reads the env block of a tree: the variables that env lacks, from
// env.vars and from texts directly under env. Values may refer to env itself.
func envBlock(tree any, env Env) map[string]string {
	vars := map[string]string{}
	root, _ := tree.(map[string]any)
	block, _ := root["env"].(map[string]any)
	add := func(m map[string]any) {
		for name, v := range m {
			text, ok := v.(string)
			if !ok || strings.TrimSpace(text) == "" || env(name) != "" {
				continue
			}
			vars[name], _ = expand(text, env)
		}
	}
	add(block)
	nested, _ := block["vars"].(map[string]any)
	add(nested)
	return vars
}

// substituter replaces ${NAME} in every text of a tree.
type substituter struct {
	env    Env
	issues []Issue
	// used are the dotted paths whose text came from the environment, with the
	// names of the variables.
	used map[string][]string
}

func (s *substituter) value(v any, path []string) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for _, k := range slices.Sorted(maps.Keys(v)) {
			out[k] = s.value(v[k], append(path, k))
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = s.value(e, append(path, strconv.Itoa(i)))
		}
		return out
	case string:
		if !strings.Contains(v, "${") {
			return v
		}
		text, names := expand(v, func(name string) string {
			value := s.env(name)
			if value == "" {
				s.issues = append(s.issues, Issue{dotted(path), fmt.Sprintf("environment variable %s is not set or empty", name)})
			}
			return value
		})
		if len(names) > 0 {
			s.used[dotted(path)] = names
		}
		return text
	}
	return v
}

// expand replaces ${NAME} by its value and $${NAME} by the literal ${NAME}, and
// returns the names it used. Other uses of $ stay.
func expand(text string, env Env) (string, []string) {
	var b strings.Builder
	var names []string
	for {
		i := strings.Index(text, "${")
		if i < 0 {
			b.WriteString(text)
			return b.String(), names
		}
		name, rest, closed := strings.Cut(text[i+2:], "}")
		if !closed || !isRefName(name) {
			b.WriteString(text[:i+2])
			text = text[i+2:]
			continue
		}
		if i > 0 && text[i-1] == '$' {
			b.WriteString(text[:i-1] + "${" + name + "}")
		} else {
			names = append(names, name)
			b.WriteString(text[:i] + env(name))
		}
		text = rest
	}
}

// hasRef reports whether text refers to the environment.
func hasRef(text string) bool {
	_, names := expand(text, func(string) string { return "" })
	return len(names) > 0
}

// isRefName reports whether name matches [A-Z_][A-Z0-9_]*.
func isRefName(name string) bool {
	for i, c := range name {
		if c != '_' && (c < 'A' || c > 'Z') && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return name != ""
}
