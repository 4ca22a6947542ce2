package pairing

import (
	"context"
	"errors"
	"slices"

	"openclaw/protocol"
)

var (
	// ErrUnknownRequest says that there is no such pending request, or none any more.
	ErrUnknownRequest = errors.New("unknown requestId")
	// ErrUnknownToken says that the device or its role is not paired.
	ErrUnknownToken = errors.New("unknown deviceId/role")
	// ErrRevoked says that the role of the device was revoked and must be approved again.
	ErrRevoked = errors.New("device token revoked; the device must be approved again")
	// ErrNotApproved says that the scopes go beyond what the device is approved for.
	ErrNotApproved = errors.New("scopes exceed those approved for the device")
)

// ScopeError says that the caller lacks a scope for what it wants to grant.
type ScopeError struct{ Scope string }

// Error returns the text that clients know.
func (e *ScopeError) Error() string { return "missing scope: " + e.Scope }

// Caller is who asks for a change.
type Caller struct {
	DeviceID string // empty for a connection without device
	Scopes   []string
}

// Admin reports whether the caller holds every scope.
func (c Caller) Admin() bool { return slices.Contains(c.Scopes, protocol.ScopeAdmin) }

// lacks returns the first of scopes that the caller does not hold.
func (c Caller) lacks(scopes []string) error {
	for _, s := range scopes {
		if !c.Admin() && !slices.Contains(c.Scopes, s) {
			return &ScopeError{Scope: s}
		}
	}
	return nil
}

// Approve grants a pending request and gives the device a fresh token for the
// requested role. The caller must hold what it grants. Errors are
// [ErrUnknownRequest] and [ScopeError].
func (d *Devices) Approve(ctx context.Context, requestID string, by Caller) (protocol.PairedDevice, error) {
	s, err := d.begin(ctx)
	if err != nil {
		return protocol.PairedDevice{}, err
	}
	defer d.end()
	p, ok := s.pending.byID[requestID]
	if !ok {
		return protocol.PairedDevice{}, ErrUnknownRequest
	}
	if err := by.lacks(p.Scopes); err != nil {
		return protocol.PairedDevice{}, err
	}
	if p.Role == protocol.RoleNode && !d.modest[requestID] && !by.Admin() {
		return protocol.PairedDevice{}, &ScopeError{Scope: protocol.ScopeAdmin}
	}
	if err := d.approve(s, p); err != nil {
		return protocol.PairedDevice{}, err
	}
	return s.paired.byID[p.DeviceID].view(), nil
}

// approve makes p a paired device. The token of the role is always a new one.
// When the process dies between the two writes, the request stays behind and
// can be approved once more.
func (d *Devices) approve(s *state, p protocol.PendingDevice) error {
	now := d.now()
	dev := &device{DeviceID: p.DeviceID, CreatedAtMs: now}
	if old := s.paired.byID[p.DeviceID]; old != nil && old.PublicKey == p.PublicKey {
		dev = old.clone()
	}
	dev.PublicKey, dev.ApprovedAtMs = p.PublicKey, now
	dev.describe(p.DisplayName, p.Platform, p.ClientID, p.ClientMode, p.RemoteIP)
	dev.Roles = union(dev.roles(), union([]string{p.Role}, p.Roles))
	dev.Scopes = union(dev.Scopes, p.Scopes)
	if p.Role != "" {
		dev.Role = p.Role
		dev.setToken(dev.mint(p.Role, p.Scopes, now))
	}
	s.setDevice(dev)
	if err := d.savePaired(s); err != nil {
		return err
	}
	stale := false
	for id, other := range s.pending.byID {
		if other.DeviceID == p.DeviceID && (id == p.RequestID || assess(dev, asked(other)) == "") {
			s.dropPending(id)
			delete(d.modest, id)
			stale = true
		}
	}
	if !stale {
		return nil
	}
	return d.savePending(s)
}

// asked is the request behind a pending one, as far as it matters for assess.
func asked(p protocol.PendingDevice) Request {
	return Request{DeviceID: p.DeviceID, PublicKey: p.PublicKey, Role: p.Role, Scopes: p.Scopes}
}

// mint returns a new token for role that succeeds the present one.
func (d *device) mint(role string, scopes []string, now int64) token {
	t := token{Token: newToken(), Role: role, Scopes: set(scopes), CreatedAtMs: now}
	if old := d.Tokens[role]; old != nil {
		t.CreatedAtMs, t.RotatedAtMs, t.LastUsedAtMs = old.CreatedAtMs, now, old.LastUsedAtMs
	}
	return t
}

// Reject removes a pending request and returns the device it came from. The
// error is [ErrUnknownRequest] when there is none.
func (d *Devices) Reject(ctx context.Context, requestID string) (deviceID string, err error) {
	s, err := d.begin(ctx)
	if err != nil {
		return "", err
	}
	defer d.end()
	p, ok := s.pending.byID[requestID]
	if !ok {
		return "", ErrUnknownRequest
	}
	s.dropPending(requestID)
	delete(d.modest, requestID)
	return p.DeviceID, d.savePending(s)
}
