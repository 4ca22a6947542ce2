package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"openclaw/internal/cli"
)

// listener is a program that listens on a port of this machine.
type listener struct {
	PID     int    `json:"pid,omitempty"`
	Command string `json:"command,omitempty"`
	Address string `json:"address,omitempty"`
}

func (l listener) String() string {
	return joinNonEmpty(" ", l.Command, mark(l.PID > 0, fmt.Sprintf("(pid %d)", l.PID)), l.Address)
}

// portListeners finds who listens on a port, as far as this user may see it.
func portListeners(port int) []listener {
	if runtime.GOOS == "linux" {
		return procListeners("/proc", port)
	}
	return lsofListeners(port)
}

// procListeners reads the socket tables below root and finds the owners of their
// inodes.
func procListeners(root string, port int) []listener {
	inodes := map[string]string{} // inode to address
	for table, loop := range map[string]string{"tcp": "127.0.0.1", "tcp6": "[::1]"} {
		data, err := os.ReadFile(filepath.Join(root, "net", table))
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(data)) {
			f := strings.Fields(line)
			if len(f) < 10 || f[3] != "0A" { // 0A: LISTEN
				continue
			}
			host, hex, _ := strings.Cut(f[1], ":")
			if n, err := strconv.ParseUint(hex, 16, 16); err != nil || int(n) != port {
				continue
			}
			address := loop
			if strings.Trim(host, "0") == "" {
				address = "*"
			}
			inodes[f[9]] = fmt.Sprintf("%s:%d", address, port)
		}
	}
	if len(inodes) == 0 {
		return nil
	}
	return ownersOf(root, inodes)
}

// ownersOf finds the processes that hold the sockets; a socket of another user
// is reported without its owner.
func ownersOf(root string, inodes map[string]string) []listener {
	var found []listener
	links, _ := filepath.Glob(filepath.Join(root, "[0-9]*", "fd", "*")) // the pattern is a good one
	for _, link := range links {
		name, err := os.Readlink(link)
		if err != nil {
			continue
		}
		inode := strings.TrimSuffix(strings.TrimPrefix(name, "socket:["), "]")
		address, ok := inodes[inode]
		if !ok {
			continue
		}
		delete(inodes, inode)
		dir := filepath.Dir(filepath.Dir(link))
		pid, _ := strconv.Atoi(filepath.Base(dir))
		command, _ := os.ReadFile(filepath.Join(dir, "comm"))
		found = append(found, listener{PID: pid, Command: strings.TrimSpace(string(command)), Address: address})
	}
	for _, address := range inodes {
		found = append(found, listener{Command: "a program of another user", Address: address})
	}
	return found
}

// lsofListeners asks lsof, which other systems have.
func lsofListeners(port int) []listener {
	out, err := exec.Command("lsof", "-nP", "-iTCP:"+strconv.Itoa(port), "-sTCP:LISTEN", "-Fpcn").Output()
	if err != nil {
		return nil
	}
	var found []listener
	for line := range strings.Lines(string(out)) {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		value := line[1:]
		switch line[0] {
		case 'p':
			pid, _ := strconv.Atoi(value)
			found = append(found, listener{PID: pid})
		case 'c':
			if len(found) > 0 {
				found[len(found)-1].Command = value
			}
		case 'n':
			if len(found) > 0 {
				found[len(found)-1].Address = value
			}
		}
	}
	return found
}

// freeTheWay ends whoever listens on port: politely, then after 700 ms for good.
func (p *program) freeTheWay(ctx context.Context, port int) error {
	if port == 0 {
		return nil
	}
	for _, l := range portListeners(port) {
		if l.PID <= 0 || l.PID == os.Getpid() {
			continue
		}
		p.io.Say("%s: ending %s", p.name, l)
		if err := syscall.Kill(l.PID, syscall.SIGTERM); err != nil {
			return cli.Fail(fmt.Sprintf("cannot end %s: %v", l, err), "end it yourself, or take another port with --port")
		}
		if !waitGone(ctx, port, l.PID, 700*time.Millisecond) {
			_ = syscall.Kill(l.PID, syscall.SIGKILL) // it may have gone meanwhile
		}
	}
	if waitFree(ctx, port, 3*time.Second) {
		return nil
	}
	return cli.Fail(fmt.Sprintf("port %d is still taken", port), "take another port with --port")
}

func waitGone(ctx context.Context, port, pid int, limit time.Duration) bool {
	return poll(ctx, limit, func() bool {
		for _, l := range portListeners(port) {
			if l.PID == pid {
				return false
			}
		}
		return true
	})
}

func waitFree(ctx context.Context, port int, limit time.Duration) bool {
	return poll(ctx, limit, func() bool { return len(portListeners(port)) == 0 })
}

// poll asks done every 20 ms until it is true; false after limit.
func poll(ctx context.Context, limit time.Duration, done func() bool) bool {
	deadline := time.NewTimer(limit)
	defer deadline.Stop()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !done() {
		select {
		case <-ctx.Done():
			return false
		case <-deadline.C:
			return false
		case <-tick.C:
		}
	}
	return true
}

// kernelRelease names the release of the system, "" when it is not known.
func kernelRelease() string {
	data, err := os.ReadFile("/proc/sys/kernel/osrelease")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(data))
}
