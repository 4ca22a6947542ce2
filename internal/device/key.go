package device

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"strings"
)

// Key is the public key of a device.
type Key [ed25519.PublicKeySize]byte

// ErrKey is returned by [ParseKey] for text that holds no Ed25519 public key.
var ErrKey = errors.New("not an Ed25519 public key of 32 bytes")

// spkiPrefix is the DER of an Ed25519 SubjectPublicKeyInfo up to the key.
var spkiPrefix = []byte{0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00}

// ParseKey reads a public key as clients send it: base64 of the 32 raw bytes in
// either alphabet, padded or not, or a PEM block.
func ParseKey(text string) (Key, error) {
	raw, ok := decodeBase64(text)
	if strings.Contains(text, "BEGIN") {
		raw, ok = fromPEM(text)
	}
	if !ok || len(raw) != len(Key{}) {
		return Key{}, ErrKey
	}
	return Key(raw), nil
}

func fromPEM(text string) ([]byte, bool) {
	block, _ := pem.Decode([]byte(text))
	if block == nil {
		return nil, false
	}
	return bytes.CutPrefix(block.Bytes, spkiPrefix)
}

// decodeBase64 tolerates both alphabets and any padding.
func decodeBase64(text string) ([]byte, bool) {
	text = strings.TrimRight(strings.TrimSpace(text), "=")
	text = strings.NewReplacer("+", "-", "/", "_").Replace(text)
	raw, err := base64.RawURLEncoding.DecodeString(text)
	return raw, err == nil
}

// String returns the form in which keys are stored and sent: base64url of the
// raw bytes without padding.
func (k Key) String() string { return base64.RawURLEncoding.EncodeToString(k[:]) }

// ID returns the device id: the SHA-256 of the raw bytes in lower-case hex.
func (k Key) ID() string {
	sum := sha256.Sum256(k[:])
	return hex.EncodeToString(sum[:])
}

// Verify reports whether signature, base64 in either alphabet, is the key's
// signature of text.
func (k Key) Verify(text, signature string) bool {
	raw, ok := decodeBase64(signature)
	return ok && len(raw) == ed25519.SignatureSize && ed25519.Verify(k[:], []byte(text), raw)
}
