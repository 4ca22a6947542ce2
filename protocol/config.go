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
