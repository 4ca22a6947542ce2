//go:build unix

package shell

import (
	"fmt"
	"os"
	"syscall"

	"github.com/creack/pty"
)

// Size of the terminal that commands see.
const (
	ttyCols = 120
	ttyRows = 30
)

// startTTY starts a command on a terminal of its own.
func startTTY(l launch) (*proc, error) {
	p := &proc{cmd: l.cmd(), tty: true}
	p.cmd.SysProcAttr = attributes()
	master, err := pty.StartWithSize(p.cmd, &pty.Winsize{Cols: ttyCols, Rows: ttyRows})
	if err != nil {
		return nil, fmt.Errorf("start %s on a terminal: %w", l.shell, err)
	}
	// The file comes in blocking mode, in which no deadline and no close would end
	// a read. A second one on the same terminal does better.
	out, err := pollable(master)
	_ = master.Close()
	if err != nil {
		p.kill()
		p.wait()
		p.reap()
		return nil, err
	}
	p.out, p.in = out, out
	return p, nil
}

func pollable(f *os.File) (*os.File, error) {
	syscall.ForkLock.RLock()
	fd, err := syscall.Dup(int(f.Fd()))
	if err == nil {
		syscall.CloseOnExec(fd)
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return nil, fmt.Errorf("duplicate terminal: %w", err)
	}
	if err := syscall.SetNonblock(fd, true); err != nil {
		_ = syscall.Close(fd)
		return nil, fmt.Errorf("set terminal to non-blocking: %w", err)
	}
	return os.NewFile(uintptr(fd), f.Name()), nil
}

// signalName names the signal that ended a process, "" if it exited by itself.
func signalName(s *os.ProcessState) string {
	ws, ok := s.Sys().(syscall.WaitStatus)
	if !ok || !ws.Signaled() {
		return ""
	}
	names := map[syscall.Signal]string{
		syscall.SIGHUP: "SIGHUP", syscall.SIGINT: "SIGINT", syscall.SIGQUIT: "SIGQUIT", syscall.SIGILL: "SIGILL",
		syscall.SIGTRAP: "SIGTRAP", syscall.SIGABRT: "SIGABRT", syscall.SIGBUS: "SIGBUS", syscall.SIGFPE: "SIGFPE",
		syscall.SIGKILL: "SIGKILL", syscall.SIGUSR1: "SIGUSR1", syscall.SIGSEGV: "SIGSEGV", syscall.SIGUSR2: "SIGUSR2",
		syscall.SIGPIPE: "SIGPIPE", syscall.SIGALRM: "SIGALRM", syscall.SIGTERM: "SIGTERM", syscall.SIGXCPU: "SIGXCPU",
		syscall.SIGXFSZ: "SIGXFSZ", syscall.SIGSYS: "SIGSYS",
	}
	if name := names[ws.Signal()]; name != "" {
		return name
	}
	return fmt.Sprintf("SIG%d", ws.Signal())
}
