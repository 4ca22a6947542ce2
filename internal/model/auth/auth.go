package auth

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"openclaw/internal/logs"
	"openclaw/internal/model"
)

// Config says where to look.
type Config struct {
	Path     string // auth-profiles.json of the agent
	MainPath string // that of the main agent; empty for the main agent itself
	Env      func(string) string
	// Settings is the auth section of the configuration; nil for none.
	Settings func() Settings
	Now      func() time.Time // default time.Now
}

// Settings is the auth section of the configuration. It holds no secrets.
type Settings struct {
	Profiles map[string]Profile  // auth.profiles
	Order    map[string][]string // auth.order by provider
}

// Profile is one entry of auth.profiles.
type Profile struct {
	Provider string
	Mode     string // api_key, token or oauth
}

// Keys implements [model.Credentials] for one agent. It is safe for concurrent use.
type Keys struct {
	cfg       Config
	own, main *file
}

// New returns the keys of an agent. It reads nothing yet.
func New(cfg Config) *Keys {
	if cfg.Settings == nil {
		cfg.Settings = func() Settings { return Settings{} }
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	return &Keys{cfg: cfg, own: &file{path: cfg.Path}, main: &file{path: cfg.MainPath}}
}

// Find implements [model.Credentials]. A pinned profile is used or nothing: it is
// a person's choice.
func (k *Keys) Find(provider string, configured logs.Secret, pinned string) (model.Credential, bool) {
	provider = model.NormalizeProvider(provider)
	s, err := k.load()
	problem := ""
	if err != nil {
		problem = err.Error()
	}
	if pinned != "" {
		if p, ok := s.Profiles[pinned]; ok && p.Provider == provider && !p.expired(k.cfg.Now()) {
			return credential(pinned, p), true
		}
		return model.Credential{Problem: "the chosen auth profile " + pinned + " is missing or has expired"}, false
	}
	order, expired := k.order(s, provider)
	if len(order) > 0 {
		return credential(order[0], s.Profiles[order[0]]), true
	}
	if c, ok := k.fromEnv(provider); ok {
		return c, true
	}
	if key := k.configured(configured); key != "" {
		return model.Credential{Key: key, Source: "models.providers." + provider + ".apiKey"}, true
	}
	if expired != "" {
		problem = "the auth profile " + expired + " has expired"
	}
	return model.Credential{Problem: problem}, false
}

// Order lists the usable profiles of a provider, the next one to use first.
func (k *Keys) Order(provider string) ([]string, error) {
	s, err := k.load()
	order, _ := k.order(s, model.NormalizeProvider(provider))
	return order, err
}

// load joins the agent's own store with the main agent's.
func (k *Keys) load() (store, error) {
	own, err := k.own.read()
	base, baseErr := k.main.read()
	if err == nil {
		err = baseErr
	}
	return own.over(base), err
}

func credential(id string, p profile) model.Credential {
	return model.Credential{Key: trimmed(p.secret()), Bearer: p.Type != TypeAPIKey, Source: "the auth profile " + id, Profile: id}
}

func trimmed(s logs.Secret) logs.Secret { return logs.Secret(strings.TrimSpace(s.Reveal())) }

func (k *Keys) fromEnv(provider string) (model.Credential, bool) {
	b, ok := model.LookupBuiltin(provider)
	if !ok {
		return model.Credential{}, false
	}
	for _, name := range b.Env {
		if key := trimmed(logs.Secret(k.cfg.Env(name))); key != "" {
			return model.Credential{Key: key, Bearer: strings.Contains(name, "OAUTH"), Source: "the environment variable " + name}, true
		}
	}
	return model.Credential{}, false
}

// configured is the key of the configuration, which may be the name of an
// environment variable that holds it.
func (k *Keys) configured(key logs.Secret) logs.Secret {
	key = trimmed(key)
	if isVariable(key.Reveal()) {
		if value := trimmed(logs.Secret(k.cfg.Env(key.Reveal()))); value != "" {
			return value
		}
	}
	return key
}

func isVariable(s string) bool {
	return strings.Contains(s, "_") && strings.Trim(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == ""
}

// order is the rotation of agent-runtime 18.4; expired names a profile that was
// left out only because its time is over.
func (k *Keys) order(s store, provider string) (ids []string, expired string) {
	settings := k.cfg.Settings()
	now := k.cfg.Now()
	ids, explicit := candidates(s, settings, provider)
	ids = slices.DeleteFunc(slices.Clone(ids), func(id string) bool {
		p, ok := s.Profiles[id]
		if !ok || p.Provider != provider || !fits(settings, id, p) {
			return true
		}
		if p.expired(now) {
			expired = id
			return true
		}
		return false
	})
	slices.SortStableFunc(ids, func(a, b string) int {
		ua, ub := s.Usage[a], s.Usage[b]
		byCooldown := cmp.Compare(ua.until(now), ub.until(now)) // 0 is ready, and first
		if explicit || ua.until(now) > 0 && ub.until(now) > 0 {
			return byCooldown
		}
		return cmp.Or(byCooldown, cmp.Compare(rank(s.Profiles[a].Type), rank(s.Profiles[b].Type)),
			cmp.Compare(ua.LastUsed, ub.LastUsed), cmp.Compare(a, b))
	})
	return slices.Compact(ids), expired
}

// candidates picks the list to order, and whether somebody wrote it in order.
func candidates(s store, settings Settings, provider string) (ids []string, explicit bool) {
	if ids := s.Order[provider]; len(ids) > 0 {
		return ids, true
	}
	for p, ids := range settings.Order {
		if model.NormalizeProvider(p) == provider && len(ids) > 0 {
			return ids, true
		}
	}
	for _, id := range slices.Sorted(maps.Keys(settings.Profiles)) {
		if model.NormalizeProvider(settings.Profiles[id].Provider) == provider {
			ids = append(ids, id)
		}
	}
	if len(ids) > 0 {
		return ids, false
	}
	for _, id := range slices.Sorted(maps.Keys(s.Profiles)) {
		if s.Profiles[id].Provider == provider {
			ids = append(ids, id)
		}
	}
	return ids, false
}

// fits reports whether a stored profile is what the configuration says of it.
// A token does for oauth, being what a finished sign-in may leave behind.
func fits(settings Settings, id string, p profile) bool {
	c, ok := settings.Profiles[id]
	if !ok {
		return true
	}
	if model.NormalizeProvider(c.Provider) != p.Provider {
		return false
	}
	return c.Mode == "" || c.Mode == p.Type || c.Mode == TypeOAuth && p.Type == TypeToken
}

// rank orders types: what a sign-in gives before what was typed in.
func rank(typ string) int {
	switch typ {
	case TypeOAuth:
		return 0
	case TypeToken:
		return 1
	}
	return 2
}
