package relay

import (
	"errors"
	"net"
	"net/http"
	"strconv"
	"time"
)

// writeTimeout is how long a peer may take for a write.
const writeTimeout = 10 * time.Second

// sink is the connection under a stream.
type sink interface {
	write(frame []byte) error
	// interrupt makes a write that is stuck fail, now or soon.
	interrupt(now bool)
	close(clean bool)
	// wait returns when the peer has gone, or the sink is closed.
	wait()
}

// goneError is an error of the connection.
type goneError struct{ err error }

func (e *goneError) Error() string { return "write stream: " + e.err.Error() }
func (e *goneError) Unwrap() error { return e.err }

// newSink takes the connection over from the HTTP server where that is possible,
// which spares the server's buffers and goroutines for a stream that may be idle
// for days, and answers the request.
func newSink(w http.ResponseWriter, req *http.Request) (sink, error) {
	head := w.Header()
	head.Set("Content-Type", "text/event-stream")
	head.Set("Cache-Control", "no-store")
	head.Set("X-Accel-Buffering", "no")
	control := http.NewResponseController(w)
	conn, buf, err := control.Hijack()
	if errors.Is(err, http.ErrNotSupported) {
		s := &responseSink{w: w, control: control, gone: req.Context().Done(), closed: make(chan struct{})}
		return s, s.write([]byte(": open\n\n"))
	}
	if err != nil {
		return nil, &goneError{err}
	}
	_ = buf // nothing is in it: a request for a stream has no body
	s := &connSink{conn: conn, chunked: req.ProtoAtLeast(1, 1)}
	if err := conn.SetReadDeadline(time.Time{}); err != nil {
		return nil, &goneError{errors.Join(err, conn.Close())}
	}
	if s.chunked {
		head.Set("Transfer-Encoding", "chunked")
	}
	head.Set("Connection", "close")
	head.Set("Date", time.Now().UTC().Format(http.TimeFormat))
	var b headBuffer
	b = append(b, "HTTP/1."...)
	b = strconv.AppendInt(b, int64(req.ProtoMinor), 10)
	b = append(b, " 200 OK\r\n"...)
	_ = head.Write(&b) // into memory
	b = append(b, "\r\n"...)
	b = s.chunk(b, []byte(": open\n\n"))
	if err := s.raw(b); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return s, nil
}

type headBuffer []byte

func (b *headBuffer) Write(p []byte) (int, error) {
	*b = append(*b, p...)
	return len(p), nil
}

// connSink writes to a connection that was taken over.
type connSink struct {
	conn    net.Conn
	chunked bool
}

func (s *connSink) chunk(dst, data []byte) []byte {
	if !s.chunked {
		return append(dst, data...)
	}
	dst = strconv.AppendInt(dst, int64(len(data)), 16)
	dst = append(append(append(dst, "\r\n"...), data...), "\r\n"...)
	return dst
}

func (s *connSink) raw(data []byte) error {
	if err := s.conn.SetWriteDeadline(time.Now().Add(writeTimeout)); err != nil {
		return &goneError{err}
	}
	if _, err := s.conn.Write(data); err != nil {
		return &goneError{err}
	}
	return nil
}

func (s *connSink) write(frame []byte) error {
	return s.raw(s.chunk(make([]byte, 0, len(frame)+16), frame))
}

func (s *connSink) interrupt(now bool) {
	wait := time.Second
	if now {
		wait = 0
	}
	_ = s.conn.SetWriteDeadline(time.Now().Add(wait)) // closed: just as well
}

func (s *connSink) close(clean bool) {
	if clean && s.chunked {
		_ = s.raw([]byte("0\r\n\r\n")) // the close says the same
	}
	_ = s.conn.Close()
}

func (s *connSink) wait() {
	var buf [16]byte
	for {
		if _, err := s.conn.Read(buf[:]); err != nil {
			return
		}
	}
}

// responseSink writes through the HTTP server, for HTTP/2.
type responseSink struct {
	w       http.ResponseWriter
	control *http.ResponseController
	gone    <-chan struct{}
	closed  chan struct{}
}

func (s *responseSink) write(frame []byte) error {
	err := s.control.SetWriteDeadline(time.Now().Add(writeTimeout))
	if err != nil && !errors.Is(err, http.ErrNotSupported) {
		return &goneError{err}
	}
	if _, err := s.w.Write(frame); err != nil {
		return &goneError{err}
	}
	if err := s.control.Flush(); err != nil {
		return &goneError{err}
	}
	return nil
}

func (s *responseSink) interrupt(now bool) {
	if now {
		_ = s.control.SetWriteDeadline(time.Now()) // a recorder has none
	}
}

func (s *responseSink) close(bool) { close(s.closed) }

func (s *responseSink) wait() {
	select {
	case <-s.gone:
	case <-s.closed:
	}
}
