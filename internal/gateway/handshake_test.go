package gateway

import (
	"testing"
	"testing/synctest"
	"time"

	"openclaw/protocol"
)

// GW-001, GW-006.
func TestHandshakeTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, "")
		start := time.Now()
		c := h.dial(dialer{})
		c.challenge()
		if c.nonce == "" {
			t.Error("challenge has no nonce")
		}
		code, reason := c.closed()
		if took := time.Since(start); code != protocol.CloseNormal || reason != "" || took < 9500*time.Millisecond || took > 10500*time.Millisecond {
			t.Errorf("silent client closed with %d %q after %v, want 1000 after 10s", code, reason, took)
		}
		h.close()
	})
}
