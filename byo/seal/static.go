package seal

import (
	"crypto/hkdf"
	"crypto/sha256"
	"fmt"
	"io"
	"log/slog"
	"sync"

	"openclaw/byo"
)

// SeenSize is how many message ids a [Static] remembers.
const SeenSize = 10000

// Static seals and opens static_v1 envelopes: one key for both directions and the
// whole life of a pairing. It is safe for many goroutines.
type Static struct {
	// Rand is where nonces come from; nil means the system's. Set it before use.
	Rand io.Reader

	key  [keySize]byte
	role Role
	seen *Seen
}

// NewStatic makes the scheme of one side from its secret key and the other
// side's public key.
func NewStatic(secret SecretKey, peer PublicKey, role Role) (*Static, error) {
	if role != Desktop && role != Plugin {
		return nil, ErrKey
	}
	shared, err := secret.agree(peer)
	if err != nil {
		return nil, err
	}
	defer clear(shared)
	key, err := hkdf.Key(sha256.New, shared, nil, "stagewhisper-byo-envelope-v1", keySize)
	if err != nil {
		return nil, fmt.Errorf("derive key: %w", err)
	}
	defer clear(key)
	return &Static{key: [keySize]byte(key), role: role, seen: NewSeen(SeenSize)}, nil
}

// Format implements fmt.Formatter for all verbs.
func (*Static) Format(f fmt.State, _ rune) { hide(f) }

// LogValue implements slog.LogValuer.
func (*Static) LogValue() slog.Value { return slog.StringValue(hidden) }

// Erase overwrites the key.
func (s *Static) Erase() { clear(s.key[:]) }

// Seal makes an envelope around plaintext. What only [Duplex] binds is left out.
func (s *Static) Seal(h Header, plaintext []byte) (byo.Envelope, error) {
	e, err := h.envelope(byo.StaticV1, s.role, s.Rand)
	if err != nil {
		return byo.Envelope{}, err
	}
	if err := checkMeta(&e); err != nil {
		return byo.Envelope{}, err
	}
	text := append(make([]byte, 0, len(plaintext)+16), plaintext...)
	if _, err := encrypt(&e, &s.key, aadStatic(&e), text, nil, s.Rand); err != nil {
		return byo.Envelope{}, err
	}
	return e, nil
}

// Open returns the content of e when it is of that content type, comes from the
// other side and was not opened before. It returns [ErrVersion], [ErrReflected],
// [ErrContentType], [ErrMalformed], [ErrTampered] or [ErrReplay].
func (s *Static) Open(e byo.Envelope, contentType string) ([]byte, error) {
	switch {
	case e.Version != byo.StaticV1:
		return nil, ErrVersion
	case e.SenderRole == s.role.String():
		return nil, ErrReflected
	case e.SenderRole != s.role.Peer().String():
		return nil, &MalformedError{"sender_role"}
	}
	if err := checkMeta(&e); err != nil {
		return nil, err
	}
	plain, err := decrypt(&e, &s.key, aadStatic(&e))
	switch {
	case err != nil:
		return nil, err
	case e.ContentType != contentType:
		return nil, ErrContentType
	case !s.seen.Add(e.MessageID):
		return nil, ErrReplay
	}
	return plain, nil
}

// Seen remembers the last ids of a kind. It is safe for many goroutines.
type Seen struct {
	mu   sync.Mutex
	ids  map[string]struct{}
	ring []string // oldest at next once full
	next int
}

// NewSeen makes a memory of that many ids.
func NewSeen(size int) *Seen {
	return &Seen{ids: make(map[string]struct{}), ring: make([]string, 0, size)}
}

// Add remembers id and reports whether it is new.
func (s *Seen) Add(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.ids[id]; ok {
		return false
	}
	if len(s.ring) < cap(s.ring) {
		s.ring = append(s.ring, id)
	} else {
		delete(s.ids, s.ring[s.next])
		s.ring[s.next] = id
		s.next = (s.next + 1) % len(s.ring)
	}
	s.ids[id] = struct{}{}
	return true
}
