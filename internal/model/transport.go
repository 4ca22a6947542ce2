package model

import (
	"cmp"
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/url"
	"sync/atomic"
	"time"
)

// HTTPConfig are the timeouts of model calls. The zero value is fit for use.
type HTTPConfig struct {
	Connect time.Duration // to open a connection and for the TLS handshake; default 15 s
	Header  time.Duration // until the answer begins; default 5 min
	Idle    time.Duration // between two reads of an answer; default 5 min
	// Proxy picks the proxy of a request; nil for none.
	Proxy func(*http.Request) (*url.URL, error)
}

// NewHTTPClient returns the client that all families share. It keeps
// connections alive, has no limit for a whole call, ends a call whose server
// stays silent with kind [KindTimeout], and follows no redirects: they would
// carry keys to another address.
func NewHTTPClient(cfg HTTPConfig) *http.Client {
	connect := cmp.Or(cfg.Connect, 15*time.Second)
	dialer := &net.Dialer{Timeout: connect, KeepAlive: 30 * time.Second}
	return &http.Client{
		Transport: &watch{
			idle: cmp.Or(cfg.Idle, 5*time.Minute),
			next: &http.Transport{
				Proxy:                 cfg.Proxy,
				DialContext:           dialer.DialContext,
				TLSClientConfig:       &tls.Config{MinVersion: tls.VersionTLS12},
				TLSHandshakeTimeout:   connect,
				ResponseHeaderTimeout: cmp.Or(cfg.Header, 5*time.Minute),
				ForceAttemptHTTP2:     true,
				HTTP2:                 &http.HTTP2Config{SendPingTimeout: 30 * time.Second, PingTimeout: 15 * time.Second},
				MaxIdleConns:          64,
				MaxIdleConnsPerHost:   16,
				IdleConnTimeout:       90 * time.Second,
				DisableCompression:    true, // some servers buffer a stream to compress it
			},
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// watch ends requests whose answer stalls.
type watch struct {
	next http.RoundTripper
	idle time.Duration
}

func (w *watch) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(req.Context())
	res, err := w.next.RoundTrip(req.WithContext(ctx))
	if err != nil {
		cancel(nil)
		return nil, err
	}
	b := &watchedBody{ReadCloser: res.Body, idle: w.idle, cancel: cancel}
	b.timer = time.AfterFunc(w.idle, b.stall)
	b.timer.Stop()
	res.Body = b
	return res, nil
}

// CloseIdleConnections lets [http.Client.CloseIdleConnections] work.
func (w *watch) CloseIdleConnections() {
	if c, ok := w.next.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// watchedBody limits how long one Read may wait. Time in which nobody reads does
// not count: then it is us who are slow.
type watchedBody struct {
	io.ReadCloser
	idle    time.Duration
	timer   *time.Timer
	cancel  context.CancelCauseFunc
	stalled atomic.Bool
}

func (b *watchedBody) stall() {
	b.stalled.Store(true)
	b.cancel(errStalled)
}

func (b *watchedBody) Read(p []byte) (int, error) {
	b.timer.Reset(b.idle)
	n, err := b.ReadCloser.Read(p)
	b.timer.Stop()
	if err != nil && err != io.EOF && b.stalled.Load() {
		err = errStalled
	}
	return n, err
}

func (b *watchedBody) Close() error {
	b.timer.Stop()
	b.cancel(nil)
	return b.ReadCloser.Close()
}
