package config

// Agents is agents.
type Agents struct {
	Defaults AgentDefaults `json:"defaults"`
	List     []Agent       `json:"list"`
}

// ModelChoice names a model and what replaces it when it fails. In a file it may
// also be just the name.
type ModelChoice struct {
	// Primary is a ref or alias; empty when nothing was chosen.
	Primary string `json:"primary"`
	// Fallbacks of an agent replace those of the defaults: nil keeps them, an
	// empty list switches them off.
	Fallbacks []string `json:"fallbacks"`
}

func (m *ModelChoice) bind(v any) {
	switch v := v.(type) {
	case string:
		m.Primary = v
	case map[string]any:
		m.Primary, _ = textAt(v, "primary")
		if list, ok := v["fallbacks"].([]any); ok {
			m.Fallbacks = make([]string, 0, len(list))
			for _, e := range list {
				if s, ok := e.(string); ok {
					m.Fallbacks = append(m.Fallbacks, s)
				}
			}
		}
	}
}

// AgentDefaults is agents.defaults.
type AgentDefaults struct {
	Model      ModelChoice           `json:"model"`
	ImageModel ModelChoice           `json:"imageModel"`
	Models     map[string]ModelEntry `json:"models"` // allowlist when not empty

	Workspace         string `json:"workspace"` // empty: see [Config.Workspace]
	RepoRoot          string `json:"repoRoot"`
	SkipBootstrap     bool   `json:"skipBootstrap"`
	BootstrapMaxChars int    `json:"bootstrapMaxChars"` // 20000
	ContextTokens     int    `json:"contextTokens"`     // 0: no cap

	UserTimezone      string `json:"userTimezone"`      // empty: that of the host
	TimeFormat        string `json:"timeFormat"`        // auto
	EnvelopeTimezone  string `json:"envelopeTimezone"`  // local
	EnvelopeTimestamp string `json:"envelopeTimestamp"` // on
	EnvelopeElapsed   string `json:"envelopeElapsed"`   // on

	ThinkingDefault string `json:"thinkingDefault"` // empty: low for reasoning models, else off
	VerboseDefault  string `json:"verboseDefault"`  // off
	ElevatedDefault string `json:"elevatedDefault"` // on

	BlockStreamingDefault  string      `json:"blockStreamingDefault"` // off
	BlockStreamingBreak    string      `json:"blockStreamingBreak"`   // text_end
	BlockStreamingChunk    Chunk       `json:"blockStreamingChunk"`
	BlockStreamingCoalesce *Coalesce   `json:"blockStreamingCoalesce"`
	HumanDelay             *HumanDelay `json:"humanDelay"`

	TimeoutSeconds        int     `json:"timeoutSeconds"`        // 600
	MediaMaxMB            float64 `json:"mediaMaxMb"`            // 5
	TypingIntervalSeconds int     `json:"typingIntervalSeconds"` // 6
	TypingMode            string  `json:"typingMode"`            // empty: derived

	Heartbeat      Heartbeat             `json:"heartbeat"`
	MaxConcurrent  int                   `json:"maxConcurrent"` // 4
	Subagents      SubagentDefaults      `json:"subagents"`
	Compaction     Compaction            `json:"compaction"`
	ContextPruning ContextPruning        `json:"contextPruning"`
	MemorySearch   map[string]any        `json:"memorySearch"`
	Sandbox        map[string]any        `json:"sandbox"`
	CLIBackends    map[string]CLIBackend `json:"cliBackends"`
}

// ModelEntry is one of agents.defaults.models.
type ModelEntry struct {
	Alias  string         `json:"alias"`
	Params map[string]any `json:"params"` // numbers are float64; see [Config.ModelParams]
}

// Chunk is blockStreamingChunk.
type Chunk struct {
	MinChars        int    `json:"minChars"`        // 800
	MaxChars        int    `json:"maxChars"`        // 1200
	BreakPreference string `json:"breakPreference"` // paragraph
}

// Coalesce is blockStreamingCoalesce; zero fields take the channel's values.
type Coalesce struct {
	MinChars int `json:"minChars"`
	MaxChars int `json:"maxChars"`
	IdleMs   int `json:"idleMs"`
}

// HumanDelay is humanDelay.
type HumanDelay struct {
	Mode  string `json:"mode"`
	MinMs int    `json:"minMs"`
	MaxMs int    `json:"maxMs"`
}

// Heartbeat is heartbeat. In an agent only the fields that it sets count.
type Heartbeat struct {
	Every       string `json:"every"` // 30m
	ActiveHours *struct {
		Start    string `json:"start"`
		End      string `json:"end"`
		Timezone string `json:"timezone"`
	} `json:"activeHours"`
	Model            string `json:"model"`
	Session          string `json:"session"`
	IncludeReasoning bool   `json:"includeReasoning"`
	Target           string `json:"target"` // last
	To               string `json:"to"`
	AccountID        string `json:"accountId"`
	Prompt           string `json:"prompt"`
	AckMaxChars      int    `json:"ackMaxChars"` // 300
}

// SubagentDefaults is agents.defaults.subagents.
type SubagentDefaults struct {
	MaxConcurrent       int         `json:"maxConcurrent"`       // 8
	ArchiveAfterMinutes int         `json:"archiveAfterMinutes"` // 60
	Model               ModelChoice `json:"model"`
	Thinking            string      `json:"thinking"`
}

// Compaction is agents.defaults.compaction.
type Compaction struct {
	Mode               string  `json:"mode"`               // safeguard
	ReserveTokensFloor *int    `json:"reserveTokensFloor"` // nil: the default of the run
	MaxHistoryShare    float64 `json:"maxHistoryShare"`    // 0: the default of the run
	MemoryFlush        struct {
		Enabled             bool   `json:"enabled"`             // true
		SoftThresholdTokens int    `json:"softThresholdTokens"` // 4000
		Prompt              string `json:"prompt"`
		SystemPrompt        string `json:"systemPrompt"`
	} `json:"memoryFlush"`
}

// ContextPruning is agents.defaults.contextPruning; nil fields take the defaults
// of the run.
type ContextPruning struct {
	Mode                 string   `json:"mode"` // off
	TTL                  string   `json:"ttl"`
	KeepLastAssistants   *int     `json:"keepLastAssistants"`
	SoftTrimRatio        *float64 `json:"softTrimRatio"`
	HardClearRatio       *float64 `json:"hardClearRatio"`
	MinPrunableToolChars *int     `json:"minPrunableToolChars"`
	Tools                struct {
		Allow []string `json:"allow"`
		Deny  []string `json:"deny"`
	} `json:"tools"`
	SoftTrim struct {
		MaxChars  *int `json:"maxChars"`
		HeadChars *int `json:"headChars"`
		TailChars *int `json:"tailChars"`
	} `json:"softTrim"`
	HardClear struct {
		Enabled     *bool  `json:"enabled"`
		Placeholder string `json:"placeholder"`
	} `json:"hardClear"`
}

// CLIBackend is one of agents.defaults.cliBackends.
type CLIBackend struct {
	Command string   `json:"command"`
	Args    []string `json:"args"`
}

// Agent is one of agents.list. Nil and empty fields take agents.defaults.
type Agent struct {
	ID         string      `json:"id"` // as written; see [Config.Agent]
	Default    bool        `json:"default"`
	Name       string      `json:"name"`
	Workspace  string      `json:"workspace"`
	AgentDir   string      `json:"agentDir"`
	Model      ModelChoice `json:"model"`
	Skills     []string    `json:"skills"` // nil: all
	HumanDelay *HumanDelay `json:"humanDelay"`
	Heartbeat  *Heartbeat  `json:"heartbeat"`
	Identity   Identity    `json:"identity"`
	GroupChat  GroupChat   `json:"groupChat"`
	Subagents  struct {
		AllowAgents []string    `json:"allowAgents"`
		Model       ModelChoice `json:"model"`
		Thinking    string      `json:"thinking"`
	} `json:"subagents"`
	MemorySearch map[string]any `json:"memorySearch"`
	Sandbox      map[string]any `json:"sandbox"`
	Tools        AgentTools     `json:"tools"`
}

// Identity is how an agent presents itself.
type Identity struct {
	Name   string `json:"name"`
	Theme  string `json:"theme"`
	Emoji  string `json:"emoji"`
	Avatar string `json:"avatar"`
}

// Binding is one of bindings: which agent answers where.
type Binding struct {
	AgentID string `json:"agentId"`
	Match   struct {
		Channel   string `json:"channel"`
		AccountID string `json:"accountId"`
		Peer      *struct {
			Kind string `json:"kind"`
			ID   string `json:"id"`
		} `json:"peer"`
		GuildID string `json:"guildId"`
		TeamID  string `json:"teamId"`
	} `json:"match"`
}

func standardAgents() Agents {
	d := AgentDefaults{
		BootstrapMaxChars:     20000,
		TimeFormat:            "auto",
		EnvelopeTimezone:      "local",
		EnvelopeTimestamp:     "on",
		EnvelopeElapsed:       "on",
		VerboseDefault:        "off",
		ElevatedDefault:       "on",
		BlockStreamingDefault: "off",
		BlockStreamingBreak:   "text_end",
		BlockStreamingChunk:   Chunk{MinChars: 800, MaxChars: 1200, BreakPreference: "paragraph"},
		TimeoutSeconds:        600,
		MediaMaxMB:            5,
		TypingIntervalSeconds: 6,
		Heartbeat:             Heartbeat{Every: "30m", Target: "last", AckMaxChars: 300},
		MaxConcurrent:         4,
		Subagents:             SubagentDefaults{MaxConcurrent: 8, ArchiveAfterMinutes: 60},
		Compaction:            Compaction{Mode: "safeguard"},
		ContextPruning:        ContextPruning{Mode: "off"},
	}
	d.Compaction.MemoryFlush.Enabled = true
	d.Compaction.MemoryFlush.SoftThresholdTokens = 4000
	return Agents{Defaults: d}
}
