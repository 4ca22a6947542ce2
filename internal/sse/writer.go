package sse

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Writer writes an event stream to one response. It is for one goroutine.
type Writer struct {
	w       http.ResponseWriter
	control *http.ResponseController
	timeout time.Duration
	buf     []byte
}

// NewWriter prepares w for an event stream; nothing is sent before [Writer.Open].
// A write that takes longer than timeout fails; 0 means no limit.
func NewWriter(w http.ResponseWriter, timeout time.Duration) *Writer {
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no")
	return &Writer{w: w, control: http.NewResponseController(w), timeout: timeout}
}

// Open sends the headers and a first comment, so that the other side and every
// proxy on the way see an open stream.
func (w *Writer) Open() error { return w.Comment("open") }

// Comment sends a comment of one line and flushes it.
func (w *Writer) Comment(text string) error {
	if strings.ContainsAny(text, "\r\n") {
		return ErrNotOneLine
	}
	w.buf = append(append(append(w.buf[:0], ": "...), text...), "\n\n"...)
	return w.send()
}

// Event sends events, in one flush.
func (w *Writer) Event(events ...Event) error {
	w.buf = w.buf[:0]
	for _, ev := range events {
		var err error
		if w.buf, err = Append(w.buf, ev); err != nil {
			return err
		}
	}
	return w.send()
}

// send writes the buffer under the deadline.
func (w *Writer) send() error {
	if w.timeout > 0 {
		if err := w.control.SetWriteDeadline(time.Now().Add(w.timeout)); err != nil && !errors.Is(err, http.ErrNotSupported) {
			return fmt.Errorf("set write deadline: %w", err)
		}
	}
	if _, err := w.w.Write(w.buf); err != nil {
		return fmt.Errorf("write event stream: %w", err)
	}
	if err := w.control.Flush(); err != nil {
		return fmt.Errorf("flush event stream: %w", err)
	}
	if cap(w.buf) > maxKept {
		w.buf = nil
	}
	return nil
}

// maxKept bounds the buffer that an idle stream keeps.
const maxKept = 64 << 10

// Serve opens the stream and writes what q gets until ctx ends or q is closed,
// and a comment whenever keepAlive passed without anything. It returns the reason
// q was closed with (what was queued before is written first), nil when ctx ends,
// or what is wrong with the connection. Serve closes q.
func (w *Writer) Serve(ctx context.Context, q *Queue, keepAlive time.Duration) error {
	defer q.Close(nil)
	if err := w.Open(); err != nil {
		return err
	}
	tick := time.NewTimer(keepAlive)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			if err := w.Comment("keep-alive"); err != nil {
				return err
			}
		case <-q.wake:
			events, closed, reason := q.take()
			if len(events) > 0 {
				if err := w.Event(events...); err != nil {
					return err
				}
			}
			if closed {
				return reason
			}
		}
		tick.Reset(keepAlive)
	}
}

func appendRetry(dst []byte, d time.Duration) []byte {
	dst = append(dst, "retry: "...)
	return append(strconv.AppendInt(dst, d.Milliseconds(), 10), '\n')
}
