package gateway

import (
	"context"
	"errors"
	"time"

	"openclaw/internal/pairing"
	"openclaw/protocol"
)

// caller is who asks, in the words of the device store.
func (c *conn) caller() pairing.Caller {
	return pairing.Caller{DeviceID: c.deviceID, Scopes: c.scopes}
}

// deviceError gives the errors of the device store their codes.
func deviceError(err error) error {
	var lacks *pairing.ScopeError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &lacks), errors.Is(err, pairing.ErrUnknownRequest), errors.Is(err, pairing.ErrUnknownToken),
		errors.Is(err, pairing.ErrRevoked), errors.Is(err, pairing.ErrNotApproved):
		return invalid(err.Error())
	}
	return err
}

func (g *Gateway) devicePairList(context.Context, *request, *protocol.NoParams) (any, error) {
	return g.cfg.Devices.List(), nil
}

func (g *Gateway) devicePairApprove(ctx context.Context, q *request, p *protocol.DevicePairApproveParams) (any, error) {
	device, err := g.cfg.Devices.Approve(ctx, p.RequestID, q.conn.caller())
	if err != nil {
		return nil, deviceError(err)
	}
	g.log.Info("device approved", "device", device.DeviceID, "by", q.conn.id)
	g.resolved(p.RequestID, device.DeviceID, protocol.DecisionApproved)
	return protocol.DevicePairApproveResult{RequestID: p.RequestID, Device: device}, nil
}

func (g *Gateway) devicePairReject(ctx context.Context, q *request, p *protocol.DevicePairRejectParams) (any, error) {
	id, err := g.cfg.Devices.Reject(ctx, p.RequestID)
	if err != nil {
		return nil, deviceError(err)
	}
	g.log.Info("device rejected", "device", id, "by", q.conn.id)
	g.resolved(p.RequestID, id, protocol.DecisionRejected)
	return protocol.DevicePairRejectResult{RequestID: p.RequestID, DeviceID: id}, nil
}

// resolved tells those who decide about devices.
func (g *Gateway) resolved(requestID, deviceID, decision string) {
	g.broadcast(protocol.EventPairResolved, protocol.PairResolvedEvent{
		RequestID: requestID, DeviceID: deviceID, Decision: decision, Ts: time.Now().UnixMilli(),
	})
}

// manages judges on protocol 4 who may touch a token: an admin any, others the
// operator token of their own device. Protocol 3 leaves it to the pairing scope.
func (c *conn) manages(deviceID, role string) error {
	if c.version < protocol.Version4 || c.grants.admin || role == protocol.RoleOperator && deviceID == c.deviceID && deviceID != "" {
		return nil
	}
	return missingScope(protocol.ScopeAdmin, c.version)
}

func (g *Gateway) deviceTokenRotate(ctx context.Context, q *request, p *protocol.DeviceTokenRotateParams) (any, error) {
	if err := q.conn.manages(p.DeviceID, p.Role); err != nil {
		return nil, err
	}
	token, err := g.cfg.Devices.RotateToken(ctx, p.DeviceID, p.Role, p.Scopes, q.conn.caller())
	if err != nil {
		return nil, deviceError(err)
	}
	g.log.Info("device token rotated", "device", p.DeviceID, "role", p.Role, "by", q.conn.id)
	out := protocol.DeviceTokenRotateResult{DeviceID: p.DeviceID, Role: p.Role, Scopes: token.Scopes, RotatedAtMs: token.IssuedAtMs}
	if own := q.conn.deviceID == p.DeviceID; own || q.conn.grants.admin && q.conn.version < protocol.Version4 {
		out.Token = token.Token
	}
	return out, nil
}

func (g *Gateway) deviceTokenRevoke(ctx context.Context, q *request, p *protocol.DeviceTokenRevokeParams) (any, error) {
	if err := q.conn.manages(p.DeviceID, p.Role); err != nil {
		return nil, err
	}
	at, err := g.cfg.Devices.RevokeToken(ctx, p.DeviceID, p.Role)
	if err != nil {
		return nil, deviceError(err)
	}
	g.log.Info("device token revoked", "device", p.DeviceID, "role", p.Role, "by", q.conn.id)
	// Who revokes itself shall read the answer before it is closed.
	g.reply(q.conn, q.id, protocol.DeviceTokenRevokeResult{DeviceID: p.DeviceID, Role: p.Role, RevokedAtMs: at}, nil)
	g.hub.each(func(c *conn) {
		if c.deviceID == p.DeviceID && c.grants.role == p.Role {
			c.finish(farewell{code: protocol.CloseRevoked, reason: "device token revoked"})
		}
	})
	return silence{}, nil
}
