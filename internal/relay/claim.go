package relay

import (
	"bytes"
	"context"
	"errors"

	"openclaw/byo"
)

// pairComplete answers POST /pair/complete, the assistant's claim of a code.
func (c *call) pairComplete() (answer, error) {
	ctx := c.req.Context()
	if err := c.tryCode(ctx); err != nil {
		return answer{}, err
	}
	var req byo.PairComplete
	if err := c.decode(&req, false); err != nil {
		return answer{}, err
	}
	if err := req.Validate(); err != nil {
		return answer{}, err
	}
	p, key, rev, err := c.findCode(ctx, string(req.PairingCode))
	if errors.Is(err, ErrNotFound) {
		return answer{}, c.wrongCode(ctx)
	}
	if err != nil {
		return answer{}, err
	}
	if req.ProviderKind != "" {
		p.Provider = req.ProviderKind
	}
	if p.Scheme, err = c.agree(p, req); err != nil {
		c.metrics.pairing("too_old")
		return answer{}, err
	}
	// The code goes first: of two claims only one gets past this line.
	if err := c.store.Delete(ctx, Pairings, key, rev); errors.Is(err, ErrConflict) {
		return answer{}, c.wrongCode(ctx)
	} else if err != nil {
		return answer{}, err
	}
	return c.claim(ctx, p, req)
}

// findCode returns the pairing that a code opens now, and the code's entry.
func (c *call) findCode(ctx context.Context, text string) (p pairing, key string, rev uint64, err error) {
	code, valid := byo.NormalizeCode(text)
	if !valid {
		return p, "", 0, ErrNotFound
	}
	key = "code." + secretHash(code)
	entry, rev, err := read[codeEntry](ctx, c.store, Pairings, key)
	if err != nil {
		return p, "", 0, err
	}
	if millis(c.now()) >= entry.Expires {
		return p, "", 0, ErrNotFound
	}
	p, err = c.findPairing(ctx, entry.Pairing)
	if err == nil && p.State != byo.PairWaiting {
		err = ErrNotFound
	}
	return p, key, rev, err
}

// agree settles the content scheme. A peer without a key could seal nothing.
func (c *call) agree(p pairing, req byo.PairComplete) (string, error) {
	scheme := byo.BestVersion(p.Versions, req.BYOVersions)
	if len(req.PluginPublicKey) == 0 {
		scheme = ""
	}
	provider, _ := c.cfg.Registry.Provider(p.Provider)
	return scheme, provider.CheckPlugin(req.PluginVersion, scheme)
}

// claim binds the assistant to the pairing.
func (c *call) claim(ctx context.Context, p pairing, req byo.PairComplete) (answer, error) {
	id, err := byo.NewID(c.cfg.Random)
	if err != nil {
		return answer{}, err
	}
	secret, err := byo.NewToken(c.cfg.Random, byo.RelayTokenPrefix)
	if err != nil {
		return answer{}, err
	}
	scheme, provider := p.Scheme, p.Provider
	t := token{Kind: kindAssistant, ID: id, Desktop: p.Desktop, Pairing: p.ID}
	if err := create(ctx, c.store, Pairings, "token."+byo.TokenHash(string(secret)), t); err != nil {
		return answer{}, err
	}
	p, err = change(ctx, c.store, Pairings, pairingKey(p.ID), func(p *pairing, exists bool) error {
		if c.age(p); !exists || p.State != byo.PairWaiting {
			return errBadCode
		}
		p.State, p.Integration, p.TokenHash = byo.PairClaimed, id, byo.TokenHash(string(secret))
		p.HostLabel, p.PluginKey, p.Scheme, p.Provider = req.HostLabel, req.PluginPublicKey, scheme, provider
		return nil
	})
	if err != nil {
		return answer{}, err
	}
	c.metrics.pairing(byo.PairClaimed)
	c.tellPairing(p)
	return ok(byo.PairCompleted{
		IntegrationID: id, RelayToken: secret, Label: p.Label, BYOPublicKey: p.DesktopKey, DesktopCommitment: p.Commitment,
		BYOVersion: p.Scheme, ProviderKind: p.Provider, PairingState: p.State,
	})
}

// mine returns the pairing of the assistant that calls.
func (c *call) mine() (pairing, error) {
	if c.path("id") != c.who.ID {
		return pairing{}, errNotFound
	}
	id := c.who.Pairing
	if id == "" { // active by now
		b, err := c.findBond(c.req.Context(), c.who.ID)
		if err != nil {
			return pairing{}, err
		}
		id = b.Pairing
	}
	p, err := c.findPairing(c.req.Context(), id)
	if errors.Is(err, ErrNotFound) && c.who.Pairing == "" {
		return pairing{ID: id, State: byo.PairActive}, nil // long ago
	}
	return p, err
}

// pairProgress answers GET /integrations/{id}/pairing.
func (c *call) pairProgress() (answer, error) {
	p, err := c.mine()
	if err != nil {
		return answer{}, err
	}
	return ok(byo.PairProgress{State: p.State, DesktopNonce: p.DesktopNonce, DesktopConfirm: p.DesktopConfirm})
}

// pairNonce answers POST /integrations/{id}/pairing/nonce.
func (c *call) pairNonce() (answer, error) {
	p, err := c.mine()
	if err != nil {
		return answer{}, err
	}
	var req byo.PairNonce
	if err := c.decode(&req, false); err != nil {
		return answer{}, err
	}
	if err := req.Validate(); err != nil {
		return answer{}, err
	}
	if p.Scheme == byo.StaticV1 {
		return answer{}, errPairState
	}
	return noContent, c.advance(p.ID, byo.PairClaimed, byo.PairNonceReceived,
		func(p *pairing) bool { return bytes.Equal(p.PluginNonce, req.PluginNonce) },
		func(p *pairing) { p.PluginNonce = req.PluginNonce })
}

// pairConfirm answers POST /integrations/{id}/pairing/confirm.
func (c *call) pairConfirm() (answer, error) {
	p, err := c.mine()
	if err != nil {
		return answer{}, err
	}
	var req byo.PairConfirm
	if err := c.decode(&req, false); err != nil {
		return answer{}, err
	}
	if err := req.Validate(); err != nil {
		return answer{}, err
	}
	return noContent, c.advance(p.ID, byo.PairRevealed, byo.PairConfirming,
		func(p *pairing) bool { return bytes.Equal(p.PluginConfirm, req.PluginConfirm) },
		func(p *pairing) { p.PluginConfirm = req.PluginConfirm })
}

// pendingOf returns the desktop's pairing that has that integration id.
func (c *call) pendingOf(id string) (pairing, error) {
	d, _, err := read[desktop](c.req.Context(), c.store, Desktops, c.who.ID)
	if err != nil {
		return pairing{}, err
	}
	for _, other := range d.Pairings {
		p, err := c.findPairing(c.req.Context(), other)
		if err == nil && p.Integration == id && id != "" {
			return p, nil
		}
	}
	return pairing{}, ErrNotFound
}
