package sse

import (
	"bytes"
	"errors"
	"net/http"
	"strings"
	"time"
)

// Event is one frame of a stream.
type Event struct {
	ID   string // none when empty
	Type string // none when empty, which means "message"
	Data []byte
	// Retry is how long the server asks to wait before a reconnect, 0 when it
	// does not ask. Writers leave it out when 0.
	Retry time.Duration
}

// ErrNotOneLine refuses an event whose data, id or type holds a line break (or
// whose id holds a zero byte), which would turn into other frames.
var ErrNotOneLine = errors.New("an event must have data, id and type of one line each")

// Append adds the frame of ev to dst: id, event and one data line.
func Append(dst []byte, ev Event) ([]byte, error) {
	if bytes.ContainsAny(ev.Data, "\r\n") || strings.ContainsAny(ev.ID, "\r\n\x00") || strings.ContainsAny(ev.Type, "\r\n") {
		return dst, ErrNotOneLine
	}
	if ev.ID != "" {
		dst = append(append(append(dst, "id: "...), ev.ID...), '\n')
	}
	if ev.Type != "" {
		dst = append(append(append(dst, "event: "...), ev.Type...), '\n')
	}
	if ev.Retry > 0 {
		dst = appendRetry(dst, ev.Retry)
	}
	dst = append(append(dst, "data: "...), ev.Data...)
	return append(dst, "\n\n"...), nil
}

// LastEventID is what a request says it has seen: the header, else the query
// parameter last_event_id.
func LastEventID(r *http.Request) string {
	if id := r.Header.Get("Last-Event-ID"); id != "" {
		return id
	}
	return r.URL.Query().Get("last_event_id")
}
