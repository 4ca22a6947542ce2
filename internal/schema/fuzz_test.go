package schema

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The fast check never passes what the detailed one refuses, and both ways of
// decoding agree.
func FuzzDecode(f *testing.F) {
	for _, s := range []string{
		with(), with("limit", "5.0"), with("label", `"abc"`, "x", "1"), with("client", `{"ID":"cli"}`), with("any", `[1,{"a":"\\"}]`),
		with("scopes", `["a",""]`), `{"kind":"req"`, `null`, with("raw", `-`), with("limit", "00"), with("over", `"\ud800"`),
	} {
		f.Add([]byte(s))
	}
	s, err := For[params]()
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, lenient := range []bool{false, true} {
			var slow params
			slowErr := s.decodeSlowly(data, &slow, lenient)
			if prove(s.root, data, lenient) && json.Valid(data) && slowErr != nil {
				t.Fatalf("proved %q, but the detailed check says %v", data, slowErr)
			}
			var got params
			err := decode(data, &got, lenient)
			if len(data) > 0 && (err == nil) != (slowErr == nil) {
				t.Fatalf("decode(%q) = %v, detailed = %v", data, err, slowErr)
			}
			if err == nil && !cmp.Equal(got, slow, cmp.AllowUnexported(params{}), cmp.AllowUnexported(open{}), cmp.AllowUnexported(client{}), cmp.Comparer(sameRaw)) {
				t.Fatalf("decode(%q) = %+v, detailed %+v", data, got, slow)
			}
			var errs *Errors
			if err != nil && !errors.As(err, &errs) && !errors.Is(err, ErrSyntax) {
				t.Fatalf("decode(%q) = %T, want *Errors or ErrSyntax", data, err)
			}
		}
	})
}

// sameRaw compares embedded JSON, which the detailed way writes anew.
func sameRaw(a, b json.RawMessage) bool {
	if len(a) == 0 || len(b) == 0 {
		return len(a) == len(b)
	}
	va, errA := parse(a)
	vb, errB := parse(b)
	return errA == nil && errB == nil && va.canonical() == vb.canonical()
}

func FuzzValidate(f *testing.F) {
	f.Add([]byte(`{"type":"object","properties":{"a":{"enum":[1]}}}`), []byte(`{"a":1}`))
	f.Add([]byte(`{"$ref":"#/definitions/a","definitions":{"a":{"not":{"$ref":"#"}}}}`), []byte(`1`))
	f.Add([]byte(`{"anyOf":[true,false],"uniqueItems":true}`), []byte(`[1,1.0]`))
	f.Fuzz(func(t *testing.T, schema, data []byte) {
		s, err := Parse(schema)
		if err != nil {
			return
		}
		_ = s.Validate(data) // must come back
	})
}

func BenchmarkDecode(b *testing.B) {
	for name, data := range map[string][]byte{
		"fast": []byte(with("limit", "5", "client", `{"id":"cli","version":"1"}`, "scopes", `["a","b"]`)),
		"slow": []byte(with("limit", "5.0", "client", `{"id":"cli","version":"1"}`, "scopes", `["a","b"]`)),
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				var p params
				if err := Decode(data, &p); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("plain", func(b *testing.B) {
		data := []byte(with("limit", "5", "client", `{"id":"cli","version":"1"}`, "scopes", `["a","b"]`))
		b.ReportAllocs()
		for b.Loop() {
			var p params
			if err := json.Unmarshal(data, &p); err != nil {
				b.Fatal(err)
			}
		}
	})
}
