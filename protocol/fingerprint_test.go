package protocol_test

import (
	"strings"
	"testing"

	"openclaw/protocol"
)

// GW-150: what people write means the same certificate.
func TestNormalizeFingerprint(t *testing.T) {
	const want = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"
	if got := protocol.Fingerprint([]byte("hello")); got != want {
		t.Errorf("Fingerprint = %s, want %s", got, want)
	}
	colons := ""
	for i := 0; i < len(want); i += 2 {
		colons += ":" + want[i:i+2]
	}
	for _, in := range []string{
		want, "  " + want + "\n", strings.ToUpper(want), "sha256:" + want, "SHA-256:" + want, "sha256" + want,
		"SHA256" + strings.ToUpper(colons), colons[1:], "sha-256: " + colons[1:],
	} {
		if got, err := protocol.NormalizeFingerprint(in); err != nil || got != want {
			t.Errorf("NormalizeFingerprint(%q) = %q, %v, want %q", in, got, err, want)
		}
	}
	for _, in := range []string{"", "sha256:", want[1:], want + "0", "sha1:" + want, "not a fingerprint"} {
		if got, err := protocol.NormalizeFingerprint(in); err == nil {
			t.Errorf("NormalizeFingerprint(%q) = %q, want an error", in, got)
		}
	}
}
