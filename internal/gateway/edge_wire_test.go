package gateway

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"openclaw/internal/run"
	"openclaw/protocol"
)

// GW-051: a page of another origin is refused, whatever it says it is and although it
// knows the secret.
func TestGW051ForeignOrigin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, "")
		for _, who := range [][2]string{{"cli", "cli"}, {"gateway-client", "backend"}, {"openclaw-control-ui", "webchat"}, {"webchat", "webchat"}, {"openclaw-macos", "ui"}, {"node-host", "node"}} {
			for _, origin := range []string{"https://evil.example", "http://127.0.0.1:9999", "null", "http://127.0.0.1.evil.example:18789"} {
				c, err := h.tryDial(dialer{header: http.Header{"Origin": {origin}}})
				if err != nil {
					continue // it does not even get a socket
				}
				c.challenge()
				if f := c.call(protocol.MethodConnect, hello(client(who[0], who[1]))); f.OK || f.Error == nil {
					t.Errorf("%s from %s was let in", who[0], origin)
				}
			}
		}
		h.close()
	})
}

// GW-063: the shared secret alone gives no scopes to who brings no device, unless it is
// a program of this machine that is known for it.
func TestGW063NoDeviceNoScopes(t *testing.T) {
	tests := []struct {
		name   string
		d      dialer
		change func(object)
		want   bool
	}{
		{"the command line here", dialer{}, client("cli", "cli"), true},
		{"a service here", dialer{}, client("gateway-client", "backend"), true},
		{"a service from elsewhere", remote, client("gateway-client", "backend"), false},
		{"a service behind a proxy", dialer{header: http.Header{"X-Forwarded-For": {"203.0.113.9"}}}, client("gateway-client", "backend"), false},
		{"a page of this gateway", dialer{header: http.Header{"Origin": {"http://127.0.0.1:18789"}}}, client("gateway-client", "backend"), false},
		{"another mode", dialer{}, client("gateway-client", "ui"), false},
		{"another program", dialer{}, client("openclaw-macos", "ui"), false},
	}
	for _, tt := range tests {
		synctest.Test(t, func(t *testing.T) {
			h := newHouse(t, "")
			c := h.connect(tt.d, tt.change)
			f := c.call(protocol.MethodSessionsList, object{})
			if f.OK != tt.want || !tt.want && f.Error.Message != "missing scope: operator.read" {
				t.Errorf("%s: sessions.list = ok %v, %+v, want ok %v", tt.name, f.OK, f.Error, tt.want)
			}
			h.close()
		})
	}
}

// GW-084: deltas of a chat hold all that was said so far and keep their distance; the
// final holds everything; there is one end.
func TestGW084ChatDeltas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, "")
		c := h.connect(dialer{})
		text := ""
		for i := range 40 {
			delta := strings.Repeat("x", 10)
			text += delta
			h.g.Publish(run.Event{RunID: "r", Seq: i + 1, SessionKey: "main", Stream: run.StreamAssistant, At: time.Now(), Assistant: &run.Assistant{Text: text, Delta: delta}})
			time.Sleep(20 * time.Millisecond) // of the bubble
		}
		h.g.Publish(run.Event{RunID: "r", Seq: 41, SessionKey: "main", Stream: run.StreamLifecycle, Lifecycle: &run.Lifecycle{Phase: run.PhaseEnd}})
		said, deltas, ends := "", 0, 0
		for _, f := range c.drain() {
			if f.Event != protocol.EventChat {
				continue
			}
			var e struct {
				State   string
				Message struct{ Content []struct{ Text string } }
			}
			if err := json.Unmarshal(f.Payload, &e); err != nil || len(e.Message.Content) != 1 {
				t.Fatalf("chat event %s: %v", f.Payload, err)
			}
			now := e.Message.Content[0].Text
			if !strings.HasPrefix(now, said) {
				t.Errorf("a chat event of %d characters does not begin with the %d of the one before", len(now), len(said))
			}
			said = now
			if e.State == "delta" {
				deltas++
			} else {
				ends++
			}
		}
		if said != text || ends != 1 {
			t.Errorf("the end holds %d of %d characters, %d ends", len(said), len(text), ends)
		}
		// 800 ms at 150 ms between two.
		if deltas < 2 || deltas > 6 {
			t.Errorf("%d deltas within 800 ms, want 150 ms between two", deltas)
		}
		h.close()
	})
}

// GW-103: chat.abort of a run in another session.
func TestGW103AbortElsewhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, "")
		c := h.connect(dialer{})
		if f := c.call(protocol.MethodChatSend, object{"sessionKey": "one", "message": "hello", "idempotencyKey": "k1"}); !f.OK {
			t.Fatalf("chat.send = %+v", f.Error)
		}
		synctest.Wait()
		f := c.call(protocol.MethodChatAbort, object{"sessionKey": "two", "runId": "k1"})
		if f.OK || f.Error.Code != protocol.CodeInvalidRequest || f.Error.Message != "runId does not match sessionKey" {
			t.Errorf("chat.abort elsewhere = %+v", f.Error)
		}
		if f := c.call(protocol.MethodChatAbort, object{"sessionKey": "one", "runId": "k1"}); !strings.Contains(string(f.Payload), `"runIds":["k1"]`) {
			t.Errorf("chat.abort = %s, %+v", f.Payload, f.Error)
		}
		h.close()
	})
}
