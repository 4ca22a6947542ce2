package gateway

import (
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
)

// originRule decides which browser pages may talk to the gateway.
// See docs/protocol.md#origin.
type originRule struct {
	// allowed lists whole origins, lower case; "*" is no wildcard.
	allowed []string
	// loopback also lets any page of a loopback host in (development only).
	loopback bool
}

// check reports whether the Origin header of r, if it has one, is acceptable:
// listed, or the very host and port the request was sent to.
func (o originRule) check(r *http.Request) bool {
	values := r.Header.Values("Origin")
	if len(values) == 0 {
		return true
	}
	origin := values[0]
	if len(values) > 1 || origin == "null" {
		return false
	}
	u, err := url.Parse(origin)
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return false
	}
	if slices.Contains(o.allowed, strings.ToLower(u.Scheme+"://"+u.Host)) {
		return true
	}
	if strings.EqualFold(u.Host, r.Host) {
		return true
	}
	return o.loopback && isLoopbackHost(u.Host) && isLoopbackHost(r.Host)
}

func isLoopbackHost(hostport string) bool {
	name := hostName(hostport)
	if isLoopbackName(name) {
		return true
	}
	a, err := netip.ParseAddr(name)
	return err == nil && a.Unmap().IsLoopback()
}

// newOriginRule normalises gateway.controlUi.allowedOrigins.
func newOriginRule(allowed []string, loopback bool) originRule {
	o := originRule{loopback: loopback}
	for _, s := range allowed {
		s = strings.ToLower(strings.TrimSuffix(strings.TrimSpace(s), "/"))
		if s != "" && s != "*" {
			o.allowed = append(o.allowed, s)
		}
	}
	return o
}
