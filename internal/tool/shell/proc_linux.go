package shell

import (
	"bytes"
	"os"
	"strconv"
	"syscall"
	"unsafe"
)

// attributes puts a command into a session of its own, away from the gateway's
// terminal and signals. Should the gateway be killed outright, the kernel kills
// the command with it; nobody would be left to reach it.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
}

// wait returns when the command itself has ended. It leaves the dead process in
// place: as long as it is there, no other process gets its number, which makes
// it safe to kill its group and session.
func (p *proc) wait() {
	const byPID = 1
	var info [128]byte // siginfo_t, not looked at
	for {
		_, _, errno := syscall.Syscall6(syscall.SYS_WAITID, byPID, uintptr(p.pid()),
			uintptr(unsafe.Pointer(&info)), syscall.WEXITED|syscall.WNOWAIT, 0, 0)
		if errno != syscall.EINTR {
			return
		}
	}
}

// killTree kills the process group of leader, then whatever else belongs to its
// session or descends from it: jobs of an interactive shell have groups of their
// own. leader must not have been reaped.
func killTree(leader int) {
	if leader <= 1 {
		return
	}
	family := relatives(leader)
	_ = syscall.Kill(-leader, syscall.SIGKILL)
	// Killed parents hand their children over to init, so the family is taken
	// first; a session keeps its number, so later looks find what was forked
	// meanwhile.
	for range 5 {
		for _, pid := range family {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		if family = relatives(leader); len(family) == 0 {
			return
		}
	}
}

// relatives lists the living processes of leader's session and the descendants
// of them and of leader.
func relatives(leader int) []int {
	procs := processes()
	known := map[int]bool{leader: true}
	var found []int
	for grown := true; grown; {
		grown = false
		for _, p := range procs {
			if !known[p.pid] && (p.session == leader || known[p.parent]) {
				known[p.pid], grown = true, true
				if p.alive {
					found = append(found, p.pid)
				}
			}
		}
	}
	for _, p := range procs {
		if p.pid == leader && p.alive {
			found = append(found, leader)
		}
	}
	return found
}

type procInfo struct {
	pid, parent, session int
	alive                bool
}

// processes reads the process table.
func processes() []procInfo {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer func() { _ = dir.Close() }()
	names, _ := dir.Readdirnames(-1) // processes come and go anyway
	var all []procInfo
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil || pid <= 1 {
			continue
		}
		stat, err := os.ReadFile("/proc/" + name + "/stat")
		if err != nil {
			continue
		}
		if p, ok := parseStat(pid, stat); ok {
			all = append(all, p)
		}
	}
	return all
}

// parseStat reads "pid (name) state parent group session …"; the name may hold anything.
func parseStat(pid int, stat []byte) (procInfo, bool) {
	i := bytes.LastIndexByte(stat, ')')
	if i < 0 {
		return procInfo{}, false
	}
	fields := bytes.Fields(stat[i+1:])
	if len(fields) < 4 {
		return procInfo{}, false
	}
	parent, err1 := strconv.Atoi(string(fields[1]))
	session, err2 := strconv.Atoi(string(fields[3]))
	state := fields[0][0]
	return procInfo{pid: pid, parent: parent, session: session, alive: state != 'Z' && state != 'X'}, err1 == nil && err2 == nil
}
