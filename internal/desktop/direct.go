package desktop

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"openclaw/byo"
	"openclaw/internal/guard"
	"openclaw/internal/relayclient"
	"openclaw/internal/sse"
)

// directLine talks to the listener of an assistant.
type directLine struct {
	url    string
	token  byo.Secret
	client *http.Client
	target func() *byo.CallbackTarget // where answers go; nil for the event stream
}

// directHTTP is the client for listeners: no proxy, no redirects. Which addresses a
// person may pair with was decided by the URL rule.
func directHTTP(d guard.Dialer) *http.Client {
	d.Allow = func(a netip.Addr) bool { return !a.IsUnspecified() && !a.IsMulticast() }
	return d.Client(0)
}

func (l *directLine) request(ctx context.Context, method, path string, body []byte) (*http.Request, error) {
	var r io.Reader
	if body != nil {
		r = bytes.NewReader(body)
	}
	req, err := http.NewRequestWithContext(ctx, method, l.url+path, r)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errRefused, err)
	}
	req.Header.Set("Authorization", "Bearer "+string(l.token))
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	return req, nil
}

// send implements line.
func (l *directLine) send(ctx context.Context, in *byo.Incoming) error {
	ctx, cancel := context.WithTimeout(ctx, byo.IncomingTimeout)
	defer cancel()
	out := *in
	out.Callback = l.target()
	body, err := json.Marshal(out)
	if err != nil {
		return fmt.Errorf("%w: %w", errRefused, err)
	}
	req, err := l.request(ctx, http.MethodPost, "/v1/incoming", body)
	if err != nil {
		return err
	}
	req.Header.Set(byo.HeaderIdempotencyKey, in.TaskID)
	resp, err := l.client.Do(req)
	if err != nil {
		return fmt.Errorf("reach the assistant: %w", err)
	}
	defer resp.Body.Close()
	data, _ := io.ReadAll(io.LimitReader(resp.Body, 4<<10)) // what there is of the reason
	switch {
	case resp.StatusCode/100 == 2:
		return nil
	case resp.StatusCode == http.StatusTooManyRequests, resp.StatusCode == http.StatusRequestTimeout, resp.StatusCode >= 500:
		return fmt.Errorf("the assistant answers %d", resp.StatusCode)
	}
	var reason byo.ListenerError
	_ = json.Unmarshal(data, &reason) // public ones may answer anything
	return fmt.Errorf("%w: it answers %d %.200s", errRefused, resp.StatusCode, reason.Error)
}

// ping asks whether the assistant is there.
func (l *directLine) ping(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, byo.IncomingTimeout)
	defer cancel()
	req, err := l.request(ctx, http.MethodPost, "/v1/ping", []byte("{}"))
	if err != nil {
		return err
	}
	resp, err := l.client.Do(req)
	if err != nil {
		return fmt.Errorf("reach the assistant: %w", err)
	}
	resp.Body.Close()
	switch resp.StatusCode {
	case http.StatusOK:
		return nil
	case http.StatusUnauthorized:
		return fmt.Errorf("%w: its token has changed; pair again", errRefused)
	}
	return fmt.Errorf("the assistant answers %d", resp.StatusCode)
}

// follow reads the events of one session until ctx ends and hands callbacks on. epoch
// is told the name of each new life of the assistant.
func (l *directLine) follow(ctx context.Context, session string, log *slog.Logger, take func(*byo.Callback) error, epoch func(string)) {
	last, wait := "", time.Second
	for ctx.Err() == nil {
		began := time.Now()
		err := l.read(ctx, session, &last, take, epoch)
		if ctx.Err() != nil {
			return
		}
		if time.Since(began) > time.Minute {
			wait = time.Second
		}
		log.Debug("the event stream of an assistant ended", "err", err)
		if !relayclient.Sleep(ctx, wait+rand.N(wait/2)) {
			return
		}
		wait = min(2*wait, time.Minute)
	}
}

func (l *directLine) read(ctx context.Context, session string, last *string, take func(*byo.Callback) error, epoch func(string)) error {
	req, err := l.request(ctx, http.MethodGet, "/v1/events?session_id="+queryEscape(session), nil)
	if err != nil {
		return err
	}
	if *last != "" {
		req.Header.Set("Last-Event-ID", *last)
	}
	resp, err := l.client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("the assistant answers %d", resp.StatusCode)
	}
	r := sse.NewReader(resp.Body, sse.Config{MaxLine: 1 << 20, MaxEvent: 1 << 20})
	for {
		ev, err := r.Next()
		if errors.Is(err, sse.ErrTooLarge) {
			continue
		}
		if err != nil {
			return err
		}
		var c byo.Callback
		if json.Unmarshal(ev.Data, &c) == nil {
			if err := take(&c); err != nil {
				return err // it comes again
			}
		}
		if ev.ID == "" {
			continue
		}
		if name, _, ok := strings.Cut(ev.ID, "-"); ok {
			epoch(name)
		}
		*last = ev.ID
	}
}
