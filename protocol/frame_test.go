package protocol_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"openclaw/internal/schema"
	"openclaw/protocol"
)

// GW-003, GW-007: the envelope on protocol 3.
func TestRequestFrame(t *testing.T) {
	tests := []struct{ name, frame, want string }{
		{"plain", `{"type":"req","id":"1","method":"health"}`, ""},
		{"params of any type", `{"type":"req","id":"1","method":"health","params":"x"}`, ""},
		{"no method", `{"id":"x1","type":"req"}`, "must have required property 'method'"},
		{"extra key", `{"extra":1,"id":"x2","method":"health","type":"req"}`, "at root: unexpected property 'extra'"},
		{"event", `{"event":"x","type":"event"}`, "must have required property 'id'; must have required property 'method'; " +
			"at root: unexpected property 'event'; at /type: must be equal to constant"},
		{"something else", `{"a":1}`, "must have required property 'type'; must have required property 'id'; " +
			"must have required property 'method'; at root: unexpected property 'a'"},
		{"array", `[]`, "must be object"},
		{"empty id", `{"type":"req","id":"","method":"connect","params":{}}`, "at /id: must NOT have fewer than 1 characters"},
		{"number as id", `{"type":"req","id":1,"method":"connect"}`, "at /id: must be string"},
	}
	for _, tt := range tests {
		var req protocol.Request
		got := ""
		if err := schema.Decode([]byte(tt.frame), &req); err != nil {
			got = err.Error()
		}
		if got != tt.want {
			t.Errorf("%s: Decode = %q, want %q", tt.name, got, tt.want)
		}
	}
	newer := `{"type":"req","id":"1","method":"m","traceparent":"00-1","expectedProfileId":"p"}`
	var req protocol.Request
	if err := schema.DecodeLenient([]byte(newer), &req); err != nil || req.ID != "1" {
		t.Errorf("DecodeLenient of a protocol 4 request = %+v, %v, want it accepted", req, err)
	}
}

// GW-003: absent fields are left out, JSON null is a payload.
func TestFramesOmit(t *testing.T) {
	for _, tt := range []struct {
		frame any
		want  string
	}{
		{protocol.Response{Type: protocol.TypeResponse, ID: "1", OK: true}, `{"type":"res","id":"1","ok":true}`},
		{protocol.Response{Type: protocol.TypeResponse, ID: "1", OK: true, Payload: json.RawMessage("null")}, `{"type":"res","id":"1","ok":true,"payload":null}`},
		{protocol.Response{Type: protocol.TypeResponse, ID: "1", Error: &protocol.Error{Code: "C", Message: "m"}},
			`{"type":"res","id":"1","ok":false,"error":{"code":"C","message":"m"}}`},
		{protocol.Event{Type: protocol.TypeEvent, Event: "tick"}, `{"type":"event","event":"tick"}`},
		{protocol.Event{Type: protocol.TypeEvent, Event: "health", Seq: 3, StateVersion: &protocol.StateVersion{Health: 2}},
			`{"type":"event","event":"health","seq":3,"stateVersion":{"presence":0,"health":2}}`},
		{protocol.ShutdownEvent{Reason: protocol.ShutdownStopping}, `{"reason":"gateway stopping"}`},
		{protocol.PresenceEntry{Ts: 1}, `{"ts":1}`},
	} {
		got, err := json.Marshal(tt.frame)
		if err != nil || string(got) != tt.want {
			t.Errorf("Marshal(%T) = %s, %v, want %s", tt.frame, got, err, tt.want)
		}
	}
}

const goodConnect = `{"minProtocol":3,"maxProtocol":4,"client":{"id":"cli","version":"1","platform":"linux","mode":"cli"}}`

// GW-020, GW-027
func TestConnectParams(t *testing.T) {
	tests := []struct{ name, params, want string }{
		{"smallest", goodConnect, ""},
		{"missing", "", "must be object"},
		{"recorded", `{"client":{"id":"nobody","mode":"y","platform":"x","version":"1"},"extra":true,"maxProtocol":3,"minProtocol":"3"}`,
			"at /minProtocol: must be integer; at /client/id: must be equal to constant; at /client/id: must match a schema in anyOf; " +
				"at /client/mode: must be equal to constant; at /client/mode: must match a schema in anyOf"},
		{"no version", `{"minProtocol":3,"maxProtocol":3,"client":{"id":"cli","platform":"linux","mode":"cli"}}`,
			"at /client: must have required property 'version'"},
		{"empty id", `{"minProtocol":3,"maxProtocol":3,"client":{"id":"","version":"1","platform":"linux","mode":"cli"}}`,
			"at /client/id: must be equal to constant; at /client/id: must match a schema in anyOf"},
		{"additive keys at every level", `{"minProtocol":3,"maxProtocol":4,"computerUse":{},"client":{"id":"cli","version":"1","platform":"linux","mode":"cli","new":1},` +
			`"auth":{"token":"t","later":"x"},"device":{"id":"d","publicKey":"k","signature":"s","signedAt":1,"more":[]}}`, ""},
		{"bad device", strings.Replace(goodConnect, `{`, `{"device":{"id":"","signedAt":-1.5},`, 1),
			"at /device: must have required property 'publicKey'; at /device: must have required property 'signature'; " +
				"at /device/id: must NOT have fewer than 1 characters; at /device/signedAt: must be integer; at /device/signedAt: must be >= 0"},
		{"empty scope", strings.Replace(goodConnect, `{`, `{"scopes":["operator.read",""],`, 1), "at /scopes/1: must NOT have fewer than 1 characters"},
		{"bad permission", strings.Replace(goodConnect, `{`, `{"permissions":{"camera":"yes"},`, 1), "at /permissions/camera: must be boolean"},
		{"protocol zero", strings.Replace(goodConnect, `:3`, `:0`, 1), "at /minProtocol: must be >= 1"},
	}
	for _, tt := range tests {
		var p protocol.ConnectParams
		got := ""
		if err := schema.Decode([]byte(tt.params), &p); err != nil {
			got = err.Error()
		}
		if got != tt.want {
			t.Errorf("%s: Decode = %q, want %q", tt.name, got, tt.want)
		}
	}
}

// docs/protocol.md#methods: absent, null and a value are three things.
func TestNullable(t *testing.T) {
	var p protocol.SessionsPatchParams
	if err := schema.Decode([]byte(`{"key":"k","label":null,"model":"a/b"}`), &p); err != nil {
		t.Fatal(err)
	}
	want := protocol.SessionsPatchParams{Key: "k", Label: protocol.Null[string](), Model: protocol.Value("a/b")}
	if diff := cmp.Diff(want, p); diff != "" {
		t.Errorf("Decode (-want +got):\n%s", diff)
	}
	text, err := json.Marshal(p)
	if err != nil || string(text) != `{"key":"k","label":null,"model":"a/b"}` {
		t.Errorf("Marshal = %s, %v, want what came in", text, err)
	}
	for params, want := range map[string]string{
		`{"key":"k","label":""}`:           "at /label: must NOT have fewer than 1 characters; at /label: must be null; at /label: must match a schema in anyOf",
		`{"key":"k","model":5}`:            "at /model: must be string; at /model: must be null; at /model: must match a schema in anyOf",
		`{"key":"k","sendPolicy":"maybe"}`: "at /sendPolicy: must be equal to constant; at /sendPolicy: must be null; at /sendPolicy: must match a schema in anyOf",
	} {
		if err := schema.Decode([]byte(params), new(protocol.SessionsPatchParams)); err == nil || err.Error() != want {
			t.Errorf("Decode(%s) = %v, want %s", params, err, want)
		}
	}
}

// GW-021
func TestNegotiate(t *testing.T) {
	for _, tt := range []struct {
		lo, hi, version int
		ok              bool
	}{{3, 3, 3, true}, {4, 4, 4, true}, {3, 4, 4, true}, {1, 9, 4, true}, {1, 3, 3, true}, {1, 2, 3, false}, {5, 9, 4, false}, {4, 3, 3, false}} {
		if v, ok := protocol.Negotiate(tt.lo, tt.hi); v != tt.version || ok != tt.ok {
			t.Errorf("Negotiate(%d, %d) = %d, %v, want %d, %v", tt.lo, tt.hi, v, ok, tt.version, tt.ok)
		}
	}
}

// GW-026
func TestCutReason(t *testing.T) {
	long := strings.Repeat("ä", 100)
	for in, want := range map[string]int{"": 0, "short": 5, long: 120, "x" + long: 119, strings.Repeat("a", 121): 120} {
		got := protocol.CutReason(in)
		if len(got) != want || !utf8.ValidString(got) || !strings.HasPrefix(in, got) {
			t.Errorf("CutReason(%d bytes) = %d bytes %q, want the first %d", len(in), len(got), got, want)
		}
	}
	recorded := "invalid connect params: at root: unexpected property 'extra'; at /minProtocol: must be integer; at /client/id: must be equal to constant"
	if got := protocol.CutReason(recorded); got != recorded[:120] {
		t.Errorf("CutReason = %q, want the first 120 bytes as recorded", got)
	}
}

func TestError(t *testing.T) {
	var err error = &protocol.Error{Code: protocol.CodeNotPaired, Message: "pairing required", Details: json.RawMessage(`{"code":"PAIRING_REQUIRED"}`)}
	var e *protocol.Error
	if !errors.As(err, &e) || err.Error() != "pairing required" || e.DetailCode() != protocol.DetailPairingRequired {
		t.Errorf("error = %v with code %q, want the message and the code of the details", err, e.DetailCode())
	}
	for _, details := range []string{"", "null", "5", "{}"} {
		e := &protocol.Error{Details: json.RawMessage(details)}
		if got := e.DetailCode(); got != "" {
			t.Errorf("DetailCode of %q = %q, want none", details, got)
		}
	}
}

func TestSecretNeverPrints(t *testing.T) {
	auth := protocol.ConnectAuth{Token: "hush"}
	for _, format := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		for _, v := range []any{auth, &auth, auth.Token} {
			if got := fmt.Sprintf(format, v); strings.Contains(got, "hush") || strings.Contains(got, "68757368") {
				t.Errorf("Sprintf(%s, %T) = %s, want the secret hidden", format, v, got)
			}
		}
	}
	var b strings.Builder
	slog.New(slog.NewTextHandler(&b, nil)).Info("x", "token", auth.Token)
	if strings.Contains(b.String(), "hush") || !strings.Contains(b.String(), "[secret]") {
		t.Errorf("log line = %s, want the secret hidden", b.String())
	}
	if text, err := json.Marshal(auth); err != nil || string(text) != `{"token":"hush"}` {
		t.Errorf("Marshal = %s, %v, want the secret on the wire", text, err)
	}
}

// The advertised events, in their order. See docs/protocol.md#events.
func TestEventOrder(t *testing.T) {
	var got []string
	for _, e := range protocol.Events() {
		got = append(got, e.Name)
	}
	want := []string{"connect.challenge", "agent", "chat", "presence", "tick", "talk.mode", "shutdown", "health", "heartbeat", "cron",
		"node.pair.requested", "node.pair.resolved", "node.invoke.request", "device.pair.requested", "device.pair.resolved",
		"voicewake.changed", "exec.approval.requested", "exec.approval.resolved", "chat.user", "sessions.changed", "session.message"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Events (-want +got):\n%s", diff)
	}
}

func FuzzRequestFrame(f *testing.F) {
	f.Add([]byte(`{"type":"req","id":"1","method":"health","params":{}}`))
	f.Add([]byte(`{"type":"req","ID":"1","method":"health","id":"2","id":"3"}`))
	f.Add([]byte(`[]`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var strict, lenient protocol.Request
		if schema.Decode(data, &strict) != nil {
			return
		}
		if strict.Type != protocol.TypeRequest || strict.ID == "" || strict.Method == "" {
			t.Errorf("Decode(%q) = %+v, want all fields set", data, strict)
		}
		if err := schema.DecodeLenient(data, &lenient); err != nil || lenient.ID != strict.ID {
			t.Errorf("DecodeLenient(%q) = %+v, %v, want what Decode accepts", data, lenient, err)
		}
	})
}

func FuzzConnectParams(f *testing.F) {
	f.Add([]byte(goodConnect))
	for _, r := range recordings(f) {
		if r.Method == protocol.MethodConnect {
			f.Add([]byte(r.Params))
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var p protocol.ConnectParams
		if schema.Decode(data, &p) != nil {
			return
		}
		if p.MinProtocol < 1 || p.MaxProtocol < 1 || p.Client.ID == "" || p.Client.Version == "" || p.Client.Mode == "" {
			t.Errorf("Decode(%q) = %+v, want every required field", data, p)
		}
		protocol.DeviceText(protocol.SignatureV3, &p) // never panics, with a device or without
	})
}
