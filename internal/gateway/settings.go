package gateway

import (
	"cmp"
	"crypto/tls"
	"fmt"
	"net/netip"
	"time"

	"openclaw/internal/chat"
	"openclaw/internal/config"
	"openclaw/protocol"
)

// settings is what the config file says about the gateway, normalised. It is
// worked out anew whenever the file has changed, so that new secrets count for
// the very next connection.
type settings struct {
	of *config.Config // what it was made from

	secrets secrets
	trusted []netip.Prefix
	origin  originRule
	// insecureAuth and disableDeviceAuth are the two flags by which an operator
	// lets a control UI in without a device.
	insecureAuth, disableDeviceAuth bool
	// unchallenged lets local devices of protocol 3 sign without the nonce.
	unchallenged bool
	// autoUpgrade overrides whether local devices get more scopes without asking;
	// nil means only command line clients do.
	autoUpgrade *bool
}

// settings returns the present settings.
func (g *Gateway) settings() *settings {
	cfg := g.cfg.Settings.Snapshot().Config
	if s := g.settingsCache.Load(); s != nil && s.of == cfg {
		return s
	}
	s := g.newSettings(cfg)
	g.settingsCache.Store(s)
	return s
}

func (g *Gateway) newSettings(cfg *config.Config) *settings {
	gw := cfg.Gateway
	trusted, bad := parseTrusted(gw.TrustedProxies)
	for _, entry := range bad {
		g.log.Warn("gateway.trustedProxies: entry is no address", "entry", entry)
	}
	s := &settings{
		of: cfg, trusted: trusted,
		origin:            newOriginRule(gw.ControlUI.AllowedOrigins, gw.ControlUI.AllowLoopbackOrigins),
		insecureAuth:      gw.ControlUI.AllowInsecureAuth,
		disableDeviceAuth: gw.ControlUI.DangerouslyDisableDeviceAuth,
		unchallenged:      gw.Compat.AllowUnchallengedLocalDevices,
		autoUpgrade:       gw.Pairing.LocalAutoApproveUpgrades,
	}
	s.secrets = secrets{
		token:    cmp.Or(g.cfg.Token, gw.Auth.Token),
		password: cmp.Or(g.cfg.Password, gw.Auth.Password),
		mode:     cmp.Or(g.cfg.AuthMode, gw.Auth.Mode),
	}
	if s.secrets.mode == "" {
		s.secrets.mode = modeToken
		if s.secrets.password != "" && s.secrets.token == "" {
			s.secrets.mode = modePassword
		}
	}
	s.secrets.tailscale = g.tailscaleMode(cfg) == "serve" && s.secrets.mode != modePassword
	if allow := gw.Auth.AllowTailscale; allow != nil {
		s.secrets.tailscale = *allow
	}
	return s
}

func (g *Gateway) tailscaleMode(cfg *config.Config) string {
	return cmp.Or(g.cfg.TailscaleMode, cfg.Gateway.Tailscale.Mode)
}

// plan is how the gateway is going to listen.
type plan struct {
	host        string
	port        int
	tls         *tls.Config
	fingerprint string
	expires     time.Time // of the certificate
}

// planFor works out the listener that a configuration asks for and refuses a
// start that would be unsafe.
func (g *Gateway) planFor(snap *config.Snapshot) (plan, error) {
	if err := snap.Err(); err != nil {
		return plan{}, err
	}
	s, gw := g.newSettings(snap.Config), snap.Config.Gateway
	host, err := bindHost(cmp.Or(g.cfg.Bind, gw.Bind), cmp.Or(g.cfg.CustomBindHost, gw.CustomBindHost), tailnetAddr)
	if err != nil {
		return plan{}, err
	}
	err = posture{
		mode: s.secrets.mode, host: host,
		hasToken: s.secrets.token != "", hasPass: s.secrets.password != "",
		tailscale: g.tailscaleMode(snap.Config), tailscaleAuth: s.secrets.tailscale,
		hooks: snap.Config.Hooks.Enabled, hooksToken: snap.Config.Hooks.Token != "", hooksPath: snap.Config.Hooks.Path,
		unconfigured: gw.Mode != "local", lazy: g.cfg.AllowUnconfigured,
	}.check()
	if err != nil {
		return plan{}, err
	}
	p := plan{host: host, port: gw.Port}
	if g.cfg.Port != nil {
		p.port = *g.cfg.Port
	}
	if gw.TLS.Enabled {
		files := tlsFilesOf(g.cfg.StateDir, gw.TLS.CertPath, gw.TLS.KeyPath, gw.TLS.AutoGenerate)
		files.ca = gw.TLS.CAPath
		if p.tls, p.fingerprint, err = files.load(); err != nil {
			return plan{}, fmt.Errorf("gateway.tls: %w", err)
		}
		p.expires = p.tls.Certificates[0].Leaf.NotAfter
	}
	return p, nil
}

func (s *settings) agentIDs() []string { return s.of.AgentIDs() }

// canonical is the stored form of a session key.
func (s *settings) canonical(key string) string {
	return chat.CanonicalKey(key, s.of.DefaultAgentID(), s.of.Session.Global())
}

// canonicalKey is the stored form of a key that a run of agent used.
func (g *Gateway) canonicalKey(agent, key string) string {
	s := g.settings()
	return chat.CanonicalKey(key, cmp.Or(agent, s.of.DefaultAgentID()), s.of.Session.Global())
}

func (s *settings) sessionDefaults() *protocol.SessionDefaults {
	id := s.of.DefaultAgentID()
	d := &protocol.SessionDefaults{
		DefaultAgentID: id, MainKey: s.of.Session.MainKey,
		MainSessionKey: chat.CanonicalKey(chat.MainKey(id), id, s.of.Session.Global()), Scope: "per-sender",
	}
	if s.of.Session.Global() {
		d.Scope = "global"
	}
	return d
}

// every reads the interval of a heartbeat; nil means it never beats. A bare
// number counts minutes.
func every(text string) *int64 {
	d, err := time.ParseDuration(text)
	if err != nil {
		d, err = time.ParseDuration(text + "m")
	}
	if err != nil || d <= 0 {
		return nil
	}
	return new(d.Milliseconds())
}
