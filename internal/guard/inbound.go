package guard

import (
	"crypto/subtle"
	"net"
	"net/netip"
	"strconv"
	"strings"
)

// Loopback reports whether the remote address of a request, "ip:port", is this
// machine: 127.0.0.1, ::1 or ::ffff:127.0.0.1.
func Loopback(remote string) bool {
	at, err := netip.ParseAddrPort(remote)
	if err != nil {
		return false
	}
	addr := at.Addr().Unmap()
	return addr == netip.AddrFrom4([4]byte{127, 0, 0, 1}) || addr == netip.IPv6Loopback()
}

// localNames are the names under which a loopback listener may be asked for.
var localNames = map[string]bool{"127.0.0.1": true, "localhost": true, "::1": true, "::ffff:127.0.0.1": true}

// LocalName reports whether a host name, as HostName gives it, means this machine.
func LocalName(name string) bool { return localNames[name] }

// HostName returns the name in a Host header, lower case and without brackets; false
// for one that is missing, has a bracket or a colon out of place, or a port that is
// no number.
func HostName(host string) (string, bool) {
	name, rest := host, ""
	if strings.HasPrefix(host, "[") {
		end := strings.IndexByte(host, ']')
		if end < 0 {
			return "", false
		}
		name, rest = host[1:end], host[end+1:]
		if addr, err := netip.ParseAddr(name); err != nil || !addr.Is6() {
			return "", false
		}
	} else if i := strings.IndexByte(host, ':'); i >= 0 {
		name, rest = host[:i], host[i:]
	}
	if name == "" || strings.ContainsAny(name, "[]/@ ") {
		return "", false
	}
	if rest != "" {
		port, ok := strings.CutPrefix(rest, ":")
		if _, err := strconv.ParseUint(port, 10, 16); !ok || err != nil {
			return "", false
		}
	}
	return strings.ToLower(name), true
}

// Bearer reports whether an Authorization header carries token, with the scheme
// written exactly "Bearer ". The comparison takes the same time wherever the two
// differ. An empty token matches nothing.
func Bearer(header, token string) bool {
	got, ok := strings.CutPrefix(header, "Bearer ")
	if !ok || token == "" || len(got) != len(token) {
		return false
	}
	return subtle.ConstantTimeCompare([]byte(got), []byte(token)) == 1
}

// Peer returns the address part of a remote address, for a Window.
func Peer(remote string) string {
	host, _, err := net.SplitHostPort(remote)
	if err != nil {
		return remote
	}
	return host
}
