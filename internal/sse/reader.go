package sse

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"io"
	"strconv"
	"strings"
	"time"
)

// Config of a [Reader].
type Config struct {
	MaxLine  int // bytes of one line, default 1 MiB
	MaxEvent int // bytes of an event's data, default 1 MiB
	// Comment is called for each comment, which servers send to show that they
	// live. The text is valid during the call only. Default nil.
	Comment func(text []byte)
}

// ErrTooLarge tells of one event that exceeded a limit. It was skipped; reading
// goes on with the next one.
var ErrTooLarge = errors.New("an event of the stream is too large")

// Reader reads an event stream. It is for one goroutine.
type Reader struct {
	r        *bufio.Reader
	cfg      Config
	last     string // id of the last dispatched event
	line     []byte
	afterCR  bool // the last line ended in CR, so a LF next belongs to it
	started  bool
	skipping bool // the event under way is too large

	id      string // as last set; kept between events
	kind    string
	data    []byte
	hasData bool
	retry   time.Duration
}

// NewReader reads r, which the caller closes.
func NewReader(r io.Reader, cfg Config) *Reader {
	cfg.MaxLine, cfg.MaxEvent = cmp.Or(cfg.MaxLine, 1<<20), cmp.Or(cfg.MaxEvent, 1<<20)
	return &Reader{r: bufio.NewReaderSize(r, 4<<10), cfg: cfg}
}

// LastID is the id to resume after: the last one of a complete event, "" when
// there was none.
func (r *Reader) LastID() string { return r.last }

// Next returns the next event with data; Event.ID is "" when this stream has set
// none so far. It returns io.EOF at the end of the stream, where an event without
// its blank line is dropped, and [ErrTooLarge] for an event that was skipped.
func (r *Reader) Next() (Event, error) {
	for {
		line, err := r.readLine()
		if err != nil && !errors.Is(err, ErrTooLarge) {
			return Event{}, err
		}
		switch {
		case err != nil:
			r.skipping = true
		case len(line) > 0:
			r.field(line)
		default:
			if ev, err, ok := r.dispatch(); ok {
				return ev, err
			}
		}
	}
}

// dispatch ends the event under way, at a blank line.
func (r *Reader) dispatch() (ev Event, err error, ok bool) {
	r.last = r.id
	ev, ok = Event{ID: r.id, Type: r.kind, Data: r.data, Retry: r.retry}, r.hasData
	if r.skipping {
		ev.Data, err, ok = nil, ErrTooLarge, true
	}
	r.kind, r.data, r.hasData, r.retry, r.skipping = "", nil, false, 0, false
	return ev, err, ok
}

// field takes one line that is not blank.
func (r *Reader) field(line []byte) {
	name, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	switch string(name) {
	case "":
		if r.cfg.Comment != nil {
			r.cfg.Comment(value)
		}
	case "data":
		r.addData(value)
	case "event":
		r.kind = string(value)
	case "id":
		if bytes.IndexByte(value, 0) < 0 {
			r.id = string(value)
		}
	case "retry":
		if s := string(value); s != "" && strings.Trim(s, "0123456789") == "" {
			if ms, err := strconv.ParseInt(s, 10, 32); err == nil {
				r.retry = time.Duration(ms) * time.Millisecond
			}
		}
	}
}

func (r *Reader) addData(value []byte) {
	if r.skipping || len(r.data)+len(value)+1 > r.cfg.MaxEvent {
		r.skipping, r.data = true, nil
		return
	}
	if r.hasData {
		r.data = append(r.data, '\n')
	}
	r.data, r.hasData = append(r.data, value...), true
}

// readLine returns a line without its end (CR, LF or both), valid until the next
// call, or ErrTooLarge after it has skipped one that is too long. A line that the
// stream's end cuts off is dropped.
func (r *Reader) readLine() ([]byte, error) {
	r.line = r.line[:0]
	tooLong := false
	for {
		if r.r.Buffered() == 0 {
			if _, err := r.r.Peek(1); err != nil {
				return nil, err
			}
		}
		chunk, _ := r.r.Peek(r.r.Buffered())
		if r.afterCR {
			r.afterCR = false
			if chunk[0] == '\n' {
				_, _ = r.r.Discard(1)
				continue
			}
		}
		end := bytes.IndexAny(chunk, "\r\n")
		part := chunk
		if end >= 0 {
			part = chunk[:end]
		}
		if tooLong = tooLong || len(r.line)+len(part) > r.cfg.MaxLine; !tooLong {
			r.line = append(r.line, part...)
		}
		if end < 0 {
			_, _ = r.r.Discard(len(chunk))
			continue
		}
		r.afterCR = chunk[end] == '\r'
		_, _ = r.r.Discard(end + 1)
		if tooLong {
			r.line = nil
			return nil, ErrTooLarge
		}
		return r.trimBOM(r.line), nil
	}
}

// trimBOM removes a byte order mark in front of the first line.
func (r *Reader) trimBOM(line []byte) []byte {
	if r.started {
		return line
	}
	r.started = true
	return bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))
}
