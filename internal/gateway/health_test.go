package gateway

import (
	"encoding/json"
	"testing"
	"testing/synctest"
	"time"

	"openclaw/protocol"
)

// GW-086: every connect is followed by a health event soon, and a burst of them
// by few.
func TestHealthAfterConnect(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, "", func(c *Config) { c.Log = nil })
		const n = 200
		clients := make([]*wsClient, n)
		for i := range clients {
			clients[i] = h.connect(dialer{})
		}
		time.Sleep(2 * stateEvery)
		most, presence := 0, 0
		for i, c := range clients {
			health := 0
			for _, f := range c.drain() {
				switch f.Event {
				case protocol.EventHealth:
					health++
					if f.StateVersion == nil || f.StateVersion.Health < 2 {
						t.Errorf("health event has state version %+v", f.StateVersion)
					}
				case protocol.EventPresence:
					presence++
				}
			}
			if health == 0 {
				t.Errorf("client %d of %d got no health event", i, n)
			}
			most = max(most, health)
		}
		if most > 3 {
			t.Errorf("%d connects led to %d health events, want few", n, most)
		}
		if presence > 2*n {
			t.Errorf("%d connects led to %d presence events in all, want at most 2 for each client", n, presence)
		}
		h.close()
	})
}

// A cached snapshot is answered at once; probe asks for a new one; an old one is
// refreshed in the background, once however many ask.
func TestHealthCache(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, "", func(c *Config) { c.Log = nil })
		c := h.connect(dialer{}, client("cli", "cli"))
		time.Sleep(time.Second)
		at := func(params any) int64 {
			t.Helper()
			f := c.call(protocol.MethodHealth, params)
			var r protocol.HealthResult
			if json.Unmarshal(f.Payload, &r); !f.OK || !r.OK {
				t.Fatalf("health = %s %+v", f.Payload, f.Error)
			}
			return r.Ts
		}
		c.drain()
		first := at(nil)
		time.Sleep(time.Second)
		for _, params := range []any{nil, object{}, object{"probe": false}, "not-an-object", []int{1}} {
			if got := at(params); got != first {
				t.Errorf("health %v after a second = made at %d, want the cached one of %d", params, got, first)
			}
		}
		now := time.Now().UnixMilli()
		if got := at(object{"probe": true}); got != now {
			t.Errorf("health with probe = made at %d, want now, %d", got, now)
		}
		time.Sleep(healthFresh + time.Second)
		c.drain()
		for range 51 {
			c.request(protocol.MethodHealth, nil)
		}
		time.Sleep(stateEvery)
		events := 0
		for _, f := range c.drain() {
			if f.Event == protocol.EventHealth {
				events++
			}
		}
		if events != 1 {
			t.Errorf("51 requests on an old snapshot led to %d health events, want 1", events)
		}
		if got := at(nil); got <= now {
			t.Error("an old snapshot was not refreshed")
		}
		h.close()
	})
}
