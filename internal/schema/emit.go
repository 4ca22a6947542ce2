package schema

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/google/jsonschema-go/jsonschema"
)

// Draft is the $schema value of the documents this package writes.
const Draft = "http://json-schema.org/draft-07/schema#"

// JSON returns the schema as one JSON object without references and without a
// $schema key, as tool parameters need it. It fails for schemas that refer to
// themselves and for those made by [Parse], whose text the caller has.
func (s *Schema) JSON() (json.RawMessage, error) {
	e := emitter{}
	out, err := e.schema(s.root)
	if err != nil {
		return nil, err
	}
	return encode(out)
}

// Document returns a draft-07 document with a definition for each of types and
// for every named struct they hold, under the name of its Go type. Extra keys
// are added at the top.
func Document(title string, extra map[string]any, types ...reflect.Type) ([]byte, error) {
	e := emitter{defs: map[string]*jsonschema.Schema{}, owners: map[string]reflect.Type{}}
	for _, t := range types {
		s, err := Of(t)
		if err != nil {
			return nil, err
		}
		if _, err := e.ref(s.root); err != nil {
			return nil, err
		}
	}
	doc := &jsonschema.Schema{Schema: Draft, Title: title, Definitions: e.defs, Extra: extra}
	text, err := encode(doc)
	if err != nil {
		return nil, err
	}
	var indented bytes.Buffer
	if err := json.Indent(&indented, text, "", "  "); err != nil {
		return nil, fmt.Errorf("indent schema document: %w", err)
	}
	indented.WriteByte('\n')
	return indented.Bytes(), nil
}

// encode is json.Marshal without HTML escaping.
func encode(v any) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, fmt.Errorf("encode schema: %w", err)
	}
	return bytes.TrimSpace(buf.Bytes()), nil
}

// emitter turns nodes made from Go types into schemas. With defs, named structs
// become definitions; without, they are written in place.
type emitter struct {
	defs   map[string]*jsonschema.Schema
	owners map[string]reflect.Type
	path   []*node // structs being written in place
}

// ref returns a reference to the definition of n, or n in place.
func (e *emitter) ref(n *node) (*jsonschema.Schema, error) {
	if e.defs == nil || n.goType == nil {
		return e.schema(n)
	}
	name := n.goType.Name()
	if owner, taken := e.owners[name]; taken && owner != n.goType {
		return nil, fmt.Errorf("definition %s is both %v and %v", name, owner, n.goType)
	} else if !taken {
		e.owners[name] = n.goType
		def, err := e.schema(n)
		if err != nil {
			return nil, err
		}
		e.defs[name] = def
	}
	return &jsonschema.Schema{Ref: "#/definitions/" + name}, nil
}

func (e *emitter) schema(n *node) (*jsonschema.Schema, error) {
	if n.enum != nil || n.constant != nil || n.combined {
		return nil, fmt.Errorf("a parsed schema cannot be written")
	}
	for _, outer := range e.path {
		if e.defs == nil && outer == n {
			return nil, fmt.Errorf("type %v refers to itself", n.goType)
		}
	}
	s := &jsonschema.Schema{}
	if n.tolerant {
		return s, nil
	}
	setTypes(s, n.kinds.names())
	e.scalars(s, n)
	e.path = append(e.path, n)
	defer func() { e.path = e.path[:len(e.path)-1] }()
	if n.items != nil {
		items, err := e.ref(n.items)
		if err != nil {
			return nil, err
		}
		s.Items = items
	}
	if n.kinds&kObject != 0 {
		return s, e.object(s, n)
	}
	return s, nil
}

func setTypes(s *jsonschema.Schema, names []string) {
	switch len(names) {
	case 0:
	case 1:
		s.Type = names[0]
	default:
		s.Types = names
	}
}

func (e *emitter) scalars(s *jsonschema.Schema, n *node) {
	s.Minimum, s.Maximum = n.min, n.max
	if n.minLength > 0 {
		s.MinLength = &n.minLength
	}
	if n.maxLength >= 0 {
		s.MaxLength = &n.maxLength
	}
	if n.minItems > 0 {
		s.MinItems = &n.minItems
	}
	if n.maxItems >= 0 {
		s.MaxItems = &n.maxItems
	}
	if n.pattern != nil {
		s.Pattern = n.pattern.String()
	}
	if n.literal != "" {
		s.Const = jsonschema.Ptr[any](n.literal)
	}
	for _, v := range n.union {
		s.Enum = append(s.Enum, v)
	}
}

func (e *emitter) object(s *jsonschema.Schema, n *node) error {
	s.Required = n.required
	if n.keys != nil {
		s.PropertyNames = &jsonschema.Schema{}
		e.scalars(s.PropertyNames, n.keys)
	}
	if n.closed {
		s.AdditionalProperties = &jsonschema.Schema{Not: &jsonschema.Schema{}}
	}
	if n.additional != nil {
		sub, err := e.ref(n.additional)
		if err != nil {
			return err
		}
		s.AdditionalProperties = sub
	}
	for i := range n.props {
		p := &n.props[i]
		sub, err := e.property(p)
		if err != nil {
			return fmt.Errorf("property %s: %w", p.name, err)
		}
		if s.Properties == nil {
			s.Properties = map[string]*jsonschema.Schema{}
		}
		s.Properties[p.name] = sub
		s.PropertyOrder = append(s.PropertyOrder, p.name)
	}
	return nil
}

func (e *emitter) property(p *prop) (*jsonschema.Schema, error) {
	sub, err := e.ref(p.node)
	if err != nil {
		return nil, err
	}
	if p.nullable {
		sub = orNull(sub)
	}
	if p.description != "" {
		if sub.Ref != "" { // draft-07 ignores what stands beside $ref
			sub = &jsonschema.Schema{AllOf: []*jsonschema.Schema{sub}}
		}
		sub.Description = p.description
	}
	return sub, nil
}

// orNull adds null to what s allows.
func orNull(s *jsonschema.Schema) *jsonschema.Schema {
	if s.Ref != "" || s.Const != nil || s.Type == "" {
		return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{s, {Type: "null"}}}
	}
	s.Types, s.Type = []string{s.Type, "null"}, ""
	if s.Enum != nil {
		s.Enum = append(s.Enum, nil)
	}
	return s
}
