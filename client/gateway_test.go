package client

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"sync"
	"testing"

	"github.com/coder/websocket"
	"go.uber.org/goleak"

	"openclaw/protocol"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// gateway is a scripted peer over in-memory connections, so that tests may run
// in a synctest bubble.
type gateway struct {
	t     *testing.T
	conns chan net.Conn
	done  chan struct{}
	srv   *http.Server

	mu      sync.Mutex
	scripts []func(*peer) // one for each connection, the last one repeats
	served  int
}

// serve starts a gateway that plays scripts; it stops with the test.
func serve(t *testing.T, scripts ...func(*peer)) *gateway {
	t.Helper()
	g := &gateway{t: t, conns: make(chan net.Conn), done: make(chan struct{}), scripts: scripts}
	g.srv = &http.Server{Handler: g}
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := g.srv.Serve(g); !errors.Is(err, http.ErrServerClosed) {
			t.Errorf("Serve = %v", err)
		}
	})
	t.Cleanup(func() {
		g.srv.Close()
		wg.Wait()
	})
	return g
}

// Accept, Close and Addr make g a listener.
func (g *gateway) Accept() (net.Conn, error) {
	select {
	case c := <-g.conns:
		return c, nil
	case <-g.done:
		return nil, net.ErrClosed
	}
}

func (g *gateway) Close() error { close(g.done); return nil }

func (g *gateway) Addr() net.Addr { return &net.TCPAddr{} }

func (g *gateway) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	ours, theirs := net.Pipe()
	select {
	case g.conns <- theirs:
		return ours, nil
	case <-g.done:
		return nil, errors.New("gateway is down")
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (g *gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	ws, err := websocket.Accept(w, r, nil)
	if err != nil {
		g.t.Errorf("Accept = %v", err)
		return
	}
	defer ws.CloseNow()
	ws.SetReadLimit(-1)
	g.mu.Lock()
	script := g.scripts[min(g.served, len(g.scripts)-1)]
	g.served++
	g.mu.Unlock()
	script(&peer{t: g.t, ws: ws, ctx: context.Background()})
}

// options returns options that reach g.
func (g *gateway) options() Options {
	return Options{URL: "ws://gateway.test", DialContext: g.dial}
}

// peer is one connection of a gateway.
type peer struct {
	t   *testing.T
	ws  *websocket.Conn
	ctx context.Context
}

const testNonce = "nonce-1"

// send writes v as JSON; a text is sent as it is.
func (p *peer) send(v any) {
	data, ok := v.(string)
	if !ok {
		raw, err := json.Marshal(v)
		if err != nil {
			p.t.Error(err)
		}
		data = string(raw)
	}
	_ = p.ws.Write(p.ctx, websocket.MessageText, []byte(data)) // the client may be gone
}

// receive returns the next frame; ok is false when the client is gone.
func (p *peer) receive() (f protocol.Frame, ok bool) {
	_, data, err := p.ws.Read(p.ctx)
	if err != nil {
		return f, false
	}
	if err := json.Unmarshal(data, &f); err != nil {
		p.t.Errorf("client sent %s: %v", data, err)
	}
	return f, true
}

// challenge greets the client and returns its connect request.
func (p *peer) challenge() (id string, params protocol.ConnectParams) {
	p.send(`{"type":"event","event":"connect.challenge","payload":{"nonce":"` + testNonce + `","ts":1767225600000}}`)
	f, ok := p.receive()
	if !ok || f.Method != protocol.MethodConnect {
		p.t.Errorf("first frame = %+v, want connect", f)
		return "", params
	}
	if err := json.Unmarshal(f.Params, &params); err != nil {
		p.t.Error(err)
	}
	return f.ID, params
}

// welcome does the whole handshake with the given tick interval.
func (p *peer) welcome(tickMs int64) {
	id, _ := p.challenge()
	p.hello(id, tickMs, nil)
}

func (p *peer) hello(id string, tickMs int64, auth *protocol.HelloAuth) {
	p.reply(id, protocol.HelloOK{Type: protocol.HelloType, Protocol: protocol.Version3,
		Server:   protocol.HelloServer{Version: "test", ConnID: "conn-1"},
		Snapshot: protocol.Snapshot{Health: json.RawMessage("{}")},
		Policy:   protocol.HelloPolicy{TickIntervalMs: tickMs}, Auth: auth})
}

func (p *peer) reply(id string, payload any) {
	raw, err := json.Marshal(payload)
	if err != nil {
		p.t.Error(err)
	}
	p.send(protocol.Response{Type: protocol.TypeResponse, ID: id, OK: true, Payload: raw})
}

func (p *peer) refuse(id string, e protocol.Error) {
	p.send(protocol.Response{Type: protocol.TypeResponse, ID: id, Error: &e})
}

func (p *peer) close(code int, reason string) {
	_ = p.ws.Close(websocket.StatusCode(code), reason)
}

// drain reads until the client is gone and returns how it closed.
func (p *peer) drain() *CloseError {
	for {
		if _, _, err := p.ws.Read(p.ctx); err != nil {
			return closeError(err)
		}
	}
}
