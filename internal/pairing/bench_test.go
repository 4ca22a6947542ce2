package pairing

import (
	"fmt"
	"testing"
	"time"

	"openclaw/internal/testkit"
)

// What the store costs one connect of a known device among a thousand.
func BenchmarkConnect(b *testing.B) {
	d, err := OpenDevices(Config{Dir: b.TempDir(), Now: time.Now, Log: testkit.Log(b)})
	if err != nil {
		b.Fatal(err)
	}
	s, err := d.begin(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	for i := range 1000 {
		r := phone("operator.read")
		r.DeviceID = fmt.Sprint("device-", i)
		dev := &device{DeviceID: r.DeviceID, PublicKey: r.PublicKey, DisplayName: r.DisplayName, Platform: r.Platform,
			ClientID: r.ClientID, ClientMode: r.ClientMode, Roles: []string{r.Role}, Scopes: r.Scopes}
		dev.setToken(dev.mint(r.Role, r.Scopes, d.now()))
		s.setDevice(dev)
	}
	if err := d.savePaired(s); err != nil {
		b.Fatal(err)
	}
	d.end()
	r := phone("operator.read")
	r.DeviceID = "device-500"
	token := s.paired.byID[r.DeviceID].Tokens["operator"].Token
	b.ReportAllocs()
	for b.Loop() {
		if ok, err := d.VerifyToken(b.Context(), r.DeviceID, r.Role, token, r.Scopes); !ok || err != nil {
			b.Fatal(ok, err)
		}
		if a, err := d.Admit(b.Context(), r, nil); err != nil || a.Reason != "" {
			b.Fatal(a, err)
		}
		if _, err := d.EnsureToken(b.Context(), r.DeviceID, r.Role, r.Scopes); err != nil {
			b.Fatal(err)
		}
	}
}
