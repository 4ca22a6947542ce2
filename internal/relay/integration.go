package relay

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"openclaw/byo"
)

// integrations answers GET /integrations: the active ones, then those whose
// pairing is under way.
func (c *call) integrations() (answer, error) {
	ctx := c.req.Context()
	d, _, err := read[desktop](ctx, c.store, Desktops, c.who.ID)
	if errors.Is(err, ErrNotFound) {
		err = errUnauthorized
	}
	if err != nil {
		return answer{}, err
	}
	list := byo.Integrations{Integrations: []byo.Integration{}}
	for _, id := range d.Integrations {
		b, err := c.findBond(ctx, id)
		if errors.Is(err, ErrNotFound) {
			continue // revoked a moment ago
		}
		if err != nil {
			return answer{}, err
		}
		view, err := c.view(ctx, b)
		if err != nil {
			return answer{}, err
		}
		list.Integrations = append(list.Integrations, view)
	}
	for _, id := range d.Pairings {
		p, err := c.findPairing(ctx, id)
		if err == nil && p.Integration != "" && pairingOpen(p.State) {
			list.Integrations = append(list.Integrations, pendingView(p))
		}
	}
	return ok(list)
}

// integration answers GET /integrations/{id}.
func (c *call) integration() (answer, error) {
	b, err := c.bond()
	if errors.Is(err, errPairState) {
		p, err := c.pendingOf(c.path("id"))
		if err != nil {
			return answer{}, err
		}
		return ok(pendingView(p))
	}
	if err != nil {
		return answer{}, err
	}
	view, err := c.view(c.req.Context(), b)
	if err != nil {
		return answer{}, err
	}
	return ok(view)
}

func pendingView(p pairing) byo.Integration {
	return byo.Integration{
		IntegrationID: p.Integration, Label: p.Label, ProviderKind: p.Provider, BYOVersion: p.Scheme,
		Status: p.State, Liveness: byo.LivenessOffline,
	}
}

// view is an integration as its desktop sees it.
func (r *Relay) view(ctx context.Context, b bond) (byo.Integration, error) {
	p, err := r.presence(ctx, b.ID)
	if err != nil {
		return byo.Integration{}, err
	}
	return byo.Integration{
		IntegrationID: b.ID, Label: b.Label, ProviderKind: b.Provider, BYOVersion: b.Scheme,
		Status: r.hostStatus(p), Liveness: r.liveness(p.life()), Connected: r.connected(p),
	}, nil
}

// revoke answers DELETE /integrations/{id}, from either side.
func (c *call) revoke() (answer, error) {
	b, err := c.bond()
	if errors.Is(err, errPairState) {
		var p pairing
		if p, err = c.pendingOf(c.path("id")); c.who.Kind == kindAssistant {
			p, err = c.mine()
		}
		if err != nil {
			return answer{}, err
		}
		return noContent, c.reject(p.ID)
	}
	if err != nil {
		return answer{}, err
	}
	return noContent, c.dissolve(c.req.Context(), b)
}

// dissolve removes an integration with all it has: the tokens first, so that
// nothing new comes in.
func (r *Relay) dissolve(ctx context.Context, b bond) error {
	for _, hash := range b.Tokens {
		if err := r.store.Delete(ctx, Tokens, hash, 0); err != nil {
			return err
		}
	}
	r.tell(ctx, signalRevoked, b.ID, nil)
	if err := r.cancelAll(ctx, b); err != nil {
		return err
	}
	for _, bucket := range []Bucket{Jobs, Messages} {
		list, err := r.store.List(ctx, bucket, b.ID+".")
		if err != nil {
			return err
		}
		for _, e := range list {
			if err := r.store.Delete(ctx, bucket, e.Key, 0); err != nil {
				return err
			}
		}
	}
	if err := r.broker.Purge(ctx, Topic{ToAssistant, b.ID}); err != nil {
		return r.store.wrap(err)
	}
	for _, bucket := range []Bucket{Presences, Cursors, Integrations} {
		if err := r.store.Delete(ctx, bucket, b.ID, 0); err != nil {
			return err
		}
	}
	if err := r.store.Delete(ctx, Pairings, pairingKey(b.Pairing), 0); err != nil {
		return err
	}
	_, err := change(ctx, r.store, Desktops, b.Desktop, func(d *desktop, exists bool) error {
		i := slices.Index(d.Integrations, b.ID)
		if !exists || i < 0 {
			return errKeep
		}
		d.Integrations = slices.Delete(d.Integrations, i, i+1)
		return nil
	})
	r.tell(ctx, signalRevoked, b.ID, nil)
	r.log.Info("integration revoked", "integration", b.ID, "desktop", b.Desktop)
	r.publishEvent(Topic{ToDesktop, b.Desktop}, byo.EventIntegrationStatus, "", byo.IntegrationStatus{
		EventType: byo.EventIntegrationStatus, IntegrationID: b.ID, Liveness: byo.LivenessOffline, Status: byo.HostDisabled,
	}, statusKept)
	return err
}

// cancelAll ends the open jobs of an integration.
func (r *Relay) cancelAll(ctx context.Context, b bond) error {
	list, err := r.store.List(ctx, Jobs, b.ID+".")
	if err != nil {
		return err
	}
	for _, e := range list {
		j, err := decodeJob(e.Value)
		if err != nil || byo.Terminal(j.State) {
			continue
		}
		if _, err := r.finish(ctx, b.ID, j.ID, nil, byo.JobCancelled, nil, ""); err != nil && !errors.Is(err, ErrNotFound) {
			return err
		}
	}
	return nil
}

// rotate answers POST /integrations/{id}/token/rotate.
func (c *call) rotate() (answer, error) {
	b, err := c.bond()
	if err != nil {
		return answer{}, err
	}
	ctx := c.req.Context()
	secret, err := byo.NewToken(c.cfg.Random, byo.RelayTokenPrefix)
	if err != nil {
		return answer{}, err
	}
	hash := byo.TokenHash(string(secret))
	if err := create(ctx, c.store, Tokens, hash, token{Kind: kindAssistant, ID: b.ID, Desktop: b.Desktop}); err != nil {
		return answer{}, err
	}
	until := millis(c.now().Add(byo.OldTokenFor))
	for _, old := range b.Tokens {
		_, err := change(ctx, c.store, Tokens, old, func(t *token, exists bool) error {
			if !exists || t.Expires != 0 {
				return errKeep
			}
			t.Expires = until
			return nil
		})
		if err != nil {
			return answer{}, err
		}
	}
	_, err = change(ctx, c.store, Integrations, b.ID, func(v *bond, exists bool) error {
		if !exists {
			return errUnauthorized
		}
		kept := []string{}
		for _, old := range v.Tokens { // those whose time is over go now
			t, _, err := read[token](ctx, c.store, Tokens, old)
			if err == nil && t.Expires != 0 && millis(c.now()) >= t.Expires {
				err = cmp.Or(c.store.Delete(ctx, Tokens, old, 0), ErrNotFound)
			}
			if err == nil {
				kept = append(kept, old)
			} else if !errors.Is(err, ErrNotFound) {
				return err
			}
		}
		v.Tokens = append(kept, hash)
		return nil
	})
	if err != nil {
		return answer{}, err
	}
	c.tell(ctx, signalChanged, b.ID, nil)
	return ok(byo.TokenRotated{RelayToken: secret})
}

// statusKept bounds how long an event about a moment is worth replaying.
const statusKept = 5 * time.Minute
