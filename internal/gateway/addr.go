package gateway

import (
	"net"
	"net/http"
	"net/netip"
	"strings"
)

// tailscale4 and tailscale6 are the address ranges of a tailnet.
var (
	tailscale4 = netip.MustParsePrefix("100.64.0.0/10")
	tailscale6 = netip.MustParsePrefix("fd7a:115c:a1e0::/48")
)

// forwardingHeaders are the headers by which a proxy says whom it speaks for.
// From an untrusted peer any of them makes a request remote.
var forwardingHeaders = []string{
	"Forwarded", "X-Real-Ip",
	"X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Forwarded-Port", "X-Forwarded-Server",
}

// peer says where an HTTP request came from. See docs/protocol.md#locality.
type peer struct {
	// socket is the address at the other end of the TCP connection, client the
	// one of the caller: the same, unless a trusted proxy named another. Client is
	// the zero Addr when it cannot be known.
	socket, client netip.Addr
	// local is true for a direct connection from this very host: it may be
	// paired without asking.
	local bool
	// proxied is true when the socket belongs to a trusted proxy.
	proxied bool
}

// key is what limits are counted by: the client address, or the socket's when
// the client is unknown.
func (p peer) key() netip.Addr {
	if p.client.IsValid() {
		return p.client
	}
	return p.socket
}

// peerOf works out the peer of r. Trusted lists the proxies whose forwarding
// headers are believed.
func peerOf(r *http.Request, trusted []netip.Prefix) peer {
	p := peer{socket: parseAddr(r.RemoteAddr)}
	p.proxied = contains(trusted, p.socket)
	p.client = p.socket
	if p.proxied {
		p.client = forwardedClient(r, trusted)
	}
	p.local = isLocalDirect(r, p)
	return p
}

// forwardedClient walks X-Forwarded-For from the right, where the nearest proxy
// writes, past the trusted proxies; whatever stands left of the first stranger
// is hearsay. An entry that is no address ends the walk without a result.
func forwardedClient(r *http.Request, trusted []netip.Prefix) netip.Addr {
	chain := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	if len(chain) == 1 && strings.TrimSpace(chain[0]) == "" {
		return parseAddr(r.Header.Get("X-Real-Ip"))
	}
	for i := len(chain) - 1; i >= 0; i-- {
		a := parseAddr(chain[i])
		if !a.IsValid() || !contains(trusted, a) {
			return a
		}
	}
	return netip.Addr{}
}

// isLocalDirect implements the rule of docs/protocol.md#locality: the caller is
// on this host, says so in the Host header, and no stranger relayed the request.
func isLocalDirect(r *http.Request, p peer) bool {
	if !p.proxied {
		for _, h := range forwardingHeaders {
			if len(r.Header.Values(h)) > 0 {
				return false
			}
		}
		for h := range r.Header {
			if strings.HasPrefix(h, "X-Forwarded-") {
				return false
			}
		}
	}
	host := hostName(r.Host)
	if p.client.IsValid() && p.client.IsLoopback() {
		return isLoopbackName(host)
	}
	// A connection from one of our own tailnet addresses to itself never left
	// this host either.
	self := localAddr(r)
	return !p.proxied && p.socket.IsValid() && p.socket == self && isTailscale(self) && parseAddr(host) == self
}

// localAddr is the address of our end of r's connection.
func localAddr(r *http.Request) netip.Addr {
	if a, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr); ok {
		return parseAddr(a.String())
	}
	return netip.Addr{}
}

// parseAddr reads an address with or without port, brackets and zone, and
// unwraps IPv4 in IPv6. It returns the zero Addr for anything else.
func parseAddr(s string) netip.Addr {
	s = strings.Trim(strings.TrimSpace(s), `"`)
	if ap, err := netip.ParseAddrPort(s); err == nil {
		return ap.Addr().Unmap().WithZone("")
	}
	s = strings.TrimSuffix(strings.TrimPrefix(s, "["), "]")
	a, err := netip.ParseAddr(s)
	if err != nil {
		return netip.Addr{}
	}
	return a.Unmap().WithZone("")
}

// hostName drops port and brackets from a Host header and lowers its case.
func hostName(host string) string {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	return strings.ToLower(host)
}

// isLoopbackName reports whether a host name (no port) means this host. Names
// are compared whole: "127.evil.example" and "localhost.evil" are strangers.
func isLoopbackName(host string) bool {
	switch host {
	case "localhost", "127.0.0.1", "::1":
		return true
	}
	return false
}

func isTailscale(a netip.Addr) bool { return tailscale4.Contains(a) || tailscale6.Contains(a) }

func contains(list []netip.Prefix, a netip.Addr) bool {
	if !a.IsValid() {
		return false
	}
	for _, p := range list {
		if p.Contains(a) {
			return true
		}
	}
	return false
}

// parseTrusted reads gateway.trustedProxies: addresses and CIDR blocks. Entries
// that are neither are returned as bad, so that the caller can say so.
func parseTrusted(list []string) (trusted []netip.Prefix, bad []string) {
	for _, s := range list {
		s = strings.TrimSpace(s)
		if p, err := netip.ParsePrefix(s); err == nil {
			trusted = append(trusted, p.Masked())
		} else if a := parseAddr(s); a.IsValid() {
			trusted = append(trusted, netip.PrefixFrom(a, a.BitLen()))
		} else {
			bad = append(bad, s)
		}
	}
	return trusted, bad
}
