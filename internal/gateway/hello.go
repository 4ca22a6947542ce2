package gateway

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"openclaw/protocol"
)

// noPresence is where the list of presence belongs in an encoded hello-ok. The
// same text inside a string would have its quotes escaped.
var noPresence = []byte(`"presence":[]`)

// welcome builds and queues hello-ok for c. It runs under the hub's lock, see
// [hub.join]. Auth is nil on protocol 3 without a device.
func (g *Gateway) welcome(c *conn, id string, auth *protocol.HelloAuth) {
	c.out.setLimit(g.policy(c.version).MaxBufferedBytes)
	hello := protocol.HelloOK{
		Type:     protocol.HelloType,
		Protocol: c.version,
		Server:   protocol.HelloServer{Version: g.cfg.Version, ConnID: c.id},
		Features: g.features[dialectOf(c)],
		Snapshot: g.snapshot(c),
		Auth:     auth,
		Policy:   g.policy(c.version),
	}
	if c.version < protocol.Version4 {
		hello.Server.Host = g.cfg.Host
	} else {
		hello.Server.BootID = g.bootID
	}
	data, err := marshal(hello)
	if err != nil {
		g.reply(c, id, nil, err)
		return
	}
	// The list may be long and is encoded already.
	before, after, _ := bytes.Cut(data, noPresence)
	frame := appendOK(nil, id)
	frame = append(frame, before...)
	frame = append(frame, `"presence":`...)
	frame, _ = g.presence.appendList(frame)
	frame = append(frame, after...)
	c.out.send(append(frame, '}'))
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

// snapshot is the state that a new connection starts from, without the list of
// presence.
func (g *Gateway) snapshot(c *conn) protocol.Snapshot {
	c.presenceSeen = g.presence.current()
	s := protocol.Snapshot{
		Presence:     []protocol.PresenceEntry{},
		Health:       json.RawMessage("{}"),
		StateVersion: protocol.StateVersion{Presence: c.presenceSeen, Health: g.health.version()},
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

// Dialects differ in what is offered, see docs/protocol.md#own-additions.
const (
	dialectPlain = iota
	dialectOwn   // protocol 3 with our own cap
	dialect4
)

func dialectOf(c *conn) int {
	switch {
	case c.version >= protocol.Version4:
		return dialect4
	case c.own:
		return dialectOwn
	}
	return dialectPlain
}

// features lists what this gateway answers and sends, by dialect.
func features(methods map[string]method) (all [3]protocol.HelloFeatures) {
	for dialect := range all {
		f := &all[dialect]
		for _, name := range slices.Sorted(maps.Keys(methods)) {
			if dialect == dialect4 || !methods[name].only4 {
				f.Methods = append(f.Methods, name)
			}
		}
		for _, e := range eventRules {
			f.Events = append(f.Events, e.name)
		}
		if dialect != dialectPlain {
			f.Events = append(f.Events, protocol.EventChatUser)
		}
		if dialect == dialect4 {
			f.Events = append(f.Events, protocol.EventSessionsChanged, protocol.EventSessionMessage)
		}
	}
	return all
}
