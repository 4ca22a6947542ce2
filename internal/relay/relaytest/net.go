package relaytest

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"openclaw/internal/relay"
)

// Clock is the time of day, plus what was added to it.
type Clock struct {
	mu    sync.Mutex
	added time.Duration
}

// Now is the clock's time.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Add(c.added)
}

// Advance moves the clock.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.added += d
}

// Net is a network in memory, which also works in a synctest bubble. Each node
// on it is one HTTP server.
type Net struct {
	mu    sync.Mutex
	nodes map[string]chan net.Conn
}

// Node is a relay that runs, reachable at its name.
type Node struct {
	Name   string
	Relay  *relay.Relay
	Client *http.Client
	stop   func()
	mute   *muted
}

// NewNet makes an empty network.
func NewNet() *Net { return &Net{nodes: map[string]chan net.Conn{}} }

// Start runs a node until the test ends or [Node.Stop].
func (n *Net) Start(t testing.TB, name string, cfg relay.Config) *Node {
	t.Helper()
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	mute := &muted{Broker: cfg.Broker}
	cfg.Broker = mute
	r, err := relay.New(cfg)
	if err != nil {
		t.Fatalf("relay.New: %v", err)
	}
	conns := make(chan net.Conn)
	n.mu.Lock()
	n.nodes[name] = conns
	n.mu.Unlock()
	ln := &listener{conns: conns, closed: make(chan struct{})}
	server := &http.Server{Handler: r.Handler()}
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := server.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
			t.Errorf("serve %s: %v", name, err)
		}
	})
	wg.Go(func() {
		if err := r.Run(ctx); err != nil {
			t.Errorf("run %s: %v", name, err)
		}
	})
	transport := &http.Transport{DialContext: n.dial(name), MaxIdleConnsPerHost: 4}
	node := &Node{Name: name, Relay: r, Client: &http.Client{Transport: transport}, mute: mute}
	node.stop = sync.OnceFunc(func() {
		cancel()
		_ = server.Close()
		transport.CloseIdleConnections()
		wg.Wait()
	})
	t.Cleanup(node.Stop)
	waitReady(t, node)
	return node
}

// Stop ends the node at once.
func (n *Node) Stop() { n.stop() }

// Crash stops the node without a last word to its broker.
func (n *Node) Crash() {
	n.mute.dead.Store(true)
	n.Stop()
}

// muted is a broker that a node which crashed reaches no more.
type muted struct {
	relay.Broker
	dead atomic.Bool
}

var errDead = errors.New("the node is dead")

// Put implements [relay.Store].
func (m *muted) Put(ctx context.Context, b relay.Bucket, key string, value []byte, revision uint64) (uint64, error) {
	if m.dead.Load() {
		return 0, errDead
	}
	return m.Broker.Put(ctx, b, key, value, revision)
}

// Delete implements [relay.Store].
func (m *muted) Delete(ctx context.Context, b relay.Bucket, key string, revision uint64) error {
	if m.dead.Load() {
		return errDead
	}
	return m.Broker.Delete(ctx, b, key, revision)
}

// Publish implements [relay.Bus].
func (m *muted) Publish(ctx context.Context, msg relay.Message) (uint64, error) {
	if m.dead.Load() {
		return 0, errDead
	}
	return m.Broker.Publish(ctx, msg)
}

// Tell implements [relay.Peers].
func (m *muted) Tell(ctx context.Context, s relay.Signal) error {
	if m.dead.Load() {
		return errDead
	}
	return m.Broker.Tell(ctx, s)
}

func waitReady(t testing.TB, n *Node) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); {
		res, err := n.Client.Get("http://" + n.Name + "/readyz")
		if err != nil {
			t.Fatalf("readyz: %v", err)
		}
		_ = res.Body.Close()
		if res.StatusCode == http.StatusOK {
			return
		}
		<-time.After(5 * time.Millisecond)
	}
	t.Fatal("the node is not ready after 10 s")
}

func (n *Net) dial(name string) func(context.Context, string, string) (net.Conn, error) {
	return func(ctx context.Context, _, _ string) (net.Conn, error) {
		n.mu.Lock()
		conns := n.nodes[name]
		n.mu.Unlock()
		here, there := net.Pipe()
		select {
		case conns <- &conn{there}:
			return here, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(5 * time.Second):
			return nil, errors.New("nobody listens")
		}
	}
}

// conn has an address that a relay can tell from others.
type conn struct{ net.Conn }

func (*conn) RemoteAddr() net.Addr { return &net.TCPAddr{IP: net.IPv4(192, 0, 2, 7), Port: 4711} }

type listener struct {
	conns  chan net.Conn
	once   sync.Once
	closed chan struct{}
}

func (l *listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *listener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

func (l *listener) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 80} }
