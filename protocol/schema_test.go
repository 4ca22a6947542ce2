package protocol_test

import (
	"bytes"
	"encoding/json"
	"os"
	"reflect"
	"strings"
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

// What chapters 9 and 10 of the protocol name, in the order of its matrix.
const (
	namedMethods = `
		health status logs.tail channels.status channels.logout usage.status usage.cost tts.status
		tts.providers tts.enable tts.disable tts.convert tts.setProvider config.get config.set
		config.apply config.patch config.schema exec.approvals.get exec.approvals.set
		exec.approvals.node.get exec.approvals.node.set exec.approval.request exec.approval.resolve
		wizard.start wizard.next wizard.cancel wizard.status talk.mode models.list agents.list
		agents.files.list agents.files.get agents.files.set agent agent.identity.get agent.wait
		skills.status skills.bins skills.install skills.update update.run voicewake.get voicewake.set
		sessions.list sessions.preview sessions.resolve sessions.patch sessions.reset sessions.delete
		sessions.compact last-heartbeat set-heartbeats wake cron.list cron.status cron.runs cron.add
		cron.update cron.remove cron.run node.pair.request node.pair.list node.pair.approve
		node.pair.reject node.pair.verify device.pair.list device.pair.approve device.pair.reject
		device.token.rotate device.token.revoke node.rename node.list node.describe node.invoke
		node.invoke.result node.event system-presence system-event send poll browser.request
		chat.history chat.send chat.abort chat.inject web.login.start web.login.wait`
	namedEvents = `
		connect.challenge agent chat presence tick talk.mode shutdown health heartbeat cron
		node.pair.requested node.pair.resolved node.invoke.request device.pair.requested
		device.pair.resolved voicewake.changed exec.approval.requested exec.approval.resolved`
)

// GW-024: every method and event of the protocol has types and a schema.
func TestEveryNameHasSchema(t *testing.T) {
	var doc struct {
		Methods map[string]struct {
			Params  json.RawMessage
			Results []json.RawMessage
		}
		Events      map[string]json.RawMessage
		Definitions map[string]json.RawMessage
	}
	if err := json.Unmarshal(protocol.SchemaJSON(), &doc); err != nil {
		t.Fatal(err)
	}
	defined := func(ref json.RawMessage) bool {
		var r struct {
			Ref   string `json:"$ref"`
			Items struct {
				Ref string `json:"$ref"`
			}
		}
		err := json.Unmarshal(ref, &r)
		_, name, _ := strings.Cut(r.Ref+r.Items.Ref, "#/definitions/")
		return err == nil && doc.Definitions[name] != nil
	}
	relayed := map[string]bool{"exec.approvals.node.get": true, "exec.approvals.node.set": true, "browser.request": true}
	for _, name := range strings.Fields(namedMethods) {
		m, ok := doc.Methods[name]
		if !ok || !defined(m.Params) {
			t.Errorf("params of %s = %s, want a definition", name, m.Params)
		}
		if len(m.Results) == 0 || !defined(m.Results[0]) && !relayed[name] { // somebody else's answer is any JSON
			t.Errorf("results of %s = %s, want definitions", name, m.Results)
		}
	}
	for _, name := range strings.Fields(namedEvents) {
		if !defined(doc.Events[name]) {
			t.Errorf("payload of event %s = %s, want a definition", name, doc.Events[name])
		}
	}
}
