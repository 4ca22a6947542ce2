package seal

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"openclaw/byo"
)

// rekeyMessage is the content of an offer and an answer.
type rekeyMessage struct {
	Epoch uint64 `json:"epoch"`
	EPK   []byte `json:"epk,omitempty"`
}

// offer is an offer of ours that waits for its answer.
type offer struct {
	epoch  uint64
	secret SecretKey
}

func (o *offer) erase() {
	if o != nil {
		o.secret.Erase()
	}
}

// RekeyDue reports whether the keys are old or used enough to change them, and no
// change is under way that the other side began.
func (d *Duplex) RekeyDue() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	c := d.current
	return c != nil && d.next == nil && (d.now().Sub(c.since) >= RekeyAfter || c.sent >= RekeyCount || c.window.high >= RekeyCount)
}

// Offer makes the sealed offer of new keys. Offering again while no answer came
// offers the same keys again. See docs/byo.md#changing-keys.
func (d *Duplex) Offer() (byo.Envelope, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.current == nil {
		return byo.Envelope{}, ErrErased
	}
	if d.offer == nil {
		secret, err := Generate(d.cfg.Rand)
		if err != nil {
			return byo.Envelope{}, err
		}
		d.offer = &offer{epoch: d.current.n + 1, secret: secret}
		if err := d.save(); err != nil {
			d.offer = nil
			return byo.Envelope{}, err
		}
	}
	epk := d.offer.secret.Public()
	return d.sealRekey(byo.ContentRekeyOffer, "", rekeyMessage{d.offer.epoch, epk[:]})
}

func (d *Duplex) sealRekey(contentType, correlation string, m rekeyMessage) (byo.Envelope, error) {
	text, err := json.Marshal(m)
	if err != nil {
		return byo.Envelope{}, fmt.Errorf("encode rekey message: %w", err)
	}
	return d.seal(Header{CorrelationID: correlation, ContentType: contentType}, text)
}

// Control handles a sealed rekey message of the other side, whatever it is, and
// returns what to send back, nil for nothing. A message whose answer could not be
// sent may be handled again.
func (d *Duplex) Control(e byo.Envelope) (*byo.Envelope, error) {
	switch e.ContentType {
	case byo.ContentRekeyOffer:
		answer, err := d.Answer(e)
		if errors.Is(err, ErrReplay) {
			return d.answerAgain(e)
		}
		return answer, err
	case byo.ContentRekeyAnswer:
		done, err := d.Apply(e)
		if n, _ := d.Epoch(); err != nil && !errors.Is(err, ErrErased) && n == e.Epoch+1 {
			done, err = d.Done() // an answer that was applied: what was sent back got lost
		}
		if err != nil {
			return nil, err
		}
		return &done, nil
	case byo.ContentRekeyDone:
		_, err := d.Open(e, Binding{ContentType: byo.ContentRekeyDone})
		return nil, err
	}
	return nil, ErrContentType
}

// Answer opens an offer of the other side, makes the new keys and returns the
// sealed answer. From then on the new keys open; d goes on sealing with the old
// ones until the other side has used the new ones. A desktop that offered itself
// returns nil: its offer wins, and it waits for the answer to that.
func (d *Duplex) Answer(e byo.Envelope) (*byo.Envelope, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	m, err := d.openRekey(e, Binding{ContentType: byo.ContentRekeyOffer})
	if err != nil {
		return nil, err
	}
	if m.Epoch != d.current.n+1 || e.Epoch != d.current.n {
		return nil, ErrRekey
	}
	if d.offer != nil && d.role == Desktop {
		return nil, nil
	}
	peer, err := NewPublicKey(m.EPK)
	if err != nil {
		return nil, err
	}
	if d.next == nil || d.next.peer != peer {
		if err := d.prepare(peer); err != nil {
			return nil, err
		}
	}
	own := d.next.own.Public()
	answer, err := d.sealRekey(byo.ContentRekeyAnswer, e.MessageID, rekeyMessage{m.Epoch, own[:]})
	return &answer, err
}

// answerAgain makes the answer to an offer that was opened before and may not have
// got its answer.
func (d *Duplex) answerAgain(e byo.Envelope) (*byo.Envelope, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.current == nil || d.next == nil || e.Epoch != d.current.n {
		return nil, ErrReplay
	}
	own := d.next.own.Public()
	answer, err := d.sealRekey(byo.ContentRekeyAnswer, e.MessageID, rekeyMessage{d.next.n, own[:]})
	return &answer, err
}

// prepare makes the next epoch from the other side's key, and saves it.
func (d *Duplex) prepare(peer PublicKey) error {
	own, err := Generate(d.cfg.Rand)
	if err != nil {
		return err
	}
	n := d.current.n + 1
	root, err := d.nextRoot(n, own, peer)
	if err != nil {
		return err
	}
	oldNext, oldOffer := d.next, d.offer
	d.next, d.offer = newEpoch(n, root, d.now()), nil
	d.next.peer, d.next.own = peer, own
	if err := d.save(); err != nil {
		d.next, d.offer = oldNext, oldOffer
		return err
	}
	oldNext.erase()
	oldOffer.erase()
	return nil
}

func (d *Duplex) nextRoot(n uint64, own SecretKey, peer PublicKey) (*Root, error) {
	desktop, plugin := own.Public(), peer
	if d.role == Plugin {
		desktop, plugin = plugin, desktop
	}
	return d.current.root.next(n, own, desktop, plugin)
}

// Apply opens the answer to the own offer, changes to the new keys and returns the
// first message under them, which tells the other side to do the same.
func (d *Duplex) Apply(e byo.Envelope) (byo.Envelope, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	m, err := d.openRekey(e, Binding{ContentType: byo.ContentRekeyAnswer})
	if err != nil {
		return byo.Envelope{}, err
	}
	if d.offer == nil || m.Epoch != d.offer.epoch || e.Epoch != d.current.n {
		return byo.Envelope{}, ErrRekey
	}
	peer, err := NewPublicKey(m.EPK)
	if err != nil {
		return byo.Envelope{}, err
	}
	root, err := d.nextRoot(m.Epoch, d.offer.secret, peer)
	if err != nil {
		return byo.Envelope{}, err
	}
	d.next.erase()
	d.next = newEpoch(m.Epoch, root, d.now())
	if err := d.promote(); err != nil {
		return byo.Envelope{}, err
	}
	return d.sealRekey(byo.ContentRekeyDone, e.MessageID, rekeyMessage{Epoch: m.Epoch})
}

// Done makes the message of [Duplex.Apply] again, for a peer that still seals
// with keys that are gone.
func (d *Duplex) Done() (byo.Envelope, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.current == nil {
		return byo.Envelope{}, ErrErased
	}
	return d.sealRekey(byo.ContentRekeyDone, "", rekeyMessage{Epoch: d.current.n})
}

// openRekey opens a rekey message. Its numbers count like all others.
func (d *Duplex) openRekey(e byo.Envelope, b Binding) (m rekeyMessage, err error) {
	plain, _, err := d.open(e, b)
	if err != nil {
		return m, err
	}
	if json.Unmarshal(plain, &m) != nil {
		return m, ErrRekey
	}
	return m, nil
}

// promote makes the next epoch the current one; the current one opens for a while.
func (d *Duplex) promote() error {
	previous, current, next, offer := d.previous, d.current, d.next, d.offer
	current.until = d.now().Add(OldEpochFor)
	d.previous, d.current, d.next, d.offer = current, next, nil, nil
	if err := d.save(); err != nil {
		current.until = time.Time{}
		d.previous, d.current, d.next, d.offer = previous, current, next, offer
		return err
	}
	previous.erase()
	offer.erase()
	next.own.Erase()
	return nil
}

// expire erases the keys before the last change when their time is over.
func (d *Duplex) expire() {
	if d.previous != nil && !d.now().Before(d.previous.until) {
		d.previous.erase()
		d.previous = nil
	}
}
