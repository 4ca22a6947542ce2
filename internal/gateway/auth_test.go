package gateway

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"
	"testing/synctest"

	"openclaw/internal/logs"
	"openclaw/protocol"
)

// GW-040, GW-041 below the wire: what a secret is worth in each mode.
func TestCheckShared(t *testing.T) {
	token := secrets{mode: modeToken, token: "right", password: "pass"}
	password := secrets{mode: modePassword, token: "right", password: "pass"}
	tests := []struct {
		name    string
		secrets secrets
		offer   offer
		version int
		method  authMethod
		failure authFailure
	}{
		{"right token", token, offer{token: "right"}, 3, authToken, ""},
		{"wrong token", token, offer{token: "wrong"}, 3, "", tokenMismatch},
		{"longer token", token, offer{token: "right "}, 3, "", tokenMismatch},
		{"no token", token, offer{}, 3, "", tokenMissing},
		{"password in token mode", token, offer{password: "pass"}, 3, "", tokenMissing},
		{"the other secret", token, offer{token: "pass"}, 3, "", tokenMismatch},
		{"no token configured", secrets{mode: modeToken}, offer{token: "x"}, 3, "", tokenUnset},
		{"nothing on both sides", secrets{mode: modeToken}, offer{}, 3, "", tokenUnset},
		{"right password", password, offer{password: "pass"}, 3, authPassword, ""},
		{"wrong password", password, offer{password: "word"}, 3, "", passwordMismatch},
		{"no password", password, offer{token: "right"}, 3, "", passwordMissing},
		{"no password configured", secrets{mode: modePassword, token: "right"}, offer{token: "right", password: "right"}, 3, "", passwordUnset},
		{"either field on 4", token, offer{password: "right"}, 4, authToken, ""},
		{"either field on 4, password", password, offer{token: "pass"}, 4, authPassword, ""},
		{"either field on 4, wrong", token, offer{password: "wrong"}, 4, "", tokenMismatch},
	}
	for _, tt := range tests {
		method, failure := checkShared(tt.secrets, tt.offer, tt.version)
		if method != tt.method || failure != tt.failure {
			t.Errorf("%s: checkShared = %q, %q, want %q, %q", tt.name, method, failure, tt.method, tt.failure)
		}
	}
}

// served are the headers that `tailscale serve` sets.
func served(login string) http.Header {
	return http.Header{
		"Tailscale-User-Login": {login}, "X-Forwarded-For": {"100.64.0.9, 10.0.0.1"},
		"X-Forwarded-Proto": {"https"}, "X-Forwarded-Host": {"box.tail.ts.net"},
	}
}

// GW-047.
func TestGW047TailscaleIdentity(t *testing.T) {
	ada := func(_ context.Context, a netip.Addr) (string, error) {
		if a != netip.MustParseAddr("100.64.0.9") {
			return "", errors.New("no such peer")
		}
		return "Ada@example.com ", nil
	}
	nobody := func(context.Context, netip.Addr) (string, error) { return " ", nil }
	without := func(name string) http.Header {
		h := served("ada@example.com")
		h.Del(name)
		return h
	}
	tests := []struct {
		name   string
		remote string
		header http.Header
		whois  func(context.Context, netip.Addr) (string, error)
		want   authFailure
	}{
		{"served", "127.0.0.1:5", served(" ada@example.com"), ada, ""},
		{"served over IPv6", "[::1]:5", served("ADA@example.com"), ada, ""},
		{"no login", "127.0.0.1:5", without("Tailscale-User-Login"), ada, tailscaleMissing},
		{"empty login", "127.0.0.1:5", served(" "), ada, tailscaleMissing},
		{"not from this host", "100.64.0.9:5", served("ada@example.com"), ada, tailscaleProxy},
		{"no client", "127.0.0.1:5", without("X-Forwarded-For"), ada, tailscaleProxy},
		{"no scheme", "127.0.0.1:5", without("X-Forwarded-Proto"), ada, tailscaleProxy},
		{"no host", "127.0.0.1:5", without("X-Forwarded-Host"), ada, tailscaleProxy},
		{"nobody to ask", "127.0.0.1:5", served("ada@example.com"), nil, tailscaleWhois},
		{"unknown peer", "127.0.0.1:5", func() http.Header {
			h := served("ada@example.com")
			h.Set("X-Forwarded-For", "100.64.0.10")
			return h
		}(), ada, tailscaleWhois},
		{"peer without login", "127.0.0.1:5", served("ada@example.com"), nobody, tailscaleWhois},
		{"somebody else", "127.0.0.1:5", served("eve@example.com"), ada, tailscaleMismatch},
	}
	for _, tt := range tests {
		r := httptest.NewRequest("GET", "/", nil)
		r.RemoteAddr, r.Header = tt.remote, tt.header
		if got := checkTailscale(t.Context(), tt.whois, claimOf(r)); got != tt.want {
			t.Errorf("%s: checkTailscale = %q, want %q", tt.name, got, tt.want)
		}
	}
}

// A Tailscale identity stands for the secret of a device, never for the device,
// and only where it is allowed.
func TestTailscaleConnect(t *testing.T) {
	const allowed = `{gateway: {mode: "local", auth: {token: "secret", allowTailscale: true}}}`
	whois := func(c *Config) {
		c.Whois = func(context.Context, netip.Addr) (string, error) { return "ada@example.com", nil }
	}
	none := set("auth", object{})
	tests := []struct {
		name, conf string
		login      string
		device     bool
		want       string // the error, "" for pairing
	}{
		{"allowed", allowed, "ada@example.com", true, "pairing required"},
		{"without a device", allowed, "ada@example.com", false, deviceRequiredText},
		{"somebody else", allowed, "eve@example.com", true, "unauthorized: tailscale identity mismatch"},
		{"not allowed", "", "ada@example.com", true, "unauthorized: gateway token missing (provide gateway auth token)"},
	}
	for _, tt := range tests {
		synctest.Test(t, func(t *testing.T) {
			h := newHouse(t, tt.conf, whois)
			d := dialer{host: "box.tail.ts.net", header: served(tt.login)}
			var f protocol.Frame
			if tt.device {
				_, f = h.with(newDevice(t), d, none)
			} else {
				c := h.dial(d)
				c.challenge()
				f = c.call(protocol.MethodConnect, hello(none))
			}
			if f.Error == nil || f.Error.Message != tt.want {
				t.Errorf("%s: connect = %+v, want %q", tt.name, f.Error, tt.want)
			}
			h.close()
		})
	}
}

// What connections remember of secrets does not show them.
func TestPrint(t *testing.T) {
	a, b := secrets{token: "x", password: logs.Secret("y")}.print()
	if c, d := (secrets{token: "x", password: "z"}).print(); a != c || b == d || a == b {
		t.Error("print does not tell secrets apart")
	}
}
