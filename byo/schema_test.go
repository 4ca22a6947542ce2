package byo

import (
	"bytes"
	"encoding/json"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"openclaw/internal/schema"
	"openclaw/internal/testkit"
)

// public are the names of types that the Go side keeps to itself.
var public = map[string]string{"envelope": "Envelope", "sealed": "SealedPayload", "sealedOutput": "SealedOutput"}

// generator collects the types of the document.
type generator struct {
	types []reflect.Type
	seen  map[reflect.Type]bool
}

func (g *generator) ref(v any) any {
	if v == nil {
		return nil
	}
	t := reflect.TypeOf(v)
	if t == reflect.TypeFor[Envelope]() {
		t = reflect.TypeFor[envelope]()
	}
	if !g.seen[t] {
		g.seen[t] = true
		g.types = append(g.types, t)
	}
	return map[string]any{"$ref": "#/definitions/" + t.Name()}
}

// document generates schema.json.
func document(t *testing.T) []byte {
	t.Helper()
	g := generator{seen: map[reflect.Type]bool{}}
	var operations, events []any
	for _, o := range Operations() {
		operations = append(operations, map[string]any{"method": o.Method, "path": BasePath + o.Path, "auth": o.Auth,
			"body": g.ref(o.Body), "answer": g.ref(o.Answer), "status": o.Status})
	}
	for _, e := range StreamEvents() {
		var to []string
		if e.Assistant {
			to = append(to, "assistant")
		}
		if e.Desktop {
			to = append(to, "desktop")
		}
		events = append(events, map[string]any{"event_type": e.Type, "to": to, "data": g.ref(e.Data)})
	}
	for _, v := range others() {
		g.ref(v)
	}
	raw, err := schema.Document("StageWhisper BYO protocol", map[string]any{"operations": operations, "events": events}, g.types...)
	if err != nil {
		t.Fatal(err)
	}
	var doc map[string]any
	if err := json.Unmarshal(raw, &doc); err != nil {
		t.Fatal(err)
	}
	open(doc)
	definitions := doc["definitions"].(map[string]any)
	for private, name := range public {
		definitions[name] = definitions[private]
		delete(definitions, private)
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(doc); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// open allows unknown properties, which this wire ignores, and uses the public
// names of types.
func open(v any) {
	switch v := v.(type) {
	case map[string]any:
		if a, ok := v["additionalProperties"].(map[string]any); ok && a["not"] != nil {
			delete(v, "additionalProperties")
		}
		if v["additionalProperties"] == false {
			delete(v, "additionalProperties")
		}
		if ref, ok := v["$ref"].(string); ok {
			if name := public[strings.TrimPrefix(ref, "#/definitions/")]; name != "" {
				v["$ref"] = "#/definitions/" + name
			}
		}
		for _, inner := range v {
			open(inner)
		}
	case []any:
		for _, inner := range v {
			open(inner)
		}
	}
}

// TestSchemaJSON fails when schema.json is stale; `go generate ./byo` writes it.
func TestSchemaJSON(t *testing.T) {
	want := document(t)
	if testkit.Updating() {
		if err := os.WriteFile("schema.json", want, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if got := SchemaJSON(); !bytes.Equal(got, want) {
		t.Errorf("schema.json is stale (%d bytes, want %d); run go generate ./byo", len(got), len(want))
	}
}

// sample is a message as others write it.
type sample struct {
	Type string
	JSON json.RawMessage
}

// sampleTypes are the Go types of the samples by their names in schema.json.
func sampleTypes() map[string]reflect.Type {
	types := map[string]reflect.Type{}
	add := func(v any) {
		if v != nil {
			name := reflect.TypeOf(v).Name()
			if p := public[name]; p != "" {
				name = p
			}
			types[name] = reflect.TypeOf(v)
		}
	}
	for _, o := range Operations() {
		add(o.Body)
		add(o.Answer)
	}
	for _, e := range StreamEvents() {
		add(e.Data)
	}
	for _, v := range others() {
		add(v)
	}
	return types
}

// Every message of the wire's description fits the schema, decodes, and encodes
// to the same JSON: no field is lost, renamed or made up.
func TestSamples(t *testing.T) {
	data, err := os.ReadFile("testdata/samples.json")
	if err != nil {
		t.Fatal(err)
	}
	var samples []sample
	if err := json.Unmarshal(data, &samples); err != nil {
		t.Fatal(err)
	}
	types, covered := sampleTypes(), map[string]bool{}
	for i, s := range samples {
		typ, ok := types[s.Type]
		if !ok {
			t.Errorf("sample %d: no type %s", i, s.Type)
			continue
		}
		covered[s.Type] = true
		if err := schema.Validate(definition(t, s.Type), s.JSON); err != nil {
			t.Errorf("sample %d, %s: schema: %v", i, s.Type, err)
		}
		v := reflect.New(typ)
		if err := json.Unmarshal(s.JSON, v.Interface()); err != nil {
			t.Errorf("sample %d, %s: %v", i, s.Type, err)
			continue
		}
		again, err := json.Marshal(v.Interface())
		if err != nil {
			t.Errorf("sample %d, %s: %v", i, s.Type, err)
			continue
		}
		if diff := cmp.Diff(tree(t, s.JSON), tree(t, again)); diff != "" {
			t.Errorf("sample %d, %s changes (-want +got):\n%s", i, s.Type, diff)
		}
	}
	for name := range types {
		if !covered[name] {
			t.Errorf("no sample of %s", name)
		}
	}
}

func tree(t *testing.T, data []byte) (v any) {
	t.Helper()
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// definition is a schema document whose root is that definition, with what it
// refers to.
func definition(t *testing.T, name string) json.RawMessage {
	t.Helper()
	var doc struct{ Definitions map[string]any }
	if err := json.Unmarshal(SchemaJSON(), &doc); err != nil {
		t.Fatal(err)
	}
	used := map[string]any{}
	var use func(v any)
	use = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			ref, _ := v["$ref"].(string)
			if name := strings.TrimPrefix(ref, "#/definitions/"); ref != "" && used[name] == nil {
				used[name] = doc.Definitions[name]
				use(used[name])
			}
			for _, inner := range v {
				use(inner)
			}
		case []any:
			for _, inner := range v {
				use(inner)
			}
		}
	}
	root := map[string]any{"$ref": "#/definitions/" + name, "definitions": used}
	use(map[string]any{"$ref": root["$ref"]})
	raw, err := json.Marshal(root)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// Schemas of answers take the types they are for and refuse others.
func TestResponseSchemas(t *testing.T) {
	for _, tt := range []struct {
		purpose, answer string
		ok              bool
	}{
		{PurposeLiveAnalysis, `{"signals":[{"severity":"red","message":"m"}],"no_signal_reason":""}`, true},
		{PurposeLiveAnalysis, `{"signals":[]}`, false},
		{PurposeLiveAnalysis, `{"signals":[{"severity":"blue","message":"m"}],"no_signal_reason":""}`, false},
		{PurposeLiveAnalysis, `{"signals":[],"no_signal_reason":"","extra":1}`, false},
		{PurposeSessionSummary, `{"summary":"s","key_points":["k"],"action_items":[{"text":"t","owner":"o","due":"d"}],"follow_ups":[]}`, true},
		{PurposeSessionSummary, `{"summary":"s"}`, false},
		{PurposeCapabilityProbe, `{"raw_description":"d","skills":[]}`, true},
		{PurposeCapabilityProbe, `{}`, false},
		{"other", `{"anything":true}`, true},
	} {
		if err := schema.Validate(ResponseSchema(tt.purpose), json.RawMessage(tt.answer)); (err == nil) != tt.ok {
			t.Errorf("%s: %s against its schema: %v, want fits %v", tt.purpose, tt.answer, err, tt.ok)
		}
	}
	for purpose, v := range map[string]any{
		PurposeLiveAnalysis:    LiveAnalysis{Signals: []Signal{{Severity: SeverityGreen, Message: "m"}}},
		PurposeSessionSummary:  SessionSummary{KeyPoints: []string{}, ActionItems: []ActionItem{{Text: "t"}}, FollowUps: []string{}},
		PurposeCapabilityProbe: Profile{RawDescription: "d"},
	} {
		data, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(ResponseSchema(purpose), data); err != nil {
			t.Errorf("%s: %s does not fit its schema: %v", purpose, data, err)
		}
	}
}

// Every operation, event, code and status has its place in the page.
func TestEverythingIsDocumented(t *testing.T) {
	page, err := os.ReadFile("../docs/byo.md")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, o := range Operations() {
		names = append(names, o.Path)
	}
	for _, e := range StreamEvents() {
		names = append(names, e.Type)
	}
	for code := range statuses {
		names = append(names, code)
	}
	names = append(names, StatusMessage, StatusTyping, StatusErrored, StatusCompleted, StatusSilent, StatusToolCall, StatusStream, StatusNotice,
		ReasonChatMessage, ReasonTranscriptChunk, ReasonSystemPrelude, StaticV1, DuplexV2, ContentRekeyOffer, ContentRekeyAnswer, ContentRekeyDone,
		FailReplayConflict, FailNotVerified, FailBusy, FailCancelled, FailUnsupportedEnvelope, FailSchemaValidation, FailDeadlineBeforeStart)
	for _, name := range names {
		if name != "" && !bytes.Contains(page, []byte(name)) {
			t.Errorf("docs/byo.md does not mention %s", name)
		}
	}
}
