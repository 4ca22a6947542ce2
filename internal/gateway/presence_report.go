package gateway

import (
	"cmp"
	"math"
	"regexp"
	"strconv"
	"strings"

	"openclaw/protocol"
)

// lastInput is how a beacon tells when somebody used the device last.
var lastInput = regexp.MustCompile(`^last input (\d{1,9})s ago$`)

// beacon is the start of a text by which a device tells about itself.
const beacon = "Node:"

// parseBeacon reads a text of the form
// "Node: <host> (<ip>) · app <version> · last input <n>s ago · mode <mode> · reason <reason>".
// Parts that are missing stay empty; any other text gives an empty entry.
func parseBeacon(text string) protocol.PresenceEntry {
	var e protocol.PresenceEntry
	rest, ok := strings.CutPrefix(strings.TrimSpace(text), beacon)
	if !ok {
		return e
	}
	parts := strings.Split(rest, "·")
	host := strings.TrimSpace(parts[0])
	if name, ip, ok := strings.Cut(host, "("); ok {
		host, e.IP = strings.TrimSpace(name), strings.TrimSpace(strings.TrimSuffix(ip, ")"))
	}
	e.Host = host
	for _, part := range parts[1:] {
		part = strings.TrimSpace(part)
		if m := lastInput.FindStringSubmatch(part); m != nil {
			n, _ := strconv.ParseInt(m[1], 10, 64) // nine digits fit
			e.LastInputSeconds = &n
			continue
		}
		word, value, _ := strings.Cut(part, " ")
		value = strings.TrimSpace(value)
		switch word {
		case "app":
			e.Version = value
		case "mode":
			e.Mode = value
		case "reason":
			e.Reason = value
		}
	}
	return e
}

// reported is what the params of system-event say about their sender, on top of
// what its text says.
func reported(p *protocol.SystemEventParams, text string) (key string, e protocol.PresenceEntry) {
	said := parseBeacon(text)
	field := func(given, parsed string) string { return cmp.Or(strings.TrimSpace(given), parsed) }
	e = protocol.PresenceEntry{
		Host: field(p.Host, said.Host), IP: field(p.IP, said.IP), Mode: field(p.Mode, said.Mode),
		Version: field(p.Version, said.Version), Reason: field(p.Reason, said.Reason),
		Platform: field(p.Platform, ""), DeviceFamily: field(p.DeviceFamily, ""), ModelIdentifier: field(p.ModelIdentifier, ""),
		DeviceID: field(p.DeviceID, ""), InstanceID: field(p.InstanceID, ""), Text: text,
		LastInputSeconds: said.LastInputSeconds,
		Roles:            trimmed(p.Roles), Scopes: trimmed(p.Scopes), Tags: trimmed(p.Tags),
	}
	if n := p.LastInputSeconds; n != nil && *n >= 0 && *n < math.MaxInt32 {
		e.LastInputSeconds = new(int64(*n))
	}
	if r := []rune(text); len(r) > 64 {
		text = string(r[:64])
	}
	return presenceKey(cmp.Or(e.DeviceID, e.InstanceID, said.Host, said.IP, text)), e
}

// trimmed returns what is left of a list without space around its elements.
func trimmed(list []string) []string {
	var out []string
	for _, s := range list {
		if s = strings.TrimSpace(s); s != "" {
			out = append(out, s)
		}
	}
	return out
}

// report merges e over what is stored under key and returns the entry before and
// after. It stays as long as an entry without a connection does.
func (p *presence) report(key string, e protocol.PresenceEntry) (before, after protocol.PresenceEntry) {
	p.mu.Lock()
	defer p.mu.Unlock()
	one := p.byKey[key]
	if one == nil {
		one = &presentOne{key: key}
		p.byKey[key] = one
	}
	before = one.PresenceEntry
	one.PresenceEntry = mergePresence(before, e)
	p.changed(one)
	p.prune()
	return before, one.PresenceEntry
}

// news says in one line what is new about a sender; empty when nothing is worth
// telling. Named says that the line must name it, because the one before was about
// something else.
func news(before, after protocol.PresenceEntry, named bool) string {
	reason := strings.ToLower(after.Reason)
	quiet := strings.HasPrefix(reason, "periodic") || reason == "heartbeat"
	moved := before.Host != after.Host || before.IP != after.IP
	var parts []string
	if before.Version != after.Version {
		parts = append(parts, "app "+cmp.Or(after.Version, "unknown"))
	}
	if before.Mode != after.Mode {
		parts = append(parts, "mode "+cmp.Or(after.Mode, "unknown"))
	}
	if before.Reason != after.Reason && !quiet {
		parts = append(parts, "reason "+cmp.Or(after.Reason, "event"))
	}
	if len(parts) == 0 && !moved {
		return ""
	}
	if moved || named {
		who := beacon + " " + cmp.Or(after.Host, "Unknown")
		if after.IP != "" {
			who += " (" + after.IP + ")"
		}
		parts = append([]string{who}, parts...)
	}
	return strings.Join(parts, " · ")
}
