package gateway

import (
	"encoding/json"
	"maps"
	"slices"
	"time"

	"openclaw/protocol"
)

// welcome builds and queues hello-ok for c. It runs under the hub's lock, see
// [hub.join]. Token is what the device store issued, nil without a device.
func (g *Gateway) welcome(c *conn, id string, auth *protocol.HelloAuth) {
	c.out.setLimit(g.policy(c.version).MaxBufferedBytes)
	hello := protocol.HelloOK{
		Type:     protocol.HelloType,
		Protocol: c.version,
		Server:   protocol.HelloServer{Version: g.cfg.Version, ConnID: c.id},
		Features: g.features,
		Snapshot: g.snapshot(c),
		Auth:     auth,
		Policy:   g.policy(c.version),
	}
	if c.version < protocol.Version4 {
		hello.Server.Host = g.cfg.Host
	} else {
		hello.Server.BootID = g.bootID
	}
	g.reply(c, id, hello, nil)
}

func (g *Gateway) policy(version int) protocol.HelloPolicy {
	p := protocol.HelloPolicy{
		MaxPayload:       protocol.MaxPayload,
		MaxBufferedBytes: protocol.MaxBuffered3,
		TickIntervalMs:   protocol.TickIntervalMs,
	}
	if version >= protocol.Version4 {
		p.MaxBufferedBytes = protocol.MaxBuffered4
		p.Attachments = &protocol.AttachmentPolicy{MaxBytes: maxAttachment, MaxImageBytes: maxAttachment}
	}
	return p
}

// snapshot is the state that a new connection starts from.
func (g *Gateway) snapshot(c *conn) protocol.Snapshot {
	entries, version := g.presence.list()
	c.presenceSeen = version
	s := protocol.Snapshot{
		Presence:     entries,
		Health:       json.RawMessage("{}"),
		StateVersion: protocol.StateVersion{Presence: version, Health: g.health.version()},
		UptimeMs:     time.Since(g.started).Milliseconds(),
	}
	if h := g.health.snapshot(); h != nil {
		s.Health, s.StateVersion.Health = h.payload, h.version
	}
	settings := g.settings()
	s.SessionDefaults = settings.sessionDefaults()
	if c.grants.admin {
		// Where things lie on the host is an admin's business.
		s.ConfigPath, s.StateDir = g.cfg.ConfigPath, g.cfg.StateDir
	}
	if c.version >= protocol.Version4 {
		s.AuthMode = settings.secrets.mode
	}
	return s
}

// features lists what this gateway answers and sends.
func features(methods map[string]method) protocol.HelloFeatures {
	f := protocol.HelloFeatures{Methods: slices.Sorted(maps.Keys(methods))}
	for _, e := range eventRules {
		f.Events = append(f.Events, e.name)
	}
	return f
}
