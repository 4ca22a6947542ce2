package assistant

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"openclaw/byo"
	"openclaw/internal/sse"
)

// errTooManyStreams refuses a reader.
var errTooManyStreams = errors.New("too many readers")

// Events holds the answers of sessions whose desktop reads GET /v1/events: a bounded
// past of each session, and the readers that follow it. See docs/byo.md#streams.
type Events struct {
	epoch string // of this process: ids of another one say nothing here
	now   func() time.Time
	log   *slog.Logger

	mu       sync.Mutex
	sessions map[string]*past
	serial   int
	readers  int
	gone     []string // keys of what is no longer kept
	closed   bool
}

// past is what a session remembers.
type past struct {
	serial  int
	next    uint64 // sequence number
	kept    []kept
	bytes   int
	used    time.Time
	readers map[*sse.Queue]bool
}

type kept struct {
	seq  uint64
	key  string // of the caller, "" for a draft
	data []byte
}

func newEvents(now func() time.Time, log *slog.Logger) *Events {
	id, err := byo.NewID(nil)
	if err != nil {
		id = strconv.FormatInt(now().UnixNano(), 36) // only its being new matters
	}
	return &Events{epoch: strings.ReplaceAll(id, "-", "")[:12], now: now, log: log, sessions: map[string]*past{}}
}

// session returns the past of a session, made when it is new; the caller holds e.mu.
// When there are too many the one that nobody used for longest goes.
func (e *Events) session(id string) *past {
	p := e.sessions[id]
	if p == nil {
		if len(e.sessions) >= byo.MaxEventSessions {
			e.dropOldest()
		}
		e.serial++
		p = &past{serial: e.serial, readers: map[*sse.Queue]bool{}}
		e.sessions[id] = p
	}
	p.used = e.now()
	return p
}

func (e *Events) dropOldest() {
	var oldest string
	for id, p := range e.sessions {
		if len(p.readers) == 0 && (oldest == "" || p.used.Before(e.sessions[oldest].used)) {
			oldest = id
		}
	}
	if oldest == "" {
		return // everybody is being read
	}
	e.drop(e.sessions[oldest].kept)
	delete(e.sessions, oldest)
}

func (e *Events) drop(list []kept) {
	for _, k := range list {
		if k.key != "" {
			e.gone = append(e.gone, k.key)
		}
	}
}

func (e *Events) takeGone() []string {
	gone := e.gone
	e.gone = nil
	return gone
}

// keep adds an answer under the caller's key and returns the keys of those that are
// no longer kept.
func (e *Events) keep(key string, c *byo.Callback) (gone []string) {
	data := e.encode(c)
	e.mu.Lock()
	defer e.mu.Unlock()
	p := e.session(c.SessionID)
	p.next++
	p.kept = append(p.kept, kept{p.next, key, data})
	p.bytes += len(data)
	for len(p.kept) > 1 && (len(p.kept) > byo.MaxSessionEvents || p.bytes > byo.MaxSessionEventsSz) {
		p.bytes -= len(p.kept[0].data)
		e.drop(p.kept[:1])
		p.kept = p.kept[1:]
	}
	p.push(sse.Event{ID: e.id(p, p.next), Data: data})
	return e.takeGone()
}

// encode writes an event; one that is too large becomes an error in its place.
func (e *Events) encode(c *byo.Callback) []byte {
	data, err := json.Marshal(c)
	if err == nil && len(data) <= byo.MaxEvent {
		return data
	}
	e.log.Warn("an answer is too large for the event stream", "task", c.TaskID)
	data, _ = json.Marshal(byo.Callback{SessionID: c.SessionID, TaskID: c.TaskID, MessageID: c.MessageID, Status: byo.StatusErrored, // plain strings
		UserMessageID: c.UserMessageID, ErrorCode: byo.FailReplyTooLarge, ErrorMessage: "The answer is too large to be shown."})
	return data
}

// pass shows something that is not kept.
func (e *Events) pass(c *byo.Callback) {
	if c.Status == byo.StatusStream {
		// Public readers expect drafts among the numbered.
		if gone := e.keep("", c); len(gone) > 0 {
			e.mu.Lock()
			defer e.mu.Unlock()
			e.gone = append(e.gone, gone...)
		}
		return
	}
	data := e.encode(c)
	e.mu.Lock()
	defer e.mu.Unlock()
	if p := e.sessions[c.SessionID]; p != nil {
		p.push(sse.Event{Type: "progress", Data: data})
	}
}

// push gives an event to all readers; one whose queue is full loses its stream.
func (p *past) push(ev sse.Event) {
	for q := range p.readers {
		if q.Push(ev) != nil {
			delete(p.readers, q)
		}
	}
}

func (e *Events) id(p *past, seq uint64) string {
	return e.epoch + "-" + strconv.Itoa(p.serial) + "." + strconv.FormatUint(seq, 10)
}

// expire forgets sessions that were idle for long and returns the keys of what they
// kept.
func (e *Events) expire() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	for id, p := range e.sessions {
		if len(p.readers) == 0 && e.now().Sub(p.used) > byo.EventsIdle {
			e.drop(p.kept)
			delete(e.sessions, id)
		}
	}
	return e.takeGone()
}

// subscribe starts a reader after the event last, or with all that is kept when last
// does not name one of this session's.
func (e *Events) subscribe(session, last string) (q *sse.Queue, leave func(), err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return nil, nil, sse.ErrClosed
	}
	p := e.session(session)
	if e.readers >= byo.MaxEventReaders || len(p.readers) >= byo.MaxSessionReaders {
		return nil, nil, errTooManyStreams
	}
	q = sse.NewQueue(256, 4<<20)
	after := p.after(e.epoch, last)
	for _, k := range p.kept {
		if k.seq > after {
			if err := q.Push(sse.Event{ID: e.id(p, k.seq), Data: k.data}); err != nil {
				return nil, nil, err
			}
		}
	}
	e.readers++
	p.readers[q] = true
	return q, func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.readers--
		delete(p.readers, q)
		p.used = e.now()
	}, nil
}

// after reads an id; 0 when it is not one of the past's.
func (p *past) after(epoch, last string) uint64 {
	tail, ok := strings.CutPrefix(last, epoch+"-"+strconv.Itoa(p.serial)+".")
	seq, err := strconv.ParseUint(tail, 10, 64)
	if !ok || err != nil || seq > p.next {
		return 0
	}
	return seq
}

func (e *Events) close() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.closed = true
	for _, p := range e.sessions {
		for q := range p.readers {
			q.Close(sse.ErrClosed)
		}
	}
}

// serve answers GET /v1/events.
func (e *Events) serve(ctx context.Context, w http.ResponseWriter, r *http.Request) {
	session := r.URL.Query().Get("session_id")
	if strings.TrimSpace(session) == "" {
		fail(w, http.StatusBadRequest, byo.ListenerSessionRequired)
		return
	}
	q, leave, err := e.subscribe(session, sse.LastEventID(r))
	if err != nil {
		fail(w, http.StatusTooManyRequests, byo.ListenerTooManyStreams)
		return
	}
	defer leave()
	if err := sse.NewWriter(w, byo.EventsStall).Serve(ctx, q, byo.EventsKeepAlive); err != nil {
		e.log.Debug("an event stream ended", "err", err)
	}
}
