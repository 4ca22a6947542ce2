package relay

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"time"

	"openclaw/byo"
)

func pairingKey(id string) string { return "p." + id }

// pairStart answers POST /pair/start.
func (c *call) pairStart() (answer, error) {
	var req byo.PairStart
	if err := c.decode(&req, false); err != nil {
		return answer{}, err
	}
	if err := req.Validate(); err != nil {
		return answer{}, err
	}
	if p, _ := c.cfg.Registry.Provider(req.ProviderKind); p.Status == "disabled" {
		return answer{}, byo.Errorf(byo.CodeForbidden, "this provider kind is disabled here")
	}
	ctx, now := c.req.Context(), c.now()
	id, err := byo.NewID(c.cfg.Random)
	if err != nil {
		return answer{}, err
	}
	p := pairing{
		ID: id, Desktop: c.who.ID, State: byo.PairWaiting, Style: req.CodeStyle, Label: req.Label,
		Provider: req.ProviderKind, Versions: req.BYOVersions, Expires: millis(now.Add(byo.PairingTTL)),
		DesktopKey: req.DesktopPublicKey, Commitment: req.Commitment,
	}
	if err := c.openPairing(ctx, id); err != nil {
		return answer{}, err
	}
	code, err := c.newCode(ctx, &p)
	if err != nil {
		return answer{}, err
	}
	if err := create(ctx, c.store, Pairings, pairingKey(id), p); err != nil {
		return answer{}, err
	}
	c.metrics.pairing("started")
	return answer{http.StatusCreated, byo.PairStarted{
		PairingID: id, PairingCode: code, ExpiresAt: byo.FormatTime(time.UnixMilli(p.Expires)), PollAfterMS: 2000,
	}}, nil
}

// openPairing gives the pairing one of the places that its desktop has.
func (c *call) openPairing(ctx context.Context, id string) error {
	_, err := change(ctx, c.store, Desktops, c.who.ID, func(d *desktop, exists bool) error {
		if !exists {
			return errUnauthorized
		}
		if len(d.Integrations) >= byo.MaxIntegrations {
			return byo.Errorf(byo.CodeForbidden, "this desktop has as many integrations as it may")
		}
		var open []string
		for _, other := range d.Pairings {
			p, err := c.findPairing(ctx, other)
			if err != nil && !errors.Is(err, ErrNotFound) {
				return err
			}
			if err == nil && pairingOpen(p.State) {
				open = append(open, other)
			}
		}
		if len(open) >= byo.MaxOpenPairings {
			return limited(byo.CodeRateLimited, "too many pairings are open", time.Minute)
		}
		d.Pairings = append(open, id)
		return nil
	})
	return err
}

func pairingOpen(state string) bool {
	return state != byo.PairActive && state != byo.PairRejected && state != byo.PairExpired
}

// newCode makes a code that nobody else has now.
func (c *call) newCode(ctx context.Context, p *pairing) (byo.Secret, error) {
	for range casTries {
		code, err := byo.NewCode(c.cfg.Random, p.Style)
		if err != nil {
			return "", err
		}
		p.CodeHash = secretHash(string(code))
		err = c.putCode(ctx, p)
		if err == nil || !errors.Is(err, ErrConflict) {
			return code, err
		}
	}
	return "", limited(byo.CodeRateLimited, "no code is free", time.Minute)
}

// codeEntry says which pairing a code opens.
type codeEntry struct {
	Pairing string `json:"pairing"`
	Expires int64  `json:"expires"`
}

// putCode takes the place of a code, also of one whose time is over.
func (c *call) putCode(ctx context.Context, p *pairing) error {
	key := "code." + p.CodeHash
	old, rev, err := read[codeEntry](ctx, c.store, Pairings, key)
	switch {
	case errors.Is(err, ErrNotFound):
		rev = 0
	case err != nil:
		return err
	case millis(c.now()) < old.Expires:
		return ErrConflict
	}
	data, err := json.Marshal(codeEntry{p.ID, p.Expires})
	if err != nil {
		return err
	}
	_, err = c.store.Put(ctx, Pairings, key, data, rev)
	return err
}

// findPairing reads a pairing, with its state as of now.
func (r *Relay) findPairing(ctx context.Context, id string) (pairing, error) {
	p, _, err := read[pairing](ctx, r.store, Pairings, pairingKey(id))
	r.age(&p)
	return p, err
}

// age lets a pairing expire.
func (r *Relay) age(p *pairing) {
	if pairingOpen(p.State) && millis(r.now()) >= p.Expires {
		p.State = byo.PairExpired
	}
}

// own returns the pairing of the path if it is the desktop's.
func (c *call) own() (pairing, error) {
	id := c.path("id")
	if byo.CheckUUID("id", id) != nil {
		return pairing{}, errNotFound
	}
	p, err := c.findPairing(c.req.Context(), id)
	if err == nil && p.Desktop != c.who.ID {
		err = errNotFound
	}
	return p, err
}

// pairState answers GET /pair/{id}.
func (c *call) pairState() (answer, error) {
	p, err := c.own()
	if err != nil {
		return answer{}, err
	}
	return ok(byo.PairState{
		State: p.State, IntegrationID: p.Integration, HostLabel: p.HostLabel, BYOVersion: p.Scheme, ProviderKind: p.Provider,
		PluginPublicKey: p.PluginKey, PluginNonce: p.PluginNonce, PluginConfirm: p.PluginConfirm,
		ExpiresAt: byo.FormatTime(time.UnixMilli(p.Expires)),
	})
}

// advance moves a pairing that the caller owns from one state to the next. A
// repeat of a step with the same values changes nothing and is fine.
func (c *call) advance(id, from, to string, same func(*pairing) bool, fn func(*pairing)) error {
	moved := false
	p, err := change(c.req.Context(), c.store, Pairings, pairingKey(id), func(p *pairing, exists bool) error {
		if !exists {
			return ErrNotFound
		}
		c.age(p)
		switch {
		case same(p):
			return errKeep
		case p.State == byo.PairExpired:
			return errPairExpired
		case p.State != from:
			return errPairState
		}
		fn(p)
		p.State, moved = to, true
		return nil
	})
	if err == nil && moved {
		c.metrics.pairing(to)
		c.tellPairing(p)
	}
	return err
}

// tellPairing tells both sides that a pairing went on.
func (r *Relay) tellPairing(p pairing) {
	u := byo.PairingUpdate{EventType: byo.EventPairingUpdate, IntegrationID: p.Integration, State: p.State}
	if p.Scheme == byo.DuplexV2 {
		r.publishEvent(Topic{ToAssistant, p.Integration}, u.EventType, "", u, byo.PairingTTL)
	}
	u.PairingID = p.ID
	r.publishEvent(Topic{ToDesktop, p.Desktop}, u.EventType, "", u, byo.PairingTTL)
}

// pairReveal answers POST /pair/{id}/reveal.
func (c *call) pairReveal() (answer, error) {
	p, err := c.own()
	if err != nil {
		return answer{}, err
	}
	var req byo.PairReveal
	if err := c.decode(&req, false); err != nil {
		return answer{}, err
	}
	if err := req.Validate(); err != nil {
		return answer{}, err
	}
	return noContent, c.advance(p.ID, byo.PairNonceReceived, byo.PairRevealed,
		func(p *pairing) bool {
			return bytes.Equal(p.DesktopNonce, req.DesktopNonce) && bytes.Equal(p.DesktopConfirm, req.DesktopConfirm)
		},
		func(p *pairing) { p.DesktopNonce, p.DesktopConfirm = req.DesktopNonce, req.DesktopConfirm })
}

// pairReject answers POST /pair/{id}/reject.
func (c *call) pairReject() (answer, error) {
	p, err := c.own()
	if err != nil {
		return answer{}, err
	}
	return noContent, c.reject(p.ID)
}

// reject ends a pairing that is not active.
func (c *call) reject(id string) error {
	p, err := change(c.req.Context(), c.store, Pairings, pairingKey(id), func(p *pairing, exists bool) error {
		if c.age(p); !exists {
			return ErrNotFound
		}
		switch p.State {
		case byo.PairRejected:
			return errKeep
		case byo.PairExpired:
			return errPairExpired
		case byo.PairActive:
			return errPairState
		}
		p.State = byo.PairRejected
		return nil
	})
	if err != nil {
		return err
	}
	c.metrics.pairing(byo.PairRejected)
	c.tellPairing(p)
	return c.store.Delete(c.req.Context(), Pairings, "code."+p.CodeHash, 0)
}

// pairApprove answers POST /pair/{id}/approve: the pairing becomes an integration.
func (c *call) pairApprove() (answer, error) {
	p, err := c.own()
	if err != nil {
		return answer{}, err
	}
	from := byo.PairConfirming
	if p.Scheme == byo.StaticV1 {
		from = byo.PairClaimed
	}
	switch {
	case p.State == byo.PairActive:
		return noContent, nil
	case p.State == byo.PairExpired:
		return answer{}, errPairExpired
	case p.State != from:
		return answer{}, errPairState
	}
	if err := c.activate(c.req.Context(), p); err != nil {
		return answer{}, err
	}
	return noContent, c.advance(p.ID, from, byo.PairActive,
		func(p *pairing) bool { return p.State == byo.PairActive }, func(*pairing) {})
}

// activate writes the integration, then the token that makes it usable. A repeat
// after a failure in between goes on where it was.
func (c *call) activate(ctx context.Context, p pairing) error {
	_, err := change(ctx, c.store, Desktops, p.Desktop, func(d *desktop, exists bool) error {
		switch {
		case !exists:
			return errUnauthorized
		case slices.Contains(d.Integrations, p.Integration):
			return errKeep
		case len(d.Integrations) >= byo.MaxIntegrations:
			return byo.Errorf(byo.CodeForbidden, "this desktop has as many integrations as it may")
		}
		d.Integrations = append(d.Integrations, p.Integration)
		return nil
	})
	if err != nil {
		return err
	}
	now := millis(c.now())
	b := bond{
		ID: p.Integration, Desktop: p.Desktop, Pairing: p.ID, Label: p.Label, HostLabel: p.HostLabel, Provider: p.Provider,
		Scheme: p.Scheme, Created: now, Rekeyed: now, Tokens: []string{p.TokenHash},
	}
	if err := create(ctx, c.store, Integrations, b.ID, b); err != nil && !errors.Is(err, ErrConflict) {
		return err
	}
	t := token{Kind: kindAssistant, ID: b.ID, Desktop: b.Desktop}
	if err := create(ctx, c.store, Tokens, p.TokenHash, t); err != nil && !errors.Is(err, ErrConflict) {
		return err
	}
	if err := c.store.Delete(ctx, Pairings, "token."+p.TokenHash, 0); err != nil {
		return err
	}
	c.tell(ctx, signalChanged, b.ID, nil)
	c.log.Info("integration is active", "integration", b.ID, "desktop", b.Desktop, "scheme", b.Scheme)
	return nil
}
