package assistant

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"openclaw/byo"
	"openclaw/internal/guard"
	"openclaw/internal/relayclient"
)

// callbackWaits are the pauses between the tries of one delivery.
var callbackWaits = []time.Duration{250 * time.Millisecond, 500 * time.Millisecond, time.Second}

// Callbacks says which callback listeners may be called, and calls them.
type Callbacks struct {
	// Allowed lists origins beyond loopback ("https://desk.example:8443").
	Allowed []string
	// RemoteIngress is set while requests from other hosts are taken: then a
	// loopback address in one of them is not trusted unless it is listed.
	RemoteIngress bool

	listed, local *http.Client
}

// Dial returns callbacks that connect through d. A listed name may lead to any
// address of one machine, every other name is one of this machine.
func (c Callbacks) Dial(d guard.Dialer) *Callbacks {
	local, listed := d, d
	local.Allow = netip.Addr.IsLoopback
	listed.Allow = func(a netip.Addr) bool { return a.IsLoopback() || a.IsGlobalUnicast() }
	c.local, c.listed = local.Client(byo.CallbackTimeout), listed.Client(byo.CallbackTimeout)
	return &c
}

// Check reports whether a request may ask for answers at that URL.
func (c *Callbacks) Check(raw string) error {
	_, err := c.pick(raw)
	return err
}

// pick returns the client for a URL that may be called.
func (c *Callbacks) pick(raw string) (*http.Client, error) {
	if err := byo.CheckCallbackURL(raw); err != nil {
		return nil, err
	}
	u, err := url.Parse(raw)
	if err != nil {
		return nil, err
	}
	origin := strings.ToLower(u.Scheme + "://" + u.Host)
	if slices.ContainsFunc(c.Allowed, func(s string) bool { return strings.ToLower(strings.TrimSuffix(s, "/")) == origin }) {
		return c.listed, nil
	}
	if name := u.Hostname(); !c.RemoteIngress && (name == "127.0.0.1" || strings.EqualFold(name, "localhost")) {
		return c.local, nil
	}
	return nil, &byo.FieldError{Field: "callback.url", Problem: "is not an address this assistant may call"}
}

// Deliver posts a callback, with a few tries when it is worth keeping. It is a
// [Courier] for routes with a URL.
func (c *Callbacks) Deliver(ctx context.Context, to Route, cb *byo.Callback) error {
	client, err := c.pick(to.URL) // once more: the list may be another one by now
	if err != nil {
		return fmt.Errorf("%w: %w", ErrRefused, err)
	}
	body, err := json.Marshal(cb)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrRefused, err)
	}
	waits := callbackWaits
	if byo.TransientStatus(cb.Status) || cb.Status == byo.StatusSilent {
		waits = nil
	}
	for {
		err := post(ctx, client, to, cb.TaskID, body)
		if err == nil || errors.Is(err, ErrRefused) || len(waits) == 0 || !relayclient.Sleep(ctx, waits[0]) {
			return err
		}
		waits = waits[1:]
	}
}

func post(ctx context.Context, client *http.Client, to Route, task string, body []byte) error {
	target := strings.TrimSuffix(to.URL, "/") + "/tasks/" + task
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, target, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("%w: %w", ErrRefused, err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+string(to.Token))
	resp, err := client.Do(req)
	if err != nil {
		if errors.Is(err, guard.ErrAddress) {
			return fmt.Errorf("%w: %w", ErrRefused, err)
		}
		return fmt.Errorf("call the desktop: %w", err)
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 64<<10)) // so that the connection can be used again
	switch {
	case resp.StatusCode/100 == 2:
		return nil // taken, or dropped on purpose
	case tryAgain(resp.StatusCode):
		return fmt.Errorf("the desktop answers %d", resp.StatusCode)
	}
	return fmt.Errorf("%w with %d", ErrRefused, resp.StatusCode)
}

// tryAgain reports whether an HTTP status may be another one soon.
func tryAgain(status int) bool {
	switch status {
	case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests:
		return true
	}
	return status >= 500
}
