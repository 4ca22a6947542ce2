package config

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"openclaw/internal/config/json5"
	"openclaw/internal/logs"
)

// Issue is one problem of a configuration. Path is dotted, with list positions
// as numbers ("agents.list.0.id"); it is empty for the file as a whole.
type Issue struct {
	Path    string `json:"path"`
	Message string `json:"message"`
}

// String returns "path: message".
func (i Issue) String() string {
	if i.Path == "" {
		return i.Message
	}
	return i.Path + ": " + i.Message
}

// checker walks a tree beside the table of known settings.
type checker struct {
	issues  []Issue
	unknown []unknownKey
}

// unknownKey is a key that the table lacks. It is a warning in a file and an
// error in a write that brings it in (RT-003).
type unknownKey struct {
	parent  []string
	key     string
	nearest string // a known key of the same place, or empty
}

func (u unknownKey) path() string { return dotted(append(slices.Clone(u.parent), u.key)) }

func (u unknownKey) hint() string {
	if u.nearest == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %q?", u.nearest)
}

func (u unknownKey) warning() Issue { return Issue{u.path(), "unknown key" + u.hint()} }

// refusal has the form that clients know from the reference: the path of the
// object, the key in the message.
func (u unknownKey) refusal() Issue {
	return Issue{dotted(u.parent), fmt.Sprintf("Unrecognized key: %q", u.key) + u.hint()}
}

func dotted(path []string) string { return strings.Join(path, ".") }

func (c *checker) fail(path []string, format string, args ...any) {
	c.issues = append(c.issues, Issue{dotted(path), fmt.Sprintf(format, args...)})
}

// check compares v with s. Paths are only valid during the call.
func (c *checker) check(v any, s *shape, path []string) {
	s = s.target()
	switch s.kind {
	case shapeAny:
	case shapeObject:
		m, ok := v.(map[string]any)
		if !ok {
			c.mismatch(v, s, path)
			return
		}
		c.object(m, s, path)
	case shapeList:
		list, ok := v.([]any)
		if !ok {
			c.mismatch(v, s, path)
			return
		}
		for i, e := range list {
			c.check(e, s.elem, append(path, strconv.Itoa(i)))
		}
	case shapeUnion:
		c.union(v, s, path)
	default:
		if !s.fits(v) {
			c.mismatch(v, s, path)
		}
	}
}

func (c *checker) object(m map[string]any, s *shape, path []string) {
	for _, key := range slices.Sorted(maps.Keys(m)) {
		if child := s.child(key); child != nil {
			c.check(m[key], child, append(path, key))
			continue
		}
		c.unknown = append(c.unknown, unknownKey{slices.Clone(path), key, nearest(key, s.order)})
	}
	for _, key := range s.required {
		if _, ok := m[key]; !ok {
			c.fail(append(path, key), "is required")
		}
	}
}

// union takes the alternative of v's own kind, so that a mistake deep inside an
// object is reported where it is.
func (c *checker) union(v any, s *shape, path []string) {
	for _, alt := range s.alts {
		alt = alt.target()
		_, isObject := v.(map[string]any)
		_, isList := v.([]any)
		switch alt.kind {
		case shapeObject:
			if isObject {
				c.object(v.(map[string]any), alt, path)
				return
			}
		case shapeList:
			if isList {
				c.check(v, alt, path)
				return
			}
		default:
			if alt.fits(v) {
				return
			}
		}
	}
	c.mismatch(v, s, path)
}

func (c *checker) mismatch(v any, s *shape, path []string) {
	c.fail(path, "expected %s, got %s", s.describe(), shown(v, path))
}

// fits reports whether a scalar is of this shape.
func (s *shape) fits(v any) bool {
	switch s.kind {
	case shapeAny:
		return true
	case shapeBool:
		_, ok := v.(bool)
		return ok
	case shapeText:
		text, ok := v.(string)
		if !ok || s.enum != nil && !slices.Contains(s.enum, text) || s.color && !isColor(text) {
			return false
		}
		n := float64(len([]rune(text)))
		return n >= s.min && n <= s.max
	case shapeInt, shapeNumber:
		f, ok := floatOf(v)
		if !ok || s.kind == shapeInt && (f != math.Trunc(f) || math.Abs(f) > 1<<53) {
			return false
		}
		return !(f < s.min || f > s.max || s.above && f <= s.min)
	}
	return false
}

func isColor(text string) bool {
	text = strings.TrimPrefix(text, "#")
	_, err := strconv.ParseUint(text, 16, 32)
	return err == nil && len(text) == 6
}

// floatOf is the value of a finite number.
func floatOf(v any) (float64, bool) {
	var f float64
	switch v := v.(type) {
	case json.Number:
		n, err := v.Float64()
		if err != nil {
			return 0, false
		}
		f = n
	case float64:
		f = v
	case int:
		f = float64(v)
	default:
		return 0, false
	}
	return f, !math.IsInf(f, 0) && !math.IsNaN(f)
}

// describe says in words what s takes.
func (s *shape) describe() string {
	s = s.target()
	switch s.kind {
	case shapeBool:
		return "boolean"
	case shapeObject:
		return "object"
	case shapeList:
		return "array"
	case shapeText:
		return s.describeText()
	case shapeInt:
		return describeRange("integer", s)
	case shapeNumber:
		return describeRange("number", s)
	case shapeUnion:
		var parts []string
		for _, alt := range s.alts {
			parts = append(parts, alt.describe())
		}
		return strings.Join(parts, " or ")
	}
	return "value"
}

func (s *shape) describeText() string {
	switch {
	case s.color:
		return "color like #1a2b3c"
	case len(s.enum) == 1:
		return strconv.Quote(s.enum[0])
	case s.enum != nil:
		quoted := make([]string, len(s.enum))
		for i, e := range s.enum {
			quoted[i] = strconv.Quote(e)
		}
		return "one of " + strings.Join(quoted, ", ")
	case s.min == 1:
		return "non-empty string"
	case !math.IsInf(s.max, 1):
		return fmt.Sprintf("string of at most %v characters", s.max)
	}
	return "string"
}

func describeRange(name string, s *shape) string {
	switch {
	case s.above:
		return "positive " + name
	case !math.IsInf(s.max, 1):
		return fmt.Sprintf("%s from %s to %s", name, plain(s.min), plain(s.max))
	case s.kind == shapeInt && s.min == 1:
		return "positive " + name
	case s.kind == shapeInt && s.min == 0:
		return name // a negative one shows what is wrong
	case !math.IsInf(s.min, -1):
		return fmt.Sprintf("%s of at least %s", name, plain(s.min))
	}
	return name
}

func plain(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }

// shown is a value as a message may show it: short, and never a secret.
func shown(v any, path []string) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case map[string]any:
		return "object"
	case []any:
		return "array"
	case string:
		if secretAt(path) || logs.Redact(v) != v {
			return "string"
		}
		if r := []rune(v); len(r) > 60 {
			v = string(r[:60]) + "…"
		}
		return strconv.Quote(v)
	case json.Number:
		if secretAt(path) {
			return "number"
		}
		return string(v)
	}
	text, err := json5.Format(v)
	if err != nil {
		return fmt.Sprintf("%T", v)
	}
	return strings.TrimSpace(text)
}
