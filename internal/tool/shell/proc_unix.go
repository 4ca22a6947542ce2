//go:build unix && !linux

package shell

import "syscall"

func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// wait returns when the command itself has ended.
func (p *proc) wait() { _ = p.cmd.Wait() }

// killTree kills the process group of leader.
func killTree(leader int) {
	if leader > 1 {
		_ = syscall.Kill(-leader, syscall.SIGKILL)
	}
}
