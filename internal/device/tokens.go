package device

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"time"

	"openclaw/internal/disk"
	"openclaw/protocol"
)

// Tokens is the file of the tokens that a gateway issued to a device, one per
// role. It is read anew for each call, because other programs of the same user
// write it too. A damaged file counts as empty: tokens are issued again on the
// next connect.
type Tokens struct {
	Path     string // <state>/identity/device-auth.json
	DeviceID string // tokens of another device are dropped
	Now      func() time.Time
}

// tokenFile is the file format, shared with other clients.
type tokenFile struct {
	Version  int                   `json:"version"`
	DeviceID string                `json:"deviceId"`
	Tokens   map[string]tokenEntry `json:"tokens"`
}

// tokenEntry holds its token in plain, as the file must.
type tokenEntry struct {
	Token       protocol.Secret `json:"token"`
	Role        string          `json:"role"`
	Scopes      []string        `json:"scopes"`
	UpdatedAtMs int64           `json:"updatedAtMs"`
}

// Token returns the stored token for role, "" for none.
func (t *Tokens) Token(role string) (protocol.Secret, error) {
	f, err := t.load()
	if err != nil {
		return "", err
	}
	return f.Tokens[role].Token, nil
}

// Save stores the token for role.
func (t *Tokens) Save(role string, token protocol.Secret, scopes []string) error {
	f, err := t.load()
	if err != nil {
		return err
	}
	sorted := slices.Compact(slices.Sorted(slices.Values(scopes)))
	if sorted == nil {
		sorted = []string{}
	}
	if old := f.Tokens[role]; old.Token == token && slices.Equal(old.Scopes, sorted) {
		return nil // every connect brings the same token again
	}
	f.Tokens[role] = tokenEntry{Token: token, Role: role, Scopes: sorted, UpdatedAtMs: t.Now().UnixMilli()}
	return t.store(f)
}

// Delete forgets the token for role.
func (t *Tokens) Delete(role string) error {
	f, err := t.load()
	if err != nil {
		return err
	}
	if _, ok := f.Tokens[role]; !ok {
		return nil
	}
	delete(f.Tokens, role)
	return t.store(f)
}

func (t *Tokens) load() (tokenFile, error) {
	empty := tokenFile{Version: 1, DeviceID: t.DeviceID, Tokens: map[string]tokenEntry{}}
	data, err := disk.ReadFile(t.Path, maxFile)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, disk.ErrTooLarge) {
		return empty, nil
	}
	if err != nil {
		return empty, fmt.Errorf("read device tokens: %w", err)
	}
	var f tokenFile
	if json.Unmarshal(data, &f) != nil || f.DeviceID != t.DeviceID || f.Tokens == nil {
		return empty, nil
	}
	f.Version = 1
	return f, nil
}

func (t *Tokens) store(f tokenFile) error {
	data, err := json.MarshalIndent(f, "", "  ")
	if err != nil {
		return fmt.Errorf("encode device tokens: %w", err)
	}
	if err := disk.MkdirAll(filepath.Dir(t.Path)); err != nil {
		return err
	}
	return disk.WriteFile(t.Path, append(data, '\n'), 0o600)
}
