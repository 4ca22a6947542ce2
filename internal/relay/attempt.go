package relay

import (
	"context"
	"errors"
	"strings"
	"time"

	"openclaw/byo"
)

// attempts is what an address or a network tried lately: times in milliseconds.
type attempts struct {
	Tries   []int64 `json:"tries,omitempty"`
	Wrong   []int64 `json:"wrong,omitempty"`
	Blocked int64   `json:"blocked,omitempty"` // until
}

// attemptKey is a place in the bucket of attempts, whose keys know no colons.
func attemptKey(kind, place string) string {
	return kind + "." + strings.NewReplacer(":", "-", "/", "_", "%", "_", ".", "-").Replace(place)
}

// within drops the times that are older than window.
func within(times []int64, now time.Time, window time.Duration) []int64 {
	from := millis(now.Add(-window))
	for len(times) > 0 && times[0] <= from {
		times = times[1:]
	}
	return times
}

// tryCode counts a try to use a pairing code; the counts hold for all nodes. An
// address that is blocked gets no further, with whatever code.
func (c *call) tryCode(ctx context.Context) error {
	addr := c.addr()
	for _, place := range []struct {
		key   string
		limit int
	}{{attemptKey("a", addr.String()), byo.PairPerAddress}, {attemptKey("n", network(addr)), byo.PairPerNetwork}} {
		_, err := change(ctx, c.store, Attempts, place.key, func(a *attempts, _ bool) error {
			now := c.now()
			if left := time.Duration(a.Blocked-millis(now)) * time.Millisecond; left > 0 {
				return limited(byo.CodeRateLimited, "too many wrong codes", left)
			}
			a.Tries, a.Wrong = within(a.Tries, now, time.Minute), within(a.Wrong, now, byo.WrongCodesWindow)
			if len(a.Tries) >= place.limit {
				left := time.Duration(a.Tries[0]-millis(now))*time.Millisecond + time.Minute
				return limited(byo.CodeRateLimited, "too many tries to pair", left)
			}
			a.Tries = append(a.Tries, millis(now))
			return nil
		})
		if errors.Is(err, ErrConflict) { // so many at once that it must be too many
			err = limited(byo.CodeRateLimited, "too many tries to pair", time.Second)
		}
		if err != nil {
			c.metrics.pairing("limited")
			return err
		}
	}
	return nil
}

// wrongCode counts a wrong code and blocks the address that had too many.
func (c *call) wrongCode(ctx context.Context) error {
	c.metrics.pairing("wrong_code")
	_, err := change(ctx, c.store, Attempts, attemptKey("a", c.addr().String()), func(a *attempts, _ bool) error {
		now := c.now()
		if a.Wrong = append(within(a.Wrong, now, byo.WrongCodesWindow), millis(now)); len(a.Wrong) >= byo.WrongCodes {
			a.Wrong, a.Blocked = nil, millis(now.Add(byo.WrongCodesBlock))
			c.log.Warn("address blocked after wrong pairing codes", "peer", network(c.addr()))
		}
		return nil
	})
	if err != nil && !errors.Is(err, ErrConflict) {
		return err
	}
	return errBadCode
}
