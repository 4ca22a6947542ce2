package gateway

import (
	"net/netip"
	"testing"
	"testing/synctest"
	"time"
)

// Somebody who knocks all day gets a line a minute, with a count.
func TestQuiet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var q quiet
		a, b := netip.MustParseAddr("203.0.113.1"), netip.MustParseAddr("203.0.113.2")
		lines, counted := 0, 0
		for range 600 {
			if kept, ok := q.pass(a, "NOT_PAIRED"); ok {
				lines, counted = lines+1, counted+kept
			}
			time.Sleep(time.Second)
		}
		if lines != 10 || counted != 9*59 {
			t.Errorf("600 refusals in ten minutes: %d lines that count %d more, want 10 and 531", lines, counted)
		}
		if _, ok := q.pass(b, "NOT_PAIRED"); !ok {
			t.Error("another address is kept quiet")
		}
		if _, ok := q.pass(b, "INVALID_REQUEST"); !ok {
			t.Error("another cause is kept quiet")
		}
	})
}

// Many addresses take no more memory than a thousand do, and are heard again later.
func TestQuietIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var q quiet
		addr := netip.MustParseAddr("10.0.0.0")
		lines := 0
		for range 5000 {
			addr = addr.Next()
			if _, ok := q.pass(addr, "x"); ok {
				lines++
			}
		}
		if len(q.by) > quietTracked+1 || lines > quietTracked+1 {
			t.Errorf("%d sources are remembered, %d lines", len(q.by), lines)
		}
		time.Sleep(3 * quietFor)
		if _, ok := q.pass(addr.Next(), "x"); !ok || len(q.by) != 1 {
			t.Errorf("after a while: line %v, %d sources", ok, len(q.by))
		}
	})
}
