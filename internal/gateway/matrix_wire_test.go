package gateway

import (
	"strings"
	"testing"
	"testing/synctest"

	"openclaw/protocol"
)

// GW-060, GW-061, GW-062 over the wire: every method of the matrix and of the table,
// called with each scope alone and with none, on both protocols. Who may not gets
// the exact refusal; who may gets past it, to what is wrong with the params or to
// the method not being there.
func TestGW060Matrix(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, "")
		rows := matrix(t)
		letters := map[scope]string{scopeRead: "R", scopeWrite: "W", scopeAdmin: "A", scopeApprovals: "Ap", scopePairing: "P", scopeNode: "N"}
		for name, m := range h.g.methods {
			if _, ok := rows[name]; !ok {
				rows[name] = letters[m.scope]
				if m.only4 {
					rows[name] += "4"
				}
			}
		}
		rows["no.such.method"] = "A"
		held := map[string]string{"": "", "R": protocol.ScopeRead, "W": protocol.ScopeWrite, "A": protocol.ScopeAdmin, "Ap": protocol.ScopeApprovals, "P": protocol.ScopePairing}
		for _, version := range []int{3, 4} {
			for letter, name := range held {
				if name == "" {
					name = "operator.unknown" // on protocol 3 nothing at all means admin
				}
				c := h.connect(dialer{}, scopes(name), set("minProtocol", version), set("maxProtocol", version))
				for method, need := range rows {
					checkRow(t, c, version, letter, method, need, held)
				}
			}
		}
		h.close()
	})
}

// judged4Rows are the rows that protocol 4 judges otherwise.
var judged4Rows = map[string]string{
	"config.get": "R", "config.schema": "R", "agents.files.list": "R", "agents.files.get": "R", "sessions.resolve": "R", "poll": "W",
}

// checkRow calls a method as somebody who holds one scope.
func checkRow(t *testing.T, c *wsClient, version int, letter, method, need string, held map[string]string) {
	t.Helper()
	base, only4 := strings.CutSuffix(need, "4")
	need = base
	switch other, ok := judged4Rows[method]; {
	case version == 4 && ok:
		need = other
	case version == 3 && only4:
		need = "A" // it does not exist
	}
	got := c.ask(method, `"x"`)
	code := protocol.CodeInvalidRequest
	if version == 4 {
		code = protocol.CodeForbidden
	}
	allowed := letter == "A" || letter == need || need == "R" && letter == "W"
	switch {
	case need == "N":
		if want := "INVALID_REQUEST: unauthorized role: operator"; got != want {
			t.Errorf("%s with scope %q on protocol %d = %s, want %s", method, held[letter], version, got, want)
		}
	case !allowed:
		if want := code + ": missing scope: " + held[need]; got != want {
			t.Errorf("%s with scope %q on protocol %d = %s, want %s", method, held[letter], version, got, want)
		}
	case strings.Contains(got, "missing scope"), strings.Contains(got, "unauthorized"):
		t.Errorf("%s with scope %q on protocol %d = %s, want it to get past the scopes", method, held[letter], version, got)
	}
}

// GW-110, GW-111 over the wire: sessions.patch creates, sets, clears with null,
// refuses wrong values, and answers the canonical key.
func TestGW110SessionsPatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, "")
		c := h.connect(dialer{})
		answer := func(entry string) string {
			return `{"ok":true,"path":"~/agents/main/sessions/sessions.json","key":"agent:main:demo","entry":{"sessionId":"<uuid>","updatedAt":T` + entry + `},"resolved":{"modelProvider":"mock","model":"mock-1"}}`
		}
		h.asks(c, [][3]string{
			{"sessions.patch", `{"key":" Demo "}`, answer("")},
			{"sessions.patch", `{"key":"demo","label":"L","thinkingLevel":"low","verboseLevel":"on","reasoningLevel":"stream","responseUsage":"on","sendPolicy":"deny","groupActivation":"always","execHost":"node","execSecurity":"full","execAsk":"always","execNode":"n1","elevatedLevel":"ask"}`,
				answer(`,"thinkingLevel":"low","verboseLevel":"on","reasoningLevel":"stream","elevatedLevel":"ask","execHost":"node","execSecurity":"full","execAsk":"always","execNode":"n1","responseUsage":"tokens","groupActivation":"always","sendPolicy":"deny","label":"L"`)},
			{"sessions.patch", `{"key":"demo","label":null,"thinkingLevel":null,"verboseLevel":null,"reasoningLevel":null,"responseUsage":null,"sendPolicy":null,"groupActivation":null,"execHost":null,"execSecurity":null,"execAsk":null,"execNode":null,"elevatedLevel":null,"model":null}`,
				answer("")},
			{"sessions.patch", `{"key":"demo","thinkingLevel":"off","reasoningLevel":"off","responseUsage":"off"}`, answer("")},
			{"sessions.patch", `{"key":"demo","thinkingLevel":"enormous"}`, `INVALID_REQUEST: invalid thinkingLevel (use off|minimal|low|medium|high)`},
			{"sessions.patch", `{"key":"demo","verboseLevel":"x"}`, `INVALID_REQUEST: invalid verboseLevel (use on|off|full)`},
			{"sessions.patch", `{"key":"demo","reasoningLevel":"x"}`, `INVALID_REQUEST: invalid reasoningLevel (use on|off|stream)`},
			{"sessions.patch", `{"key":"demo","elevatedLevel":"x"}`, `INVALID_REQUEST: invalid elevatedLevel (use on|off|ask|full)`},
			{"sessions.patch", `{"key":"demo","execHost":"x"}`, `INVALID_REQUEST: invalid execHost (use sandbox|gateway|node)`},
			{"sessions.patch", `{"key":"demo","execSecurity":"x"}`, `INVALID_REQUEST: invalid execSecurity (use deny|allowlist|full)`},
			{"sessions.patch", `{"key":"demo","execAsk":"x"}`, `INVALID_REQUEST: invalid execAsk (use off|on-miss|always)`},
			{"sessions.patch", `{"key":"demo","spawnedBy":"agent:main:main"}`, `INVALID_REQUEST: spawnedBy is only supported for subagent:* sessions`},
			{"sessions.patch", `{"key":"demo","label":"Taken","thinkingLevel":"x"}`, `INVALID_REQUEST: invalid thinkingLevel (use off|minimal|low|medium|high)`},
			{"sessions.patch", `{"key":"demo","label":"Taken"}`, answer(`,"label":"Taken"`)},
			{"sessions.patch", `{"key":"other","label":"Taken"}`, `INVALID_REQUEST: label already in use: Taken`},
			{"sessions.patch", `{"key":"demo","label":"` + strings.Repeat("x", 65) + `"}`, `INVALID_REQUEST: invalid sessions.patch params: at /label: must NOT have more than 64 characters; at /label: must be null; at /label: must match a schema in anyOf`},
			{"sessions.patch", `{"key":"agent:nobody:x"}`, `INVALID_REQUEST: unknown agent id "nobody"`},
		})
		h.close()
	})
}
