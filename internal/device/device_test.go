package device

import (
	"encoding/json"
	"errors"
	"os"
	"testing"
	"time"

	"openclaw/protocol"
)

type vectors struct {
	Keys []struct {
		Name, Input, Key, ID string
		Error                bool
	}
	Texts []struct {
		Name, Version, Text string
		Params              protocol.ConnectParams
	}
	Connects []struct {
		Name, Nonce, Error string
		Params             protocol.ConnectParams
		Now, SkewMs        int64
		AllowUnchallenged  bool
	}
}

func loadVectors(t testing.TB) vectors {
	t.Helper()
	data, err := os.ReadFile("testdata/vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var v vectors
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatal(err)
	}
	if len(v.Keys) == 0 || len(v.Texts) == 0 || len(v.Connects) == 0 {
		t.Fatal("testdata/vectors.json has an empty section")
	}
	return v
}

// GW-035
func TestParseKey(t *testing.T) {
	for _, v := range loadVectors(t).Keys {
		t.Run(v.Name, func(t *testing.T) {
			k, err := ParseKey(v.Input)
			if v.Error {
				if !errors.Is(err, ErrKey) {
					t.Errorf("ParseKey(%q) = %v, %v, want ErrKey", v.Input, k, err)
				}
				return
			}
			if err != nil || k.String() != v.Key || k.ID() != v.ID {
				t.Errorf("ParseKey(%q) = %s (id %s), %v, want %s (id %s)", v.Input, k, k.ID(), err, v.Key, v.ID)
			}
		})
	}
}

// GW-034: what is signed.
func TestDeviceText(t *testing.T) {
	for _, v := range loadVectors(t).Texts {
		if got := protocol.DeviceText(v.Version, &v.Params); got != v.Text {
			t.Errorf("%s: DeviceText(%s) = %q, want %q", v.Name, v.Version, got, v.Text)
		}
	}
}

// GW-030, GW-031, GW-032, GW-033, GW-034, GW-035, GW-036
func TestVerify(t *testing.T) {
	for _, v := range loadVectors(t).Connects {
		t.Run(v.Name, func(t *testing.T) {
			rules := Rules{Nonce: v.Nonce, Now: time.UnixMilli(v.Now), Skew: time.Duration(v.SkewMs) * time.Millisecond,
				AllowUnchallenged: v.AllowUnchallenged}
			key, err := Verify(&v.Params, rules)
			got := ""
			if err != nil {
				got = err.Error()
				var e *Error
				if !errors.As(err, &e) || e.Code == "" || e.Reason == "" {
					t.Errorf("Verify error %v has no code or reason", err)
				}
			}
			if got != v.Error {
				t.Fatalf("Verify = %q, want %q", got, v.Error)
			}
			if err == nil && key.ID() != v.Params.Device.ID {
				t.Errorf("Verify = key of %s, want of %s", key.ID(), v.Params.Device.ID)
			}
		})
	}
}

// What our own clients sign, in both versions.
func TestSignAndVerify(t *testing.T) {
	now := time.UnixMilli(1767225600000)
	id, err := New(now)
	if err != nil {
		t.Fatal(err)
	}
	for _, version := range []string{protocol.SignatureV2, protocol.SignatureV3} {
		p := protocol.ConnectParams{Client: protocol.ClientInfo{ID: protocol.ClientCLI, Mode: protocol.ModeCLI, Platform: "Linux"},
			Scopes: []string{protocol.ScopeAdmin},
			Device: &protocol.ConnectDevice{ID: id.DeviceID(), PublicKey: id.PublicKey(), SignedAt: now.UnixMilli(), Nonce: "n"}}
		p.Device.Signature = id.Sign(protocol.DeviceText(version, &p))
		if _, err := Verify(&p, Rules{Nonce: "n", Now: now, Skew: Skew3}); err != nil {
			t.Errorf("Verify(%s) = %v, want no error", version, err)
		}
	}
}

func FuzzParseKey(f *testing.F) {
	for _, v := range loadVectors(f).Keys {
		f.Add(v.Input)
	}
	f.Fuzz(func(t *testing.T, text string) {
		k, err := ParseKey(text)
		if err != nil {
			return
		}
		again, err := ParseKey(k.String())
		if err != nil || again != k {
			t.Errorf("ParseKey(%q) = %v, %v, want the key again", k.String(), again, err)
		}
	})
}

// The device text never makes two different requests equal as long as no field
// holds a separator, and verifying never panics.
func FuzzVerify(f *testing.F) {
	f.Add("id", "key", "sig", int64(1), "nonce", "role", "scope", "token", "linux", "Mac")
	for _, v := range loadVectors(f).Connects {
		d := v.Params.Device
		f.Add(d.ID, d.PublicKey, d.Signature, d.SignedAt, d.Nonce, v.Params.Role, "s", "t", v.Params.Client.Platform, "")
	}
	f.Fuzz(func(t *testing.T, id, key, sig string, at int64, nonce, role, scope, token, platform, family string) {
		p := protocol.ConnectParams{Role: role, Scopes: []string{scope},
			Client: protocol.ClientInfo{Platform: platform, DeviceFamily: family},
			Auth:   &protocol.ConnectAuth{Token: protocol.Secret(token)},
			Device: &protocol.ConnectDevice{ID: id, PublicKey: key, Signature: sig, SignedAt: at, Nonce: nonce}}
		k, err := Verify(&p, Rules{Nonce: nonce, Now: time.UnixMilli(at), Skew: Skew3, AllowUnchallenged: true})
		if err == nil && k.ID() != id {
			t.Errorf("Verify accepted id %q for the key of %s", id, k.ID())
		}
	})
}
