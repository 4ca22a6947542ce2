package gateway

import (
	"encoding/json"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"openclaw/internal/config"
	"openclaw/protocol"
)

// GW-043, GW-045: what a change of the secret, or of the mode, closes at once and
// what it leaves; the old secret fails for the very next connection.
func TestReloadCloses(t *testing.T) {
	token := func(s string) func(object) { return func(o object) { o["auth"] = object{"token": s} } }
	password := func(s string) func(object) { return func(o object) { o["auth"] = object{"password": s} } }
	for _, tt := range []struct {
		name, before, after string
		auth                func(object)
		closed              bool
	}{
		{"token changed", `{mode: "token", token: "secret"}`, `{mode: "token", token: "other"}`, token("secret"), true},
		{"token removed", `{mode: "token", token: "secret"}`, `{mode: "token"}`, token("secret"), true},
		{"password added", `{mode: "token", token: "secret"}`, `{mode: "token", token: "secret", password: "word"}`, token("secret"), false},
		{"mode changed", `{mode: "token", token: "secret"}`, `{mode: "password", token: "secret", password: "word"}`, token("secret"), true},
		{"password changed", `{mode: "password", password: "word"}`, `{mode: "password", password: "other"}`, password("word"), true},
		{"token in password mode", `{mode: "password", password: "word", token: "a"}`, `{mode: "password", password: "word", token: "b"}`, password("word"), false},
		{"something else", `{mode: "token", token: "secret"}`, `{mode: "token", token: "secret", allowTailscale: false}`, token("secret"), false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHouse(t, `{gateway: {mode: "local", auth: `+tt.before+`}}`)
				c := h.connect(dialer{}, tt.auth)
				h.configure(`{gateway: {mode: "local", auth: ` + tt.after + `}}`)
				h.g.Reload()
				synctest.Wait()
				if !tt.closed {
					if f := c.call(protocol.MethodHealth, nil); !f.OK {
						t.Errorf("health after the change = %+v, want ok", f.Error)
					}
					return
				}
				if code, reason := c.closed(); code != protocol.CloseRevoked || reason != "gateway credentials changed" {
					t.Errorf("closed with %d %q, want 4001 gateway credentials changed", code, reason)
				}
				again := h.dial(dialer{})
				again.challenge()
				if f := again.call(protocol.MethodConnect, hello(tt.auth)); f.OK {
					t.Error("connect with what counted before = ok, want it refused")
				}
			})
		})
	}
}

// turning is a house whose configuration changes right after somebody has read it.
type turning struct {
	*house
	after atomic.Pointer[func()]
}

func (t *turning) Snapshot() *config.Snapshot {
	s := t.house.Snapshot()
	if change := t.after.Swap(nil); change != nil {
		(*change)()
	}
	return s
}

// GW-045: a change in the middle of a handshake does not let the old secret slip in.
func TestReloadDuringHandshake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var settings *turning
		h := newHouse(t, "", func(c *Config) {
			settings = &turning{house: c.Settings.(*house)}
			c.Settings = settings
		})
		c := h.dial(dialer{})
		c.challenge()
		synctest.Wait()
		change := func() {
			h.configure(`{gateway: {mode: "local", auth: {token: "other"}}}`)
			h.g.Reload() // nobody is in yet
		}
		settings.after.Store(&change)
		c.request(protocol.MethodConnect, hello())
		if code, _ := c.closed(); code != protocol.CloseRevoked {
			t.Errorf("closed with %d, want 4001", code)
		}
	})
}

// GW-045: who changes the secret hears that it is done, and only then has to come in
// again like everybody else.
func TestChangerHearsTheAnswer(t *testing.T) {
	for _, method := range []string{protocol.MethodConfigSet, protocol.MethodConfigPatch, protocol.MethodConfigApply} {
		t.Run(method, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHouse(t, "")
				c := h.connect(dialer{}, client("cli", "cli"))
				other := h.connect(dialer{}, client("cli", "cli"))
				var snap protocol.ConfigGetResult
				if f := c.call(protocol.MethodConfigGet, nil); json.Unmarshal(f.Payload, &snap) != nil {
					t.Fatalf("config.get = %+v", f)
				}
				f := c.call(method, object{"raw": `{gateway: {mode: "local", auth: {token: "another-secret-0123"}}}`, "baseHash": snap.Hash})
				if !f.OK {
					t.Errorf("the answer to the change is %+v", f.Error)
				}
				for _, conn := range []*wsClient{c, other} {
					if code, _ := conn.closed(); code != protocol.CloseRevoked {
						t.Errorf("closed with %d, want 4001", code)
					}
				}
			})
		})
	}
}
