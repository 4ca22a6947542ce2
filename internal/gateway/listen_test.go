package gateway

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// GW-044: the refusals of the start.
func TestPosture(t *testing.T) {
	safe := posture{mode: modeToken, host: "127.0.0.1", hasToken: true, tailscale: "off", hooksPath: "/hooks"}
	tests := []struct {
		name   string
		change func(*posture)
		want   string // part of the text, "" when it may start
	}{
		{"safe", func(*posture) {}, ""},
		{"no token", func(p *posture) { p.hasToken = false }, "no token"},
		{"no token but tailscale", func(p *posture) { p.hasToken, p.tailscaleAuth = false, true }, ""},
		{"no password", func(p *posture) { p.mode = modePassword }, "no password"},
		{"password", func(p *posture) { p.mode, p.hasPass = modePassword, true }, ""},
		{"unknown mode", func(p *posture) { p.mode = "none" }, "not supported"},
		{"exposed", func(p *posture) { p.host = "0.0.0.0" }, ""},
		{"exposed without a secret", func(p *posture) { p.host, p.hasToken, p.tailscaleAuth = "192.0.2.1", false, true }, "without a shared secret"},
		{"serve", func(p *posture) { p.tailscale = "serve" }, ""},
		{"serve, exposed", func(p *posture) { p.tailscale, p.host = "serve", "0.0.0.0" }, "requires gateway.bind loopback"},
		{"funnel with a token", func(p *posture) { p.tailscale = "funnel" }, "requires gateway.auth.mode password"},
		{"funnel with a password", func(p *posture) { p.tailscale, p.mode, p.hasPass = "funnel", modePassword, true }, ""},
		{"hooks", func(p *posture) { p.hooks, p.hooksToken = true, true }, ""},
		{"hooks without a token", func(p *posture) { p.hooks = true }, "hooks.token"},
		{"hooks everywhere", func(p *posture) { p.hooks, p.hooksToken, p.hooksPath = true, true, "/" }, "hooks.path"},
		{"not configured", func(p *posture) { p.unconfigured = true }, "gateway.mode"},
		{"not configured, allowed", func(p *posture) { p.unconfigured, p.lazy = true, true }, ""},
	}
	for _, tt := range tests {
		p := safe
		tt.change(&p)
		err := p.check()
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: check = %v, want %q", tt.name, err, tt.want)
		}
	}
}

func TestBindHost(t *testing.T) {
	tailnet := func() (netip.Addr, bool) { return netip.MustParseAddr("100.64.1.2"), true }
	none := func() (netip.Addr, bool) { return netip.Addr{}, false }
	tests := []struct {
		mode, custom string
		tailnet      func() (netip.Addr, bool)
		want         string // "" for an error
	}{
		{"", "", none, "127.0.0.1"},
		{"loopback", "", none, "127.0.0.1"},
		{"auto", "", none, "127.0.0.1"},
		{"lan", "", none, "0.0.0.0"},
		{"tailnet", "", tailnet, "100.64.1.2"},
		{"tailnet", "", none, "127.0.0.1"},
		{"custom", "192.0.2.7", none, "192.0.2.7"},
		{"custom", "", none, ""},
		{"custom", "::1", none, ""},
		{"custom", "gw.example", none, ""},
		{"everywhere", "", none, ""},
	}
	for _, tt := range tests {
		got, err := bindHost(tt.mode, tt.custom, tt.tailnet)
		if got != tt.want || (err != nil) != (tt.want == "") {
			t.Errorf("bindHost(%q, %q) = %q, %v, want %q", tt.mode, tt.custom, got, err, tt.want)
		}
	}
}

// A taken port names the other gateway.
func TestPortInUse(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	port := taken.Addr().(*net.TCPAddr).Port
	_, err = listen(context.Background(), "127.0.0.1", port, nil, func(error) {})
	var inUse *InUseError
	want := fmt.Sprintf("another gateway instance is already listening on ws://127.0.0.1:%d", port)
	if !errors.As(err, &inUse) || !errors.Is(err, syscall.EADDRINUSE) || err.Error() != want {
		t.Errorf("listen on a taken port = %v, want %q", err, want)
	}
}

// The second loopback address is welcome, not needed.
func TestSecondLoopback(t *testing.T) {
	warned := 0
	all, err := listen(context.Background(), "127.0.0.1", 0, nil, func(error) { warned++ })
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range all {
		l.Close()
	}
	if len(all)+warned != 2 {
		t.Errorf("%d listeners and %d warnings, want ::1 either open or told of", len(all), warned)
	}
}

// Two gateways with one config: the second says who is first.
func TestInstanceLock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tmp := t.TempDir()
		ctx := context.Background()
		first, err := lockInstance(ctx, tmp, "/home/me/.openclaw/openclaw.json")
		if err != nil {
			t.Fatal(err)
		}
		found, _ := filepath.Glob(filepath.Join(tmp, "openclaw*", "gateway.????????.lock"))
		if len(found) != 1 {
			t.Fatalf("lock files = %v, want one", found)
		}
		data, _ := os.ReadFile(found[0])
		var owner lockOwner
		if err := json.Unmarshal(data, &owner); err != nil || owner.PID != os.Getpid() || owner.ConfigPath != "/home/me/.openclaw/openclaw.json" {
			t.Errorf("lock file = %s, %v, want pid and config path", data, err)
		}
		start := time.Now()
		_, err = lockInstance(ctx, tmp, "/home/me/.openclaw/openclaw.json")
		want := fmt.Sprintf("gateway already running (pid %d); lock timeout after 5000ms", os.Getpid())
		var running *RunningError
		if !errors.As(err, &running) || err.Error() != want || time.Since(start) < lockTimeout {
			t.Errorf("second lock = %v after %v, want %q after 5s", err, time.Since(start), want)
		}
		other, err := lockInstance(ctx, tmp, "/home/me/other.json")
		if err != nil {
			t.Errorf("lock for another config = %v", err)
		}
		other.Unlock()
		first.Unlock()
		again, err := lockInstance(ctx, tmp, "/home/me/.openclaw/openclaw.json")
		if err != nil {
			t.Fatalf("lock after the first has gone = %v", err)
		}
		again.Unlock()
	})
}

// Lock files of the reference: a dead owner's goes at once, a living one's never,
// what nobody can judge after 30 seconds.
func TestStaleLock(t *testing.T) {
	start, known := processStart(os.Getpid())
	living := fmt.Sprintf(`{"pid":%d,"startTime":%d}`, os.Getpid(), start)
	tests := []struct {
		content string
		age     time.Duration
		want    bool
	}{
		{`{"pid":2147483646,"createdAt":"2026-01-01T00:00:00.000Z","configPath":"/x"}`, 0, true},
		{`not json`, lockStale, false},
		{`not json`, lockStale + 1, true},
		{`{"pid":0}`, time.Hour, true},
	}
	if known { // only Linux tells when a process began
		tests = append(tests, []struct {
			content string
			age     time.Duration
			want    bool
		}{
			{living, time.Hour, false},
			{fmt.Sprintf(`{"pid":%d,"startTime":%d}`, os.Getpid(), start+1), 0, true},
			{fmt.Sprintf(`{"pid":%d}`, os.Getpid()), 0, false},
			{fmt.Sprintf(`{"pid":%d}`, os.Getpid()), time.Minute, true},
		}...)
	}
	for _, tt := range tests {
		if got := staleLock([]byte(tt.content), tt.age); got != tt.want {
			t.Errorf("staleLock(%s, %v) = %v, want %v", tt.content, tt.age, got, tt.want)
		}
	}
}

// GW-150: a pair is made where there is none, private, and used again; nothing
// older than TLS 1.3 gets through.
func TestTLS(t *testing.T) {
	dir := t.TempDir()
	files := tlsFilesOf(dir, "", "", true)
	conf, print1, err := files.load()
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{files.cert, files.key} {
		info, err := os.Stat(path)
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: mode %v, %v, want 0600", path, info.Mode(), err)
		}
	}
	_, print2, err := files.load()
	if err != nil || print1 != print2 || len(print1) != 64 || strings.ToLower(print1) != print1 {
		t.Errorf("fingerprints %q and %q, %v, want the same 64 hex digits", print1, print2, err)
	}
	if _, _, err := tlsFilesOf(t.TempDir(), "", "", false).load(); err == nil {
		t.Error("load without files and without autoGenerate succeeded")
	}
	all, err := listen(context.Background(), "127.0.0.1", 0, conf, func(error) {})
	if err != nil {
		t.Fatal(err)
	}
	h := newHouse(t, "")
	server := &http.Server{Handler: h.g}
	done := make(chan error, len(all))
	for _, l := range all {
		go func() { done <- server.Serve(l) }()
	}
	addr := all[0].Addr().String()
	get := func(max uint16) error {
		tr := &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true, MaxVersion: max}}
		res, err := (&http.Client{Transport: tr}).Get("https://" + addr + "/healthz")
		if err == nil {
			res.Body.Close()
		}
		return err
	}
	if err := get(tls.VersionTLS13); err != nil {
		t.Errorf("TLS 1.3 = %v", err)
	}
	if err := get(tls.VersionTLS12); err == nil {
		t.Error("TLS 1.2 was accepted")
	}
	server.Close()
	for range all {
		<-done
	}
	h.close()
}

// Run does all of it on a real socket.
func TestRun(t *testing.T) {
	h := newHouse(t, "", func(c *Config) { c.Log = nil })
	cfg := h.g.cfg
	cfg.TempDir = t.TempDir()
	cfg.Port = new(int)
	addr := make(chan net.Addr, 1)
	cfg.Listening = func(a net.Addr, _ string) { addr <- a }
	g := New(cfg)
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- g.Run(ctx) }()
	url := "http://" + (<-addr).String()
	for _, path := range []string{"/healthz", "/readyz"} {
		res, err := http.Get(url + path)
		if err != nil || res.StatusCode != http.StatusOK {
			t.Fatalf("GET %s = %v, %v, want 200", path, res, err)
		}
		res.Body.Close()
	}
	http.DefaultClient.CloseIdleConnections()
	stop()
	if err := <-done; err != nil {
		t.Errorf("Run = %v, want nil", err)
	}
	h.configure(`{gateway: {mode: "remote", auth: {token: "secret"}}}`)
	if err := New(cfg).Run(context.Background()); err == nil || !strings.Contains(err.Error(), "gateway.mode") {
		t.Errorf("Run with gateway.mode remote = %v, want a refusal", err)
	}
}
