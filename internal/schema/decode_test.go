package schema

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

type client struct {
	ID      string `json:"id" schema:"enum=cli|test"`
	Version string `json:"version" schema:"minLength=1"`
	Family  string `json:"family,omitempty" schema:"minLength=1"`
}

type params struct {
	Kind    string            `json:"kind" schema:"const=req"`
	Message string            `json:"message"`
	Key     string            `json:"key" schema:"minLength=1"`
	Limit   *int              `json:"limit,omitempty" schema:"min=1,max=1000"`
	Label   string            `json:"label,omitempty" schema:"minLength=2,maxLength=4"`
	Slug    string            `json:"slug,omitempty" schema:"pattern=^[a-z,]+$"`
	Deliver bool              `json:"deliver,omitempty"`
	Ratio   float64           `json:"ratio,omitempty"`
	Count   uint              `json:"count,omitempty"`
	Small   int8              `json:"small,omitempty"`
	Scopes  []string          `json:"scopes,omitempty" schema:"itemMinLength=1,minItems=1,maxItems=3"`
	Grants  map[string]bool   `json:"grants,omitempty" schema:"itemMinLength=1"`
	Client  *client           `json:"client,omitempty"`
	Clients []client          `json:"clients,omitempty"`
	Raw     json.RawMessage   `json:"raw,omitempty"`
	Raws    []json.RawMessage `json:"raws,omitempty"`
	Any     any               `json:"any,omitempty"`
	Data    []byte            `json:"data,omitempty"`
	Over    *string           `json:"over"`
	Free    open              `json:"free,omitzero"`
	Loose   string            `json:"loose,omitempty" schema:"any"`
	Ignored string            `json:"-"`
}

type open struct {
	_ struct{} `schema:"open"`
	A int      `json:"a,omitempty"`
}

// with returns a valid params object with changes; a change to "" removes the key.
func with(changes ...string) string {
	fields := map[string]string{"kind": `"req"`, "message": `""`, "key": `"k"`, "over": "null"}
	order := []string{"kind", "message", "key", "over"}
	for i := 0; i < len(changes); i += 2 {
		if _, ok := fields[changes[i]]; !ok {
			order = append(order, changes[i])
		}
		fields[changes[i]] = changes[i+1]
	}
	var parts []string
	for _, name := range order {
		if fields[name] != "" {
			parts = append(parts, `"`+name+`":`+fields[name])
		}
	}
	return "{" + strings.Join(parts, ",") + "}"
}

// GW-012: the texts of docs/protocol.md#validation-texts.
func TestDecodeErrors(t *testing.T) {
	tests := []struct{ name, data, want string }{
		{"not an object", `5`, "must be object"},
		{"null", `null`, "must be object"},
		{"missing value", ``, "must be object"},
		{"all keys missing", `{}`, "must have required property 'kind'; must have required property 'message'; " +
			"must have required property 'key'; must have required property 'over'"},
		{"unexpected keys in the order sent", with("zeta", "1", "alpha", "2"),
			"at root: unexpected property 'zeta'; at root: unexpected property 'alpha'"},
		{"missing, unexpected, wrong", `{"b":1,"kind":"x","message":5,"key":""}`,
			"must have required property 'over'; at root: unexpected property 'b'; at /kind: must be equal to constant; " +
				"at /message: must be string; at /key: must NOT have fewer than 1 characters"},
		{"another case is another key", `{"Kind":"req","message":"","key":"k","over":null}`,
			"must have required property 'kind'; at root: unexpected property 'Kind'"},
		{"null for an optional string", with("label", "null"), "at /label: must be string"},
		{"null for an optional pointer", with("limit", "null"), "at /limit: must be integer"},
		{"not null", with("over", "5"), "at /over: must be string; at /over: must be null; at /over: must match a schema in anyOf"},
		{"below", with("limit", "0"), "at /limit: must be >= 1"},
		{"above", with("limit", "1001"), "at /limit: must be <= 1000"},
		{"fraction", with("limit", "1.5"), "at /limit: must be integer"},
		{"number as text", with("limit", `"3"`), "at /limit: must be integer"},
		{"negative unsigned", with("count", "-1"), "at /count: must be >= 0"},
		{"too large for the type", with("small", "300"), "at /small: must be int8"},
		{"too large for any integer", with("limit", "1e30"), "at /limit: must be <= 1000"},
		{"too short", with("label", `"é"`), "at /label: must NOT have fewer than 2 characters"},
		{"too long, escaped", with("label", `"abcd\u0065"`), "at /label: must NOT have more than 4 characters"},
		{"pattern", with("slug", `"A"`), `at /slug: must match pattern "^[a-z,]+$"`},
		{"empty array", with("scopes", "[]"), "at /scopes: must NOT have fewer than 1 items"},
		{"long array", with("scopes", `["a","b","c","d"]`), "at /scopes: must NOT have more than 3 items"},
		{"array element", with("scopes", `["a","",5]`),
			"at /scopes/1: must NOT have fewer than 1 characters; at /scopes/2: must be string"},
		{"map value", with("grants", `{"a/b~c":1}`), "at /grants/a~1b~0c: must be boolean"},
		{"map key", with("grants", `{"":true}`),
			"at /grants: must NOT have fewer than 1 characters; at /grants: property name must be valid"},
		{"union", with("client", `{"id":"nobody","version":"1"}`),
			"at /client/id: must be equal to constant; at /client/id: must match a schema in anyOf"},
		{"union of another type", with("client", `{"id":5,"version":"1"}`),
			"at /client/id: must be string; at /client/id: must be equal to constant; at /client/id: must match a schema in anyOf"},
		{"nested", with("client", `{"id":"cli","x":1,"family":""}`),
			"at /client: must have required property 'version'; at /client: unexpected property 'x'; " +
				"at /client/family: must NOT have fewer than 1 characters"},
		{"nested in array", with("clients", `[{"id":"cli","version":"1"},{}]`),
			"at /clients/1: must have required property 'id'; at /clients/1: must have required property 'version'"},
		{"base64", with("data", `"%%"`), "illegal base64 data at input byte 0"},
		{"ignored field", with("Ignored", `1`), "at root: unexpected property 'Ignored'"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var p params
			err := Decode([]byte(tt.data), &p)
			var errs *Errors
			if !errors.As(err, &errs) || err.Error() != tt.want {
				t.Errorf("Decode(%s) = %v, want %s", tt.data, err, tt.want)
			}
		})
	}
}

func TestDecode(t *testing.T) {
	five := 5
	text := "o"
	base := params{Kind: "req", Key: "k"}
	tests := []struct {
		name, data string
		change     func(*params)
		fast       bool
	}{
		{"smallest", with(), func(*params) {}, true},
		{"white space", " {\n\"kind\" : \"req\" ,\t\"message\":\"\", \"key\":\"k\",\"over\": null } ", func(*params) {}, true},
		{"everything plain", with("limit", "5", "label", `"abc"`, "slug", `"a,b"`, "deliver", "true", "ratio", "-1.5e2", "count", "7",
			"scopes", `["a"]`, "grants", `{"g":false}`, "client", `{"id":"cli","version":"1"}`, "over", `"o"`,
			"raw", `{"a":[1,"}"]}`, "raws", `[1,"x",{}]`, "any", `null`, "data", `"AQI="`, "free", `{"a":1,"b":2}`),
			func(p *params) {
				p.Limit, p.Label, p.Slug, p.Deliver, p.Ratio, p.Count = &five, "abc", "a,b", true, -150, 7
				p.Scopes, p.Grants, p.Client, p.Over = []string{"a"}, map[string]bool{"g": false}, &client{ID: "cli", Version: "1"}, &text
				p.Raw, p.Raws = json.RawMessage(`{"a":[1,"}"]}`), []json.RawMessage{[]byte("1"), []byte(`"x"`), []byte("{}")}
				p.Data, p.Free = []byte{1, 2}, open{A: 1}
			}, true},
		{"integer with a fraction of zero", with("limit", "5.0"), func(p *params) { p.Limit = &five }, false},
		{"integer with exponent", with("limit", "50e-1"), func(p *params) { p.Limit = &five }, false},
		{"repeated key", with("label", `"abc","label":"abd"`), func(p *params) { p.Label = "abd" }, false},
		{"repeated object is not merged", with("client", `{"id":"cli","version":"1","family":"f"},"client":{"id":"test","version":"2"}`),
			func(p *params) { p.Client = &client{ID: "test", Version: "2"} }, false},
		{"escaped key", with("\\u006cabel", `"abc"`), func(p *params) { p.Label = "abc" }, false},
		{"escaped value", with("label", `"a\u0062c"`), func(p *params) { p.Label = "abc" }, false},
		{"escaped quote", with("message", `"a\\\"b\\"`), func(p *params) { p.Message = `a\"b\` }, true},
		{"another case of an open object", with("free", `{"A":5}`), func(*params) {}, false},
	}
	s, err := For[params]()
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			want := base
			tt.change(&want)
			var got params
			if err := Decode([]byte(tt.data), &got); err != nil {
				t.Fatalf("Decode(%s) = %v, want no error", tt.data, err)
			}
			if diff := cmp.Diff(want, got, cmp.AllowUnexported(params{}), cmp.AllowUnexported(open{}), cmp.AllowUnexported(client{})); diff != "" {
				t.Errorf("Decode(%s) mismatch (-want +got):\n%s", tt.data, diff)
			}
			if got := prove(s.root, []byte(tt.data), false); got != tt.fast {
				t.Errorf("prove(%s) = %v, want %v", tt.data, got, tt.fast)
			}
		})
	}
}

func TestDecodeLenient(t *testing.T) {
	data := []byte(with("client", `{"id":"cli","version":"1","new":{"a":[]}}`, "Limit", "7", "more", "1"))
	var p params
	if err := DecodeLenient(data, &p); err != nil {
		t.Fatalf("DecodeLenient(%s) = %v, want no error", data, err)
	}
	if p.Limit != nil {
		t.Errorf("Limit = %v from a key in another case, want nil", *p.Limit)
	}
	if p.Client == nil || p.Client.ID != "cli" {
		t.Errorf("Client = %+v, want id cli", p.Client)
	}
	want := "at /limit: must be integer"
	if err := DecodeLenient([]byte(with("limit", "true", "x", "1")), &p); err == nil || err.Error() != want {
		t.Errorf("DecodeLenient = %v, want %s", err, want)
	}
}

func TestDecodeSyntax(t *testing.T) {
	for _, data := range []string{"not json", "{", `{"kind":"req","message":"","key":"k","over":nul}`, with() + "x", "{}{}", `{"a" 1}`, "\x00", `"\x"`} {
		var p params
		if err := Decode([]byte(data), &p); !errors.Is(err, ErrSyntax) {
			t.Errorf("Decode(%q) = %v, want ErrSyntax", data, err)
		}
	}
}

func TestDecodeTolerant(t *testing.T) {
	type loose struct {
		_     struct{} `schema:"any"`
		Probe bool     `json:"probe,omitempty"`
	}
	for data, want := range map[string]bool{
		"": false, "null": false, `"text"`: false, "[1]": false, `{"probe":true,"x":1}`: true, `{"probe":"yes"}`: false,
	} {
		var l loose
		if err := Decode([]byte(data), &l); err != nil || l.Probe != want {
			t.Errorf("Decode(%s) = %v, %v, want %v", data, l.Probe, err, want)
		}
	}
}

func TestErrorsAreBounded(t *testing.T) {
	var b strings.Builder
	b.WriteString(`{"` + strings.Repeat("ä", 1000) + `":1`)
	for i := range 5000 {
		b.WriteString(`,"k` + strings.Repeat("x", i%7) + string(rune('a'+i%26)) + strings.Repeat("y", i/26) + `":1`)
	}
	b.WriteString("}")
	var p params
	err := Decode([]byte(b.String()), &p)
	if err == nil || len(err.Error()) > 50_000 || !strings.HasSuffix(err.Error(), "more problems") {
		t.Errorf("Decode of 5000 unexpected keys: error of %d bytes, want it bounded", len(err.Error()))
	}
}

func TestDecodeWrongTarget(t *testing.T) {
	if err := Decode([]byte("{}"), params{}); err == nil {
		t.Error("Decode into a value = nil, want an error")
	}
	type bad struct {
		A string `json:"a" schema:"minlength=1"`
	}
	for range 2 { // the second time from the cache
		if err := Decode([]byte("{}"), &bad{}); err == nil || !strings.Contains(err.Error(), `unknown key "minlength"`) {
			t.Errorf("Decode with a bad tag = %v, want unknown key", err)
		}
	}
	if _, err := For[struct{ C chan int }](); err == nil {
		t.Error("For of a channel = nil error, want one")
	}
}
