package gateway

import (
	"context"
	"sync/atomic"
	"time"
)

// pulse merges many wishes for the same work: the first is granted at once,
// those that come within the interval after it are granted together at its end.
// That is what keeps a thousand connects from becoming a thousand broadcasts to
// a thousand connections.
type pulse struct {
	interval time.Duration
	wake     chan struct{} // capacity 1: a wish is pending
	wishes   atomic.Uint32
}

// Wishes of the state pulse.
const (
	wishPresence uint32 = 1 << iota
	wishHealth
	// wishFresh is wishHealth of a mere request: a snapshot that has been renewed
	// meanwhile grants it.
	wishFresh
)

func newPulse(interval time.Duration) *pulse {
	return &pulse{interval: interval, wake: make(chan struct{}, 1)}
}

// trigger asks for work and does not wait.
func (p *pulse) trigger(wish uint32) {
	p.wishes.Or(wish)
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// run does the work until ctx ends.
func (p *pulse) run(ctx context.Context, work func(ctx context.Context, wishes uint32)) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-p.wake:
		}
		work(ctx, p.wishes.Swap(0))
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(p.interval):
		}
	}
}
