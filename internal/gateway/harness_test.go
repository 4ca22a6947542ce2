package gateway

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"

	"openclaw/internal/config"
	"openclaw/internal/lane"
	"openclaw/internal/logs"
	"openclaw/internal/model"
	"openclaw/internal/pairing"
	"openclaw/internal/router"
	"openclaw/internal/run"
	"openclaw/internal/session"
	"openclaw/internal/testkit"
	"openclaw/protocol"
)

// pipeListener accepts in-memory connections, so that a gateway and its clients
// live in one synctest bubble.
type pipeListener struct {
	conns chan net.Conn
	once  sync.Once
	done  chan struct{}
}

func newPipeListener() *pipeListener {
	return &pipeListener{conns: make(chan net.Conn), done: make(chan struct{})}
}

func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

func (l *pipeListener) Close() error {
	l.once.Do(func() { close(l.done) })
	return nil
}

func (l *pipeListener) Addr() net.Addr {
	return net.TCPAddrFromAddrPort(netip.MustParseAddrPort("127.0.0.1:18789"))
}

// addrConn is a pipe end with addresses.
type addrConn struct {
	net.Conn
	local, remote net.Addr
}

func (c addrConn) LocalAddr() net.Addr  { return c.local }
func (c addrConn) RemoteAddr() net.Addr { return c.remote }

// dial connects from the address from.
func (l *pipeListener) dial(ctx context.Context, from string) (net.Conn, error) {
	ours, theirs := net.Pipe()
	remote := net.TCPAddrFromAddrPort(netip.MustParseAddrPort(from))
	select {
	case l.conns <- addrConn{theirs, l.Addr(), remote}:
		return ours, nil
	case <-l.done:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// house is a running gateway and what it stands on.
type house struct {
	t        testing.TB
	dir      string
	g        *Gateway
	listener *pipeListener
	router   *router.Router
	runner   *scriptedRunner
	stop     context.CancelFunc
	done     chan error
	once     sync.Once

	snap atomic.Pointer[config.Snapshot]
}

// usual is the configuration of a house without another.
const usual = `{gateway: {mode: "local", auth: {token: "secret"}}}`

// Snapshot makes house the Settings of its gateway.
func (h *house) Snapshot() *config.Snapshot { return h.snap.Load() }

// configure replaces the configuration; an empty text is the usual one.
func (h *house) configure(text string) {
	h.t.Helper()
	path := filepath.Join(h.dir, "openclaw.json")
	if err := os.WriteFile(path, []byte(cmp.Or(text, usual)), 0o600); err != nil {
		h.t.Fatal(err)
	}
	snap := config.Load(config.Paths{Home: h.dir, StateDir: h.dir, ConfigPath: path}, func(string) string { return "" })
	if err := snap.Err(); err != nil {
		h.t.Fatal(err)
	}
	h.snap.Store(snap)
}

// Read is part of Settings.
func (h *house) Read() *config.Snapshot { return h.Snapshot() }

// Set is part of Settings.
func (h *house) Set(_ context.Context, raw, baseHash string) (*config.Snapshot, error) {
	if baseHash != h.Snapshot().Hash {
		return nil, &config.Error{Message: "config changed since last load; re-run config.get and retry"}
	}
	h.configure(raw)
	return h.Snapshot(), nil
}

// Patch is part of Settings; it takes the result as a whole.
func (h *house) Patch(ctx context.Context, raw, baseHash string) (*config.Snapshot, error) {
	return h.Set(ctx, raw, baseHash)
}

// newHouse starts a gateway with the given configuration, or the usual one. It
// stops with the test.
func newHouse(t testing.TB, conf string, change ...func(*Config)) *house {
	t.Helper()
	h := &house{t: t, dir: t.TempDir(), listener: newPipeListener(), done: make(chan error, 1)}
	h.configure(conf)
	cfg := Config{
		Settings: h, Host: "testhost", Version: "1.2.3",
		ConfigPath: filepath.Join(h.dir, "openclaw.json"), StateDir: h.dir, Log: testkit.Log(t),
	}
	h.furnish(&cfg)
	for _, do := range change {
		do(&cfg)
	}
	h.g = New(cfg)
	ctx, stop := context.WithCancel(context.Background())
	h.stop = stop
	go func() { h.done <- h.g.serve(ctx, []net.Listener{h.listener}, "") }()
	t.Cleanup(h.close)
	return h
}

// furnish gives the gateway real stores and a real router; only the runner is
// scripted.
func (h *house) furnish(cfg *Config) {
	var err error
	cfg.Devices, err = pairing.OpenDevices(pairing.Config{Dir: filepath.Join(h.dir, "devices"), Now: time.Now, Log: cfg.Log})
	if err != nil {
		h.t.Fatal(err)
	}
	stores := map[string]*session.Store{}
	var mu sync.Mutex
	cfg.Sessions = func(id string) (*session.Store, error) {
		mu.Lock()
		defer mu.Unlock()
		if stores[id] == nil {
			st, err := session.Open(session.Config{Dir: filepath.Join(h.dir, "agents", id, "sessions"), AgentID: id, Log: cfg.Log,
				OnMessage: func(m session.Appended) { h.g.Appended(m) }})
			if err != nil {
				return nil, err
			}
			stores[id] = st
		}
		return stores[id], nil
	}
	h.t.Cleanup(func() {
		for _, st := range stores {
			st.Close()
		}
	})
	models := model.NewDirectory(model.DirectoryConfig{
		Settings:    func() model.Settings { return mockModels },
		Credentials: noCredentials{}, Catalog: noCatalog{}, Families: map[model.API]model.Family{},
	})
	cfg.Models = models
	h.runner = &scriptedRunner{live: map[run.ID]*scriptedRun{}}
	h.router = router.New(router.Config{
		Runner: h.runner, Lanes: lane.New(lane.Config{}), Config: func() *config.Config { return h.Snapshot().Config },
		Sessions: cfg.Sessions, Models: func(string) *model.Directory { return models },
		Status:    func(_, key string) (run.Card, error) { return run.Card{Version: "1.2.3", SessionKey: key}, nil },
		Workspace: func(string) string { return h.dir },
		Emit:      func(e run.Event) { h.g.Publish(e) }, Log: cfg.Log,
	})
	h.runner.publish = h.router.Publish
	cfg.Router = h.router
	cfg.Workspace = func(string) string { return h.dir }
}

func (h *house) close() {
	h.once.Do(func() {
		h.stop()
		if err := <-h.done; err != nil {
			h.t.Errorf("serve = %v, want nil", err)
		}
	})
}

// mockModels is one provider with one model.
var mockModels = model.Settings{Primary: "mock/mock-1", Providers: map[string]model.Provider{
	"mock": {BaseURL: "http://127.0.0.1:1/v1", APIKey: "k", API: model.APICompletions,
		Models: []model.ProviderModel{{ID: "mock-1", Name: "Mock 1", Input: []string{"text"}, ContextWindow: 200000}}},
}}

type noCredentials struct{}

func (noCredentials) Find(_ string, configured logs.Secret, _ string) (model.Credential, bool) {
	return model.Credential{Key: configured}, configured != ""
}

type noCatalog struct{}

func (noCatalog) Find(model.Ref) (model.Info, bool) { return model.Info{}, false }

func (noCatalog) Models(string) []model.Info { return nil }

// scriptedRunner runs what the test says. A run starts, and waits until the test
// lets it say and do something.
type scriptedRunner struct {
	publish func(run.Event)

	mu   sync.Mutex
	live map[run.ID]*scriptedRun
}

type scriptedRun struct {
	req   run.Request
	steps chan func(*scriptedRun)
	seq   int
	out   run.Outcome
	err   error
	over  bool
	r     *scriptedRunner
}

func (s *scriptedRunner) get(id string) *scriptedRun {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.live[run.ID(id)]
	if r == nil {
		r = &scriptedRun{steps: make(chan func(*scriptedRun), 100), r: s}
		s.live[run.ID(id)] = r
	}
	return r
}

// do queues a step of the run with id, which may not have begun yet.
func (s *scriptedRunner) do(id string, step func(*scriptedRun)) { s.get(id).steps <- step }

// Run implements router.Runner.
func (s *scriptedRunner) Run(ctx context.Context, req run.Request) (run.Outcome, error) {
	r := s.get(string(req.ID))
	r.req, r.out = req, run.Outcome{Payloads: []run.Payload{}, Meta: run.Meta{AgentMeta: run.AgentMeta{SessionID: "session", Provider: "mock", Model: "mock-1"}}}
	r.emit(run.Event{Stream: run.StreamLifecycle, Lifecycle: &run.Lifecycle{Phase: run.PhaseStart, StartedAt: time.Now()}})
	for !r.over {
		select {
		case step := <-r.steps:
			step(r)
		case <-ctx.Done():
			r.out.Meta.Aborted = true
			var why run.Abort
			errors.As(context.Cause(ctx), &why)
			r.end(run.Lifecycle{Phase: run.PhaseEnd, Aborted: true, StopReason: string(why)})
		}
	}
	return r.out, r.err
}

// Steer implements router.Runner: nothing can be steered.
func (s *scriptedRunner) Steer(run.ID, run.Steer) bool { return false }

func (r *scriptedRun) emit(e run.Event) {
	r.seq++
	e.RunID, e.Seq, e.At, e.SessionKey, e.AgentID = r.req.ID, r.seq, time.Now(), r.req.EventKey, r.req.AgentID
	if e.Verbose == "" {
		e.Verbose = "off"
	}
	r.r.publish(e)
}

// say streams text on top of what was said.
func (r *scriptedRun) say(text, delta string) {
	r.emit(run.Event{Stream: run.StreamAssistant, Assistant: &run.Assistant{Text: text, Delta: delta}})
}

func (r *scriptedRun) end(l run.Lifecycle) {
	l.EndedAt = time.Now()
	r.emit(run.Event{Stream: run.StreamLifecycle, Lifecycle: &l})
	r.over = true
}

// finish lets the run say text in one piece and end well.
func (s *scriptedRunner) finish(id, text string) {
	s.do(id, func(r *scriptedRun) {
		if text != "" {
			r.say(text, text)
			r.out.Payloads = []run.Payload{{Text: text}}
		}
		r.end(run.Lifecycle{Phase: run.PhaseEnd})
	})
}

// dialer says how a test client connects.
type dialer struct {
	from   string // address with port; default 127.0.0.1:50000
	host   string // Host header; default 127.0.0.1:18789
	header http.Header
	path   string
}

// wsClient is a client that reads frames by hand.
type wsClient struct {
	t      testing.TB
	ws     *websocket.Conn
	nextID int
	nonce  string
}

func (h *house) dial(d dialer) *wsClient {
	h.t.Helper()
	c, err := h.tryDial(d)
	if err != nil {
		h.t.Fatalf("dial: %v", err)
	}
	return c
}

func (h *house) tryDial(d dialer) (*wsClient, error) {
	if d.from == "" {
		d.from = "127.0.0.1:50000"
	}
	if d.host == "" {
		d.host = "127.0.0.1:18789"
	}
	transport := &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return h.listener.dial(ctx, d.from)
		},
	}
	ws, res, err := websocket.Dial(context.Background(), "ws://gateway"+d.path, &websocket.DialOptions{
		HTTPClient: &http.Client{Transport: transport}, HTTPHeader: d.header, Host: d.host,
		CompressionMode: websocket.CompressionContextTakeover,
	})
	if err != nil {
		if res != nil {
			return nil, fmt.Errorf("status %d: %w", res.StatusCode, err)
		}
		return nil, err
	}
	if ext := res.Header.Get("Sec-WebSocket-Extensions"); ext != "" {
		return nil, fmt.Errorf("negotiated extensions %q, want none", ext)
	}
	ws.SetReadLimit(-1)
	c := &wsClient{t: h.t, ws: ws}
	h.t.Cleanup(func() { ws.CloseNow() })
	return c, nil
}

// sendText writes text as it is.
func (c *wsClient) sendText(text string) {
	c.t.Helper()
	if err := c.ws.Write(context.Background(), websocket.MessageText, []byte(text)); err != nil {
		c.t.Fatalf("send %s: %v", text, err)
	}
}

// nextText returns the next message, however long it takes.
func (c *wsClient) nextText() (string, error) {
	_, data, err := c.ws.Read(context.Background())
	return string(data), err
}

// next returns the next frame.
func (c *wsClient) next() (protocol.Frame, error) {
	text, err := c.nextText()
	if err != nil {
		return protocol.Frame{}, err
	}
	var f protocol.Frame
	if err := json.Unmarshal([]byte(text), &f); err != nil {
		return f, fmt.Errorf("frame %s: %w", text, err)
	}
	return f, nil
}

// closeOf reads a close frame out of a read error.
func closeOf(err error) (code int, reason string, ok bool) {
	var ce websocket.CloseError
	if !errors.As(err, &ce) {
		return 0, "", false
	}
	return int(ce.Code), ce.Reason, true
}

func (c *wsClient) mustNext() protocol.Frame {
	c.t.Helper()
	f, err := c.next()
	if err != nil {
		c.t.Fatalf("next frame: %v", err)
	}
	return f
}

// challenge reads the challenge.
func (c *wsClient) challenge() {
	c.t.Helper()
	f := c.mustNext()
	if f.Event != protocol.EventChallenge {
		c.t.Fatalf("first frame = %+v, want the challenge", f)
	}
	var p protocol.ChallengeEvent
	if err := json.Unmarshal(f.Payload, &p); err != nil {
		c.t.Fatal(err)
	}
	c.nonce = p.Nonce
}

// request sends a request and returns its id.
func (c *wsClient) request(method string, params any) string {
	c.t.Helper()
	c.nextID++
	id := fmt.Sprintf("r%d", c.nextID)
	frame := map[string]any{"type": "req", "id": id, "method": method}
	if params != nil {
		frame["params"] = params
	}
	data, err := json.Marshal(frame)
	if err != nil {
		c.t.Fatal(err)
	}
	c.sendText(string(data))
	return id
}

// response reads until the response with id, skipping events.
func (c *wsClient) response(id string) protocol.Frame {
	c.t.Helper()
	for {
		f := c.mustNext()
		if f.Type == protocol.TypeResponse && f.ID == id {
			return f
		}
	}
}

// call is request and response.
func (c *wsClient) call(method string, params any) protocol.Frame {
	c.t.Helper()
	return c.response(c.request(method, params))
}

// event reads until an event called name.
func (c *wsClient) event(name string) protocol.Frame {
	c.t.Helper()
	for {
		if f := c.mustNext(); f.Event == name {
			return f
		}
	}
}

// closed reads until the close and returns its code and reason.
func (c *wsClient) closed() (int, string) {
	c.t.Helper()
	for {
		_, err := c.next()
		if err == nil {
			continue
		}
		code, reason, ok := closeOf(err)
		if !ok {
			c.t.Fatalf("read = %v, want a close frame", err)
		}
		return code, reason
	}
}

// object is JSON by hand.
type object = map[string]any

// hello is the params of a connect with the shared token and no device.
func hello(change ...func(object)) object {
	p := object{
		"minProtocol": 3, "maxProtocol": 3,
		"client": object{"id": "gateway-client", "version": "1", "platform": "linux", "mode": "backend"},
		"role":   "operator", "scopes": []string{"operator.admin"},
		"auth": object{"token": "secret"},
	}
	for _, do := range change {
		do(p)
	}
	return p
}

// connect dials and shakes hands.
func (h *house) connect(d dialer, change ...func(object)) *wsClient {
	h.t.Helper()
	c := h.dial(d)
	c.challenge()
	f := c.call(protocol.MethodConnect, hello(change...))
	if !f.OK {
		h.t.Fatalf("connect = %+v, want hello-ok", f.Error)
	}
	return c
}
