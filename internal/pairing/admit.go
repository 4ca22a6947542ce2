package pairing

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"openclaw/protocol"
)

// Reason says why a device needs approval. See docs/protocol.md#pairing.
type Reason string

const (
	NotPaired    Reason = "not-paired"
	RoleUpgrade  Reason = "role-upgrade"
	ScopeUpgrade Reason = "scope-upgrade"
)

// Request is what the device of a connection asks for. The signature of the
// connect has been verified: PublicKey is the normalised key that DeviceID hashes.
type Request struct {
	DeviceID, PublicKey                         string
	DisplayName, Platform, ClientID, ClientMode string
	RemoteIP                                    string // empty when local or unknown
	Role                                        string
	Scopes                                      []string // after the default of the role
	Commands                                    []string // declared by a node
}

// Admission is the answer to a [Request]. Exactly one of these holds: Pending
// is nil and the device may go on, or Pending waits for an operator.
type Admission struct {
	// Reason is why approval was needed; empty for a device that had it.
	Reason Reason
	// Approved says that this request was approved silently just now, under
	// RequestID.
	Approved  bool
	RequestID string
	// Pending is the request that waits; Created says that it is new, so that
	// operators should hear of it.
	Pending *protocol.PendingDevice
	Created bool
	// Roles and Scopes are what the device was approved for before.
	Roles, Scopes []string
}

// Admit decides whether a device may connect with what it asks for. When it
// needs approval, silent is asked whether this connection deserves it without a
// person; nil means never. A role that was revoked is never approved silently.
// Otherwise the request is stored, or found again if it is the same as before.
func (d *Devices) Admit(ctx context.Context, r Request, silent func(Reason) bool) (Admission, error) {
	s, err := d.begin(ctx)
	if err != nil {
		return Admission{}, err
	}
	defer d.end()
	dev := s.paired.byID[r.DeviceID]
	a := Admission{Reason: assess(dev, r)}
	if dev != nil {
		a.Roles, a.Scopes = dev.approvedRoles(), slices.Clone(dev.Scopes)
	}
	if a.Reason == "" {
		d.touch(s, dev, r)
		return a, nil
	}
	revoked := dev != nil && dev.revoked(r.Role)
	if silent != nil && !revoked && silent(a.Reason) {
		a.Approved, a.RequestID = true, newUUID()
		return a, d.approve(s, d.pendingOf(r, dev, a.RequestID, true))
	}
	p, created, err := d.enqueue(s, r, dev)
	a.Pending, a.Created, a.RequestID = &p, created, p.RequestID
	return a, err
}

// assess says what is missing for r.
func assess(dev *device, r Request) Reason {
	switch {
	case dev == nil || dev.PublicKey != r.PublicKey:
		return NotPaired
	case !slices.Contains(dev.approvedRoles(), r.Role):
		return RoleUpgrade
	case !covers(dev.Scopes, r.Scopes):
		return ScopeUpgrade
	}
	return ""
}

// approvedRoles lists the roles that are approved and not revoked.
func (d *device) approvedRoles() []string {
	return slices.DeleteFunc(slices.Clone(d.roles()), d.revoked)
}

// touch keeps the description of a device fresh. It may be lost in a crash.
func (d *Devices) touch(s *state, dev *device, r Request) {
	c := dev.clone()
	c.describe(r.DisplayName, r.Platform, r.ClientID, r.ClientMode, r.RemoteIP)
	if c.DisplayName == dev.DisplayName && c.Platform == dev.Platform && c.ClientID == dev.ClientID &&
		c.ClientMode == dev.ClientMode && c.RemoteIP == dev.RemoteIP {
		return
	}
	s.setDevice(c)
	d.saveLater(s)
}

// describe takes what is known now and keeps the rest.
func (d *device) describe(displayName, platform, clientID, clientMode, remoteIP string) {
	d.DisplayName = cmp.Or(displayName, d.DisplayName)
	d.Platform = cmp.Or(platform, d.Platform)
	d.ClientID = cmp.Or(clientID, d.ClientID)
	d.ClientMode = cmp.Or(clientMode, d.ClientMode)
	d.RemoteIP = cmp.Or(remoteIP, d.RemoteIP)
}

func (d *Devices) pendingOf(r Request, dev *device, requestID string, silent bool) protocol.PendingDevice {
	return protocol.PendingDevice{RequestID: requestID, DeviceID: r.DeviceID, PublicKey: r.PublicKey,
		DisplayName: r.DisplayName, Platform: r.Platform, ClientID: r.ClientID, ClientMode: r.ClientMode,
		Role: r.Role, Roles: []string{r.Role}, Scopes: slices.Clone(r.Scopes), RemoteIP: r.RemoteIP,
		Silent: silent, IsRepair: dev != nil, Ts: d.now()}
}

// enqueue stores r as pending. There is one request for a device; when it asks
// for something else it gets a new id, so that nobody approves what they have
// not seen.
func (d *Devices) enqueue(s *state, r Request, dev *device) (protocol.PendingDevice, bool, error) {
	modest := !slices.ContainsFunc(r.Commands, powerful)
	for id, p := range s.pending.byID {
		if p.DeviceID != r.DeviceID {
			continue
		}
		same := p.PublicKey == r.PublicKey && p.Role == r.Role && slices.Equal(set(p.Scopes), set(r.Scopes)) &&
			(r.Role != protocol.RoleNode || d.modest[id] == modest)
		if same {
			return p, false, nil
		}
		s.dropPending(id)
	}
	for len(s.pending.byID) >= d.cfg.MaxPending {
		s.dropPending(oldest(s.pending.byID))
	}
	p := d.pendingOf(r, dev, newUUID(), false)
	s.setPending(p)
	if err := d.savePending(s); err != nil {
		return p, false, err
	}
	if modest {
		d.modest[p.RequestID] = true
	}
	return p, true, nil
}

func oldest(pending map[string]protocol.PendingDevice) string {
	var first protocol.PendingDevice
	for _, p := range pending {
		if first.RequestID == "" || p.Ts < first.Ts || p.Ts == first.Ts && p.RequestID < first.RequestID {
			first = p
		}
	}
	return first.RequestID
}

// powerful reports whether a node command runs programs or reads the host, so
// that only an admin may grant it.
func powerful(command string) bool {
	switch command {
	case "system.run", "system.run.prepare", "system.which", "browser.proxy", "fs.listDir":
		return true
	}
	return strings.HasPrefix(command, "system.execApprovals.")
}
