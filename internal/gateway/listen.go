package gateway

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"syscall"
)

// Values of gateway.bind. See docs/protocol.md#bind.
const (
	bindLoopback = "loopback"
	bindLAN      = "lan"
	bindTailnet  = "tailnet"
	bindAuto     = "auto"
	bindCustom   = "custom"
)

// BindHost returns the address that a gateway with this gateway.bind and
// gateway.customBindHost listens on, or why there is none.
func BindHost(mode, custom string) (string, error) { return bindHost(mode, custom, tailnetAddr) }

// bindHost turns a bind mode into the address to listen on. No mode ever widens:
// where an address cannot be had the start fails or falls back to loopback.
func bindHost(mode, custom string, tailnet func() (netip.Addr, bool)) (string, error) {
	switch mode {
	case "", bindLoopback, bindAuto:
		return "127.0.0.1", nil
	case bindLAN:
		return "0.0.0.0", nil
	case bindTailnet:
		if a, ok := tailnet(); ok {
			return a.String(), nil
		}
		return "127.0.0.1", nil
	case bindCustom:
		a, err := netip.ParseAddr(custom)
		if err != nil || !a.Is4() {
			return "", fmt.Errorf("bind: gateway.customBindHost %q is not an IPv4 address", custom)
		}
		return a.String(), nil
	}
	return "", fmt.Errorf("bind: unknown mode %q (use loopback, lan, tailnet, auto or custom)", mode)
}

// tailnetAddr returns the first Tailscale IPv4 address of this host.
func tailnetAddr() (netip.Addr, bool) {
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		return netip.Addr{}, false
	}
	for _, a := range addrs {
		n, ok := a.(*net.IPNet)
		if !ok {
			continue
		}
		if ip, ok := netip.AddrFromSlice(n.IP); ok && tailscale4.Contains(ip.Unmap()) {
			return ip.Unmap(), true
		}
	}
	return netip.Addr{}, false
}

func isLoopbackBind(host string) bool {
	a, err := netip.ParseAddr(host)
	return err == nil && a.IsLoopback()
}

// posture is everything that decides whether a start would be unsafe.
type posture struct {
	mode, host         string // auth mode, bind address
	hasToken, hasPass  bool
	tailscale          string // gateway.tailscale.mode
	tailscaleAuth      bool
	hooks              bool
	hooksToken         bool
	hooksPath          string
	unconfigured, lazy bool // gateway.mode is not "local"; that was allowed
}

// check returns why the gateway must not start like this, or nil.
// See docs/protocol.md#refusals.
func (p posture) check() error {
	if p.unconfigured && !p.lazy {
		return errors.New("gateway start blocked: set gateway.mode to \"local\" or pass --allow-unconfigured")
	}
	switch p.mode {
	case modePassword:
		if !p.hasPass {
			return errors.New("gateway auth mode is password, but no password is set (set gateway.auth.password or OPENCLAW_GATEWAY_PASSWORD)")
		}
	case modeToken:
		if !p.hasToken && !p.tailscaleAuth {
			return errors.New("gateway auth mode is token, but no token is set (set gateway.auth.token or OPENCLAW_GATEWAY_TOKEN)")
		}
	default:
		return fmt.Errorf("gateway auth mode %q is not supported (use token or password)", p.mode)
	}
	exposed := !isLoopbackBind(p.host)
	shared := (p.mode == modePassword && p.hasPass) || (p.mode == modeToken && p.hasToken)
	if exposed && !shared {
		return fmt.Errorf("refusing to bind gateway to %s without a shared secret (set gateway.auth.token or gateway.auth.password)", p.host)
	}
	if p.tailscale == "serve" || p.tailscale == "funnel" {
		if exposed {
			return fmt.Errorf("tailscale %s requires gateway.bind loopback", p.tailscale)
		}
		if p.tailscale == "funnel" && p.mode != modePassword {
			return errors.New("tailscale funnel requires gateway.auth.mode password")
		}
	}
	if p.hooks && !p.hooksToken {
		return errors.New("hooks.enabled requires hooks.token")
	}
	if p.hooks && p.hooksPath == "/" {
		return errors.New("hooks.path may not be \"/\"")
	}
	return nil
}

// listen opens the main listener on host and, for loopback, a second one on ::1;
// warn hears why that one could not be had.
func listen(ctx context.Context, host string, port int, tlsConfig *tls.Config, warn func(error)) ([]net.Listener, error) {
	var lc net.ListenConfig
	main, err := lc.Listen(ctx, "tcp", net.JoinHostPort(host, strconv.Itoa(port)))
	if errors.Is(err, syscall.EADDRINUSE) {
		scheme := "ws"
		if tlsConfig != nil {
			scheme = "wss"
		}
		return nil, &InUseError{URL: fmt.Sprintf("%s://%s", scheme, net.JoinHostPort(host, strconv.Itoa(port)))}
	}
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	all := []net.Listener{main}
	if host == "127.0.0.1" {
		port = main.Addr().(*net.TCPAddr).Port
		six, err := lc.Listen(ctx, "tcp6", net.JoinHostPort("::1", strconv.Itoa(port)))
		if err != nil {
			warn(err)
		} else {
			all = append(all, six)
		}
	}
	if tlsConfig != nil {
		for i := range all {
			all[i] = tls.NewListener(all[i], tlsConfig)
		}
	}
	return all, nil
}

// InUseError says that the port is taken.
type InUseError struct {
	// URL is what the gateway would have listened on.
	URL string
}

func (e *InUseError) Error() string {
	return "another gateway instance is already listening on " + e.URL
}

// Unwrap makes the error match syscall.EADDRINUSE.
func (e *InUseError) Unwrap() error { return syscall.EADDRINUSE }
