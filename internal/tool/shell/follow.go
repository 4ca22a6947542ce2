package shell

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"openclaw/internal/tool"
)

const (
	// updateEvery spaces the partial results of a command.
	updateEvery = 200 * time.Millisecond
	// abortGrace is how long an aborted call waits for its processes to be gone.
	abortGrace = 2 * time.Second
)

// completed and running are the details of exec.
type completed struct {
	Status     string `json:"status"` // completed
	ExitCode   int    `json:"exitCode"`
	DurationMs int64  `json:"durationMs"`
	Aggregated string `json:"aggregated"`
	Cwd        string `json:"cwd"`
}

type running struct {
	Status    string `json:"status"` // running
	SessionID string `json:"sessionId"`
	PID       int    `json:"pid"`
	StartedAt int64  `json:"startedAt"`
	Cwd       string `json:"cwd"`
	Tail      string `json:"tail"`
}

// follow stays with a command until it ends or moves to the background. Ending
// ctx kills it.
func (t *tools) follow(ctx context.Context, call tool.Call, s *session, p plan) (tool.Result, error) {
	if p.background {
		return s.runningResult(p), nil
	}
	var yield <-chan time.Time
	if p.yield > 0 {
		timer := time.NewTimer(p.yield)
		defer timer.Stop()
		yield = timer.C
	}
	lingering := s.lingering
	update := newUpdater(call, s)
	defer update.stop()
	for {
		select {
		case <-s.done:
			update.first()
			return s.finishedResult(p)
		case <-ctx.Done():
			return tool.Result{}, s.abort()
		case <-yield:
			if s.toBackground() {
				return s.runningResult(p), nil
			}
			yield = nil // it has just ended
		case <-lingering:
			// The command has ended, what it started holds its output. Where nobody could
			// look after that later, it ends here.
			if lingering = nil; p.yield == 0 {
				s.release()
			} else if s.toBackground() {
				return s.runningResult(p), nil
			}
		case <-s.changed:
			update.soon()
		case <-update.due:
			update.send()
		}
	}
}

// abort kills the command of a call that was given up.
func (s *session) abort() error {
	s.kill(endAbort)
	select {
	case <-s.done:
	case <-time.After(abortGrace):
	}
	v := s.look()
	return errors.New(joinReason(v, "Command aborted"))
}

// updater sends partial results: the first at once, later ones spaced.
type updater struct {
	call tool.Call
	s    *session
	due  <-chan time.Time // nil while nothing is pending
	t    *time.Timer
	last time.Time
}

func newUpdater(call tool.Call, s *session) *updater { return &updater{call: call, s: s} }

func (u *updater) soon() {
	if u.due != nil {
		return
	}
	if wait := updateEvery - time.Since(u.last); wait > 0 {
		u.t = time.NewTimer(wait)
		u.due = u.t.C
		return
	}
	u.send()
}

// first sends the output of a command that ended before anybody looked: whether
// there is an update must not depend on who was quicker.
func (u *updater) first() {
	select {
	case <-u.s.changed:
		if u.last.IsZero() {
			u.send()
		}
	default:
	}
}

func (u *updater) send() {
	u.due, u.last = nil, time.Now()
	r := u.s.progress()
	u.call.Update(r)
}

func (u *updater) stop() {
	if u.t != nil {
		u.t.Stop()
	}
}

// progress is the partial result of a running command.
func (s *session) progress() tool.Result {
	v := s.lookTail()
	r := tool.Text(v.tail)
	r.Details = s.runningDetails(v)
	return r
}

func (s *session) runningDetails(v view) running {
	return running{Status: "running", SessionID: s.id, PID: s.proc.pid(), StartedAt: s.started.UnixMilli(), Cwd: s.dir, Tail: v.tail}
}

// runningResult is the answer for a command that went to the background.
func (s *session) runningResult(p plan) tool.Result {
	text := fmt.Sprintf("Command still running (session %s, pid %d). Follow it with process: list, poll, log, write, kill, clear or remove.", s.id, s.proc.pid())
	select {
	case <-s.lingering:
		text = fmt.Sprintf("The command has ended, but processes it started are still running and hold its output (session %s, group %d). "+
			"Follow them with process: list, poll, log, kill or remove.", s.id, s.proc.pid())
	default:
	}
	r := tool.Text(p.preface() + text)
	r.Details = s.runningDetails(s.lookTail())
	return r
}

// finishedResult is the answer for a command that has ended. Anything but exit
// code 0 is an error.
func (s *session) finishedResult(p plan) (tool.Result, error) {
	v := s.look()
	if v.end.failed() {
		return tool.Result{}, errors.New(p.preface() + joinReason(v, s.reason(*v.end)))
	}
	output := trimOutput(v.output)
	text := output
	if text == "" {
		text = "(no output)"
	}
	r := tool.Text(p.preface() + v.cutNote() + text)
	r.Details = completed{Status: "completed", ExitCode: 0, DurationMs: v.end.at.Sub(s.started).Milliseconds(), Aggregated: output, Cwd: s.dir}
	return r, nil
}

// reason words why a command counts as failed.
func (s *session) reason(e end) string {
	switch {
	case e.why == endTimeout:
		return fmt.Sprintf("Command timed out after %s seconds", strings.TrimSuffix(fmt.Sprintf("%.3f", s.timeout.Seconds()), ".000"))
	case e.why != "":
		return "Command aborted"
	case e.status.signal != "":
		return "Command aborted by signal " + e.status.signal
	}
	return fmt.Sprintf("Command exited with code %d", e.status.code)
}

// joinReason is the output, a blank line and the reason.
func joinReason(v view, reason string) string {
	if output := trimOutput(v.output); output != "" {
		return v.cutNote() + output + "\n\n" + reason
	}
	return reason
}

// cutNote says that output is missing in front.
func (v view) cutNote() string {
	if !v.cut {
		return ""
	}
	return fmt.Sprintf("[Output cut: the command wrote %d characters, these are the last.]\n", v.total)
}

// trimOutput takes blank lines off both ends and white space off the last.
func trimOutput(s string) string {
	s = strings.TrimRight(s, " \t\r\n")
	for {
		line, rest, ok := strings.Cut(s, "\n")
		if !ok || strings.TrimSpace(line) != "" {
			return s
		}
		s = rest
	}
}

func (p plan) preface() string {
	if len(p.warnings) == 0 {
		return ""
	}
	return strings.Join(p.warnings, "\n") + "\n\n"
}
