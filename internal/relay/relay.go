package relay

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"openclaw/byo"
)

// Config says how a node works.
type Config struct {
	Broker Broker // shared by all nodes

	Registry *byo.Registry // default byo.Builtin()
	Log      *slog.Logger  // default none
	// OpenRegistration lets any desktop register. Without it a desktop needs an
	// invite, which is the only safe way on an address that others reach.
	OpenRegistration bool
	// InviteDir is where [WriteInvite] leaves invites for a running relay; none
	// by default.
	InviteDir string
	// TrustedProxies are whose X-Forwarded-For is believed; none by default.
	TrustedProxies []netip.Prefix

	// Limits of an integration; 0 means those of docs/relay.md#limits.
	OpenJobs, JobsPerMinute int

	Now    func() time.Time // default time.Now
	Random io.Reader        // default the system's
}

// Relay is a node. Make it with [New].
type Relay struct {
	cfg     Config
	node    string
	log     *slog.Logger
	now     func() time.Time
	broker  Broker
	store   store
	metrics *metrics
	handler http.Handler

	hub      *hub
	tracker  *tracker
	tokens   *cache[token]
	bonds    *cache[bond]
	lives    *cache[int64]
	recent   *recent
	limits   *limiter
	nodes    *nodes
	draining atomic.Bool
	ready    atomic.Bool
	stops    []func()
	stopOnce sync.Once
}

// New prepares a node; it answers requests at once and does its duties while
// [Relay.Run] runs.
func New(cfg Config) (*Relay, error) {
	if cfg.Broker == nil {
		return nil, errors.New("a relay needs a broker")
	}
	if cfg.Registry == nil {
		cfg.Registry = byo.Builtin()
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	cfg.OpenJobs = cmp.Or(cfg.OpenJobs, byo.MaxOpenJobs)
	cfg.JobsPerMinute = cmp.Or(cfg.JobsPerMinute, byo.MaxJobsPerMinute)
	if cfg.Random == nil {
		cfg.Random = rand.Reader
	}
	node, err := byo.NewID(cfg.Random)
	if err != nil {
		return nil, err
	}
	r := &Relay{
		cfg: cfg, node: node, log: cfg.Log, now: cfg.Now, broker: cfg.Broker,
		tracker: newTracker(cfg.Now),
		tokens:  newCache[token](cfg.Now), bonds: newCache[bond](cfg.Now), lives: newCache[int64](cfg.Now),
		recent: newRecent(time.Now),
		limits: newLimiter(cfg.Now), nodes: newNodes(time.Now),
	}
	r.hub = newHub(r)
	r.metrics = newMetrics(r)
	r.store = store{cfg.Broker, r.metrics}
	r.handler = r.routes()
	r.stops = []func(){
		r.broker.Subscribe(Topic{Side: ToAssistant}, r.tracker.assistant),
		r.broker.Subscribe(Topic{Side: ToDesktop}, func(ev Event) {
			if v := r.tracker.desktop(ev); v.Kind == refJob {
				r.recent.ended(v.Integration, v.ID)
			}
		}),
		r.broker.Listen(r.hear),
	}
	return r, nil
}

// Handler serves the relay API, /healthz and /readyz.
func (r *Relay) Handler() http.Handler { return r.handler }

// Metrics serves the numbers of this node for Prometheus. It belongs on a
// listener of its own that the public does not reach.
func (r *Relay) Metrics() http.Handler { return r.metrics.handler }

// Run does the duties of a node until ctx ends: it sweeps, keeps streams alive
// and tells the other nodes that it is there. When it returns every stream is
// closed and no goroutine is left; new streams get 503 from then on.
func (r *Relay) Run(ctx context.Context) error {
	defer r.close()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	r.greet(ctx)
	r.ready.Store(true)
	r.log.Info("relay node is ready", "node", r.node)
	wg.Go(func() { r.hub.keepAlive(ctx) })
	wg.Go(func() { r.recover(ctx) })
	s := &sweeper{r: r}
	defer s.release()
	s.run(ctx)
	return nil
}

// Drain stops taking streams and closes the open ones, each at a moment of its
// own between 5 and 15 seconds from now, so that their owners do not come back
// all at once. Other requests are served on. It returns when no stream is left or
// ctx ends.
func (r *Relay) Drain(ctx context.Context) error {
	r.draining.Store(true)
	r.log.Info("relay node is draining", "streams", r.hub.count())
	return r.hub.drain(ctx)
}

// close ends everything that New and requests began.
func (r *Relay) close() {
	r.draining.Store(true)
	r.ready.Store(false)
	r.stopOnce.Do(func() {
		for _, stop := range r.stops {
			stop()
		}
	})
	r.hub.close()
}

// hear acts on what the nodes tell each other.
func (r *Relay) hear(s Signal) {
	switch s.Kind {
	case signalNode:
		if fresh := r.nodes.seen(s.ID); fresh && s.ID != r.node {
			r.hub.spawn(func(ctx context.Context) { r.greet(ctx) })
		}
	case signalStream:
		r.hub.supersede(s.ID, string(s.Data))
	case signalRevoked:
		r.tokens.clear()
		r.bonds.drop(s.ID)
		r.tracker.forget(s.ID)
		r.hub.revoke(s.ID)
	case signalChanged:
		r.tokens.clear()
		r.bonds.drop(s.ID)
	case signalLife:
		r.lives.drop(s.ID)
		r.tracker.alive(s.ID, s.Data)
	}
}

// Kinds of signals.
const (
	signalNode    = "node"    // ID is the node
	signalStream  = "stream"  // ID is an integration that has a newer stream
	signalRevoked = "revoked" // ID is an integration that is no more
	signalChanged = "changed" // ID is an integration whose record changed
	signalLife    = "life"    // ID is an integration that gave a sign of life
)

func (r *Relay) tell(ctx context.Context, kind, id string, data []byte) {
	if kind != signalNode && kind != signalStream { // here at once, elsewhere soon
		r.hear(Signal{kind, id, data})
	}
	if err := r.broker.Tell(ctx, Signal{kind, id, data}); err != nil {
		r.log.Warn("a signal to the nodes got lost", "kind", kind, "err", err)
	}
}

func (r *Relay) greet(ctx context.Context) { r.tell(ctx, signalNode, r.node, nil) }
