package pairing

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"slices"

	"openclaw/protocol"
)

// Token is a credential of a device for one role.
type Token struct {
	Token      protocol.Secret
	Role       string
	Scopes     []string
	IssuedAtMs int64 // of this token, which may be younger than the role
}

func (t *token) public() Token {
	issued := t.CreatedAtMs
	if t.RotatedAtMs > 0 {
		issued = t.RotatedAtMs
	}
	return Token{Token: t.Token, Role: t.Role, Scopes: set(t.Scopes), IssuedAtMs: issued}
}

// VerifyToken reports whether token is the device's for role, is not revoked
// and covers scopes, literally. A match counts as use.
func (d *Devices) VerifyToken(ctx context.Context, deviceID, role string, offered protocol.Secret, scopes []string) (bool, error) {
	s, err := d.begin(ctx)
	if err != nil {
		return false, err
	}
	defer d.end()
	dev := s.paired.byID[deviceID]
	if dev == nil {
		return false, nil
	}
	t := dev.Tokens[role]
	if t == nil || t.RevokedAtMs > 0 || !equal(t.Token, offered) || !covers(t.Scopes, scopes) {
		return false, nil
	}
	used := *t
	used.LastUsedAtMs = d.now()
	dev = dev.clone()
	dev.Tokens[role] = &used
	s.setDevice(dev)
	d.saveLater(s)
	return true, nil
}

// equal compares in constant time; an empty token equals nothing.
func equal(a, b protocol.Secret) bool {
	x, y := sha256.Sum256([]byte(a)), sha256.Sum256([]byte(b))
	return subtle.ConstantTimeCompare(x[:], y[:]) == 1 && a != ""
}

// EnsureToken returns the device's token for role, a new one if the present one
// does not cover scopes. It never goes beyond what is approved: the errors are
// [ErrUnknownToken], [ErrRevoked] and [ErrNotApproved].
func (d *Devices) EnsureToken(ctx context.Context, deviceID, role string, scopes []string) (Token, error) {
	s, err := d.begin(ctx)
	if err != nil {
		return Token{}, err
	}
	defer d.end()
	dev, err := approvedDevice(s, deviceID, role)
	if err != nil {
		return Token{}, err
	}
	if t := dev.Tokens[role]; t != nil && covers(t.Scopes, scopes) {
		return t.public(), nil
	}
	if !covers(dev.Scopes, scopes) {
		return Token{}, ErrNotApproved
	}
	return d.replace(s, dev, role, scopes)
}

// approvedDevice returns the device if role is approved and not revoked.
func approvedDevice(s *state, deviceID, role string) (*device, error) {
	dev := s.paired.byID[deviceID]
	switch {
	case dev == nil || !slices.Contains(dev.roles(), role):
		return nil, ErrUnknownToken
	case dev.revoked(role):
		return nil, ErrRevoked
	}
	return dev, nil
}

// replace gives dev a new token for role and writes it.
func (d *Devices) replace(s *state, dev *device, role string, scopes []string) (Token, error) {
	dev = dev.clone()
	dev.setToken(dev.mint(role, scopes, d.now()))
	s.setDevice(dev)
	if err := d.savePaired(s); err != nil {
		return Token{}, err
	}
	return dev.Tokens[role].public(), nil
}

// RotateToken replaces the device's token for role. Scopes nil keeps those of
// the old token; given ones also become the scopes the device is approved for.
// They must be approved already, and the caller must hold them. The new token
// is for the eyes of an admin or of the device itself only. Errors are those of
// [Devices.EnsureToken] and [ScopeError].
func (d *Devices) RotateToken(ctx context.Context, deviceID, role string, scopes []string, by Caller) (Token, error) {
	s, err := d.begin(ctx)
	if err != nil {
		return Token{}, err
	}
	defer d.end()
	dev, err := approvedDevice(s, deviceID, role)
	if err != nil {
		return Token{}, err
	}
	target := scopes
	if target == nil {
		target = dev.Scopes
		if t := dev.Tokens[role]; t != nil {
			target = t.Scopes
		}
	}
	if err := by.lacks(target); err != nil {
		return Token{}, err
	}
	if !covers(dev.Scopes, target) {
		return Token{}, ErrNotApproved
	}
	if scopes != nil {
		dev = dev.clone()
		dev.Scopes = union(nil, scopes)
	}
	return d.replace(s, dev, role, target)
}

// RevokeToken takes the device's token for role away and returns when. The role
// then counts as not approved; closing its connections is the caller's part.
// The error is [ErrUnknownToken] when there is no such token.
func (d *Devices) RevokeToken(ctx context.Context, deviceID, role string) (revokedAtMs int64, err error) {
	s, err := d.begin(ctx)
	if err != nil {
		return 0, err
	}
	defer d.end()
	dev := s.paired.byID[deviceID]
	if dev == nil || dev.Tokens[role] == nil {
		return 0, ErrUnknownToken
	}
	dev = dev.clone()
	t := *dev.Tokens[role]
	t.RevokedAtMs = d.now()
	dev.setToken(t)
	s.setDevice(dev)
	return t.RevokedAtMs, d.savePaired(s)
}
