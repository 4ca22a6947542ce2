package schema

import (
	"encoding/json"
	"errors"
	"testing"
)

func TestValidate(t *testing.T) {
	const tool = `{"type":"object","required":["path"],"properties":{
		"path":{"type":"string","minLength":1},"mode":{"type":"string","enum":["text","binary"]},
		"limit":{"type":["integer","null"],"exclusiveMinimum":0,"maximum":10},"step":{"type":"number","multipleOf":0.1},
		"tags":{"type":"array","items":{"type":"string"},"uniqueItems":true,"maxItems":2}},"additionalProperties":false}`
	tests := []struct{ name, schema, data, want string }{
		{"fits", tool, `{"path":"a","mode":"text","limit":3,"step":0.3,"tags":["a","b"]}`, ""},
		{"null type", tool, `{"path":"a","limit":null}`, ""},
		{"missing and unexpected", tool, `{"pth":"a"}`, "must have required property 'path'; at root: unexpected property 'pth'"},
		{"enum lists what is allowed", tool, `{"path":"a","mode":"x"}`, "at /mode: must be one of text, binary"},
		{"types", tool, `{"path":"a","limit":"3"}`, "at /limit: must be null,integer"},
		{"exclusive", tool, `{"path":"a","limit":0}`, "at /limit: must be > 0"},
		{"multiple", tool, `{"path":"a","step":0.25}`, "at /step: must be multiple of 0.1"},
		{"duplicates", tool, `{"path":"a","tags":["a","a","b"]}`,
			"at /tags: must NOT have more than 2 items; at /tags: must NOT have duplicate items (items ## 0 and 1 are identical)"},
		{"root array", `{"type":"array","items":[{"type":"string"},{"type":"integer"}],"additionalItems":false}`, `["a","b",1]`,
			"at /1: must be integer; at /2: boolean schema is false"},
		{"tuple 2020", `{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"array","prefixItems":[{"type":"string"}],"items":{"type":"integer"}}`,
			`["a","b"]`, "at /1: must be integer"},
		{"contains", `{"contains":{"type":"integer"}}`, `["a"]`, "must contain at least 1 valid item(s)"},
		{"const", `{"const":{"a":[1,true]}}`, `{"a":[1.0,true]}`, ""},
		{"const differs", `{"const":{"a":1}}`, `{"a":2}`, "must be equal to constant"},
		{"enum of numbers", `{"enum":[1,"x",null]}`, `2`, "must be one of 1, x, null"},
		{"any of", `{"anyOf":[{"type":"string"},{"type":"integer"}]}`, `true`,
			"must be string; must be integer; must match a schema in anyOf"},
		{"one of, both", `{"oneOf":[{"type":"number"},{"type":"integer"}]}`, `1`, "must match exactly one schema in oneOf"},
		{"one of, none", `{"oneOf":[{"type":"number"}]}`, `"1"`, "must be number; must match exactly one schema in oneOf"},
		{"all of", `{"allOf":[{"required":["a"]},{"required":["b"]}]}`, `{"a":1}`, "must have required property 'b'"},
		{"not", `{"not":{"type":"null"}}`, `null`, "must NOT be valid"},
		{"then", `{"if":{"required":["a"]},"then":{"required":["b"]}}`, `{"a":1}`,
			`must have required property 'b'; must match "then" schema`},
		{"else", `{"if":{"required":["a"]},"else":{"required":["b"]}}`, `{"c":1}`,
			`must have required property 'b'; must match "else" schema`},
		{"false", `{"properties":{"a":false}}`, `{"a":1}`, "at /a: boolean schema is false"},
		{"pattern properties", `{"patternProperties":{"^x":{"type":"string"}},"additionalProperties":false}`, `{"xa":1,"y":2}`,
			"at root: unexpected property 'y'; at /xa: must be string"},
		{"additional schema", `{"additionalProperties":{"type":"string"}}`, `{"a":1}`, "at /a: must be string"},
		{"key names", `{"propertyNames":{"maxLength":1}}`, `{"ab":1}`,
			"must NOT have more than 1 characters; property name must be valid"},
		{"count of keys", `{"minProperties":1,"maxProperties":1}`, `{"a":1,"b":2}`, "must NOT have more than 1 properties"},
		{"no keys", `{"minProperties":1}`, `{}`, "must NOT have fewer than 1 properties"},
		{"dependent keys", `{"dependencies":{"a":["b"]}}`, `{"a":1}`, "must have property b when property a is present"},
		{"dependent schema", `{"dependencies":{"a":{"required":["b"]}}}`, `{"a":1}`, "must have required property 'b'"},
		{"recursive", `{"$ref":"#/definitions/n","definitions":{"n":{"type":"object","properties":{"next":{"$ref":"#/definitions/n"}}}}}`,
			`{"next":{"next":5}}`, "at /next/next: must be object"},
		{"reference to the root", `{"type":"object","properties":{"next":{"$ref":"#"}}}`, `{"next":1}`, "at /next: must be object"},
		{"required beyond properties", `{"required":["zz"]}`, `{}`, "must have required property 'zz'"},
		{"everything goes", `{}`, `{"a":[1,2,{"b":null}]}`, ""},
		{"huge numbers", `{"maximum":10}`, `1e999`, "must be a number within range"},
		{"huge exponents are not spelt out", `{"uniqueItems":true}`, `[1e999999,1e999999]`,
			"must NOT have duplicate items (items ## 0 and 1 are identical)"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := ""
			if err := Validate([]byte(tt.schema), []byte(tt.data)); err != nil {
				got = err.Error()
			}
			if got != tt.want {
				t.Errorf("Validate(%s) = %q, want %q", tt.data, got, tt.want)
			}
		})
	}
}

func TestValidateSyntax(t *testing.T) {
	if err := Validate([]byte(`{"type":"object"}`), []byte(`{"a":`)); !errors.Is(err, ErrSyntax) {
		t.Errorf("Validate = %v, want ErrSyntax", err)
	}
}

func TestParseErrors(t *testing.T) {
	for _, text := range []string{
		`not json`, `{"type":"text"}`, `{"pattern":"("}`, `{"patternProperties":{"(":{}}}`, `{"$ref":"other.json"}`,
		`{"$ref":"#/definitions/none"}`, `{"$ref":"#"}`, `{"items":{"type":"text"}}`, `{"anyOf":[{"type":"text"}]}`,
		`{"not":{"type":"text"}}`, `{"definitions":{"a":{"$ref":"#/definitions/a"}},"$ref":"#/definitions/a"}`,
		`{"not":{"$ref":"#"}}`, `{"properties":{"a":{"anyOf":[{"$ref":"#/definitions/a"}]}},"definitions":{"a":{"allOf":[{"$ref":"#/definitions/a"}]}}}`,
	} {
		if s, err := Parse([]byte(text)); err == nil {
			t.Errorf("Parse(%s) = %+v, want an error", text, s.root)
		}
	}
}

// What the emitter writes, the parser understands the same way.
func TestJSONRoundTrip(t *testing.T) {
	s, err := For[params]()
	if err != nil {
		t.Fatal(err)
	}
	text, err := s.JSON()
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := Parse(text)
	if err != nil {
		t.Fatalf("Parse(%s) = %v", text, err)
	}
	for data, valid := range map[string]bool{
		with():                           true,
		with("limit", "0"):               false,
		with("over", "5"):                false,
		with("kind", `"x"`):              false,
		with("x", "1"):                   false,
		with("free", `{"b":1}`):          true,
		with("grants", `{"":true}`):      false,
		with("scopes", `["a"]`):          true,
		with("scopes", `[]`):             false,
		with("client", `{"id":"cli"}`):   false,
		with("slug", `"A"`):              false,
		with("raw", `1`, "loose", `[1]`): true,
	} {
		if err := parsed.Validate([]byte(data)); (err == nil) != valid {
			t.Errorf("parsed.Validate(%s) = %v, want valid %v", data, err, valid)
		}
		if err := s.Validate([]byte(data)); (err == nil) != valid {
			t.Errorf("s.Validate(%s) = %v, want valid %v", data, err, valid)
		}
	}
}

func TestJSON(t *testing.T) {
	type args struct {
		Path string `json:"path" schema:"minLength=1" jsonschema:"file to read, < 1 MB"`
		Mode string `json:"mode,omitempty" schema:"enum=text|binary"`
		Seen *bool  `json:"seen"`
	}
	s, err := For[args]()
	if err != nil {
		t.Fatal(err)
	}
	got, err := s.JSON()
	if err != nil {
		t.Fatal(err)
	}
	want := `{"type":"object","properties":{"path":{"type":"string","description":"file to read, < 1 MB","minLength":1},` +
		`"mode":{"type":"string","enum":["text","binary"]},"seen":{"type":["boolean","null"]}},` +
		`"required":["path","seen"],"additionalProperties":false}`
	if !sameJSON(t, got, []byte(want)) {
		t.Errorf("JSON() = %s, want %s", got, want)
	}
	type tree struct {
		Left *tree `json:"left,omitempty"`
	}
	rec, err := For[tree]()
	if err != nil {
		t.Fatal(err)
	}
	if out, err := rec.JSON(); err == nil {
		t.Errorf("JSON of a recursive type = %s, want an error", out)
	}
}

func sameJSON(t *testing.T, a, b []byte) bool {
	t.Helper()
	va, err := parse(a)
	if err != nil {
		t.Fatalf("parse(%s) = %v", a, err)
	}
	var vb any
	if err := json.Unmarshal(b, &vb); err != nil {
		t.Fatal(err)
	}
	return va.equal(vb)
}
