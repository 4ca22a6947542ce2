package gateway

import (
	"testing"
	"testing/synctest"

	"openclaw/protocol"
)

// GW-076: a token that is revoked while its device is in the handshake does not
// keep the connection alive.
func TestGW076RevokedDuringHandshake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, "")
		id := newDevice(t)
		c, f := h.with(id, dialer{}, scopes(protocol.ScopeRead))
		if !f.OK {
			t.Fatalf("connect = %+v", f.Error)
		}
		synctest.Wait()
		var member *conn
		h.g.hub.each(func(m *conn) { member = m })
		if _, err := h.g.cfg.Devices.RevokeToken(t.Context(), id.DeviceID(), protocol.RoleOperator); err != nil {
			t.Fatal(err)
		}
		h.g.recheckDevice(member) // as the handshake does after it has joined
		if code, reason := c.closed(); code != protocol.CloseRevoked || reason != "device token revoked" {
			t.Errorf("closed with %d %q, want 4001", code, reason)
		}
		h.close()
	})
}
