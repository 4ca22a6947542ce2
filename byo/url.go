package byo

import (
	"net/netip"
	"net/url"
	"strconv"
	"strings"
)

// suffixes that people paste with a base URL.
var suffixes = []string{
	"/api/v1/assistant-relay/tasks", "/api/v1/assistant-relay/ping", "/api/v1/assistant-relay",
	"/v1/incoming", "/v1/ping", "/tasks", "/incoming", "/ping",
}

// NormalizeURL trims a base URL, drops slashes at its end and one known suffix,
// and applies [CheckURL].
func NormalizeURL(raw string) (string, error) {
	s := strings.TrimRight(strings.TrimSpace(raw), "/")
	for _, suffix := range suffixes {
		if rest, ok := strings.CutSuffix(s, suffix); ok {
			s = strings.TrimRight(rest, "/")
			break
		}
	}
	return s, CheckURL(s)
}

// CheckURL accepts the address of a relay or a listener: https anywhere, http
// only to hosts that are not on the public internet. See docs/byo.md#url-rule.
func CheckURL(raw string) error {
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" || u.Hostname() == "" || u.User != nil || !validPort(u) {
		return &FieldError{Field: "url", Problem: "must be an http or https URL with a host"}
	}
	switch {
	case u.RawQuery != "" || u.Fragment != "" || u.ForceQuery:
		return &FieldError{Field: "url", Problem: "must have no query and no fragment"}
	case u.Scheme == "https":
		return nil
	case u.Scheme != "http":
		return &FieldError{Field: "url", Problem: "must be an http or https URL with a host"}
	case !PrivateHost(u.Hostname()):
		return &FieldError{Field: "url", Problem: "must use https to a public host"}
	}
	return nil
}

// CheckCallbackURL accepts a callback target: http or https, an origin only.
func CheckCallbackURL(raw string) error {
	u, err := url.Parse(raw)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || !validPort(u) {
		return &FieldError{Field: "callback.url", Problem: "must be an http or https URL with a host"}
	}
	if u.Path != "" && u.Path != "/" || u.RawQuery != "" || u.ForceQuery || u.Fragment != "" || u.User != nil {
		return &FieldError{Field: "callback.url", Problem: "must have no path, query, fragment or user"}
	}
	return nil
}

func validPort(u *url.URL) bool {
	p := u.Port()
	if p == "" {
		return !strings.HasSuffix(u.Host, ":")
	}
	n, err := strconv.Atoi(p)
	return err == nil && n > 0 && n < 1<<16
}

// cgnat is the shared address space of providers.
var cgnat = netip.MustParsePrefix("100.64.0.0/10")

// PrivateHost reports whether plain http to host stays off the public internet:
// loopback, private, link-local, shared (100.64/10) and unique local addresses,
// single-label names, and names under localhost, local, internal and ts.net.
func PrivateHost(host string) bool {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if addr, err := netip.ParseAddr(host); err == nil {
		addr = addr.Unmap().WithZone("")
		return addr.IsLoopback() || addr.IsPrivate() || addr.IsLinkLocalUnicast() || cgnat.Contains(addr)
	}
	if host == "" || strings.ContainsAny(host, ":[]%") {
		return false
	}
	if !strings.Contains(host, ".") {
		return !numeric(host)
	}
	for _, suffix := range []string{".localhost", ".local", ".internal", ".ts.net"} {
		if strings.HasSuffix(host, suffix) && len(host) > len(suffix) {
			return true
		}
	}
	return false
}

// numeric reports whether some resolver may read a single label as an IPv4
// address, as 2130706433 or 0x7f000001.
func numeric(label string) bool {
	_, err := strconv.ParseUint(label, 0, 64)
	return err == nil
}
