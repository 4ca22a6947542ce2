package client

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"
	"github.com/google/go-cmp/cmp"

	"openclaw/protocol"
)

func TestKeep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pairing := func(p *peer) {
			id, _ := p.challenge()
			p.refuse(id, protocol.Error{Code: protocol.CodeNotPaired, Message: "pairing required"})
			p.close(1008, "pairing required")
		}
		limited := func(p *peer) {
			id, _ := p.challenge()
			p.refuse(id, protocol.Error{Code: protocol.CodeInvalidRequest, Message: "unauthorized", Retryable: true, RetryAfterMs: 90_000})
			p.close(1008, "unauthorized")
		}
		lost := func(p *peer) { p.welcome(0); p.close(1012, "service restart"); p.drain() }
		stays := func(p *peer) { p.welcome(0); p.drain() }
		g := serve(t, pairing, pairing, pairing, pairing, pairing, pairing, pairing, lost, limited, stays)
		var waits []time.Duration
		var lastErr error
		sessions := 0
		err := Keep(t.Context(), g.options(), KeepOptions{Lost: func(err error, wait time.Duration) {
			waits, lastErr = append(waits, wait), err
		}}, func(ctx context.Context, c *Client) error {
			if sessions++; sessions == 2 {
				return nil
			}
			<-ctx.Done()
			return context.Cause(ctx)
		})
		if err != nil || sessions != 2 {
			t.Errorf("Keep = %v after %d sessions, want nil after 2", err, sessions)
		}
		s := time.Second
		want := []time.Duration{s, 2 * s, 4 * s, 8 * s, 16 * s, 30 * s, 30 * s, s, 90 * s}
		if diff := cmp.Diff(want, waits); diff != "" {
			t.Errorf("waits (-want +got):\n%s", diff)
		}
		if lastErr == nil || lastErr.Error() != "unauthorized" {
			t.Errorf("last loss = %v, want unauthorized", lastErr)
		}
	})
}

func TestKeepEnds(t *testing.T) {
	wrong := func(p *peer) {
		id, _ := p.challenge()
		p.refuse(id, protocol.Error{Code: protocol.CodeInvalidRequest, Message: "protocol mismatch"})
		p.close(1002, "protocol mismatch")
	}
	g := serve(t, wrong)
	err := Keep(t.Context(), g.options(), KeepOptions{}, func(context.Context, *Client) error { return nil })
	if err == nil || err.Error() != "protocol mismatch" {
		t.Errorf("Keep = %v, want the permanent refusal", err)
	}
	own := errors.New("session failed")
	g = serve(t, func(p *peer) { p.welcome(0); p.drain() })
	if err := Keep(t.Context(), g.options(), KeepOptions{}, func(context.Context, *Client) error { return own }); !errors.Is(err, own) {
		t.Errorf("Keep = %v, want the error of the session", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	err = Keep(ctx, g.options(), KeepOptions{}, func(ctx context.Context, c *Client) error {
		cancel()
		<-ctx.Done()
		return ctx.Err()
	})
	if err != nil {
		t.Errorf("Keep after cancel = %v, want nil", err)
	}
	if err := Keep(ctx, g.options(), KeepOptions{}, nil); err != nil {
		t.Errorf("Keep with a cancelled context = %v, want nil", err)
	}
}

func TestTLSFingerprint(t *testing.T) {
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ws, err := websocket.Accept(w, r, nil)
		if err != nil {
			t.Error(err)
			return
		}
		defer ws.CloseNow()
		p := &peer{t: t, ws: ws, ctx: r.Context()}
		p.welcome(0)
		p.drain()
	}))
	srv.Config.ErrorLog = log.New(io.Discard, "", 0)
	srv.StartTLS()
	defer srv.Close()
	sum := sha256.Sum256(srv.Certificate().Raw)
	pin := hex.EncodeToString(sum[:])
	o := Options{URL: "wss" + strings.TrimPrefix(srv.URL, "https")}
	if c, err := Dial(t.Context(), o); err == nil {
		t.Errorf("Dial without a pin = %v, want the certificate refused", c)
	}
	o.TLSFingerprint = strings.Repeat("0", 64)
	if c, err := Dial(t.Context(), o); err == nil || !strings.Contains(err.Error(), "certificate fingerprint is "+pin) {
		t.Errorf("Dial with a wrong pin = %v, %v, want the real fingerprint in the error", c, err)
	}
	o.TLSFingerprint = "SHA256:" + strings.ToUpper(pin[:32]) + ":" + pin[32:]
	dialTest(t, o)
}
