package gateway

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"openclaw/internal/logs"
	"openclaw/internal/pairing"
	"openclaw/internal/router"
	"openclaw/internal/run"
	"openclaw/internal/session"
	"openclaw/protocol"
)

// Config is what a gateway needs. Values that come from flags or the
// environment win over the config file.
type Config struct {
	// Settings is the config file.
	Settings Settings
	// Router takes every message.
	Router *router.Router
	// Sessions returns the session store of an agent; the router has the same.
	Sessions func(agentID string) (*session.Store, error)
	// Models knows the models.
	Models Models
	// Devices is the device pairing store.
	Devices *pairing.Devices
	// Workspace names the folder of an agent.
	Workspace func(agentID string) string

	// ConfigPath and StateDir are told to admins; StateDir also holds the TLS files.
	ConfigPath, StateDir string
	// TempDir holds the single-instance lock.
	TempDir string

	// Version names this build; default "dev".
	Version string
	// Host is the name of this machine, Kernel the release of its system.
	Host, Kernel string
	// Port to listen on; nil means the one of the config file, else 18789. 0 takes
	// a free port.
	Port *int
	// Bind and CustomBindHost override the config file when set.
	Bind, CustomBindHost string
	// AuthMode, Token and Password override the config file when set.
	AuthMode        string
	Token, Password logs.Secret
	// TailscaleMode overrides gateway.tailscale.mode when set.
	TailscaleMode string
	// AllowUnconfigured lets the gateway start without gateway.mode "local".
	AllowUnconfigured bool
	// AllowMulti turns the single-instance lock off.
	AllowMulti bool
	// LogPath returns the current log file, for logs.tail.
	LogPath func() string
	// Whois asks the local Tailscale daemon whose address this is. Without it no
	// Tailscale identity is accepted.
	Whois func(ctx context.Context, addr netip.Addr) (login string, err error)
	// Recover is called once, when this is the only gateway of its state and before it
	// accepts connections.
	Recover func(ctx context.Context) error
	// Listening is called once with the address, when connections are accepted.
	Listening func(addr net.Addr, tlsFingerprint string)
	// Ending is called when the gateway begins to end, for whatever reason.
	Ending func()
	// Grace is how long runs may take to end on shutdown; default 3 s.
	Grace time.Duration
	// Log defaults to nothing.
	Log *slog.Logger
}

// Gateway is the WebSocket and HTTP surface. See the package comment.
type Gateway struct {
	cfg      Config
	log      *slog.Logger
	methods  map[string]method
	features [3]protocol.HelloFeatures // by dialect
	bootID   string
	started  time.Time

	hub      hub
	presence *presence
	health   health
	state    *pulse // tells of presence and health
	runs     runs
	feed     feed
	answers  dedupe
	limiter  failureLimiter
	refusals quiet // lines about those who are not let in
	preauth  addrCounter
	restarts *restarts
	beats    heartbeats
	costs    costs
	// schemaDoc describes the config file; it is made on first use.
	schemaDoc func() ([]byte, error)

	ready    atomic.Bool // connections are accepted
	stopping atomic.Bool // no new work is accepted
	// conns and requests are waited for on shutdown.
	conns         sync.WaitGroup
	requests      sync.WaitGroup
	settingsCache atomic.Pointer[settings]
}

// New returns a gateway that does nothing until Run.
func New(cfg Config) *Gateway {
	cfg.Version = cmp.Or(cfg.Version, "dev")
	cfg.Grace = cmp.Or(cfg.Grace, 3*time.Second)
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	g := &Gateway{
		cfg:     cfg,
		log:     cfg.Log.With("subsystem", "gateway"),
		methods: methodTable(),
		bootID:  newID(),
		started: time.Now(),
		state:   newPulse(stateEvery),

		restarts:  newRestarts(),
		schemaDoc: sync.OnceValues(func() ([]byte, error) { return encodeSchema(cfg.Version) }),
	}
	g.presence = newPresence(selfEntry(cfg.Host, cfg.Version, cfg.Kernel))
	g.health.build = g.buildHealth
	g.health.stale = func() { g.state.trigger(wishFresh) }
	g.features = features(g.methods)
	g.feed = newFeed(&g.hub, g.log)
	g.runs.hub, g.runs.log = &g.hub, g.log
	g.runs.canonical = g.canonicalKey
	return g
}

// Publish tells subscribers what a run does. Events of one run must come one
// after another. It may wait some milliseconds for clients that are behind, but
// never for one that does not read.
func (g *Gateway) Publish(e run.Event) {
	g.runs.Publish(e)
	g.ran(e)
}

// Run takes the instance lock, listens and serves until ctx ends or a restart is
// due. Then it stops taking work, lets runs finish for the grace period, says
// goodbye to every connection and returns nil, or [ErrRestart]. Errors of the
// start are *[RunningError], *[InUseError] and texts for the operator.
func (g *Gateway) Run(ctx context.Context) error {
	plan, err := g.planFor(g.cfg.Settings.Snapshot())
	if err != nil {
		return err
	}
	if !g.cfg.AllowMulti {
		lock, err := lockInstance(ctx, g.cfg.TempDir, g.cfg.ConfigPath)
		if err != nil {
			return err
		}
		defer lock.Unlock()
	}
	if g.cfg.Recover != nil {
		if err := g.cfg.Recover(ctx); err != nil {
			return err
		}
	}
	listeners, err := listen(ctx, plan.host, plan.port, plan.tls, func(err error) {
		g.log.Warn("cannot listen on ::1 as well", "err", err)
	})
	if err != nil {
		return err
	}
	for _, text := range g.cautions(g.settings().of, plan) {
		g.log.Warn(text)
	}
	return g.serve(ctx, listeners, plan.fingerprint)
}

// serve runs on listeners until ctx ends.
func (g *Gateway) serve(ctx context.Context, listeners []net.Listener, fingerprint string) error {
	server := &http.Server{
		Handler:           g,
		ReadHeaderTimeout: handshakePeriod,
		IdleTimeout:       time.Minute,
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          slog.NewLogLogger(g.log.Handler(), slog.LevelDebug),
	}
	group, groupCtx := errgroup.WithContext(ctx)
	for _, l := range listeners {
		group.Go(func() error {
			if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
				return fmt.Errorf("serve %s: %w", l.Addr(), err)
			}
			return nil
		})
	}
	group.Go(func() error { return g.maintain(groupCtx) })
	group.Go(func() error {
		_, err := g.health.renew(groupCtx) // for the first hello-ok
		if err != nil {
			g.log.Warn("health not known yet", "err", err)
		}
		return nil
	})
	group.Go(func() error { return g.state.run(groupCtx, g.tellState) })
	group.Go(func() error { return g.feed.run(groupCtx, g.tell) })
	group.Go(func() error {
		g.tellRestart()
		return nil
	})
	group.Go(func() error {
		end := g.awaitEnd(groupCtx, listeners[0].Addr())
		g.shutdown(context.WithoutCancel(ctx), server, end)
		return end
	})
	g.ready.Store(true)
	if g.cfg.Listening != nil {
		g.cfg.Listening(listeners[0].Addr(), fingerprint)
	}
	err := group.Wait()
	g.conns.Wait()
	g.requests.Wait()
	return err
}
