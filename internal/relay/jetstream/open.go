package jetstream

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"

	"openclaw/internal/disk"
	"openclaw/internal/relay"
)

// Config says where the broker is: exactly one of Dir and URL is set.
type Config struct {
	// Dir is the folder of an embedded server, made when it is missing.
	Dir string
	// URL is that of an external server or cluster with JetStream; several are
	// separated by commas.
	URL         string
	Credentials string // file with the user's credentials; default none
	Replicas    int    // of everything stored in an external cluster; default 3

	Log *slog.Logger // default none
}

// Broker is a [relay.Broker] on JetStream. Make it with [Open].
type Broker struct {
	log      *slog.Logger
	server   *server.Server // nil when external
	lock     *disk.FileLock
	conn     *nats.Conn
	js       jetstream.JetStream
	buckets  map[relay.Bucket]jetstream.KeyValue
	ttl      map[relay.Bucket]time.Duration
	sides    map[relay.Side]*side
	replicas int
	peers    *nats.Subscription
	closing  sync.Once
	ready    atomic.Bool
	lost     atomic.Int64 // when the connection was lost, ns; 0 while it is there

	mu   sync.Mutex
	ears map[*ear]struct{}
}

// callTimeout bounds one call; a relay answers that the storage is not available
// then.
const callTimeout = 2 * time.Second

// startTimeout bounds the start of an embedded server, and of the tables in any.
const startTimeout = 30 * time.Second

// Open starts or reaches the server and makes sure that all tables and topics are
// there. Close the broker after the relay that uses it.
func Open(ctx context.Context, cfg Config) (*Broker, error) {
	if (cfg.Dir == "") == (cfg.URL == "") {
		return nil, errors.New("open broker: exactly one of a folder and a URL is needed")
	}
	b := &Broker{
		log: cfg.Log, buckets: map[relay.Bucket]jetstream.KeyValue{}, ttl: map[relay.Bucket]time.Duration{},
		sides: map[relay.Side]*side{}, replicas: 1, ears: map[*ear]struct{}{},
	}
	if b.log == nil {
		b.log = slog.New(slog.DiscardHandler)
	}
	if cfg.URL != "" {
		b.replicas = cmp.Or(cfg.Replicas, 3)
	}
	if err := b.open(ctx, cfg); err != nil {
		return nil, errors.Join(err, b.Close())
	}
	return b, nil
}

func (b *Broker) open(ctx context.Context, cfg Config) error {
	if err := b.connect(ctx, cfg); err != nil {
		return err
	}
	var err error
	if b.js, err = jetstream.New(b.conn, jetstream.WithDefaultTimeout(callTimeout)); err != nil {
		return fmt.Errorf("use jetstream: %w", err)
	}
	if err := b.prepare(ctx); err != nil {
		return err
	}
	if b.peers, err = b.conn.Subscribe(controlPrefix+">", b.hear); err != nil {
		return fmt.Errorf("listen to the nodes: %w", err)
	}
	if err := b.conn.FlushTimeout(startTimeout); err != nil { // the server knows it from here on
		return fmt.Errorf("listen to the nodes: %w", err)
	}
	b.ready.Store(true)
	return nil
}

// errAway ends a call at once while the connection is down for longer than a
// server takes to hand over.
var errAway = errors.New("the broker is not reachable")

const patience = time.Second

func (b *Broker) check() error {
	if lost := b.lost.Load(); lost != 0 && time.Since(time.Unix(0, lost)) > patience {
		return errAway
	}
	return nil
}

// connect starts the embedded server, or dials the external one.
func (b *Broker) connect(ctx context.Context, cfg Config) error {
	opts := []nats.Option{
		nats.Name("stagewhisper relay"), nats.MaxReconnects(-1), nats.ReconnectWait(250 * time.Millisecond),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			b.lost.Store(time.Now().UnixNano())
			if err != nil {
				b.log.Warn("the broker is not reachable", "err", err)
			}
		}),
		nats.ReconnectHandler(func(*nats.Conn) { b.restore() }),
	}
	url := cfg.URL
	if cfg.Dir != "" {
		if err := b.embed(ctx, cfg.Dir); err != nil {
			return err
		}
		opts = append(opts, nats.InProcessServer(b.server))
	} else if cfg.Credentials != "" {
		opts = append(opts, nats.UserCredentials(cfg.Credentials))
	}
	conn, err := nats.Connect(url, opts...)
	if err != nil {
		return fmt.Errorf("connect to the broker: %w", err)
	}
	b.conn = conn
	return nil
}

// embed starts a server that listens nowhere.
func (b *Broker) embed(ctx context.Context, dir string) error {
	if err := disk.MkdirAll(dir); err != nil {
		return err
	}
	lock, err := disk.Lock(ctx, filepath.Join(dir, "relay.lock"), disk.LockOptions{Timeout: -1})
	if err != nil {
		return fmt.Errorf("open store of the relay: %w", err)
	}
	b.lock = lock
	s, err := server.NewServer(&server.Options{
		ServerName: "stagewhisper-relay", DontListen: true, NoSigs: true, NoLog: true, NoSystemAccount: false,
		JetStream: true, StoreDir: dir, SyncInterval: syncEvery, MaxPayload: maxPayload,
	})
	if err != nil {
		return fmt.Errorf("make embedded broker: %w", err)
	}
	b.server = s
	s.Start()
	if !s.ReadyForConnections(startTimeout) {
		return errors.New("start embedded broker: it does not get ready")
	}
	return nil
}

// syncEvery bounds what a crash of the machine, not of the process, can cost.
const syncEvery = 10 * time.Second

// maxPayload fits a completion with its head.
const maxPayload = 1 << 20

// placeWithin is how long one try to place a stream may take. A cluster without a leader
// drops what it is asked, so that a longer wait would be in vain.
const placeWithin = 5 * time.Second

// place tries until a stream is placed or ctx ends. A cluster that two relays prepare at
// once may drop a request, and may not know yet on one server what another has made.
func place[T any](ctx context.Context, try func(context.Context) (T, error)) (T, error) {
	for {
		within, cancel := context.WithTimeout(ctx, placeWithin)
		made, err := try(within)
		late := within.Err() != nil
		cancel()
		young := late || errors.Is(err, jetstream.ErrBucketNotFound) || errors.Is(err, jetstream.ErrStreamNotFound) || errors.Is(err, nats.ErrNoResponders)
		if err == nil || !young || ctx.Err() != nil {
			return made, err
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
			return made, err
		}
	}
}

// prepare makes sure of all streams, at once.
func (b *Broker) prepare(ctx context.Context) error {
	// A cluster that has just come up takes its time to place three replicas.
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	g, ctx := errgroup.WithContext(ctx)
	var mu sync.Mutex
	for _, c := range relay.Buckets() {
		g.Go(func() error {
			kv, err := place(ctx, func(ctx context.Context) (jetstream.KeyValue, error) { return b.bucket(ctx, c) })
			if err != nil {
				return fmt.Errorf("prepare table %s: %w", c.Bucket, err)
			}
			mu.Lock()
			defer mu.Unlock()
			b.buckets[c.Bucket], b.ttl[c.Bucket] = kv, c.TTL
			return nil
		})
	}
	for _, name := range []relay.Side{relay.ToAssistant, relay.ToDesktop} {
		g.Go(func() error {
			s, err := place(ctx, func(ctx context.Context) (*side, error) { return b.side(ctx, name) })
			if err != nil {
				return fmt.Errorf("prepare topics %s: %w", name, err)
			}
			mu.Lock()
			defer mu.Unlock()
			b.sides[name] = s
			return nil
		})
	}
	return g.Wait()
}

// restore makes sure of the tables that a server forgets when it restarts. It runs
// in a goroutine of the connection, which ends with it.
func (b *Broker) restore() {
	b.lost.Store(0)
	if !b.ready.Load() {
		return
	}
	b.log.Info("the broker is reachable again")
	for deadline := time.Now().Add(startTimeout); time.Now().Before(deadline) && b.conn.IsConnected(); {
		if err := b.forgetful(); err == nil {
			return
		} else if b.conn.IsClosed() {
			return
		}
		<-time.After(100 * time.Millisecond)
	}
	b.log.Error("the tables of the broker in memory are not there")
}

func (b *Broker) forgetful() error {
	ctx, cancel := context.WithTimeout(context.Background(), callTimeout)
	defer cancel()
	for _, c := range relay.Buckets() {
		if c.Memory {
			if _, err := b.bucket(ctx, c); err != nil {
				return err
			}
		}
	}
	return nil
}

// Close gives everything back. The folder can be opened again when it returns.
func (b *Broker) Close() error {
	var err error
	b.closing.Do(func() {
		for _, s := range b.sides {
			s.live.Stop()
			<-s.live.Closed()
		}
		if b.conn != nil {
			b.conn.Close()
		}
		if b.server != nil {
			b.server.Shutdown()
			b.server.WaitForShutdown()
		}
		if b.lock != nil {
			err = b.lock.Unlock()
		}
	})
	return err
}
