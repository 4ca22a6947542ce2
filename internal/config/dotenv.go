package config

import (
	"path/filepath"
	"strings"

	"openclaw/internal/disk"
)

// maxDotEnv bounds a .env file.
const maxDotEnv = 1 << 20

// DotEnv reads <dir>/.env, then <state>/.env, and returns the variables that env
// does not set; of a name in both files the first counts. Files that cannot be
// read count as absent. The first file may itself move the state folder.
func DotEnv(env Env, home, dir string) map[string]string {
	vars := map[string]string{}
	add := func(path string) {
		data, err := disk.ReadFile(path, maxDotEnv)
		if err != nil {
			return
		}
		for name, value := range parseDotEnv(string(data)) {
			if _, ok := vars[name]; !ok && env(name) == "" {
				vars[name] = value
			}
		}
	}
	add(filepath.Join(dir, ".env"))
	add(ResolvePaths(env.With(vars), home).State(".env"))
	return vars
}

// parseDotEnv reads NAME=value lines. Values may be bare, up to " #", or quoted;
// quoted ones may span lines, and double quotes know \n, \r, \t, \" and \\.
// Lines that are none are skipped; of a repeated name the last one counts.
func parseDotEnv(text string) map[string]string {
	vars := map[string]string{}
	text = strings.TrimPrefix(text, "\uFEFF")
	for text != "" {
		var line string
		line, text, _ = strings.Cut(text, "\n")
		name, value, ok := strings.Cut(strings.TrimSpace(line), "=")
		name = strings.TrimSpace(strings.TrimPrefix(name, "export "))
		if !ok || !isVarName(name) {
			continue
		}
		value = strings.TrimSpace(value)
		if value != "" && strings.ContainsRune("\"'`", rune(value[0])) {
			quote := value[:1]
			if inner, _, closed := cutQuoted(value[1:], quote); closed {
				vars[name] = inner
				continue
			}
			if inner, rest, closed := cutQuoted(value[1:]+"\n"+text, quote); closed {
				vars[name] = inner
				_, text, _ = strings.Cut(rest, "\n")
				continue
			}
		}
		if i := strings.Index(value, " #"); i >= 0 {
			value = strings.TrimSpace(value[:i])
		} else if strings.HasPrefix(value, "#") {
			value = ""
		}
		vars[name] = value
	}
	return vars
}

// cutQuoted splits s behind the closing quote and resolves escapes before it.
func cutQuoted(s, quote string) (inner, rest string, closed bool) {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case c == quote[0]:
			return strings.ReplaceAll(b.String(), "\r\n", "\n"), s[i+1:], true
		case c == '\\' && quote == `"` && i+1 < len(s):
			i++
			if j := strings.IndexByte(`nrt"\`, s[i]); j >= 0 {
				b.WriteByte("\n\r\t\"\\"[j])
			} else {
				b.WriteByte('\\')
				b.WriteByte(s[i])
			}
		default:
			b.WriteByte(c)
		}
	}
	return "", "", false
}

func isVarName(name string) bool {
	for i, c := range name {
		letter := c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		if !letter && (i == 0 || (c < '0' || c > '9') && c != '.' && c != '-') {
			return false
		}
	}
	return name != ""
}
