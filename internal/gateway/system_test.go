package gateway

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"openclaw/protocol"
)

// waiting returns the system events that wait for the main session.
func (h *house) waiting() []string {
	texts, _ := h.router.Notices("main")
	return append([]string{}, texts...)
}

// GW-125: what system-event understands, queues and tells.
func TestGW125SystemEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, "")
		c := h.connect(dialer{})
		synctest.Wait()
		time.Sleep(time.Second) // what the connect caused is over
		say := func(params string, queued ...string) {
			t.Helper()
			if got := c.ask("system-event", params); got != `{"ok":true}` {
				t.Errorf("system-event %s = %s, want ok", params, got)
			}
			if diff := gocmp.Diff(append([]string{}, queued...), h.waiting()); diff != "" {
				t.Errorf("queued after %s (-want +got):\n%s", params, diff)
			}
		}
		for _, params := range []string{`{}`, `{"text":"  "}`, `{"text":5}`, `"text"`} {
			if got := c.ask("system-event", params); got != "INVALID_REQUEST: text required" {
				t.Errorf("system-event %s = %s", params, got)
			}
		}
		beacon := func(rest string) string { return `{"text":"Node: kitchen (10.0.0.5) · ` + rest + `"}` }
		first := "Node: kitchen (10.0.0.5) · app 1.0 · mode app · reason launch"
		say(beacon("app 1.0 · last input 5s ago · mode app · reason launch"), first)
		// The same once more, another last input, periodic reasons: no news.
		say(beacon("app 1.0 · last input 99s ago · mode app · reason launch"), first)
		say(beacon("app 1.0 · last input 1s ago · mode app · reason periodic"), first)
		say(beacon("app 1.0 · last input 1s ago · mode app · reason heartbeat"), first)
		// Only what changed is told; the one before was about the same device.
		second := "app 1.1"
		say(beacon("app 1.1 · last input 1s ago · mode app · reason heartbeat"), first, second)
		// Other text is told as it is, and params of the wrong type are left out.
		say(`{"text":" a note from a test ","roles":"x","lastInputSeconds":"y"}`, first, second, "a note from a test")
		// Then the device has to be named again.
		third := "Node: kitchen (10.0.0.5) · mode background"
		say(beacon("app 1.1 · last input 1s ago · mode background · reason heartbeat"), first, second, "a note from a test", third)
		// Named by its id it is another entry.
		say(`{"text":"Node: kitchen · mode app","deviceId":" DEV ","ip":"10.0.0.9","version":"2","reason":"moved","lastInputSeconds":7.9,"roles":["node"," "],"tags":["t"],"platform":"linux"}`,
			first, second, "a note from a test", third, "Node: kitchen (10.0.0.9) · app 2 · mode app · reason moved")

		time.Sleep(time.Second)
		var told protocol.PresenceEvent
		for {
			f := c.event(protocol.EventPresence)
			if err := json.Unmarshal(f.Payload, &told); err != nil {
				t.Fatal(err)
			}
			if told.Presence[1].DeviceID == "DEV" {
				break
			}
		}
		want := []protocol.PresenceEntry{
			{Host: "kitchen", IP: "10.0.0.9", Version: "2", Platform: "linux", Mode: "app", Reason: "moved", LastInputSeconds: new(int64(7)),
				DeviceID: "DEV", Roles: []string{"node"}, Tags: []string{"t"}, Text: "Node: kitchen · mode app"},
			{Host: "kitchen", IP: "10.0.0.5", Version: "1.1", Mode: "background", Reason: "heartbeat", LastInputSeconds: new(int64(1)),
				Text: "Node: kitchen (10.0.0.5) · app 1.1 · last input 1s ago · mode background · reason heartbeat"},
			{Text: "a note from a test"},
		}
		got := told.Presence[1:4]
		for i := range got {
			got[i].Ts = 0
		}
		if diff := gocmp.Diff(want, got); diff != "" {
			t.Errorf("presence (-want +got):\n%s", diff)
		}
		h.close()
	})
}

func TestParseBeacon(t *testing.T) {
	for text, want := range map[string]protocol.PresenceEntry{
		"hello": {},
		"Node:": {},
		"Node: a b (fe80::1) · app 1 · last input 0s ago · mode m · reason r s": {Host: "a b", IP: "fe80::1", Version: "1", LastInputSeconds: new(int64(0)), Mode: "m", Reason: "r s"},
		"Node: host": {Host: "host"},
		"Node: host · last input soon · last input 12345678901s ago": {Host: "host"},
		" Node: host (· mode x": {Host: "host", Mode: "x"},
	} {
		if diff := gocmp.Diff(want, parseBeacon(text)); diff != "" {
			t.Errorf("parseBeacon(%q) (-want +got):\n%s", text, diff)
		}
	}
}

func FuzzParseBeacon(f *testing.F) {
	for _, s := range []string{"Node: a (b) · app 1 · last input 2s ago · mode c · reason d", "Node:", "Node: ·(·)", "x", "Node: \xff (\xff"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		e := parseBeacon(text)
		for _, s := range []string{e.Host, e.IP, e.Version, e.Mode, e.Reason} {
			if s != strings.TrimSpace(s) || len(s) > len(text) {
				t.Errorf("parseBeacon(%q) = %+v", text, e)
			}
		}
		if n := e.LastInputSeconds; n != nil && *n < 0 {
			t.Errorf("parseBeacon(%q) has %d seconds", text, *n)
		}
	})
}

// RT-127: wake and system-event reach the next prompt of the main session, and
// status shows what waits.
func TestWake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, "")
		c := h.connect(dialer{})
		h.asks(c, [][3]string{
			{"wake", `{"mode":"next-heartbeat","text":"wake text"}`, `{"ok":true}`},
			{"wake", `{"mode":"now","text":"right now"}`, `{"ok":true}`},
			{"wake", `{"mode":"now","text":" "}`, `{"ok":false}`},
			{"wake", `{"mode":"later"}`, `INVALID_REQUEST: invalid wake params: must have required property 'text'; at /mode: must be equal to constant; at /mode: must match a schema in anyOf`},
		})
		if got := c.ask("status", `{}`); !strings.Contains(got, `"queuedSystemEvents":["wake text","right now"]`) {
			t.Errorf("status = %s, want it to show what waits", got)
		}
		if f := c.call(protocol.MethodChatSend, object{"sessionKey": "main", "message": "hello", "idempotencyKey": "k1"}); !f.OK {
			t.Fatal(f.Error)
		}
		prompt := make(chan string, 1)
		h.runner.do("k1", func(r *scriptedRun) { prompt <- r.req.Prompt })
		h.runner.finish("k1", "hi")
		if got, want := <-prompt, "System: [2000-01-01 00:00:00 UTC] wake text\nSystem: [2000-01-01 00:00:00 UTC] right now\n\n["; !strings.HasPrefix(got, want) {
			t.Errorf("prompt = %q, want it to begin with %q", got, want)
		}
		h.asks(c, [][3]string{
			{"last-heartbeat", `{}`, `null`},
			{"set-heartbeats", `{"enabled":false}`, `{"ok":true,"enabled":false}`},
			{"set-heartbeats", `{}`, `INVALID_REQUEST: invalid set-heartbeats params: must have required property 'enabled'`},
		})
		if got := c.ask("health", `{"probe":true}`); !strings.Contains(got, `"heartbeat":{"enabled":false`) {
			t.Errorf("health = %s, want heartbeats off", got)
		}
		h.asks(c, [][3]string{{"set-heartbeats", `{"enabled":true}`, `{"ok":true,"enabled":true}`}})
		h.close()
	})
}
