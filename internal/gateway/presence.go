package gateway

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"openclaw/protocol"
)

// Bounds of presence. See docs/protocol.md#presence.
const (
	presenceTTL = 300 * time.Second
	presenceMax = 200
)

// selfTTL is how long what is known about this host is used.
const selfTTL = 60 * time.Second

// presence is who is or was connected. Every change raises the version. Entries
// are encoded when they change, because lists of them are sent far more often.
type presence struct {
	look func() protocol.PresenceEntry // finds out about this host

	mu      sync.Mutex
	self    protocol.PresenceEntry
	selfAt  time.Time
	byKey   map[string]*presentOne
	order   []*presentOne // oldest change first
	version int64
}

// presentOne is an entry and the number of open connections behind it; while
// there is one the entry does not expire.
type presentOne struct {
	key string
	protocol.PresenceEntry
	open    int
	encoded []byte
}

func newPresence(look func() protocol.PresenceEntry) *presence {
	return &presence{look: look, byKey: make(map[string]*presentOne), version: 1}
}

func presenceKey(s string) string { return strings.ToLower(strings.TrimSpace(s)) }

// connect merges e over what is stored under key: given fields win, roles and
// scopes are united, the time is now.
func (p *presence) connect(key string, e protocol.PresenceEntry) {
	p.mu.Lock()
	defer p.mu.Unlock()
	one := p.byKey[key]
	if one == nil {
		one = &presentOne{key: key}
		p.byKey[key] = one
	}
	one.PresenceEntry = mergePresence(one.PresenceEntry, e)
	if one.Text == "" {
		one.Text = presenceText(one.PresenceEntry)
	}
	one.open++
	p.changed(one)
	p.prune()
}

// disconnect marks the entry under key when its last connection has closed, and
// reports whether that changed anything.
func (p *presence) disconnect(key string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	one := p.byKey[key]
	if one == nil {
		return false
	}
	if one.open--; one.open > 0 {
		return false
	}
	one.open = 0
	one.Reason = "disconnect"
	p.changed(one)
	return true
}

// changed makes one the latest. Called with mu held.
func (p *presence) changed(one *presentOne) {
	one.Ts = time.Now().UnixMilli()
	one.encoded, _ = marshal(one.PresenceEntry) // strings and numbers always encode
	p.order = append(slices.DeleteFunc(p.order, func(o *presentOne) bool { return o == one }), one)
	p.version++
}

// prune drops entries that are too old, then the oldest beyond the bound.
// Called with mu held.
func (p *presence) prune() {
	limit := time.Now().Add(-presenceTTL).UnixMilli()
	surplus := len(p.order) - presenceMax
	p.order = slices.DeleteFunc(p.order, func(one *presentOne) bool {
		drop := surplus > 0 || one.open == 0 && one.Ts < limit
		if drop {
			surplus--
			delete(p.byKey, one.key)
		}
		return drop
	})
}

// list returns everybody as a JSON array, and the version of that list.
func (p *presence) list() ([]byte, int64) { return p.appendList(nil) }

// appendList appends to b the list as a JSON array, newest first, with the
// gateway itself at its present time.
func (p *presence) appendList(b []byte) ([]byte, int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	if p.selfAt.IsZero() || now.Sub(p.selfAt) >= selfTTL {
		p.self, p.selfAt = p.look(), now
	}
	p.self.Ts = now.UnixMilli()
	p.prune()
	self, _ := marshal(p.self) // as above
	size := len(self) + 2
	for _, one := range p.order {
		size += len(one.encoded) + 1
	}
	b = append(slices.Grow(b, size), '[')
	b = append(b, self...)
	for _, one := range slices.Backward(p.order) {
		b = append(b, ',')
		b = append(b, one.encoded...)
	}
	return append(b, ']'), p.version
}

// current returns the version alone.
func (p *presence) current() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.version
}

func presenceText(e protocol.PresenceEntry) string {
	host := cmp.Or(e.Host, "unknown")
	if e.Mode == "" {
		return "Node: " + host
	}
	return fmt.Sprintf("Node: %s · mode %s", host, e.Mode)
}

func mergePresence(old, e protocol.PresenceEntry) protocol.PresenceEntry {
	return protocol.PresenceEntry{
		Host:             cmp.Or(e.Host, old.Host),
		IP:               cmp.Or(e.IP, old.IP),
		Version:          cmp.Or(e.Version, old.Version),
		Platform:         cmp.Or(e.Platform, old.Platform),
		DeviceFamily:     cmp.Or(e.DeviceFamily, old.DeviceFamily),
		ModelIdentifier:  cmp.Or(e.ModelIdentifier, old.ModelIdentifier),
		Mode:             cmp.Or(e.Mode, old.Mode),
		LastInputSeconds: cmp.Or(e.LastInputSeconds, old.LastInputSeconds),
		Reason:           cmp.Or(e.Reason, old.Reason),
		Tags:             unite(old.Tags, e.Tags),
		Text:             cmp.Or(e.Text, old.Text),
		DeviceID:         cmp.Or(e.DeviceID, old.DeviceID),
		Roles:            unite(old.Roles, e.Roles),
		Scopes:           unite(old.Scopes, e.Scopes),
		InstanceID:       cmp.Or(e.InstanceID, old.InstanceID),
	}
}

// unite appends what b has on top of a, in order, without empty strings.
func unite(a, b []string) []string {
	out := slices.Clip(a)
	for _, s := range b {
		if s != "" && !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}
