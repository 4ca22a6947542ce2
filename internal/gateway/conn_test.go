package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"

	"openclaw/internal/run"
	"openclaw/protocol"
)

// GW-002.
func TestNonceIsNew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, "")
		seen := map[string]bool{}
		for range 20 {
			c := h.dial(dialer{path: "/any/path?x=1"})
			c.challenge()
			if seen[c.nonce] {
				t.Fatalf("nonce %s came twice", c.nonce)
			}
			seen[c.nonce] = true
		}
		h.close()
	})
}

// GW-009.
func TestMessageTooBig(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, "")
		c := h.dial(dialer{})
		c.challenge()
		frame := func(n int) string {
			const around = len(`{"type":"req","id":"x","method":"agents.list","params":{"p":""}}`)
			return `{"type":"req","id":"x","method":"agents.list","params":{"p":"` + strings.Repeat("x", n-around) + `"}}`
		}
		c.sendText(frame(protocol.MaxPreAuthPayload))
		if code, reason := c.closed(); code != protocol.ClosePolicy || reason != "invalid handshake: first request must be connect" {
			t.Errorf("message of the full size before hello-ok closed with %d %q, want it read", code, reason)
		}
		c = h.dial(dialer{})
		c.challenge()
		c.sendText(frame(protocol.MaxPreAuthPayload + 1))
		if code, reason := c.closed(); code != protocol.CloseTooBig || reason != protocol.ReasonPreAuthTooLarge {
			t.Errorf("oversize message before hello-ok closed with %d %q, want 1009 %q", code, reason, protocol.ReasonPreAuthTooLarge)
		}
		c = h.connect(dialer{})
		c.sendText(frame(protocol.MaxPreAuthPayload + 1))
		if f := c.response("x"); f.Error == nil || !strings.Contains(f.Error.Message, "unexpected property 'p'") {
			t.Errorf("larger message after hello-ok = %+v, want it read", f)
		}
		// The client says how long the message will be; the gateway need not wait
		// for all of it.
		go c.ws.Write(context.Background(), websocket.MessageText, []byte(frame(protocol.MaxPayload+1)))
		if code, reason := c.closed(); code != protocol.CloseTooBig || reason != "" {
			t.Errorf("oversize message closed with %d %q, want 1009", code, reason)
		}
		h.close()
	})
}

// A binary message with JSON inside is read like text.
func TestBinaryMessage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, "")
		c := h.connect(dialer{})
		c.ws.Write(context.Background(), websocket.MessageBinary, []byte(`{"type":"req","id":"b","method":"agents.list"}`))
		if f := c.response("b"); !f.OK {
			t.Errorf("binary request = %+v, want an answer", f.Error)
		}
		h.close()
	})
}

// GW-010: what waits does not delay what does not, and only so much runs at once.
func TestRequestsRunSideBySide(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, "")
		c := h.connect(dialer{})
		for range maxInFlight + 10 {
			c.request(protocol.MethodAgentWait, object{"runId": "never", "timeoutMs": 60_000})
		}
		start := time.Now()
		if f := c.call(protocol.MethodStatus, nil); !f.OK || time.Since(start) > time.Second {
			t.Errorf("status beside waiting requests = %+v after %v, want it at once", f, time.Since(start))
		}
		h.close()
	})
}

// Requests that only wait are bounded too.
func TestWaitingRequestsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, "", func(c *Config) { c.Log = nil })
		c := h.connect(dialer{})
		for range maxParked + 1 { // they begin in any order, so any may be the one too many
			c.request(protocol.MethodAgentWait, object{"runId": "never", "timeoutMs": 20_000})
		}
		f := c.mustNext()
		for f.Type != protocol.TypeResponse {
			f = c.mustNext()
		}
		if f.Error == nil || f.Error.Code != protocol.CodeUnavailable || !f.Error.Retryable {
			t.Errorf("one too many = %+v, want UNAVAILABLE and retryable", f.Error)
		}
		h.close()
	})
}

// The reader stops reading while too many requests run, and goes on after.
func TestReaderWaitsForSlots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, "")
		gate := make(chan struct{})
		h.g.methods["test.block"] = method{scope: scopeAdmin, run: func(context.Context, *Gateway, *request) (any, error) {
			<-gate
			return "done", nil
		}}
		c := h.connect(dialer{})
		var ids []string
		for range maxInFlight {
			ids = append(ids, c.request("test.block", nil))
		}
		// One more is read and waits; what follows stays in the socket.
		last := c.request("test.block", nil)
		go c.sendText(`{"type":"req","id":"after","method":"health"}`)
		synctest.Wait()
		if n := len(h.only(c).slots); n != maxInFlight {
			t.Errorf("%d requests run, want %d", n, maxInFlight)
		}
		close(gate)
		open := map[string]bool{last: true, "after": true}
		for _, id := range ids {
			open[id] = true
		}
		for len(open) > 0 { // in any order
			if f := c.mustNext(); f.Type == protocol.TypeResponse {
				if !f.OK || !open[f.ID] {
					t.Fatalf("response %+v, want one of the %d that are open", f, len(open))
				}
				delete(open, f.ID)
			}
		}
		h.close()
	})
}

// only returns the gateway's end of the one connection there is.
func (h *house) only(*wsClient) *conn {
	h.g.hub.mu.RLock()
	defer h.g.hub.mu.RUnlock()
	if len(h.g.hub.conns) != 1 {
		h.t.Fatalf("%d connections, want 1", len(h.g.hub.conns))
	}
	return h.g.hub.conns[0]
}

// A panic ends one request.
func TestPanicEndsOneRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, "")
		h.g.methods["test.panic"] = method{scope: scopeAdmin, run: func(context.Context, *Gateway, *request) (any, error) { panic("boom") }}
		h.g.methods["test.once"] = method{scope: scopeAdmin, run: func(ctx context.Context, g *Gateway, q *request) (any, error) {
			return g.once(ctx, q, "k", func(*dedupeEntry) (any, error) { panic("boom") })
		}}
		c := h.connect(dialer{})
		for _, m := range []string{"test.panic", "test.once", "test.once"} {
			f := c.call(m, nil)
			if f.OK || f.Error.Code != protocol.CodeUnavailable || strings.Contains(f.Error.Message, "boom") {
				t.Errorf("%s = %+v, want UNAVAILABLE without the cause", m, f.Error)
			}
		}
		if f := c.call(protocol.MethodHealth, nil); !f.OK {
			t.Errorf("health after a panic = %+v", f.Error)
		}
		h.close()
	})
}

// GW-082: a client that does not read is dropped with a reason, others get
// everything.
func TestSlowConsumer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, "")
		slow := h.connect(dialer{})
		good := h.connect(dialer{})
		received := make(chan int, 1)
		go func() {
			n := 0
			for n < 60 {
				if f, err := good.next(); err != nil {
					break
				} else if f.Event == protocol.EventAgent {
					n++
				}
			}
			received <- n
		}()
		// Slow reads nothing while 60 events of 50 KB pass, twice what it may have
		// waiting.
		text := strings.Repeat("x", 50_000)
		for i := range 60 {
			h.g.Publish(run.Event{RunID: "r", Seq: i + 1, Stream: run.StreamAssistant, At: time.Now(),
				Assistant: &run.Assistant{Text: text, Delta: "x"}})
			synctest.Wait()
		}
		if n := <-received; n != 60 {
			t.Errorf("the reading client got %d events, want 60", n)
		}
		// When it reads at last, it learns why it was closed.
		code, reason := slow.closed()
		if code != protocol.ClosePolicy || reason != protocol.ReasonSlowConsumer {
			t.Errorf("slow client closed with %d %q, want 1008 %q", code, reason, protocol.ReasonSlowConsumer)
		}
		h.close()
	})
}

// A client that takes nothing at all is cut off.
func TestStalledSocket(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, "")
		h.connect(dialer{})
		synctest.Wait()
		time.Sleep(writeTimeout + tickEvery + time.Second) // the tick finds nobody reading
		synctest.Wait()
		if !h.g.hub.empty() {
			t.Errorf("a client that has read nothing for %v is still connected", writeTimeout)
		}
		h.close()
	})
}

// GW-080, GW-081.
func TestTickAndShutdown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, "")
		c := h.connect(dialer{})
		guest := h.dial(dialer{})
		guest.challenge()
		go guest.closed()
		start, next := time.Now(), int64(1)
		for range 3 {
			var tick protocol.TickEvent
			for tick.Ts == 0 {
				f := c.mustNext()
				if f.Seq != next {
					t.Errorf("seq of %s = %d, want %d", f.Event, f.Seq, next)
				}
				next++
				if f.Event == protocol.EventTick {
					json.Unmarshal(f.Payload, &tick)
				}
			}
			if want := start.Add(tickEvery).UnixMilli(); tick.Ts != want {
				t.Errorf("tick at %d, want %d", tick.Ts, want)
			}
			start = start.Add(tickEvery)
		}
		h.stop()
		f := c.mustNext()
		if f.Event != protocol.EventShutdown || f.Seq != next || string(f.Payload) != `{"reason":"gateway stopping"}` {
			t.Errorf("last event = %+v, want shutdown", f)
		}
		if code, reason := c.closed(); code != protocol.CloseRestart || reason != protocol.ReasonServiceRestart {
			t.Errorf("closed with %d %q, want 1012 %q", code, reason, protocol.ReasonServiceRestart)
		}
		h.close()
		if _, err := h.tryDial(dialer{}); err == nil {
			t.Error("dial after the shutdown succeeded")
		}
	})
}

// A client that takes nothing does not hold up the end of the gateway.
func TestShutdownOfAStalledClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, "")
		h.connect(dialer{})
		synctest.Wait() // there is more for it to read, and it does not
		start := time.Now()
		h.close()
		if took, most := time.Since(start), slowTime+2*farewellTime; took > most {
			t.Errorf("shutdown took %v, want at most %v", took, most)
		}
	})
}

// Runs may end during the grace period, and their requesters hear the result.
func TestShutdownWaitsForRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, "")
		c := h.connect(dialer{})
		id := c.request(protocol.MethodAgent, object{"message": "hi", "sessionKey": "main", "idempotencyKey": "k"})
		c.response(id)
		h.stop()
		synctest.Wait()
		if f := c.call(protocol.MethodAgent, object{"message": "hi", "sessionKey": "main", "idempotencyKey": "late"}); f.Error == nil ||
			f.Error.Code != protocol.CodeUnavailable || !f.Error.Retryable {
			t.Errorf("agent during the shutdown = %+v, want UNAVAILABLE and retryable", f.Error)
		}
		time.Sleep(time.Second)
		h.runner.finish("k", "made it")
		if f := c.response(id); !f.OK || !strings.Contains(string(f.Payload), "made it") {
			t.Errorf("result during the shutdown = %+v", f)
		}
		c.event(protocol.EventShutdown)
		c.closed()
		h.close()
	})
}

// GW-028: nothing overtakes hello-ok, however busy the gateway is.
func TestNothingBeforeHello(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, "")
		stop, done := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(done)
			for i := 1; ; i++ {
				select {
				case <-stop:
					return
				case <-time.After(time.Microsecond):
					h.g.Publish(run.Event{RunID: "r", Seq: i, Stream: run.StreamAssistant, At: time.Now(), Assistant: &run.Assistant{Text: "x"}})
				}
			}
		}()
		for i := range 30 {
			c := h.dial(dialer{})
			c.challenge()
			c.request(protocol.MethodConnect, hello())
			if f := c.mustNext(); f.Type != protocol.TypeResponse {
				t.Fatalf("connection %d: first frame after connect = %+v, want hello-ok", i, f)
			}
			if f := c.mustNext(); f.Seq != 1 {
				t.Fatalf("connection %d: first event = %+v, want seq 1", i, f)
			}
			c.ws.CloseNow()
		}
		close(stop)
		<-done
		h.close()
	})
}

// No more than 32 connections of one address are in the handshake.
func TestPreauthLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, "")
		for i := range preauthPerAddr {
			h.dial(dialer{from: fmt.Sprintf("203.0.113.9:%d", 1000+i)}).challenge()
		}
		if _, err := h.tryDial(dialer{from: "203.0.113.9:1"}); err == nil || !strings.Contains(err.Error(), "429") {
			t.Errorf("one too many = %v, want status 429", err)
		}
		h.dial(dialer{from: "203.0.113.10:1"}).challenge()
		// A burst of clients that do connect is let through, all of it.
		for range 3 * preauthPerAddr {
			h.connect(dialer{from: "203.0.113.11:1"})
		}
		h.close()
	})
}

// FuzzFrames sends anything, before and after the handshake. Nothing panics,
// every answer is a frame, and the connection lives on once it is in.
func FuzzFrames(f *testing.F) {
	for _, s := range []string{
		`{"type":"req","id":"1","method":"health"}`, `{"type":"req","id":"1","method":"agents.list","params":null}`,
		`{"type":"req","id":"\u0000","method":"sessions.list","params":{"limit":1e400}}`, `[]`, `nul`, `{"id":{}}`, "\xff", ``,
		`{"type":"req","id":"1","method":"connect","params":{"minProtocol":3,"maxProtocol":3,"client":{"id":"cli","version":"1","platform":"x","mode":"cli"},"auth":{"token":"secret"},"device":{"id":"x","publicKey":"x","signature":"x","signedAt":0}}}`,
	} {
		f.Add([]byte(s))
	}
	h := newHouse(f, "", func(c *Config) { c.Log = nil })
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, joined := range []bool{false, true} {
			c := &conn{id: "c", nonce: "n", out: newOutbox(1 << 20), slots: make(chan struct{}, maxInFlight), originOK: true}
			c.version, c.grants = protocol.Version3, newGrants(protocol.RoleOperator, []string{protocol.ScopeRead})
			if joined {
				h.g.dispatch(context.Background(), c, data)
				h.g.requests.Wait()
			} else if h.g.hub.enter(c); h.g.handshake(context.Background(), c, data) == nil {
				h.g.depart(c)
			}
			h.g.hub.leave(c)
			frames, _ := c.out.take(nil)
			for _, fr := range frames {
				text := fr.data
				if fr.seq > 0 {
					text = spliceSeq(nil, fr)
				}
				if !json.Valid(text) {
					t.Errorf("answer to %q is no JSON: %s", data, text)
				}
			}
		}
	})
}
