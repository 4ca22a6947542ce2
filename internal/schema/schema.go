package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
)

// Schema is a compiled schema. It is safe for concurrent use.
type Schema struct {
	root *node
}

// cache holds the compiled schemas by Go type, as encoding/json does for its
// own plans. It only ever grows by the types of the program.
var cache sync.Map // reflect.Type to *Schema or error

// For returns the schema of T, compiled once. It fails for types that have no
// JSON form and for bad schema tags, which are mistakes of the programmer.
func For[T any]() (*Schema, error) { return Of(reflect.TypeFor[T]()) }

// Of is [For] with a type that is known at run time.
func Of(t reflect.Type) (*Schema, error) {
	if s, ok := cache.Load(t); ok {
		if s, ok := s.(*Schema); ok {
			return s, nil
		}
		err, _ := s.(error)
		return nil, err
	}
	n, err := compileType(t)
	if err != nil {
		cache.Store(t, err)
		return nil, err
	}
	s, _ := cache.LoadOrStore(t, &Schema{root: n})
	return s.(*Schema), nil
}

// Decode checks data against the type of into, a pointer, and decodes it.
// Keys that a struct does not have are refused. The error is *[Errors] for
// JSON that does not fit, wraps [ErrSyntax] for what is not JSON, and says so
// when the Go type itself is unusable. Empty data counts as a missing value.
func Decode(data []byte, into any) error { return decode(data, into, false) }

// DecodeLenient is [Decode] that ignores unknown keys at every level, as
// connections of protocol 4 do.
func DecodeLenient(data []byte, into any) error { return decode(data, into, true) }

func decode(data []byte, into any, lenient bool) error {
	t := reflect.TypeOf(into)
	if t == nil || t.Kind() != reflect.Pointer {
		return fmt.Errorf("decode into %v: not a pointer", t)
	}
	s, err := Of(t.Elem())
	if err != nil {
		return err
	}
	if s.root.tolerant {
		return decodeTolerant(data, into)
	}
	if len(data) == 0 {
		return &Errors{Problems: []Problem{{Message: "must be " + strings.Join(s.root.kinds.names(), ",")}}}
	}
	if prove(s.root, data, lenient) {
		err := json.Unmarshal(data, into)
		if err == nil {
			return nil
		}
		reflect.ValueOf(into).Elem().SetZero()
	}
	return s.decodeSlowly(data, into, lenient)
}

// decodeSlowly finds out what is wrong, or decodes what is right but unusual:
// repeated keys, 5.0 for an integer, escapes in keys, keys in another case.
func (s *Schema) decodeSlowly(data []byte, into any, lenient bool) error {
	v, err := parse(data)
	if err != nil {
		return err
	}
	c := checker{lenient: lenient}
	if c.check(s.root, v, ""); len(c.errs.Problems) > 0 {
		return &c.errs
	}
	if err := json.Unmarshal(v.encode(nil, s.root), into); err != nil {
		return &Errors{Problems: []Problem{problemOf(err)}}
	}
	return nil
}

// problemOf words an error that only the Go type could find, such as a number
// that does not fit.
func problemOf(err error) Problem {
	var te *json.UnmarshalTypeError
	if !errors.As(err, &te) {
		return Problem{Message: err.Error()}
	}
	p := Problem{Message: "must be " + te.Type.String()}
	switch te.Type.Kind() {
	case reflect.Int, reflect.Int64, reflect.Int32, reflect.Uint, reflect.Uint64, reflect.Uint32:
		p.Message = "must be an integer within range"
	}
	if te.Field != "" {
		p.Pointer = "/" + strings.ReplaceAll(te.Field, ".", "/")
	}
	return p
}

// decodeTolerant takes from data what fits and ignores the rest.
func decodeTolerant(data []byte, into any) error {
	if len(data) == 0 {
		return nil
	}
	err := json.Unmarshal(data, into)
	var wrongType *json.UnmarshalTypeError
	if err == nil || errors.As(err, &wrongType) {
		return nil
	}
	return fmt.Errorf("%w: %w", ErrSyntax, err)
}

// Validate checks data, which may be any JSON value, and returns *[Errors] with
// messages for someone who will correct them: allowed values are listed.
func (s *Schema) Validate(data []byte) error {
	if prove(s.root, data, false) && json.Valid(data) {
		return nil
	}
	v, err := parse(data)
	if err != nil {
		return err
	}
	c := checker{verbose: true}
	if c.check(s.root, v, ""); len(c.errs.Problems) > 0 {
		return &c.errs
	}
	return nil
}

// Validate checks data against a JSON Schema document. To check often, keep the
// result of [Parse].
func Validate(schemaJSON, data []byte) error {
	s, err := Parse(schemaJSON)
	if err != nil {
		return err
	}
	return s.Validate(data)
}
