package gateway

import (
	"cmp"
	"fmt"
	"maps"
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

// presence is who is or was connected. Every change raises the version.
type presence struct {
	self func() protocol.PresenceEntry

	mu      sync.Mutex
	entries map[string]*presentOne
	version int64
	serial  int64 // of the latest change of an entry
}

// presentOne is an entry and the number of open connections behind it; while
// there is one the entry does not expire.
type presentOne struct {
	protocol.PresenceEntry
	open   int
	serial int64 // orders entries of the same millisecond
}

func newPresence(self func() protocol.PresenceEntry) *presence {
	return &presence{self: self, entries: make(map[string]*presentOne), version: 1}
}

func presenceKey(s string) string { return strings.ToLower(strings.TrimSpace(s)) }

// connect merges e over what is stored under key: given fields win, roles and
// scopes are united, the time is now.
func (p *presence) connect(key string, e protocol.PresenceEntry) {
	p.mu.Lock()
	defer p.mu.Unlock()
	one := p.entries[key]
	if one == nil {
		one = &presentOne{}
		p.entries[key] = one
	}
	one.PresenceEntry = mergePresence(one.PresenceEntry, e)
	p.stamp(one)
	one.open++
	if one.Text == "" {
		one.Text = presenceText(one.PresenceEntry)
	}
	p.version++
	p.prune()
}

// disconnect marks the entry under key when its last connection has closed, and
// reports whether that changed anything.
func (p *presence) disconnect(key string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	one := p.entries[key]
	if one == nil {
		return false
	}
	if one.open--; one.open > 0 {
		return false
	}
	one.open = 0
	one.Reason = "disconnect"
	p.stamp(one)
	p.version++
	return true
}

// stamp makes one the latest. Called with mu held.
func (p *presence) stamp(one *presentOne) {
	p.serial++
	one.Ts, one.serial = time.Now().UnixMilli(), p.serial
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

// prune drops entries that are too old, then the oldest beyond the bound.
// Called with mu held.
func (p *presence) prune() {
	limit := time.Now().Add(-presenceTTL).UnixMilli()
	for k, e := range p.entries {
		if e.open == 0 && e.Ts < limit {
			delete(p.entries, k)
		}
	}
	for len(p.entries) > presenceMax {
		oldest := ""
		for k, e := range p.entries {
			if oldest == "" || e.Ts < p.entries[oldest].Ts {
				oldest = k
			}
		}
		delete(p.entries, oldest)
	}
}

// list returns everybody, newest first, with the gateway itself at its present
// time, and the version of that list.
func (p *presence) list() ([]protocol.PresenceEntry, int64) {
	self := p.self()
	self.Ts = time.Now().UnixMilli()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.prune()
	sorted := slices.SortedFunc(maps.Values(p.entries), func(a, b *presentOne) int {
		return cmp.Or(cmp.Compare(b.Ts, a.Ts), cmp.Compare(b.serial, a.serial))
	})
	out := make([]protocol.PresenceEntry, 0, len(sorted)+1)
	out = append(out, self)
	for _, one := range sorted {
		out = append(out, one.PresenceEntry)
	}
	return out, p.version
}

// current returns the version alone.
func (p *presence) current() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.version
}
