package config

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// ParsePath reads the path of a setting as the command line takes it: keys
// separated by dots, positions or keys in brackets, and a backslash before a
// character that shall mean itself ("models.providers.open\.ai", "list[0].id",
// "models[openai/gpt-5.2].alias"). Keys in brackets may be quoted.
func ParsePath(text string) ([]string, error) {
	if strings.TrimSpace(text) == "" {
		return nil, errors.New("the path is empty")
	}
	var path []string
	var seg strings.Builder
	started := false // seg holds a segment, maybe an empty bare one
	closed := false  // a bracket ended: a dot, a bracket or the end must follow
	for i := 0; i < len(text); i++ {
		c := text[i]
		if closed && c != '.' && c != '[' {
			return nil, fmt.Errorf("path %q: expected . or [ at position %d", text, i+1)
		}
		switch c {
		case '\\':
			i++
			if i == len(text) {
				return nil, fmt.Errorf("path %q ends in a backslash", text)
			}
			seg.WriteByte(text[i])
			started = true
		case '.':
			if !started && !closed || i == len(text)-1 {
				return nil, fmt.Errorf("path %q has an empty part", text)
			}
			if started {
				path = append(path, seg.String())
			}
			seg.Reset()
			started, closed = false, false
		case '[':
			if started {
				path = append(path, seg.String())
				seg.Reset()
				started = false
			}
			key, n, err := bracket(text[i+1:])
			if err != nil {
				return nil, fmt.Errorf("path %q: %w", text, err)
			}
			path = append(path, key)
			i += n
			closed = true
		default:
			seg.WriteByte(c)
			started = true
		}
	}
	if started {
		path = append(path, seg.String())
	}
	return path, nil
}

// bracket reads a key up to the closing bracket; n counts the bytes it used.
func bracket(s string) (key string, n int, err error) {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\\':
			if i++; i < len(s) {
				b.WriteByte(s[i])
			}
		case ']':
			key := strings.TrimSpace(b.String())
			if len(key) >= 2 && (key[0] == '"' || key[0] == '\'') && key[len(key)-1] == key[0] {
				key = key[1 : len(key)-1]
			}
			if key == "" {
				return "", 0, errors.New("empty brackets")
			}
			return key, i + 1, nil
		default:
			b.WriteByte(s[i])
		}
	}
	return "", 0, errors.New("a bracket is not closed")
}

// FormatPath is the reverse of [ParsePath].
func FormatPath(path []string) string {
	escape := strings.NewReplacer(`\`, `\\`, `.`, `\.`, `[`, `\[`, `]`, `\]`)
	var b strings.Builder
	for i, key := range path {
		if _, err := strconv.ParseUint(key, 10, 31); err == nil && i > 0 {
			b.WriteString("[" + key + "]")
			continue
		}
		if i > 0 {
			b.WriteByte('.')
		}
		b.WriteString(escape.Replace(key))
	}
	return b.String()
}

// Lookup returns the value at path in a tree of maps and lists.
func Lookup(tree any, path ...string) (any, bool) {
	for _, key := range path {
		switch t := tree.(type) {
		case map[string]any:
			v, ok := t[key]
			if !ok {
				return nil, false
			}
			tree = v
		case []any:
			i, err := strconv.ParseUint(key, 10, 31)
			if err != nil || int(i) >= len(t) {
				return nil, false
			}
			tree = t[i]
		default:
			return nil, false
		}
	}
	return tree, true
}

// lookup is [Lookup] for fixed paths of keys without dots.
func lookup(tree any, path string) (any, bool) { return Lookup(tree, strings.Split(path, ".")...) }

// setAt returns tree with value at path, copying what it changes. It creates
// objects on the way, or lists where the next part is a number.
func setAt(tree any, path []string, value any) (any, error) { return setIn(tree, path, 0, value) }

func setIn(tree any, path []string, depth int, value any) (any, error) {
	if depth == len(path) {
		return value, nil
	}
	key := path[depth]
	if tree == nil {
		tree = map[string]any{}
		if _, err := strconv.ParseUint(key, 10, 31); err == nil && depth > 0 {
			tree = []any{}
		}
	}
	switch t := tree.(type) {
	case map[string]any:
		child, err := setIn(t[key], path, depth+1, value)
		if err != nil {
			return nil, err
		}
		out := maps.Clone(t)
		out[key] = child
		return out, nil
	case []any:
		i, err := index(t, path, depth)
		if err != nil {
			return nil, err
		}
		if i > len(t) {
			return nil, fmt.Errorf("%s: position %d is beyond the end of the list (%d)", FormatPath(path), i, len(t))
		}
		out := slices.Clone(t)
		if i == len(t) {
			out = append(out, nil)
		}
		if out[i], err = setIn(out[i], path, depth+1, value); err != nil {
			return nil, err
		}
		return out, nil
	}
	return nil, fmt.Errorf("%s: %s holds %s, not an object or list", FormatPath(path), FormatPath(path[:depth]), shown(tree, path[:depth]))
}

func index(list []any, path []string, depth int) (int, error) {
	i, err := strconv.ParseUint(path[depth], 10, 31)
	if err != nil {
		return 0, fmt.Errorf("%s: %s is a list; use a position from 0, not %q", FormatPath(path), FormatPath(path[:depth]), path[depth])
	}
	return int(i), nil
}

// unsetAt returns tree without path, and whether it was there.
func unsetAt(tree any, path []string) (any, bool) {
	if len(path) == 0 {
		return tree, false
	}
	child, ok := Lookup(tree, path[0])
	if !ok {
		return tree, false
	}
	last := len(path) == 1
	if !last {
		if child, ok = unsetAt(child, path[1:]); !ok {
			return tree, false
		}
	}
	switch t := tree.(type) {
	case map[string]any:
		out := maps.Clone(t)
		if last {
			delete(out, path[0])
		} else {
			out[path[0]] = child
		}
		return out, true
	case []any:
		i, _ := strconv.Atoi(path[0])
		if last {
			return slices.Delete(slices.Clone(t), i, i+1), true
		}
		out := slices.Clone(t)
		out[i] = child
		return out, true
	}
	return tree, false
}
