//go:build !unix

package shell

import (
	"errors"
	"os"
	"syscall"
)

func attributes() *syscall.SysProcAttr { return nil }

func (p *proc) wait() { _ = p.cmd.Wait() }

func killTree(leader int) {
	if p, err := os.FindProcess(leader); err == nil {
		_ = p.Kill()
	}
}

func startTTY(launch) (*proc, error) { return nil, errors.New("this system has no terminals to offer") }

func signalName(*os.ProcessState) string { return "" }
