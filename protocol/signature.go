package protocol

import (
	"strconv"
	"strings"
	"unicode"
)

// Versions of the text that a device signs. See docs/protocol.md#device.
const (
	SignatureV1 = "v1" // without nonce
	SignatureV2 = "v2"
	SignatureV3 = "v3" // with platform and device family
)

// DeviceText returns the text that the device of p signs, in the given version.
// Everything in it is taken from p as it was sent; a default is filled in for
// the role only. It is the same on both sides.
func DeviceText(version string, p *ConnectParams) string {
	var d ConnectDevice
	if p.Device != nil {
		d = *p.Device
	}
	role := p.Role
	if role == "" {
		role = RoleOperator
	}
	fields := []string{version, d.ID, p.Client.ID, p.Client.Mode, role, strings.Join(p.Scopes, ","),
		strconv.FormatInt(d.SignedAt, 10), signedToken(p.Auth)}
	switch version {
	case SignatureV2:
		fields = append(fields, d.Nonce)
	case SignatureV3:
		fields = append(fields, d.Nonce, lowerASCII(p.Client.Platform), lowerASCII(p.Client.DeviceFamily))
	}
	return strings.Join(fields, "|")
}

// signedToken is the first token that was sent; passwords are never signed.
func signedToken(a *ConnectAuth) string {
	switch {
	case a == nil:
		return ""
	case a.Token != "":
		return string(a.Token)
	case a.DeviceToken != "":
		return string(a.DeviceToken)
	}
	return string(a.BootstrapToken)
}

// lowerASCII trims s as a browser does and lower-cases A to Z only, so that
// every language agrees on the result.
func lowerASCII(s string) string {
	s = strings.TrimFunc(s, func(r rune) bool {
		return r == '\uFEFF' || r != '\u0085' && unicode.IsSpace(r)
	})
	return strings.Map(func(r rune) rune {
		if r >= 'A' && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, s)
}
