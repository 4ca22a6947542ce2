package schema

import (
	"reflect"
	"regexp"
)

// kind is a set of JSON types.
type kind uint8

const (
	kNull kind = 1 << iota
	kBool
	kInteger
	kNumber // any number, integers included
	kString
	kArray
	kObject
)

var kindNames = []struct {
	kind kind
	name string
}{
	{kNull, "null"}, {kBool, "boolean"}, {kInteger, "integer"}, {kNumber, "number"},
	{kString, "string"}, {kArray, "array"}, {kObject, "object"},
}

func kindOf(name string) (kind, bool) {
	for _, k := range kindNames {
		if k.name == name {
			return k.kind, true
		}
	}
	return 0, false
}

// names lists the types in k.
func (k kind) names() []string {
	var out []string
	for _, n := range kindNames {
		if k&n.kind != 0 {
			out = append(out, n.name)
		}
	}
	return out
}

// node is one compiled schema. A node is immutable once its type is compiled;
// recursive types make it cyclic.
type node struct {
	goType reflect.Type // of a named struct, nil otherwise

	kinds kind // allowed types, 0 means all
	never bool // the schema false
	// tolerant accepts every value and decodes what fits. Only for nodes made from
	// Go types.
	tolerant bool
	// free says that nothing is constrained; known after seal.
	free bool

	// Strings.
	minLength, maxLength int // maxLength < 0 means unbounded
	pattern              *regexp.Regexp
	// union is the set of strings allowed, with the error texts of a union of
	// constants. Only for nodes made from Go types.
	union []string
	// literal is the one string allowed. Only for nodes made from Go types.
	literal string

	// Numbers.
	min, max, exclusiveMin, exclusiveMax, multipleOf *float64

	// Arrays.
	items              *node
	tuple              []*node
	additionalItems    *node
	minItems, maxItems int
	unique             bool
	contains           *node

	// Objects.
	props                []prop
	index                map[string]int // name to place in props
	required             []string
	requiredMask         [maskWords]uint64
	patternProps         []patternProp
	additional           *node // nil allows anything
	closed               bool  // no keys beyond props and patternProps
	keys                 *node // of every key
	minProps, maxProps   int
	dependencies         map[string]*node
	dependentKeys        map[string][]string
	fastObject, combined bool

	// Any type.
	enum                []any // decoded with numbers as json.Number
	constant            *any
	not                 *node
	allOf, anyOf, oneOf []*node
	cond, then, orElse  *node
}

type prop struct {
	name string
	node *node
	// nullable allows null beside what node allows; errors then read like those of
	// a union. Only for nodes made from Go types, as is description.
	nullable    bool
	description string
}

type patternProp struct {
	re   *regexp.Regexp
	node *node
}

// maskWords bounds the number of properties that the scanner tracks.
const maskWords = 2

func newNode() *node { return &node{maxLength: -1, maxItems: -1, maxProps: -1} }

// seal computes what the scanner needs. It is called once, after the node is filled.
func (n *node) seal() {
	n.index = make(map[string]int, len(n.props))
	for i, p := range n.props {
		n.index[p.name] = i
	}
	n.combined = n.not != nil || n.allOf != nil || n.anyOf != nil || n.oneOf != nil || n.cond != nil ||
		n.enum != nil || n.constant != nil
	n.fastObject = len(n.props) <= maskWords*64 && n.patternProps == nil && n.minProps <= 0 && n.maxProps < 0 &&
		n.dependencies == nil && n.dependentKeys == nil
	for _, name := range n.required {
		i, ok := n.index[name]
		if !ok || i >= maskWords*64 {
			n.fastObject = false
			continue
		}
		n.requiredMask[i/64] |= 1 << (i % 64)
	}
	n.free = n.tolerant || n.unconstrained()
}

// unconstrained reports whether n accepts every value.
func (n *node) unconstrained() bool {
	numeric := n.min != nil || n.max != nil || n.exclusiveMin != nil || n.exclusiveMax != nil || n.multipleOf != nil
	text := n.minLength > 0 || n.maxLength >= 0 || n.pattern != nil || n.union != nil || n.literal != ""
	list := n.items != nil || n.tuple != nil || n.minItems > 0 || n.maxItems >= 0 || n.unique || n.contains != nil
	object := n.props != nil || n.required != nil || n.closed || n.additional != nil || n.patternProps != nil ||
		n.keys != nil || n.minProps > 0 || n.maxProps >= 0 || n.dependencies != nil || n.dependentKeys != nil
	return n.kinds == 0 && !n.never && !n.combined && !numeric && !text && !list && !object
}
