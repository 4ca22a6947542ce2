package json5

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDecode(t *testing.T) {
	num := func(s string) any { return json.Number(s) }
	for _, tt := range []struct {
		src  string
		want any
	}{
		{"null", nil},
		{"true", true},
		{" false ", false},
		{"\uFEFF{}", map[string]any{}},
		{"\u00A0\u2003\u2028[\v\f\u3000]", []any{}},
		{"{a:1,}", map[string]any{"a": num("1")}},
		{"{$_a1:1, ümlaut:2, 'q r':3, \"\":4, \\u0061b: 5, a\u200Cb: 6, null: 7}", map[string]any{
			"$_a1": num("1"), "ümlaut": num("2"), "q r": num("3"), "": num("4"), "ab": num("5"), "a\u200Cb": num("6"), "null": num("7"),
		}},
		{"{a:1,a:2}", map[string]any{"a": num("2")}},
		{"[1,[2],]", []any{num("1"), []any{num("2")}}},
		{"// c\n/* d */ 1 // e", num("1")},
		{"/**/1/***/", num("1")},
		{"// only\u20281", num("1")},

		{`'it\'s "fine"'`, `it's "fine"`},
		{`"\x41\u0042\0\b\f\n\r\t\v\a\/\""`, "AB\x00\b\f\n\r\t\va/\""},
		{"'a\\\nb\\\r\nc\\\rd\\\u2028e\\\u2029f'", "abcdef"},
		{"'tab\there\u2028there'", "tab\there\u2028there"},
		{`"\ud83d\ude00 \ud83d \ude00"`, "😀 \uFFFD \uFFFD"},
		{`"\ud83dA"`, "\uFFFDA"},
		{"'\xff'", "\uFFFD"},

		{"0", num("0")},
		{"-0", num("0")},
		{"+7", num("7")},
		{"9007199254740993", num("9007199254740993")},
		{"-123456789012345678901234567890", num("-123456789012345678901234567890")},
		{"0xDECAF", num("912559")},
		{"-0x10", num("-16")},
		{"0xffffffffffffffffff", num("4722366482869645213695")},
		{".5", num("0.5")},
		{"5.", num("5")},
		{"1.50", num("1.5")},
		{"2.000", num("2")},
		{"1e3", num("1000")},
		{"1E-7", num("1e-07")},
		{"1e21", num("1e+21")},
		{"Infinity", math.Inf(1)},
		{"-Infinity", math.Inf(-1)},
		{"1e999", math.Inf(1)},
	} {
		got, err := Decode(tt.src)
		if err != nil {
			t.Errorf("Decode(%q): %v", tt.src, err)
			continue
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("Decode(%q) (-want +got):\n%s", tt.src, diff)
		}
	}
	if v, err := Decode("-NaN"); err != nil || !math.IsNaN(v.(float64)) {
		t.Errorf("Decode(-NaN) = %v, %v", v, err)
	}
}

func TestDecodeErrors(t *testing.T) {
	for _, tt := range []struct{ src, want string }{
		{"", "invalid end of input at 1:1"},
		{"{not json", "invalid character 'j' at 1:6"}, // GW-105: what the reference answers
		{"{a:1", "invalid end of input at 1:5"},
		{"{a:1 b:2}", "invalid character 'b' at 1:6"},
		{"{a 1}", "invalid character '1' at 1:4"},
		{"{,}", "invalid character ',' at 1:2"},
		{"{a:}", "invalid character '}' at 1:4"},
		{"[1,,2]", "invalid character ',' at 1:4"},
		{"[1 2]", "invalid character '2' at 1:4"},
		{"{}\n{}", "invalid character '{' at 2:1"},
		{"{\r\n\ta: 1,\r\n\tb: @\r\n}", "invalid character '@' at 3:5"},
		{"\uFEFF#", "invalid character '#' at 1:1"},
		{"/* open", "invalid end of input at 1:8"},
		{"'open", "invalid end of input at 1:6"},
		{"'line\nbreak'", `invalid character '\x0a' at 1:6`},
		{`"\1"`, "invalid character '1' at 1:3"},
		{`"\01"`, "invalid character '1' at 1:4"},
		{`"\xg1"`, "invalid character 'g' at 1:4"},
		{`"\u12`, "invalid end of input at 1:6"},
		{`{\u0031a: 1}`, "invalid identifier character at 1:2"},
		{`{a\x: 1}`, `invalid character 'x' at 1:4`},
		{"01", "invalid character '1' at 1:2"},
		{"0x", "invalid end of input at 1:3"},
		{"1.e", "invalid end of input at 1:4"},
		{".", "invalid end of input at 1:2"},
		{"+", "invalid end of input at 1:2"},
		{"- 1", "invalid character ' ' at 1:2"},
		{"1a", "invalid character 'a' at 1:2"},
		{"0xfg", "invalid character 'g' at 1:4"},
		{"1.2.3", "invalid character '.' at 1:4"},
		{"Infinit", "invalid character 'I' at 1:1"},
		{"NaNs", "invalid character 's' at 1:4"},
		{"nul", "invalid end of input at 1:4"},
		{"nulL", "invalid character 'L' at 1:4"},
		{"truest", "invalid character 's' at 1:5"},
		{"tr\\ue", `invalid character '\\' at 1:3`},
		{"ä", "invalid character 'ä' at 1:1"},
		{"\xff", `invalid character '\xfffd' at 1:1`},
		{strings.Repeat("[", 300), "nested more than 200 deep at 1:202"},
		{strings.Repeat("9", 401), "number too long at 1:1"},
	} {
		v, err := Decode(tt.src)
		var syntax *SyntaxError
		if !errors.As(err, &syntax) {
			t.Errorf("Decode(%q) = %v, %v, want a SyntaxError", tt.src, v, err)
			continue
		}
		if got, want := err.Error(), "SyntaxError: JSON5: "+tt.want; got != want {
			t.Errorf("Decode(%q) = %q, want %q", tt.src, got, want)
		}
	}
}

func TestEqual(t *testing.T) {
	nan := math.NaN()
	for _, tt := range []struct {
		a, b any
		want bool
	}{
		{json.Number("1"), 1, true},
		{json.Number("1.0"), 1.0, true},
		{json.Number("10"), json.Number("1e1"), true},
		{json.Number("9007199254740993"), 9007199254740992.0, false},
		{nan, nan, true},
		{1, "1", false},
		{nil, false, false},
		{json.Number("x"), json.Number("x"), false},
		{map[string]any{"a": []any{1, "x"}}, map[string]any{"a": []any{int64(1), "x"}}, true},
		{map[string]any{"a": nil}, map[string]any{"b": nil}, false},
		{[]any{1}, []any{1, 2}, false},
	} {
		if got := Equal(tt.a, tt.b); got != tt.want {
			t.Errorf("Equal(%v, %v) = %v, want %v", tt.a, tt.b, got, tt.want)
		}
	}
}

func FuzzDecode(f *testing.F) {
	for _, s := range []string{
		"{a:1,/*c*/'b':[0x1F,.5e-3,],}", `{"a":"\ud83d\ude00\x41\
b"}`, "\uFEFF// c\n-Infinity", `{"n":12345678901234567890,"f":1e400}`, "[[[[", `{\u0061: NaN}`,
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, src string) {
		got, err := Decode(src)
		if json.Valid([]byte(src)) {
			if err != nil {
				if strings.Contains(err.Error(), "nested more") || strings.Contains(err.Error(), "too long") {
					return
				}
				t.Fatalf("Decode(%q) = %v, but it is JSON", src, err)
			}
			dec := json.NewDecoder(strings.NewReader(src))
			dec.UseNumber()
			var want any
			if dec.Decode(&want) == nil && !Equal(got, want) {
				t.Errorf("Decode(%q) = %v, want %v", src, got, want)
			}
		}
		if err != nil {
			return
		}
		text, err := Format(got)
		if err != nil {
			t.Fatalf("Format of Decode(%q): %v", src, err)
		}
		if back, err := Decode(text); err != nil || !Equal(back, got) {
			t.Errorf("%q came back as %v, %v, want %v", text, back, err, got)
		}
	})
}

func BenchmarkDecode(b *testing.B) {
	src := "{" + strings.Repeat(`name: { enabled: true, list: ["a", 'b', 12, 0.5], note: "some text here" }, // c`+"\n", 50) + "}"
	b.SetBytes(int64(len(src)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Decode(src); err != nil {
			b.Fatal(err)
		}
	}
}
