package client

import (
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"openclaw/protocol"
)

func dialTest(t *testing.T, o Options) *Client {
	t.Helper()
	c, err := Dial(t.Context(), o)
	if err != nil {
		t.Fatalf("Dial = %v", err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// signer is a device key of the test's own.
type signer struct{ key ed25519.PrivateKey }

func newSigner() signer { return signer{ed25519.NewKeyFromSeed(make([]byte, 32))} }

func (s signer) DeviceID() string { return "device-1" }
func (s signer) PublicKey() string {
	return base64.RawURLEncoding.EncodeToString(s.key.Public().(ed25519.PublicKey))
}
func (s signer) Sign(text string) string {
	return base64.RawURLEncoding.EncodeToString(ed25519.Sign(s.key, []byte(text)))
}

func (s signer) verify(text, signature string) bool {
	raw, err := base64.RawURLEncoding.DecodeString(signature)
	return err == nil && ed25519.Verify(s.key.Public().(ed25519.PublicKey), []byte(text), raw)
}

// tokens is a token store in memory.
type tokens map[string]protocol.Secret

func (s tokens) Token(role string) (protocol.Secret, error) { return s[role], nil }
func (s tokens) Save(role string, token protocol.Secret, _ []string) error {
	s[role] = token
	return nil
}
func (s tokens) Delete(role string) error { delete(s, role); return nil }

// GW-034: what a client of protocol 3 and one of protocol 4 sign.
func TestDialSigns(t *testing.T) {
	key := newSigner()
	for _, tt := range []struct {
		min, max int
		version  string
	}{{0, 0, protocol.SignatureV2}, {3, 3, protocol.SignatureV2}, {4, 4, protocol.SignatureV3}} {
		t.Run(fmt.Sprint(tt.min, tt.max), func(t *testing.T) {
			var got protocol.ConnectParams
			g := serve(t, func(p *peer) {
				id, params := p.challenge()
				got = params
				p.reply(id, protocol.HelloOK{Type: protocol.HelloType, Protocol: max(tt.max, 3)})
				p.drain()
			})
			o := g.options()
			o.Token, o.Signer, o.Scopes, o.MinProtocol, o.MaxProtocol = "shared", key, []string{"operator.read"}, tt.min, tt.max
			dialTest(t, o)
			d := got.Device
			if d == nil || d.Nonce != testNonce || d.SignedAt != 1767225600000 || d.ID != "device-1" {
				t.Fatalf("device = %+v, want the nonce and the time of the challenge", d)
			}
			if !key.verify(protocol.DeviceText(tt.version, &got), d.Signature) {
				t.Errorf("signature does not verify as %s", tt.version)
			}
			if got.Auth == nil || got.Auth.Token != "shared" || got.Role != protocol.RoleOperator {
				t.Errorf("connect = %+v, want the shared token and the operator role", got)
			}
		})
	}
}

func TestDialDefaults(t *testing.T) {
	var got protocol.ConnectParams
	g := serve(t, func(p *peer) {
		id, params := p.challenge()
		got = params
		p.hello(id, 0, nil)
		p.drain()
	})
	c := dialTest(t, g.options())
	if got.MinProtocol != 3 || got.MaxProtocol != 4 || got.Client.ID != "gateway-client" || got.Client.Mode != "backend" ||
		got.Client.Version == "" || got.Client.Platform == "" || got.Device != nil || got.Auth != nil {
		t.Errorf("connect = %+v, want the defaults", got)
	}
	if c.Hello().Server.ConnID != "conn-1" || c.Err() != nil {
		t.Errorf("Hello = %+v, Err = %v, want conn-1 and none", c.Hello().Server, c.Err())
	}
}

// docs/protocol.md#device: which token is used and when it is forgotten.
func TestDialStoredToken(t *testing.T) {
	refused := protocol.Error{Code: protocol.CodeInvalidRequest, Message: "unauthorized: gateway token mismatch (provide gateway auth token)"}
	coded := protocol.Error{Code: protocol.CodeInvalidRequest, Message: "no", Details: json.RawMessage(`{"code":"AUTH_DEVICE_TOKEN_MISMATCH"}`)}
	pairing := protocol.Error{Code: protocol.CodeNotPaired, Message: "pairing required", Details: json.RawMessage(`{"requestId":"r"}`)}
	limited := protocol.Error{Code: protocol.CodeInvalidRequest, Message: "unauthorized", Details: json.RawMessage(`{"code":"AUTH_RATE_LIMITED"}`)}
	tests := []struct {
		name           string
		stored, shared protocol.Secret
		refusals       []protocol.Error
		offered        []protocol.Secret
		kept           protocol.Secret
		err            string
	}{
		{"none stored", "", "shared", nil, []protocol.Secret{"shared"}, "issued", ""},
		{"stored first", "stored", "shared", nil, []protocol.Secret{"stored"}, "issued", ""},
		{"stored refused, shared helps", "stored", "shared", []protocol.Error{refused}, []protocol.Secret{"stored", "shared"}, "issued", ""},
		{"stored refused by code", "stored", "shared", []protocol.Error{coded}, []protocol.Secret{"stored", "shared"}, "issued", ""},
		{"stored refused, no shared", "stored", "", []protocol.Error{refused}, []protocol.Secret{"stored"}, "stored", refused.Message},
		{"both refused", "stored", "shared", []protocol.Error{refused, refused}, []protocol.Secret{"stored", "shared"}, "", refused.Message},
		{"shared refused", "", "shared", []protocol.Error{refused}, []protocol.Secret{"shared"}, "", refused.Message},
		{"pairing is no reason to forget", "stored", "shared", []protocol.Error{pairing}, []protocol.Secret{"stored"}, "stored", "pairing required"},
		{"nor is too many attempts", "stored", "shared", []protocol.Error{limited}, []protocol.Secret{"stored"}, "stored", "unauthorized"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var offered []protocol.Secret
			g := serve(t, func(p *peer) {
				id, params := p.challenge()
				var token protocol.Secret
				if params.Auth != nil {
					token = params.Auth.Token
				}
				offered = append(offered, token)
				if n := len(offered); n <= len(tt.refusals) {
					p.refuse(id, tt.refusals[n-1])
					p.close(protocol.ClosePolicy, tt.refusals[n-1].Message)
					return
				}
				p.hello(id, 0, &protocol.HelloAuth{DeviceToken: "issued", Role: "operator", Scopes: []string{}})
				p.drain()
			})
			store := tokens{}
			if tt.stored != "" {
				store["operator"] = tt.stored
			}
			o := g.options()
			o.Token, o.Signer, o.Tokens = tt.shared, newSigner(), store
			c, err := Dial(t.Context(), o)
			if err == nil {
				defer c.Close()
			}
			if got := fmt.Sprint(err); tt.err == "" && err != nil || tt.err != "" && got != tt.err {
				t.Errorf("Dial = %v, want %q", err, tt.err)
			}
			if diff := cmp.Diff(tt.offered, offered); diff != "" {
				t.Errorf("offered tokens (-want +got):\n%s", diff)
			}
			if store["operator"] != tt.kept {
				t.Errorf("stored token = %q, want %q", string(store["operator"]), string(tt.kept))
			}
		})
	}
}

// The close code and reason of a refused connect are part of the error.
func TestDialRefused(t *testing.T) {
	g := serve(t, func(p *peer) {
		id, _ := p.challenge()
		p.refuse(id, protocol.Error{Code: protocol.CodeNotPaired, Message: "pairing required", Details: json.RawMessage(`{"requestId":"r7"}`)})
		p.close(protocol.ClosePolicy, "pairing required (requestId: r7)")
	})
	_, err := Dial(t.Context(), g.options())
	var refusal *protocol.Error
	var closed *CloseError
	if !errors.As(err, &refusal) || refusal.Code != protocol.CodeNotPaired || !errors.As(err, &closed) ||
		closed.Code != 1008 || closed.Reason != "pairing required (requestId: r7)" || err.Error() != "pairing required" {
		t.Errorf("Dial = %v (%+v), want NOT_PAIRED and close 1008", err, err)
	}
	if Permanent(err) {
		t.Error("Permanent(pairing required) = true, want false")
	}
}

func TestDialFails(t *testing.T) {
	tests := []struct {
		name   string
		script func(*peer)
		change func(*Options)
		want   string
	}{
		{"closed without a word", func(p *peer) { p.close(1000, "") }, nil, "gateway closed (1000)"},
		{"closed with a reason", func(p *peer) { p.challenge(); p.close(1008, "invalid request frame") }, nil, "gateway closed (1008): invalid request frame"},
		{"not JSON", func(p *peer) { p.send("hello"); p.drain() }, nil, "gateway sent a frame that cannot be read"},
		{"empty nonce", func(p *peer) {
			p.send(`{"type":"event","event":"connect.challenge","payload":{"nonce":""}}`)
			p.drain()
		}, nil, "without nonce"},
		{"refused without error", func(p *peer) {
			id, _ := p.challenge()
			p.send(protocol.Response{Type: "res", ID: id})
			p.close(1008, "")
		}, nil, "connect refused"},
		{"another protocol", func(p *peer) {
			id, _ := p.challenge()
			p.reply(id, protocol.HelloOK{Type: protocol.HelloType, Protocol: 5})
			p.drain()
		}, nil, `protocol 5, want hello-ok with protocol 3 to 4`},
		{"no URL", nil, func(o *Options) { o.URL = "http://u:secret@host/?token=secret" }, `gateway URL "http://host/" is not ws://`},
		{"pin without TLS", nil, func(o *Options) { o.TLSFingerprint = strings.Repeat("a", 64) }, "needs a wss:// URL"},
		{"bad pin", nil, func(o *Options) { o.URL, o.TLSFingerprint = "wss://h", "abc" }, "64 hex digits"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			g := serve(t, tt.script)
			o := g.options()
			if tt.change != nil {
				tt.change(&o)
			}
			if c, err := Dial(t.Context(), o); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Dial = %v, %v, want %s", c, err, tt.want)
			}
		})
	}
}

func TestDialTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := serve(t, func(p *peer) { p.drain() })
		began := time.Now()
		_, err := Dial(t.Context(), g.options())
		if err == nil || !strings.Contains(err.Error(), "did not complete the handshake in time") {
			t.Errorf("Dial = %v, want a handshake timeout", err)
		}
		if took := time.Since(began); took != 10*time.Second {
			t.Errorf("Dial took %v, want 10s", took)
		}
	})
}

func TestCall(t *testing.T) {
	g := serve(t, func(p *peer) {
		p.welcome(0)
		for {
			f, ok := p.receive()
			if !ok {
				return
			}
			switch f.Method {
			case "agent":
				p.send("not json")
				p.reply("unknown", 1)
				p.reply(f.ID, protocol.AgentAccepted{RunID: "r", Status: protocol.StatusAccepted})
				p.reply(f.ID, protocol.AgentResult{RunID: "r", Status: protocol.StatusOK, Summary: "completed"})
			case "failed":
				p.send(protocol.Response{Type: "res", ID: f.ID, Payload: json.RawMessage(`{"runId":"r","status":"error","summary":"s"}`),
					Error: &protocol.Error{Code: protocol.CodeUnavailable, Message: "Error: s", Details: json.RawMessage(`{"code":"X"}`)}})
			case "bare":
				p.send(`{"type":"res","id":"` + f.ID + `","ok":false}`)
			case "null":
				p.reply(f.ID, nil)
			default:
				p.reply(f.ID, map[string]any{"method": f.Method, "params": f.Params})
			}
		}
	})
	c := dialTest(t, g.options())
	ctx := t.Context()

	var echo struct {
		Method string
		Params struct{ Probe bool }
	}
	if err := c.Call(ctx, "health", map[string]bool{"probe": true}, &echo); err != nil || echo.Method != "health" || !echo.Params.Probe {
		t.Errorf("Call = %+v, %v, want the params back", echo, err)
	}
	var first, last protocol.AgentResult
	if err := c.Call(ctx, "agent", nil, &first); err != nil || first.Status != protocol.StatusAccepted {
		t.Errorf("Call(agent) = %+v, %v, want accepted", first, err)
	}
	if err := c.CallFinal(ctx, "agent", nil, &last); err != nil || last.Status != protocol.StatusOK {
		t.Errorf("CallFinal(agent) = %+v, %v, want the last answer", last, err)
	}
	var failed protocol.AgentResult
	var refusal *protocol.Error
	err := c.CallFinal(ctx, "failed", nil, &failed)
	if !errors.As(err, &refusal) || refusal.DetailCode() != "X" || err.Error() != "Error: s" || failed.Summary != "s" {
		t.Errorf("CallFinal(failed) = %+v, %v, want the payload and the error", failed, err)
	}
	if err := c.Call(ctx, "bare", nil, nil); err == nil || err.Error() != "bare failed" {
		t.Errorf("Call(bare) = %v, want an error", err)
	}
	var nothing *int
	if err := c.Call(ctx, "null", nil, &nothing); err != nil || nothing != nil {
		t.Errorf("Call(null) = %v, %v, want nil", nothing, err)
	}
	if err := c.Call(ctx, "health", nil, new(int)); err == nil || !strings.Contains(err.Error(), "decode health result") {
		t.Errorf("Call into an int = %v, want a decode error", err)
	}
	if err := c.Call(ctx, "health", func() {}, nil); err == nil || !strings.Contains(err.Error(), "encode health params") {
		t.Errorf("Call with a func = %v, want an encode error", err)
	}
}

func TestCallTogether(t *testing.T) {
	g := serve(t, func(p *peer) {
		p.welcome(0)
		var held []protocol.Frame
		for range 50 {
			f, ok := p.receive()
			if !ok {
				return
			}
			held = append(held, f)
		}
		for i := len(held) - 1; i >= 0; i-- {
			p.reply(held[i].ID, held[i].Params)
		}
		p.drain()
	})
	c := dialTest(t, g.options())
	var wg sync.WaitGroup
	for i := range 50 {
		wg.Go(func() {
			var got int
			if err := c.Call(t.Context(), "echo", i, &got); err != nil || got != i {
				t.Errorf("Call(%d) = %d, %v, want it back", i, got, err)
			}
		})
	}
	wg.Wait()
}

func TestCallGivesUp(t *testing.T) {
	arrived := make(chan struct{})
	g := serve(t, func(p *peer) {
		p.welcome(0)
		p.receive()
		close(arrived)
		p.receive()
		p.close(1012, "service restart")
	})
	c := dialTest(t, g.options())
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := errors.New("enough")
	events := c.Subscribe()
	var wg sync.WaitGroup
	wg.Go(func() { <-arrived; cancel(stop) })
	if err := c.Call(ctx, "slow", nil, nil); !errors.Is(err, stop) {
		t.Errorf("Call = %v, want the cause of the cancelled context", err)
	}
	wg.Wait()
	if err := c.Call(ctx, "slow", nil, nil); !errors.Is(err, stop) {
		t.Errorf("Call with a cancelled context = %v, want its cause", err)
	}
	// The connection is still there; the next request makes the gateway close it.
	want := "gateway closed (1012): service restart"
	for range 2 {
		if err := c.Call(t.Context(), "slow", nil, nil); err == nil || err.Error() != want {
			t.Errorf("Call over the end = %v, want %s", err, want)
		}
	}
	var closed *CloseError
	if _, err := events.Next(t.Context()); !errors.As(err, &closed) || closed.Code != protocol.CloseRestart {
		t.Errorf("Next = %v, want close 1012", err)
	}
	<-c.Done()
	if _, err := c.Subscribe().Next(t.Context()); !errors.As(err, &closed) {
		t.Errorf("Next of a late subscription = %v, want the end of the connection", err)
	}
}

func TestClose(t *testing.T) {
	closed := make(chan *CloseError, 1)
	g := serve(t, func(p *peer) { p.welcome(0); closed <- p.drain() })
	c := dialTest(t, g.options())
	if err := c.Close(); err != nil {
		t.Errorf("Close = %v", err)
	}
	if err := c.Call(t.Context(), "x", nil, nil); !errors.Is(err, ErrClosed) {
		t.Errorf("Call after Close = %v, want ErrClosed", err)
	}
	if got := <-closed; got.Code != protocol.CloseNormal {
		t.Errorf("gateway saw %v, want close 1000", got)
	}
	if err := c.Close(); err != nil {
		t.Errorf("Close again = %v", err)
	}
}

// Silence for two tick intervals ends the connection with 4000, any frame counts as life.
func TestTickWatchdog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		closed := make(chan *CloseError, 1)
		g := serve(t, func(p *peer) {
			p.welcome(30_000)
			for range 3 {
				<-time.After(50 * time.Second)
				p.send(`{"type":"event","event":"tick","payload":{"ts":1}}`)
			}
			closed <- p.drain()
		})
		c := dialTest(t, g.options())
		began := time.Now()
		<-c.Done()
		if took := time.Since(began); took < 210*time.Second || took > 211*time.Second {
			t.Errorf("connection ended after %v, want 60s after the last tick at 150s", took)
		}
		var ce *CloseError
		if !errors.As(c.Err(), &ce) || ce.Code != 4000 || ce.Reason != "tick timeout" {
			t.Errorf("Err = %v, want 4000 tick timeout", c.Err())
		}
		if got := <-closed; got.Code != 4000 || got.Reason != "tick timeout" {
			t.Errorf("gateway saw %v, want 4000 tick timeout", got)
		}
	})
}
