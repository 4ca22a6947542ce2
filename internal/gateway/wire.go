package gateway

import (
	"bufio"
	"bytes"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// writeTimeout bounds one write to a socket. A peer that takes nothing for
	// this long is gone.
	writeTimeout = 30 * time.Second
	// batchSize is how many bytes of queued frames go into one system call.
	batchSize = 64 << 10
)

var batches = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// wire is the hijacked socket under a WebSocket. The library writes and flushes
// each message by itself; wire collects the messages of one batch into a single
// write, and puts the deadline on the socket, which costs nothing, instead of a
// context per message, which costs eleven allocations.
type wire struct {
	net.Conn

	// last is when the last byte must be written, once the connection is to end.
	last atomic.Pointer[time.Time]

	mu sync.Mutex
	// batch is non-nil between cork and uncork.
	batch *bytes.Buffer
	err   error
}

// Write implements io.Writer for the WebSocket library.
func (w *wire) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil {
		return 0, w.err
	}
	if w.batch == nil {
		return w.send(p)
	}
	if w.batch.Len()+len(p) > batchSize {
		if err := w.flush(); err != nil {
			return 0, err
		}
		if len(p) >= batchSize/2 {
			return w.send(p)
		}
	}
	return w.batch.Write(p)
}

// cork starts a batch: nothing is sent until it is full or uncork.
func (w *wire) cork() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.batch == nil {
		w.batch = batches.Get().(*bytes.Buffer)
	}
}

// uncork sends what the batch holds.
func (w *wire) uncork() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.batch == nil {
		return w.err
	}
	err := w.flush()
	w.batch.Reset()
	batches.Put(w.batch)
	w.batch = nil
	return err
}

// flush is called with mu held.
func (w *wire) flush() error {
	if w.err != nil || w.batch.Len() == 0 {
		return w.err
	}
	_, err := w.send(w.batch.Bytes())
	w.batch.Reset()
	return err
}

// send is called with mu held. The lock is held over the write on purpose: it
// serialises nothing but writes to this very socket.
func (w *wire) send(p []byte) (int, error) {
	w.extend()
	n, err := w.Conn.Write(p)
	if err != nil {
		w.err = err
	}
	return n, err
}

// extend gives the next write its time.
func (w *wire) extend() {
	for {
		deadline, last := time.Now().Add(writeTimeout), w.last.Load()
		if last != nil && last.Before(deadline) {
			deadline = *last
		}
		w.Conn.SetWriteDeadline(deadline)
		if w.last.Load() == last {
			return // else hurry came in between
		}
	}
}

// hurry bounds all that is still to be written, also a write under way.
func (w *wire) hurry(d time.Duration) {
	last := time.Now().Add(d)
	for {
		old := w.last.Load()
		if old != nil && old.Before(last) {
			return // hurried enough
		}
		if w.last.CompareAndSwap(old, &last) {
			break
		}
	}
	w.Conn.SetWriteDeadline(last)
}

// hijackWriter hands the WebSocket library a [wire] in place of the bare socket.
type hijackWriter struct {
	http.ResponseWriter
	wire *wire
}

// Hijack implements [http.Hijacker].
func (h *hijackWriter) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, rw, err := http.NewResponseController(h.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, err
	}
	h.wire = &wire{Conn: conn}
	// The tiny write buffer takes the frame header only, so that a payload is
	// copied once, into the batch. (The library resets the reader onto the wire,
	// keeping what it has read already.)
	return h.wire, bufio.NewReadWriter(rw.Reader, bufio.NewWriterSize(h.wire, 16)), nil
}
