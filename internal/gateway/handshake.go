package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"openclaw/internal/schema"
	"openclaw/protocol"
)

// Texts of refusals that clients compare.
const (
	originRefusal        = "origin not allowed (open the Control UI from the gateway host or allow it in gateway.controlUi.allowedOrigins)"
	controlUIRefusal     = "control ui requires HTTPS or localhost (secure context)"
	deviceRequiredText   = "device identity required"
	pairingRequiredText  = "pairing required"
	connectParamsRefusal = "invalid connect params: "
)

// greeting is a connect request on its way through the checks.
type greeting struct {
	c        *conn
	id       string // of the request
	params   protocol.ConnectParams
	settings *settings
	version  int
	role     string
	scopes   []string // requested, with the default filled in

	// shared is how the shared secret was proven, "" when it was not; failure
	// says why. Method is how the caller got in at last.
	shared    authMethod
	failure   authFailure
	tailscale bool
	method    authMethod
	publicKey string // of the verified device, normalised
	issued    *protocol.HelloAuth
}

// refusal ends a handshake: an error response, then the close.
type refusal struct {
	err    *protocol.Error
	code   int    // protocol.ClosePolicy when 0
	reason string // the message when empty
}

// refuse builds a refusal with details.
func refuse(code, message string, d protocol.ConnectErrorDetails) *refusal {
	e := &protocol.Error{Code: code, Message: message}
	e.Details, _ = json.Marshal(d) // strings and numbers always encode
	return &refusal{err: e}
}

// handshake takes the first message of c. It returns nil when c is in.
// See docs/protocol.md#handshake.
func (g *Gateway) handshake(ctx context.Context, c *conn, data []byte) *farewell {
	var req protocol.Request
	err := schema.Decode(data, &req)
	if errors.Is(err, schema.ErrSyntax) {
		return &farewell{code: protocol.CloseNormal}
	}
	if err != nil && !newerConnect(data, &req) {
		return &farewell{code: protocol.ClosePolicy, reason: protocol.ReasonInvalidFrame}
	}
	r := g.greet(ctx, c, &req)
	if r == nil {
		return nil
	}
	if kept, ok := g.refusals.pass(c.peer.key(), r.err.Code); ok {
		g.log.Info("connect refused", "conn", c.id, "addr", c.peer.key().String(), "code", r.err.Code, "reason", r.err.Message, "alike", kept)
	}
	g.reply(c, req.ID, nil, r.err)
	bye := &farewell{code: r.code, reason: r.reason}
	if bye.code == 0 {
		bye.code = protocol.ClosePolicy
	}
	if bye.reason == "" {
		bye.reason = r.err.Message
	}
	return bye
}

// newerConnect reads the connect of a client of protocol 4, whose envelope may hold
// a traceparent and more.
func newerConnect(data []byte, req *protocol.Request) bool {
	var p struct{ MaxProtocol int }
	*req = protocol.Request{}
	return schema.DecodeLenient(data, req) == nil && json.Unmarshal(req.Params, &p) == nil && p.MaxProtocol >= protocol.Version4
}

// greet runs the checks in the order that clients rely on and lets c join.
func (g *Gateway) greet(ctx context.Context, c *conn, req *protocol.Request) *refusal {
	if req.Method != protocol.MethodConnect {
		return &refusal{err: invalid("invalid handshake: first request must be connect")}
	}
	gr := &greeting{c: c, id: req.ID, settings: g.settings()}
	if err := schema.Decode(req.Params, &gr.params); err != nil {
		return &refusal{err: invalid(connectParamsRefusal + err.Error())}
	}
	for _, check := range []func(context.Context, *greeting) *refusal{
		g.checkVersion, g.checkRole, g.checkOrigin, g.checkLockout, g.checkShared,
		g.checkDeviceless, g.checkDevice, g.checkAuth, g.checkPairing,
	} {
		if r := check(ctx, gr); r != nil {
			return r
		}
	}
	return g.admit(gr)
}

func (g *Gateway) checkVersion(_ context.Context, gr *greeting) *refusal {
	lo, hi := gr.params.MinProtocol, gr.params.MaxProtocol
	version, ok := protocol.Negotiate(lo, hi)
	if ok {
		gr.version = version
		return nil
	}
	r := refuse(protocol.CodeInvalidRequest, protocol.ReasonProtocolMismatch, protocol.ConnectErrorDetails{
		Code:                 protocol.DetailProtocolMismatch,
		ExpectedProtocol:     version,
		ClientMinProtocol:    lo,
		ClientMaxProtocol:    hi,
		MinimumProbeProtocol: protocol.MinVersion,
	})
	r.code = protocol.CloseProtocolMismatch
	return r
}

func (g *Gateway) checkRole(_ context.Context, gr *greeting) *refusal {
	gr.role = gr.params.Role
	if gr.role == "" {
		gr.role = protocol.RoleOperator
	}
	if gr.role != protocol.RoleOperator && gr.role != protocol.RoleNode {
		return &refusal{err: invalid("invalid role")}
	}
	gr.scopes = slices.Clone(gr.params.Scopes)
	if len(gr.scopes) == 0 && gr.role == protocol.RoleOperator && gr.version < protocol.Version4 {
		gr.scopes = []string{protocol.ScopeAdmin}
	}
	return nil
}

// checkOrigin refuses pages of strangers, and browser clients that hide where
// they come from.
func (g *Gateway) checkOrigin(_ context.Context, gr *greeting) *refusal {
	browser := isControlUI(gr.params.Client) || isWebchat(gr.params.Client)
	if gr.c.originOK && (gr.c.browser || !browser) {
		return nil
	}
	return refuse(protocol.CodeInvalidRequest, originRefusal, protocol.ConnectErrorDetails{
		Code: protocol.DetailOriginNotAllowed, RecommendedNextStep: protocol.NextReviewAuthConfig,
	})
}

// limited reports whether wrong secrets of c are counted: those of a program on
// this very host are not, it could read the secret anyway.
func (c *conn) limited() bool { return !c.peer.local || c.browser }

func (g *Gateway) checkLockout(_ context.Context, gr *greeting) *refusal {
	if !gr.c.limited() {
		return nil
	}
	wait := g.limiter.locked(gr.c.peer.key())
	if wait <= 0 {
		return nil
	}
	r := gr.unauthorized(authLocked)
	r.err.Retryable = true
	r.err.RetryAfterMs = max(1, wait.Milliseconds())
	return r
}

// unauthorized builds the refusal for f.
func (gr *greeting) unauthorized(f authFailure) *refusal {
	text := failureTexts[f]
	message := text.message
	switch f {
	case tokenMissing, tokenMismatch, passwordMissing, passwordMismatch:
		message = fmt.Sprintf(message, hint(gr.params.Client, f))
	}
	d := protocol.ConnectErrorDetails{Code: text.code, RecommendedNextStep: text.next}
	if f == tokenMismatch && gr.params.Device != nil && gr.offer().deviceToken == "" {
		d.CanRetryWithDeviceToken = true
		d.RecommendedNextStep = protocol.NextRetryWithDeviceToken
	}
	return refuse(protocol.CodeInvalidRequest, message, d)
}

// offer is what the caller brought along.
func (gr *greeting) offer() offer {
	o := offer{tailscale: gr.c.tailscale}
	if a := gr.params.Auth; a != nil {
		o.token, o.password, o.deviceToken = string(a.Token), string(a.Password), string(a.DeviceToken)
	}
	return o
}

// checkShared measures the shared secret and the Tailscale identity. What comes
// of it is judged further down, because a device token may still do.
func (g *Gateway) checkShared(ctx context.Context, gr *greeting) *refusal {
	if isControlUI(gr.params.Client) && gr.settings.disableDeviceAuth {
		gr.params.Device = nil
	}
	o := gr.offer()
	gr.shared, gr.failure = checkShared(gr.settings.secrets, o, gr.version)
	gr.method = gr.shared
	if gr.settings.secrets.tailscale && !gr.c.peer.local {
		f := checkTailscale(ctx, g.cfg.Whois, o.tailscale)
		switch {
		case f == "":
			gr.tailscale, gr.method = true, authTailscale
		case gr.failure == tokenUnset || (gr.failure == tokenMissing && o.tailscale.login != ""):
			gr.failure = f // the only way in, or the one that was tried
		}
	}
	return nil
}

// bypass reports whether a control UI may come without a device, because the
// operator said so.
func (gr *greeting) bypass() bool {
	return isControlUI(gr.params.Client) && (gr.settings.insecureAuth || gr.settings.disableDeviceAuth)
}

// checkDeviceless judges callers that bring no device: the shared secret alone
// lets them in.
func (g *Gateway) checkDeviceless(_ context.Context, gr *greeting) *refusal {
	if gr.params.Device != nil {
		return nil
	}
	if isControlUI(gr.params.Client) && !gr.bypass() {
		return refuse(protocol.CodeInvalidRequest, controlUIRefusal, protocol.ConnectErrorDetails{Code: protocol.DetailControlUIDevice})
	}
	if gr.shared != "" {
		gr.method = gr.shared
		return nil
	}
	if o := gr.offer(); o.token != "" || o.password != "" {
		return g.wrongSecret(gr)
	}
	return refuse(protocol.CodeNotPaired, deviceRequiredText, protocol.ConnectErrorDetails{Code: protocol.DetailDeviceRequired})
}

// wrongSecret refuses and counts the failure.
func (g *Gateway) wrongSecret(gr *greeting) *refusal {
	if gr.c.limited() && (gr.failure == tokenMismatch || gr.failure == passwordMismatch) {
		g.limiter.fail(gr.c.peer.key())
	}
	return gr.unauthorized(gr.failure)
}

// admit makes c a full member.
func (g *Gateway) admit(gr *greeting) *refusal {
	c := gr.c
	c.identity = identity{
		version: gr.version, client: gr.params.Client, auth: gr.method,
		scopes: g.effectiveScopes(gr), owner: "secret",
	}
	switch token, password := gr.settings.secrets.print(); gr.method {
	case authToken:
		c.secret = token
	case authPassword:
		c.secret = password
	}
	if d := gr.params.Device; d != nil {
		c.deviceID, c.owner = d.ID, "device:"+d.ID
	}
	c.grants = newGrants(gr.role, c.scopes)
	caps := gr.params.Caps
	c.toolEvents = slices.Contains(caps, protocol.CapToolEvents)
	c.own = gr.version >= protocol.Version4 || slices.Contains(caps, protocol.CapOpenClawGo)
	c.toolStatus = c.own && c.toolEvents && slices.Contains(caps, protocol.CapToolStatus)
	if gr.version >= protocol.Version4 && gr.issued == nil {
		gr.issued = &protocol.HelloAuth{Role: gr.role, Scopes: c.scopes}
	}
	if gr.issued != nil && gr.version >= protocol.Version4 {
		gr.issued.Method = string(gr.method)
		gr.issued.Scopes = c.scopes
	}
	g.appear(gr)
	if !g.hub.join(c, func() { g.welcome(c, gr.id, gr.issued) }) {
		return &refusal{err: &protocol.Error{
			Code: protocol.CodeUnavailable, Message: protocol.ShutdownStopping, Retryable: true, RetryAfterMs: 1500,
		}, code: protocol.CloseRestart, reason: protocol.ReasonServiceRestart}
	}
	c.joined = true
	if !g.settings().secrets.stillOpen(c) { // changed while c was on its way in
		c.finish(farewell{code: protocol.CloseRevoked, reason: "gateway credentials changed"})
	}
	if c.version >= protocol.Version4 {
		g.runs.chat4.Add(1)
	}
	g.recheckDevice(c)
	g.log.Info("connected", "conn", c.id, "client", c.client.ID, "mode", c.client.Mode, "role", gr.role,
		"scopes", strings.Join(c.scopes, " "), "protocol", c.version, "auth", string(c.auth), "device", c.deviceID)
	g.state.trigger(wishPresence | wishHealth)
	return nil
}

// effectiveScopes decides what the requested scopes are worth. See
// docs/protocol.md#effective-scopes.
func (g *Gateway) effectiveScopes(gr *greeting) []string {
	switch {
	case gr.params.Device != nil, gr.bypass() && gr.shared != "":
		return slices.Concat([]string{}, gr.scopes) // never nil
	case gr.c.peer.local && !gr.c.browser && gr.shared != "" && isOwnProgram(gr.params.Client):
		return slices.Concat([]string{}, gr.scopes)
	}
	return []string{}
}

// isOwnProgram reports whether client is one of the programs that may act on
// this host with the shared secret alone.
func isOwnProgram(client protocol.ClientInfo) bool {
	id, mode := lower(client.ID), lower(client.Mode)
	return id == protocol.ClientGateway && mode == protocol.ModeBackend || id == protocol.ClientCLI && mode == protocol.ModeCLI
}

// appear enters c into presence, unless it is a command that comes and goes.
func (g *Gateway) appear(gr *greeting) {
	c, client := gr.c, gr.params.Client
	if isCLI(client) {
		return
	}
	key := c.deviceID
	if key == "" {
		key = client.InstanceID
	}
	if key == "" {
		key = c.id
	}
	c.presenceKey = presenceKey(key)
	e := protocol.PresenceEntry{
		Host: client.DisplayName, Version: client.Version, Platform: client.Platform,
		DeviceFamily: client.DeviceFamily, ModelIdentifier: client.ModelIdentifier, Mode: client.Mode,
		Reason: "connect", DeviceID: c.deviceID, Roles: []string{gr.role}, Scopes: c.scopes, InstanceID: client.InstanceID,
	}
	if e.Host == "" {
		e.Host = client.ID
	}
	if c.deviceID != "" {
		e.InstanceID = c.deviceID
	}
	if a := c.peer.client; !c.peer.local && a.IsValid() && !a.IsLoopback() {
		e.IP = a.String()
	}
	g.presence.connect(c.presenceKey, e)
}
