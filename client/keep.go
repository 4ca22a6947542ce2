package client

import (
	"cmp"
	"context"
	"errors"
	"time"

	"openclaw/protocol"
)

// KeepOptions say how to hold a connection up.
type KeepOptions struct {
	// MinWait and MaxWait bound the wait before the next attempt, which doubles
	// with each failure; default 1 s and 30 s.
	MinWait, MaxWait time.Duration
	// GiveUp says which failed connects end it, default [Permanent].
	GiveUp func(error) bool
	// Lost is told about every failed connect and every lost connection, and how
	// long the wait will be; it may be nil.
	Lost func(err error, wait time.Duration)
}

// Keep connects again and again and runs session on each connection, with a
// context that ends with the connection. It returns nil when session returns
// nil or ctx ends, and an error when session fails while it is connected or
// when a connect fails for good. It closes every connection.
func Keep(ctx context.Context, o Options, k KeepOptions, session func(context.Context, *Client) error) error {
	k.MinWait, k.MaxWait = cmp.Or(k.MinWait, time.Second), cmp.Or(k.MaxWait, 30*time.Second)
	if k.GiveUp == nil {
		k.GiveUp = Permanent
	}
	wait := k.MinWait
	for {
		c, err := Dial(ctx, o)
		switch {
		case err == nil:
			wait = k.MinWait
			var over bool
			if over, err = runSession(ctx, c, session); over {
				return err
			}
		case ctx.Err() != nil:
			return nil
		case k.GiveUp(err):
			return err
		}
		pause := max(wait, askedToWait(err))
		if k.Lost != nil {
			k.Lost(err, pause)
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return nil
		}
		wait = min(2*wait, k.MaxWait)
	}
}

// runSession runs session on c and says whether that was the end of it all. If
// not, err is why the connection was lost.
func runSession(ctx context.Context, c *Client, session func(context.Context, *Client) error) (over bool, err error) {
	defer func() { _ = c.Close() }()
	sctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	c.wg.Go(func() {
		select {
		case <-c.Done():
			cancel(c.Err())
		case <-sctx.Done():
		}
	})
	err = session(sctx, c)
	switch {
	case ctx.Err() != nil || err == nil:
		return true, nil
	case c.Err() != nil && !errors.Is(c.Err(), ErrClosed):
		return false, c.Err()
	}
	return true, err
}

// askedToWait is how long the gateway told a refused client to stay away.
func askedToWait(err error) time.Duration {
	var refusal *protocol.Error
	if !errors.As(err, &refusal) {
		return 0
	}
	return time.Duration(refusal.RetryAfterMs) * time.Millisecond
}
