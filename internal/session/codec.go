package session

import (
	"bytes"
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"unicode/utf8"
	"unique"
)

// table is the JSON shape of T: its fields in the order they are written.
type table[T any] struct {
	list   []field[T]
	byName map[string]int
}

func newTable[T any](list []field[T]) table[T] {
	t := table[T]{list: list, byName: make(map[string]int, len(list))}
	for i, f := range list {
		t.byName[f.name] = i
	}
	return t
}

// decode fills dst from a JSON object. What has no field or the wrong type goes
// to extra; null is absence. take, which may be nil, can keep a member for itself.
func decode[T any](data []byte, t table[T], dst *T, extra *map[string]json.RawMessage,
	take func(name string, raw []byte) bool) error {
	return members(data, func(key, raw []byte) error {
		if bytes.Equal(raw, []byte("null")) {
			return nil
		}
		name := unquote(key)
		if take != nil && take(name, raw) {
			return nil
		}
		if i, ok := t.byName[name]; ok && set(t.list[i].at(dst), raw, t.list[i].few) {
			return nil
		}
		if *extra == nil {
			*extra = map[string]json.RawMessage{}
		}
		(*extra)[name] = bytes.Clone(raw)
		return nil
	})
}

// set stores raw at dst and reports whether its type fits.
func set(dst any, raw []byte, few bool) bool {
	switch p := dst.(type) {
	case *string:
		if raw[0] != '"' {
			return false
		}
		*p = unquote(raw)
		if few {
			*p = unique.Make(*p).Value()
		}
		return true
	case *int64:
		n, ok := number(raw)
		*p = n
		return ok
	case **int64:
		return setPointer(p, raw, func(n int64) int64 { return n })
	case **int:
		return setPointer(p, raw, func(n int64) int { return int(n) })
	case **bool:
		b := raw[0] == 't'
		if b || raw[0] == 'f' {
			*p = &b
			return true
		}
		return false
	case *json.RawMessage:
		if raw[0] != '{' {
			return false
		}
		*p = bytes.Clone(raw)
		return true
	}
	return json.Unmarshal(raw, dst) == nil
}

func setPointer[N any](p **N, raw []byte, as func(int64) N) bool {
	n, ok := number(raw)
	if ok {
		v := as(n)
		*p = &v
	}
	return ok
}

// number reads a JSON number; a fraction is cut off, as in a time in milliseconds.
func number(raw []byte) (int64, bool) {
	if n, err := strconv.ParseInt(string(raw), 10, 64); err == nil {
		return n, true
	}
	if raw[0] != '-' && (raw[0] < '0' || raw[0] > '9') {
		return 0, false
	}
	f, err := strconv.ParseFloat(string(raw), 64)
	if err != nil || math.Abs(f) > 1<<53 {
		return 0, false
	}
	return int64(f), true
}

func unquote(raw []byte) string {
	if bytes.IndexByte(raw, '\\') < 0 && utf8.Valid(raw) {
		return string(raw[1 : len(raw)-1])
	}
	var s string
	_ = json.Unmarshal(raw, &s) // raw was scanned as a string
	return s
}

// encode writes the set fields of v in table order, then extra by name.
func encode[T any](t table[T], v *T, extra map[string]json.RawMessage) ([]byte, error) {
	var buf bytes.Buffer
	buf.WriteByte('{')
	written := func() {
		if buf.Len() > 1 {
			buf.WriteByte(',')
		}
	}
	done := 0
	for _, f := range t.list {
		raw, ok, err := value(f.at(v))
		if err != nil {
			return nil, err
		}
		if !ok {
			continue
		}
		if _, shadowed := extra[f.name]; shadowed {
			done++
		}
		written()
		buf.WriteByte('"')
		buf.WriteString(f.name)
		buf.WriteString(`":`)
		buf.Write(raw)
	}
	if done < len(extra) {
		for _, name := range sortedKeys(extra) {
			if i, ok := t.byName[name]; ok && isSet(t.list[i].at(v)) {
				continue
			}
			written()
			buf.Write(quote(name))
			buf.WriteByte(':')
			buf.Write(extra[name])
		}
	}
	buf.WriteByte('}')
	return buf.Bytes(), nil
}

// value gives the JSON of what src points to and whether it is set.
func value(src any) (raw []byte, ok bool, err error) {
	if !isSet(src) {
		return nil, false, nil
	}
	switch p := src.(type) {
	case *string:
		return quote(*p), true, nil
	case *int64:
		return strconv.AppendInt(nil, *p, 10), true, nil
	case **int64:
		return strconv.AppendInt(nil, **p, 10), true, nil
	case **int:
		return strconv.AppendInt(nil, int64(**p), 10), true, nil
	case **bool:
		return strconv.AppendBool(nil, **p), true, nil
	case *json.RawMessage:
		return *p, true, nil
	}
	raw, err = json.Marshal(src)
	return raw, true, err
}

func isSet(src any) bool {
	switch p := src.(type) {
	case *string:
		return *p != ""
	case *int64:
		return *p != 0
	case **int64:
		return *p != nil
	case **int:
		return *p != nil
	case **bool:
		return *p != nil
	case *json.RawMessage:
		return len(*p) > 0
	case **Origin:
		return *p != nil
	case **Route:
		return *p != nil
	case *map[string]string:
		return len(*p) > 0
	}
	return false
}

// quote is a JSON string without HTML escapes, as other programs write it.
func quote(s string) []byte {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s) // a string always encodes
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n"))
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
