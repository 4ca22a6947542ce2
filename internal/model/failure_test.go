package model

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	tests := []struct {
		name, value string
		want        time.Duration
	}{
		{"Retry-After", "7", 7 * time.Second},
		{"Retry-After", "1.5", 1500 * time.Millisecond},
		{"Retry-After", "Thu, 01 Jan 2026 00:01:00 GMT", time.Minute},
		{"Retry-After", "Wed, 31 Dec 2025 00:01:00 GMT", 0},
		{"Retry-After", "-3", 0},
		{"Retry-After", "soon", 0},
		{"Retry-After", "1e300", 24 * time.Hour},
		{"Retry-After", "NaN", 0},
		{"Retry-After-Ms", "250", 250 * time.Millisecond},
	}
	for _, tt := range tests {
		if got := retryAfter(http.Header{http.CanonicalHeaderKey(tt.name): {tt.value}}, now); got != tt.want {
			t.Errorf("retryAfter(%s: %s) = %v, want %v", tt.name, tt.value, got, tt.want)
		}
	}
}

func TestWrap(t *testing.T) {
	target := Target{Info: Info{Ref: Ref{"mock", "m"}}}
	op := func(err error) error {
		return &url.Error{Op: "Post", URL: "http://secret-host/path?key=hush", Err: &net.OpError{Op: "dial", Net: "tcp", Err: err}}
	}
	tests := []struct {
		name string
		err  error
		want Kind
	}{
		{"refused", op(syscall.ECONNREFUSED), KindNetwork},
		{"reset", op(syscall.ECONNRESET), KindNetwork},
		{"other network", op(errors.New("no route")), KindNetwork},
		{"unknown host", op(&net.DNSError{Name: "nowhere.example", IsNotFound: true}), KindNetwork},
		{"dial timeout", op(context.DeadlineExceeded), KindTimeout},
		{"cut", fmt.Errorf("read: %w", io.ErrUnexpectedEOF), KindNetwork},
		{"truncated", ErrTruncated, KindNetwork},
		{"stalled", fmt.Errorf("read: %w", errStalled), KindTimeout},
		{"nonsense", ErrNonsense, KindBadReply},
		{"endless line", errors.New("bufio.Scanner: token too long"), KindBadReply},
		{"typed", &Error{Kind: KindBilling, Text: "x"}, KindBilling},
		{"anything else", errors.New("hush"), KindUnknown},
	}
	for _, tt := range tests {
		e := target.Wrap(t.Context(), tt.err)
		if e.Kind != tt.want || e.Text == "" || strings.Contains(fmt.Sprint(e, e.Err), "hush") {
			t.Errorf("%s: Wrap = %+v, want kind %s and no address", tt.name, e, tt.want)
		}
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("stopped by the user")
	cancel(why)
	if e := target.Wrap(ctx, op(context.Canceled)); e.Kind != KindAborted || !errors.Is(e, why) {
		t.Errorf("Wrap after a cancel = %+v, want kind aborted with its cause", e)
	}
}

// slowBody gives one byte, then nothing until its request ends.
type slowBody struct {
	ctx  context.Context
	sent bool
}

func (b *slowBody) Read(p []byte) (int, error) {
	if !b.sent {
		b.sent = true
		p[0] = 'x'
		return 1, nil
	}
	<-b.ctx.Done()
	return 0, b.ctx.Err()
}

func (*slowBody) Close() error { return nil }

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// A server that goes silent ends the call; a caller that reads slowly does not.
func TestStalledBody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &watch{idle: time.Minute, next: roundTripper(func(r *http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: 200, Body: &slowBody{ctx: r.Context()}}, nil
		})}
		req, _ := http.NewRequestWithContext(t.Context(), "POST", "http://x", nil)
		res, err := w.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		time.Sleep(10 * time.Minute) // nobody reads: our own slowness
		buf := make([]byte, 8)
		if n, err := res.Body.Read(buf); n != 1 || err != nil {
			t.Fatalf("first Read = %d, %v, want the byte", n, err)
		}
		began := time.Now()
		_, err = res.Body.Read(buf)
		if took := time.Since(began); !errors.Is(err, errStalled) || took != time.Minute {
			t.Errorf("second Read = %v after %v, want errStalled after 1m", err, took)
		}
		if e := (Target{}).Wrap(t.Context(), err); e.Kind != KindTimeout || !e.Retryable() {
			t.Errorf("Wrap = %+v, want a retryable timeout", e)
		}
	})
}

func TestClientRefusesRedirects(t *testing.T) {
	elsewhere := false
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/else" {
			elsewhere = true
		}
		http.Redirect(w, r, "/else", http.StatusFound)
	}))
	defer h.Close()
	c := NewHTTPClient(HTTPConfig{})
	defer c.CloseIdleConnections()
	res, err := c.Get(h.URL)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if res.StatusCode != http.StatusFound || elsewhere {
		t.Errorf("Get = %d, followed %v, want the redirect itself", res.StatusCode, elsewhere)
	}
}

func TestHeaderTimeout(t *testing.T) {
	release := make(chan struct{})
	h := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release }))
	defer h.Close()
	defer close(release)
	c := NewHTTPClient(HTTPConfig{Header: time.Millisecond})
	defer c.CloseIdleConnections()
	_, err := c.Get(h.URL)
	if err == nil {
		t.Fatal("Get succeeded, want a timeout")
	}
	if e := (Target{}).Wrap(t.Context(), err); e.Kind != KindTimeout {
		t.Errorf("Wrap(%v) = kind %s, want timeout", err, e.Kind)
	}
}
