package protocol_test

import (
	"bytes"
	"encoding/json"
	"os"
	"reflect"
	"testing"

	"openclaw/internal/schema"
	"openclaw/internal/testkit"
	"openclaw/protocol"
)

// document generates schema.json.
func document(t *testing.T) []byte {
	t.Helper()
	g := generator{t: t, seen: map[reflect.Type]bool{}}
	for _, frame := range []any{protocol.Request{}, protocol.Response{}, protocol.Event{},
		protocol.LifecycleData{}, protocol.AssistantData{}, protocol.ToolData{}, protocol.CompactionData{}, protocol.StreamErrorData{},
		protocol.Attachment{}, protocol.ConnectErrorDetails{}, protocol.ScopeErrorDetails{}, protocol.ConfigIssuesDetails{}, protocol.NodeErrorDetails{}} {
		g.ref(frame)
	}
	methods, events := map[string]any{}, map[string]any{}
	for _, m := range protocol.Methods() {
		var results []any
		for _, r := range m.Results {
			results = append(results, g.ref(r))
		}
		if methods[m.Name] != nil {
			t.Errorf("method %s is listed twice", m.Name)
		}
		methods[m.Name] = map[string]any{"params": g.ref(m.Params), "results": results}
	}
	for _, e := range protocol.Events() {
		if events[e.Name] != nil {
			t.Errorf("event %s is listed twice", e.Name)
		}
		events[e.Name] = g.ref(e.Payload)
	}
	extra := map[string]any{"methods": methods, "events": events,
		"protocolVersions": []int{protocol.Version3, protocol.Version4}}
	doc, err := schema.Document("OpenClaw gateway protocol", extra, g.types...)
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

type generator struct {
	t     *testing.T
	types []reflect.Type
	seen  map[reflect.Type]bool
}

// ref returns a schema for a type that is a struct, a list of structs or any JSON.
func (g *generator) ref(v any) any {
	g.t.Helper()
	t := reflect.TypeOf(v)
	switch {
	case t == reflect.TypeFor[json.RawMessage]():
		return map[string]any{}
	case t.Kind() == reflect.Slice:
		return map[string]any{"type": "array", "items": g.ref(reflect.Zero(t.Elem()).Interface())}
	case t.Kind() != reflect.Struct || t.Name() == "":
		g.t.Fatalf("%v is not a named struct", t)
	}
	if !g.seen[t] {
		g.seen[t] = true
		g.types = append(g.types, t)
	}
	return map[string]any{"$ref": "#/definitions/" + t.Name()}
}

// TestSchemaJSON fails when schema.json is stale; `go generate ./protocol` writes it.
func TestSchemaJSON(t *testing.T) {
	want := document(t)
	if testkit.Updating() {
		if err := os.WriteFile("schema.json", want, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if got := protocol.SchemaJSON(); !bytes.Equal(got, want) {
		t.Errorf("schema.json is stale (%d bytes, want %d); run go generate ./protocol", len(got), len(want))
	}
}

// The document is valid and usable by others.
func TestSchemaJSONParses(t *testing.T) {
	var doc struct {
		Schema      string                     `json:"$schema"`
		Definitions map[string]json.RawMessage `json:"definitions"`
	}
	if err := json.Unmarshal(protocol.SchemaJSON(), &doc); err != nil {
		t.Fatal(err)
	}
	if doc.Schema != schema.Draft || len(doc.Definitions) < 100 {
		t.Errorf("document of %q with %d definitions, want draft-07 with more than 100", doc.Schema, len(doc.Definitions))
	}
	refs := make([]map[string]string, 0, len(doc.Definitions))
	for name := range doc.Definitions {
		refs = append(refs, map[string]string{"$ref": "#/definitions/" + name})
	}
	all, err := json.Marshal(map[string]any{"anyOf": refs, "definitions": doc.Definitions})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := schema.Parse(all); err != nil {
		t.Error(err)
	}
}
