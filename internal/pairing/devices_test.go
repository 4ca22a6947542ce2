package pairing

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"openclaw/internal/testkit"
	"openclaw/protocol"
)

func TestMain(m *testing.M) { testkit.Main(m) }

const start = 1767225600000

// clock is a settable time.
type clock struct{ ms int64 }

func (c *clock) now() time.Time          { return time.UnixMilli(c.ms) }
func (c *clock) advance(d time.Duration) { c.ms += d.Milliseconds() }

func open(t *testing.T, dir string, c *clock) *Devices {
	t.Helper()
	d, err := OpenDevices(Config{Dir: dir, Now: c.now, Log: testkit.Log(t)})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func fresh(t *testing.T) (*Devices, *clock) {
	t.Helper()
	c := &clock{ms: start}
	return open(t, filepath.Join(t.TempDir(), "devices"), c), c
}

func phone(scopes ...string) Request {
	return Request{DeviceID: "phone", PublicKey: "key", DisplayName: "Phone", Platform: "ios", ClientID: "openclaw-ios",
		ClientMode: "ui", Role: protocol.RoleOperator, Scopes: scopes}
}

func node(commands ...string) Request {
	return Request{DeviceID: "node", PublicKey: "key", Role: protocol.RoleNode, Commands: commands}
}

var admin = Caller{Scopes: []string{protocol.ScopeAdmin}}

func local(Reason) bool { return true }

func admit(t *testing.T, d *Devices, r Request, silent func(Reason) bool) Admission {
	t.Helper()
	a, err := d.Admit(t.Context(), r, silent)
	if err != nil {
		t.Fatalf("Admit(%s) = %v", r.DeviceID, err)
	}
	return a
}

// pair admits r silently.
func pair(t *testing.T, d *Devices, r Request) Token {
	t.Helper()
	if a := admit(t, d, r, local); a.Pending != nil {
		t.Fatalf("Admit(%s) left it pending (%s)", r.DeviceID, a.Reason)
	}
	token, err := d.EnsureToken(t.Context(), r.DeviceID, r.Role, r.Scopes)
	if err != nil {
		t.Fatalf("EnsureToken(%s) = %v", r.DeviceID, err)
	}
	return token
}

// GW-070: the same request waits once, another one replaces it under a new id.
func TestAdmitPending(t *testing.T) {
	d, _ := fresh(t)
	first := admit(t, d, phone("operator.read"), nil)
	if first.Pending == nil || !first.Created || first.Reason != NotPaired || first.Pending.IsRepair || first.Pending.Silent {
		t.Fatalf("Admit = %+v, want a new pending request", first)
	}
	again := admit(t, d, phone("operator.read"), nil)
	if again.Created || again.Pending.RequestID != first.Pending.RequestID {
		t.Errorf("Admit again = %+v, want request %s and not created", again, first.RequestID)
	}
	for name, change := range map[string]func(*Request){
		"scopes": func(r *Request) { r.Scopes = []string{"operator.admin"} },
		"role":   func(r *Request) { r.Role = protocol.RoleNode },
		"key":    func(r *Request) { r.PublicKey = "other" },
	} {
		before := admit(t, d, phone("operator.read"), nil).RequestID
		r := phone("operator.read")
		change(&r)
		got := admit(t, d, r, nil)
		if !got.Created || got.RequestID == before {
			t.Errorf("Admit with another %s = %+v, want a new request id", name, got)
		}
		if _, err := d.Approve(t.Context(), before, admin); !errors.Is(err, ErrUnknownRequest) {
			t.Errorf("Approve of the request before the %s changed = %v, want ErrUnknownRequest", name, err)
		}
		if n := len(d.List().Pending); n != 1 {
			t.Errorf("%d pending requests of one device, want 1", n)
		}
	}
}

// GW-042, GW-071: approval mints a token that lets the device in by itself.
func TestApprove(t *testing.T) {
	d, c := fresh(t)
	a := admit(t, d, phone("operator.write", "operator.read"), nil)
	c.advance(time.Second)
	dev, err := d.Approve(t.Context(), a.RequestID, admin)
	if err != nil {
		t.Fatal(err)
	}
	want := protocol.PairedDevice{DeviceID: "phone", PublicKey: "key", DisplayName: "Phone", Platform: "ios", ClientID: "openclaw-ios",
		ClientMode: "ui", Role: "operator", Roles: []string{"operator"}, Scopes: []string{"operator.write", "operator.read"},
		Tokens:      []protocol.DeviceTokenInfo{{Role: "operator", Scopes: []string{"operator.read", "operator.write"}, CreatedAtMs: start + 1000}},
		CreatedAtMs: start + 1000, ApprovedAtMs: start + 1000}
	if diff := cmp.Diff(want, dev); diff != "" {
		t.Errorf("Approve mismatch (-want +got):\n%s", diff)
	}
	if got := admit(t, d, phone("operator.read"), nil); got.Reason != "" || got.Pending != nil || got.Approved {
		t.Errorf("Admit after approval = %+v, want it to go on", got)
	}
	token, err := d.EnsureToken(t.Context(), "phone", "operator", []string{"operator.read"})
	if err != nil || len(token.Token) != 32 || token.IssuedAtMs != start+1000 || len(token.Scopes) != 2 {
		t.Errorf("EnsureToken = %+v, %v, want the minted token", token, err)
	}
	for _, tt := range []struct {
		name, device, role string
		token              protocol.Secret
		scopes             []string
		want               bool
	}{
		{"all scopes", "phone", "operator", token.Token, []string{"operator.read", "operator.write"}, true},
		{"no scopes", "phone", "operator", token.Token, nil, true},
		{"beyond", "phone", "operator", token.Token, []string{"operator.admin"}, false},
		{"another role", "phone", "node", token.Token, nil, false},
		{"another token", "phone", "operator", token.Token + "x", nil, false},
		{"no token", "phone", "operator", "", nil, false},
		{"another device", "other", "operator", token.Token, nil, false},
	} {
		ok, err := d.VerifyToken(t.Context(), tt.device, tt.role, tt.token, tt.scopes)
		if err != nil || ok != tt.want {
			t.Errorf("VerifyToken %s = %v, %v, want %v", tt.name, ok, err, tt.want)
		}
	}
	if got, _ := d.Get("phone"); got.Tokens[0].LastUsedAtMs != start+1000 {
		t.Errorf("lastUsedAtMs = %d, want %d", got.Tokens[0].LastUsedAtMs, start+1000)
	}
}

// GW-071: the approver must hold what it grants.
func TestApproveNeedsScopes(t *testing.T) {
	pairing := Caller{Scopes: []string{protocol.ScopePairing, protocol.ScopeRead}}
	tests := []struct {
		name    string
		request Request
		by      Caller
		missing string
	}{
		{"held scope", phone("operator.read"), pairing, ""},
		{"missing scope", phone("operator.read", "operator.write"), pairing, "operator.write"},
		{"admin holds all", phone("operator.write", "custom"), admin, ""},
		{"harmless node", node("camera.snap"), pairing, ""},
		{"node that runs commands", node("camera.snap", "system.run"), pairing, "operator.admin"},
		{"node that sets approvals", node("system.execApprovals.set"), pairing, "operator.admin"},
		{"node that runs commands, by admin", node("system.run"), admin, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d, _ := fresh(t)
			_, err := d.Approve(t.Context(), admit(t, d, tt.request, nil).RequestID, tt.by)
			got := ""
			var scope *ScopeError
			if errors.As(err, &scope) {
				got = scope.Scope
			} else if err != nil {
				t.Fatal(err)
			}
			if got != tt.missing {
				t.Errorf("Approve lacks %q, want %q", got, tt.missing)
			}
			if _, paired := d.Get(tt.request.DeviceID); paired != (tt.missing == "") {
				t.Errorf("paired = %v after missing scope %q", paired, tt.missing)
			}
		})
	}
}

// A restart forgets what a node declared, so it counts as powerful.
func TestApproveNodeAfterRestart(t *testing.T) {
	d, c := fresh(t)
	id := admit(t, d, node("camera.snap"), nil).RequestID
	d = open(t, d.cfg.Dir, c)
	var scope *ScopeError
	if _, err := d.Approve(t.Context(), id, Caller{Scopes: []string{protocol.ScopePairing}}); !errors.As(err, &scope) {
		t.Errorf("Approve after restart = %v, want a missing scope", err)
	}
	if _, err := d.Approve(t.Context(), id, admin); err != nil {
		t.Errorf("Approve by admin = %v, want no error", err)
	}
}

// GW-072
func TestReject(t *testing.T) {
	d, _ := fresh(t)
	id := admit(t, d, phone("operator.read"), nil).RequestID
	if dev, err := d.Reject(t.Context(), id); err != nil || dev != "phone" {
		t.Errorf("Reject = %q, %v, want phone", dev, err)
	}
	if _, err := d.Reject(t.Context(), id); !errors.Is(err, ErrUnknownRequest) {
		t.Errorf("Reject again = %v, want ErrUnknownRequest", err)
	}
	if a := admit(t, d, phone("operator.read"), nil); !a.Created || a.RequestID == id {
		t.Errorf("Admit after rejection = %+v, want a new request", a)
	}
}

// GW-073
func TestPendingExpires(t *testing.T) {
	d, c := fresh(t)
	id := admit(t, d, phone("operator.read"), nil).RequestID
	c.advance(300 * time.Second)
	if n := len(d.List().Pending); n != 1 {
		t.Errorf("%d pending requests after exactly 5 minutes, want 1", n)
	}
	c.advance(time.Millisecond)
	if n := len(d.List().Pending); n != 0 {
		t.Errorf("%d pending requests after more than 5 minutes, want 0", n)
	}
	if _, err := d.Approve(t.Context(), id, admin); !errors.Is(err, ErrUnknownRequest) {
		t.Errorf("Approve of an expired request = %v, want ErrUnknownRequest", err)
	}
}

func TestPendingIsBounded(t *testing.T) {
	d, c := fresh(t)
	for i := range 40 {
		r := phone("operator.read")
		r.DeviceID = string(rune('A' + i))
		admit(t, d, r, nil)
		c.advance(time.Millisecond)
	}
	list := d.List().Pending
	if len(list) != 32 || list[0].DeviceID != string(rune('A'+39)) || list[31].DeviceID != string(rune('A'+8)) {
		t.Errorf("pending = %d requests from %s to %s, want the newest 32", len(list), list[len(list)-1].DeviceID, list[0].DeviceID)
	}
}

// GW-074: silence is a property of the connection, never of a stored request.
func TestAdmitSilently(t *testing.T) {
	d, _ := fresh(t)
	waiting := admit(t, d, phone("operator.read"), nil)
	if a := admit(t, d, phone("operator.read"), func(Reason) bool { return false }); a.Pending == nil || a.Approved {
		t.Fatalf("Admit from elsewhere = %+v, want it to wait", a)
	}
	var asked []Reason
	a := admit(t, d, phone("operator.read"), func(r Reason) bool { asked = append(asked, r); return true })
	if a.Pending != nil || !a.Approved || a.RequestID == "" || a.RequestID == waiting.RequestID {
		t.Errorf("local Admit = %+v, want a silent approval under its own id", a)
	}
	if len(d.List().Pending) != 0 {
		t.Error("the waiting request is still there although the device has what it asked for")
	}
	up := admit(t, d, phone("operator.admin"), func(r Reason) bool { asked = append(asked, r); return false })
	if up.Pending == nil || up.Reason != ScopeUpgrade || !up.Pending.IsRepair {
		t.Errorf("Admit for more = %+v, want a pending upgrade", up)
	}
	if diff := cmp.Diff([]Reason{NotPaired, ScopeUpgrade}, asked); diff != "" {
		t.Errorf("silent was asked (-want +got):\n%s", diff)
	}
}

// GW-075
func TestAdmitUpgrade(t *testing.T) {
	d, _ := fresh(t)
	pair(t, d, phone("operator.admin"))
	r := phone("operator.admin", "operator.approvals") // admin implies nothing here
	a := admit(t, d, r, nil)
	if a.Reason != ScopeUpgrade || !a.Pending.IsRepair || cmp.Diff([]string{"operator.admin"}, a.Scopes) != "" {
		t.Errorf("Admit = %+v, want a scope upgrade from operator.admin", a)
	}
	if _, err := d.Approve(t.Context(), a.RequestID, admin); err != nil {
		t.Fatal(err)
	}
	dev, _ := d.Get("phone")
	if diff := cmp.Diff([]string{"operator.admin", "operator.approvals"}, dev.Scopes); diff != "" {
		t.Errorf("scopes after the upgrade (-want +got):\n%s", diff)
	}
	asNode := phone()
	asNode.Role = protocol.RoleNode
	a = admit(t, d, asNode, nil)
	if a.Reason != RoleUpgrade || !a.Pending.IsRepair || cmp.Diff([]string{"operator"}, a.Roles) != "" {
		t.Errorf("Admit as node = %+v, want a role upgrade", a)
	}
	if _, err := d.Approve(t.Context(), a.RequestID, admin); err != nil {
		t.Fatal(err)
	}
	dev, _ = d.Get("phone")
	if diff := cmp.Diff([]string{"operator", "node"}, dev.Roles); diff != "" || len(dev.Tokens) != 2 {
		t.Errorf("roles after the upgrade (-want +got):\n%s, tokens %+v", diff, dev.Tokens)
	}
	other := phone("operator.admin")
	other.PublicKey = "stolen"
	if a := admit(t, d, other, nil); a.Reason != NotPaired {
		t.Errorf("Admit with another key = %s, want not-paired", a.Reason)
	}
}

// GW-078
func TestApproveOnce(t *testing.T) {
	d, _ := fresh(t)
	id := admit(t, d, phone("operator.read"), nil).RequestID
	var wg sync.WaitGroup
	results := make([]error, 16)
	for i := range results {
		wg.Go(func() { _, results[i] = d.Approve(context.Background(), id, admin) })
	}
	wg.Wait()
	won := 0
	for _, err := range results {
		switch {
		case err == nil:
			won++
		case !errors.Is(err, ErrUnknownRequest):
			t.Errorf("Approve = %v, want ErrUnknownRequest", err)
		}
	}
	if dev, _ := d.Get("phone"); won != 1 || dev.Tokens[0].RotatedAtMs != 0 {
		t.Errorf("%d approvals succeeded, token %+v, want one that was never rotated", won, dev.Tokens)
	}
}

func TestAdmitWaitsForTurn(t *testing.T) {
	d, _ := fresh(t)
	d.turn <- struct{}{}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := d.Admit(ctx, phone(), nil); !errors.Is(err, context.Canceled) {
		t.Errorf("Admit = %v, want context.Canceled", err)
	}
	<-d.turn
}

// GW-077: dates of use are written late, everything else at once.
func TestRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, err := OpenDevices(Config{Dir: t.TempDir(), Now: time.Now, Log: testkit.Log(t)})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		var wg sync.WaitGroup
		wg.Go(func() { done <- d.Run(ctx) })
		token := pair(t, d, phone("operator.read"))
		use := func() {
			t.Helper()
			if ok, err := d.VerifyToken(t.Context(), "phone", "operator", token.Token, nil); !ok || err != nil {
				t.Fatalf("VerifyToken = %v, %v, want true", ok, err)
			}
		}
		used := func() bool {
			data, err := os.ReadFile(filepath.Join(d.cfg.Dir, "paired.json"))
			if err != nil {
				t.Fatal(err)
			}
			return strings.Contains(string(data), "lastUsedAtMs")
		}
		use()
		synctest.Wait()
		if used() {
			t.Error("the date of use was written at once")
		}
		<-time.After(flushDelay + time.Millisecond)
		synctest.Wait()
		if !used() {
			t.Error("the date of use was not written after the delay")
		}
		r := phone("operator.read")
		r.DisplayName = "Renamed"
		admit(t, d, r, nil)
		cancel()
		wg.Wait()
		if err := <-done; err != nil {
			t.Errorf("Run = %v, want nil", err)
		}
		data, err := os.ReadFile(filepath.Join(d.cfg.Dir, "paired.json"))
		if err != nil || !strings.Contains(string(data), "Renamed") {
			t.Errorf("paired.json after Run ended = %s, %v, want the new name", data, err)
		}
	})
}

func decodeFile(t *testing.T, path string) map[string]any {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var v map[string]any
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return v
}
