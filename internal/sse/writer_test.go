package sse

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"openclaw/internal/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// SW-20: headers, first bytes, exactly one data line in each frame.
func TestWriterFrames(t *testing.T) {
	rec := httptest.NewRecorder()
	w := NewWriter(rec, time.Second)
	if err := w.Open(); err != nil {
		t.Fatal(err)
	}
	if err := w.Event(Event{ID: "1", Type: "reasoning_job", Data: []byte(`{"event_type":"reasoning_job"}`)},
		Event{Data: []byte(`{"event_type":"revoked"}`), Retry: 2 * time.Second}); err != nil {
		t.Fatal(err)
	}
	if err := w.Comment("keep-alive"); err != nil {
		t.Fatal(err)
	}
	want := ": open\n\nid: 1\nevent: reasoning_job\ndata: {\"event_type\":\"reasoning_job\"}\n\n" +
		"retry: 2000\ndata: {\"event_type\":\"revoked\"}\n\n: keep-alive\n\n"
	if got := rec.Body.String(); got != want {
		t.Errorf("the stream is\n%q, want\n%q", got, want)
	}
	if !rec.Flushed {
		t.Error("nothing was flushed")
	}
	for name, want := range map[string]string{"Content-Type": "text/event-stream", "Cache-Control": "no-store", "X-Accel-Buffering": "no"} {
		if got := rec.Header().Get(name); got != want {
			t.Errorf("%s = %q, want %q", name, got, want)
		}
	}
}

// A line break anywhere would be another frame.
func TestWriterRefusesLines(t *testing.T) {
	for _, ev := range []Event{{Data: []byte("a\nb")}, {Data: []byte("a\rb")}, {ID: "1\n", Data: []byte("a")}, {ID: "1\x00"}, {Type: "a\rid: 9"}} {
		rec := httptest.NewRecorder()
		if err := NewWriter(rec, 0).Event(Event{Data: []byte("fine")}, ev); !errors.Is(err, ErrNotOneLine) || rec.Body.Len() != 0 {
			t.Errorf("Event(%q) = %v and wrote %q, want ErrNotOneLine and nothing", ev, err, rec.Body)
		}
	}
	if err := NewWriter(httptest.NewRecorder(), 0).Comment("a\ndata: b"); !errors.Is(err, ErrNotOneLine) {
		t.Errorf("Comment with a line break = %v, want ErrNotOneLine", err)
	}
}

func TestServe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := NewQueue(256, 1<<20)
		rec := httptest.NewRecorder()
		result := make(chan error, 1)
		go func() { result <- NewWriter(rec, 0).Serve(t.Context(), q, 15*time.Second) }()
		push := func(data string) {
			if err := q.Push(Event{Data: []byte(data)}); err != nil {
				t.Errorf("Push(%s) = %v", data, err)
			}
			synctest.Wait()
		}
		push("a")
		time.Sleep(10 * time.Second)
		push("b") // keeps alive as well as a comment
		time.Sleep(14 * time.Second)
		push("c")
		time.Sleep(31 * time.Second)
		push("d")
		superseded := errors.New("superseded")
		_ = q.Push(Event{Data: []byte("last")})
		q.Close(superseded)
		q.Close(nil)
		if err := <-result; err != superseded {
			t.Errorf("Serve() = %v, want the reason of the close", err)
		}
		want := ": open\n\ndata: a\n\ndata: b\n\ndata: c\n\n: keep-alive\n\n: keep-alive\n\ndata: d\n\ndata: last\n\n"
		if got := rec.Body.String(); got != want {
			t.Errorf("the stream is\n%q, want\n%q", got, want)
		}
		if err := q.Push(Event{}); err != ErrClosed {
			t.Errorf("Push after the end = %v, want ErrClosed", err)
		}
	})
}

func TestServeEndsWithContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		q := NewQueue(1, 1)
		result := make(chan error, 1)
		go func() { result <- NewWriter(httptest.NewRecorder(), 0).Serve(ctx, q, time.Minute) }()
		synctest.Wait()
		cancel()
		if err := <-result; err != nil {
			t.Errorf("Serve() = %v, want nil", err)
		}
		if err := q.Push(Event{}); err != ErrClosed {
			t.Errorf("Push after the end = %v, want ErrClosed", err)
		}
	})
}

// broken is a connection that fails in one place.
type broken struct {
	http.ResponseWriter
	write, flush, deadline error
	until                  time.Time
	good                   int // writes that do not fail
}

func (b *broken) Write(p []byte) (int, error) {
	if b.good--; b.good >= 0 {
		return len(p), nil
	}
	return len(p), b.write
}

func (b *broken) FlushError() error { return b.flush }
func (b *broken) SetWriteDeadline(t time.Time) error {
	b.until = t
	return b.deadline
}

// SW-51: every write has a deadline, and a connection that fails ends its stream.
func TestWriterFailures(t *testing.T) {
	gone := errors.New("connection reset")
	for name, b := range map[string]*broken{"write": {write: gone}, "flush": {flush: gone}, "deadline": {deadline: gone}} {
		b.ResponseWriter = httptest.NewRecorder()
		q := NewQueue(4, 100)
		if err := NewWriter(b, time.Second).Serve(t.Context(), q, time.Hour); !errors.Is(err, gone) {
			t.Errorf("%s fails: Serve() = %v, want its error", name, err)
		}
		if err := q.Push(Event{}); err != ErrClosed {
			t.Errorf("%s fails: Push() = %v, want ErrClosed", name, err)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		b := &broken{ResponseWriter: httptest.NewRecorder()}
		w := NewWriter(b, 30*time.Second)
		for range 2 {
			time.Sleep(time.Minute)
			if err := w.Event(Event{Data: make([]byte, 2*maxKept)}); err != nil || !b.until.Equal(time.Now().Add(30*time.Second)) {
				t.Errorf("Event() = %v with a deadline in %v, want 30s", err, time.Until(b.until))
			}
		}
		if w.buf != nil {
			t.Errorf("an idle stream keeps %d bytes", cap(w.buf))
		}
	})
	synctest.Test(t, func(t *testing.T) {
		b := &broken{ResponseWriter: httptest.NewRecorder(), write: gone, good: 1}
		q := NewQueue(4, 100)
		result := make(chan error, 1)
		go func() { result <- NewWriter(b, 0).Serve(t.Context(), q, time.Minute) }()
		if err := <-result; !errors.Is(err, gone) { // the next keep-alive finds out
			t.Errorf("Serve() = %v, want the connection's error", err)
		}
		if !b.until.IsZero() {
			t.Error("a deadline was set without a timeout")
		}
	})
}

// A reader that stalls loses its stream and slows nobody down.
func TestQueueOverflow(t *testing.T) {
	tests := []struct {
		name              string
		events, bytes, ok int
		size              int
	}{{"events", 3, 1 << 20, 3, 1}, {"bytes", 100, 25, 2, 10}}
	for _, tt := range tests {
		q := NewQueue(tt.events, tt.bytes)
		for i := range tt.ok {
			if err := q.Push(Event{Data: make([]byte, tt.size)}); err != nil {
				t.Errorf("%s: push %d = %v", tt.name, i, err)
			}
		}
		if err := q.Push(Event{Data: make([]byte, tt.size)}); err != ErrFull {
			t.Errorf("%s: push over the limit = %v, want ErrFull", tt.name, err)
		}
		rec := httptest.NewRecorder()
		if err := NewWriter(rec, 0).Serve(t.Context(), q, time.Hour); err != ErrFull {
			t.Errorf("%s: Serve() = %v, want ErrFull", tt.name, err)
		}
		if got := rec.Body.String(); got != ": open\n\n" {
			t.Errorf("%s: the stream is %q, want none of a torn sequence", tt.name, got)
		}
	}
}

// Over a real connection: a slow reader resumes exactly behind what it has.
func TestResumeOverHTTP(t *testing.T) {
	events := make([]Event, 20)
	for i := range events {
		events[i] = Event{ID: strconv.Itoa(i + 1), Type: "n", Data: []byte(strconv.Itoa(i + 1))}
	}
	srv := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, req *http.Request) {
		after, _ := strconv.Atoi(LastEventID(req))
		q := NewQueue(256, 1<<20)
		for _, ev := range events[after:min(len(events), after+7)] {
			_ = q.Push(ev)
		}
		q.Close(nil)
		_ = NewWriter(rw, 5*time.Second).Serve(req.Context(), q, time.Minute)
	}))
	defer srv.Close()
	defer srv.Client().CloseIdleConnections()
	var got []string
	last := ""
	for range 4 {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, srv.URL, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Last-Event-ID", last)
		resp, err := srv.Client().Do(req)
		if err != nil {
			t.Fatal(err)
		}
		r := NewReader(resp.Body, Config{})
		for {
			ev, err := r.Next()
			if err != nil {
				break
			}
			got = append(got, string(ev.Data))
		}
		_ = resp.Body.Close()
		if id := r.LastID(); id != "" {
			last = id
		}
	}
	if len(got) != 20 || strings.Join(got[17:], " ") != "18 19 20" {
		t.Errorf("got %v, want 1 to 20, each once", got)
	}
}

func TestLastEventID(t *testing.T) {
	req := httptest.NewRequest(http.MethodGet, "/v1/events?session_id=s&last_event_id=4", nil)
	if got := LastEventID(req); got != "4" {
		t.Errorf("LastEventID of the query = %q, want 4", got)
	}
	req.Header.Set("Last-Event-ID", "5")
	if got := LastEventID(req); got != "5" {
		t.Errorf("LastEventID of the header = %q, want 5", got)
	}
}
