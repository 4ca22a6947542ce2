package agent

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"openclaw/internal/model"
	"openclaw/internal/run"
	"openclaw/internal/session"
	"openclaw/internal/tool"
	"openclaw/internal/workspace"
)

// DefaultTimeout bounds a run unless the configuration or the request says
// otherwise (agents.defaults.timeoutSeconds).
const DefaultTimeout = 600 * time.Second

// Settings is what the configuration says about one agent. It is read anew for
// every run. Empty fields mean the defaults.
type Settings struct {
	Workspace         string // absolute folder, required
	SkipBootstrap     bool   // do not create workspace files
	BootstrapMaxChars int    // default workspace.DefaultMaxChars
	RepoRoot          string // default: the repository around the workspace
	// Zone is the user's time zone; default the machine's.
	Zone    *time.Location
	Timeout time.Duration // default [DefaultTimeout]

	Thinking, Verbose, Elevated string // default levels

	// Model is the agent's own choice, empty for the directory's default.
	Model string
	// Fallbacks replaces the default fallbacks; nil keeps them, empty disables.
	Fallbacks []string
	// Aliases are shown to the model, name to ref.
	Aliases map[string]string

	Owners          []string // commands.ownerAllowFrom
	HeartbeatPrompt string   // default: our own
	MemoryCitations bool     // memory.citations on
	QueueMode       string   // messages.queue.mode, for the status card
}

// ToolScope says for whom tools are wanted.
type ToolScope struct {
	AgentID, SessionKey, SessionID string
	Workspace                      string
	Channel                        string
	Model                          model.Ref
	// Entry holds the session's exec overrides.
	Entry    session.Entry
	Elevated string
}

// Config joins an [Agent] to the rest. All functions must be cheap and safe for
// concurrent use.
type Config struct {
	// Sessions returns the store of an agent.
	Sessions func(agentID string) (*session.Store, error)
	// Models returns the models an agent may use, with its credentials.
	Models func(agentID string) *model.Directory
	// Settings returns the present configuration of an agent.
	Settings func(agentID string) Settings
	// Tools returns the tools of a run: its own choice and those given as own,
	// filtered by policy.
	Tools func(scope ToolScope, own []tool.Tool) []tool.Tool
	// Emit takes the events of all runs, those of one run in order. It must not
	// block for long and must not call the agent.
	Emit func(run.Event)

	Version string // of the program, for the status card
	Host    string // name of this machine
	Home    string // the user's home folder, shown as "~"
	// Docs is a folder with documentation, DocsURL its place on the web.
	Docs, DocsURL string

	Log *slog.Logger     // default: discarded
	Now func() time.Time // default time.Now
}

// Agent executes runs. It is safe for concurrent use.
type Agent struct {
	cfg Config
	now func() time.Time
	log *slog.Logger

	files workspace.Cache

	mu     sync.Mutex
	active map[run.ID]*mailbox
}

// New returns an agent over cfg.
func New(cfg Config) *Agent {
	a := &Agent{cfg: cfg, now: cfg.Now, log: cfg.Log, active: map[run.ID]*mailbox{}}
	if a.now == nil {
		a.now = time.Now
	}
	a.log = cmp.Or(a.log, slog.New(slog.DiscardHandler))
	return a
}

// errInternal is what the world learns of a panic.
var errInternal = errors.New("the run failed because of an internal error of the gateway; its log has the details")

// Run executes one run and returns when nothing of it is left. The caller holds
// the session's lane. Events go to Config.Emit, exactly one of them terminal.
//
// A model that fails is part of the outcome: its error is the first payload. An
// error is returned when the run itself could not go on. Cancelling ctx with a
// [run.Abort] as cause ends the run with an aborted outcome and no error. The
// outcome's Unseen is valid in every case.
func (a *Agent) Run(ctx context.Context, req run.Request) (out run.Outcome, err error) {
	log := a.log.With("run", req.ID, "session", cmp.Or(req.SessionKey, req.SessionID))
	events := newEmitter(req, a.cfg.Emit, a.now)
	box := a.open(req.ID)
	defer func() {
		if p := recover(); p != nil {
			log.Error("run panicked", "panic", p, "stack", string(debug.Stack()))
			err = errInternal
		}
		out.Unseen = a.close(req.ID, box)
		if err != nil {
			a.endFailed(events, log, err)
		}
	}()
	j := &job{agent: a, req: req, log: log, events: events, box: box, began: a.now()}
	return j.run(ctx)
}

// endFailed tells the end of a run that could not go on. What takes the events
// may be what panicked, so it gets no second chance to end the process.
func (a *Agent) endFailed(events *emitter, log *slog.Logger, err error) {
	defer func() {
		if p := recover(); p != nil {
			log.Error("event not delivered", "panic", p, "stack", string(debug.Stack()))
		}
	}()
	events.end(run.Lifecycle{Phase: run.PhaseError, Error: err.Error()})
}

// Steer hands a message to a run that is at work. False means that there is no
// such run or that it does not take messages any more; the message is then the
// caller's again. A true answer means that the run reads it before its next
// model call, or returns it in Outcome.Unseen.
func (a *Agent) Steer(id run.ID, s run.Steer) bool {
	a.mu.Lock()
	box := a.active[id]
	a.mu.Unlock()
	return box != nil && box.put(s)
}

func (a *Agent) open(id run.ID) *mailbox {
	box := &mailbox{}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.active[id] = box
	return box
}

func (a *Agent) close(id run.ID, box *mailbox) []run.Steer {
	a.mu.Lock()
	if a.active[id] == box {
		delete(a.active, id)
	}
	a.mu.Unlock()
	return box.close()
}
