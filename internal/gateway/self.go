package gateway

import (
	"fmt"
	"net"
	"runtime"
	"strings"

	"openclaw/protocol"
)

// selfEntry returns a function that makes the gateway's own entry in presence.
func selfEntry(host, version, kernel string) func() protocol.PresenceEntry {
	key := host
	if key == "" {
		key = "gateway"
	}
	platform := strings.TrimSpace(runtime.GOOS + " " + kernel)
	return func() protocol.PresenceEntry {
		e := protocol.PresenceEntry{
			Host: key, IP: ownAddr(), Version: version, Platform: platform, DeviceFamily: deviceFamily(runtime.GOOS),
			ModelIdentifier: machine(runtime.GOARCH), Mode: "gateway", Reason: "self",
		}
		where := key
		if e.IP != "" {
			where += " (" + e.IP + ")"
		}
		e.Text = fmt.Sprintf("Gateway: %s · app %s · mode gateway · reason self", where, version)
		return e
	}
}

// ownAddr is the first IPv4 address by which others may reach this host.
func ownAddr() string {
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		return ""
	}
	for _, a := range addrs {
		if n, ok := a.(*net.IPNet); ok && n.IP.To4() != nil && !n.IP.IsLoopback() && !n.IP.IsLinkLocalUnicast() {
			return n.IP.String()
		}
	}
	return ""
}

func deviceFamily(goos string) string {
	switch goos {
	case "darwin":
		return "Mac"
	case "windows":
		return "Windows"
	case "linux":
		return "Linux"
	}
	return goos
}

// machine is the name that clients know for an architecture.
func machine(arch string) string {
	switch arch {
	case "amd64":
		return "x64"
	case "386":
		return "ia32"
	}
	return arch
}
