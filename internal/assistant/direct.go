package assistant

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"path/filepath"
	"strconv"

	"openclaw/byo"
	"openclaw/internal/disk"
	"openclaw/internal/guard"
)

const (
	// DirectName is the name of the pairing without a relay, and of its folder.
	DirectName = "direct"
	// DirectPort is the listener's, unless another was chosen.
	DirectPort = 8765

	directFile = "listener.json"
)

// Direct is the pairing without a relay: the listener that a desktop reaches and the
// token that lets it in. It is kept 0600 beside the pairings over relays.
type Direct struct {
	URL          string     `json:"url"`
	Token        byo.Secret `json:"token"`
	Label        string     `json:"label,omitempty"`
	ProviderKind string     `json:"provider_kind,omitempty"`
	Port         int        `json:"port"`
}

// LoadDirect reads what is kept in dir; fs.ErrNotExist when no code was ever made.
func LoadDirect(dir string) (*Direct, error) {
	data, err := disk.ReadFile(filepath.Join(dir, directFile), 64<<10)
	if err != nil {
		return nil, fmt.Errorf("read the listener's settings: %w", err)
	}
	var d Direct
	if err := json.Unmarshal(data, &d); err != nil {
		return nil, fmt.Errorf("read the listener's settings in %s: %w", dir, err)
	}
	return &d, nil
}

// DirectChange says what the code shall be made of; what is empty stays as it was.
type DirectChange struct {
	URL, Label, ProviderKind string
	Port                     int
	// NewToken locks out the desktops that were paired before.
	NewToken bool
}

// PairCode makes the code of the direct topology and keeps the listener's settings in
// dir. A token that is there stays unless a new one is asked for.
func PairCode(dir string, change DirectChange) (code string, d *Direct, err error) {
	old, err := LoadDirect(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		old = &Direct{}
	case err != nil:
		return "", nil, err
	}
	d = &Direct{URL: change.URL, Token: old.Token, Label: cmp.Or(change.Label, old.Label),
		ProviderKind: cmp.Or(change.ProviderKind, old.ProviderKind), Port: cmp.Or(change.Port, old.Port, DirectPort)}
	if d.Port < 1024 || d.Port > 65535 {
		return "", nil, fmt.Errorf("port %d: want 1024 to 65535", d.Port)
	}
	if d.ProviderKind != "" {
		if err := byo.CheckProviderKind(d.ProviderKind); err != nil {
			return "", nil, fmt.Errorf("provider-kind: %w", err)
		}
	}
	if d.URL == "" && change.Port == 0 {
		d.URL = old.URL
	}
	if d.URL, err = byo.NormalizeURL(cmp.Or(d.URL, "http://127.0.0.1:"+strconv.Itoa(d.Port))); err != nil {
		return "", nil, fmt.Errorf("url: %w", err)
	}
	if len(d.Token) < byo.MinToken || change.NewToken {
		if d.Token, err = byo.NewToken(nil, ""); err != nil {
			return "", nil, err
		}
	}
	if code, err = (&byo.DirectCode{URL: d.URL, Token: d.Token, Label: d.Label}).Encode(); err != nil {
		return "", nil, err
	}
	return code, d, d.save(dir)
}

func (d *Direct) save(dir string) error {
	data, err := json.MarshalIndent(d, "", "  ")
	if err != nil {
		return fmt.Errorf("write the listener's settings: %w", err)
	}
	if err := disk.MkdirAll(dir); err != nil {
		return err
	}
	return disk.WriteFile(filepath.Join(dir, directFile), append(data, '\n'), 0o600)
}

// Forward is the argument of ssh -L with which a desktop on another machine reaches the
// listener; empty when its address is no loopback one.
func (d *Direct) Forward() string {
	u, err := url.Parse(d.URL)
	if err != nil || !guard.LocalName(u.Hostname()) {
		return ""
	}
	port := cmp.Or(u.Port(), "80")
	return port + ":" + net.JoinHostPort("127.0.0.1", port)
}
