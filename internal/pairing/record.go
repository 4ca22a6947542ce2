package pairing

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"openclaw/protocol"
)

// device is one record of paired.json. Records are never changed in place once
// they are part of a state.
type device struct {
	DeviceID     string            `json:"deviceId"`
	PublicKey    string            `json:"publicKey"`
	DisplayName  string            `json:"displayName,omitempty"`
	Platform     string            `json:"platform,omitempty"`
	ClientID     string            `json:"clientId,omitempty"`
	ClientMode   string            `json:"clientMode,omitempty"`
	Role         string            `json:"role,omitempty"`
	Roles        []string          `json:"roles,omitempty"`
	Scopes       []string          `json:"scopes,omitempty"`
	RemoteIP     string            `json:"remoteIp,omitempty"`
	Tokens       map[string]*token `json:"tokens,omitempty"`
	CreatedAtMs  int64             `json:"createdAtMs"`
	ApprovedAtMs int64             `json:"approvedAtMs"`

	extra map[string]json.RawMessage // fields of other versions, kept
}

// token is the credential of a device for one role.
type token struct {
	Token        protocol.Secret `json:"token"`
	Role         string          `json:"role"`
	Scopes       []string        `json:"scopes"`
	CreatedAtMs  int64           `json:"createdAtMs"`
	RotatedAtMs  int64           `json:"rotatedAtMs,omitempty"`
	RevokedAtMs  int64           `json:"revokedAtMs,omitempty"`
	LastUsedAtMs int64           `json:"lastUsedAtMs,omitempty"`
}

func (d *device) clone() *device {
	c := *d
	c.Tokens = maps.Clone(d.Tokens)
	return &c
}

// setToken replaces a token of a cloned device.
func (d *device) setToken(t token) {
	if d.Tokens == nil {
		d.Tokens = map[string]*token{}
	}
	d.Tokens[t.Role] = &t
}

// roles lists what the device was ever approved for. Older records have only
// the single role.
func (d *device) roles() []string {
	if d.Roles != nil || d.Role == "" {
		return d.Roles
	}
	return []string{d.Role}
}

// revoked reports whether the token for role was taken away, which counts as
// not approved until somebody approves again.
func (d *device) revoked(role string) bool {
	t := d.Tokens[role]
	return t != nil && t.RevokedAtMs > 0
}

// view is the device as the outside may see it.
func (d *device) view() protocol.PairedDevice {
	v := protocol.PairedDevice{DeviceID: d.DeviceID, PublicKey: d.PublicKey, DisplayName: d.DisplayName,
		Platform: d.Platform, ClientID: d.ClientID, ClientMode: d.ClientMode, Role: d.Role,
		Roles: slices.Clone(d.Roles), Scopes: slices.Clone(d.Scopes), RemoteIP: d.RemoteIP,
		CreatedAtMs: d.CreatedAtMs, ApprovedAtMs: d.ApprovedAtMs}
	for _, role := range slices.Sorted(maps.Keys(d.Tokens)) {
		t := d.Tokens[role]
		v.Tokens = append(v.Tokens, protocol.DeviceTokenInfo{Role: t.Role, Scopes: set(t.Scopes),
			CreatedAtMs: t.CreatedAtMs, RotatedAtMs: t.RotatedAtMs, RevokedAtMs: t.RevokedAtMs, LastUsedAtMs: t.LastUsedAtMs})
	}
	return v
}

// MarshalJSON writes the known fields and then those that were kept.
func (d *device) MarshalJSON() ([]byte, error) {
	type plain device
	known, err := marshal((*plain)(d))
	if err != nil || len(d.extra) == 0 {
		return known, err
	}
	rest, err := marshal(d.extra)
	if err != nil {
		return nil, err
	}
	return append(append(known[:len(known)-1], ','), rest[1:]...), nil
}

// UnmarshalJSON reads a record and keeps the fields it does not know.
func (d *device) UnmarshalJSON(data []byte) error {
	type plain device
	if err := json.Unmarshal(data, (*plain)(d)); err != nil {
		return err
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(data, &all); err != nil {
		return err
	}
	known, err := marshal(&plain{DisplayName: "x", Platform: "x", ClientID: "x", ClientMode: "x", Role: "x",
		Roles: []string{""}, Scopes: []string{""}, RemoteIP: "x", Tokens: map[string]*token{"x": nil}})
	if err != nil {
		return err
	}
	var names map[string]json.RawMessage
	if err := json.Unmarshal(known, &names); err != nil {
		return err
	}
	maps.DeleteFunc(all, func(name string, _ json.RawMessage) bool { _, ok := names[name]; return ok })
	maps.DeleteFunc(d.Tokens, func(_ string, t *token) bool { return t == nil })
	for role, t := range d.Tokens {
		t.Role = role
	}
	d.extra = all
	return nil
}

// records is one of the two files in memory. odd holds entries that are not
// what they should be; they are ignored but written back.
type records[T any] struct {
	byID map[string]T
	odd  map[string]json.RawMessage
}

func parseRecords[T any](data []byte) (records[T], error) {
	r := records[T]{byID: map[string]T{}, odd: map[string]json.RawMessage{}}
	if len(bytes.TrimSpace(data)) == 0 {
		return r, nil
	}
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(data, &raw); err != nil {
		return r, err
	}
	for id, text := range raw {
		var one T
		if err := json.Unmarshal(text, &one); err != nil || bytes.Equal(text, []byte("null")) {
			r.odd[id] = text
			continue
		}
		r.byID[id] = one
	}
	return r, nil
}

func (r records[T]) encode() ([]byte, error) {
	all := make(map[string]any, len(r.byID)+len(r.odd))
	for id, text := range r.odd {
		all[id] = text
	}
	for id, one := range r.byID {
		all[id] = one
	}
	text, err := marshal(all)
	if err != nil {
		return nil, fmt.Errorf("encode devices: %w", err)
	}
	var out bytes.Buffer
	if err := json.Indent(&out, text, "", "  "); err != nil {
		return nil, fmt.Errorf("encode devices: %w", err)
	}
	out.WriteByte('\n')
	return out.Bytes(), nil
}

func (r records[T]) clone() records[T] {
	return records[T]{byID: maps.Clone(r.byID), odd: r.odd}
}

// marshal is json.Marshal without HTML escaping.
func marshal(v any) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n")), nil
}

// set returns the distinct strings of list, sorted, never nil.
func set(list []string) []string {
	out := slices.Compact(slices.Sorted(slices.Values(list)))
	if out == nil {
		return []string{}
	}
	return out
}

// union returns a and what b adds, in order.
func union(a, b []string) []string {
	out := make([]string, 0, len(a)+len(b))
	for _, s := range slices.Concat(a, b) {
		if s != "" && !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

// covers reports whether every element of want is in have, literally.
func covers(have, want []string) bool {
	return !slices.ContainsFunc(want, func(s string) bool { return !slices.Contains(have, s) })
}
