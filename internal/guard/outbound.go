package guard

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"time"
)

// ErrAddress is wrapped by the error for a name that leads to an address the caller
// must not reach. Trying again does not help.
var ErrAddress = errors.New("address not allowed")

// Dialer connects to names whose addresses have been checked. The name is looked up
// once for each connection and the very address that passed is dialled, so a second
// answer of the name service changes nothing.
type Dialer struct {
	// Allow decides about an address; it is asked about every one that a name has.
	// The addresses of IPv4 come as such, never mapped into IPv6.
	Allow func(netip.Addr) bool

	// Lookup and Dial are the network; the defaults are those of package net.
	Lookup func(ctx context.Context, name string) ([]netip.Addr, error)
	Dial   func(ctx context.Context, network, address string) (net.Conn, error)
}

// DialContext connects to address, "host:port", for an [http.Transport].
func (d *Dialer) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	name, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	addrs, err := d.lookup(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("look up %s: %w", name, err)
	}
	for i, a := range addrs {
		addrs[i] = a.Unmap()
		if !d.Allow(addrs[i]) {
			return nil, fmt.Errorf("connect to %s: %w", name, ErrAddress)
		}
	}
	dial := d.Dial
	if dial == nil {
		dial = (&net.Dialer{}).DialContext
	}
	err = fmt.Errorf("look up %s: no addresses", name)
	for _, a := range addrs {
		var conn net.Conn
		if conn, err = dial(ctx, network, net.JoinHostPort(a.String(), port)); err == nil {
			return conn, nil
		}
	}
	return nil, err
}

func (d *Dialer) lookup(ctx context.Context, name string) ([]netip.Addr, error) {
	if a, err := netip.ParseAddr(name); err == nil {
		return []netip.Addr{a}, nil
	}
	if d.Lookup != nil {
		return d.Lookup(ctx, name)
	}
	return net.DefaultResolver.LookupNetIP(ctx, "ip", name)
}

// Client returns an HTTP client that connects through d, ignores proxies and gives a
// redirect back instead of following it, so that no secret reaches another address.
// timeout bounds a whole exchange; 0 is no bound.
func (d *Dialer) Client(timeout time.Duration) *http.Client {
	return &http.Client{
		Timeout: timeout,
		Transport: &http.Transport{
			DialContext: d.DialContext, MaxIdleConnsPerHost: 4, IdleConnTimeout: time.Minute,
			TLSHandshakeTimeout: 10 * time.Second, ForceAttemptHTTP2: true,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}
