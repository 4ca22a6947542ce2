package gateway

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"
	"golang.org/x/sync/errgroup"

	"openclaw/protocol"
)

const (
	// maxInFlight is how many requests of one connection run at once; the reader
	// waits beyond it.
	maxInFlight = 64
	// maxParked is how many more may wait for something (a run, an approval)
	// without doing anything.
	maxParked = 1024
	// farewellTime is how long a peer may take to answer our close frame.
	farewellTime = 2 * time.Second
	// slowTime is what a peer gets to take what it is being sent before it hears
	// why it is closed.
	slowTime = 5 * time.Second
	// keptFrames is the longest queue whose room an idle connection keeps.
	keptFrames = 16
	// keptBuffer is the largest buffer that a connection keeps or pools.
	keptBuffer = 64 << 10
)

var (
	errTooBig = errors.New("message too big")
	inbound   = sync.Pool{New: func() any { return new(bytes.Buffer) }}
	scratch   = sync.Pool{New: func() any { return new([]byte) }}
)

// conn is one socket. Two goroutines live as long as it does: the reader, which
// runs the handshake and starts requests, and the writer, the only one to write
// frames. See docs/protocol.md#connections.
type conn struct {
	id    string
	peer  peer
	host  string // Host header of the upgrade
	ws    *websocket.Conn
	wire  *wire
	out   *outbox
	nonce string
	// originOK is the verdict of the upgrade on the Origin header, browser that
	// there was one.
	originOK, browser bool
	tailscale         tailscaleClaim

	slots  chan struct{} // one per running request
	parked atomic.Int32
	// spared counts requests whose answer must go out before a change that they make
	// may close this connection.
	spared atomic.Int32
	// open is the canonical key of the session that the client last named; see
	// the tool-status cap.
	open atomic.Pointer[string]
	subs subscriptions

	// Owned by the reader: the handshake is over.
	joined bool
	// Set by the handshake, before the connection joins the hub; read-only after.
	identity
}

// identity is who a connection speaks for once the handshake is done.
type identity struct {
	version  int
	client   protocol.ClientInfo
	deviceID string
	scopes   []string
	grants   grants
	auth     authMethod
	secret   [32]byte // digest of the shared secret, with auth token or password
	// owner names the caller for idempotency keys: its device or its secret.
	owner string
	// toolEvents, toolStatus and own are the caps that change what is sent.
	toolEvents, toolStatus, own bool
	presenceKey                 string // "" when not tracked
	// presenceSeen is the version of presence that hello-ok carried.
	presenceSeen int64
}

// newConn accepts the upgrade of r.
func newConn(w http.ResponseWriter, r *http.Request) (*conn, error) {
	hw := &hijackWriter{ResponseWriter: w}
	// The origin is judged by us: a page that is refused shall read why. No
	// compression is negotiated, whatever the client offers.
	ws, err := websocket.Accept(hw, r, &websocket.AcceptOptions{
		InsecureSkipVerify: true,
		CompressionMode:    websocket.CompressionDisabled,
	})
	if err != nil {
		return nil, err
	}
	ws.SetReadLimit(-1) // read applies ours
	return &conn{
		id:    newID(),
		nonce: newID(),
		host:  r.Host,
		ws:    ws,
		wire:  hw.wire,
		out:   newOutbox(protocol.MaxBuffered3),
		slots: make(chan struct{}, maxInFlight),
	}, nil
}

// run serves the connection until it ends. Handle is called for each message in
// turn; an error from it ends the connection with its farewell.
func (c *conn) run(ctx context.Context, log *slog.Logger, limit func() (int64, string), handle func(ctx context.Context, data []byte) *farewell) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var group errgroup.Group
	group.Go(func() error {
		defer cancel() // what still runs for this connection need not go on
		return c.write()
	})
	end := c.read(ctx, limit, handle)
	c.finish(end)
	cancel()
	if err := group.Wait(); err != nil && !end.abrupt {
		log.Debug("connection write ended", "conn", c.id, "err", err)
	}
}

// read hands messages to handle until the peer is gone or handle says farewell.
func (c *conn) read(ctx context.Context, limit func() (int64, string), handle func(context.Context, []byte) *farewell) farewell {
	for {
		most, reason := limit()
		data, err := c.readMessage(most)
		if errors.Is(err, errTooBig) {
			return farewell{code: protocol.CloseTooBig, reason: reason}
		}
		if err != nil {
			return farewell{abrupt: true}
		}
		if bye := handle(ctx, data); bye != nil {
			return *bye
		}
	}
}

// readMessage returns the next message in a slice of its own, so that a request
// may keep it while the next message is being read.
func (c *conn) readMessage(limit int64) ([]byte, error) {
	// The socket has no read deadline and the context none either: the library
	// would close the connection over a cancelled one. A connection that must
	// end is ended by its writer.
	_, r, err := c.ws.Reader(context.Background())
	if err != nil {
		return nil, err
	}
	buf := inbound.Get().(*bytes.Buffer)
	defer func() {
		if buf.Cap() <= keptBuffer {
			buf.Reset()
			inbound.Put(buf)
		}
	}()
	n, err := buf.ReadFrom(io.LimitReader(r, limit+1))
	if err != nil {
		return nil, fmt.Errorf("read message: %w", err)
	}
	if n > limit {
		return nil, errTooBig
	}
	return bytes.Clone(buf.Bytes()), nil
}

// write is the writer goroutine.
func (c *conn) write() error {
	var batch []frame
	for range c.out.wake {
		var bye *farewell
		batch, bye = c.out.take(batch)
		for len(batch) > 0 {
			if err := c.writeBatch(batch); err != nil {
				c.out.close(farewell{abrupt: true})
				return c.close(farewell{abrupt: true}, err)
			}
			clear(batch)
			if cap(batch) > keptFrames {
				batch = nil // a burst is over; do not keep its room
			}
			batch, bye = c.out.take(batch)
		}
		if bye != nil {
			return c.close(*bye, nil)
		}
	}
	return nil
}

// writeBatch writes frames with as few system calls as they allow.
func (c *conn) writeBatch(batch []frame) error {
	spliced := scratch.Get().(*[]byte)
	defer func() {
		if cap(*spliced) <= keptBuffer {
			scratch.Put(spliced)
		}
	}()
	size := 0
	for i, f := range batch {
		if size == 0 {
			c.wire.cork()
		}
		data := f.data
		if f.seq > 0 {
			*spliced = spliceSeq((*spliced)[:0], f)
			data = *spliced
		}
		if err := c.ws.Write(context.Background(), websocket.MessageText, data); err != nil {
			_ = c.wire.uncork() // the first error tells
			return fmt.Errorf("write frame: %w", err)
		}
		if size += f.size(); size < batchSize && i < len(batch)-1 {
			continue
		}
		if err := c.wire.uncork(); err != nil {
			return fmt.Errorf("write frames: %w", err)
		}
		c.out.written(size)
		size = 0
	}
	return nil
}

// finish ends the connection once it has been sent what is queued, or has not
// taken it in time.
func (c *conn) finish(bye farewell) {
	c.out.close(bye)
	c.wire.hurry(slowTime)
}

// close ends the socket. It returns cause.
func (c *conn) close(bye farewell, cause error) error {
	if bye.abrupt {
		_ = c.ws.CloseNow() // nobody is left to care
		return cause
	}
	// The library would wait for an answer without end if the peer was in the
	// middle of a message.
	timer := time.AfterFunc(farewellTime, func() { _ = c.wire.Close() })
	defer timer.Stop()
	_ = c.ws.Close(websocket.StatusCode(bye.code), protocol.CutReason(bye.reason))
	return cause
}

// broadcast queues e if the connection may see it.
func (c *conn) broadcast(e *event) {
	if !c.grants.sees(e.guard) || e.own && !c.own {
		return
	}
	if e.alt != nil && c != e.starter && c.subs.follows(e.session) {
		e = e.alt
	}
	if !c.out.broadcast(e, c.version) {
		c.wire.hurry(slowTime)
	}
}

// watching reports whether the client has the session with the canonical key
// open.
func (c *conn) watching(key string) bool {
	open := c.open.Load()
	return open != nil && *open == key
}
