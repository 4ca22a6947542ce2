package gateway

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"openclaw/internal/config"
)

const (
	// shortSecret is the length below which a shared secret can be guessed.
	shortSecret = 16
	// certSoon is how long before its end a certificate is worth a word.
	certSoon = 14 * 24 * time.Hour
)

// cautions lists what an operator should know about a start that is not refused.
func (g *Gateway) cautions(cfg *config.Config, p plan) []string {
	var out []string
	say := func(on bool, format string, args ...any) {
		if on {
			out = append(out, fmt.Sprintf(format, args...))
		}
	}
	gw, s := cfg.Gateway, g.settings()
	exposed := !isLoopbackBind(p.host)
	bind := cmp.Or(g.cfg.Bind, gw.Bind)
	secret, _ := s.secrets.shared()
	say(bind == bindTailnet && !exposed, "gateway.bind is tailnet, but this host has no Tailscale address: listening on %s only", p.host)
	say(bind != bindCustom && gw.CustomBindHost != "", "gateway.customBindHost counts only with gateway.bind custom")
	say(len(secret) > 0 && len(secret) < shortSecret, "the gateway's %s has only %d characters; use at least 24 random ones", s.secrets.mode, len(secret))
	say(exposed && p.tls == nil, "the gateway listens on %s without TLS: secrets and messages travel in the clear (see gateway.tls)", p.host)
	say(!p.expires.IsZero() && time.Until(p.expires) <= 0, "the gateway's certificate has expired on %s", p.expires.Format(time.DateOnly))
	say(time.Until(p.expires) > 0 && time.Until(p.expires) < certSoon, "the gateway's certificate expires on %s", p.expires.Format(time.DateOnly))
	say(s.insecureAuth, "gateway.controlUi.allowInsecureAuth lets browsers in without a device of their own")
	say(s.disableDeviceAuth, "gateway.controlUi.dangerouslyDisableDeviceAuth turns device checks of the Control UI off")
	say(s.unchallenged, "gateway.compat.allowUnchallengedLocalDevices lets local devices in that do not sign the challenge")
	say(s.origin.loopback, "gateway.controlUi.allowLoopbackOrigins trusts every page that this machine serves")
	say(slices.ContainsFunc(gw.ControlUI.AllowedOrigins, func(o string) bool { return strings.TrimSpace(o) == "*" }),
		"gateway.controlUi.allowedOrigins: \"*\" is no wildcard and is ignored")
	for _, t := range s.trusted {
		say(t.Bits() == 0, "gateway.trustedProxies holds %s: anybody may claim any address", t)
	}
	say(s.secrets.tailscale && g.cfg.Whois == nil, "Tailscale identities cannot be checked on this host and are refused")
	return out
}
