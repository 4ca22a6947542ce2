package modeltest

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"openclaw/internal/mockllm"
	"openclaw/internal/model"
)

// mustFail collects a stream that has to fail.
func mustFail(t *testing.T, m model.Model, text string, want model.Kind) Result {
	t.Helper()
	r := Collect(t, t.Context(), m, ask(text))
	if r.Err == nil {
		t.Fatalf("Stream(%q) = %+v, want an error of kind %s", text, r.Done, want)
	}
	if r.Err.Kind != want {
		t.Errorf("Stream(%q) failed with %v of kind %s, want kind %s", text, r.Err, r.Err.Kind, want)
	}
	if strings.Contains(r.Err.Error()+fmt.Sprint(r.Err.Err), Key.Reveal()) {
		t.Errorf("the error of Stream(%q) holds the key", text)
	}
	return r
}

func (s Setup) statuses(t *testing.T) {
	m, _ := s.open(t, mockllm.Config{})
	for _, tt := range []struct {
		code  int
		kind  model.Kind
		retry bool
	}{
		{400, model.KindFormat, false},
		{401, model.KindAuth, false},
		{402, model.KindBilling, false},
		{403, model.KindAuth, false},
		{404, model.KindNotFound, false},
		{408, model.KindTimeout, true},
		{429, model.KindRateLimit, true},
		{500, model.KindServer, true},
		{502, model.KindServer, true},
		{503, model.KindOverloaded, true},
		{504, model.KindTimeout, true},
		{529, model.KindOverloaded, true},
	} {
		r := mustFail(t, m, fmt.Sprintf("error %d", tt.code), tt.kind)
		if r.Err.Status != tt.code || r.Err.Retryable() != tt.retry || r.Err.Ref.Provider != "mock" {
			t.Errorf("error %d = %+v, want that status, retryable %v, of provider mock", tt.code, r.Err, tt.retry)
		}
	}
	if r := mustFail(t, m, "error 429 7", model.KindRateLimit); r.Err.RetryAfter != 7*time.Second {
		t.Errorf("retry after = %v, want 7s", r.Err.RetryAfter)
	}
}

func (s Setup) vendorErrors(t *testing.T) {
	m, _ := s.open(t, mockllm.Config{})
	mustFail(t, m, "overloaded", model.KindOverloaded)
	mustFail(t, m, "context_overflow", model.KindOverflow)
	if r := mustFail(t, m, "error 401", model.KindAuth); !strings.Contains(r.Err.Text, "MOCK_KEY") {
		t.Errorf("text %q does not say where the key is from", r.Err.Text)
	}
}

func (s Setup) noRetries(t *testing.T) {
	m, mock := s.open(t, mockllm.Config{})
	mustFail(t, m, "error 500", model.KindServer)
	mustFail(t, m, "error 429 1", model.KindRateLimit)
	if got := mock.Stats().Calls; got != 2 {
		t.Errorf("two failed calls reached the server %d times", got)
	}
}

func (s Setup) cut(t *testing.T) {
	m, _ := s.open(t, mockllm.Config{ChunkSize: 4})
	r := mustFail(t, m, "cut 10 this reply is cut off", model.KindNetwork)
	if r.Text != "this reply" {
		t.Errorf("text before the cut = %q, want %q", r.Text, "this reply")
	}
}

func (s Setup) cancelledBefore(t *testing.T) {
	m, _ := s.open(t, mockllm.Config{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if r := Collect(t, ctx, m, ask("say x")); r.Err == nil || r.Err.Kind != model.KindAborted {
		t.Errorf("a cancelled call = %+v, want kind aborted", r)
	}
}

// maxCancel is how long ending a call may take.
const maxCancel = 50 * time.Millisecond

// endsSoon cancels a call that waits and takes how long it needs to end. The
// machine may be busy, so the best of several tries counts.
func endsSoon(t *testing.T, waiting func(ctx context.Context, cancel func()) Result) {
	t.Helper()
	best := time.Hour
	for range 5 {
		var at time.Time
		ctx, stop := context.WithCancel(t.Context())
		r := waiting(ctx, func() { at = time.Now(); stop() })
		took := time.Since(at)
		stop()
		if r.Err == nil || r.Err.Kind != model.KindAborted {
			t.Fatalf("a cancelled call = %+v, want kind aborted", r)
		}
		if best = min(best, took); best < maxCancel {
			return
		}
	}
	t.Errorf("the call ended %v after it was cancelled, want at most %v", best, maxCancel)
}

func (s Setup) cancelledWaiting(t *testing.T) {
	m, _ := s.open(t, mockllm.Config{})
	endsSoon(t, func(ctx context.Context, cancel func()) Result {
		time.AfterFunc(20*time.Millisecond, cancel)
		return Collect(t, ctx, m, ask("sleep 600000 ;; say too late"))
	})
}

// hang cancels a stream that has begun and then stays silent.
func (s Setup) hang(t *testing.T) {
	m, _ := s.open(t, mockllm.Config{})
	endsSoon(t, func(ctx context.Context, cancel func()) Result {
		time.AfterFunc(20*time.Millisecond, cancel)
		return Collect(t, ctx, m, ask("hang"))
	})
}

// stopsEarly leaves the loop after the first part; the server must see the
// caller go, or closing it would wait forever.
func (s Setup) stopsEarly(t *testing.T) {
	m, mock := s.open(t, mockllm.Config{ChunkSize: 1, ChunkDelay: 5 * time.Millisecond})
	parts := 0
	for _, err := range m.Stream(t.Context(), ask("long 5000")) {
		if err != nil {
			t.Fatal(err)
		}
		parts++
		break
	}
	if parts != 1 {
		t.Errorf("got %d parts, want 1", parts)
	}
	if mock == nil {
		return
	}
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for waited := 0; mock.Stats().InFlight > 0; waited++ {
		if <-tick.C; waited > 5000 {
			t.Fatal("the server still streams")
		}
	}
}

func (s Setup) nonsense(t *testing.T) {
	const page = "<!DOCTYPE html><html><body><h1>It works!</h1></body></html>"
	for _, tt := range []struct {
		name, media string
		status      int
		body        string
		want        model.Kind
	}{
		{"page", "text/html; charset=utf-8", 200, page, model.KindBadReply},
		{"json", "application/json", 200, `{"hello":"world"}`, model.KindBadReply},
		{"error as success", "application/json", 200, `{"error":{"message":"Rate limit exceeded","code":429}}`, model.KindRateLimit},
		{"nothing", "text/event-stream", 200, "", model.KindBadReply},
		{"only comments", "text/event-stream", 200, ": hi\n\n: there\n\n", model.KindBadReply},
		{"broken event", "text/event-stream", 200, "event: x\ndata: {\"type\": nonsense\n\n", model.KindBadReply},
		{"page as event", "text/event-stream", 200, "event: x\ndata: " + page + "\n\n", model.KindBadReply},
		{"foreign event", "text/event-stream", 200, "event: x\ndata: 42\n\n", model.KindBadReply},
		{"page as error", "text/html", 502, page, model.KindServer},
		{"empty error", "", 500, "", model.KindServer},
		{"no details", "application/json", 418, "[]", model.KindFormat},
		{"redirect", "", 302, "", model.KindNotFound},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := s.raw(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", tt.media)
				w.Header().Set("Location", "http://127.0.0.1:1/elsewhere")
				w.WriteHeader(tt.status)
				_, _ = io.WriteString(w, tt.body)
			})
			r := mustFail(t, m, "hello", tt.want)
			if strings.Contains(r.Err.Text, "It works") {
				t.Errorf("text %q repeats the page", r.Err.Text)
			}
		})
	}
}

func (s Setup) unreachable(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := ln.Addr().String()
	ln.Close()
	mustFail(t, s.openAt(t, "http://"+addr), "hello", model.KindNetwork)
	mustFail(t, s.openAt(t, "http://no-such-host.invalid"), "hello", model.KindNetwork)
}

// secrecy meets a server that repeats what it was sent.
func (s Setup) secrecy(t *testing.T) {
	m := s.raw(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusUnauthorized)
		sent := r.Header.Get("Authorization") + r.Header.Get("X-Api-Key")
		_, _ = fmt.Fprintf(w, `{"error":{"type":"authentication_error","message":"Incorrect API key provided: %s. You can find your key in the settings."}}`, sent)
	})
	r := mustFail(t, m, "hello", model.KindAuth)
	if strings.Contains(fmt.Sprintf("%v %+v %#v", r.Err, *r.Err, *r.Err), Key.Reveal()) {
		t.Errorf("the error %v holds the key", r.Err)
	}
}
