package seal

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	"openclaw/byo"
)

// Numbers of a [Duplex].
const (
	ReserveBlock = 1024              // send numbers that are reserved at once
	OldEpochFor  = 120 * time.Second // how long the keys before the last change open
	RekeyAfter   = 24 * time.Hour
	RekeyCount   = 10000 // messages in either direction
)

// Config of a [Duplex]. All of it is optional.
type Config struct {
	Rand io.Reader        // default the system's
	Now  func() time.Time // default time.Now
	// Save is called with the state whenever it must be kept before anything else
	// is sealed: for every block of send numbers and when keys change. An error
	// fails the call that led to it. It must not call the Duplex.
	Save func(State) error
}

// Duplex seals and opens duplex_v2 envelopes of one side of a pairing. It is safe
// for many goroutines.
type Duplex struct {
	cfg  Config
	role Role

	mu       sync.Mutex
	current  *epoch
	previous *epoch // opens until its time; nil when there is none
	next     *epoch // answered, but not yet used by the other side
	offer    *offer // sent, not yet answered
	text     []byte // buffers of Seal; hold nothing but ciphertext between calls
	code     []byte
}

// epoch is one generation of keys.
type epoch struct {
	n        uint64
	root     *Root
	keyID    string
	send     [keySize]byte
	receive  [keySize]byte
	sent     uint64 // last number that was used
	reserved uint64 // last number that may be used
	window   window
	since    time.Time
	until    time.Time // of the previous one
	peer     PublicKey // of the next one: the offer's key, to know its repeats
	own      SecretKey // of the next one: to answer repeats the same
}

func newEpoch(n uint64, root *Root, now time.Time) *epoch {
	e := &epoch{n: n, root: root, keyID: root.KeyID(), since: now}
	copyErase(&e.send, root.expand("key "+root.role.Outbound(), keySize))
	copyErase(&e.receive, root.expand("key "+root.role.Peer().Outbound(), keySize))
	return e
}

func copyErase(to *[keySize]byte, from []byte) {
	copy(to[:], from)
	clear(from)
}

// erase overwrites all keys of e, which may be nil.
func (e *epoch) erase() {
	if e != nil {
		e.root.Erase()
		clear(e.send[:])
		clear(e.receive[:])
		e.own.Erase()
	}
}

// NewDuplex starts the scheme of the side that derived root, which it takes over.
func NewDuplex(root *Root, cfg Config) *Duplex {
	d := &Duplex{cfg: cfg, role: root.role}
	d.current = newEpoch(0, root, d.now())
	return d
}

func (d *Duplex) now() time.Time {
	if d.cfg.Now != nil {
		return d.cfg.Now()
	}
	return time.Now()
}

// Format implements fmt.Formatter for all verbs.
func (*Duplex) Format(f fmt.State, _ rune) { hide(f) }

// LogValue implements slog.LogValuer.
func (*Duplex) LogValue() slog.Value { return slog.StringValue(hidden) }

// Role is the side that seals with d.
func (d *Duplex) Role() Role { return d.role }

// Epoch is the epoch that d seals in, and the id of its keys.
func (d *Duplex) Epoch() (n uint64, keyID string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.current == nil {
		return 0, ""
	}
	return d.current.n, d.current.keyID
}

// Erase overwrites all keys, when a pairing is revoked. Everything returns
// [ErrErased] after it.
func (d *Duplex) Erase() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, e := range []*epoch{d.current, d.previous, d.next} {
		e.erase()
	}
	d.offer.erase()
	d.current, d.previous, d.next, d.offer = nil, nil, nil, nil
}

// Seal makes an envelope around plaintext, padded so that its size says little.
func (d *Duplex) Seal(h Header, plaintext []byte) (byo.Envelope, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.seal(h, plaintext)
}

func (d *Duplex) seal(h Header, plaintext []byte) (byo.Envelope, error) {
	e, err := h.envelope(byo.DuplexV2, d.role, d.cfg.Rand)
	if err != nil {
		return byo.Envelope{}, err
	}
	if d.current == nil {
		return byo.Envelope{}, ErrErased
	}
	d.expire()
	c := d.current
	e.Direction, e.KeyID, e.Epoch = d.role.Outbound(), c.keyID, c.n
	e.JobID, e.Purpose, e.DeadlineAt = h.JobID, h.Purpose, h.DeadlineAt
	if err := checkMeta(&e); err != nil {
		return byo.Envelope{}, err
	}
	if e.Seq, err = d.number(c); err != nil {
		return byo.Envelope{}, err
	}
	d.text = pad(d.text, plaintext)
	if d.code, err = encrypt(&e, &c.send, aadDuplex(&e), d.text, d.code, d.cfg.Rand); err != nil {
		clear(d.text)
		return byo.Envelope{}, err
	}
	if cap(d.code) > maxScratch {
		d.text, d.code = nil, nil
	}
	return e, nil
}

// maxScratch bounds the buffers that are kept between messages.
const maxScratch = 32 << 10

// number takes the next send number of c. Numbers are reserved on disk before
// they are used, so that a crash skips some instead of using any twice.
func (d *Duplex) number(c *epoch) (uint64, error) {
	if c.sent == c.reserved {
		c.reserved += ReserveBlock
		if err := d.save(); err != nil {
			c.reserved -= ReserveBlock
			return 0, err
		}
	}
	c.sent++
	return c.sent, nil
}

func (d *Duplex) save() error {
	if d.cfg.Save == nil {
		return nil
	}
	if err := d.cfg.Save(d.state()); err != nil {
		return fmt.Errorf("save seal state: %w", err)
	}
	return nil
}

// Binding is what the message around an envelope says about it.
type Binding struct {
	JobID       string
	Purpose     string
	DeadlineAt  string
	ContentType string
	// CorrelationID is the message id of what was asked, when an answer is opened.
	// Not looked at when empty.
	CorrelationID string
}

// Open returns the content of e when it authenticates, comes from the other side,
// belongs to b and was not opened before. A plugin refuses a job more than
// [byo.DeadlineGrace] past its deadline. It returns [ErrVersion], [ErrReflected],
// [ErrBinding], [ErrEpoch], [ErrDeadline], [ErrContentType], [ErrMalformed],
// [ErrTampered] or [ErrReplay].
//
// Keep what was opened by [Duplex.Checkpoint] before acting on content that must
// not be acted on twice.
func (d *Duplex) Open(e byo.Envelope, b Binding) ([]byte, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	plain, _, err := d.open(e, b)
	return plain, err
}

func (d *Duplex) open(e byo.Envelope, b Binding) (plain []byte, in *epoch, err error) {
	if d.current == nil {
		return nil, nil, ErrErased
	}
	d.expire()
	if in, err = d.route(&e); err != nil {
		return nil, nil, err
	}
	if err := checkMeta(&e); err != nil {
		return nil, nil, err
	}
	if err := b.check(&e); err != nil {
		return nil, nil, err
	}
	if d.role == Plugin && e.DeadlineAt != "" {
		deadline, err := byo.ParseTime(e.DeadlineAt)
		if err != nil {
			return nil, nil, &MalformedError{"deadline_at"}
		}
		if d.now().After(deadline.Add(byo.DeadlineGrace)) {
			return nil, nil, ErrDeadline
		}
	}
	text, err := decrypt(&e, &in.receive, aadDuplex(&e))
	if err != nil {
		return nil, nil, err
	}
	plain, ok := unpad(text)
	switch {
	case !ok:
		return nil, nil, &MalformedError{"padding"}
	case !in.window.fresh(e.Seq):
		return nil, nil, ErrReplay
	}
	if in == d.next { // the other side has the new keys
		if err := d.promote(); err != nil {
			return nil, nil, err
		}
	}
	in.window.mark(e.Seq)
	return plain, in, nil
}

// route finds the epoch whose keys open e.
func (d *Duplex) route(e *byo.Envelope) (*epoch, error) {
	switch {
	case e.Version != byo.DuplexV2:
		return nil, ErrVersion
	case e.Direction == d.role.Outbound():
		return nil, ErrReflected
	case e.Direction != d.role.Peer().Outbound():
		return nil, &MalformedError{"direction"}
	case e.SenderRole != d.role.Peer().String():
		return nil, &BindingError{"sender_role"}
	}
	for _, in := range []*epoch{d.current, d.next, d.previous} {
		if in == nil || in.n != e.Epoch {
			continue
		}
		if in.keyID != e.KeyID {
			return nil, &BindingError{"key_id"}
		}
		return in, nil
	}
	return nil, ErrEpoch
}

// check compares e with the message around it.
func (b Binding) check(e *byo.Envelope) error {
	switch {
	case e.JobID != b.JobID:
		return &BindingError{"job_id"}
	case e.Purpose != b.Purpose:
		return &BindingError{"purpose"}
	case e.DeadlineAt != b.DeadlineAt:
		return &BindingError{"deadline_at"}
	case e.ContentType != b.ContentType:
		return ErrContentType
	case b.CorrelationID != "" && e.CorrelationID != b.CorrelationID:
		return &BindingError{"correlation_id"}
	}
	return nil
}

// Refused reports whether err says that an envelope was refused for what it is,
// so that the same bytes will never open.
func Refused(err error) bool {
	for _, e := range []error{ErrVersion, ErrReflected, ErrReplay, ErrTampered, ErrMalformed, ErrContentType, ErrEpoch, ErrDeadline, ErrBinding} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}
