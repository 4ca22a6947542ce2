package protocol

// StatusResult is the summary that `openclaw status` prints.
type StatusResult struct {
	LinkChannel        *LinkChannel    `json:"linkChannel,omitempty"`
	Heartbeat          StatusHeartbeat `json:"heartbeat"`
	ChannelSummary     []string        `json:"channelSummary"`
	QueuedSystemEvents []string        `json:"queuedSystemEvents"`
	Sessions           StatusSessions  `json:"sessions"`
}

// LinkChannel is a channel that needs a login.
type LinkChannel struct {
	ID        string `json:"id"`
	Label     string `json:"label"`
	Linked    bool   `json:"linked"`
	AuthAgeMs *int64 `json:"authAgeMs"`
}

// StatusHeartbeat lists the heartbeat of every agent.
type StatusHeartbeat struct {
	DefaultAgentID string                 `json:"defaultAgentId"`
	Agents         []StatusAgentHeartbeat `json:"agents"`
}

// StatusAgentHeartbeat is the heartbeat of one agent.
type StatusAgentHeartbeat struct {
	AgentID string `json:"agentId"`
	Enabled bool   `json:"enabled"`
	Every   string `json:"every"`
	EveryMs *int64 `json:"everyMs"`
}

// StatusSessions counts sessions and shows the newest ten.
type StatusSessions struct {
	Paths    []string              `json:"paths"`
	Count    int                   `json:"count"`
	Defaults StatusSessionDefaults `json:"defaults"`
	Recent   []StatusSession       `json:"recent"`
	ByAgent  []StatusAgentSessions `json:"byAgent"`
}

// StatusSessionDefaults is what a session without a choice of its own uses.
type StatusSessionDefaults struct {
	Model         *string `json:"model"`
	ContextTokens *int64  `json:"contextTokens"`
}

// StatusAgentSessions are the sessions of one agent.
type StatusAgentSessions struct {
	AgentID string          `json:"agentId"`
	Path    string          `json:"path"`
	Count   int             `json:"count"`
	Recent  []StatusSession `json:"recent"`
}

// StatusSession is one session with its use of the context window.
type StatusSession struct {
	AgentID         string   `json:"agentId,omitempty"`
	Key             string   `json:"key"`
	Kind            string   `json:"kind" schema:"enum=direct|group|global|unknown"`
	SessionID       string   `json:"sessionId,omitempty"`
	UpdatedAt       *int64   `json:"updatedAt"`
	Age             *int64   `json:"age"`
	ThinkingLevel   string   `json:"thinkingLevel,omitempty"`
	VerboseLevel    string   `json:"verboseLevel,omitempty"`
	ReasoningLevel  string   `json:"reasoningLevel,omitempty"`
	ElevatedLevel   string   `json:"elevatedLevel,omitempty"`
	SystemSent      *bool    `json:"systemSent,omitempty"`
	AbortedLastRun  *bool    `json:"abortedLastRun,omitempty"`
	InputTokens     *int64   `json:"inputTokens,omitempty"`
	OutputTokens    *int64   `json:"outputTokens,omitempty"`
	TotalTokens     *int64   `json:"totalTokens"`
	RemainingTokens *int64   `json:"remainingTokens"`
	PercentUsed     *int64   `json:"percentUsed"`
	Model           *string  `json:"model"`
	ContextTokens   *int64   `json:"contextTokens"`
	Flags           []string `json:"flags"`
}
