package relayclient

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"time"

	"openclaw/byo"
	"openclaw/internal/sse"
)

const (
	// aliveFor is how long a stream may be silent: the relay sends something every
	// 15 seconds.
	aliveFor = 3 * byo.KeepAliveEvery
	// goodAfter is how long a connection must hold for the waits to begin anew.
	goodAfter = 60 * time.Second
	maxWait   = 60 * time.Second
	maxEvent  = 2 << 20
)

// Errors that end a [Client.Stream] for good.
var (
	// ErrSuperseded says that another connection of the same integration took over.
	ErrSuperseded = errors.New("another connection took over")
	// ErrRevoked says that the pairing was ended by the other side.
	ErrRevoked = errors.New("the pairing was ended")
)

// Stream is what to read and what to do with it.
type Stream struct {
	Path string // below byo.BasePath
	// Handle takes an event. An error ends the connection, and the stream when it is
	// ErrSuperseded, ErrRevoked or one for which [Gone] holds.
	Handle func(sse.Event) error
	// Connected is told when a connection stands and when it has ended; err is nil
	// while it stands.
	Connected func(up bool, err error)
	// LastID is where to begin; "" for everything that is open. It is kept up to date
	// across reconnects of this call.
	LastID string
}

// Stream reads events until ctx ends or the pairing is over. Between two connections
// it waits 1 s, 2 s, 4 s … up to a minute, and up to a second more, also after a clean
// end: a relay that restarts must not be stormed.
func (c *Client) Stream(ctx context.Context, s Stream) error {
	failures := 0
	for {
		began := time.Now()
		up := false
		err := c.follow(ctx, &s, func() {
			up = true
			s.tell(true, nil)
		})
		if ctx.Err() != nil {
			return ctx.Err()
		}
		s.tell(false, err)
		if Gone(err) || errors.Is(err, ErrSuperseded) || errors.Is(err, ErrRevoked) {
			return err
		}
		if up && time.Since(began) >= goodAfter {
			failures = 0
		}
		wait := min(time.Second<<min(failures, 6), maxWait)
		var e *byo.Error
		if errors.As(err, &e) {
			wait = max(wait, min(time.Duration(e.RetryAfterMS)*time.Millisecond, maxWait))
		}
		failures++
		if !Sleep(ctx, wait+rand.N(time.Second)) {
			return ctx.Err()
		}
	}
}

func (s *Stream) tell(up bool, err error) {
	if s.Connected != nil {
		s.Connected(up, err)
	}
}

// follow reads one connection to its end.
func (c *Client) follow(ctx context.Context, s *Stream, opened func()) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	silence := time.AfterFunc(aliveFor, func() { cancel(errors.New("the stream went silent")) })
	defer silence.Stop()
	header := http.Header{"Accept": {"text/event-stream"}}
	if s.LastID != "" {
		header.Set("Last-Event-ID", s.LastID)
	}
	resp, err := c.send(ctx, http.MethodGet, s.Path, nil, header)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		data, _ := io.ReadAll(io.LimitReader(resp.Body, 64<<10)) // what there is of it
		return refusal(resp, data)
	}
	opened()
	touch := func() { silence.Reset(aliveFor) }
	r := sse.NewReader(resp.Body, sse.Config{MaxLine: maxEvent, MaxEvent: maxEvent, Comment: func([]byte) { touch() }})
	for {
		ev, err := r.Next()
		switch {
		case errors.Is(err, sse.ErrTooLarge):
			continue // a later fetch or a poll finds what it was about
		case err != nil:
			if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, context.Canceled) {
				err = cause
			}
			return fmt.Errorf("read the relay's stream: %w", err)
		}
		touch()
		if err := s.Handle(ev); err != nil {
			return err
		}
		if id := r.LastID(); id != "" {
			s.LastID = id
		}
	}
}
