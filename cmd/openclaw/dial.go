package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"openclaw/client"
	"openclaw/internal/cli"
	"openclaw/internal/device"
	"openclaw/protocol"
)

// link is a connection of a command to a gateway.
type link struct {
	*client.Client
	timeout time.Duration
}

// dialOptions are what a command wants of its connection beyond the flags.
type dialOptions struct {
	mode   string // default "cli"
	caps   []string
	events int // capacity of the queue of events; 0 for none
	// protocol is the highest version to speak, 0 for the newest.
	protocol int
}

// dial connects to the gateway that the flags mean.
func (p *program) dial(ctx context.Context, f gatewayFlags) (*link, error) {
	t, err := p.target(f)
	if err != nil {
		return nil, err
	}
	if t.Note != "" {
		p.io.Say("%s: %s", p.name, t.Note)
	}
	return p.dialAs(ctx, f, t, dialOptions{protocol: f.protocol})
}

// dialAs connects to a known target.
func (p *program) dialAs(ctx context.Context, f gatewayFlags, t target, o dialOptions) (*link, error) {
	if f.timeout <= 0 {
		return nil, cli.Fail("--timeout must be at least 1")
	}
	limit := time.Duration(f.timeout) * time.Millisecond
	within, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	c, err := p.dialTarget(within, t, o)
	if err != nil {
		return nil, p.connectError(ctx, t, limit, err)
	}
	return &link{Client: c, timeout: limit}, nil
}

// dialTarget connects without explaining failures.
func (p *program) dialTarget(ctx context.Context, t target, o dialOptions) (*client.Client, error) {
	opts := client.Options{
		URL: t.URL, Token: t.Token, Password: t.Password, TLSFingerprint: t.Fingerprint,
		Client: protocol.ClientInfo{ID: protocol.ClientCLI, Mode: firstOf(o.mode, protocol.ModeCLI), Version: version,
			Platform: platform(), InstanceID: rand.Text()},
		Scopes: []string{protocol.ScopeAdmin, protocol.ScopeApprovals, protocol.ScopePairing},
		Caps:   o.caps, EventQueue: o.events, MaxProtocol: o.protocol,
	}
	if err := p.identify(&opts, t); err != nil {
		return nil, err
	}
	return client.Dial(ctx, opts)
}

// identify adds this device's key. A gateway on this machine does without one
// when it gets its secret, so that reading commands leave no file behind.
func (p *program) identify(opts *client.Options, t target) error {
	path := p.paths.State("identity", "device.json")
	if _, err := os.Stat(path); err != nil && t.loopback() && t.Kind != kindRemote {
		// Without a device only the mode of the command line has any rights.
		opts.Client.Mode = protocol.ModeCLI
		return nil
	}
	id, err := device.Open(path, time.Now)
	if err != nil {
		return fmt.Errorf("open the identity of this device: %w", err)
	}
	opts.Signer = id
	if t.Stored {
		opts.Tokens = &device.Tokens{Path: p.paths.State("identity", "device-auth.json"), DeviceID: id.DeviceID(), Now: time.Now}
	}
	return nil
}

// platform is the system's name as clients send it.
func platform() string {
	if runtime.GOOS == "windows" {
		return "win32"
	}
	return runtime.GOOS
}

// call runs a method within the link's timeout.
func (l *link) call(ctx context.Context, method string, params, result any) error {
	limit, cancel := context.WithTimeout(ctx, l.timeout)
	defer cancel()
	return l.explain(method, l.Call(limit, method, params, result))
}

// callFinal is call for methods that answer twice.
func (l *link) callFinal(ctx context.Context, method string, params, result any) error {
	limit, cancel := context.WithTimeout(ctx, l.timeout)
	defer cancel()
	return l.explain(method, l.CallFinal(limit, method, params, result))
}

// explain gives a failed call the words for a person.
func (l *link) explain(method string, err error) error {
	var refused *protocol.Error
	var closed *client.CloseError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &refused):
		e := &cli.Error{Err: err}
		if refused.Retryable && refused.RetryAfterMs > 0 {
			e.Hints = []string{fmt.Sprintf("try again in %s", time.Duration(refused.RetryAfterMs)*time.Millisecond)}
		}
		if strings.HasPrefix(refused.Message, "missing scope") {
			e.Hints = []string{"this device may not do that; approve it for more on the gateway's machine"}
		}
		return e
	case errors.As(err, &closed):
		return cli.Fail(fmt.Sprintf("the connection to the gateway ended during %s: %s", method, closeText(closed)))
	case errors.Is(err, context.DeadlineExceeded):
		return cli.Fail(fmt.Sprintf("no answer to %s within %s", method, l.timeout), "raise --timeout, or look at the gateway's log")
	}
	return err
}

// closeText says how a connection ended.
func closeText(c *client.CloseError) string {
	if c.Code == 1006 {
		return "it broke (1006)"
	}
	return fmt.Sprintf("the gateway closed it (%s)", joinNonEmpty(" ", strconv.Itoa(c.Code), c.Reason))
}

// callOnce connects, calls one method and returns its raw answer.
func (p *program) callOnce(ctx context.Context, f gatewayFlags, method string, params any) (json.RawMessage, error) {
	conn, err := p.dial(ctx, f)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	var doc json.RawMessage
	call := conn.call
	if f.final {
		call = conn.callFinal
	}
	err = call(ctx, method, params, &doc)
	return doc, err
}

// knock connects to a gateway without credentials far enough to know that it is
// one: a refusal is an answer.
func (p *program) knock(ctx context.Context, url string) error {
	c, err := client.Dial(ctx, client.Options{URL: url})
	if err == nil {
		return c.Close()
	}
	if errors.As(err, new(*client.ConnectError)) {
		return nil
	}
	return err
}

// connectError says in one line why there is no connection, then where the
// address and the secret came from, then what to do.
func (p *program) connectError(ctx context.Context, t target, limit time.Duration, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	e := &cli.Error{Code: 1, Details: []string{"address from: " + t.Source, "config: " + p.io.Path(p.paths.ConfigPath)}}
	var refused *client.ConnectError
	switch {
	case errors.As(err, &refused):
		e.Text = fmt.Sprintf("the gateway at %s refused the connection", t.URL)
		e.Err = refused
		if refused.Close != nil {
			e.Details = append(e.Details, fmt.Sprintf("closed with: %d %s", refused.Close.Code, refused.Close.Reason))
		}
		e.Hints = p.refusalHints(t, refused.Refusal)
	case errors.Is(err, syscall.ECONNREFUSED):
		e.Text = fmt.Sprintf("cannot reach the gateway at %s: connection refused", t.URL)
		e.Hints = []string{p.startHint(t)}
	case errors.Is(err, context.DeadlineExceeded), os.IsTimeout(err):
		e.Text = fmt.Sprintf("cannot reach the gateway at %s: no answer within %s", t.URL, limit)
		e.Hints = []string{"check that it is a gateway and not another program, or raise --timeout"}
	default:
		e.Text, e.Err = "cannot reach the gateway at "+t.URL, err
		e.Hints = []string{p.startHint(t)}
	}
	return e
}

func (p *program) startHint(t target) string {
	if t.Kind == kindLocal {
		return fmt.Sprintf("start it with %q", p.name+" gateway")
	}
	return "check the address, and that the gateway runs there"
}

// refusalHints says what to do about a refused connect.
func (p *program) refusalHints(t target, refusal *protocol.Error) []string {
	if refusal == nil {
		return nil
	}
	switch refusal.DetailCode() {
	case protocol.DetailTokenMismatch, protocol.DetailPasswordMismatch:
		hint := "the secret came from " + firstOf(t.TokenSource, "nowhere")
		if t.Kind == kindLocal {
			return []string{hint + "; the running gateway has another one: restart it, or use the one it was started with"}
		}
		return []string{hint + "; use the one of that gateway"}
	case protocol.DetailTokenMissing, protocol.DetailAuthRequired, protocol.DetailDeviceRequired, protocol.DetailPasswordMissing:
		return []string{"add --token <the gateway's token>, or set OPENCLAW_GATEWAY_TOKEN"}
	case protocol.DetailPairingRequired:
		var d protocol.ConnectErrorDetails
		_ = json.Unmarshal(refusal.Details, &d) // without an id the hint is shorter
		return []string{fmt.Sprintf("approve this device on the gateway's machine: %s devices approve %s", p.name, d.RequestID)}
	case protocol.DetailRateLimited:
		return []string{fmt.Sprintf("too many wrong secrets; try again in %s", time.Duration(refusal.RetryAfterMs)*time.Millisecond)}
	}
	return nil
}
