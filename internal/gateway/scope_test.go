package gateway

import (
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"openclaw/internal/run"
	"openclaw/protocol"
)

// matrix reads testdata/matrix.txt: the method matrix of the protocol.
func matrix(t *testing.T) map[string]string {
	t.Helper()
	data, err := os.ReadFile("testdata/matrix.txt")
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]string{}
	for line := range strings.Lines(string(data)) {
		if f := strings.Fields(line); len(f) == 2 {
			rows[f[0]] = f[1]
		}
	}
	if len(rows) < 80 {
		t.Fatalf("matrix has %d rows, want all of the protocol", len(rows))
	}
	return rows
}

// GW-060, GW-061, GW-062: each row, for every kind of caller.
func TestMatrix(t *testing.T) {
	g := &Gateway{methods: methodTable()}
	needs := map[string]string{
		"R": protocol.ScopeRead, "W": protocol.ScopeWrite, "A": protocol.ScopeAdmin,
		"Ap": protocol.ScopeApprovals, "P": protocol.ScopePairing,
	}
	all := []string{protocol.ScopeRead, protocol.ScopeWrite, protocol.ScopeAdmin, protocol.ScopeApprovals, protocol.ScopePairing}
	for name, letter := range matrix(t) {
		s := g.scopeOf(name, protocol.Version3)
		for _, held := range append(all, "operator.unknown", "") {
			want := ""
			switch need := needs[letter]; {
			case letter == "N":
				want = "unauthorized role: operator"
			case held == protocol.ScopeAdmin, held == need, need == protocol.ScopeRead && held == protocol.ScopeWrite:
			default:
				want = "missing scope: " + need
			}
			got := ""
			if e := authorize(newGrants(protocol.RoleOperator, []string{held}), s, protocol.Version3); e != nil {
				got = e.Message
				if e.Code != protocol.CodeInvalidRequest || e.Details != nil {
					t.Errorf("%s with %q: error %+v, want INVALID_REQUEST without details", name, held, e)
				}
			}
			if got != want {
				t.Errorf("%s with scope %q = %q, want %q", name, held, got, want)
			}
		}
		want := "unauthorized role: node"
		if letter == "N" {
			want = ""
		}
		got := ""
		if e := authorize(newGrants(protocol.RoleNode, all), s, protocol.Version3); e != nil {
			got = e.Message
		}
		if got != want {
			t.Errorf("%s as a node = %q, want %q", name, got, want)
		}
	}
	for _, name := range []string{"no.such", "connect", ""} {
		if s := g.scopeOf(name, protocol.Version3); s != scopeAdmin {
			t.Errorf("scope of %q = %v, want admin", name, s)
		}
	}
}

// Nothing is both answered and reserved, and only what is answered is advertised
// (GW-024), to whom it is answered (GW-065).
func TestFeatures(t *testing.T) {
	table := methodTable()
	for name := range reserved {
		if _, ok := table[name]; ok {
			t.Errorf("method %s is answered, so it is not reserved any more", name)
		}
	}
	older := len(table)
	for _, m := range table {
		if m.only4 {
			older--
		}
	}
	all := features(table)
	if f := all[dialect4]; len(f.Methods) != len(table) || !slices.IsSorted(f.Methods) {
		t.Errorf("advertised methods of protocol 4 = %v, want all %d of the table", f.Methods, len(table))
	}
	for _, dialect := range []int{dialectPlain, dialectOwn} {
		if f := all[dialect]; len(f.Methods) != older || slices.Contains(f.Methods, protocol.MethodSessionsDescribe) {
			t.Errorf("advertised methods of protocol 3 = %v, want the %d that are not of protocol 4", f.Methods, older)
		}
	}
	if got := all[dialectOwn].Events; got[len(got)-1] != protocol.EventChatUser {
		t.Errorf("events with our own cap = %v, want chat.user at the end", got)
	}
	f := all[dialectPlain]
	want := strings.Fields("connect.challenge agent chat presence tick talk.mode shutdown health heartbeat cron " +
		"node.pair.requested node.pair.resolved node.invoke.request device.pair.requested device.pair.resolved " +
		"voicewake.changed exec.approval.requested exec.approval.resolved")
	if !slices.Equal(f.Events, want) {
		t.Errorf("advertised events = %v, want %v", f.Events, want)
	}
}

// Protocol 4 judges some methods otherwise.
func TestScopesOfProtocol4(t *testing.T) {
	g := &Gateway{methods: methodTable()}
	reader := newGrants(protocol.RoleOperator, []string{protocol.ScopeRead})
	if e := authorize(reader, g.scopeOf(protocol.MethodConfigGet, protocol.Version4), protocol.Version4); e != nil {
		t.Errorf("config.get by a reader on protocol 4 = %v, want it allowed", e)
	}
	e := authorize(reader, g.scopeOf(protocol.MethodConfigSet, protocol.Version4), protocol.Version4)
	if e == nil || e.Code != protocol.CodeForbidden || e.DetailCode() != protocol.DetailMissingScope {
		t.Errorf("config.set by a reader on protocol 4 = %+v, want FORBIDDEN", e)
	}
}

// GW-064: who receives which event.
func TestEventGuards(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, "")
		node := h.dial(dialer{})
		node.challenge()
		id := newDevice(t)
		p := node.signed(id, protocol.SignatureV2, hello(client("node-host", "node"), set("role", "node"), scopes()))
		if f := node.call(protocol.MethodConnect, p); !f.OK {
			t.Fatalf("connect of a node = %+v", f.Error)
		}
		clients := map[string]*wsClient{
			"node":      node,
			"none":      h.connect(dialer{}, client("test", "test")),
			"read":      h.connect(dialer{}, scopes(protocol.ScopeRead)),
			"write":     h.connect(dialer{}, scopes(protocol.ScopeWrite)),
			"approvals": h.connect(dialer{}, scopes(protocol.ScopeApprovals)),
			"pairing":   h.connect(dialer{}, scopes(protocol.ScopePairing)),
			"admin":     h.connect(dialer{}),
		}
		for _, rule := range eventRules {
			h.g.broadcast(rule.name, object{})
		}
		h.g.broadcast("made.up", object{})
		h.g.Publish(run.Event{RunID: "r", Seq: 1, SessionKey: "main", Stream: run.StreamLifecycle, Lifecycle: &run.Lifecycle{Phase: run.PhaseEnd}})
		open := "health presence shutdown tick voicewake.changed"
		read := open + " agent chat cron heartbeat talk.mode"
		pairing := open + " device.pair.requested device.pair.resolved node.pair.requested node.pair.resolved"
		approvals := open + " exec.approval.requested exec.approval.resolved"
		everything := read + strings.TrimPrefix(pairing, open) + strings.TrimPrefix(approvals, open) + " connect.challenge node.invoke.request"
		for name, want := range map[string]string{
			"node": open, "none": open, "read": read, "write": read, "approvals": approvals, "pairing": pairing, "admin": everything,
		} {
			got := map[string]bool{}
			for _, f := range clients[name].drain() {
				if f.Type == protocol.TypeEvent {
					got[f.Event] = true
				}
			}
			wanted := strings.Fields(want)
			for _, e := range wanted {
				if !got[e] {
					t.Errorf("%s does not receive %s", name, e)
				}
				delete(got, e)
			}
			for e := range got {
				t.Errorf("%s receives %s", name, e)
			}
		}
		h.close()
	})
}
