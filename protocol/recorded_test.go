package protocol_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"reflect"
	"testing"

	"openclaw/internal/schema"
	"openclaw/protocol"
)

// recording is one request with its answer, or one event, as the reference
// gateway had it on the wire. Long texts and lists are cut, and the null that it
// sends for restartExpectedMs of a plain stop is left out, as we do.
type recording struct {
	Method  string          `json:"method"`
	Event   string          `json:"event"`
	Params  json.RawMessage `json:"params"`
	Payload json.RawMessage `json:"payload"`
	Error   string          `json:"error"` // what was wrong with the params
}

func recordings(t testing.TB) []recording {
	t.Helper()
	data, err := os.ReadFile("testdata/recorded.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	var all []recording
	lines := bufio.NewScanner(bytes.NewReader(data))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var r recording
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			t.Fatalf("testdata/recorded.jsonl: %v in %s", err, lines.Bytes())
		}
		all = append(all, r)
	}
	if len(all) < 100 {
		t.Fatalf("testdata/recorded.jsonl has %d lines, want more than 100", len(all))
	}
	return all
}

// fits decodes data strictly into a new value of v's type.
func fits(data json.RawMessage, v any) error {
	if len(data) == 0 {
		data = []byte("{}") // as the dispatcher does
	}
	return schema.Decode(data, reflect.New(reflect.TypeOf(v)).Interface())
}

// GW-012, GW-020: what the reference accepts and refuses, with its words.
func TestRecordedParams(t *testing.T) {
	methods := map[string]protocol.Method{}
	for _, m := range protocol.Methods() {
		methods[m.Name] = m
	}
	for _, r := range recordings(t) {
		if r.Method == "" || r.Method == protocol.MethodConnect && r.Error != "" {
			continue
		}
		m, ok := methods[r.Method]
		if !ok {
			t.Errorf("method %s is not listed", r.Method)
			continue
		}
		params := r.Params
		if r.Method == "cron.add" && r.Error != "" {
			params = cronDefaults(t, params)
		}
		got := ""
		if err := fits(params, m.Params); err != nil {
			got = err.Error()
		}
		if got != r.Error {
			t.Errorf("%s params %s: %q, want %q", r.Method, r.Params, got, r.Error)
		}
	}
}

// cronDefaults adds what normalisation adds before the params are checked.
func cronDefaults(t *testing.T, params json.RawMessage) json.RawMessage {
	t.Helper()
	all := map[string]any{}
	if err := json.Unmarshal(params, &all); err != nil {
		t.Fatal(err)
	}
	if all["wakeMode"] == nil {
		all["wakeMode"] = "next-heartbeat"
	}
	out, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// Every payload that the reference sends has a place in our types.
func TestRecordedPayloads(t *testing.T) {
	results := map[string][]any{}
	for _, m := range protocol.Methods() {
		results[m.Name] = m.Results
	}
	events := map[string]any{}
	for _, e := range protocol.Events() {
		events[e.Name] = e.Payload
	}
	for _, r := range recordings(t) {
		switch {
		case r.Event != "":
			if err := fits(r.Payload, events[r.Event]); err != nil {
				t.Errorf("event %s %s: %v", r.Event, r.Payload, err)
			}
		case r.Error == "":
			var errs []error
			for _, v := range results[r.Method] {
				err := fits(r.Payload, v)
				if err == nil {
					errs = nil
					break
				}
				errs = append(errs, err)
			}
			if errs != nil {
				t.Errorf("result of %s %s: %v", r.Method, r.Payload, errs)
			}
		}
	}
}
