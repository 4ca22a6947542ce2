package seal

import (
	"crypto/ecdh"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"log/slog"
	"strings"

	"openclaw/byo"
)

// Role is a side of a pairing.
type Role int

// The two sides.
const (
	Desktop Role = 1 + iota
	Plugin
)

// String is the role as an envelope's sender_role has it.
func (r Role) String() string {
	switch r {
	case Desktop:
		return byo.RoleDesktop
	case Plugin:
		return byo.RolePlugin
	}
	return "none"
}

// Peer is the other side.
func (r Role) Peer() Role { return Desktop + Plugin - r }

// Outbound is the direction of what r seals.
func (r Role) Outbound() string {
	if r == Desktop {
		return byo.DesktopToPlugin
	}
	return byo.PluginToDesktop
}

// PublicKey is an X25519 public key.
type PublicKey [byo.KeySize]byte

// ParsePublic reads a public key in base64 with padding. It refuses keys of low
// order.
func ParsePublic(text string) (PublicKey, error) {
	b, err := base64.StdEncoding.Strict().DecodeString(text)
	if err != nil {
		return PublicKey{}, ErrKey
	}
	return NewPublicKey(b)
}

// NewPublicKey takes a public key as bytes. It refuses keys of low order.
func NewPublicKey(b []byte) (PublicKey, error) {
	if len(b) != byo.KeySize {
		return PublicKey{}, ErrKey
	}
	p := PublicKey(b)
	// Any secret times a point of low order is zero, so any secret tells.
	probe := SecretKey{b: &[byo.KeySize]byte{1}}
	if _, err := probe.agree(p); err != nil {
		return PublicKey{}, err
	}
	return p, nil
}

// String is the key in base64 with padding.
func (p PublicKey) String() string { return base64.StdEncoding.EncodeToString(p[:]) }

// SecretKey is an X25519 secret key. It never prints itself and cannot be
// compared with ==. Every pairing has a fresh one.
type SecretKey struct {
	_ [0]func() // not comparable
	b *[byo.KeySize]byte
}

// Generate makes a secret key. A nil random source means the system's.
func Generate(random io.Reader) (SecretKey, error) {
	var b [byo.KeySize]byte
	if err := fill(random, b[:]); err != nil {
		return SecretKey{}, err
	}
	return SecretKey{b: &b}, nil
}

// ParseSecret reads what [SecretKey.Reveal] wrote.
func ParseSecret(text byo.Secret) (SecretKey, error) {
	b, err := base64.StdEncoding.Strict().DecodeString(string(text))
	if err != nil {
		return SecretKey{}, ErrKey
	}
	return NewSecretKey(b)
}

// NewSecretKey takes a secret key as bytes, which it copies.
func NewSecretKey(b []byte) (SecretKey, error) {
	if len(b) != byo.KeySize {
		return SecretKey{}, ErrKey
	}
	c := [byo.KeySize]byte(b)
	return SecretKey{b: &c}, nil
}

// Reveal is the key in base64 with padding, to be stored.
func (s SecretKey) Reveal() byo.Secret {
	if s.b == nil {
		return ""
	}
	return byo.Secret(base64.StdEncoding.EncodeToString(s.b[:]))
}

// Public is the public key that belongs to s.
func (s SecretKey) Public() PublicKey {
	k, err := s.ecdh()
	if err != nil {
		return PublicKey{}
	}
	return PublicKey(k.PublicKey().Bytes())
}

// Erase overwrites the key; s and its copies are unusable after it.
func (s SecretKey) Erase() {
	if s.b != nil {
		clear(s.b[:])
	}
}

// Format implements fmt.Formatter for all verbs.
func (SecretKey) Format(f fmt.State, _ rune) { hide(f) }

// LogValue implements slog.LogValuer.
func (SecretKey) LogValue() slog.Value { return slog.StringValue(hidden) }

const hidden = "[secret]"

func hide(w io.Writer) { _, _ = io.WriteString(w, hidden) }

func (s SecretKey) ecdh() (*ecdh.PrivateKey, error) {
	if s.b == nil {
		return nil, ErrKey
	}
	return ecdh.X25519().NewPrivateKey(s.b[:])
}

// agree returns the shared secret of s and p.
func (s SecretKey) agree(p PublicKey) ([]byte, error) {
	k, err := s.ecdh()
	if err != nil {
		return nil, err
	}
	pub, err := ecdh.X25519().NewPublicKey(p[:])
	if err != nil {
		return nil, ErrKey
	}
	shared, err := k.ECDH(pub)
	if err != nil {
		return nil, ErrLowOrder
	}
	return shared, nil
}

// fill reads random bytes; a nil source means the system's.
func fill(random io.Reader, b []byte) error {
	if random == nil {
		random = rand.Reader
	}
	if _, err := io.ReadFull(random, b); err != nil {
		return fmt.Errorf("read random bytes: %w", err)
	}
	return nil
}

// Fingerprint is what two people compare to verify a [Static] pairing: 8 groups
// of 4 hex digits over both public keys, in any order.
func Fingerprint(a, b PublicKey) string {
	if string(a[:]) > string(b[:]) {
		a, b = b, a
	}
	sum := fingerprint(a, b)
	h := hex.EncodeToString(sum[:16])
	groups := make([]string, 0, 8)
	for ; h != ""; h = h[4:] {
		groups = append(groups, h[:4])
	}
	return strings.Join(groups, " ")
}

func fingerprint(low, high PublicKey) [sha256.Size]byte {
	return hash("stagewhisper/byo/v1/fingerprint", low[:], high[:])
}

// hash is SHA-256 over a label, a zero byte and parts with their lengths.
func hash(label string, parts ...[]byte) [sha256.Size]byte {
	b := append([]byte(label), 0)
	for _, p := range parts {
		b = appendPart(b, p)
	}
	return sha256.Sum256(b)
}

// appendPart adds p behind its length in 4 bytes, big end first.
func appendPart[T string | []byte](b []byte, p T) []byte {
	return append(binary.BigEndian.AppendUint32(b, uint32(len(p))), p...)
}
