package protocol

// HeartbeatEvent is the payload of heartbeat and, or null, the result of
// last-heartbeat.
type HeartbeatEvent struct {
	Ts            int64  `json:"ts" schema:"min=0"`
	Status        string `json:"status" schema:"enum=sent|ok-empty|ok-token|skipped|failed"`
	Reason        string `json:"reason,omitempty"`
	To            string `json:"to,omitempty"`
	Preview       string `json:"preview,omitempty" schema:"maxLength=200"`
	DurationMs    *int64 `json:"durationMs,omitempty"`
	HasMedia      bool   `json:"hasMedia,omitempty"`
	Channel       string `json:"channel,omitempty"`
	AccountID     string `json:"accountId,omitempty"`
	Silent        *bool  `json:"silent,omitempty"`
	IndicatorType string `json:"indicatorType,omitempty" schema:"enum=ok|alert|error"`
}

// SetHeartbeatsParams switches heartbeats on or off until the next restart.
type SetHeartbeatsParams struct {
	Enabled bool `json:"enabled"`
}

// SetHeartbeatsResult repeats the setting.
type SetHeartbeatsResult struct {
	OK      bool `json:"ok"`
	Enabled bool `json:"enabled"`
}
