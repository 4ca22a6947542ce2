package gateway

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"openclaw/internal/device"
	"openclaw/protocol"
)

// newDevice makes a device key.
func newDevice(t *testing.T) *device.Identity {
	t.Helper()
	id, err := device.New(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// signed turns connect params into those of a device. It must see the final
// params, so it runs over what [hello] built.
func (c *wsClient) signed(id *device.Identity, version string, p object) object {
	c.t.Helper()
	data, err := json.Marshal(p)
	if err != nil {
		c.t.Fatal(err)
	}
	var params protocol.ConnectParams
	if err := json.Unmarshal(data, &params); err != nil {
		c.t.Fatal(err)
	}
	params.Device = &protocol.ConnectDevice{ID: id.DeviceID(), PublicKey: id.PublicKey(), SignedAt: time.Now().UnixMilli(), Nonce: c.nonce}
	if version == protocol.SignatureV1 {
		params.Device.Nonce = ""
	}
	d := object{"id": id.DeviceID(), "publicKey": id.PublicKey(), "signedAt": params.Device.SignedAt,
		"signature": id.Sign(protocol.DeviceText(version, &params))}
	if params.Device.Nonce != "" {
		d["nonce"] = params.Device.Nonce
	}
	p["device"] = d
	return p
}

// with connects with a device and returns the answer.
func (h *house) with(id *device.Identity, d dialer, change ...func(object)) (*wsClient, protocol.Frame) {
	h.t.Helper()
	c := h.dial(d)
	c.challenge()
	return c, c.call(protocol.MethodConnect, c.signed(id, protocol.SignatureV2, hello(change...)))
}

func set(key string, value any) func(object) { return func(o object) { o[key] = value } }

func client(id, mode string) func(object) {
	return set("client", object{"id": id, "version": "1", "platform": "linux", "mode": mode})
}

func scopes(list ...string) func(object) { return set("scopes", append([]string{}, list...)) }

func token(s string) func(object) { return set("auth", object{"token": s}) }

// helloOf decodes hello-ok.
func helloOf(t *testing.T, f protocol.Frame) protocol.HelloOK {
	t.Helper()
	if !f.OK {
		t.Fatalf("connect = %+v, want hello-ok", f.Error)
	}
	var ok protocol.HelloOK
	if err := json.Unmarshal(f.Payload, &ok); err != nil {
		t.Fatal(err)
	}
	return ok
}

func detailsOf(t *testing.T, f protocol.Frame) (d protocol.ConnectErrorDetails) {
	t.Helper()
	if f.Error == nil {
		t.Fatalf("response = %+v, want an error", f)
	}
	if err := json.Unmarshal(f.Error.Details, &d); err != nil {
		t.Fatal(err)
	}
	return d
}

// remote is a client somewhere else.
var remote = dialer{from: "203.0.113.9:4000", host: "gw.example:18789"}

// GW-023, GW-042, GW-074: a device on this host is approved silently, gets a token
// that does as well as the secret for the role and the scopes it was made for, and
// hears it again on each connect.
func TestDeviceToken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, "")
		id := newDevice(t)
		_, f := h.with(id, dialer{}, scopes("operator.write", "operator.read"))
		first := helloOf(t, f).Auth
		if first == nil || first.DeviceToken == "" || first.Role != "operator" || !slices.Equal(first.Scopes, []string{"operator.read", "operator.write"}) ||
			first.IssuedAtMs != time.Now().UnixMilli() {
			t.Fatalf("auth = %+v, want a token for read and write", first)
		}
		time.Sleep(time.Minute)
		mine := token(string(first.DeviceToken))
		c, f := h.with(id, remote, mine, scopes("operator.read"))
		if again := helloOf(t, f).Auth; again == nil || again.DeviceToken != first.DeviceToken || again.IssuedAtMs != first.IssuedAtMs {
			t.Errorf("auth of the second connect = %+v, want the same token", again)
		}
		if f := c.call(protocol.MethodAgentsList, nil); !f.OK {
			t.Errorf("read with scope read = %+v", f.Error)
		}
		if f := c.call(protocol.MethodChatAbort, object{"sessionKey": "main"}); f.OK {
			t.Error("write with scope read only was allowed")
		}
		const mismatch = "unauthorized: gateway token mismatch (provide gateway auth token)"
		for name, change := range map[string][]func(object){
			"more scopes":   {mine, scopes("operator.read", "operator.admin")},
			"default scope": {mine, scopes()}, // GW-023: admin, which the token does not cover
			"other role":    {mine, set("role", "node"), scopes()},
			"wrong token":   {token("00112233445566778899aabbccddeeff")},
		} {
			if _, f := h.with(id, remote, change...); f.Error == nil || f.Error.Message != mismatch {
				t.Errorf("%s: connect = %+v, want %q", name, f.Error, mismatch)
			}
		}
		if _, f := h.with(newDevice(t), remote, mine, scopes("operator.read")); f.Error == nil || f.Error.Message != mismatch {
			t.Errorf("token of another device = %+v, want %q", f.Error, mismatch)
		}
		h.close()
	})
}

// GW-040: without any credential a device is told what is missing.
func TestDeviceWithoutCredentials(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, "")
		c, f := h.with(newDevice(t), dialer{}, set("auth", object{}))
		const want = "unauthorized: gateway token missing (provide gateway auth token)"
		if f.Error == nil || f.Error.Message != want || f.Error.Code != protocol.CodeInvalidRequest {
			t.Errorf("connect = %+v, want %q", f.Error, want)
		}
		if code, reason := c.closed(); code != protocol.ClosePolicy || reason != want {
			t.Errorf("closed with %d %q, want 1008 and the same text", code, reason)
		}
		h.close()
	})
}

// GW-032, GW-033, GW-036 on the wire; package device tests the checks themselves.
func TestDeviceProof(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, "")
		id := newDevice(t)
		c := h.dial(dialer{})
		c.challenge()
		captured := c.signed(id, protocol.SignatureV2, hello())
		if f := c.call(protocol.MethodConnect, captured); !f.OK {
			t.Fatalf("connect = %+v", f.Error)
		}
		c = h.dial(dialer{})
		c.challenge()
		f := c.call(protocol.MethodConnect, captured)
		if f.Error == nil || f.Error.Message != "device nonce mismatch" || detailsOf(t, f).Code != protocol.DetailNonceMismatch {
			t.Errorf("replayed connect = %+v, want device nonce mismatch", f.Error)
		}
		c = h.dial(dialer{})
		c.challenge()
		if f := c.call(protocol.MethodConnect, c.signed(id, protocol.SignatureV1, hello())); f.Error == nil || f.Error.Message != "device nonce required" {
			t.Errorf("connect without the nonce = %+v, want device nonce required", f.Error)
		}
		h.configure(`{gateway: {mode: "local", auth: {token: "secret"}, compat: {allowUnchallengedLocalDevices: true}}}`)
		c = h.dial(dialer{})
		c.challenge()
		if f := c.call(protocol.MethodConnect, c.signed(id, protocol.SignatureV1, hello())); !f.OK {
			t.Errorf("connect without the nonce, allowed by the operator = %+v", f.Error)
		}
		c = h.dial(remote)
		c.challenge()
		if f := c.call(protocol.MethodConnect, c.signed(id, protocol.SignatureV1, hello())); f.Error == nil {
			t.Error("remote connect without the nonce was accepted")
		}
		h.close()
	})
}

// GW-070, GW-071, GW-075: a remote device asks once, waits, and is let in when an
// operator has approved what it asked for.
func TestPairingOfARemoteDevice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, "")
		admin := h.connect(dialer{})
		reader := h.connect(dialer{}, scopes("operator.read"))
		id := newDevice(t)
		ask := func(want ...func(object)) (*wsClient, protocol.Frame) {
			return h.with(id, remote, append([]func(object){client("openclaw-ios", "ui"), scopes("operator.read")}, want...)...)
		}
		c, f := ask()
		d := detailsOf(t, f)
		if f.Error.Code != protocol.CodeNotPaired || f.Error.Message != "pairing required" || d.RequestID == "" || d.Reason != "not-paired" {
			t.Fatalf("connect = %+v with %+v, want pairing required", f.Error, d)
		}
		if code, reason := c.closed(); code != protocol.ClosePolicy || reason != "pairing required" {
			t.Errorf("closed with %d %q, want 1008 pairing required", code, reason)
		}
		var pending protocol.PendingDevice
		json.Unmarshal(admin.event(protocol.EventPairRequested).Payload, &pending)
		if pending.RequestID != d.RequestID || pending.RemoteIP != "203.0.113.9" || pending.Silent {
			t.Errorf("device.pair.requested = %+v, want request %s from 203.0.113.9", pending, d.RequestID)
		}
		if _, f := ask(); detailsOf(t, f).RequestID != d.RequestID {
			t.Error("the second connect made another request")
		}
		if f := reader.call(protocol.MethodDevicePairApprove, object{"requestId": d.RequestID}); f.Error == nil || f.Error.Message != "missing scope: operator.pairing" {
			t.Errorf("approve by a reader = %+v, want missing scope: operator.pairing", f.Error)
		}
		if f := admin.call(protocol.MethodDevicePairApprove, object{"requestId": d.RequestID}); !f.OK || strings.Contains(string(f.Payload), `"token"`) {
			t.Errorf("approve = %s %+v, want the device without its token", f.Payload, f.Error)
		}
		_, f = ask()
		if helloOf(t, f).Auth == nil {
			t.Error("no device token after the approval")
		}
		// Asking for more needs another approval, and says so.
		_, f = ask(scopes("operator.read", "operator.write"))
		if d := detailsOf(t, f); d.Reason != "scope-upgrade" || !slices.Equal(d.ApprovedScopes, []string{"operator.read"}) {
			t.Errorf("connect with more scopes = %+v, want scope-upgrade over operator.read", d)
		}
		if _, f := ask(set("role", "node"), scopes()); detailsOf(t, f).Reason != "role-upgrade" {
			t.Errorf("connect with another role = %+v, want role-upgrade", detailsOf(t, f))
		}
		// Only pairing operators and admins heard of any of this (GW-064).
		for _, f := range reader.drain() {
			if strings.HasPrefix(f.Event, "device.pair") {
				t.Errorf("a reader received %s", f.Event)
			}
		}
		events := 0
		for _, f := range admin.drain() {
			if f.Event == protocol.EventPairRequested {
				events++
			}
		}
		if events != 2 { // the upgrades; the first was read above
			t.Errorf("%d more device.pair.requested, want 2: repeats say nothing", events)
		}
		h.close()
	})
}

// drain returns every frame that comes until the gateway has nothing more to say.
func (c *wsClient) drain() (frames []protocol.Frame) {
	id := c.request("no.such", nil)
	for {
		f := c.mustNext()
		if f.ID == id {
			return frames
		}
		frames = append(frames, f)
	}
}

// GW-072: a rejected device stays out.
func TestPairingRejected(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, "")
		admin := h.connect(dialer{})
		id := newDevice(t)
		_, f := h.with(id, remote)
		reject := object{"requestId": detailsOf(t, f).RequestID}
		if f := admin.call(protocol.MethodDevicePairReject, reject); !f.OK {
			t.Fatalf("reject = %+v", f.Error)
		}
		if f := admin.call(protocol.MethodDevicePairReject, reject); f.Error == nil || f.Error.Message != "unknown requestId" {
			t.Errorf("reject again = %+v, want unknown requestId", f.Error)
		}
		if _, f := h.with(id, remote); f.Error == nil {
			t.Error("a rejected device was let in")
		}
		h.close()
	})
}

// GW-074: what silent approval takes.
func TestSilentApproval(t *testing.T) {
	origin := func(s string) http.Header { return http.Header{"Origin": {s}} }
	tests := []struct {
		name    string
		d       dialer
		change  []func(object)
		upgrade bool // the device is known, and asks for more
		config  string
		want    bool
	}{
		{name: "local", want: true},
		{name: "local page of the gateway", d: dialer{header: origin("http://127.0.0.1:18789")}, change: []func(object){client("openclaw-control-ui", "webchat")}, want: true},
		{name: "remote", d: remote},
		{name: "forwarded", d: dialer{header: http.Header{"X-Forwarded-For": {"203.0.113.9"}}}},
		{name: "rebound name", d: dialer{host: "evil.example"}},
		{name: "upgrade of a library", upgrade: true},
		{name: "upgrade of the command line", upgrade: true, change: []func(object){client("cli", "cli")}, want: true},
		{name: "upgrade, allowed to all", upgrade: true, config: `pairing: {localAutoApproveUpgrades: true}`, want: true},
		{name: "upgrade of the command line, forbidden", upgrade: true, change: []func(object){client("cli", "cli")}, config: `pairing: {localAutoApproveUpgrades: false}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHouse(t, fmt.Sprintf(`{gateway: {mode: "local", auth: {token: "secret"}, %s}}`, tt.config))
				id := newDevice(t)
				if tt.upgrade {
					if _, f := h.with(id, dialer{}, scopes("operator.read")); !f.OK {
						t.Fatalf("first connect = %+v", f.Error)
					}
				}
				if _, f := h.with(id, tt.d, tt.change...); f.OK != tt.want {
					t.Errorf("connect = %+v, want approved %v", f.Error, tt.want)
				}
				h.close()
			})
		})
	}
}

// A device token alone never gains scopes, not even on this host.
func TestDeviceTokenDoesNotUpgrade(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, `{gateway: {mode: "local", auth: {token: "secret"}, pairing: {localAutoApproveUpgrades: true}}}`)
		id := newDevice(t)
		_, f := h.with(id, dialer{}, scopes("operator.read"))
		mine := token(string(helloOf(t, f).Auth.DeviceToken))
		if _, f := h.with(id, dialer{}, mine, scopes("operator.admin")); f.OK {
			t.Error("a device token was enough for operator.admin")
		}
		h.close()
	})
}

// GW-076: rotation hands the token to an admin or the device only; a revoked
// role loses its connections and must be approved again.
func TestRotateAndRevoke(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, "")
		admin := h.connect(dialer{})
		pairer := h.connect(dialer{}, scopes("operator.pairing", "operator.read"))
		id, cli := newDevice(t), client("cli", "cli")
		live, f := h.with(id, dialer{}, cli, scopes("operator.read"))
		old := helloOf(t, f).Auth.DeviceToken
		rotate := object{"deviceId": id.DeviceID(), "role": "operator"}
		var r protocol.DeviceTokenRotateResult
		f = admin.call(protocol.MethodDeviceTokenRotate, rotate)
		if json.Unmarshal(f.Payload, &r); !f.OK || r.Token == "" || r.Token == old {
			t.Fatalf("rotate by an admin = %s %+v, want a new token", f.Payload, f.Error)
		}
		if f := pairer.call(protocol.MethodDeviceTokenRotate, rotate); !f.OK || strings.Contains(string(f.Payload), "token") {
			t.Errorf("rotate by somebody else = %s %+v, want no token in it", f.Payload, f.Error)
		}
		if f := pairer.call(protocol.MethodDeviceTokenRotate, object{"deviceId": id.DeviceID(), "role": "operator", "scopes": []string{"operator.admin"}}); f.OK {
			t.Error("rotate to scopes that the caller lacks was allowed")
		}
		if _, f := h.with(id, remote, cli, token(string(old)), scopes("operator.read")); f.OK {
			t.Error("the old token still works")
		}
		if f := admin.call(protocol.MethodDeviceTokenRevoke, rotate); !f.OK {
			t.Fatalf("revoke = %+v", f.Error)
		}
		if code, _ := live.closed(); code != protocol.CloseRevoked {
			t.Errorf("live connection closed with %d, want 4001", code)
		}
		if _, f := h.with(id, dialer{}, cli, scopes("operator.read")); f.Error == nil || f.Error.Code != protocol.CodeNotPaired {
			t.Errorf("connect of a revoked device = %+v, want NOT_PAIRED although it is local", f.Error)
		}
		if f := admin.call(protocol.MethodDeviceTokenRevoke, object{"deviceId": "nobody", "role": "operator"}); f.Error == nil || f.Error.Message != "unknown deviceId/role" {
			t.Errorf("revoke of nobody = %+v, want unknown deviceId/role", f.Error)
		}
		h.close()
	})
}

// Newer clients read the request id out of the close reason.
func TestPairingReasonOnProtocol4(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, "")
		c, f := h.with(newDevice(t), remote, set("minProtocol", 4), set("maxProtocol", 4), scopes("operator.read"))
		d := detailsOf(t, f)
		if want := "pairing required: device is not approved yet"; f.Error.Message != want {
			t.Errorf("message = %q, want %q", f.Error.Message, want)
		}
		_, reason := c.closed()
		if !strings.HasPrefix(reason, "pairing required: ") || !strings.HasSuffix(reason, "(requestId: "+d.RequestID+")") || len(reason) > protocol.MaxCloseReason {
			t.Errorf("close reason = %q, want the request id %s in at most 120 bytes", reason, d.RequestID)
		}
		h.close()
	})
}

// GW-045: a changed secret counts at once, and closes what the old one let in.
func TestChangedSecret(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, "")
		id := newDevice(t)
		_, f := h.with(id, dialer{}, scopes("operator.read"))
		mine := token(string(helloOf(t, f).Auth.DeviceToken))
		byDevice, _ := h.with(id, dialer{}, mine, scopes("operator.read"))
		c := h.connect(dialer{})
		conf := c.call(protocol.MethodConfigGet, nil)
		var got protocol.ConfigGetResult
		json.Unmarshal(conf.Payload, &got)
		c.request(protocol.MethodConfigSet, object{"raw": `{gateway: {mode: "local", auth: {token: "fresh"}}}`, "baseHash": got.Hash})
		if code, reason := c.closed(); code != protocol.CloseRevoked {
			t.Errorf("connection of the old secret closed with %d %q, want 4001", code, reason)
		}
		d := h.dial(dialer{})
		d.challenge()
		if f := d.call(protocol.MethodConnect, hello()); f.OK {
			t.Error("the old secret still works")
		}
		h.connect(dialer{}, token("fresh"))
		if f := byDevice.call(protocol.MethodAgentsList, nil); !f.OK {
			t.Errorf("request of a connection by device token = %+v, want it untouched", f.Error)
		}
		h.close()
	})
}
