package gateway

import (
	"slices"

	"openclaw/protocol"
)

// recheckDevice closes a connection whose token was revoked while it was in the
// handshake: whoever revoked it could not see it yet. It is called after the
// connection has joined the hub, so that one of both notices.
func (g *Gateway) recheckDevice(c *conn) {
	device, ok := g.cfg.Devices.Get(c.deviceID)
	revoked := ok && slices.ContainsFunc(device.Tokens, func(t protocol.DeviceTokenInfo) bool {
		return t.Role == c.grants.role && t.RevokedAtMs > 0
	})
	if revoked {
		c.finish(farewell{code: protocol.CloseRevoked, reason: "device token revoked"})
	}
}
