package main

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"openclaw/internal/cli"
	"openclaw/internal/config"
	"openclaw/protocol"
)

// programWith is a program whose config file holds text.
func programWith(t *testing.T, text string) *program {
	t.Helper()
	home := t.TempDir()
	p := &program{io: &cli.Streams{}, name: "openclaw", paths: config.ResolvePaths(func(string) string { return "" }, home)}
	writeFile(t, p.paths.ConfigPath, text)
	p.snapshot = func() *config.Snapshot { return config.Load(p.paths, func(string) string { return "" }) }
	if err := p.snapshot().Err(); err != nil {
		t.Fatal(err)
	}
	return p
}

// CLI-005: which gateway is meant and what it may see.
func TestTarget(t *testing.T) {
	const (
		local  = `{ gateway: { mode: "local", port: 20000, auth: { token: "local-token" } } }`
		remote = `{ gateway: { mode: "remote", auth: { token: "local-token" }, remote: { url: "wss://there:443", token: "remote-token", tlsFingerprint: "sha256:2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824" } } }`
	)
	tests := []struct {
		name, config string
		flags        gatewayFlags
		env          map[string]string
		want         target
	}{
		{"local", local, gatewayFlags{}, nil,
			target{URL: "ws://127.0.0.1:20000", Source: "local loopback", Kind: "local", Token: "local-token", TokenSource: "gateway.auth.token"}},
		{"default port", `{}`, gatewayFlags{}, nil,
			target{URL: "ws://127.0.0.1:18789", Source: "local loopback", Kind: "local"}},
		{"environment", local, gatewayFlags{}, map[string]string{"OPENCLAW_GATEWAY_PORT": "20001", "OPENCLAW_GATEWAY_TOKEN": "env-token"},
			target{URL: "ws://127.0.0.1:20001", Source: "local loopback (port from OPENCLAW_GATEWAY_PORT)", Kind: "local", Token: "env-token", TokenSource: "OPENCLAW_GATEWAY_TOKEN"}},
		{"flag over everything", local, gatewayFlags{token: "flag-token"}, map[string]string{"OPENCLAW_GATEWAY_TOKEN": "env-token"},
			target{URL: "ws://127.0.0.1:20000", Source: "local loopback", Kind: "local", Token: "flag-token", TokenSource: "the command line"}},
		{"remote", remote, gatewayFlags{}, map[string]string{"OPENCLAW_GATEWAY_TOKEN": "env-token"},
			target{URL: "wss://there:443", Source: "gateway.remote.url", Kind: "remote", Token: "remote-token", TokenSource: "gateway.remote", Fingerprint: "sha256:2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824", Stored: true}},
		{"named", remote, gatewayFlags{url: "ws://other:1", password: "pw"}, nil,
			target{URL: "ws://other:1", Source: "--url", Kind: "cli", Password: "pw", TokenSource: "the command line", Explicit: true}},
		{"remote without an address", `{ gateway: { mode: "remote" } }`, gatewayFlags{}, nil,
			target{URL: "ws://127.0.0.1:18789", Source: "local loopback", Kind: "local", Note: "gateway.mode is remote but gateway.remote.url is not set; using the gateway on this machine"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for name, value := range tt.env {
				t.Setenv(name, value)
			}
			got, err := programWith(t, tt.config).target(tt.flags)
			if err != nil {
				t.Fatal(err)
			}
			same := cmp.Comparer(func(a, b protocol.Secret) bool { return string(a) == string(b) })
			if diff := cmp.Diff(tt.want, got, same); diff != "" {
				t.Errorf("target differs (-want +got):\n%s", diff)
			}
		})
	}
	for _, f := range []gatewayFlags{{url: "ws://x:1"}, {url: "http://x", token: "t"}, {url: "ws://", token: "t"}, {url: "::", token: "t"}} {
		if got, err := programWith(t, local).target(f); err == nil {
			t.Errorf("target(%q) = %v, want an error", f.url, got.URL)
		}
	}
}

func TestLoopbackTargets(t *testing.T) {
	for url, want := range map[string]bool{
		"ws://127.0.0.1:1": true, "ws://127.9.9.9:1": true, "ws://[::1]:1": true, "ws://localhost:1": true,
		"ws://127.evil.example:1": false, "ws://localhost.evil:1": false, "ws://10.0.0.1:1": false, "::": false,
	} {
		if got := (target{URL: url}).loopback(); got != want {
			t.Errorf("loopback(%s) = %v, want %v", url, got, want)
		}
	}
}

func TestProcListeners(t *testing.T) {
	root := t.TempDir()
	writeFile(t, filepath.Join(root, "net", "tcp"), `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:4965 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 111 1 0
   1: 00000000:4965 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 222 1 0
   2: 0100007F:4965 0100007F:9999 01 00000000:00000000 00:00000000 00000000  1000        0 333 1 0
   3: 0100007F:0016 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 444 1 0
`)
	writeFile(t, filepath.Join(root, "77", "comm"), "openclaw\n")
	symlink(t, filepath.Join(root, "77", "fd", "5"), "socket:[111]")
	symlink(t, filepath.Join(root, "77", "fd", "6"), "socket:[333]")
	want := []listener{{PID: 77, Command: "openclaw", Address: "127.0.0.1:18789"}, {Command: "a program of another user", Address: "*:18789"}}
	if diff := cmp.Diff(want, procListeners(root, 18789)); diff != "" {
		t.Errorf("listeners differ (-want +got):\n%s", diff)
	}
	if got := procListeners(root, 5); got != nil {
		t.Errorf("listeners of a free port = %v, want none", got)
	}
}
