package schema

import (
	"encoding/json"
	"math/big"
	"slices"
	"strings"
)

// equal compares v with a decoded JSON value whose numbers are json.Number.
func (v *value) equal(other any) bool {
	switch o := other.(type) {
	case nil:
		return v.kind == kNull
	case bool:
		return v.kind == kBool && v.truth == o
	case string:
		return v.kind == kString && v.str == o
	case json.Number:
		return v.kind == kNumber && number(v.num) == number(o)
	case float64:
		return v.kind == kNumber && number(v.num) == number(json.Number(plain(o)))
	case []any:
		return v.kind == kArray && slices.EqualFunc(v.items, o, (*value).equal)
	case map[string]any:
		if v.kind != kObject || len(v.keys) != len(o) {
			return false
		}
		for key, want := range o {
			if got, ok := v.fields[key]; !ok || !got.equal(want) {
				return false
			}
		}
		return true
	}
	return false
}

// number returns one text for all ways to write a number.
func number(n json.Number) string {
	// A huge exponent would make an exact form of that many digits.
	if i := strings.IndexAny(string(n), "eE"); i >= 0 && len(n)-i > 5 {
		return string(n)
	}
	r, ok := new(big.Rat).SetString(string(n))
	if !ok {
		return string(n)
	}
	return r.RatString()
}

// canonical returns one text for equal values.
func (v *value) canonical() string {
	var b strings.Builder
	v.writeCanonical(&b)
	return b.String()
}

func (v *value) writeCanonical(b *strings.Builder) {
	switch v.kind {
	case kNumber:
		b.WriteString(number(v.num))
	case kArray:
		b.WriteByte('[')
		for _, item := range v.items {
			item.writeCanonical(b)
			b.WriteByte(',')
		}
		b.WriteByte(']')
	case kObject:
		b.WriteByte('{')
		for _, key := range slices.Sorted(slices.Values(v.keys)) {
			b.Write(appendString(nil, key))
			b.WriteByte(':')
			v.fields[key].writeCanonical(b)
			b.WriteByte(',')
		}
		b.WriteByte('}')
	default:
		b.Write(v.encode(nil, nil))
	}
}
