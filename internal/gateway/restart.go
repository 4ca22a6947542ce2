package gateway

import (
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"time"

	"openclaw/protocol"
)

// ErrRestart is returned by [Gateway.Run] when the gateway ended in order to be
// started anew, with the configuration as it is then.
var ErrRestart = errors.New(protocol.ShutdownRestarting)

// Times of a restart. See docs/protocol.md#restart.
const (
	restartDelay    = 2 * time.Second
	maxRestartDelay = 60 * time.Second
	restartExpected = 1500 // ms that clients are told to wait
)

// restarts decides when the gateway ends to be started anew.
type restarts struct {
	due chan string // capacity 1: the reason; a second one adds nothing

	mu    sync.Mutex
	timer *time.Timer // of the planned restart, nil when there is none
	at    time.Time   // when that is due
	why   string
	held  int    // methods that change the config and plan a restart themselves
	asked string // why a restart was asked for while they did
	over  bool
}

func newRestarts() *restarts { return &restarts{due: make(chan string, 1)} }

// plan restarts after delay and returns how long that is from now. A restart
// that is planned for an earlier moment stays.
func (r *restarts) plan(delay time.Duration, why string) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	at := time.Now().Add(delay)
	if r.timer != nil && r.at.Before(at) {
		return max(0, time.Until(r.at))
	}
	r.set(at, why)
	return delay
}

// set is called with mu held.
func (r *restarts) set(at time.Time, why string) {
	if r.over {
		return
	}
	if r.timer != nil {
		r.timer.Stop()
	}
	r.at, r.why = at, why
	r.timer = time.AfterFunc(time.Until(at), func() { r.fire(at) })
}

func (r *restarts) fire(at time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.over || r.timer == nil || !r.at.Equal(at) {
		return // another one took its place
	}
	r.timer = nil
	select {
	case r.due <- r.why:
	default:
	}
}

// ask restarts at once, unless a restart is planned: whoever planned it said
// when.
func (r *restarts) ask(why string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.held > 0:
		r.asked = why
	case r.timer == nil:
		r.set(time.Now(), why)
	}
}

// hurry brings a planned restart forward. It reports false when there is none.
func (r *restarts) hurry() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.timer == nil {
		return false
	}
	r.set(time.Now(), r.why)
	return true
}

// hold keeps restarts that are asked for back until release is called, so that
// a method can write the config file and then say when the restart is due.
func (r *restarts) hold() (release func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.held++
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.held--; r.held > 0 || r.asked == "" {
			return
		}
		if r.timer == nil {
			r.set(time.Now(), r.asked)
		}
		r.asked = ""
	}
}

// close drops what is planned.
func (r *restarts) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.over = true
	if r.timer != nil {
		r.timer.Stop()
		r.timer = nil
	}
}

// Restart ends the gateway at once so that it is started anew; [Gateway.Run]
// returns [ErrRestart]. A restart that is planned for later stays planned. The
// owner of the config file calls it when a change asks for a restart.
func (g *Gateway) Restart(why string) { g.restarts.ask(why) }

// RestartSignal is Restart for the signal that asks for one. It counts when a
// restart is planned, or when commands.restart allows it; otherwise it reports
// false and does nothing.
func (g *Gateway) RestartSignal() bool {
	if g.restarts.hurry() {
		return true
	}
	if !g.cfg.Settings.Snapshot().Config.Commands.Restart {
		return false
	}
	g.restarts.ask("SIGUSR1")
	return true
}

// planRestart plans a restart for a method and describes it. Delay nil means two
// seconds.
func (g *Gateway) planRestart(delay *int64, why string) protocol.Restart {
	wait := restartDelay
	if delay != nil {
		wait = time.Duration(min(*delay, maxRestartDelay.Milliseconds())) * time.Millisecond
	}
	wait = g.restarts.plan(wait, why)
	g.log.Info("restart planned", "reason", why, "ms", wait.Milliseconds())
	return protocol.Restart{OK: true, PID: os.Getpid(), Signal: "SIGUSR1", DelayMs: wait.Milliseconds(), Reason: why, Mode: "emit"}
}

// rehearse finds out whether a start with the config file as it lies on disk
// would succeed: a gateway that runs is not given up for one that does not.
func (g *Gateway) rehearse(now net.Addr) error {
	next, err := g.planFor(g.cfg.Settings.Read())
	if err != nil {
		return err
	}
	at, ok := now.(*net.TCPAddr)
	if !ok || next.port == 0 || next.port == at.Port && next.host == at.IP.String() {
		return nil
	}
	l, err := net.Listen("tcp", net.JoinHostPort(next.host, fmt.Sprint(next.port)))
	if err != nil {
		if next.port == at.Port {
			return nil // our own listener may be what is in the way
		}
		return fmt.Errorf("listen: %w", err)
	}
	return l.Close()
}
