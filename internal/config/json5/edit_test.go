package json5

import (
	"math"
	"strings"
	"testing"
)

func TestUpdate(t *testing.T) {
	for _, tt := range []struct{ name, src, want, out string }{
		{"equal text stays", "{ a : 0x10, /*c*/ b:[1,], } // end", "{a:16,b:[1]}", "{ a : 0x10, /*c*/ b:[1,], } // end"},
		{
			"one value",
			"\uFEFF// my file\n{\n  gateway: {\n    port: 18789, // the port\n    bind: 'loopback',\n  },\n}\n",
			"{gateway:{port:1,bind:'loopback'}}",
			"\uFEFF// my file\n{\n  gateway: {\n    port: 1, // the port\n    bind: 'loopback',\n  },\n}\n",
		},
		{
			"quotes as the text has them",
			"{\n\ta: 'x',\n\t'b c': 1,\n}", "{a:\"it's\",'b c':1,'d-e':{f:'g'}}",
			"{\n\ta: 'it\\'s',\n\t'b c': 1,\n\t'd-e': {\n\t\tf: 'g',\n\t},\n}",
		},
		{"JSON stays JSON", "{\n  \"a\": 1\n}\n", "{a:1,b:{c:['x']}}", "{\n  \"a\": 1,\n  \"b\": {\n    \"c\": [\n      \"x\"\n    ]\n  }\n}\n"},
		{"behind a comment", "{\n  a: 1 // one\n  // more to come\n}", "{a:1,b:2}", "{\n  a: 1, // one\n  b: 2\n  // more to come\n}"},
		{"behind block comments", "{\n  a: 1, /* x */ /* y */\n}", "{a:1,b:2}", "{\n  a: 1, /* x */ /* y */\n  b: 2,\n}"},
		{"before a long comment", "{\n  a: 1 /* x\n  y */\n}", "{a:1,b:2}", "{\n  a: 1,\n  b: 2 /* x\n  y */\n}"},
		{"several at once", "{\n  c: 1\n}", "{a:1,b:2,c:1}", "{\n  c: 1,\n  a: 1,\n  b: 2\n}"},
		{"on one line", "{a: 1, b: {}}", "{a:1,b:{c:{d:'x'}},e:[1,2]}", `{a: 1, b: {c: {d: "x"}}, e: [1, 2]}`},
		{"on one line with comma", "{a: 1,}", "{a:1,b:2}", "{a: 1, b: 2,}"},
		{"into an empty file", "", "{a:1}", "{\n  \"a\": 1\n}\n"},
		{"into an empty object", "{}\n", "{a:1}", "{\n  \"a\": 1\n}\n"},
		{"into comments", "{\n  // nothing yet\n}\n", "{a:1}", "{\n  // nothing yet\n  \"a\": 1\n}\n"},
		{"Windows lines", "{\r\n  a: 1\r\n}\r\n", "{a:1,b:[2]}", "{\r\n  a: 1,\r\n  b: [\r\n    2\r\n  ]\r\n}\r\n"},

		{"remove a line", "{\n  // about a\n  a: 1, // one\n  b: 2\n}", "{b:2}", "{\n  // about a\n  b: 2\n}"},
		{"remove the last", "{\n  a: 1, // one\n  b: 2 // two\n}", "{a:1}", "{\n  a: 1 // one\n}"},
		{"remove the last with comma", "{\n  a: 1,\n  b: 2,\n}", "{a:1}", "{\n  a: 1,\n}"},
		{"remove the only one", "{\n  a: 1\n}", "{}", "{\n}"},
		{"remove all", "{\n  a: 1,\n  b: 2,\n  c: 3\n}", "{}", "{\n}"},
		{"remove in a line", "{ a: 1, b: 2, c: 3 }", "{a:1,c:3}", "{ a: 1, c: 3 }"},
		{"remove last in a line", "{ a: 1, b: 2 }", "{a:1}", "{ a: 1 }"},
		{"remove before a bracket", "{\n  a: 1,\n  b: 2}", "{a:1}", "{\n  a: 1\n  }"},
		{"remove with comma first", "{ a: 1\n, b: 2\n, c: 3\n}", "{a:1,c:3}", "{ a: 1\n, c: 3\n}"},
		{"keep a comment before the comma", "{\n  a: 1 /* why */,\n  b: 2\n}", "{b:2}", "{\n   /* why */\n  b: 2\n}"},
		{"remove all twins", "{a: 1, b: 2, a: 3}", "{b:2}", "{b: 2}"},
		{"change the twin that counts", "{a: 1, b: 2, a: 3}", "{a:4,b:2}", "{a: 1, b: 2, a: 4}"},

		{"array element", "[\n  1, // one\n  2,\n]", "[1,3]", "[\n  1, // one\n  3,\n]"},
		{"array grows", "[\n  1, // one\n  3\n]", "[1,2,3,4]", "[\n  1, // one\n  2,\n  3,\n  4\n]"},
		{"array grows in front", "[\n  2\n]", "[1,2]", "[\n  1,\n  2\n]"},
		{"flat array grows", "['a', 'c']", "['a','b','c','d']", "['a', 'b', 'c', 'd']"},
		{"flat array grows in front", "['b']", "['a','b']", "['a', 'b']"},
		{"array shrinks", "[1, 2, 3, 4]", "[1,4]", "[1, 4]"},
		{"objects in arrays", "[\n  {id: 'a', x: 1},\n  {id: 'b', x: 2}\n]", "[{id:'a',x:1},{id:'b',x:3}]", "[\n  {id: 'a', x: 1},\n  {id: 'b', x: 3}\n]"},
		{"other kinds", "{\n  a: {b: 1},\n  c: [2]\n}", "{a:[1],c:{d:null}}", "{\n  a: [\n    1\n  ],\n  c: {\n    d: null\n  }\n}"},
		{"another root", "[1]", "true", "true"},
		{"references stay", "{\n  $include: './base.json5',\n  token: '${TOKEN}',\n}", "{$include:'./base.json5',token:'${TOKEN}',port:1}", "{\n  $include: './base.json5',\n  token: '${TOKEN}',\n  port: 1,\n}"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			want, err := Decode(tt.want)
			if err != nil {
				t.Fatal(err)
			}
			got, err := Update(tt.src, want)
			if err != nil || got != tt.out {
				t.Errorf("Update(%q, %s)\n got %q, %v\nwant %q", tt.src, tt.want, got, err, tt.out)
			}
		})
	}
}

func TestUpdateErrors(t *testing.T) {
	for _, tt := range []struct {
		src  string
		want any
	}{
		{"{", map[string]any{}},
		{"{}", map[string]any{"a": struct{}{}}},
		{"{}", map[string]any{"\xff": 1}},
		{"1", "\xff"},
		{"", func() {}},
	} {
		if got, err := Update(tt.src, tt.want); err == nil {
			t.Errorf("Update(%q, %v) = %q, want an error", tt.src, tt.want, got)
		}
	}
	got, err := Update("{a: 1}", map[string]any{"a": math.NaN(), "b": math.Inf(-1)})
	if want := "{a: NaN, b: -Infinity}"; err != nil || got != want {
		t.Errorf("Update = %q, %v, want %q", got, err, want)
	}
}

func FuzzUpdate(f *testing.F) {
	for _, s := range [][2]string{
		{"{a:1,/*c*/'b':[1,2,],}", "{b:[2,3],c:{}}"},
		{"{\n  a: {x: 1}, // c\n  b: 2 }", "{a:{y:'\"'},b:[{}]}"},
		{"// c\n[1 /*x*/ ,\n2// y\n]", "[2,1,2]"},
		{"{a:1,a:{b:2}}", "{a:{b:3}}"},
		{"{ /*\n*/ }", "{'':null,é:[[]]}"},
	} {
		f.Add(s[0], s[1])
	}
	f.Fuzz(func(t *testing.T, src, wantSrc string) {
		before, err := Decode(src)
		if err != nil {
			return
		}
		if same, err := Update(src, before); err != nil || same != src {
			t.Errorf("Update(%q) to its own value = %q, %v", src, same, err)
		}
		want, err := Decode(wantSrc)
		if err != nil {
			return
		}
		got, err := Update(src, want)
		if err != nil {
			t.Fatalf("Update(%q, %s): %v", src, wantSrc, err)
		}
		if after, err := Decode(got); err != nil || !Equal(after, want) {
			t.Errorf("Update(%q, %s) = %q, which is %v, %v", src, wantSrc, got, after, err)
		}
	})
}

func BenchmarkUpdate(b *testing.B) {
	src := "{\n"
	for _, k := range strings.Split("abcdefghijklmnopqrstuvwxyz", "") {
		src += "  " + k + ": { enabled: true, list: ['a', 'b'], note: 'text' }, // c\n"
	}
	src += "}\n"
	v, err := Decode(src)
	if err != nil {
		b.Fatal(err)
	}
	v.(map[string]any)["k"].(map[string]any)["enabled"] = false
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Update(src, v); err != nil {
			b.Fatal(err)
		}
	}
}
