package pairing

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"openclaw/protocol"
)

func TestEnsureToken(t *testing.T) {
	d, c := fresh(t)
	first := pair(t, d, phone("operator.admin", "operator.read"))
	c.advance(time.Second)
	ensure := func(role string, scopes ...string) (Token, error) {
		return d.EnsureToken(t.Context(), "phone", role, scopes)
	}
	if got, err := ensure("operator", "operator.read"); err != nil || cmp.Diff(first, got) != "" {
		t.Errorf("EnsureToken of fewer scopes = %+v, %v, want the same token", got, err)
	}
	if _, err := ensure("operator", "operator.write"); !errors.Is(err, ErrNotApproved) {
		t.Errorf("EnsureToken beyond approval = %v, want ErrNotApproved", err)
	}
	if _, err := ensure("node"); !errors.Is(err, ErrUnknownToken) {
		t.Errorf("EnsureToken of another role = %v, want ErrUnknownToken", err)
	}
	if _, err := d.EnsureToken(t.Context(), "nobody", "operator", nil); !errors.Is(err, ErrUnknownToken) {
		t.Errorf("EnsureToken of another device = %v, want ErrUnknownToken", err)
	}
	// A narrower token is widened within what is approved.
	if _, err := d.RotateToken(t.Context(), "phone", "operator", nil, admin); err != nil {
		t.Fatal(err)
	}
	r := phone("operator.pairing")
	pair(t, d, r)
	wide, err := ensure("operator", "operator.admin", "operator.pairing")
	if err != nil || cmp.Diff([]string{"operator.admin", "operator.pairing"}, wide.Scopes) != "" || wide.IssuedAtMs != start+1000 {
		t.Errorf("EnsureToken = %+v, %v, want a new token of both scopes", wide, err)
	}
}

// GW-076
func TestRotateToken(t *testing.T) {
	pairing := func(scopes ...string) Caller {
		return Caller{DeviceID: "phone", Scopes: append(scopes, protocol.ScopePairing)}
	}
	tests := []struct {
		name, device, role string
		scopes             []string
		by                 Caller
		want               []string // scopes of the new token
		approved           []string // scopes of the device afterwards
		err                error
	}{
		{"keeps scopes", "phone", "operator", nil, admin, []string{"operator.read", "operator.write"}, []string{"operator.read", "operator.write"}, nil},
		{"narrows", "phone", "operator", []string{"operator.read"}, admin, []string{"operator.read"}, []string{"operator.read"}, nil},
		{"caller holds them", "phone", "operator", []string{"operator.read"}, pairing("operator.read"), []string{"operator.read"}, []string{"operator.read"}, nil},
		{"caller lacks one", "phone", "operator", nil, pairing("operator.read"), nil, nil, &ScopeError{"operator.write"}},
		{"caller asks for more than it has", "phone", "operator", []string{"operator.admin"}, pairing("operator.read"), nil, nil, &ScopeError{"operator.admin"}},
		{"beyond approval", "phone", "operator", []string{"operator.admin"}, admin, nil, nil, ErrNotApproved},
		{"unknown device", "nobody", "operator", nil, admin, nil, nil, ErrUnknownToken},
		{"unknown role", "phone", "node", nil, admin, nil, nil, ErrUnknownToken},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d, c := fresh(t)
			old := pair(t, d, phone("operator.read", "operator.write"))
			c.advance(time.Minute)
			got, err := d.RotateToken(t.Context(), tt.device, tt.role, tt.scopes, tt.by)
			if tt.err != nil {
				if err == nil || err.Error() != tt.err.Error() {
					t.Errorf("RotateToken = %v, want %v", err, tt.err)
				}
				if ok, _ := d.VerifyToken(t.Context(), "phone", "operator", old.Token, nil); !ok {
					t.Error("the old token is gone after a refused rotation")
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			dev, _ := d.Get("phone")
			if got.Token == old.Token || got.IssuedAtMs != start+60_000 || cmp.Diff(tt.want, got.Scopes) != "" || cmp.Diff(tt.approved, dev.Scopes) != "" {
				t.Errorf("RotateToken = %+v, device scopes %v, want scopes %v, device %v", got, dev.Scopes, tt.want, tt.approved)
			}
			if ok, _ := d.VerifyToken(t.Context(), "phone", "operator", old.Token, nil); ok {
				t.Error("the old token still works after rotation")
			}
			if dev.Tokens[0].CreatedAtMs != start || dev.Tokens[0].RotatedAtMs != start+60_000 {
				t.Errorf("token dates = %+v, want created before, rotated now", dev.Tokens[0])
			}
		})
	}
}

// GW-076: a revoked role stays out until a person approves it again.
func TestRevokeToken(t *testing.T) {
	d, c := fresh(t)
	token := pair(t, d, phone("operator.read"))
	c.advance(time.Minute)
	for _, tt := range [][2]string{{"nobody", "operator"}, {"phone", "node"}} {
		if _, err := d.RevokeToken(t.Context(), tt[0], tt[1]); !errors.Is(err, ErrUnknownToken) {
			t.Errorf("RevokeToken(%s, %s) = %v, want ErrUnknownToken", tt[0], tt[1], err)
		}
	}
	at, err := d.RevokeToken(t.Context(), "phone", "operator")
	if err != nil || at != start+60_000 {
		t.Errorf("RevokeToken = %d, %v, want %d", at, err, int64(start+60_000))
	}
	if ok, _ := d.VerifyToken(t.Context(), "phone", "operator", token.Token, nil); ok {
		t.Error("VerifyToken of a revoked token = true")
	}
	if _, err := d.EnsureToken(t.Context(), "phone", "operator", nil); !errors.Is(err, ErrRevoked) {
		t.Errorf("EnsureToken = %v, want ErrRevoked", err)
	}
	if _, err := d.RotateToken(t.Context(), "phone", "operator", nil, admin); !errors.Is(err, ErrRevoked) {
		t.Errorf("RotateToken = %v, want ErrRevoked", err)
	}
	a := admit(t, d, phone("operator.read"), local)
	if a.Approved || a.Pending == nil || a.Reason != RoleUpgrade || !a.Pending.IsRepair {
		t.Fatalf("Admit of a revoked role = %+v, want it to wait even on this host", a)
	}
	if _, err := d.Approve(t.Context(), a.RequestID, admin); err != nil {
		t.Fatal(err)
	}
	again, err := d.EnsureToken(t.Context(), "phone", "operator", []string{"operator.read"})
	if err != nil || again.Token == token.Token {
		t.Errorf("EnsureToken after approval = %+v, %v, want a new token", again, err)
	}
	if dev, _ := d.Get("phone"); dev.Tokens[0].RevokedAtMs != 0 || dev.Tokens[0].CreatedAtMs != start {
		t.Errorf("token = %+v, want it valid with its first date", dev.Tokens[0])
	}
}
