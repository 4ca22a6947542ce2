package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"

	"openclaw/protocol"
)

// Client is one connection to a gateway. It is safe for concurrent use.
type Client struct {
	ws    *websocket.Conn
	opts  Options
	hello *protocol.HelloOK

	lastID   atomic.Int64
	lastSeen atomic.Int64 // when the last frame came, Unix nanoseconds

	done chan struct{} // closed when the connection is over
	wg   sync.WaitGroup

	mu     sync.Mutex
	err    error // why the connection is over; set before done closes
	calls  map[string]*call
	subs   map[*Subscription]struct{}
	events *Subscription // from Options.EventQueue

	seq int64 // of the last broadcast; owned by the reader
}

// call is a request that waits for its response.
type call struct {
	final  bool
	answer chan protocol.Frame // capacity 1: exactly one frame is ever sent
}

// start runs a connection whose handshake is done.
func start(ws *websocket.Conn, o Options, hello *protocol.HelloOK, early []protocol.Frame) *Client {
	c := &Client{ws: ws, opts: o, hello: hello, done: make(chan struct{}),
		calls: map[string]*call{}, subs: map[*Subscription]struct{}{}}
	c.lastSeen.Store(time.Now().UnixNano())
	if o.EventQueue > 0 {
		c.events = c.subscribe(o.EventQueue, nil)
	}
	for _, f := range early {
		c.event(f)
	}
	ctx, cancel := context.WithCancel(context.Background())
	c.wg.Go(func() {
		defer cancel()
		c.read(ctx)
	})
	c.wg.Go(func() { c.watch() })
	return c
}

// Hello returns what the gateway said on connecting. It must not be changed.
func (c *Client) Hello() *protocol.HelloOK { return c.hello }

// Done is closed when the connection is over.
func (c *Client) Done() <-chan struct{} { return c.done }

// Err returns why the connection is over, nil as long as it is not: [ErrClosed]
// or a *[CloseError].
func (c *Client) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// Close ends the connection and waits for its goroutines. Calls that wait
// return [ErrClosed].
func (c *Client) Close() error {
	c.end(ErrClosed)
	_ = c.ws.Close(websocket.StatusNormalClosure, "") // whatever the peer makes of it
	c.wg.Wait()
	return nil
}

// Call runs a method and decodes its payload into result, which may be nil. A
// refusal is a *[protocol.Error]; its payload, if any, is decoded as well. When
// the connection ends first, the error is [Client.Err].
func (c *Client) Call(ctx context.Context, method string, params, result any) error {
	return c.call(ctx, method, params, result, false)
}

// CallFinal is [Client.Call] for methods that answer twice: it passes over the
// response that says "accepted" and returns the last one.
func (c *Client) CallFinal(ctx context.Context, method string, params, result any) error {
	return c.call(ctx, method, params, result, true)
}

func (c *Client) call(ctx context.Context, method string, params, result any, final bool) error {
	req := protocol.Request{Type: protocol.TypeRequest, ID: "c" + strconv.FormatInt(c.lastID.Add(1), 10), Method: method}
	if params != nil {
		raw, err := json.Marshal(params)
		if err != nil {
			return fmt.Errorf("encode %s params: %w", method, err)
		}
		req.Params = raw
	}
	data, err := json.Marshal(req)
	if err != nil {
		return fmt.Errorf("encode %s request: %w", method, err)
	}
	w := &call{final: final, answer: make(chan protocol.Frame, 1)}
	if err := c.await(req.ID, w); err != nil {
		return err
	}
	defer c.forget(req.ID)
	if err := c.write(ctx, data); err != nil {
		return err
	}
	select {
	case f := <-w.answer:
		return decodeAnswer(method, f, result)
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-c.done:
		return c.Err()
	}
}

func decodeAnswer(method string, f protocol.Frame, result any) error {
	if result != nil && len(f.Payload) > 0 {
		if err := json.Unmarshal(f.Payload, result); err != nil && f.OK {
			return fmt.Errorf("decode %s result: %w", method, err)
		}
	}
	switch {
	case f.OK:
		return nil
	case f.Error == nil:
		return &protocol.Error{Code: protocol.CodeUnavailable, Message: method + " failed"}
	}
	return f.Error
}

func (c *Client) await(id string, w *call) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return c.err
	}
	c.calls[id] = w
	return nil
}

func (c *Client) forget(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.calls, id)
}

// write sends one message. A caller that gives up must not tear the message,
// and with it the connection, so only the write timeout applies.
func (c *Client) write(ctx context.Context, data []byte) error {
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.opts.WriteTimeout)
	defer cancel()
	if err := c.ws.Write(ctx, websocket.MessageText, data); err != nil {
		c.end(closeError(err))
		return c.Err()
	}
	return nil
}

// read hands out frames until the connection ends.
func (c *Client) read(ctx context.Context) {
	for {
		_, data, err := c.ws.Read(ctx)
		if err != nil {
			c.end(closeError(err))
			return
		}
		c.lastSeen.Store(time.Now().UnixNano())
		var f protocol.Frame
		if json.Unmarshal(data, &f) != nil {
			continue // nothing to answer it to
		}
		switch f.Type {
		case protocol.TypeResponse:
			c.respond(f)
		case protocol.TypeEvent:
			c.event(f)
		}
	}
}

func (c *Client) respond(f protocol.Frame) {
	c.mu.Lock()
	defer c.mu.Unlock()
	w := c.calls[f.ID]
	if w == nil || w.final && accepted(f) {
		return
	}
	delete(c.calls, f.ID)
	w.answer <- f // never blocks: the call is gone from the map
}

func accepted(f protocol.Frame) bool {
	var p struct {
		Status string `json:"status"`
	}
	return f.OK && json.Unmarshal(f.Payload, &p) == nil && p.Status == protocol.StatusAccepted
}

func (c *Client) event(f protocol.Frame) {
	e := Event{Name: f.Event, Payload: f.Payload, Seq: f.Seq, StateVersion: f.StateVersion}
	if f.Seq > 0 {
		if c.seq > 0 && f.Seq > c.seq+1 {
			e.Missed = f.Seq - c.seq - 1
		}
		c.seq = f.Seq
	}
	c.mu.Lock()
	subs := slices.Collect(maps.Keys(c.subs))
	c.mu.Unlock()
	for _, s := range subs {
		s.push(e)
	}
}

// end marks the connection as over; only the first reason counts.
func (c *Client) end(err error) {
	c.mu.Lock()
	if c.err != nil {
		c.mu.Unlock()
		return
	}
	c.err = err
	close(c.done)
	subs := slices.Collect(maps.Keys(c.subs))
	c.mu.Unlock()
	for _, s := range subs {
		s.finish(err)
	}
}

// watch closes a connection over which nothing came for two tick intervals.
func (c *Client) watch() {
	interval := time.Duration(c.hello.Policy.TickIntervalMs) * time.Millisecond
	if interval <= 0 {
		return
	}
	limit := 2 * interval
	timer := time.NewTimer(limit)
	defer timer.Stop()
	for {
		select {
		case <-c.done:
			return
		case <-timer.C:
		}
		quiet := time.Since(time.Unix(0, c.lastSeen.Load()))
		if quiet >= limit {
			c.end(&CloseError{Code: protocol.CloseTickTimeout, Reason: protocol.ReasonTickTimeout})
			_ = c.ws.Close(protocol.CloseTickTimeout, protocol.ReasonTickTimeout)
			return
		}
		timer.Reset(limit - quiet)
	}
}

var errUnsubscribed = errors.New("subscription closed")
