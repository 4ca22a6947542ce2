package protocol

// PendingDevice is a device that waits for approval. It is also the payload of
// device.pair.requested.
type PendingDevice struct {
	RequestID   string   `json:"requestId" schema:"minLength=1"`
	DeviceID    string   `json:"deviceId" schema:"minLength=1"`
	PublicKey   string   `json:"publicKey" schema:"minLength=1"`
	DisplayName string   `json:"displayName,omitempty" schema:"minLength=1"`
	Platform    string   `json:"platform,omitempty" schema:"minLength=1"`
	ClientID    string   `json:"clientId,omitempty" schema:"minLength=1"`
	ClientMode  string   `json:"clientMode,omitempty" schema:"minLength=1"`
	Role        string   `json:"role,omitempty" schema:"minLength=1"`
	Roles       []string `json:"roles,omitempty" schema:"itemMinLength=1"`
	Scopes      []string `json:"scopes,omitempty" schema:"itemMinLength=1"`
	RemoteIP    string   `json:"remoteIp,omitempty" schema:"minLength=1"`
	Silent      bool     `json:"silent"`
	IsRepair    bool     `json:"isRepair"`
	Ts          int64    `json:"ts" schema:"min=0"`
}

// PairedDevice is an approved device as the outside sees it, without tokens.
type PairedDevice struct {
	DeviceID     string            `json:"deviceId" schema:"minLength=1"`
	PublicKey    string            `json:"publicKey" schema:"minLength=1"`
	DisplayName  string            `json:"displayName,omitempty"`
	Platform     string            `json:"platform,omitempty"`
	ClientID     string            `json:"clientId,omitempty"`
	ClientMode   string            `json:"clientMode,omitempty"`
	Role         string            `json:"role,omitempty"`
	Roles        []string          `json:"roles,omitempty"`
	Scopes       []string          `json:"scopes,omitempty"`
	RemoteIP     string            `json:"remoteIp,omitempty"`
	Tokens       []DeviceTokenInfo `json:"tokens,omitempty"`
	CreatedAtMs  int64             `json:"createdAtMs"`
	ApprovedAtMs int64             `json:"approvedAtMs"`
}

// DeviceTokenInfo describes a device token without the token.
type DeviceTokenInfo struct {
	Role         string   `json:"role"`
	Scopes       []string `json:"scopes"`
	CreatedAtMs  int64    `json:"createdAtMs"`
	RotatedAtMs  int64    `json:"rotatedAtMs,omitempty"`
	RevokedAtMs  int64    `json:"revokedAtMs,omitempty"`
	LastUsedAtMs int64    `json:"lastUsedAtMs,omitempty"`
}

// DevicePairListResult lists devices, newest first.
type DevicePairListResult struct {
	Pending []PendingDevice `json:"pending"`
	Paired  []PairedDevice  `json:"paired"`
}

// DevicePairApproveParams approves a pending request.
type DevicePairApproveParams struct {
	RequestID string `json:"requestId" schema:"minLength=1"`
}

// DevicePairApproveResult is the device as it is paired now.
type DevicePairApproveResult struct {
	RequestID string       `json:"requestId"`
	Device    PairedDevice `json:"device"`
}

// DevicePairRejectParams rejects a pending request.
type DevicePairRejectParams struct {
	RequestID string `json:"requestId" schema:"minLength=1"`
}

// DevicePairRejectResult names what was rejected.
type DevicePairRejectResult struct {
	RequestID string `json:"requestId"`
	DeviceID  string `json:"deviceId"`
}

// DeviceTokenRotateParams replaces the token of a device and role. Scopes nil
// keeps the scopes of the old token.
type DeviceTokenRotateParams struct {
	DeviceID string   `json:"deviceId" schema:"minLength=1"`
	Role     string   `json:"role" schema:"minLength=1"`
	Scopes   []string `json:"scopes,omitempty" schema:"itemMinLength=1"`
}

// DeviceTokenRotateResult describes the new token. Token is there only for an
// admin or the device itself.
type DeviceTokenRotateResult struct {
	DeviceID    string   `json:"deviceId"`
	Role        string   `json:"role"`
	Token       Secret   `json:"token,omitempty"`
	Scopes      []string `json:"scopes"`
	RotatedAtMs int64    `json:"rotatedAtMs"`
}

// DeviceTokenRevokeParams revokes the token of a device and role.
type DeviceTokenRevokeParams struct {
	DeviceID string `json:"deviceId" schema:"minLength=1"`
	Role     string `json:"role" schema:"minLength=1"`
}

// DeviceTokenRevokeResult says when the token was revoked.
type DeviceTokenRevokeResult struct {
	DeviceID    string `json:"deviceId"`
	Role        string `json:"role"`
	RevokedAtMs int64  `json:"revokedAtMs"`
}

// Decisions of [PairResolvedEvent].
const (
	DecisionApproved = "approved"
	DecisionRejected = "rejected"
)

// PairResolvedEvent is the payload of device.pair.resolved.
type PairResolvedEvent struct {
	RequestID string `json:"requestId" schema:"minLength=1"`
	DeviceID  string `json:"deviceId" schema:"minLength=1"`
	Decision  string `json:"decision" schema:"enum=approved|rejected"`
	Ts        int64  `json:"ts" schema:"min=0"`
}
