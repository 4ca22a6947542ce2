package json5

import (
	"encoding/json"
	"math"
	"slices"
	"strconv"
)

// Equal reports whether two values are the same. Numbers compare by value,
// whatever their Go type, and NaN equals itself.
func Equal(a, b any) bool {
	switch a := a.(type) {
	case nil:
		return b == nil
	case bool, string:
		return a == b
	case map[string]any:
		m, ok := b.(map[string]any)
		if !ok || len(a) != len(m) {
			return false
		}
		for k, v := range a {
			w, ok := m[k]
			if !ok || !Equal(v, w) {
				return false
			}
		}
		return true
	case []any:
		list, ok := b.([]any)
		return ok && slices.EqualFunc(a, list, Equal)
	}
	x, okX := number(a)
	y, okY := number(b)
	return okX && okY && x == y
}

// number is the canonical text of a number of any Go type.
func number(v any) (string, bool) {
	switch v := v.(type) {
	case json.Number:
		// Decode gives the canonical form; other sources may not.
		s := &scanner{src: string(v)}
		if v == "" {
			return "", false
		}
		n, err := s.number()
		if err != nil || s.pos != len(s.src) {
			return "", false
		}
		if f, ok := n.(float64); ok {
			return floatText(f), true
		}
		return string(n.(json.Number)), true
	case float64:
		return floatText(v), true
	case float32:
		return floatText(float64(v)), true
	case int:
		return strconv.Itoa(v), true
	case int64:
		return strconv.FormatInt(v, 10), true
	case int32:
		return strconv.FormatInt(int64(v), 10), true
	case uint64:
		return strconv.FormatUint(v, 10), true
	}
	return "", false
}

func floatText(f float64) string {
	switch {
	case math.IsNaN(f):
		return "NaN"
	case math.IsInf(f, 1):
		return "Infinity"
	case math.IsInf(f, -1):
		return "-Infinity"
	}
	return string(float(f).(json.Number))
}

// Clone copies a value; maps and lists of the copy are its own.
func Clone(v any) any {
	switch v := v.(type) {
	case map[string]any:
		m := make(map[string]any, len(v))
		for k, e := range v {
			m[k] = Clone(e)
		}
		return m
	case []any:
		list := make([]any, len(v))
		for i, e := range v {
			list[i] = Clone(e)
		}
		return list
	}
	return v
}
