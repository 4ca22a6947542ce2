package shell

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// alive reports whether a process runs; the dead that nobody has collected do not.
func alive(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	p, ok := parseStat(pid, stat)
	return ok && p.alive
}

func TestParseStat(t *testing.T) {
	tests := []struct {
		stat string
		want procInfo
		ok   bool
	}{
		{"12 (sleep) S 10 12 9 0 -1", procInfo{12, 10, 9, true}, true},
		{"12 (a) b) (c) Z 10 12 9 0 -1", procInfo{12, 10, 9, false}, true},
		{"12 (x) S 10", procInfo{}, false},
		{"12 x", procInfo{}, false},
		{"", procInfo{}, false},
	}
	for _, tt := range tests {
		got, ok := parseStat(12, []byte(tt.stat))
		if ok != tt.ok || ok && got != tt.want {
			t.Errorf("parseStat(%q) = %+v, %v, want %+v, %v", tt.stat, got, ok, tt.want, tt.ok)
		}
	}
}

func TestKillTreeSparesUs(t *testing.T) {
	for _, pid := range []int{-1, 0, 1} {
		killTree(pid) // a mistake must not kill the gateway's own group
	}
}

// playGateway is a gateway that has a command in the background and then hangs.
func playGateway(dir string) {
	sh := New(Config{Env: os.Environ(), Shell: "/bin/bash"})
	s, err := sh.start(&plan{command: "echo $$ > pids; exec sleep 300", dir: dir, env: os.Environ(), background: true}, Scope{})
	if err != nil {
		panic(err)
	}
	<-s.done
}

// A gateway that is killed outright takes its commands with it.
func TestKilledGatewayLeavesNothing(t *testing.T) {
	k := newKit(t)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	gateway := exec.CommandContext(ctx, os.Args[0])
	gateway.Env = append(os.Environ(), "SHELL_TEST_GATEWAY="+k.dir)
	k.must(gateway.Start())
	// Wait for the command by means of another one: it has the patience built in.
	k.text("exec", "command", "until [ -s pids ] && [ \"$(ps -o comm= -p $(cat pids) 2>/dev/null || cat /proc/$(cat pids)/comm)\" = sleep ]; do :; done",
		"timeout", patience.Seconds())
	pid := k.pids("pids", 1)[0]
	if !alive(pid) {
		t.Fatal("the command does not run")
	}
	k.must(gateway.Process.Kill())
	_ = gateway.Wait()
	k.text("exec", "command", fmt.Sprintf("while [ -e /proc/%d ] && ! grep -q ') Z' /proc/%d/stat 2>/dev/null; do :; done", pid, pid), "timeout", patience.Seconds())
	if alive(pid) {
		t.Error("the command outlived its gateway")
	}
}

func TestStartFails(t *testing.T) {
	k := newKit(t)
	k.sh.shell = filepath.Join(k.dir, "no-shell")
	wantContains(t, k.fails("exec", "command", "true"), "no-shell")
	wantContains(t, k.fails("exec", "command", "true", "pty", true), "no-shell")
	if n := k.sh.sessions.running(); n != 0 {
		t.Errorf("%d sessions are counted as running, want none", n)
	}
}
