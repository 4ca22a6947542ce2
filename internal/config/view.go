package config

import (
	"reflect"

	"openclaw/internal/logs"
)

// Config is the typed view of a configuration, with the defaults of
// agent-runtime 2.4 filled in. It is never changed after it was made, so it may
// be shared freely. Settings without a field here are in Raw.
type Config struct {
	Meta       Meta       `json:"meta"`
	Env        EnvBlock   `json:"env"`
	Logging    Logging    `json:"logging"`
	Update     Update     `json:"update"`
	UI         UI         `json:"ui"`
	Auth       Auth       `json:"auth"`
	Models     Models     `json:"models"`
	Agents     Agents     `json:"agents"`
	Tools      Tools      `json:"tools"`
	Bindings   []Binding  `json:"bindings"`
	Messages   Messages   `json:"messages"`
	Commands   Commands   `json:"commands"`
	Session    Session    `json:"session"`
	Cron       Cron       `json:"cron"`
	Hooks      Hooks      `json:"hooks"`
	Discovery  Discovery  `json:"discovery"`
	CanvasHost CanvasHost `json:"canvasHost"`
	Gateway    Gateway    `json:"gateway"`
	Skills     Skills     `json:"skills"`
	Plugins    Plugins    `json:"plugins"`
	// Channels holds the sections of messaging channels by id, as they are.
	Channels map[string]any `json:"channels"`

	// Raw is the whole resolved tree; numbers are json.Number. Do not change it.
	Raw map[string]any `json:"-"`
	// implicit are parameters that apply to a model without being written down.
	implicit map[string]map[string]any
}

// Meta is what the last writer left behind.
type Meta struct {
	LastTouchedVersion string `json:"lastTouchedVersion"`
	LastTouchedAt      string `json:"lastTouchedAt"`
}

// EnvBlock is env. Its variables are in [Snapshot.EnvVars].
type EnvBlock struct {
	ShellEnv ShellEnv `json:"shellEnv"`
}

// ShellEnv imports variables from a login shell.
type ShellEnv struct {
	Enabled   bool `json:"enabled"`
	TimeoutMs int  `json:"timeoutMs"` // 15000
}

// Logging is logging.
type Logging struct {
	Level           string   `json:"level"`           // info
	ConsoleLevel    string   `json:"consoleLevel"`    // info
	File            string   `json:"file"`            // empty for the dated file
	ConsoleStyle    string   `json:"consoleStyle"`    // empty: pretty on a terminal, else compact
	RedactSensitive string   `json:"redactSensitive"` // tools
	RedactPatterns  []string `json:"redactPatterns"`
}

// Update is update.
type Update struct {
	Channel      string `json:"channel"`
	CheckOnStart bool   `json:"checkOnStart"` // true
}

// UI is ui.
type UI struct {
	SeamColor string `json:"seamColor"`
	Assistant struct {
		Name   string `json:"name"`
		Avatar string `json:"avatar"`
	} `json:"assistant"`
}

// Auth is auth: which credentials exist, without secrets.
type Auth struct {
	Profiles  map[string]AuthProfile `json:"profiles"`
	Order     map[string][]string    `json:"order"`
	Cooldowns Cooldowns              `json:"cooldowns"`
}

// AuthProfile describes a stored credential.
type AuthProfile struct {
	Provider string `json:"provider"`
	Mode     string `json:"mode"` // api_key, oauth or token
	Email    string `json:"email"`
}

// Cooldowns say how long a failing credential rests, in hours.
type Cooldowns struct {
	BillingBackoffHours           float64            `json:"billingBackoffHours"` // 5
	BillingBackoffHoursByProvider map[string]float64 `json:"billingBackoffHoursByProvider"`
	BillingMaxHours               float64            `json:"billingMaxHours"`    // 24
	FailureWindowHours            float64            `json:"failureWindowHours"` // 24
}

// Models is models.
type Models struct {
	Mode      string              `json:"mode"` // merge
	Providers map[string]Provider `json:"providers"`
}

// Provider is one of models.providers.
type Provider struct {
	BaseURL    string                 `json:"baseUrl"`
	APIKey     logs.Secret            `json:"apiKey"`
	Auth       string                 `json:"auth"`
	API        string                 `json:"api"`
	Headers    map[string]logs.Secret `json:"headers"`
	AuthHeader bool                   `json:"authHeader"`
	Models     []ProviderModel        `json:"models"`
}

// ProviderModel is a model that the configuration describes.
type ProviderModel struct {
	ID            string                 `json:"id"`
	Name          string                 `json:"name"`
	API           string                 `json:"api"`
	Reasoning     bool                   `json:"reasoning"`
	Input         []string               `json:"input"`
	Cost          Cost                   `json:"cost"`
	ContextWindow int                    `json:"contextWindow"`
	MaxTokens     int                    `json:"maxTokens"`
	Headers       map[string]logs.Secret `json:"headers"`
	Compat        Compat                 `json:"compat"`
}

// Cost is in dollars for a million tokens.
type Cost struct {
	Input      float64 `json:"input"`
	Output     float64 `json:"output"`
	CacheRead  float64 `json:"cacheRead"`
	CacheWrite float64 `json:"cacheWrite"`
}

// Compat says how an OpenAI-compatible server differs; nil means unknown.
type Compat struct {
	SupportsStore           *bool  `json:"supportsStore"`
	SupportsDeveloperRole   *bool  `json:"supportsDeveloperRole"`
	SupportsReasoningEffort *bool  `json:"supportsReasoningEffort"`
	MaxTokensField          string `json:"maxTokensField"`
}

// Cron is cron.
type Cron struct {
	Enabled           bool   `json:"enabled"` // true
	Store             string `json:"store"`
	MaxConcurrentRuns int    `json:"maxConcurrentRuns"` // 1
}

// Hooks is hooks: inbound webhooks, and the switch of internal hooks.
type Hooks struct {
	Enabled                   bool        `json:"enabled"`
	Path                      string      `json:"path"` // /hooks
	Token                     logs.Secret `json:"token"`
	MaxBodyBytes              int64       `json:"maxBodyBytes"` // 262144
	Presets                   []string    `json:"presets"`
	TransformsDir             string      `json:"transformsDir"`
	Mappings                  []any       `json:"mappings"`
	AllowQueryToken           bool        `json:"allowQueryToken"`
	AllowRequestSessionKey    bool        `json:"allowRequestSessionKey"`
	AllowedSessionKeyPrefixes []string    `json:"allowedSessionKeyPrefixes"`
	DefaultSessionKey         string      `json:"defaultSessionKey"`
	Internal                  struct {
		Enabled bool `json:"enabled"`
	} `json:"internal"`
}

// Discovery is discovery.
type Discovery struct {
	WideArea struct {
		Enabled bool   `json:"enabled"`
		Domain  string `json:"domain"`
	} `json:"wideArea"`
	MDNS struct {
		Mode string `json:"mode"` // off, minimal or full; empty is minimal
	} `json:"mdns"`
}

// CanvasHost is canvasHost.
type CanvasHost struct {
	Enabled       bool   `json:"enabled"` // true
	Root          string `json:"root"`
	Port          int    `json:"port"`          // 0: gateway port + 4
	LiveReload    bool   `json:"liveReload"`    // true
	AllowLoopback bool   `json:"allowLoopback"` // true
}

// Skills is skills.
type Skills struct {
	AllowBundled []string `json:"allowBundled"` // nil allows all
	Load         struct {
		ExtraDirs       []string `json:"extraDirs"`
		Watch           bool     `json:"watch"`           // true
		WatchDebounceMs int      `json:"watchDebounceMs"` // 250
	} `json:"load"`
	Entries map[string]SkillEntry `json:"entries"`
}

// SkillEntry is one of skills.entries.
type SkillEntry struct {
	Enabled *bool                  `json:"enabled"`
	APIKey  logs.Secret            `json:"apiKey"`
	Env     map[string]logs.Secret `json:"env"`
	Config  map[string]any         `json:"config"`
}

// Plugins is plugins.
type Plugins struct {
	Enabled bool                   `json:"enabled"` // true
	Allow   []string               `json:"allow"`
	Deny    []string               `json:"deny"`
	Slots   map[string]string      `json:"slots"`
	Entries map[string]PluginEntry `json:"entries"`
}

// PluginEntry is one of plugins.entries.
type PluginEntry struct {
	Enabled *bool          `json:"enabled"`
	Config  map[string]any `json:"config"`
}

// newConfig makes the typed view of a resolved tree.
func newConfig(tree map[string]any, env Env) *Config {
	c := standard()
	bind(tree, reflect.ValueOf(c).Elem())
	c.Raw = tree
	c.complete(tree, env)
	return c
}

// standard is the configuration of an empty file.
func standard() *Config {
	return &Config{
		Env:     EnvBlock{ShellEnv{TimeoutMs: 15000}},
		Logging: Logging{Level: "info", ConsoleLevel: "info", RedactSensitive: "tools"},
		Update:  Update{CheckOnStart: true},
		Auth:    Auth{Cooldowns: Cooldowns{BillingBackoffHours: 5, BillingMaxHours: 24, FailureWindowHours: 24}},
		Models:  Models{Mode: "merge"},
		Agents:  standardAgents(),
		Tools:   standardTools(),
		Messages: Messages{
			AckReactionScope: "group-mentions",
			GroupChat:        GroupChat{HistoryLimit: 50},
			Queue:            Queue{DebounceMs: 1000, Cap: 20, Drop: "summarize"},
		},
		Commands:   Commands{Native: "auto", NativeSkills: "auto", Text: true, BashForegroundMs: 2000, UseAccessGroups: true},
		Session:    standardSession(),
		Cron:       Cron{Enabled: true, MaxConcurrentRuns: 1},
		Hooks:      Hooks{Path: "/hooks", MaxBodyBytes: 262144},
		CanvasHost: CanvasHost{Enabled: true, LiveReload: true, AllowLoopback: true},
		Gateway:    standardGateway(),
		Skills:     standardSkills(),
		Plugins:    Plugins{Enabled: true},
	}
}

func standardSkills() (s Skills) {
	s.Load.Watch, s.Load.WatchDebounceMs = true, 250
	return s
}
