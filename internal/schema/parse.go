package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// Parse compiles a JSON Schema document of draft-07 or 2020-12. References may
// point to the root and to its definitions. Formats are not checked.
func Parse(schemaJSON []byte) (*Schema, error) {
	var doc jsonschema.Schema
	if err := json.Unmarshal(schemaJSON, &doc); err != nil {
		return nil, fmt.Errorf("parse schema: %w", err)
	}
	p := parser{root: &doc, done: map[*jsonschema.Schema]*node{}}
	n, err := p.node(&doc)
	if err != nil {
		return nil, fmt.Errorf("parse schema: %w", err)
	}
	if p.endless() {
		return nil, errors.New("parse schema: a schema applies itself to the same value without end")
	}
	return &Schema{root: n}, nil
}

// parser turns a schema document into nodes; done makes references share them.
type parser struct {
	root *jsonschema.Schema
	done map[*jsonschema.Schema]*node
	// refs is the chain of references under way, to notice one without an end.
	refs []string
}

func (p *parser) node(s *jsonschema.Schema) (*node, error) {
	if s == nil {
		return nil, nil
	}
	if n := p.done[s]; n != nil {
		return n, nil
	}
	if s.Ref != "" {
		return p.reference(s.Ref)
	}
	chain := p.refs
	p.refs = nil // only references without a schema between them are endless
	defer func() { p.refs = chain }()
	n := newNode()
	p.done[s] = n
	if isFalse(s) {
		n.never = true
		n.seal()
		return n, nil
	}
	for _, step := range []func(*node, *jsonschema.Schema) error{
		p.kinds, p.scalars, p.values, p.arrays, p.objects, p.patterns, p.combinators,
	} {
		if err := step(n, s); err != nil {
			return nil, err
		}
	}
	n.seal()
	return n, nil
}

// isFalse recognises what the library makes of the schema false.
func isFalse(s *jsonschema.Schema) bool {
	if s.Not == nil {
		return false
	}
	text, err := json.Marshal(s)
	return err == nil && bytes.Equal(text, []byte("false"))
}

func (p *parser) reference(ref string) (*node, error) {
	if slices.Contains(p.refs, ref) {
		return nil, fmt.Errorf("$ref %q refers to itself", ref)
	}
	p.refs = append(p.refs, ref)
	defer func() { p.refs = p.refs[:len(p.refs)-1] }()
	target := p.root
	for _, prefix := range []string{"#/definitions/", "#/$defs/"} {
		name, ok := strings.CutPrefix(ref, prefix)
		if !ok {
			continue
		}
		name = strings.NewReplacer("~1", "/", "~0", "~").Replace(name)
		if target = p.root.Definitions[name]; target == nil {
			target = p.root.Defs[name]
		}
		if target == nil {
			return nil, fmt.Errorf("$ref %q has no target", ref)
		}
		return p.node(target)
	}
	if ref != "#" {
		return nil, fmt.Errorf("$ref %q points outside the definitions", ref)
	}
	return p.node(target)
}

func (p *parser) kinds(n *node, s *jsonschema.Schema) error {
	types := s.Types
	if s.Type != "" {
		types = []string{s.Type}
	}
	for _, name := range types {
		k, ok := kindOf(name)
		if !ok {
			return fmt.Errorf("unknown type %q", name)
		}
		n.kinds |= k
	}
	return nil
}

func (p *parser) scalars(n *node, s *jsonschema.Schema) (err error) {
	n.min, n.max = s.Minimum, s.Maximum
	n.exclusiveMin, n.exclusiveMax, n.multipleOf = s.ExclusiveMinimum, s.ExclusiveMaximum, s.MultipleOf
	n.minLength, n.maxLength = or(s.MinLength, 0), or(s.MaxLength, -1)
	if s.Pattern != "" {
		n.pattern, err = regexp.Compile(s.Pattern)
	}
	return err
}

func or(p *int, otherwise int) int {
	if p == nil {
		return otherwise
	}
	return *p
}

func (p *parser) values(n *node, s *jsonschema.Schema) error {
	n.enum = s.Enum
	n.constant = s.Const
	return nil
}

func (p *parser) arrays(n *node, s *jsonschema.Schema) (err error) {
	n.minItems, n.maxItems, n.unique = or(s.MinItems, 0), or(s.MaxItems, -1), s.UniqueItems
	if n.contains, err = p.node(s.Contains); err != nil {
		return err
	}
	if n.items, err = p.node(s.Items); err != nil {
		return err
	}
	tuple := s.PrefixItems
	if tuple == nil {
		tuple = s.ItemsArray
	}
	if tuple == nil {
		return nil
	}
	if n.tuple, err = p.nodes(tuple); err != nil {
		return err
	}
	if n.additionalItems, err = p.node(s.AdditionalItems); err == nil && n.additionalItems == nil {
		n.additionalItems = n.items // 2020-12
	}
	return err
}

func (p *parser) objects(n *node, s *jsonschema.Schema) (err error) {
	n.required = s.Required
	n.minProps, n.maxProps = or(s.MinProperties, 0), or(s.MaxProperties, -1)
	order := slices.Clone(s.PropertyOrder)
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		if !slices.Contains(order, name) {
			order = append(order, name)
		}
	}
	for _, name := range order {
		child, err := p.node(s.Properties[name])
		if err != nil {
			return fmt.Errorf("property %s: %w", name, err)
		}
		n.props = append(n.props, prop{name: name, node: child})
	}
	if n.keys, err = p.node(s.PropertyNames); err != nil {
		return err
	}
	if s.AdditionalProperties != nil && isFalse(s.AdditionalProperties) {
		n.closed = true
		return nil
	}
	n.additional, err = p.node(s.AdditionalProperties)
	return err
}

func (p *parser) patterns(n *node, s *jsonschema.Schema) error {
	for _, pattern := range slices.Sorted(maps.Keys(s.PatternProperties)) {
		re, err := regexp.Compile(pattern)
		if err != nil {
			return err
		}
		child, err := p.node(s.PatternProperties[pattern])
		if err != nil {
			return err
		}
		n.patternProps = append(n.patternProps, patternProp{re: re, node: child})
	}
	n.dependentKeys = s.DependentRequired
	if n.dependentKeys == nil {
		n.dependentKeys = s.DependencyStrings
	}
	schemas := s.DependentSchemas
	if schemas == nil {
		schemas = s.DependencySchemas
	}
	for key, sub := range schemas {
		child, err := p.node(sub)
		if err != nil {
			return err
		}
		if n.dependencies == nil {
			n.dependencies = map[string]*node{}
		}
		n.dependencies[key] = child
	}
	return nil
}

func (p *parser) combinators(n *node, s *jsonschema.Schema) (err error) {
	for _, one := range []struct {
		to   **node
		from *jsonschema.Schema
	}{{&n.not, s.Not}, {&n.cond, s.If}, {&n.then, s.Then}, {&n.orElse, s.Else}} {
		if *one.to, err = p.node(one.from); err != nil {
			return err
		}
	}
	for _, many := range []struct {
		to   *[]*node
		from []*jsonschema.Schema
	}{{&n.allOf, s.AllOf}, {&n.anyOf, s.AnyOf}, {&n.oneOf, s.OneOf}} {
		if many.from == nil {
			continue
		}
		if *many.to, err = p.nodes(many.from); err != nil {
			return err
		}
	}
	return nil
}

func (p *parser) nodes(list []*jsonschema.Schema) ([]*node, error) {
	out := make([]*node, len(list))
	for i, s := range list {
		n, err := p.node(s)
		if err != nil {
			return nil, err
		}
		out[i] = n
	}
	return out, nil
}

// endless reports whether some schema leads back to itself without going down
// into the value.
func (p *parser) endless() bool {
	const open, closed = 1, 2
	state := map[*node]int{}
	var visit func(n *node) bool
	visit = func(n *node) bool {
		switch {
		case n == nil || state[n] == closed:
			return false
		case state[n] == open:
			return true
		}
		state[n] = open
		same := append([]*node{n.not, n.cond, n.then, n.orElse}, slices.Concat(n.allOf, n.anyOf, n.oneOf)...)
		same = slices.AppendSeq(same, maps.Values(n.dependencies))
		if slices.ContainsFunc(same, visit) {
			return true
		}
		state[n] = closed
		return false
	}
	for _, n := range p.done {
		if visit(n) {
			return true
		}
	}
	return false
}
