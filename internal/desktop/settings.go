package desktop

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"openclaw/byo"
	"openclaw/internal/disk"
)

const settingsFile = "desktop.json"

// Assistant is one that the desktop is paired with.
type Assistant struct {
	ID           string    `json:"id"` // over a relay that of the integration
	Label        string    `json:"label"`
	ProviderKind string    `json:"provider_kind,omitempty"`
	Topology     string    `json:"topology"` // byo.TopologyRelay or byo.TopologyDirect
	BYOVersion   string    `json:"byo_version,omitempty"`
	Verified     string    `json:"verified,omitempty"` // how its key is known; direct: "probe", or empty while it has not answered
	Fingerprint  string    `json:"fingerprint,omitempty"`
	HostLabel    string    `json:"host_label,omitempty"`
	URL          string    `json:"url,omitempty"` // direct
	PairedAt     time.Time `json:"paired_at"`

	// State is how it is at this moment; it is not kept.
	State *byo.Integration `json:"state,omitempty"`
	// Profile is what it said about itself.
	Profile json.RawMessage `json:"profile,omitempty"`
}

// record is an assistant with its secrets, as the settings hold it.
type record struct {
	Assistant
	Token      byo.Secret `json:"token,omitempty"`      // direct: of its listener
	SecretKey  byo.Secret `json:"secret_key,omitempty"` // relay, static_v1 only: later ones have their keys elsewhere
	PeerKey    []byte     `json:"peer_key,omitempty"`
	Tunnel     *Tunnel    `json:"tunnel,omitempty"`
	Generation string     `json:"generation,omitempty"` // of the event stream it was last heard on
}

// relayAccount is this desktop on a relay.
type relayAccount struct {
	API       string     `json:"api"`
	Pin       string     `json:"pin,omitempty"`
	DesktopID string     `json:"desktop_id"`
	Token     byo.Secret `json:"token"`
	Cursor    string     `json:"cursor,omitempty"`
}

// settings is what desktop.json holds: 0600, since it can be used to ask and to answer
// in this desktop's name.
type settings struct {
	Relays        []relayAccount `json:"relays,omitempty"`
	Assistants    []record       `json:"assistants,omitempty"`
	CallbackToken byo.Secret     `json:"callback_token,omitempty"`
	CallbackURL   string         `json:"callback_url,omitempty"` // advertised instead of the listener's own
}

// config owns the settings; every change is on the disk when it returns.
type config struct {
	path string

	mu  sync.Mutex
	now settings
}

func openConfig(dir string) (*config, error) {
	c := &config{path: filepath.Join(dir, settingsFile)}
	data, err := disk.ReadFile(c.path, 4<<20)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, err
	default:
		if err := json.Unmarshal(data, &c.now); err != nil {
			return nil, fmt.Errorf("read %s: %w; move the file away to start anew", c.path, err)
		}
	}
	if c.now.CallbackToken == "" {
		return c, c.change(func(s *settings) error {
			token, err := byo.NewToken(nil, "")
			s.CallbackToken = token
			return err
		})
	}
	return c, nil
}

func (c *config) get() settings {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// change edits a copy and keeps it once it is written.
func (c *config) change(edit func(*settings) error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	next := c.now
	next.Relays, next.Assistants = slices.Clone(next.Relays), slices.Clone(next.Assistants)
	if err := edit(&next); err != nil {
		return err
	}
	data, err := json.MarshalIndent(next, "", "  ")
	if err != nil {
		return err
	}
	if err := disk.WriteFile(c.path, append(data, '\n'), 0o600); err != nil {
		return fmt.Errorf("write settings: %w", err)
	}
	c.now = next
	return nil
}

func (c *config) assistant(id string) (record, bool) {
	for _, r := range c.get().Assistants {
		if r.ID == id {
			return r, true
		}
	}
	return record{}, false
}

// put adds an assistant, or replaces the one with its id.
func (c *config) put(r record) error {
	return c.change(func(s *settings) error {
		r.State = nil
		if i := slices.IndexFunc(s.Assistants, func(o record) bool { return o.ID == r.ID }); i >= 0 {
			s.Assistants[i] = r
		} else {
			s.Assistants = append(s.Assistants, r)
		}
		return nil
	})
}

func (c *config) remove(id string) error {
	return c.change(func(s *settings) error {
		s.Assistants = slices.DeleteFunc(s.Assistants, func(o record) bool { return o.ID == id })
		return nil
	})
}
