package shell

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"openclaw/internal/tool"
)

// Config holds what [New] needs. Only Env is required.
type Config struct {
	// Env is the environment of commands, as "KEY=value".
	Env []string
	// Home is what ~ stands for and where a command runs whose folder is gone.
	Home string
	// Shell is the absolute path of the user's shell; default /bin/sh. fish, which
	// reads another language, gives way to bash where there is one.
	Shell string
	// MaxOutput is how many characters of a command's output are kept, the last
	// ones; default 200000, at least 1000 and at most the default.
	MaxOutput int
	// MaxUnread is how many characters one poll returns; default and bounds as above.
	MaxUnread int
	// MaxRunning bounds the commands that run at a time; default 64.
	MaxRunning int
	// OnExit is told of each background command that ended by itself, from the
	// goroutine that waited for it, and unless its scope is quiet. Default: nobody is.
	OnExit func(Exit)
	// Approver decides about commands on the gateway host that policy does not
	// allow outright. Without one they are refused.
	Approver Approver
}

// ErrClosed is what exec fails with once the [Shell] is closed.
var ErrClosed = errors.New("the gateway is stopping, no more commands are started")

// Shell starts commands and owns them until they have ended. It is safe for
// concurrent use.
type Shell struct {
	cfg      Config
	shell    string // the program that takes -c
	sessions registry
}

// New returns a shell without commands. It starts nothing.
func New(cfg Config) *Shell {
	cfg.MaxOutput = within(cfg.MaxOutput, 200_000, 1000, 200_000)
	cfg.MaxUnread = within(cfg.MaxUnread, 200_000, 1000, 200_000)
	cfg.MaxRunning = cmp.Or(cfg.MaxRunning, 64)
	sh := &Shell{cfg: cfg, shell: pickShell(cfg.Shell, cfg.Env)}
	sh.sessions.init(cfg.MaxRunning)
	return sh
}

// within returns v between low and high, def if v is not set.
func within[T int | time.Duration](v, def, low, high T) T {
	if v <= 0 {
		v = def
	}
	return min(max(v, low), high)
}

// Scope says for whom tools run commands.
type Scope struct {
	// AgentID owns what is started: process shows an agent its own commands only.
	AgentID string
	// SessionKey is told to [Config.OnExit].
	SessionKey string
	// Dir is the absolute folder where commands run unless they say otherwise.
	Dir string
	// Env is added to [Config.Env].
	Env []string

	Settings Settings
	Elevated Elevated
	// Foreground makes every command run to its end within the call, because the
	// run has no process tool to follow up with.
	Foreground bool
}

// Settings is tools.exec of the configuration with the session's overrides.
type Settings struct {
	Host     string // sandbox, gateway or node; default sandbox
	Security string // deny, allowlist or full; default deny on sandbox, else allowlist
	Ask      string // off, on-miss or always; default on-miss
	Node     string
	// PathPrepend goes in front of PATH.
	PathPrepend []string
	Yield       time.Duration // until a command moves to the background; default 10 s, 10 ms to 2 min
	Timeout     time.Duration // of a command; default 30 min
	TTL         time.Duration // for which a finished background command is kept; default 30 min, 1 min to 3 h
	Quiet       bool          // do not tell Config.OnExit
}

// Tools returns exec and process for s.
func (sh *Shell) Tools(s Scope) []tool.Tool {
	t := &tools{sh: sh, scope: s}
	return []tool.Tool{t.execTool(), t.processTool()}
}

// tools are the tools of one scope.
type tools struct {
	sh    *Shell
	scope Scope
}

// Run waits for ctx to end and closes the shell. It returns nil.
func (sh *Shell) Run(ctx context.Context) error {
	<-ctx.Done()
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	return sh.Close(grace)
}

// Close kills every running command with all it started, waits for them and
// forgets the finished ones. It fails if ctx ends first, as with a process that
// the kernel cannot end. More calls do no harm.
func (sh *Shell) Close(ctx context.Context) error {
	for _, s := range sh.sessions.close() {
		s.kill(endClose)
	}
	gone := make(chan struct{})
	var waiter sync.WaitGroup
	waiter.Go(func() {
		sh.sessions.work.Wait()
		close(gone)
	})
	select {
	case <-gone:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait for %d commands to end: %w", sh.sessions.running(), context.Cause(ctx))
	}
}

// start starts a command and its two goroutines.
func (sh *Shell) start(p *plan, scope Scope) (*session, error) {
	s := &session{
		scope: scope, command: p.command, dir: p.dir, timeout: p.timeout,
		changed: make(chan struct{}, 1), lingering: make(chan struct{}), killed: make(chan struct{}),
		done: make(chan struct{}), eof: make(chan struct{}),
		output: tail{limit: sh.cfg.MaxOutput}, unreadMax: sh.cfg.MaxUnread,
		background: p.background,
	}
	if err := sh.sessions.enter(s); err != nil {
		return nil, err
	}
	defer sh.sessions.work.Done()
	l := launch{shell: sh.shell, command: p.command, dir: p.dir, env: p.env, input: !scope.Foreground}
	proc, err := p.launch(l)
	if err != nil {
		sh.sessions.remove(s)
		return nil, err
	}
	s.proc = proc
	s.started = time.Now()
	sh.sessions.work.Go(s.read)
	sh.sessions.work.Go(func() {
		s.supervise()
		sh.ended(s)
	})
	if sh.sessions.started(s) { // closed meanwhile
		s.kill(endClose)
	}
	return s, nil
}

// ended files a session that has ended and tells about it.
func (sh *Shell) ended(s *session) {
	kept := sh.sessions.ended(s)
	why := s.look().end.why
	if kept && sh.cfg.OnExit != nil && !s.scope.Settings.Quiet && (why == "" || why == endTimeout) {
		sh.cfg.OnExit(s.exit())
	}
}
