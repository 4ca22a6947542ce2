package config

import (
	"math"
	"slices"
	"strings"
	"unicode"
)

// JSONSchema returns the known settings as a draft-07 JSON Schema. Every call
// makes a new one. See docs/protocol.md#config-schema.
func JSONSchema() map[string]any {
	s := known().export()
	s["$schema"] = "http://json-schema.org/draft-07/schema#"
	return s
}

func (s *shape) export() map[string]any {
	s = s.target()
	out := map[string]any{}
	switch s.kind {
	case shapeText:
		out["type"] = "string"
		switch {
		case s.enum != nil:
			out["enum"] = slices.Clone(s.enum)
		case s.color:
			out["pattern"] = "^#?[0-9a-fA-F]{6}$"
		}
		if s.min > 0 {
			out["minLength"] = s.min
		}
		if !math.IsInf(s.max, 0) {
			out["maxLength"] = s.max
		}
	case shapeBool:
		out["type"] = "boolean"
	case shapeInt, shapeNumber:
		out["type"] = map[shapeKind]string{shapeInt: "integer", shapeNumber: "number"}[s.kind]
		if s.above {
			out["exclusiveMinimum"] = s.min
		} else if !math.IsInf(s.min, 0) {
			out["minimum"] = s.min
		}
		if !math.IsInf(s.max, 0) {
			out["maximum"] = s.max
		}
	case shapeList:
		out["type"] = "array"
		out["items"] = s.elem.export()
	case shapeUnion:
		alts := make([]any, len(s.alts))
		for i, alt := range s.alts {
			alts[i] = alt.export()
		}
		out["anyOf"] = alts
	case shapeObject:
		s.exportObject(out)
	}
	return out
}

func (s *shape) exportObject(out map[string]any) {
	out["type"] = "object"
	if len(s.keys) > 0 {
		properties := make(map[string]any, len(s.keys))
		for key, c := range s.keys {
			properties[key] = c.export()
		}
		out["properties"] = properties
	}
	if len(s.required) > 0 {
		out["required"] = slices.Clone(s.required)
	}
	out["additionalProperties"] = false
	if s.rest != nil {
		out["additionalProperties"] = s.rest.export()
	}
}

// Hint says how an editor shows a setting.
type Hint struct {
	Label     string
	Group     string // of a top-level section
	Order     int    // of a top-level section, 0 for none
	Advanced  bool
	Sensitive bool
}

// sections orders the top-level keys for editors; the rest follows.
var sections = [...]string{
	"gateway", "agents", "models", "auth", "channels", "messages", "session", "tools", "commands", "skills", "plugins", "hooks", "cron",
	"memory", "browser", "canvasHost", "talk", "ui", "discovery", "env", "logging", "diagnostics", "update", "wizard", "meta",
}

// Hints returns a hint for every known setting, by dotted path; "*" in a path
// stands for any key or position.
func Hints() map[string]Hint {
	hints := map[string]Hint{}
	known().hints(nil, hints)
	for i, key := range sections {
		h := hints[key]
		h.Group, h.Order = h.Label, (i+1)*10
		hints[key] = h
	}
	return hints
}

func (s *shape) hints(path []string, out map[string]Hint) {
	s = s.target()
	add := func(key string, c *shape) {
		at := append(slices.Clone(path), key)
		h := Hint{Sensitive: secretAt(at) && c.target().kind != shapeObject}
		if key != "*" {
			h.Label = label(key)
			h.Advanced = strings.HasPrefix(key, "dangerously") || slices.Contains([]string{"meta", "wizard", "diagnostics"}, at[0])
		}
		if h != (Hint{}) {
			out[dotted(at)] = h
		}
		c.hints(at, out)
	}
	for _, key := range s.order {
		add(key, s.keys[key])
	}
	if s.rest != nil {
		add("*", s.rest)
	}
	if s.elem != nil {
		add("*", s.elem)
	}
	for _, alt := range s.alts {
		alt.hints(path, out)
	}
}

// label makes words of a key: "blockStreamingChunk" is "Block streaming chunk".
func label(key string) string {
	var b strings.Builder
	runes := []rune(strings.TrimPrefix(key, "$"))
	for i, r := range runes {
		upper := unicode.IsUpper(r)
		switch {
		case i == 0:
			r = unicode.ToUpper(r)
		case upper && !unicode.IsUpper(runes[i-1]):
			b.WriteByte(' ')
			if i+1 == len(runes) || !unicode.IsUpper(runes[i+1]) {
				r = unicode.ToLower(r)
			}
		}
		b.WriteRune(r)
	}
	return b.String()
}
