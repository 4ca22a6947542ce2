package schema

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"strconv"
	"strings"
)

// elem is what a generic wrapper says about the JSON it stands for.
type elem interface {
	SchemaType() (elem any, nullable bool)
}

var (
	rawType  = reflect.TypeFor[json.RawMessage]()
	elemType = reflect.TypeFor[elem]()
	jsonType = reflect.TypeFor[json.Marshaler]()
	textType = reflect.TypeFor[encoding.TextMarshaler]()
)

// compiler turns Go types into nodes; types holds what is done or under way.
type compiler struct {
	types map[reflect.Type]*node
}

func compileType(t reflect.Type) (*node, error) {
	c := &compiler{types: map[reflect.Type]*node{}}
	n, err := c.node(t, "")
	if err != nil {
		return nil, fmt.Errorf("schema of %s: %w", t, err)
	}
	return n, nil
}

// node compiles t with the constraints of a field's schema tag.
func (c *compiler) node(t reflect.Type, tag string) (*node, error) {
	t, _ = unwrap(t)
	if t == nil || tag == "any" {
		return newSealed(), nil
	}
	named := t.Kind() == reflect.Struct && t.Name() != "" && tag == ""
	if n := c.types[t]; named && n != nil {
		return n, nil
	}
	n := newNode()
	if named {
		n.goType = t
		c.types[t] = n // before its fields, which may refer to it
	}
	if err := c.fill(n, t); err != nil {
		return nil, err
	}
	if err := constrain(n, tag); err != nil {
		return nil, err
	}
	n.seal()
	return n, nil
}

func newSealed() *node {
	n := newNode()
	n.seal()
	return n
}

// unwrap removes pointers and generic wrappers. The type is nil when anything
// is allowed.
func unwrap(t reflect.Type) (inner reflect.Type, nullable bool) {
	for {
		switch {
		case t.Kind() == reflect.Pointer:
			t = t.Elem()
		case t.Implements(elemType):
			zero, null := reflect.Zero(t).Interface().(elem).SchemaType()
			if zero == nil {
				return nil, false
			}
			t, nullable = reflect.TypeOf(zero), nullable || null
		default:
			return t, nullable
		}
	}
}

// fill sets what the Go type alone says.
func (c *compiler) fill(n *node, t reflect.Type) error {
	if t == rawType || t.Kind() == reflect.Interface {
		return nil
	}
	ptr := reflect.PointerTo(t)
	switch {
	case t.Implements(jsonType) || ptr.Implements(jsonType):
		return nil // only the type itself knows
	case t.Implements(textType) || ptr.Implements(textType):
		n.kinds = kString
		return nil
	}
	switch t.Kind() {
	case reflect.String:
		n.kinds = kString
	case reflect.Bool:
		n.kinds = kBool
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		n.kinds = kInteger
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		n.kinds, n.min = kInteger, new(float64)
	case reflect.Float32, reflect.Float64:
		n.kinds = kNumber
	case reflect.Slice, reflect.Array:
		if t.Elem().Kind() == reflect.Uint8 {
			n.kinds = kString // base64
			return nil
		}
		n.kinds = kArray
		var err error
		n.items, err = c.node(t.Elem(), "")
		return err
	case reflect.Map:
		if t.Key().Kind() != reflect.String {
			return fmt.Errorf("map key %s is not a string", t.Key())
		}
		n.kinds = kObject
		var err error
		n.additional, err = c.node(t.Elem(), "")
		return err
	case reflect.Struct:
		n.kinds, n.closed = kObject, true
		return c.fields(n, t)
	default:
		return fmt.Errorf("type %s has no JSON form", t)
	}
	return nil
}

// fields adds the properties of a struct; embedded structs add theirs.
func (c *compiler) fields(n *node, t reflect.Type) error {
	for i := range t.NumField() {
		f := t.Field(i)
		tag := f.Tag.Get("schema")
		if f.Name == "_" {
			switch tag {
			case "open":
				n.closed = false
			case "any":
				n.closed, n.kinds, n.tolerant = false, 0, true
			}
			continue
		}
		name, optional, skip := jsonField(f)
		if skip {
			continue
		}
		if f.Anonymous && name == "" {
			if err := c.fields(n, deref(f.Type)); err != nil {
				return err
			}
			continue
		}
		if err := c.field(n, f, name, optional, tag); err != nil {
			return fmt.Errorf("field %s: %w", f.Name, err)
		}
	}
	return nil
}

func (c *compiler) field(n *node, f reflect.StructField, name string, optional bool, tag string) error {
	fn, err := c.node(f.Type, tag)
	if err != nil {
		return err
	}
	_, nullable := unwrap(f.Type)
	if !optional {
		n.required = append(n.required, name)
		nullable = nullable || f.Type.Kind() == reflect.Pointer
	}
	n.props = append(n.props, prop{name: name, node: fn, nullable: nullable && fn.kinds != 0,
		description: f.Tag.Get("jsonschema")})
	return nil
}

func deref(t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Pointer {
		return t.Elem()
	}
	return t
}

// jsonField reads the json tag as encoding/json does.
func jsonField(f reflect.StructField) (name string, optional, skip bool) {
	tag, ok := f.Tag.Lookup("json")
	if tag == "-" || (!f.IsExported() && !f.Anonymous) {
		return "", false, true
	}
	name, opts, _ := strings.Cut(tag, ",")
	for opt := range strings.SplitSeq(opts, ",") {
		optional = optional || opt == "omitempty" || opt == "omitzero"
	}
	if name == "" && !(f.Anonymous && !ok) {
		name = f.Name
	}
	return name, optional, false
}

// constrain applies a schema tag to n.
func constrain(n *node, tag string) error {
	for tag != "" {
		var part string
		if strings.HasPrefix(tag, "pattern=") {
			part, tag = tag, ""
		} else {
			part, tag, _ = strings.Cut(tag, ",")
		}
		key, value, _ := strings.Cut(part, "=")
		if err := constraint(n, key, value); err != nil {
			return fmt.Errorf("schema tag %q: %w", part, err)
		}
	}
	return nil
}

func constraint(n *node, key, value string) (err error) {
	switch key {
	case "any":
		*n = *newNode()
	case "const":
		n.literal = value
	case "enum":
		n.union = strings.Split(value, "|")
	case "pattern":
		n.pattern, err = regexp.Compile(value)
	case "minLength":
		n.minLength, err = strconv.Atoi(value)
	case "maxLength":
		n.maxLength, err = strconv.Atoi(value)
	case "minItems":
		n.minItems, err = strconv.Atoi(value)
	case "maxItems":
		n.maxItems, err = strconv.Atoi(value)
	case "min":
		n.min, err = float(value)
	case "max":
		n.max, err = float(value)
	case "itemMinLength", "itemEnum":
		return constrainItems(n, strings.ToLower(key[4:5])+key[5:], value)
	default:
		return fmt.Errorf("unknown key %q", key)
	}
	return err
}

// constrainItems constrains the elements of an array or the keys of a map.
func constrainItems(n *node, key, value string) error {
	item := newNode()
	if n.items != nil {
		*item = *n.items
		n.items = item
	} else {
		item.kinds = kString
		n.keys = item
	}
	if err := constraint(item, key, value); err != nil {
		return err
	}
	item.seal()
	return nil
}

func float(s string) (*float64, error) {
	f, err := strconv.ParseFloat(s, 64)
	return &f, err
}
