package conformance

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"maps"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	gocmp "github.com/google/go-cmp/cmp"
)

// echo is a gateway that does what a recording says.
type echo struct {
	t     *testing.T
	lines map[string][]Line
	next  chan string // connections in the order in which they are opened
	reals map[string]string
}

func newEcho(t *testing.T, lines []Line) *echo {
	e := &echo{t: t, lines: map[string][]Line{}, next: make(chan string, len(lines)), reals: map[string]string{"<gateway-token>": token}}
	for _, l := range lines {
		if l.Dir == dirOpen {
			e.next <- l.Conn
		}
		e.lines[l.Conn] = append(e.lines[l.Conn], l)
	}
	return e
}

func (e *echo) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	ws, err := websocket.Accept(w, r, nil)
	if err != nil {
		e.t.Error(err)
		return
	}
	defer ws.CloseNow()
	ws.SetReadLimit(-1)
	base := int64(0) // the recorded seq before the first
	for _, l := range e.lines[<-e.next] {
		if seq, err := number(l.Frame["seq"]); err == nil && l.Dir == dirRecv {
			if base == 0 {
				base = seq - 1
			}
			l.Frame["seq"] = json.Number(fmt.Sprint(seq - base))
		}
		switch l.Dir {
		case dirSend:
			_, _, err = ws.Read(r.Context())
		case dirRecv:
			err = ws.Write(r.Context(), websocket.MessageText, e.frame(l))
		case dirClose:
			err = ws.Close(websocket.StatusCode(l.Code), l.Reason)
		}
		if err != nil {
			return // the player has seen enough
		}
	}
	_, _, _ = ws.Read(r.Context()) // until the player goes
}

// prune leaves out what was there before the recording.
func prune(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k := range v {
			v[k] = prune(v[k])
		}
	case []any:
		for i := range v {
			v[i] = prune(v[i])
		}
		return slices.DeleteFunc(v, older)
	}
	return v
}

// frame writes a recorded frame with something in place of its placeholders.
func (e *echo) frame(l Line) []byte {
	data, err := json.Marshal(prune(l.Frame))
	if err != nil {
		e.t.Error(err)
	}
	text := strings.NewReplacer(`\u003c`, "<", `\u003e`, ">").Replace(string(data))
	return []byte(placeholder.ReplaceAllStringFunc(text, func(name string) string {
		if v, ok := e.reals[name]; ok {
			return v
		}
		sum := fnv.New64()
		sum.Write([]byte(name))
		hex := strings.Repeat(fmt.Sprintf("%016x", sum.Sum64()), 4)
		kind, _, _ := strings.Cut(strings.Trim(name, "<>"), "-")
		switch kind {
		case "uuid":
			return fmt.Sprintf("%s-%s-%s-%s-%s", hex[:8], hex[:4], hex[:4], hex[:4], hex[:12])
		case "hex8":
			return hex[:8]
		case "publicKey":
			return hex[:43]
		case "hex32", "deviceToken", "token":
			return hex[:32]
		case "ip":
			return "10.0.0.1"
		case "port":
			return "1"
		case "date":
			return "2026-01-01"
		}
		return hex
	}))
}

// What a wrong gateway does is noticed, each thing as what it is.
func TestWrongGatewayIsNoticed(t *testing.T) {
	t.Parallel()
	event := func(l Line, name string) bool { return l.Dir == dirRecv && str(l.Frame, "event") == name }
	phase := func(l Line, p string) bool { return str(l.Frame, "payload", "data", "phase") == p }
	response := func(l Line, id string) bool { return l.Dir == dirRecv && str(l.Frame, "id") == id }
	payload := func(l Line) map[string]any { return l.Frame["payload"].(map[string]any) }
	tests := []struct {
		name   string
		play   string
		change func(lines []Line) []Line
		want   []string // frame, path and kind of the differences
	}{
		{"nothing", "agent-run-tool", func(l []Line) []Line { return l }, nil},
		{"a value", "agent-run-tool", each(func(l *Line) {
			if response(*l, "r2") && str(l.Frame, "payload", "status") == "accepted" {
				payload(*l)["status"] = "excepted"
			}
		}), []string{"res agent r2 payload.status value"}},
		{"a missing key", "agent-run-tool", each(func(l *Line) {
			if event(*l, "agent") && phase(*l, "start") && l.Conn == "c1" && str(l.Frame, "payload", "runId") == "idem-agent-tool" {
				delete(payload(*l), "runId")
			}
		}), []string{
			"event agent idem-agent-tool lifecycle.start  missing",
			"event agent  lifecycle.start  extra",
		}},
		{"an extra key", "connect-bad-token", each(func(l *Line) {
			if response(*l, "r1") {
				l.Frame["more"] = true
			}
		}), []string{"res connect r1 more extra"}},
		{"null for nothing", "connect-bad-token", each(func(l *Line) {
			if response(*l, "r1") {
				l.Frame["payload"] = nil
			}
		}), []string{"res connect r1 payload extra"}},
		{"a boolean", "connect-bad-token", each(func(l *Line) {
			if response(*l, "r1") {
				l.Frame["ok"] = "false"
			}
		}), []string{"res connect r1 ok value"}},
		{"a close code", "connect-bad-token", each(func(l *Line) {
			if l.Dir == dirClose {
				l.Code = 1011
			}
		}), []string{"close  close"}},
		{"a close reason", "connect-bad-token", each(func(l *Line) {
			if l.Dir == dirClose {
				l.Reason += "."
			}
		}), []string{"close  close"}},
		{"a lost event", "chat-abort", drop(func(l Line) bool {
			return event(l, "chat") && str(l.Frame, "payload", "state") == "aborted" && str(l.Frame, "payload", "runId") == "idem-abort-1"
		}),
			[]string{"event chat idem-abort-1 aborted  missing", "sequence event * value"}},
		{"an event too many", "agent-run-tool", func(lines []Line) []Line {
			i := slices.IndexFunc(lines, func(l Line) bool { return event(l, "agent") && phase(l, "end") })
			return slices.Insert(slices.Clone(lines), i, lines[i])
		}, []string{"event agent idem-agent-tool lifecycle.end  extra", "sequence event * value"}},
		{"events swapped", "agent-run-tool", func(lines []Line) []Line {
			is := func(p string) int {
				return slices.IndexFunc(lines, func(l Line) bool { return l.Conn == "c1" && event(l, "agent") && phase(l, p) })
			}
			a, b := is("start"), is("end")
			lines[a], lines[b] = lines[b], lines[a]
			return lines
		}, []string{"event agent idem-agent-tool *  order", "sequence event * value"}},
		{"no delta", "agent-run-tool", drop(func(l Line) bool {
			return event(l, "chat") && str(l.Frame, "payload", "state") == "delta" && str(l.Frame, "payload", "runId") == "idem-agent-tool"
		}), []string{"event chat idem-agent-tool delta  missing", "sequence event * value"}},
		{"a delta that is none", "agent-wait", each(func(l *Line) {
			if event(*l, "chat") && str(l.Frame, "payload", "state") == "delta" {
				payload(*l)["message"].(map[string]any)["content"] = []any{map[string]any{"type": "text", "text": "ited"}}
			}
		}), []string{"sequence event chat idem-wait-1 final value"}},
		{"a chat after its end", "chat-abort", func(lines []Line) []Line {
			i := slices.IndexFunc(lines, func(l Line) bool { return event(l, "chat") && str(l.Frame, "payload", "state") == "aborted" })
			return slices.Insert(slices.Clone(lines), i, lines[i])
		}, []string{"event chat idem-abort-1 aborted  extra", "sequence event * value"}},
		{"no health event", "agent-run-tool", drop(func(l Line) bool { return event(l, "health") }), []string{"event health  missing"}},
		{"a method that is not known", "agent-wait", each(func(l *Line) {
			if response(*l, "r9") {
				l.Frame["error"].(map[string]any)["message"] = "unknown method: agent.wait"
			}
		}), []string{"res agent.wait r9  unknown"}},
		{"two ends of a run that was retried", "agent-anthropic", func(lines []Line) []Line {
			i := slices.IndexFunc(lines, func(l Line) bool {
				return event(l, "agent") && phase(l, "end") && strings.HasPrefix(str(l.Frame, "payload", "runId"), "idem-api-over")
			})
			return slices.Insert(slices.Clone(lines), i, lines[i])
		}, []string{"event agent idem-api-over-agent:main:anth lifecycle.end  extra", "sequence event * value"}},
		{"one id for two things", "agent-run-tool", each(func(l *Line) {
			if response(*l, "r1") {
				payload(*l)["server"].(map[string]any)["connId"] = "<uuid-1>"
			}
		}), []string{"res connect r1 payload.server.connId value"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join("testdata", tt.play+".jsonl")
			rec, err := Load(path)
			if err != nil {
				t.Fatal(err)
			}
			wrong, err := Load(path)
			if err != nil {
				t.Fatal(err)
			}
			server := httptest.NewServer(newEcho(t, tt.change(wrong.Lines)))
			defer server.Close()
			diffs, err := Play(t.Context(), rec, Target{URL: "ws" + strings.TrimPrefix(server.URL, "http"), Token: token, Home: "/nowhere", Patience: time.Second})
			if err != nil {
				t.Fatal(err)
			}
			left, _ := Judge(diffs, tolerated) // nothing of this is wanted
			got := map[string]bool{}
			for _, d := range left {
				s := fmt.Sprintf("%s %s %s", d.Frame, d.Path, d.Kind)
				i := slices.IndexFunc(tt.want, func(w string) bool { return matches(w, s) })
				if i >= 0 {
					s = tt.want[i]
				}
				got[s] = true
			}
			if diff := gocmp.Diff(slices.Sorted(slices.Values(tt.want)), slices.Sorted(maps.Keys(got))); diff != "" {
				t.Errorf("differences (-want +got):\n%s", diff)
				for _, d := range diffs {
					t.Log(d)
				}
			}
		})
	}
}

func each(change func(*Line)) func([]Line) []Line {
	return func(lines []Line) []Line {
		for i := range lines {
			change(&lines[i])
		}
		return lines
	}
}

func drop(which func(Line) bool) func([]Line) []Line {
	return func(lines []Line) []Line { return slices.DeleteFunc(lines, which) }
}

// Placeholders stand for one value each, and values for one placeholder.
func TestMatch(t *testing.T) {
	const u1, u2 = "00000000-0000-0000-0000-000000000001", "00000000-0000-0000-0000-000000000002"
	b := newBinding("/home/x", "secret-secret-secret")
	steps := []struct {
		want, got string
		ok        bool
	}{
		{"plain", "plain", true},
		{"plain", "Plain", false},
		{"~/a", "/home/x/a", true},
		{"run <uuid-1>.", "run " + u1 + ".", true},
		{"<uuid-1>", u2, false},
		{"<uuid-2>", "no uuid", false},
		{"<uuid-2>", u2, true},
		{"<uuid-1> and <uuid-2>", u1 + " and " + u2, true},
		{"<uuid-1> and <uuid-2>", u2 + " and " + u1, false},
		{"<gateway-token>", "secret-secret-secret", true},
		{"<gateway-token>", "other", false},
		{"<host> (<ip>)", "box (10.0.0.1)", true},
		{"<text of 5 characters>", "any text", true},
		{"<text of 5 characters>", "", false},
		{"f.bak.2026-01-01T21-02-32.297Z", "f.bak.2026-12-01T01-07-39.908Z", true},
		{"f.bak.2026-01-01T21-02-32.297Z", "f.bak.now", false},
		{"a.c", "abc", false},
	}
	for _, s := range steps {
		if got := b.match(s.want, s.got); got != s.ok {
			t.Errorf("match(%q, %q) = %v, want %v", s.want, s.got, got, s.ok)
		}
	}
}

// A tolerance covers what it names and nothing else.
func TestJudge(t *testing.T) {
	d := Diff{Scenario: "a-b", Conn: "c1", Frame: "res agent r2", Path: "payload.x.0.y", Kind: Value}
	tests := []struct {
		tol  Tolerance
		want bool
	}{
		{Tolerance{}, false}, // that is the frame as a whole
		{Tolerance{Path: "*"}, true},
		{Tolerance{Scenario: "a-b", Conn: "c1", Frame: "res agent *", Path: "payload.x.*.y", Kind: Value}, true},
		{Tolerance{Scenario: "a-*", Path: "*"}, true},
		{Tolerance{Scenario: "a", Path: "*"}, false},
		{Tolerance{Conn: "c2", Path: "*"}, false},
		{Tolerance{Frame: "res agent", Path: "*"}, false},
		{Tolerance{Path: "payload.x"}, false},
		{Tolerance{Path: "payload.*"}, true},
		{Tolerance{Path: "payload.y.*"}, false},
		{Tolerance{Path: "payload.x.0.y.*"}, false},
		{Tolerance{Kind: Extra, Path: "*"}, false},
	}
	for _, tt := range tests {
		left, used := Judge([]Diff{d}, []Tolerance{{Kind: "none"}, tt.tol})
		if covered := len(left) == 0; covered != tt.want || used[1] != tt.want || used[0] {
			t.Errorf("%+v covers %v = %v, used %v, want %v", tt.tol, d, covered, used, tt.want)
		}
	}
}

// Sequence numbers are checked apart from the recording.
func TestCheckSequence(t *testing.T) {
	tests := []struct {
		frames string
		want   int
	}{
		{`{"type":"event","event":"a","seq":1} {"type":"event","event":"b"} {"type":"res","id":"x"} {"type":"event","event":"c","seq":2}`, 0},
		{`{"type":"event","event":"a","seq":2}`, 1},
		{`{"type":"event","event":"a","seq":1} {"type":"event","event":"a","seq":1}`, 1},
		{`{"type":"event","event":"a","seq":1,"stateVersion":{"health":2}} {"type":"event","event":"a","seq":2,"stateVersion":{"health":1}}`, 1},
		{`{"type":"event","event":"agent","seq":1,"payload":{"runId":"r","seq":1}} {"type":"event","event":"agent","seq":2,"payload":{"runId":"r","seq":1}}`, 1},
		{`{"type":"event","event":"agent","seq":1,"payload":null}`, 1},
	}
	for _, tt := range tests {
		var frames []*Frame
		d := json.NewDecoder(strings.NewReader(tt.frames))
		d.UseNumber()
		for d.More() {
			f := &Frame{}
			if err := d.Decode(&f.body); err != nil {
				t.Fatal(err)
			}
			frames = append(frames, f)
		}
		if got := checkSequence(frames); len(got) != tt.want {
			t.Errorf("checkSequence(%s) = %v, want %d differences", tt.frames, got, tt.want)
		}
	}
}

// A gateway that is not there is an error, not a difference.
func TestNoGateway(t *testing.T) {
	rec, err := Load(filepath.Join("testdata", "connect-bad-token.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Play(ctx, rec, Target{URL: "ws://127.0.0.1:1", Token: token}); err == nil {
		t.Error("play against nothing succeeded")
	}
}
