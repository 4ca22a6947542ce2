package protocol

import "encoding/json"

// HealthParams asks for the health snapshot. Probe asks for fresh checks. Any
// other params, even of another type, are ignored.
type HealthParams struct {
	_     struct{} `schema:"any"`
	Probe bool     `json:"probe,omitempty"`
}

// HealthResult is the health snapshot, also the payload of the health event.
type HealthResult struct {
	OK               bool                     `json:"ok"`
	Ts               int64                    `json:"ts"`
	DurationMs       int64                    `json:"durationMs"`
	Channels         map[string]ChannelHealth `json:"channels"`
	ChannelOrder     []string                 `json:"channelOrder"`
	ChannelLabels    map[string]string        `json:"channelLabels"`
	HeartbeatSeconds int                      `json:"heartbeatSeconds"`
	DefaultAgentID   string                   `json:"defaultAgentId"`
	Agents           []AgentHealth            `json:"agents"`
	Sessions         SessionsHealth           `json:"sessions"`
}

// ChannelHealth is the state of a channel or of one of its accounts.
type ChannelHealth struct {
	_           struct{}                 `schema:"open"`
	AccountID   string                   `json:"accountId,omitempty"`
	Configured  bool                     `json:"configured"`
	Linked      *bool                    `json:"linked,omitempty"`
	AuthAgeMs   *int64                   `json:"authAgeMs,omitempty"`
	Probe       json.RawMessage          `json:"probe,omitempty"`
	LastProbeAt *int64                   `json:"lastProbeAt,omitempty"`
	Accounts    map[string]ChannelHealth `json:"accounts,omitempty"`
}

// AgentHealth is the state of one agent.
type AgentHealth struct {
	AgentID   string         `json:"agentId"`
	Name      string         `json:"name,omitempty"`
	IsDefault bool           `json:"isDefault"`
	Heartbeat AgentHeartbeat `json:"heartbeat"`
	Sessions  SessionsHealth `json:"sessions"`
}

// AgentHeartbeat is the heartbeat plan of one agent.
type AgentHeartbeat struct {
	Enabled     bool   `json:"enabled"`
	Every       string `json:"every"`
	EveryMs     *int64 `json:"everyMs"`
	Prompt      string `json:"prompt"`
	Target      string `json:"target"`
	Model       string `json:"model,omitempty"`
	AckMaxChars int    `json:"ackMaxChars"`
}

// SessionsHealth counts sessions and names the newest five.
type SessionsHealth struct {
	Path   string          `json:"path"`
	Count  int             `json:"count"`
	Recent []RecentSession `json:"recent"`
}

// RecentSession is a session in [SessionsHealth]; times are milliseconds.
type RecentSession struct {
	Key       string `json:"key"`
	UpdatedAt *int64 `json:"updatedAt"`
	Age       *int64 `json:"age"`
}
