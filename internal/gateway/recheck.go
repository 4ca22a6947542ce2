package gateway

import (
	"slices"

	"openclaw/protocol"
)

// recheck closes a connection whose credentials were taken away while it was in
// the handshake: whoever took them could not see it yet. It is called after the
// connection has joined the hub, so that one of both notices.
func (g *Gateway) recheck(c *conn) {
	token, password := g.settings().secrets.print()
	if c.auth == authToken && c.secret != token || c.auth == authPassword && c.secret != password {
		c.out.close(farewell{code: protocol.CloseRevoked, reason: "gateway credentials changed"})
		return
	}
	if c.deviceID == "" {
		return
	}
	device, ok := g.cfg.Devices.Get(c.deviceID)
	revoked := ok && slices.ContainsFunc(device.Tokens, func(t protocol.DeviceTokenInfo) bool {
		return t.Role == c.grants.role && t.RevokedAtMs > 0
	})
	if revoked {
		c.out.close(farewell{code: protocol.CloseRevoked, reason: "device token revoked"})
	}
}
