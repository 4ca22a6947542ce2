package seal

import (
	"fmt"
	"log/slog"
	"time"

	"openclaw/byo"
)

// State is everything a [Duplex] has to remember across a restart. It holds keys:
// store it like a key. It never prints itself.
type State struct {
	IntegrationID string      `json:"integration_id"`
	Role          string      `json:"role"`
	Current       EpochState  `json:"current"`
	Previous      *EpochState `json:"previous,omitempty"`
	Next          *EpochState `json:"next,omitempty"`
	Offer         *OfferState `json:"offer,omitempty"`
}

// EpochState is one generation of keys in a [State].
type EpochState struct {
	Epoch      uint64     `json:"epoch"`
	Root       []byte     `json:"root"`
	Transcript []byte     `json:"transcript"`
	Reserved   uint64     `json:"reserved"` // numbers up to it may have been used
	High       uint64     `json:"high"`
	Window     string     `json:"window"`
	Since      time.Time  `json:"since"`
	Until      time.Time  `json:"until,omitzero"`
	PeerKey    []byte     `json:"peer_key,omitempty"` // of the next one, as OwnSecret
	OwnSecret  byo.Secret `json:"own_secret,omitempty"`
}

// OfferState is an offer of new keys that waits for its answer.
type OfferState struct {
	Epoch  uint64     `json:"epoch"`
	Secret byo.Secret `json:"secret"`
}

// Format implements fmt.Formatter for all verbs.
func (State) Format(f fmt.State, _ rune) { hide(f) }

// LogValue implements slog.LogValuer.
func (State) LogValue() slog.Value { return slog.StringValue(hidden) }

// Format implements fmt.Formatter for all verbs.
func (EpochState) Format(f fmt.State, _ rune) { hide(f) }

// LogValue implements slog.LogValuer.
func (EpochState) LogValue() slog.Value { return slog.StringValue(hidden) }

// Snapshot returns the state to keep. It returns the zero State after
// [Duplex.Erase].
func (d *Duplex) Snapshot() State {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.current == nil {
		return State{}
	}
	d.expire()
	return d.state()
}

// Checkpoint has save keep the state, as [Config].Save does, together with what
// else belongs to it. Nothing is sealed or opened meanwhile, so that an older state
// never overwrites a newer one: store a [Duplex.Snapshot] only where nobody else
// saves. save must not call the Duplex.
func (d *Duplex) Checkpoint(save func(State) error) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.current == nil {
		return ErrErased
	}
	d.expire()
	return save(d.state())
}

func (d *Duplex) state() State {
	s := State{IntegrationID: d.current.root.integrationID, Role: d.role.String(), Current: *d.current.state(),
		Previous: d.previous.state(), Next: d.next.state()}
	if d.next != nil {
		s.Next.PeerKey, s.Next.OwnSecret = append([]byte(nil), d.next.peer[:]...), d.next.own.Reveal()
	}
	if d.offer != nil {
		s.Offer = &OfferState{Epoch: d.offer.epoch, Secret: d.offer.secret.Reveal()}
	}
	return s
}

func (e *epoch) state() *EpochState {
	if e == nil {
		return nil
	}
	return &EpochState{Epoch: e.n, Root: append([]byte(nil), e.root.key[:]...), Transcript: append([]byte(nil), e.root.transcript[:]...),
		Reserved: e.reserved, High: e.window.high, Window: e.window.encode(), Since: e.since, Until: e.until}
}

// Restore goes on from a state. Send numbers that were reserved and perhaps not
// used are skipped. It returns [ErrState].
func Restore(s State, cfg Config) (*Duplex, error) {
	d := &Duplex{cfg: cfg}
	switch s.Role {
	case byo.RoleDesktop:
		d.role = Desktop
	case byo.RolePlugin:
		d.role = Plugin
	default:
		return nil, ErrState
	}
	var err error
	if d.current, err = d.restore(s.IntegrationID, &s.Current); err != nil {
		return nil, err
	}
	if d.previous, err = d.restore(s.IntegrationID, s.Previous); err != nil {
		return nil, err
	}
	if d.next, err = d.restore(s.IntegrationID, s.Next); err != nil {
		return nil, err
	}
	if d.next != nil && (d.next.own.b == nil || d.next.n != d.current.n+1) {
		return nil, ErrState
	}
	if s.Offer != nil {
		secret, err := ParseSecret(s.Offer.Secret)
		if err != nil || s.Offer.Epoch != d.current.n+1 {
			return nil, ErrState
		}
		d.offer = &offer{epoch: s.Offer.Epoch, secret: secret}
	}
	d.expire()
	return d, nil
}

func (d *Duplex) restore(integrationID string, s *EpochState) (*epoch, error) {
	if s == nil {
		return nil, nil
	}
	if len(s.Root) != keySize || len(s.Transcript) != keySize {
		return nil, ErrState
	}
	e := newEpoch(s.Epoch, &Root{integrationID: integrationID, role: d.role,
		key: [keySize]byte(s.Root), transcript: [keySize]byte(s.Transcript)}, s.Since)
	ok := false
	if e.window, ok = decodeWindow(s.High, s.Window); !ok {
		return nil, ErrState
	}
	e.sent, e.reserved, e.until = s.Reserved, s.Reserved, s.Until
	if s.OwnSecret != "" {
		var err error
		if e.own, err = ParseSecret(s.OwnSecret); err != nil || len(s.PeerKey) != keySize {
			return nil, ErrState
		}
		e.peer = PublicKey(s.PeerKey)
	}
	return e, nil
}
