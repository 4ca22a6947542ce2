package gateway

import (
	"sync"
	"time"

	"openclaw/protocol"
)

// event is a broadcast, encoded once for everybody. What differs between
// connections, the seq, is spliced in by the writer of each.
type event struct {
	name string
	// head is the frame up to and with its payload, without the closing brace:
	// `{"type":"event","event":"tick","payload":{"ts":1}`. Head4 is the one for
	// protocol 4 where it differs.
	head, head4 []byte
	// tail follows the seq: `,"stateVersion":{…}`, or empty.
	tail []byte
	// guard says who may see it.
	guard guard
	// droppable events are skipped for a connection that is too slow; any other
	// event closes such a connection.
	droppable bool
	// own events are for the connections of docs/protocol.md#own-additions.
	own bool
	// alt is the same event under the canonical key session, for those who follow
	// that session, except for the one who started the run.
	alt     *event
	session string
	starter *conn
}

func (e *event) headFor(version int) []byte {
	if e.head4 != nil && version >= 4 {
		return e.head4
	}
	return e.head
}

// frame is one queued outgoing message. A seq above 0 is spliced in before the
// tail; without one data is the whole message.
type frame struct {
	data, tail []byte
	seq        int64
}

// stalled is how long a client may take nothing before it counts as gone rather
// than behind.
const stalled = 250 * time.Millisecond

// seqRoom is what a seq adds to a frame, at most.
const seqRoom = 28

func (f frame) size() int {
	if f.seq == 0 {
		return len(f.data)
	}
	return len(f.data) + len(f.tail) + seqRoom
}

// outbox holds what is still to be written to one connection. Broadcasts are
// bounded by bytes (see docs/protocol.md#slow-consumers); responses are not, the
// limit on concurrent requests bounds them. The writer of the connection is the
// only one to take from it.
type outbox struct {
	wake chan struct{} // capacity 1: something changed

	mu      sync.Mutex
	limit   int // bytes, policy.maxBufferedBytes
	queue   []frame
	bytes   int
	seq     int64
	dropped int64
	moved   time.Time     // when bytes went out last
	room    chan struct{} // closed when the queue is half empty again; nil when nobody waits
	closing *farewell
}

// farewell is how a connection is to end.
type farewell struct {
	code   int
	reason string
	// abrupt ends without a close frame: the peer is gone.
	abrupt bool
}

func newOutbox(limit int) *outbox {
	return &outbox{limit: limit, wake: make(chan struct{}, 1)}
}

// setLimit changes the bound, once the version of the protocol is known.
func (o *outbox) setLimit(limit int64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.limit = int(limit)
}

// send queues a whole message: a response or an event for this connection only.
func (o *outbox) send(data []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closing != nil {
		return
	}
	o.push(frame{data: data})
}

// broadcast queues e under the next seq. It reports false when the connection
// is too slow for an event that must not be dropped: then the queue has been
// given up and the connection ends.
func (o *outbox) broadcast(e *event, version int) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closing != nil {
		return true
	}
	if o.bytes > o.limit {
		if !e.droppable {
			o.end(farewell{code: protocol.ClosePolicy, reason: protocol.ReasonSlowConsumer})
			o.queue, o.bytes = nil, 0
			return false
		}
		// The number is used up, so that the client sees the gap.
		o.seq++
		o.dropped++
		return true
	}
	o.seq++
	o.push(frame{data: e.headFor(version), tail: e.tail, seq: o.seq})
	return true
}

// push is called with mu held.
func (o *outbox) push(f frame) {
	o.queue = append(o.queue, f)
	o.bytes += f.size()
	o.signal()
}

// close asks the writer to end the connection after what is queued has been
// written. Only the first farewell counts, but an abrupt one overrides: nothing
// more can be said to a peer that is gone.
func (o *outbox) close(f farewell) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.end(f)
}

// end is called with mu held.
func (o *outbox) end(f farewell) {
	if o.closing == nil || (f.abrupt && !o.closing.abrupt) {
		o.closing = &f
		o.signal()
	}
	o.relax()
	if f.abrupt {
		o.queue, o.bytes = nil, 0
	}
}

func (o *outbox) signal() {
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

// take moves everything queued into batch[:0] and returns it, together with the
// farewell when one is due after it.
func (o *outbox) take(batch []frame) ([]frame, *farewell) {
	o.mu.Lock()
	defer o.mu.Unlock()
	batch, o.queue = o.queue, batch[:0]
	return batch, o.closing
}

// written tells that n bytes have left the queue for the socket.
func (o *outbox) written(n int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.bytes = max(0, o.bytes-n)
	o.moved = time.Now()
	if o.bytes <= o.limit/2 {
		o.relax()
	}
}

// relax lets those go who wait for room. Called with mu held.
func (o *outbox) relax() {
	if o.room != nil {
		close(o.room)
		o.room = nil
	}
}

// behind returns a channel that is closed when the client has caught up, if it
// is behind but reading. A client that takes nothing is not waited for.
func (o *outbox) behind() <-chan struct{} {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.bytes <= o.limit/2 || o.closing != nil || time.Since(o.moved) > stalled {
		return nil
	}
	if o.room == nil {
		o.room = make(chan struct{})
	}
	return o.room
}
