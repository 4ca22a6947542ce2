package protocol

import "encoding/json"

// Redacted stands for a secret in config.get. Written back it means "keep the
// stored value".
const Redacted = "__OPENCLAW_REDACTED__"

// ConfigIssue is a problem of the config file.
type ConfigIssue struct {
	Path    string `json:"path"`
	Message string `json:"message"`
}

// ConfigGetResult is a snapshot of the config file. Hash is the SHA-256 of the
// raw text in lower-case hex; writers send it back as baseHash.
type ConfigGetResult struct {
	Path         string          `json:"path"`
	Exists       bool            `json:"exists"`
	Raw          *string         `json:"raw"`
	Parsed       json.RawMessage `json:"parsed"`
	Valid        bool            `json:"valid"`
	Config       json.RawMessage `json:"config"`
	Hash         string          `json:"hash"`
	Issues       []ConfigIssue   `json:"issues"`
	Warnings     []ConfigIssue   `json:"warnings"`
	LegacyIssues []ConfigIssue   `json:"legacyIssues"`
}

// ConfigSetParams replaces the config file. Raw is JSON5.
type ConfigSetParams struct {
	Raw      string `json:"raw" schema:"minLength=1"`
	BaseHash string `json:"baseHash,omitempty" schema:"minLength=1"`
}

// ConfigSetResult is the config as it is now.
type ConfigSetResult struct {
	OK     bool            `json:"ok"`
	Path   string          `json:"path"`
	Config json.RawMessage `json:"config"`
}

// ConfigIssuesDetails is the details object of an "invalid config" error.
type ConfigIssuesDetails struct {
	Issues []ConfigIssue `json:"issues"`
}

// ConfigChangeParams replace the config file (config.apply) or merge into it
// (config.patch) and restart the gateway. RestartDelayMs nil means 2 s.
type ConfigChangeParams struct {
	Raw            string `json:"raw" schema:"minLength=1"`
	BaseHash       string `json:"baseHash,omitempty" schema:"minLength=1"`
	SessionKey     string `json:"sessionKey,omitempty"`
	Note           string `json:"note,omitempty"`
	RestartDelayMs *int64 `json:"restartDelayMs,omitempty" schema:"min=0"`
}

// ConfigApplyParams are the params of config.apply.
type ConfigApplyParams ConfigChangeParams

// ConfigPatchParams are the params of config.patch; Raw is a JSON merge patch.
type ConfigPatchParams ConfigChangeParams

// ConfigChangeResult answers config.apply and config.patch.
type ConfigChangeResult struct {
	OK       bool            `json:"ok"`
	Path     string          `json:"path"`
	Config   json.RawMessage `json:"config"`
	Restart  Restart         `json:"restart"`
	Sentinel RestartSentinel `json:"sentinel"`
}

// Restart says that and how the gateway will restart.
type Restart struct {
	OK      bool   `json:"ok"`
	PID     int    `json:"pid"`
	Signal  string `json:"signal" schema:"const=SIGUSR1"`
	DelayMs int64  `json:"delayMs"`
	Reason  string `json:"reason,omitempty" schema:"maxLength=200"`
	Mode    string `json:"mode" schema:"enum=emit|signal"`
}

// RestartSentinel is the note that a restart leaves for the time after it.
type RestartSentinel struct {
	Path    *string        `json:"path"`
	Payload RestartPayload `json:"payload"`
}

// RestartPayload is what is told to the session after a restart.
type RestartPayload struct {
	_          struct{}     `schema:"open"`
	Kind       string       `json:"kind"`
	Status     string       `json:"status"`
	Ts         int64        `json:"ts"`
	SessionKey string       `json:"sessionKey,omitempty"`
	Message    *string      `json:"message"`
	DoctorHint string       `json:"doctorHint,omitempty"`
	Stats      RestartStats `json:"stats,omitzero"`
}

// RestartStats says what caused a restart.
type RestartStats struct {
	_    struct{} `schema:"open"`
	Mode string   `json:"mode"`
	Root string   `json:"root,omitempty"`
}

// ConfigSchemaResult is the JSON Schema of the config file with hints for
// editors, by path; a * in a path stands for any key.
type ConfigSchemaResult struct {
	Schema      json.RawMessage   `json:"schema"`
	UIHints     map[string]UIHint `json:"uiHints"`
	Version     string            `json:"version" schema:"minLength=1"`
	GeneratedAt string            `json:"generatedAt"`
}

// UIHint says how an editor shows a config key.
type UIHint struct {
	Label        string `json:"label,omitempty"`
	Help         string `json:"help,omitempty"`
	Group        string `json:"group,omitempty"`
	Order        *int   `json:"order,omitempty"`
	Advanced     bool   `json:"advanced,omitempty"`
	Sensitive    bool   `json:"sensitive,omitempty"`
	Placeholder  string `json:"placeholder,omitempty"`
	ItemTemplate any    `json:"itemTemplate,omitempty"`
}
