package gateway

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"openclaw/internal/pairing"
	"openclaw/protocol"
)

// ask lets a remote device ask for pairing and returns the id of its request.
func (h *house) askForPairing(list ...string) string {
	h.t.Helper()
	_, f := h.with(newDevice(h.t.(*testing.T)), remote, client("openclaw-ios", "ui"), scopes(list...))
	return detailsOf(h.t.(*testing.T), f).RequestID
}

// GW-073: a request is gone after five minutes, from the list and for approval.
func TestGW073RequestsExpire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, "")
		id := h.askForPairing("operator.read")
		pending := func() int {
			c := h.connect(dialer{})
			var list protocol.DevicePairListResult
			if err := json.Unmarshal(c.call(protocol.MethodDevicePairList, nil).Payload, &list); err != nil {
				t.Fatal(err)
			}
			return len(list.Pending)
		}
		time.Sleep(299 * time.Second)
		if got := pending(); got != 1 {
			t.Errorf("%d requests after 299 s, want 1", got)
		}
		time.Sleep(2 * time.Second)
		if got := pending(); got != 0 {
			t.Errorf("%d requests after 301 s, want none", got)
		}
		c := h.connect(dialer{})
		for _, method := range []string{"device.pair.approve", "device.pair.reject"} {
			if got := c.ask(method, `{"requestId":"`+id+`"}`); got != "INVALID_REQUEST: unknown requestId" {
				t.Errorf("%s of an expired request = %s", method, got)
			}
		}
		h.close()
	})
}

// GW-077: what was paired over the wire is in the files, without anything that
// others could read, and is there again after a restart.
func TestGW077Restart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, "")
		c := h.connect(dialer{})
		if got := c.ask("device.pair.approve", `{"requestId":"`+h.askForPairing("operator.read", "operator.write")+`"}`); !strings.Contains(got, `"device":{`) {
			t.Fatalf("device.pair.approve = %s", got)
		}
		waiting := h.askForPairing("operator.read")
		before := c.call(protocol.MethodDevicePairList, nil).Payload
		for _, name := range []string{"pending.json", "paired.json"} {
			info, err := os.Stat(filepath.Join(h.dir, "devices", name))
			if err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("%s = %v, %v, want mode 0600", name, info, err)
			}
		}
		if text := string(before); strings.Contains(text, `"token":`) {
			t.Errorf("list shows a token: %s", text)
		}
		again, err := pairing.OpenDevices(pairing.Config{Dir: filepath.Join(h.dir, "devices"), Now: time.Now, Log: h.g.log})
		if err != nil {
			t.Fatal(err)
		}
		after, err := json.Marshal(again.List())
		if err != nil {
			t.Fatal(err)
		}
		if diff := gocmp.Diff(string(before), string(after)); diff != "" {
			t.Errorf("list after a restart (-before +after):\n%s", diff)
		}
		if !strings.Contains(string(after), waiting) {
			t.Error("the request that waited is gone")
		}
		h.close()
	})
}

// GW-078: of many approvals of one request, at once and from several connections,
// one counts.
func TestGW078ConcurrentApprovals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, "")
		id := h.askForPairing("operator.read")
		var clients []*wsClient
		for range 4 {
			clients = append(clients, h.connect(dialer{}))
		}
		sent := map[*wsClient][]string{}
		for range 5 {
			for _, c := range clients {
				sent[c] = append(sent[c], c.request(protocol.MethodDevicePairApprove, object{"requestId": id}))
			}
		}
		approved := 0
		for c, ids := range sent {
			left := len(ids)
			for left > 0 {
				f := c.mustNext()
				if f.Type != protocol.TypeResponse {
					continue
				}
				left--
				if f.OK {
					approved++
				} else if f.Error.Message != "unknown requestId" {
					t.Errorf("approve = %+v, want unknown requestId", f.Error)
				}
			}
		}
		if approved != 1 {
			t.Errorf("%d of 20 approvals counted, want 1", approved)
		}
		h.close()
	})
}

// Protocol 4: who may pair but is no admin touches only the operator token of its
// own device, and a rotated token is shown to that device alone.
func TestTokensOnProtocol4(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, "")
		own, other := newDevice(t), newDevice(t)
		list := scopes("operator.pairing", "operator.read")
		c, f := h.with(own, dialer{}, newer, list, client("cli", "cli"))
		old := helloOf(t, f).Auth.DeviceToken
		helloOf(t, mustAnswer(h.with(other, dialer{}, newer, list, client("cli", "cli"))))
		admin := h.connect(dialer{}, newer)
		params := func(id, role string) string { return `{"deviceId":"` + id + `","role":"` + role + `"}` }
		for _, method := range []string{"device.token.rotate", "device.token.revoke"} {
			for _, p := range []string{params(other.DeviceID(), "operator"), params(own.DeviceID(), "node"), params("", "operator")} {
				want := "FORBIDDEN: missing scope: operator.admin"
				if strings.Contains(p, `"deviceId":""`) {
					want = "INVALID_REQUEST: invalid " + method + " params: at /deviceId: must NOT have fewer than 1 characters"
				}
				if got := c.ask(method, p); got != want {
					t.Errorf("%s %s = %s, want %s", method, p, got, want)
				}
			}
		}
		var r protocol.DeviceTokenRotateResult
		f = c.call(protocol.MethodDeviceTokenRotate, object{"deviceId": own.DeviceID(), "role": "operator"})
		if err := json.Unmarshal(f.Payload, &r); err != nil || r.Token == "" || r.Token == old {
			t.Errorf("rotate by the device itself = %s %+v, want a new token", f.Payload, f.Error)
		}
		if f := admin.call(protocol.MethodDeviceTokenRotate, object{"deviceId": own.DeviceID(), "role": "operator"}); !f.OK || strings.Contains(string(f.Payload), `"token"`) {
			t.Errorf("rotate by an admin = %s %+v, want no token in it", f.Payload, f.Error)
		}
		if f := c.call(protocol.MethodDeviceTokenRevoke, object{"deviceId": own.DeviceID(), "role": "operator"}); !f.OK {
			t.Errorf("revoke by the device itself = %+v", f.Error)
		}
		if code, _ := c.closed(); code != protocol.CloseRevoked {
			t.Errorf("closed with %d, want 4001", code)
		}
		h.close()
	})
}

func mustAnswer(_ *wsClient, f protocol.Frame) protocol.Frame { return f }
