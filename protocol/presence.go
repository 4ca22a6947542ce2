package protocol

// PresenceEntry is someone who is or was connected. system-presence answers a
// bare array of them. Empty strings are never sent.
type PresenceEntry struct {
	Host             string   `json:"host,omitempty" schema:"minLength=1"`
	IP               string   `json:"ip,omitempty" schema:"minLength=1"`
	Version          string   `json:"version,omitempty" schema:"minLength=1"`
	Platform         string   `json:"platform,omitempty" schema:"minLength=1"`
	DeviceFamily     string   `json:"deviceFamily,omitempty" schema:"minLength=1"`
	ModelIdentifier  string   `json:"modelIdentifier,omitempty" schema:"minLength=1"`
	Mode             string   `json:"mode,omitempty" schema:"minLength=1"`
	LastInputSeconds *int64   `json:"lastInputSeconds,omitempty" schema:"min=0"`
	Reason           string   `json:"reason,omitempty" schema:"minLength=1"`
	Tags             []string `json:"tags,omitempty" schema:"itemMinLength=1"`
	Text             string   `json:"text,omitempty"`
	Ts               int64    `json:"ts" schema:"min=0"`
	DeviceID         string   `json:"deviceId,omitempty" schema:"minLength=1"`
	Roles            []string `json:"roles,omitempty" schema:"itemMinLength=1"`
	Scopes           []string `json:"scopes,omitempty" schema:"itemMinLength=1"`
	InstanceID       string   `json:"instanceId,omitempty" schema:"minLength=1"`
}

// PresenceEvent is the payload of presence: everybody, newest first.
type PresenceEvent struct {
	Presence []PresenceEntry `json:"presence"`
}

// SystemEventParams tells the gateway something about the sender, which updates
// its presence, or a text for the main session.
type SystemEventParams struct {
	_                struct{} `schema:"any"`
	Text             string   `json:"text,omitempty"`
	DeviceID         string   `json:"deviceId,omitempty"`
	InstanceID       string   `json:"instanceId,omitempty"`
	Host             string   `json:"host,omitempty"`
	IP               string   `json:"ip,omitempty"`
	Mode             string   `json:"mode,omitempty"`
	Version          string   `json:"version,omitempty"`
	Platform         string   `json:"platform,omitempty"`
	DeviceFamily     string   `json:"deviceFamily,omitempty"`
	ModelIdentifier  string   `json:"modelIdentifier,omitempty"`
	LastInputSeconds *float64 `json:"lastInputSeconds,omitempty"`
	Reason           string   `json:"reason,omitempty"`
	Roles            []string `json:"roles,omitempty"`
	Scopes           []string `json:"scopes,omitempty"`
	Tags             []string `json:"tags,omitempty"`
}

// OKResult is the answer of methods that have nothing else to say.
type OKResult struct {
	OK bool `json:"ok"`
}
