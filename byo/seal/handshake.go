package seal

import (
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"log/slog"

	"openclaw/byo"
)

const keySize = 32 // of everything derived

// NewNonce makes the nonce of a handshake. A nil random source means the system's.
func NewNonce(random io.Reader) ([]byte, error) {
	b := make([]byte, byo.PairNonceSize)
	return b, fill(random, b)
}

// NewPSK makes the secret of a long pairing code. A nil random source means the
// system's.
func NewPSK(random io.Reader) (byo.PSK, error) {
	b := make(byo.PSK, byo.PSKSize)
	return b, fill(random, b)
}

// Commit is what a desktop sends before its nonce, so that nobody can choose a
// key by the number that people will compare.
func Commit(desktopKey PublicKey, desktopNonce []byte) []byte {
	sum := hash("stagewhisper/byo/v2/commit", desktopKey[:], desktopNonce)
	return sum[:]
}

// CheckCommitment reports whether commitment is that of the key and the nonce.
func CheckCommitment(commitment []byte, desktopKey PublicKey, desktopNonce []byte) bool {
	return subtle.ConstantTimeCompare(commitment, Commit(desktopKey, desktopNonce)) == 1
}

// Handshake is everything two sides have to agree about.
type Handshake struct {
	IntegrationID string
	ProviderKind  string
	DesktopKey    PublicKey
	PluginKey     PublicKey
	DesktopNonce  []byte
	PluginNonce   []byte
	PSK           byo.PSK // of a long code; nil for a short one. The caller erases it.
}

// transcript binds the keys to all of h.
func (h Handshake) transcript() [keySize]byte {
	return hash("stagewhisper/byo/v2/transcript", []byte(h.IntegrationID), []byte(h.ProviderKind),
		h.DesktopKey[:], h.PluginKey[:], h.DesktopNonce, h.PluginNonce)
}

// Derive makes the root that both sides share. It returns [ErrKey] when secret is
// not the key of that role in h or a size is wrong, and [ErrLowOrder].
func (h Handshake) Derive(secret SecretKey, role Role) (*Root, error) {
	own, peer := h.DesktopKey, h.PluginKey
	if role == Plugin {
		own, peer = peer, own
	}
	switch {
	case role != Desktop && role != Plugin, secret.b == nil, secret.Public() != own, own == peer:
		return nil, ErrKey
	case len(h.DesktopNonce) != byo.PairNonceSize, len(h.PluginNonce) != byo.PairNonceSize:
		return nil, ErrKey
	case len(h.PSK) != 0 && len(h.PSK) != byo.PSKSize, h.IntegrationID == "":
		return nil, ErrKey
	}
	shared, err := secret.agree(peer)
	if err != nil {
		return nil, err
	}
	defer clear(shared)
	r := &Root{integrationID: h.IntegrationID, role: role, transcript: h.transcript()}
	if r.key, err = extract(r.transcript, shared, h.PSK); err != nil {
		return nil, err
	}
	return r, nil
}

// extract is HKDF-Extract over the input keys one after the other.
func extract(salt [keySize]byte, a, b []byte) (key [keySize]byte, err error) {
	ikm := append(append(make([]byte, 0, len(a)+len(b)), a...), b...)
	defer clear(ikm)
	prk, err := hkdf.Extract(sha256.New, ikm, salt[:])
	if err != nil {
		return key, fmt.Errorf("extract root: %w", err)
	}
	defer clear(prk)
	return [keySize]byte(prk), nil
}

// Root is what all keys of a pairing come from. It never prints itself.
type Root struct {
	integrationID string
	role          Role
	transcript    [keySize]byte
	key           [keySize]byte
}

// Format implements fmt.Formatter for all verbs.
func (*Root) Format(f fmt.State, _ rune) { hide(f) }

// LogValue implements slog.LogValuer.
func (*Root) LogValue() slog.Value { return slog.StringValue(hidden) }

// Erase overwrites the root.
func (r *Root) Erase() { clear(r.key[:]) }

// expand derives n bytes for a use.
func (r *Root) expand(use string, n int) []byte {
	b, err := hkdf.Expand(sha256.New, r.key[:], "stagewhisper/byo/v2 "+use, n)
	if err != nil {
		panic("seal: " + err.Error()) // only for lengths that nobody asks for
	}
	return b
}

// SAS is the number of 12 digits that two people compare, as "1234 5678 9012".
func (r *Root) SAS() string {
	n := binary.BigEndian.Uint64(r.expand("sas", 8)) % 1e12
	s := fmt.Sprintf("%012d", n)
	return s[:4] + " " + s[4:8] + " " + s[8:]
}

// Confirm is the tag by which that role proves that it derived the same root.
func (r *Root) Confirm(role Role) []byte {
	key := r.expand("confirm "+role.String(), keySize)
	defer clear(key)
	mac := hmac.New(sha256.New, key)
	mac.Write(r.transcript[:])
	return mac.Sum(nil)
}

// CheckConfirm reports whether tag is the one of that role, in constant time.
func (r *Root) CheckConfirm(role Role, tag []byte) bool {
	return hmac.Equal(tag, r.Confirm(role))
}

// KeyID names the keys of r in envelopes.
func (r *Root) KeyID() string { return hex.EncodeToString(r.expand("key id", 8)) }

// next is the root of the epoch after r.
func (r *Root) next(epoch uint64, own SecretKey, desktop, plugin PublicKey) (*Root, error) {
	peer := plugin
	if r.role == Plugin {
		peer = desktop
	}
	shared, err := own.agree(peer)
	if err != nil {
		return nil, err
	}
	defer clear(shared)
	n := &Root{integrationID: r.integrationID, role: r.role}
	n.transcript = hash("stagewhisper/byo/v2/rekey", []byte(r.integrationID), fmt.Append(nil, epoch),
		desktop[:], plugin[:], r.transcript[:])
	if n.key, err = extract(n.transcript, shared, r.key[:]); err != nil {
		return nil, err
	}
	return n, nil
}
