package desktop_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"openclaw/byo"
	"openclaw/internal/desktop"
)

func TestTunnelArgs(t *testing.T) {
	args, err := desktop.Tunnel{Host: "anna@studio-box.example", Local: 8765, Remote: 8766, Callback: 49152}.Args()
	want := "-N -o ExitOnForwardFailure=yes -o ServerAliveInterval=15 -o ServerAliveCountMax=3 -o StrictHostKeyChecking=yes -o BatchMode=yes " +
		"-L 127.0.0.1:8765:127.0.0.1:8766 -R 127.0.0.1:49152:127.0.0.1:49152 -- anna@studio-box.example"
	if got := strings.Join(args, " "); err != nil || got != want {
		t.Errorf("Args = %s, %v; want %s", got, err, want)
	}
	for _, host := range []string{"", "-oProxyCommand=x", "a b", "a;b", "$(x)", "a\nb", "a/b"} {
		if args, err := (desktop.Tunnel{Host: host, Local: 1, Remote: 1}).Args(); err == nil {
			t.Errorf("host %q gives %v", host, args)
		}
	}
	if _, err := (desktop.Tunnel{Host: "a", Local: 0, Remote: 70000}).Args(); err == nil {
		t.Error("ports that are none are taken")
	}
}

// The ssh child runs while the desktop does; when it ends it is started again. The fake
// one writes its arguments down and ends the first time.
func TestTunnelRuns(t *testing.T) {
	dir := t.TempDir()
	log, ssh := filepath.Join(dir, "log"), filepath.Join(dir, "ssh")
	script := fmt.Sprintf("#!/bin/sh\necho \"$@\" >> %s\n[ $(wc -l < %s) -ge 2 ] && exec sleep 600\nexit 255\n", log, log)
	if err := os.WriteFile(ssh, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	cfg := listening(t)
	cfg.SSH = ssh
	d := open(t, cfg)
	h := newHelper(t, says("ok"))
	if _, err := d.PairDirect(t.Context(), h.code(), &desktop.Tunnel{Host: "-x", Local: 1, Remote: 1}); err == nil {
		t.Error("a host that is an option is taken")
	}
	if _, err := d.PairDirect(t.Context(), h.code(), &desktop.Tunnel{Host: "box", Local: 8765, Remote: 8765}); err != nil {
		t.Fatal(err)
	}
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	limit := time.After(20 * time.Second)
	for {
		data, _ := os.ReadFile(log)
		if lines := strings.Count(string(data), "\n"); lines >= 2 {
			if !strings.Contains(string(data), "-L 127.0.0.1:8765:127.0.0.1:8765 -- box\n") {
				t.Errorf("ssh was called with %s", data)
			}
			break
		}
		select {
		case <-tick.C:
		case <-limit:
			t.Fatalf("ssh was not started again: %s", data)
		}
	}
	began := time.Now()
	d.stop()
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("the end waits %v for ssh", took)
	}
}

// Without a listener of its own the desktop reads the assistant's event stream.
func TestEventStream(t *testing.T) {
	d := open(t, desktop.Config{Dir: filepath.Join(t.TempDir(), "state")})
	h := newStreamer(t)
	a, err := d.PairDirect(t.Context(), h.code(), nil)
	if err != nil || a.Verified != "probe" {
		t.Fatalf("PairDirect = %+v, %v", a, err)
	}
	got := d.until("answer", func(ev desktop.Event) bool { return ev.Message != nil && ev.Message.Role == desktop.RoleAssistant })
	if _, err := d.Say(a.ID, "s", "hi"); err != nil {
		t.Fatal(err)
	}
	if m := got().Message; m.Content != "re: hi" || m.Tab != desktop.TabChat {
		t.Errorf("message %+v", m)
	}
	if _, err := d.StartCall(desktop.CallRequest{AssistantID: a.ID, SessionID: "s"}); err != nil {
		t.Fatal(err)
	}
	insight := d.until("insight", func(ev desktop.Event) bool { return ev.Message != nil && ev.Message.Tab == desktop.TabInsights })
	if err := d.Feed("s", desktop.Segment{Text: strings.Repeat("x", 300), Final: true}); err != nil {
		t.Fatal(err)
	}
	if m := insight().Message; m.SessionID != "s" || !strings.HasPrefix(m.Content, "re: ") {
		t.Errorf("insight %+v", m)
	}
	for _, in := range h.said() {
		if in.Callback != nil {
			t.Errorf("the desktop offers a listener it does not have: %+v", in.Callback)
		}
		if in.Reason == byo.ReasonSystemPrelude && in.SessionID != "insights:s" {
			t.Errorf("prelude on %q", in.SessionID)
		}
	}
}
