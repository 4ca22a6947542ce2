package schema

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// value is a JSON value with its keys in the order of the text, for the
// detailed check. A repeated key keeps its first place and its last value.
type value struct {
	kind   kind // one of the constants, kNumber for all numbers
	str    string
	num    json.Number
	truth  bool
	items  []*value
	keys   []string
	fields map[string]*value
}

// parse reads data, which must be one JSON value.
func parse(data []byte) (*value, error) {
	if !json.Valid(data) {
		return nil, ErrSyntax
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	v, err := parseNext(dec)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSyntax, err)
	}
	return v, nil
}

func parseNext(dec *json.Decoder) (*value, error) {
	tok, err := dec.Token()
	if err != nil {
		return nil, err
	}
	switch t := tok.(type) {
	case json.Delim:
		if t == '[' {
			return parseArray(dec)
		}
		return parseObject(dec)
	case string:
		return &value{kind: kString, str: t}, nil
	case json.Number:
		return &value{kind: kNumber, num: t}, nil
	case bool:
		return &value{kind: kBool, truth: t}, nil
	}
	return &value{kind: kNull}, nil
}

func parseArray(dec *json.Decoder) (*value, error) {
	v := &value{kind: kArray}
	for dec.More() {
		item, err := parseNext(dec)
		if err != nil {
			return nil, err
		}
		v.items = append(v.items, item)
	}
	_, err := dec.Token()
	return v, err
}

func parseObject(dec *json.Decoder) (*value, error) {
	v := &value{kind: kObject, fields: map[string]*value{}}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return nil, err
		}
		field, err := parseNext(dec)
		if err != nil {
			return nil, err
		}
		name, _ := key.(string)
		if _, repeated := v.fields[name]; !repeated {
			v.keys = append(v.keys, name)
		}
		v.fields[name] = field
	}
	_, err := dec.Token()
	return v, err
}

// isInteger reports whether v is a number without fraction, however written.
func (v *value) isInteger() bool {
	if v.kind != kNumber {
		return false
	}
	if !strings.ContainsAny(string(v.num), ".eE") {
		return true
	}
	f, err := v.num.Float64()
	return err == nil && f == math.Trunc(f)
}

// is reports whether v has one of the types in k.
func (v *value) is(k kind) bool {
	return k == 0 || v.kind&k != 0 || k&kInteger != 0 && v.isInteger()
}

// encode writes v for a plain decode into a Go value: every key once, integers
// without exponent, and only the keys that n knows when it is closed.
func (v *value) encode(buf []byte, n *node) []byte {
	switch v.kind {
	case kNull:
		return append(buf, "null"...)
	case kBool:
		return strconv.AppendBool(buf, v.truth)
	case kNumber: // an integer written with a point or an exponent
		f, err := v.num.Float64()
		if err == nil && v.isInteger() && math.Abs(f) < 1<<53 && strings.ContainsAny(string(v.num), ".eE") {
			return strconv.AppendInt(buf, int64(f), 10)
		}
		return append(buf, v.num...)
	case kString:
		return appendString(buf, v.str)
	case kArray:
		return v.encodeArray(buf, n)
	}
	return v.encodeObject(buf, n)
}

func (v *value) encodeArray(buf []byte, n *node) []byte {
	buf = append(buf, '[')
	for i, item := range v.items {
		if i > 0 {
			buf = append(buf, ',')
		}
		buf = item.encode(buf, n.itemAt(i))
	}
	return append(buf, ']')
}

func (v *value) encodeObject(buf []byte, n *node) []byte {
	buf = append(buf, '{')
	first := true
	for _, key := range v.keys {
		child, known := n.propAt(key)
		if n != nil && !known && (n.closed || n.goType != nil) {
			continue // encoding/json would match it without regard to case
		}
		if !first {
			buf = append(buf, ',')
		}
		first = false
		buf = append(appendString(buf, key), ':')
		buf = v.fields[key].encode(buf, child)
	}
	return append(buf, '}')
}

// itemAt is the schema of element i, nil for none.
func (n *node) itemAt(i int) *node {
	switch {
	case n == nil:
		return nil
	case i < len(n.tuple):
		return n.tuple[i]
	case n.tuple != nil:
		return n.additionalItems
	}
	return n.items
}

// propAt is the schema of a key, and whether the object knows the key by name.
func (n *node) propAt(key string) (child *node, known bool) {
	if n == nil {
		return nil, false
	}
	if i, ok := n.index[key]; ok {
		return n.props[i].node, true
	}
	return n.additional, false
}

func appendString(buf []byte, s string) []byte {
	quoted, err := json.Marshal(s)
	if err != nil {
		return append(buf, `""`...) // strings always marshal
	}
	return append(buf, quoted...)
}
