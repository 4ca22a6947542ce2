package protocol

import (
	"bytes"
	"encoding/json"
)

// Nullable is a param that may be absent, null or a value. Null means "clear".
// Fields of this type carry omitzero, so that the zero value is left out.
type Nullable[T any] struct {
	// Set says that the key was present.
	Set bool
	// Null says that the key was present and null; Value is then zero.
	Null  bool
	Value T
}

// Value returns a Nullable that holds v.
func Value[T any](v T) Nullable[T] { return Nullable[T]{Set: true, Value: v} }

// Null returns a Nullable that clears.
func Null[T any]() Nullable[T] { return Nullable[T]{Set: true, Null: true} }

// IsZero reports whether the key is absent.
func (n Nullable[T]) IsZero() bool { return !n.Set }

// MarshalJSON writes the value or null.
func (n Nullable[T]) MarshalJSON() ([]byte, error) {
	if !n.Set || n.Null {
		return []byte("null"), nil
	}
	return json.Marshal(n.Value)
}

// UnmarshalJSON reads a value or null and marks n as set.
func (n *Nullable[T]) UnmarshalJSON(data []byte) error {
	*n = Nullable[T]{Set: true}
	if bytes.Equal(data, []byte("null")) {
		n.Null = true
		return nil
	}
	return json.Unmarshal(data, &n.Value)
}

// SchemaType tells a schema generator what JSON this is: null or a T.
func (n Nullable[T]) SchemaType() (elem any, nullable bool) {
	var zero T
	return zero, true
}
