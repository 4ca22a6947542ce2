package byo

// Host statuses in a heartbeat.
const (
	HostUnverified   = "unverified"
	HostHealthy      = "healthy"
	HostDegraded     = "degraded"
	HostAuthRequired = "auth_required"
	HostDisconnected = "disconnected"
	HostDisabled     = "disabled"
)

// Heartbeat is the body of POST /integrations/{id}/heartbeat. Every field is
// optional; an empty body is a heartbeat too. See docs/byo.md#heartbeat.
type Heartbeat struct {
	SupportsAssistantTasks bool    `json:"supports_assistant_tasks,omitempty"`
	SupportsReasoning      bool    `json:"supports_reasoning,omitempty"`
	ReasoningTransport     string  `json:"reasoning_transport,omitempty"`
	DisplayModel           *string `json:"display_model,omitempty"`
	ProviderRef            string  `json:"provider_ref,omitempty"`
	Status                 string  `json:"status,omitempty"`
	// DegradedReason is a code, never something a model wrote.
	DegradedReason *string            `json:"degraded_reason,omitempty"`
	Protocol       *HeartbeatProtocol `json:"protocol,omitempty"`
	CapabilityHash string             `json:"capability_hash,omitempty"` // a change asks for a new probe
	StreamCursor   string             `json:"stream_cursor,omitempty"`   // id of the last stream frame
}

// HeartbeatProtocol says what the assistant's side speaks.
type HeartbeatProtocol struct {
	PluginVersion    string `json:"plugin_version,omitempty"`
	EnvelopeVersions []int  `json:"envelope_versions,omitempty"`
	SupportsAck      bool   `json:"supports_ack,omitempty"`
}

// HeartbeatAnswer answers a heartbeat.
type HeartbeatAnswer struct {
	OK         bool   `json:"ok"`
	ServerTime string `json:"server_time"`
	NextInMS   int64  `json:"next_in_ms"`
	RekeyDue   bool   `json:"rekey_due"`
}

// Liveness of an assistant: how long ago its last sign of life was.
const (
	LivenessFresh   = "fresh"   // less than FreshFor
	LivenessStale   = "stale"   // less than OfflineAfter
	LivenessOffline = "offline" // longer, or never
)

// Integration is the bond of one desktop and one assistant, as the desktop sees
// it: the answer to GET /integrations/{id}.
type Integration struct {
	IntegrationID string `json:"integration_id"`
	Label         string `json:"label"`
	ProviderKind  string `json:"provider_kind"`
	BYOVersion    string `json:"byo_version"` // StaticV1, DuplexV2, or "" when nothing can be sealed
	Status        string `json:"status"`      // host status of the last heartbeat, or a pairing state before it is active
	Liveness      string `json:"liveness"`
	Connected     bool   `json:"connected"` // a stream is open
}

// Integrations answers GET /integrations.
type Integrations struct {
	Integrations []Integration `json:"integrations"`
}

// TokenRotated answers POST /integrations/{id}/token/rotate; the old token holds
// for [OldTokenFor] more.
type TokenRotated struct {
	RelayToken Secret `json:"relay_token"`
}
