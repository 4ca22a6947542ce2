package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"openclaw/internal/schema"
	"openclaw/protocol"
)

// request is one request on its way through a method.
type request struct {
	conn   *conn
	id     string
	method string
	params json.RawMessage
	slot   func() // gives the slot among the running requests back; at most once
	after  func() // to be done when the answer is queued; nil for nothing
	parked bool
}

// encodedPayload is a payload that is JSON already.
type encodedPayload []byte

// silence is the payload of a method that has answered already.
type silence struct{}

// failed is an error that comes with a payload.
type failed struct {
	payload any
	err     *protocol.Error
}

func (f *failed) Error() string { return f.err.Message }

func (f *failed) Unwrap() error { return f.err }

// dispatch starts the request in data. It waits while too many requests of the
// connection are running.
func (g *Gateway) dispatch(ctx context.Context, c *conn, data []byte) {
	var req protocol.Request
	decode := schema.Decode
	if c.version >= protocol.Version4 {
		decode = schema.DecodeLenient // requests there may carry a traceparent and more
	}
	if err := decode(data, &req); err != nil {
		g.badFrame(c, data, err)
		return
	}
	if payload, ok := g.quick(c, &req); ok {
		g.reply(c, req.ID, payload, nil)
		return
	}
	select {
	case c.slots <- struct{}{}:
	case <-ctx.Done():
		return
	}
	q := &request{conn: c, id: req.ID, method: req.Method, params: req.Params}
	q.slot = sync.OnceFunc(func() { <-c.slots })
	g.requests.Go(func() {
		defer q.done()
		payload, err := g.call(ctx, q)
		if _, said := payload.(silence); !said || err != nil {
			g.reply(c, q.id, payload, err)
		}
		if q.after != nil {
			q.after()
		}
	})
}

// badFrame answers a malformed envelope and keeps the connection; text that is
// not JSON is dropped.
func (g *Gateway) badFrame(c *conn, data []byte, err error) {
	var bad *schema.Errors
	if !errors.As(err, &bad) {
		g.log.Warn("unreadable frame ignored", "conn", c.id, "bytes", len(data), "err", err)
		return
	}
	var frame struct {
		ID json.RawMessage `json:"id"`
	}
	id := protocol.InvalidFrameID
	// A frame that is no object has no id.
	if json.Unmarshal(data, &frame) == nil {
		var s string
		if json.Unmarshal(frame.ID, &s) == nil && s != "" {
			id = s
		}
	}
	g.reply(c, id, nil, &protocol.Error{Code: protocol.CodeInvalidRequest, Message: "invalid request frame: " + bad.Error()})
}

// call judges the caller, finds the method and runs it. A panic ends this
// request only.
func (g *Gateway) call(ctx context.Context, q *request) (payload any, err error) {
	defer func() {
		if p := recover(); p != nil {
			g.log.Error("method panicked", "method", q.method, "conn", q.conn.id, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			payload, err = nil, errInternal
		}
	}()
	m, known := g.methods[q.method]
	known = known && (!m.only4 || q.conn.version >= protocol.Version4)
	if e := authorize(q.conn.grants, g.scopeFor(q), q.conn.version); e != nil {
		return nil, e
	}
	if q.method == protocol.MethodConnect {
		return nil, invalid("connect is only valid as the first request")
	}
	if !known {
		return nil, invalid("unknown method: " + q.method)
	}
	start := time.Now()
	payload, err = m.run(ctx, g, q)
	g.log.Debug("request", "method", q.method, "conn", q.conn.id, "ok", err == nil, "ms", time.Since(start).Milliseconds())
	return payload, err
}

// scopeFor returns what a request asks of its caller.
func (g *Gateway) scopeFor(q *request) scope {
	if m := g.methods[q.method]; m.scopeBy != nil && q.conn.version >= protocol.Version4 {
		return m.scopeBy(q.params)
	}
	return g.scopeOf(q.method, q.conn.version)
}

// scopeOf returns what a method asks of its caller, known or not.
func (g *Gateway) scopeOf(name string, version int) scope {
	if version >= protocol.Version4 {
		if s, ok := reserved4[name]; ok {
			return s
		}
	}
	if m, ok := g.methods[name]; ok && (!m.only4 || version >= protocol.Version4) {
		return m.scope
	}
	if s, ok := reserved[name]; ok {
		return s
	}
	return scopeAdmin
}

// reply queues a response. A nil payload is left out.
func (g *Gateway) reply(c *conn, id string, payload any, err error) {
	var wire *protocol.Error
	if err != nil {
		wire = g.wireError(err, c.grants.admin)
		var f *failed
		if errors.As(err, &f) {
			payload = f.payload
		}
	}
	data, encodeErr := encodePayload(payload)
	if encodeErr == nil {
		data, encodeErr = encodeResponse(id, data, wire)
	}
	if encodeErr != nil {
		g.log.Error("response not encoded", "conn", c.id, "err", encodeErr)
		data, _ = encodeResponse(id, nil, errInternal)
	}
	c.out.send(data)
}

func encodePayload(payload any) ([]byte, error) {
	switch p := payload.(type) {
	case nil:
		return nil, nil
	case encodedPayload:
		return p, nil
	}
	return marshal(payload)
}

// done ends the request's hold on its connection.
func (q *request) done() {
	if q.parked {
		q.conn.parked.Add(-1)
	}
	q.slot()
}

// park says that the request will now only wait: it stops counting among the
// running ones, so that the connection can do other things. Too many waiting
// requests are refused.
func (q *request) park() error {
	if q.parked {
		return nil
	}
	if q.conn.parked.Add(1) > maxParked {
		q.conn.parked.Add(-1)
		return &protocol.Error{Code: protocol.CodeUnavailable, Message: "too many pending requests on this connection", Retryable: true, RetryAfterMs: 1000}
	}
	q.parked = true
	q.slot()
	return nil
}

// decode reads the params of q into p. Missing params count as {}; newer clients
// may send keys that are not known here.
func (q *request) decode(p any) error {
	params := q.params
	if len(params) == 0 {
		params = json.RawMessage("{}")
	}
	decode := schema.Decode
	if q.conn.version >= protocol.Version4 {
		decode = schema.DecodeLenient
	}
	err := decode(params, p)
	var bad *schema.Errors
	if errors.As(err, &bad) {
		return invalid("invalid " + q.method + " params: " + bad.Error())
	}
	return err
}
