package shell

import (
	"sync"
	"time"
)

const (
	// lingerAfter is how long a command that has ended waits for the processes
	// that still hold its output before that is worth telling.
	lingerAfter = 500 * time.Millisecond
	// closeAfter is how long after a kill the output may take to end.
	closeAfter = 250 * time.Millisecond

	tailChars = 2000
)

// ending says why a session was made to end; empty means by itself.
type ending string

const (
	endTimeout ending = "timeout"
	endAbort   ending = "abort"
	endKill    ending = "kill" // by the process tool
	endClose   ending = "close"
)

// session is one command with its output. It ends when the command has ended
// and nothing holds its output any more.
type session struct {
	id      string
	scope   Scope
	command string
	dir     string
	timeout time.Duration // 0 for none
	started time.Time
	proc    *proc

	// changed has room for one signal: there is new output.
	changed chan struct{}
	// lingering is closed when the command has ended but its output is held open.
	lingering chan struct{}
	// killed is closed with the first kill.
	killed chan struct{}
	// done is closed when the session has ended; its end is then settled.
	done chan struct{}
	eof  chan struct{} // closed by the reader

	mu         sync.Mutex
	output     tail
	unread     int // characters that poll has not returned yet
	unreadMax  int
	background bool
	removed    bool // by the process tool
	why        ending
	end        *end

	// Guarded by the registry.
	ready  bool        // started
	kept   int         // bytes, once finished
	expire *time.Timer // forgets a finished session
}

// end is how a session ended.
type end struct {
	at     time.Time
	status exitStatus
	why    ending
}

// failed reports whether the end is anything but exit code 0.
func (e end) failed() bool { return e.why != "" || e.status.signal != "" || e.status.code != 0 }

// supervise waits for the command and settles the end. It returns when the
// session has ended.
func (s *session) supervise() {
	var limit *time.Timer
	if s.timeout > 0 {
		limit = time.AfterFunc(s.timeout, func() { s.kill(endTimeout) })
	}
	s.proc.wait()
	s.awaitOutput()
	if limit != nil {
		limit.Stop()
	}
	if s.wasKilled() {
		s.proc.kill() // what was started between the first kill and now
	}
	status := s.proc.reap()
	s.proc.close()
	<-s.eof

	s.mu.Lock()
	s.output.settle()
	s.end = &end{at: time.Now(), status: status, why: s.why}
	s.mu.Unlock()
	close(s.done)
}

// awaitOutput returns when the output has ended, or soon after a kill: whoever
// escaped the kill may hold it for ever.
func (s *session) awaitOutput() {
	linger := time.NewTimer(lingerAfter)
	defer linger.Stop()
	for {
		select {
		case <-s.eof:
			return
		case <-linger.C:
			close(s.lingering)
		case <-s.killed:
			grace := time.NewTimer(closeAfter)
			defer grace.Stop()
			select {
			case <-s.eof:
			case <-grace.C:
			}
			return
		}
	}
}

// kill ends the session for the given reason, unless it is ending already.
func (s *session) kill(why ending) {
	s.mu.Lock()
	if s.end != nil {
		s.mu.Unlock()
		return
	}
	first := !s.wasKilled()
	if s.why == "" {
		s.why = why
	}
	if first {
		close(s.killed)
	}
	s.mu.Unlock()
	s.proc.kill()
}

// release kills what a command left behind that has itself ended well.
func (s *session) release() { s.kill("") }

func (s *session) wasKilled() bool {
	select {
	case <-s.killed:
		return true
	default:
		return false
	}
}

// read moves output into the tail until it ends. It paces a flood, so that a
// command that writes without end leaves the machine to others.
func (s *session) read() {
	defer close(s.eof)
	clean := cleaner{}
	if s.proc.tty {
		clean.onCursorQuery = func() { _, _ = s.proc.write([]byte("\x1b[1;1R"), 100*time.Millisecond) }
	}
	var p pacer
	buf := make([]byte, 32*1024)
	for {
		n, err := s.proc.out.Read(buf)
		if n > 0 {
			s.add(clean.clean(buf[:n]))
		}
		if err != nil { // end of file; on a terminal an error that says the same
			s.add(clean.flush())
			return
		}
		p.pause(n, s.killed)
	}
}

func (s *session) add(text []byte) {
	if len(text) == 0 {
		return
	}
	s.mu.Lock()
	before := s.output.total
	s.output.add(text)
	s.unread = min(s.unread+int(s.output.total-before), s.unreadMax)
	s.mu.Unlock()
	select {
	case s.changed <- struct{}{}:
	default: // the reader of the signal will see this output too
	}
}

// toBackground hands the session over to the process tool. It reports false if
// the session has ended.
func (s *session) toBackground() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.end == nil {
		s.background = true
	}
	return s.background
}

// reachable reports whether the process tool may see s.
func (s *session) reachable() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.background && !s.removed
}

// view is a consistent look at a session.
type view struct {
	output string // everything kept
	cut    bool   // there was more
	total  int64
	tail   string
	end    *end // nil while it runs
}

func (s *session) look() view {
	s.mu.Lock()
	defer s.mu.Unlock()
	return view{output: s.output.text(), cut: s.output.cut(), total: s.output.total, tail: s.output.last(tailChars), end: s.end}
}

// lookTail is look without the whole output.
func (s *session) lookTail() view {
	s.mu.Lock()
	defer s.mu.Unlock()
	return view{cut: s.output.cut(), total: s.output.total, tail: s.output.last(tailChars), end: s.end}
}

// drain returns the output that was not returned before.
func (s *session) drain() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	text := s.output.last(s.unread)
	s.unread = 0
	return text
}

// size is about what a finished session costs to keep.
func (s *session) size() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return 1024 + len(s.command) + len(s.output.buf)
}

// pacer slows a reader down once it has had its burst.
type pacer struct {
	start time.Time
	bytes int64
}

const (
	paceBurst = 64 << 20 // bytes
	paceRate  = 64 << 20 // bytes a second afterwards
)

// pause waits as long as n more bytes are early, or until stop.
func (p *pacer) pause(n int, stop <-chan struct{}) {
	if p.bytes += int64(n); p.bytes < paceBurst {
		return
	}
	if p.start.IsZero() {
		p.start = time.Now()
	}
	due := time.Duration(float64(p.bytes-paceBurst) / paceRate * float64(time.Second))
	early := due - time.Since(p.start)
	if early < 10*time.Millisecond {
		return
	}
	t := time.NewTimer(early)
	defer t.Stop()
	select {
	case <-t.C:
	case <-stop:
	}
}
