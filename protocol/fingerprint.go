package protocol

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strings"
)

// Fingerprint names a certificate, given in DER form, as clients pin it: its
// SHA-256 in lower-case hex. See docs/protocol.md#tls.
func Fingerprint(der []byte) string {
	sum := sha256.Sum256(der)
	return hex.EncodeToString(sum[:])
}

// NormalizeFingerprint reduces a fingerprint as people write it, with or without
// "sha256:", colons and spaces, to the form of [Fingerprint]. Anything else is an
// error.
func NormalizeFingerprint(s string) (string, error) {
	s = strings.ToLower(strings.TrimSpace(s))
	for _, prefix := range []string{"sha256", "sha-256"} {
		if rest, ok := strings.CutPrefix(s, prefix); ok {
			s = strings.TrimPrefix(rest, ":")
			break
		}
	}
	s = strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' || r >= 'a' && r <= 'f' {
			return r
		}
		return -1
	}, s)
	if len(s) != 2*sha256.Size {
		return "", errors.New("a TLS fingerprint is a SHA-256 of 64 hex digits")
	}
	return s, nil
}
