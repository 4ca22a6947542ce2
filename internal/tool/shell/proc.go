package shell

import (
	"fmt"
	"os"
	"os/exec"
	"sync"
	"time"
)

// launch says how to start a command.
type launch struct {
	shell   string // absolute path of the program that takes -c
	command string
	dir     string
	env     []string
	// input keeps standard input open for later writes; without it the command
	// reads end of file.
	input bool
}

// proc is one started command: the leader of its own session and process group.
type proc struct {
	cmd *exec.Cmd
	out *os.File // what it writes, both streams in the order of writing
	in  *os.File // nil without input; the same file as out on a terminal
	tty bool

	mu     sync.Mutex // held while signals are sent
	reaped bool       // from now on its numbers may belong to somebody else
}

// start starts a command on pipes.
func start(l launch) (*proc, error) {
	outR, outW, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("open output pipe: %w", err)
	}
	defer func() { _ = outW.Close() }()
	p := &proc{cmd: l.cmd(), out: outR}
	p.cmd.Stdout, p.cmd.Stderr = outW, outW
	if l.input {
		inR, inW, err := os.Pipe()
		if err != nil {
			_ = outR.Close()
			return nil, fmt.Errorf("open input pipe: %w", err)
		}
		defer func() { _ = inR.Close() }()
		p.cmd.Stdin, p.in = inR, inW
	}
	p.cmd.SysProcAttr = attributes()
	if err := p.cmd.Start(); err != nil {
		p.close()
		return nil, fmt.Errorf("start %s: %w", l.shell, err)
	}
	return p, nil
}

func (l launch) cmd() *exec.Cmd {
	return &exec.Cmd{Path: l.shell, Args: []string{l.shell, "-c", l.command}, Dir: l.dir, Env: l.env}
}

func (p *proc) pid() int { return p.cmd.Process.Pid }

// kill ends the command and everything it started that is still there.
func (p *proc) kill() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.reaped {
		killTree(p.pid())
	}
}

// reap collects the exit status. Before it, wait must have returned.
func (p *proc) reap() exitStatus {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.reaped = true
	_ = p.cmd.Wait() // how it ended is in the state
	return statusOf(p.cmd.ProcessState)
}

// close gives the files back; a blocked read or write ends.
func (p *proc) close() {
	_ = p.out.Close()
	if p.in != nil && p.in != p.out {
		_ = p.in.Close()
	}
}

// write gives data to the command's input. A command that does not read makes
// it fail after the timeout; n says how much went through.
func (p *proc) write(data []byte, timeout time.Duration) (n int, err error) {
	if p.in == nil {
		return 0, os.ErrClosed
	}
	if err := p.in.SetWriteDeadline(time.Now().Add(timeout)); err != nil {
		return 0, fmt.Errorf("set write deadline: %w", err)
	}
	return p.in.Write(data)
}

// closeInput lets the command read end of file. On a terminal that is a
// character it may interpret.
func (p *proc) closeInput(timeout time.Duration) error {
	if p.tty {
		_, err := p.write([]byte{4}, timeout) // ^D
		return err
	}
	if p.in == nil {
		return nil
	}
	return p.in.Close()
}

// exitStatus is how a command ended: a code, or the name of a signal.
type exitStatus struct {
	code   int
	signal string
}

func statusOf(s *os.ProcessState) exitStatus {
	if s == nil {
		return exitStatus{code: -1}
	}
	if name := signalName(s); name != "" {
		return exitStatus{code: -1, signal: name}
	}
	return exitStatus{code: s.ExitCode()}
}
