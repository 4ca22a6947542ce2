package gateway

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"
)

// GW-048, GW-049.
func TestPeerOf(t *testing.T) {
	trusted, bad := parseTrusted([]string{"10.0.0.1", "192.168.0.0/16", "nonsense", " ::1 "})
	if len(bad) != 1 || bad[0] != "nonsense" {
		t.Errorf("parseTrusted bad = %q, want [nonsense]", bad)
	}
	tests := []struct {
		name         string
		remote, host string
		self         string
		header       [][2]string
		untrusted    bool   // no proxies are configured
		wantClient   string // "" when unknown
		wantLocal    bool
	}{
		{name: "loopback", remote: "127.0.0.1:5", host: "localhost:18789", wantClient: "127.0.0.1", wantLocal: true},
		{name: "loopback by address", remote: "127.0.0.1:5", host: "127.0.0.1", wantClient: "127.0.0.1", wantLocal: true},
		{name: "loopback 6", untrusted: true, remote: "[::1]:5", host: "[::1]:18789", wantClient: "::1", wantLocal: true},
		{name: "mapped loopback", remote: "[::ffff:127.0.0.1]:5", host: "localhost", wantClient: "127.0.0.1", wantLocal: true},
		{name: "foreign host name", remote: "127.0.0.1:5", host: "evil.example", wantClient: "127.0.0.1"},
		{name: "prefix host name", remote: "127.0.0.1:5", host: "127.evil.example", wantClient: "127.0.0.1"},
		{name: "suffix host name", remote: "127.0.0.1:5", host: "localhost.evil", wantClient: "127.0.0.1"},
		{name: "tailnet host name", remote: "127.0.0.1:5", host: "box.tail.ts.net", wantClient: "127.0.0.1"},
		{name: "no host", remote: "127.0.0.1:5", host: "", wantClient: "127.0.0.1"},
		{name: "forwarded by a stranger", remote: "127.0.0.1:5", host: "localhost", header: [][2]string{{"X-Forwarded-For", "203.0.113.9"}}, wantClient: "127.0.0.1"},
		{name: "forwarded header", remote: "127.0.0.1:5", host: "localhost", header: [][2]string{{"Forwarded", "for=1.2.3.4"}}, wantClient: "127.0.0.1"},
		{name: "odd forwarding header", remote: "127.0.0.1:5", host: "localhost", header: [][2]string{{"X-Forwarded-Client-Cert", "x"}}, wantClient: "127.0.0.1"},
		{name: "empty forwarding header", remote: "127.0.0.1:5", host: "localhost", header: [][2]string{{"X-Real-Ip", ""}}, wantClient: "127.0.0.1"},
		{name: "remote", remote: "203.0.113.7:5", host: "localhost", wantClient: "203.0.113.7"},
		{name: "trusted proxy", remote: "10.0.0.1:5", host: "gw.example", header: [][2]string{{"X-Forwarded-For", "203.0.113.9"}}, wantClient: "203.0.113.9"},
		{name: "trusted proxy with port", remote: "10.0.0.1:5", host: "gw", header: [][2]string{{"X-Forwarded-For", "[2001:db8::1]:99"}}, wantClient: "2001:db8::1"},
		{name: "hearsay left of a stranger", remote: "10.0.0.1:5", host: "localhost", header: [][2]string{{"X-Forwarded-For", "127.0.0.1, 203.0.113.9"}}, wantClient: "203.0.113.9"},
		{name: "chain of trusted proxies", remote: "10.0.0.1:5", host: "localhost", header: [][2]string{{"X-Forwarded-For", "203.0.113.9, 192.168.3.4"}}, wantClient: "203.0.113.9"},
		{name: "two header lines", remote: "10.0.0.1:5", host: "x", header: [][2]string{{"X-Forwarded-For", "127.0.0.1"}, {"X-Forwarded-For", "203.0.113.9"}}, wantClient: "203.0.113.9"},
		{name: "real ip", remote: "10.0.0.1:5", host: "x", header: [][2]string{{"X-Real-Ip", "203.0.113.9"}}, wantClient: "203.0.113.9"},
		{name: "trusted proxy without client", remote: "10.0.0.1:5", host: "localhost"},
		{name: "trusted loopback proxy without client", remote: "[::1]:5", host: "localhost"},
		{name: "trusted proxy with nonsense", remote: "10.0.0.1:5", host: "localhost", header: [][2]string{{"X-Forwarded-For", "127.0.0.1, what"}}},
		{name: "only proxies", remote: "10.0.0.1:5", host: "localhost", header: [][2]string{{"X-Forwarded-For", "192.168.1.1"}}},
		{name: "local behind a trusted proxy", remote: "[::1]:5", host: "localhost", header: [][2]string{{"X-Forwarded-For", "127.0.0.1"}}, wantClient: "127.0.0.1", wantLocal: true},
		{name: "own tailnet address", remote: "100.64.1.2:5", self: "100.64.1.2:18789", host: "100.64.1.2:18789", wantClient: "100.64.1.2", wantLocal: true},
		{name: "other tailnet address", remote: "100.64.1.3:5", self: "100.64.1.2:18789", host: "100.64.1.2:18789", wantClient: "100.64.1.3"},
		{name: "own tailnet address, other host", remote: "100.64.1.2:5", self: "100.64.1.2:18789", host: "box.ts.net", wantClient: "100.64.1.2"},
		{name: "own lan address", remote: "192.168.7.7:5", self: "192.168.7.7:18789", host: "192.168.7.7"},
	}
	for _, tt := range tests {
		r := httptest.NewRequest("GET", "/", nil)
		r.RemoteAddr, r.Host = tt.remote, tt.host
		for _, kv := range tt.header {
			r.Header.Add(kv[0], kv[1])
		}
		if tt.self != "" {
			addr := net.TCPAddrFromAddrPort(netip.MustParseAddrPort(tt.self))
			r = r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey, addr))
		}
		proxies := trusted
		if tt.untrusted {
			proxies = nil
		}
		p := peerOf(r, proxies)
		client := ""
		if p.client.IsValid() {
			client = p.client.String()
		}
		if client != tt.wantClient || p.local != tt.wantLocal {
			t.Errorf("%s: peerOf = client %q local %v, want %q %v", tt.name, client, p.local, tt.wantClient, tt.wantLocal)
		}
	}
}

// GW-050, GW-052: the rule itself; the wire is in testdata.
func TestOriginRule(t *testing.T) {
	strict := newOriginRule([]string{"https://App.example/", "*", "http://tool.example:8080"}, false)
	loose := newOriginRule(nil, true)
	tests := []struct {
		rule         originRule
		origin, host string
		want         bool
	}{
		{strict, "", "gw:18789", true},
		{strict, "http://gw:18789", "gw:18789", true},
		{strict, "http://GW:18789", "gw:18789", true},
		{strict, "http://gw", "gw:18789", false},
		{strict, "http://gw:80", "gw:18789", false},
		{strict, "https://app.example", "gw:18789", true},
		{strict, "HTTPS://APP.EXAMPLE", "gw:18789", true},
		{strict, "http://app.example", "gw:18789", false},
		{strict, "http://tool.example:8080", "gw", true},
		{strict, "http://tool.example", "gw", false},
		{strict, "https://evil.example", "gw:18789", false},
		{strict, "*", "gw:18789", false},
		{strict, "null", "gw:18789", false},
		{strict, "file://", "gw:18789", false},
		{strict, "://x", "gw:18789", false},
		{strict, "http://localhost:5173", "localhost:18789", false},
		{strict, "http://127.0.0.1:5173", "127.0.0.1:18789", false},
		{loose, "http://localhost:5173", "127.0.0.1:18789", true},
		{loose, "http://[::1]:5173", "localhost:18789", true},
		{loose, "http://127.evil.example:5173", "localhost:18789", false},
		{loose, "http://localhost:5173", "gw.example", false},
		{loose, "http://localhost.evil:5173", "localhost:18789", false},
	}
	for _, tt := range tests {
		r := httptest.NewRequest("GET", "/", nil)
		r.Host = tt.host
		if tt.origin != "" {
			r.Header.Set("Origin", tt.origin)
		}
		if got := tt.rule.check(r); got != tt.want {
			t.Errorf("check(Origin %q, Host %q) = %v, want %v", tt.origin, tt.host, got, tt.want)
		}
	}
	r := httptest.NewRequest("GET", "/", nil)
	r.Host = "gw"
	r.Header["Origin"] = []string{"http://gw", "http://evil.example"}
	if strict.check(r) {
		t.Error("check(two Origin headers) = true, want false")
	}
}

// GW-140: one canonical path for guard and handler.
func TestCanonicalPath(t *testing.T) {
	tests := []struct {
		in, want string
		ok       bool
	}{
		{"/", "/", true},
		{"/healthz", "/healthz", true},
		{"//healthz", "/healthz", true},
		{"/a///b//", "/a/b/", true},
		{"/%68ealthz", "/healthz", true},
		{"/a%20b", "/a b", true},
		{"/a%2525", "/a%25", true},
		{"/caf%C3%A9", "/café", true},
		{"/a..b/...", "/a..b/...", true},
		{"/%2e%2e/etc", "", false},
		{"/a/../b", "", false},
		{"/./a", "", false},
		{"/a%2Fb", "", false},
		{"/a%5cb", "", false},
		{`/a\b`, "", false},
		{"/a%00", "", false},
		{"/a%", "", false},
		{"/a%4", "", false},
		{"/a%zz", "", false},
		{"/%ff", "", false},
		{"", "", false},
		{"healthz", "", false},
	}
	for _, tt := range tests {
		got, ok := canonicalPath(tt.in)
		if got != tt.want || ok != tt.ok {
			t.Errorf("canonicalPath(%q) = %q, %v, want %q, %v", tt.in, got, ok, tt.want, tt.ok)
		}
	}
}

func FuzzCanonicalPath(f *testing.F) {
	for _, s := range []string{"/", "/a//b", "/%2e%2e/x", "/%252e", "/a%2fb", "/é"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		path, ok := canonicalPath(s)
		if !ok {
			return
		}
		if again, ok := canonicalPath(escapePercent(path)); !ok || again != path {
			t.Errorf("canonicalPath(%q) = %q, which is not canonical: %q, %v", s, path, again, ok)
		}
	})
}

func escapePercent(s string) string {
	var b []byte
	for i := range len(s) {
		if s[i] == '%' {
			b = append(b, "%25"...)
		} else {
			b = append(b, s[i])
		}
	}
	return string(b)
}
