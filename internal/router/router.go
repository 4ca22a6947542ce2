package router

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"openclaw/internal/chat"
	"openclaw/internal/config"
	"openclaw/internal/lane"
	"openclaw/internal/ledger"
	"openclaw/internal/model"
	"openclaw/internal/run"
	"openclaw/internal/session"
)

// Runner executes runs. Run returns when nothing of the run is left and has then
// sent exactly one terminal event to [Router.Publish]; cancelling ctx with a
// [run.Abort] ends it soon. Steer hands a message to a live run and reports
// whether it takes it. [openclaw/internal/agent.Agent] is one.
type Runner interface {
	Run(ctx context.Context, req run.Request) (run.Outcome, error)
	Steer(id run.ID, s run.Steer) bool
}

// Config joins a [Router] to the rest. The functions must be cheap and safe for
// concurrent use.
type Config struct {
	Runner Runner
	Lanes  *lane.Lanes
	// Config returns the present configuration.
	Config func() *config.Config
	// Sessions returns the store of an agent.
	Sessions func(agentID string) (*session.Store, error)
	// Models returns the models of an agent.
	Models func(agentID string) *model.Directory
	// Status describes a session for /status.
	Status func(agentID, sessionKey string) (run.Card, error)
	// Workspace names an agent's folder, for headers of new transcripts.
	Workspace func(agentID string) string
	// Emit takes the events of all runs, those of one run in order.
	Emit func(run.Event)
	// Ledger remembers what is accepted beyond the end of the process. Without one
	// nothing is remembered, which is right for runs that a command does itself.
	Ledger *ledger.Ledger

	Log *slog.Logger     // default: discarded
	Now func() time.Time // default time.Now
}

// Router takes requests in and sees them through. It is safe for concurrent use.
type Router struct {
	cfg  Config
	now  func() time.Time
	log  *slog.Logger
	runs *runs
	wg   sync.WaitGroup // one per accepted run

	// accept makes one step of deciding what becomes of a message and taking its
	// place in the lane, so that the order of decisions is the order of execution.
	// It is held for memory operations only.
	accept   sync.Mutex
	overflow map[string]*overflow // by lane, what was dropped since the last turn

	notices    notices
	recovering chan struct{} // one place, held by Recover
}

// New returns a router over cfg.
func New(cfg Config) *Router {
	rt := &Router{cfg: cfg, now: cfg.Now, log: cmp.Or(cfg.Log, slog.New(slog.DiscardHandler)), overflow: map[string]*overflow{}, recovering: make(chan struct{}, 1)}
	if rt.now == nil {
		rt.now = time.Now
	}
	rt.runs = newRuns(rt.now)
	return rt
}

// Publish takes an event of the Runner: it is passed to Config.Emit and then
// tells those who wait for the run. Whoever hears of an end can rely on it: the
// ledger has it by then.
func (rt *Router) Publish(e run.Event) {
	if e.Terminal() {
		rt.conclude(e.RunID, *e.Lifecycle)
	}
	rt.cfg.Emit(e)
	rt.runs.note(e)
}

// Wait returns how a run ended, waiting for it up to timeout; endings are
// remembered for ten minutes. False means that it has not ended, or that nobody
// has heard of it. A timeout does not touch the run.
func (rt *Router) Wait(ctx context.Context, id run.ID, timeout time.Duration) (Snapshot, bool) {
	return rt.runs.wait(ctx, id, timeout)
}

// Active lists the runs that are under way, oldest first.
func (rt *Router) Active() []Active { return rt.runs.list() }

// Find returns a run that is under way: when it is done, [Router.Previous] knows all of
// it. Nil when there is none.
func (rt *Router) Find(id run.ID) *Run { return rt.runs.find(id) }

// Busy reports whether the run with id is under way.
func (rt *Router) Busy(id run.ID) bool { return rt.runs.find(id) != nil }

// stopTimeout bounds how long an aborted run may take to end.
const stopTimeout = 10 * time.Second

// Drain closes the door, waits for the runs that are under way until ctx ends,
// then aborts them and waits until they are gone. The error says how many runs
// had to be aborted.
func (rt *Router) Drain(ctx context.Context) error {
	rt.runs.close()
	select {
	case <-rt.runs.idle:
	case <-ctx.Done():
	}
	n := rt.runs.abortAll(run.AbortShutdown)
	if n == 0 {
		rt.wg.Wait()
		return nil
	}
	timer := time.NewTimer(stopTimeout)
	defer timer.Stop()
	select {
	case <-rt.runs.idle:
		rt.wg.Wait()
		return fmt.Errorf("stop runs: %d aborted: %w", n, context.Cause(ctx))
	case <-timer.C:
		return fmt.Errorf("stop runs: %d of %d aborted runs did not end: %w", len(rt.runs.list()), n, context.Cause(ctx))
	}
}

// door is what a request needs to know about where it goes.
type door struct {
	config  *config.Config
	key     string // canonical session key
	agentID string
	store   *session.Store
}

// open finds the agent and the store of the key of a session that may run.
func (rt *Router) open(sessionKey string) (door, error) {
	if rt.canonical(sessionKey) == chat.UnknownKey {
		return door{}, &Error{fmt.Sprintf("invalid session key %q", sessionKey)}
	}
	d, err := rt.locate(sessionKey)
	if err != nil {
		return d, err
	}
	if _, known := d.store.Get(d.key); !known {
		err = checkNewKey(d.key)
	}
	return d, err
}

// maxKey bounds the key of a new session, in bytes. What surfaces make up is far below.
const maxKey = 512

// checkNewKey refuses keys that would be a nuisance wherever sessions are listed. Those
// that are stored already stay as they are.
func checkNewKey(key string) error {
	switch {
	case len(key) > maxKey:
		return &Error{fmt.Sprintf("session key has %d bytes, want at most %d", len(key), maxKey)}
	case strings.ContainsFunc(key, unicode.IsControl):
		return &Error{fmt.Sprintf("session key %q must not hold control characters", key)}
	}
	return nil
}

// locate finds the agent and the store of a session key.
func (rt *Router) locate(sessionKey string) (door, error) {
	c := rt.cfg.Config()
	d := door{config: c, key: chat.CanonicalKey(sessionKey, c.DefaultAgentID(), c.Session.Global())}
	if d.key == "" {
		return d, &Error{fmt.Sprintf("invalid session key %q", sessionKey)}
	}
	d.agentID = chat.AgentOf(d.key, c.DefaultAgentID())
	if !slices.Contains(c.AgentIDs(), d.agentID) {
		return d, &Error{fmt.Sprintf("unknown agent id %q", d.agentID)}
	}
	var err error
	d.store, err = rt.cfg.Sessions(d.agentID)
	return d, err
}

// zone returns the user's time zone; the machine's when none is set or the name
// is not known.
func (rt *Router) zone(c *config.Config) *time.Location {
	if name := c.Agents.Defaults.UserTimezone; name != "" {
		zone, err := time.LoadLocation(name)
		if err == nil {
			return zone
		}
		rt.log.Warn("time zone is not known", "zone", name, "err", err)
	}
	return time.Local
}

// start gives r its place in the lane of its session; there it runs once
// [Router.admit] has let it. Places are taken in the order of calls; rt.accept is
// held.
func (rt *Router) start(ctx context.Context, r *Run) error {
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	r.cancel = cancel
	if err := rt.runs.add(r); err != nil {
		cancel(nil)
		return err
	}
	rt.enroll(r)
	place := rt.cfg.Lanes.Queue(lane.Session(r.lane()))
	rt.wg.Go(func() {
		defer cancel(nil)
		rt.execute(ctx, r, place)
	})
	return nil
}

// execute waits for the lanes, runs r and settles what it left.
func (rt *Router) execute(ctx context.Context, r *Run, place *lane.Place) {
	<-r.admitted
	if r.refused != nil {
		place.Leave()
		rt.runs.finish(r, run.Outcome{}, r.refused)
		return
	}
	var out run.Outcome
	started := false
	err := place.Do(ctx, func(ctx context.Context) error {
		if r.queued {
			if err := rt.quiet(ctx, r); err != nil {
				return err
			}
		}
		return rt.cfg.Lanes.Do(ctx, cmp.Or(r.req.Lane, lane.Main), func(ctx context.Context) (err error) {
			if started = rt.runs.begin(r); !started {
				return context.Cause(ctx)
			}
			req := r.req
			req.Prompt = rt.withNotices(req.SessionKey, req.Prompt)
			out, err = rt.cfg.Runner.Run(ctx, req)
			return err
		})
	})
	if !started {
		out, err = rt.neverStarted(ctx, r), nil
	}
	if err != nil {
		rt.log.Warn("run failed", "run", r.req.ID, "session", r.lane(), "err", err)
	}
	rt.carryOn(ctx, r, out.Unseen)
	rt.record(r, out, err)
	rt.runs.finish(r, out, err)
}

// neverStarted ends a run that was stopped while it waited.
func (rt *Router) neverStarted(ctx context.Context, r *Run) run.Outcome {
	why, ok := context.Cause(ctx).(run.Abort)
	if !ok {
		why = run.AbortStop // its lane was cleared
	}
	now := rt.now()
	rt.Publish(run.Event{RunID: r.req.ID, Seq: 1, Stream: run.StreamLifecycle, At: now,
		SessionKey: r.req.EventKey, AgentID: r.req.AgentID, SessionID: r.req.SessionID,
		Lifecycle: &run.Lifecycle{Phase: run.PhaseEnd, EndedAt: now, Aborted: true, StopReason: string(why)}})
	return run.Outcome{Payloads: []run.Payload{}, Meta: run.Meta{Aborted: true, AgentMeta: run.AgentMeta{SessionID: r.req.SessionID}}}
}
