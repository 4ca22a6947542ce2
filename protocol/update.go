package protocol

import "encoding/json"

// UpdateRunParams updates the program and restarts it.
type UpdateRunParams struct {
	SessionKey     string `json:"sessionKey,omitempty"`
	Note           string `json:"note,omitempty"`
	RestartDelayMs *int64 `json:"restartDelayMs,omitempty" schema:"min=0"`
	TimeoutMs      *int64 `json:"timeoutMs,omitempty" schema:"min=1"`
}

// UpdateRunResult is how the update went. A build that cannot update itself
// skips and does not restart.
type UpdateRunResult struct {
	OK       bool             `json:"ok"`
	Result   UpdateOutcome    `json:"result"`
	Restart  *Restart         `json:"restart"`
	Sentinel *RestartSentinel `json:"sentinel"`
}

// UpdateOutcome is what the update did.
type UpdateOutcome struct {
	_          struct{}          `schema:"open"`
	Status     string            `json:"status" schema:"enum=ok|skipped|error"`
	Mode       string            `json:"mode"`
	Root       string            `json:"root,omitempty"`
	Before     json.RawMessage   `json:"before,omitempty"`
	After      json.RawMessage   `json:"after,omitempty"`
	Reason     string            `json:"reason,omitempty"`
	Steps      []json.RawMessage `json:"steps"`
	DurationMs int64             `json:"durationMs"`
}
