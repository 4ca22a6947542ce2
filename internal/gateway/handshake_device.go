package gateway

import (
	"context"
	"errors"
	"slices"
	"time"

	"openclaw/internal/device"
	"openclaw/internal/pairing"
	"openclaw/protocol"
)

// checkDevice verifies that the caller holds the key of the device it names.
func (g *Gateway) checkDevice(_ context.Context, gr *greeting) *refusal {
	if gr.params.Device == nil {
		return nil
	}
	skew := device.Skew3
	if gr.version >= protocol.Version4 {
		skew = device.Skew4
	}
	key, err := device.Verify(&gr.params, device.Rules{
		Nonce: gr.c.nonce, Now: time.Now(), Skew: skew,
		AllowUnchallenged: gr.settings.unchallenged && gr.c.peer.local && gr.version < protocol.Version4,
	})
	var bad *device.Error
	if errors.As(err, &bad) {
		return refuse(protocol.CodeInvalidRequest, bad.Message, protocol.ConnectErrorDetails{Code: bad.Code, Reason: bad.Reason})
	}
	if err != nil {
		return g.fault("verify device", err)
	}
	gr.publicKey = key.String()
	return nil
}

// fault refuses a connect because something of ours is broken.
func (g *Gateway) fault(what string, err error) *refusal {
	g.log.Error("connect failed", "step", what, "err", err)
	return &refusal{err: errInternal}
}

// checkAuth demands one proof: the shared secret, a Tailscale identity or a
// token that was issued to this device for this role.
func (g *Gateway) checkAuth(ctx context.Context, gr *greeting) *refusal {
	if gr.params.Device == nil || gr.shared != "" || gr.tailscale {
		return nil
	}
	o := gr.offer()
	for _, token := range []string{o.deviceToken, o.token} {
		if token == "" {
			continue
		}
		ok, err := g.cfg.Devices.VerifyToken(ctx, gr.params.Device.ID, gr.role, protocol.Secret(token), gr.scopes)
		if err != nil {
			return g.fault("verify device token", err)
		}
		if ok {
			gr.method = authDeviceToken
			return nil
		}
	}
	if o.deviceToken != "" && o.token == "" && gr.c.limited() {
		g.limiter.fail(gr.c.peer.key()) // a wrong device token is a guess too
	}
	return g.wrongSecret(gr)
}

// checkPairing asks the device store whether this device may do what it wants.
func (g *Gateway) checkPairing(ctx context.Context, gr *greeting) *refusal {
	d := gr.params.Device
	if d == nil || gr.bypass() && gr.shared != "" {
		return nil
	}
	client := gr.params.Client
	req := pairing.Request{
		DeviceID: d.ID, PublicKey: gr.publicKey, DisplayName: client.DisplayName, Platform: client.Platform,
		ClientID: client.ID, ClientMode: client.Mode, Role: gr.role, Scopes: gr.scopes, Commands: gr.params.Commands,
	}
	if a := gr.c.peer.client; !gr.c.peer.local && a.IsValid() && !a.IsLoopback() {
		req.RemoteIP = a.String()
	}
	a, err := g.cfg.Devices.Admit(ctx, req, gr.silent)
	if err != nil {
		return g.fault("admit device", err)
	}
	switch {
	case a.Pending != nil:
		if a.Created {
			g.broadcast(protocol.EventPairRequested, a.Pending)
		}
		return gr.pairingRequired(a)
	case a.Approved:
		g.log.Info("device approved", "device", d.ID, "reason", string(a.Reason), "scopes", gr.scopes)
		g.broadcast(protocol.EventPairResolved, protocol.PairResolvedEvent{
			RequestID: a.RequestID, DeviceID: d.ID, Decision: protocol.DecisionApproved, Ts: time.Now().UnixMilli(),
		})
	}
	token, err := g.cfg.Devices.EnsureToken(ctx, d.ID, gr.role, gr.scopes)
	if err != nil {
		return g.fault("issue device token", err)
	}
	gr.issued = &protocol.HelloAuth{DeviceToken: token.Token, Role: token.Role, Scopes: token.Scopes, IssuedAtMs: token.IssuedAtMs}
	return nil
}

// silent decides whether this connection deserves approval without a person: it
// comes from this host, is no page of a stranger, and proved the shared secret,
// not only a device token. More scopes for a known device are given so to the
// command line only, unless the operator decided otherwise.
// See docs/protocol.md#pairing.
func (gr *greeting) silent(why pairing.Reason) bool {
	if !gr.c.peer.local || !gr.c.originOK || gr.shared == "" {
		return false
	}
	if why == pairing.NotPaired {
		return true
	}
	if auto := gr.settings.autoUpgrade; auto != nil {
		return *auto
	}
	return isCLI(gr.params.Client)
}

// requirements say what an approval would grant, by reason.
var requirements = map[pairing.Reason]string{
	pairing.NotPaired:    "device is not approved yet",
	pairing.RoleUpgrade:  "device is asking for a higher role than currently approved",
	pairing.ScopeUpgrade: "device is asking for more scopes than currently approved",
}

// pairingRequired refuses a device that waits for approval. Older clients
// compare the plain text, newer ones read the request id from the reason.
func (gr *greeting) pairingRequired(a pairing.Admission) *refusal {
	message := pairingRequiredText
	if gr.version >= protocol.Version4 {
		message += ": " + requirements[a.Reason]
	}
	r := refuse(protocol.CodeNotPaired, message, protocol.ConnectErrorDetails{
		Code: protocol.DetailPairingRequired, Reason: string(a.Reason), RequestID: a.RequestID,
		DeviceID: gr.params.Device.ID, RequestedRole: gr.role, RequestedScopes: slices.Clone(gr.scopes),
		ApprovedRoles: a.Roles, ApprovedScopes: a.Scopes,
		RemediationHint: "approve the request with: openclaw devices approve " + a.RequestID,
	})
	if gr.version >= protocol.Version4 {
		id := " (requestId: " + a.RequestID + ")"
		// The id must survive the cut.
		r.reason = message[:min(len(message), protocol.MaxCloseReason-len(id))] + id
	}
	return r
}
