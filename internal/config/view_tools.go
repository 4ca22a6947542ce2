package config

import "openclaw/internal/logs"

// ToolRules is one place that says which tools may be used.
type ToolRules struct {
	Profile    string               `json:"profile"` // empty: full
	Allow      []string             `json:"allow"`
	AlsoAllow  []string             `json:"alsoAllow"`
	Deny       []string             `json:"deny"`
	ByProvider map[string]ToolRules `json:"byProvider"`
}

// ToolLists is [ToolRules] without profiles.
type ToolLists struct {
	Allow     []string `json:"allow"`
	AlsoAllow []string `json:"alsoAllow"`
	Deny      []string `json:"deny"`
}

// Exec is tools.exec. In an agent zero and nil fields take the global values.
type Exec struct {
	Host                    string   `json:"host"`     // sandbox
	Security                string   `json:"security"` // empty: deny on host sandbox, else allowlist
	Ask                     string   `json:"ask"`      // on-miss
	Node                    string   `json:"node"`
	PathPrepend             []string `json:"pathPrepend"`
	SafeBins                []string `json:"safeBins"`                // nil: the built-in list
	BackgroundMs            int      `json:"backgroundMs"`            // 10000
	TimeoutSec              int      `json:"timeoutSec"`              // 1800
	CleanupMs               int      `json:"cleanupMs"`               // 1800000
	ApprovalRunningNoticeMs *int     `json:"approvalRunningNoticeMs"` // 10000
	NotifyOnExit            *bool    `json:"notifyOnExit"`            // true
	ApplyPatch              struct {
		Enabled     bool     `json:"enabled"`
		AllowModels []string `json:"allowModels"`
	} `json:"applyPatch"`
}

// Elevated is tools.elevated.
type Elevated struct {
	Enabled   *bool               `json:"enabled"` // true
	AllowFrom map[string][]string `json:"allowFrom"`
}

// Tools is tools.
type Tools struct {
	Profile    string               `json:"profile"`
	Allow      []string             `json:"allow"`
	AlsoAllow  []string             `json:"alsoAllow"`
	Deny       []string             `json:"deny"`
	ByProvider map[string]ToolRules `json:"byProvider"`

	Exec     Exec     `json:"exec"`
	Elevated Elevated `json:"elevated"`
	Web      struct {
		Search WebSearch `json:"search"`
		Fetch  WebFetch  `json:"fetch"`
	} `json:"web"`
	AgentToAgent struct {
		Enabled bool     `json:"enabled"`
		Allow   []string `json:"allow"`
	} `json:"agentToAgent"`
	Subagents struct {
		Tools ToolLists `json:"tools"`
	} `json:"subagents"`
	Sandbox struct {
		Tools ToolLists `json:"tools"`
	} `json:"sandbox"`
}

// Rules returns the part of tools that decides which tools may be used.
func (t Tools) Rules() ToolRules {
	return ToolRules{t.Profile, t.Allow, t.AlsoAllow, t.Deny, t.ByProvider}
}

// WebSearch is tools.web.search.
type WebSearch struct {
	Enabled         bool        `json:"enabled"`  // true
	Provider        string      `json:"provider"` // brave
	APIKey          logs.Secret `json:"apiKey"`
	MaxResults      int         `json:"maxResults"`      // 5
	TimeoutSeconds  int         `json:"timeoutSeconds"`  // 30
	CacheTTLMinutes float64     `json:"cacheTtlMinutes"` // 15
	Perplexity      struct {
		APIKey  logs.Secret `json:"apiKey"`
		BaseURL string      `json:"baseUrl"`
		Model   string      `json:"model"`
	} `json:"perplexity"`
}

// WebFetch is tools.web.fetch.
type WebFetch struct {
	Enabled         bool    `json:"enabled"`         // true
	MaxChars        int     `json:"maxChars"`        // 50000
	MaxCharsCap     int     `json:"maxCharsCap"`     // 50000
	TimeoutSeconds  int     `json:"timeoutSeconds"`  // 30
	CacheTTLMinutes float64 `json:"cacheTtlMinutes"` // 15
	MaxRedirects    int     `json:"maxRedirects"`    // 3
	UserAgent       string  `json:"userAgent"`
}

// AgentTools is the tools block of an agent.
type AgentTools struct {
	Profile    string               `json:"profile"`
	Allow      []string             `json:"allow"`
	AlsoAllow  []string             `json:"alsoAllow"`
	Deny       []string             `json:"deny"`
	ByProvider map[string]ToolRules `json:"byProvider"`
	Exec       Exec                 `json:"exec"`
	Elevated   Elevated             `json:"elevated"`
	Sandbox    struct {
		Tools ToolLists `json:"tools"`
	} `json:"sandbox"`
}

// Rules returns the part of the block that decides which tools may be used.
func (t AgentTools) Rules() ToolRules {
	return ToolRules{t.Profile, t.Allow, t.AlsoAllow, t.Deny, t.ByProvider}
}

func standardTools() (t Tools) {
	yes, notice := true, 10000
	t.Exec = Exec{Host: "sandbox", Ask: "on-miss", BackgroundMs: 10000, TimeoutSec: 1800, CleanupMs: 1800000, ApprovalRunningNoticeMs: &notice, NotifyOnExit: &yes}
	t.Elevated.Enabled = &yes
	t.Web.Search = WebSearch{Enabled: true, Provider: "brave", MaxResults: 5, TimeoutSeconds: 30, CacheTTLMinutes: 15}
	t.Web.Fetch = WebFetch{Enabled: true, MaxChars: 50000, MaxCharsCap: 50000, TimeoutSeconds: 30, CacheTTLMinutes: 15, MaxRedirects: 3}
	return t
}
