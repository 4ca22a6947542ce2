package config

import (
	_ "embed"
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync"
)

//go:embed known.txt
var knownText string

// known is the table of known.txt. It is read on first use: a program without a
// configuration file never needs it.
var known = sync.OnceValue(func() *shape {
	root, err := parseKnown(knownText)
	if err != nil {
		panic(err) // the table is part of the program
	}
	return root
})

type shapeKind byte

const (
	shapeAny shapeKind = iota
	shapeText
	shapeBool
	shapeInt
	shapeNumber
	shapeList
	shapeObject
	shapeUnion
	shapeRef
)

// shape is the type of a setting.
type shape struct {
	kind     shapeKind
	enum     []string // of text; nil takes any
	color    bool     // text of six hexadecimal digits
	min, max float64  // of a number, or of the length of a text
	above    bool     // min itself is too small
	elem     *shape   // of a list
	keys     map[string]*shape
	order    []string // of keys, as the table has them
	required []string
	rest     *shape   // of keys not in keys; nil for a closed object
	alts     []*shape // of a union
	ref      *shape   // what a name stands for
}

// target follows names.
func (s *shape) target() *shape {
	for s.kind == shapeRef {
		s = s.ref
	}
	return s
}

// child is the shape of a member or element, nil for an unknown key.
func (s *shape) child(key string) *shape {
	s = s.target()
	switch s.kind {
	case shapeAny:
		return s
	case shapeObject:
		if c, ok := s.keys[key]; ok {
			return c
		}
		return s.rest
	case shapeList:
		return s.elem
	case shapeUnion:
		for _, alt := range s.alts {
			if c := alt.child(key); c != nil {
				return c
			}
		}
	}
	return nil
}

func parseKnown(text string) (*shape, error) {
	p := knownParser{names: map[string]*shape{}}
	for i, line := range strings.Split(text, "\n") {
		body := strings.TrimLeft(line, " ")
		if body == "" || body[0] == '#' {
			continue
		}
		if err := p.line((len(line)-len(body))/2, body); err != nil {
			return nil, fmt.Errorf("known settings, line %d: %w", i+1, err)
		}
	}
	for name, s := range p.names {
		if s.kind == shapeRef {
			return nil, fmt.Errorf("known settings: type @%s is used but not described", name)
		}
	}
	root := p.names["root"]
	if root == nil {
		return nil, fmt.Errorf("known settings: no @root")
	}
	return root, nil
}

type knownParser struct {
	names map[string]*shape
	open  []*shape // the object that lines of each depth add to
}

func (p *knownParser) name(name string) *shape {
	if s, ok := p.names[name]; ok {
		return s
	}
	s := &shape{kind: shapeRef} // until it is described
	p.names[name] = s
	return s
}

func (p *knownParser) line(depth int, body string) error {
	head, typ, _ := strings.Cut(body, " ")
	if depth == 0 {
		s := p.name(strings.TrimPrefix(head, "@"))
		if typ == "" {
			typ = "object"
		}
		desc, inner, err := p.parse(typ)
		if err != nil {
			return err
		}
		*s = *desc
		if inner == desc {
			inner = s
		}
		p.open = append(p.open[:0], inner)
		return nil
	}
	if depth > len(p.open) || p.open[depth-1] == nil {
		return fmt.Errorf("%q is indented below nothing", body)
	}
	parent := p.open[depth-1]
	desc, inner, err := p.parse(typ)
	if err != nil {
		return err
	}
	for _, key := range strings.Split(head, ",") {
		key, must := strings.CutSuffix(key, "!")
		if must {
			parent.required = append(parent.required, key)
		}
		if key == "*" {
			parent.rest = desc
			continue
		}
		parent.keys[key] = desc
		parent.order = append(parent.order, key)
	}
	p.open = append(p.open[:depth], inner)
	return nil
}

// parse reads a type and returns it with the object its children belong to.
func (p *knownParser) parse(typ string) (s, inner *shape, err error) {
	switch {
	case strings.HasPrefix(typ, "[]"):
		elem, inner, err := p.parse(typ[2:])
		return &shape{kind: shapeList, elem: elem}, inner, err
	case strings.HasPrefix(typ, "{}"):
		elem, inner, err := p.parse(typ[2:])
		return &shape{kind: shapeObject, rest: elem}, inner, err
	case typ == "object":
		s = &shape{kind: shapeObject, keys: map[string]*shape{}}
		return s, s, nil
	case strings.Contains(typ, " or "):
		s = &shape{kind: shapeUnion}
		for _, alt := range strings.Split(typ, " or ") {
			a, _, err := p.parse(alt)
			if err != nil {
				return nil, nil, err
			}
			s.alts = append(s.alts, a)
		}
		return s, nil, nil
	case strings.HasPrefix(typ, "@"):
		return &shape{kind: shapeRef, ref: p.name(typ[1:])}, nil, nil
	}
	s, err = parseScalar(typ)
	return s, nil, err
}

func parseScalar(typ string) (*shape, error) {
	name, bounds, bounded := strings.Cut(typ, " ")
	s := &shape{max: math.Inf(1)}
	switch name {
	case "any":
	case "s", "color":
		s.kind, s.color = shapeText, name == "color"
	case "s+":
		s.kind, s.min = shapeText, 1
	case "b":
		s.kind = shapeBool
	case "i":
		s.kind = shapeInt
	case "i+":
		s.kind, s.min = shapeInt, 1
	case "n":
		s.kind, s.min = shapeNumber, math.Inf(-1)
	case "n+":
		s.kind, s.above = shapeNumber, true
	default:
		if !strings.ContainsAny(name, "|=") || bounded {
			return nil, fmt.Errorf("unknown type %q", typ)
		}
		s.kind, s.enum = shapeText, strings.Split(strings.TrimPrefix(name, "="), "|")
	}
	if !bounded {
		return s, nil
	}
	lo, hi, ok := strings.Cut(bounds, "..")
	if !ok {
		return nil, fmt.Errorf("bounds %q are not lo..hi", bounds)
	}
	var err error
	if s.min, err = strconv.ParseFloat(lo, 64); err != nil {
		return nil, err
	}
	if hi != "" {
		if s.max, err = strconv.ParseFloat(hi, 64); err != nil {
			return nil, err
		}
	}
	return s, nil
}
