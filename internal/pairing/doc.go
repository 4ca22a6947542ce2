// Package pairing turns strangers into known devices: a connect of an unknown
// device becomes a pending request, an operator approves or rejects it, and an
// approved device gets a token for each of its roles.
//
// It owns <state>/devices/pending.json and paired.json, which are JSON objects
// that other programs and people may read and edit: a changed file is noticed
// on the next call, unknown fields are kept, and every write replaces the file
// as a whole. Writers take turns; readers see an immutable state and never
// wait. Only dates of use and display names are written late, by [Devices.Run].
//
// The gateway asks it during every connect of a device and in the device.*
// methods. What makes a connection trustworthy enough for silent approval is
// the gateway's decision; what a request may be approved for is decided here.
//
//	d, err := pairing.OpenDevices(pairing.Config{Dir: filepath.Join(state, "devices"), Now: time.Now, Log: log})
//	a, err := d.Admit(ctx, pairing.Request{…}, func(pairing.Reason) bool { return localDirect })
//	if a.Pending != nil { … tell the operators, refuse the connection … }
//	token, err := d.EnsureToken(ctx, deviceID, role, scopes)
//
// See docs/protocol.md#pairing.
package pairing
