package config

import (
	"encoding/json"
	"reflect"
	"strings"
	"sync"
)

// binder is a setting that takes more than one form, such as a model that is
// either a name or an object.
type binder interface{ bind(v any) }

// bind copies a tree into a struct by the names of its json tags. What the tree
// lacks, or holds in another form, stays as it is in dst: the caller fills
// in defaults first, and validation has told about mistakes.
func bind(v any, dst reflect.Value) {
	if v == nil {
		return
	}
	if b, ok := dst.Addr().Interface().(binder); ok {
		b.bind(v)
		return
	}
	switch dst.Kind() {
	case reflect.Pointer:
		p := reflect.New(dst.Type().Elem())
		bind(v, p.Elem())
		dst.Set(p)
	case reflect.Struct:
		if m, ok := v.(map[string]any); ok {
			for _, f := range fieldTable()[dst.Type()] {
				if e, ok := m[f.key]; ok {
					bind(e, dst.Field(f.index))
				}
			}
		}
	case reflect.Map:
		bindMap(v, dst)
	case reflect.Slice:
		if list, ok := v.([]any); ok {
			out := reflect.MakeSlice(dst.Type(), len(list), len(list))
			for i, e := range list {
				bind(e, out.Index(i))
			}
			dst.Set(out)
		}
	case reflect.Interface:
		dst.Set(reflect.ValueOf(simple(v)))
	default:
		bindScalar(v, dst)
	}
}

func bindMap(v any, dst reflect.Value) {
	m, ok := v.(map[string]any)
	if !ok {
		return
	}
	out := reflect.MakeMapWithSize(dst.Type(), len(m))
	for k, e := range m {
		elem := reflect.New(dst.Type().Elem()).Elem()
		bind(e, elem)
		out.SetMapIndex(reflect.ValueOf(k).Convert(dst.Type().Key()), elem)
	}
	dst.Set(out)
}

func bindScalar(v any, dst reflect.Value) {
	switch dst.Kind() {
	case reflect.String:
		switch v := v.(type) {
		case string:
			dst.SetString(v)
		case json.Number: // ids may be written as numbers
			dst.SetString(string(v))
		case bool: // where "auto" is the third choice
			dst.SetString(map[bool]string{true: "true", false: "false"}[v])
		}
	case reflect.Bool:
		if b, ok := v.(bool); ok {
			dst.SetBool(b)
		}
	case reflect.Int, reflect.Int64:
		if f, ok := floatOf(v); ok && f >= -1<<53 && f <= 1<<53 {
			dst.SetInt(int64(f))
		}
	case reflect.Float64:
		if f, ok := floatOf(v); ok {
			dst.SetFloat(f)
		}
	}
}

// simple turns the numbers of a tree into float64, as encoding/json has them.
func simple(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, e := range v {
			out[k] = simple(e)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = simple(e)
		}
		return out
	case json.Number:
		f, _ := v.Float64()
		return f
	}
	return v
}

type boundField struct {
	index int
	key   string
}

// fieldTable holds the json names of Config and of every struct inside it.
var fieldTable = sync.OnceValue(func() map[reflect.Type][]boundField {
	table := map[reflect.Type][]boundField{}
	var add func(t reflect.Type)
	add = func(t reflect.Type) {
		switch t.Kind() {
		case reflect.Pointer, reflect.Slice, reflect.Map:
			add(t.Elem())
			return
		case reflect.Struct:
		default:
			return
		}
		if _, done := table[t]; done {
			return
		}
		fields := []boundField{}
		for i := range t.NumField() {
			key, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
			if key != "" && key != "-" {
				fields = append(fields, boundField{i, key})
			}
		}
		table[t] = fields
		for _, f := range fields {
			add(t.Field(f.index).Type)
		}
	}
	add(reflect.TypeFor[Config]())
	return table
})
