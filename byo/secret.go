package byo

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"log/slog"
)

// Secret is a token, a code or a key that travels as a plain JSON string but
// never prints itself: every fmt verb and slog show a placeholder. Convert it to
// string to use it.
type Secret string

// Format implements fmt.Formatter for all verbs.
func (s Secret) Format(f fmt.State, _ rune) {
	if s != "" {
		_, _ = io.WriteString(f, "[secret]")
	}
}

// LogValue implements slog.LogValuer.
func (s Secret) LogValue() slog.Value { return slog.StringValue(fmt.Sprint(s)) }

// Prefixes of tokens the relay issues. Direct tokens have none.
const (
	RelayTokenPrefix   = "swr_" // plugin → relay
	DesktopTokenPrefix = "swd_" // desktop → relay
)

// NewToken makes a token of 32 random bytes as base64url behind prefix. A nil
// random source means the system's. See docs/byo.md#tokens.
func NewToken(random io.Reader, prefix string) (Secret, error) {
	b, err := read(random, 32)
	if err != nil {
		return "", err
	}
	return Secret(prefix + base64.RawURLEncoding.EncodeToString(b)), nil
}

// TokenHash is what a verifier keeps of a token: its SHA-256 in lower-case hex.
func TokenHash(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}

// NewID makes a UUID of version 4. A nil random source means the system's.
func NewID(random io.Reader) (string, error) {
	b, err := read(random, 16)
	if err != nil {
		return "", err
	}
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	h := hex.EncodeToString(b)
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:], nil
}

func read(random io.Reader, n int) ([]byte, error) {
	if random == nil {
		random = rand.Reader
	}
	b := make([]byte, n)
	if _, err := io.ReadFull(random, b); err != nil {
		return nil, fmt.Errorf("read random bytes: %w", err)
	}
	return b, nil
}
