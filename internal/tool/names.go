package tool

import (
	"slices"
	"strings"
)

// coreNames lists the built-in tools, whether or not a run has them.
func coreNames() []string {
	return append([]string{"tts"}, expand(nil, "group:fs", "group:runtime", "group:openclaw")...)
}

// expand replaces group names by their members and plugin ids by their tools.
func expand(plugins map[string][]string, entries ...string) []string {
	var names []string
	for _, e := range entries {
		members, ok := group(e, plugins)
		if !ok {
			members = []string{e}
		}
		names = append(names, members...)
	}
	return names
}

// group lists the members of a group or the tools of a plugin.
func group(name string, plugins map[string][]string) ([]string, bool) {
	switch name {
	case "group:memory":
		return []string{"memory_search", "memory_get"}, true
	case "group:web":
		return []string{"web_search", "web_fetch"}, true
	case "group:fs":
		return []string{"read", "write", "edit", "apply_patch"}, true
	case "group:runtime":
		return []string{"exec", "process"}, true
	case "group:sessions":
		return []string{"sessions_list", "sessions_history", "sessions_send", "sessions_spawn", "session_status"}, true
	case "group:ui":
		return []string{"browser", "canvas"}, true
	case "group:automation":
		return []string{"cron", "gateway"}, true
	case "group:messaging":
		return []string{"message"}, true
	case "group:nodes":
		return []string{"nodes"}, true
	case "group:openclaw":
		return append([]string{"agents_list", "image"}, expand(nil, "group:ui", "group:nodes", "group:automation",
			"group:messaging", "group:sessions", "group:memory", "group:web")...), true
	case "group:plugins":
		var all []string
		for _, tools := range plugins {
			all = append(all, tools...)
		}
		return all, true
	}
	tools, ok := plugins[name]
	return tools, ok
}

// normal is the form in which names are compared.
func normal(name string) string {
	switch name = strings.ToLower(strings.TrimSpace(name)); name {
	case "bash":
		return "exec"
	case "apply-patch":
		return "apply_patch"
	}
	return name
}

// matcher is a compiled list of names and patterns. Its zero value is empty.
type matcher struct {
	names    []string
	patterns []string
}

func compile(entries []string, plugins map[string][]string) matcher {
	var m matcher
	for _, e := range entries {
		for _, name := range expand(plugins, normal(e)) {
			switch {
			case name == "":
			case strings.Contains(name, "*"):
				m.patterns = append(m.patterns, name)
			default:
				m.names = append(m.names, name)
			}
		}
		// A group without members, such as the plugins of nobody, still restrains.
		if strings.HasPrefix(normal(e), "group:") {
			m.names = append(m.names, normal(e))
		}
	}
	return m
}

func (m matcher) empty() bool { return len(m.names) == 0 && len(m.patterns) == 0 }

func (m matcher) matches(name string) bool {
	return slices.Contains(m.names, name) || slices.ContainsFunc(m.patterns, func(p string) bool { return globs(p, name) })
}

// permits is matches for allow lists: who may run commands may apply patches.
func (m matcher) permits(name string) bool {
	return m.matches(name) || name == "apply_patch" && m.matches("exec")
}

// globs reports whether name matches pattern, in which * stands for any text.
func globs(pattern, name string) bool {
	parts := strings.Split(pattern, "*")
	first, last := parts[0], parts[len(parts)-1]
	if len(name) < len(first)+len(last) || !strings.HasPrefix(name, first) || !strings.HasSuffix(name, last) {
		return false
	}
	name = name[len(first) : len(name)-len(last)]
	for _, part := range parts[1 : len(parts)-1] {
		i := strings.Index(name, part)
		if i < 0 {
			return false
		}
		name = name[i+len(part):]
	}
	return true
}
