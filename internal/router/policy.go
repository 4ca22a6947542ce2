package router

import (
	"cmp"
	"strings"

	"openclaw/internal/config"
	"openclaw/internal/session"
)

// allows decides whether a session may be written to: its own setting wins, then
// any denying rule, then any allowing one, then the default. See RT-035.
func allows(p config.SendPolicy, key string, e session.Entry) bool {
	switch e.SendPolicy {
	case "allow":
		return true
	case "deny":
		return false
	}
	allowed := false
	for _, r := range p.Rules {
		if !matches(r, key, e) {
			continue
		}
		if r.Action == "deny" {
			return false
		}
		allowed = true
	}
	return allowed || p.Default != "deny"
}

// matches reports whether every field that the rule gives fits the session.
func matches(r config.SendRule, key string, e session.Entry) bool {
	fits := func(want, got string) bool {
		want = strings.TrimSpace(want)
		return want == "" || strings.EqualFold(want, got)
	}
	prefix := strings.ToLower(strings.TrimSpace(r.Match.KeyPrefix))
	return fits(r.Match.Channel, cmp.Or(e.Channel, e.LastChannel)) && fits(r.Match.ChatType, e.ChatType) &&
		strings.HasPrefix(strings.ToLower(key), prefix)
}
