package relay

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"openclaw/byo"
	"openclaw/internal/disk"
)

var errInvite = byo.Errorf(byo.CodeForbidden, "registration needs an invite that is still good")

// register answers POST /desktops.
func (c *call) register() (answer, error) {
	if wait := c.limits.take("register "+c.addr().String(), 10, time.Minute); wait > 0 {
		return answer{}, limited(byo.CodeRateLimited, "too many registrations", wait)
	}
	var req byo.DesktopRegister
	if err := c.decode(&req, false); err != nil {
		return answer{}, err
	}
	if err := byo.CheckLabel("label", req.Label); err != nil {
		return answer{}, err
	}
	ctx := c.req.Context()
	if !c.cfg.OpenRegistration {
		if err := c.useInvite(ctx, string(req.Invite)); err != nil {
			return answer{}, err
		}
	}
	id, err := byo.NewID(c.cfg.Random)
	if err != nil {
		return answer{}, err
	}
	secret, err := byo.NewToken(c.cfg.Random, byo.DesktopTokenPrefix)
	if err != nil {
		return answer{}, err
	}
	if err := create(ctx, c.store, Desktops, id, desktop{Label: req.Label, Created: millis(c.now())}); err != nil {
		return answer{}, err
	}
	t := token{Kind: kindDesktop, ID: id, Desktop: id}
	if err := create(ctx, c.store, Tokens, byo.TokenHash(string(secret)), t); err != nil {
		return answer{}, err
	}
	c.log.Info("desktop registered", "desktop", id)
	return answer{http.StatusCreated, byo.DesktopRegistered{DesktopID: id, DesktopToken: secret}}, nil
}

// useInvite takes one use of an invite.
func (r *Relay) useInvite(ctx context.Context, text string) error {
	if text == "" {
		return errInvite
	}
	key := secretHash(text)
	if err := r.importInvite(ctx, key); err != nil {
		return err
	}
	_, err := change(ctx, r.store, Invites, key, func(v *invite, exists bool) error {
		if !exists || v.Uses < 1 || millis(r.now()) >= v.Expires {
			return errInvite
		}
		v.Uses--
		return nil
	})
	return err
}

// importInvite takes over an invite that [WriteInvite] left, if there is one.
func (r *Relay) importInvite(ctx context.Context, key string) error {
	if r.cfg.InviteDir == "" {
		return nil
	}
	file := filepath.Join(r.cfg.InviteDir, key+".json")
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read invite: %w", err)
	}
	var v invite
	if json.Unmarshal(data, &v) != nil {
		return nil // written by somebody else
	}
	if err := create(ctx, r.store, Invites, key, v); err != nil && !errors.Is(err, ErrConflict) {
		return err
	}
	if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove invite: %w", err)
	}
	return nil
}

// InviteOptions bound an invite.
type InviteOptions struct {
	Uses   int              // default 1
	TTL    time.Duration    // default 7 days
	Now    func() time.Time // default time.Now
	Random io.Reader        // default the system's
}

// NewInvite makes an invite in the store of a relay. The store keeps its hash.
func NewInvite(ctx context.Context, s Store, o InviteOptions) (byo.Secret, error) {
	secret, v, err := o.make()
	if err != nil {
		return "", err
	}
	data, err := json.Marshal(v)
	if err != nil {
		return "", fmt.Errorf("encode invite: %w", err)
	}
	if _, err := s.Put(ctx, Invites, secretHash(string(secret)), data, 0); err != nil {
		return "", fmt.Errorf("store invite: %w", err)
	}
	return secret, nil
}

// WriteInvite makes an invite for a relay that has its store to itself: it leaves
// the hash in the folder that is [Config.InviteDir] there.
func WriteInvite(dir string, o InviteOptions) (byo.Secret, error) {
	secret, v, err := o.make()
	if err != nil {
		return "", err
	}
	data, err := json.Marshal(v)
	if err != nil {
		return "", fmt.Errorf("encode invite: %w", err)
	}
	if err := disk.MkdirAll(dir); err != nil {
		return "", err
	}
	return secret, disk.WriteFile(filepath.Join(dir, secretHash(string(secret))+".json"), data, 0o600)
}

func (o InviteOptions) make() (byo.Secret, invite, error) {
	if o.Uses <= 0 {
		o.Uses = 1
	}
	if o.TTL <= 0 {
		o.TTL = 7 * 24 * time.Hour
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	secret, err := byo.NewToken(o.Random, "swi_")
	return secret, invite{Uses: o.Uses, Expires: millis(o.Now().Add(o.TTL))}, err
}
