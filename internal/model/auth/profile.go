package auth

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"openclaw/internal/disk"
	"openclaw/internal/logs"
	"openclaw/internal/model"
)

// maxFile bounds auth-profiles.json.
const maxFile = 8 << 20

// Types of profiles. See agent-runtime 18.3.
const (
	TypeAPIKey = "api_key"
	TypeToken  = "token"
	TypeOAuth  = "oauth"
)

// profile is one stored credential.
type profile struct {
	Type     string      `json:"type"`
	Provider string      `json:"provider"`
	Key      logs.Secret `json:"key"`     // api_key
	Token    logs.Secret `json:"token"`   // token
	Access   logs.Secret `json:"access"`  // oauth
	Expires  int64       `json:"expires"` // Unix milliseconds, 0 for never
}

func (p profile) secret() logs.Secret {
	switch p.Type {
	case TypeAPIKey:
		return p.Key
	case TypeToken:
		return p.Token
	case TypeOAuth:
		return p.Access
	}
	return ""
}

// expired reports whether the credential is of no use any more. API keys carry
// no date.
func (p profile) expired(now time.Time) bool {
	return p.Type != TypeAPIKey && p.Expires > 0 && now.UnixMilli() >= p.Expires
}

// usage is how a profile fared. Times are Unix milliseconds.
type usage struct {
	LastUsed      int64 `json:"lastUsed"`
	CooldownUntil int64 `json:"cooldownUntil"`
	DisabledUntil int64 `json:"disabledUntil"`
}

// until is when the profile may be used again, 0 for now.
func (u usage) until(now time.Time) int64 {
	if t := max(u.CooldownUntil, u.DisabledUntil); t > now.UnixMilli() {
		return t
	}
	return 0
}

// store is the content of auth-profiles.json.
type store struct {
	Profiles map[string]profile  `json:"profiles"`
	Order    map[string][]string `json:"order"`
	Usage    map[string]usage    `json:"usageStats"`
}

// parse reads a store. Entries that are no profile are left out, so that one
// bad entry does not hide the others.
func parse(data []byte) (store, error) {
	var raw struct {
		Profiles map[string]json.RawMessage `json:"profiles"`
		Order    map[string][]string        `json:"order"`
		Usage    map[string]json.RawMessage `json:"usageStats"`
	}
	if err := json.Unmarshal(data, &raw); err != nil {
		// The decoder's own text may quote the file.
		return store{}, errors.New("not valid JSON of the expected shape")
	}
	s := store{Profiles: map[string]profile{}, Order: map[string][]string{}, Usage: map[string]usage{}}
	for id, data := range raw.Profiles {
		var p profile
		if json.Unmarshal(data, &p) != nil || p.Provider == "" || trimmed(p.secret()) == "" {
			continue
		}
		p.Provider = model.NormalizeProvider(p.Provider)
		s.Profiles[id] = p
	}
	for provider, ids := range raw.Order {
		s.Order[model.NormalizeProvider(provider)] = ids
	}
	for id, data := range raw.Usage {
		var u usage
		if json.Unmarshal(data, &u) == nil {
			s.Usage[id] = u
		}
	}
	return s, nil
}

// file caches one store by the time and size of its file.
type file struct {
	path string

	mu    sync.Mutex
	mtime time.Time
	size  int64
	store store
	err   error
}

// read returns the store of the file; a missing file is an empty store.
func (f *file) read() (store, error) {
	if f == nil || f.path == "" {
		return store{}, nil
	}
	info, err := os.Stat(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		return store{}, nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if err != nil {
		return store{}, fmt.Errorf("%s cannot be read", filepath.Base(f.path))
	}
	if info.ModTime().Equal(f.mtime) && info.Size() == f.size {
		return f.store, f.err
	}
	f.mtime, f.size = info.ModTime(), info.Size()
	data, err := disk.ReadFile(f.path, maxFile)
	if err == nil {
		f.store, err = parse(data)
	}
	if f.err = nil; err != nil {
		f.store, f.err = store{}, fmt.Errorf("%s cannot be read: %w", filepath.Base(f.path), err)
	}
	return f.store, f.err
}

// over lays a store over another: own entries win.
func (s store) over(base store) store {
	return store{Profiles: merged(base.Profiles, s.Profiles), Order: merged(base.Order, s.Order), Usage: merged(base.Usage, s.Usage)}
}

func merged[V any](base, own map[string]V) map[string]V {
	if len(base) == 0 {
		return own
	}
	out := make(map[string]V, len(base)+len(own))
	for k, v := range base {
		out[k] = v
	}
	for k, v := range own {
		out[k] = v
	}
	return out
}
