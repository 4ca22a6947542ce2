package mockllm

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
)

// obj is a JSON object; its keys are written in order, so replies repeat byte for byte.
type obj = map[string]any

// fixedTime stands in for the time of day, for the same reason.
const fixedTime = 1767225600

var (
	errCut  = errors.New("connection cut on purpose")
	errGone = errors.New("caller left")
)

// sse writes server-sent events, flushing each and pausing between pieces. After
// an error it does nothing more; err holds the first.
type sse struct {
	s     *Server
	w     http.ResponseWriter
	x     *exchange
	flush func()
	named bool // write an "event:" line too
	sent  int  // characters of reply text so far, for "cut"
	seq   int  // sequence_number, Responses only
	err   error
}

func startStream(w http.ResponseWriter) (flush func()) {
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-cache")
	w.WriteHeader(http.StatusOK)
	if f, ok := w.(http.Flusher); ok {
		f.Flush()
		return f.Flush
	}
	return func() {}
}

func (s *Server) newSSE(w http.ResponseWriter, x *exchange, named bool) *sse {
	return &sse{s: s, w: w, x: x, flush: startStream(w), named: named}
}

func (e *sse) send(event string, v any) {
	if e.err != nil {
		return
	}
	b, err := json.Marshal(v)
	if err != nil {
		e.err = err
		return
	}
	if e.named {
		_, err = fmt.Fprintf(e.w, "event: %s\ndata: %s\n\n", event, b)
	} else {
		_, err = fmt.Fprintf(e.w, "data: %s\n\n", b)
	}
	if err != nil {
		e.err = errGone
		return
	}
	e.flush()
}

// pieces calls emit for each piece of text.
func (e *sse) pieces(text string, emit func(piece string)) {
	rs := []rune(text)
	for len(rs) > 0 && e.err == nil {
		if e.err = wait(e.x.req.Context(), e.s.cfg.ChunkDelay); e.err != nil {
			return
		}
		n := min(e.s.cfg.ChunkSize, len(rs))
		emit(string(rs[:n]))
		rs = rs[n:]
	}
}

// text is pieces for reply text, which a "cut" applies to.
func (e *sse) text(text string, emit func(piece string)) {
	cut := e.x.reply.Cut
	e.pieces(text, func(piece string) {
		rs := []rune(piece)
		if cut > 0 && e.sent+len(rs) >= cut {
			if rs = rs[:cut-e.sent]; len(rs) > 0 {
				emit(string(rs))
			}
			e.err = errCut
			return
		}
		e.sent += len(rs)
		emit(piece)
	})
}
