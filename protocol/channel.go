package protocol

import "encoding/json"

// ChannelsStatusParams asks for all channels. Probe asks them; TimeoutMs nil
// means 10 s.
type ChannelsStatusParams struct {
	Probe     bool   `json:"probe,omitempty"`
	TimeoutMs *int64 `json:"timeoutMs,omitempty" schema:"min=0"`
}

// ChannelsStatusResult describes every channel, by its id.
type ChannelsStatusResult struct {
	Ts                      int64                       `json:"ts"`
	ChannelOrder            []string                    `json:"channelOrder"`
	ChannelLabels           map[string]string           `json:"channelLabels"`
	ChannelDetailLabels     map[string]string           `json:"channelDetailLabels"`
	ChannelSystemImages     map[string]string           `json:"channelSystemImages"`
	ChannelMeta             []ChannelMeta               `json:"channelMeta"`
	Channels                map[string]json.RawMessage  `json:"channels"` // at least configured
	ChannelAccounts         map[string][]ChannelAccount `json:"channelAccounts"`
	ChannelDefaultAccountID map[string]string           `json:"channelDefaultAccountId"`
}

// ChannelMeta is how a channel is shown.
type ChannelMeta struct {
	ID          string `json:"id"`
	Label       string `json:"label"`
	DetailLabel string `json:"detailLabel"`
	SystemImage string `json:"systemImage,omitempty"`
}

// ChannelAccount is one login on a channel.
type ChannelAccount struct {
	_                      struct{}        `schema:"open"`
	AccountID              string          `json:"accountId"`
	Name                   string          `json:"name,omitempty"`
	Enabled                *bool           `json:"enabled,omitempty"`
	Configured             *bool           `json:"configured,omitempty"`
	Linked                 *bool           `json:"linked,omitempty"`
	Running                *bool           `json:"running,omitempty"`
	Connected              *bool           `json:"connected,omitempty"`
	ReconnectAttempts      *int            `json:"reconnectAttempts,omitempty"`
	LastConnectedAt        *int64          `json:"lastConnectedAt,omitempty"`
	LastError              string          `json:"lastError,omitempty"`
	LastStartAt            *int64          `json:"lastStartAt,omitempty"`
	LastStopAt             *int64          `json:"lastStopAt,omitempty"`
	LastInboundAt          *int64          `json:"lastInboundAt,omitempty"`
	LastOutboundAt         *int64          `json:"lastOutboundAt,omitempty"`
	LastProbeAt            *int64          `json:"lastProbeAt,omitempty"`
	Mode                   string          `json:"mode,omitempty"`
	DMPolicy               string          `json:"dmPolicy,omitempty"`
	AllowFrom              []string        `json:"allowFrom,omitempty"`
	TokenSource            string          `json:"tokenSource,omitempty"`
	BotTokenSource         string          `json:"botTokenSource,omitempty"`
	AppTokenSource         string          `json:"appTokenSource,omitempty"`
	BaseURL                string          `json:"baseUrl,omitempty"`
	AllowUnmentionedGroups *bool           `json:"allowUnmentionedGroups,omitempty"`
	CLIPath                *string         `json:"cliPath,omitempty"`
	DBPath                 *string         `json:"dbPath,omitempty"`
	Port                   *int            `json:"port,omitempty"`
	Probe                  json.RawMessage `json:"probe,omitempty"`
	Audit                  json.RawMessage `json:"audit,omitempty"`
	Application            json.RawMessage `json:"application,omitempty"`
}

// ChannelsLogoutParams logs an account out, the default one when empty.
type ChannelsLogoutParams struct {
	Channel   string `json:"channel" schema:"minLength=1"`
	AccountID string `json:"accountId,omitempty"`
}

// ChannelsLogoutResult says what was cleared; channels add their own keys.
type ChannelsLogoutResult struct {
	_         struct{} `schema:"open"`
	Channel   string   `json:"channel"`
	AccountID string   `json:"accountId"`
	Cleared   bool     `json:"cleared"`
	LoggedOut *bool    `json:"loggedOut,omitempty"`
}

// WebLoginStartParams starts a login by QR code.
type WebLoginStartParams struct {
	Force     bool   `json:"force,omitempty"`
	TimeoutMs *int64 `json:"timeoutMs,omitempty" schema:"min=0"`
	Verbose   bool   `json:"verbose,omitempty"`
	AccountID string `json:"accountId,omitempty"`
}

// WebLoginStartResult is what to show to the user.
type WebLoginStartResult struct {
	Message   string `json:"message"`
	QRDataURL string `json:"qrDataUrl,omitempty"`
}

// WebLoginWaitParams waits for the login to be done.
type WebLoginWaitParams struct {
	TimeoutMs *int64 `json:"timeoutMs,omitempty" schema:"min=0"`
	AccountID string `json:"accountId,omitempty"`
}

// WebLoginWaitResult says whether the login is done.
type WebLoginWaitResult struct {
	Connected bool   `json:"connected"`
	Message   string `json:"message"`
}

// ChannelsPairingListParams asks for senders that wait for approval.
type ChannelsPairingListParams struct {
	Channel string `json:"channel,omitempty" schema:"minLength=1"`
}

// ChannelsPairingListResult lists senders that wait, by channel.
type ChannelsPairingListResult struct {
	Ts       int64            `json:"ts"`
	Channels []ChannelPairing `json:"channels"`
}

// ChannelPairing are the waiting senders of one channel.
type ChannelPairing struct {
	Channel    string          `json:"channel"`
	IDLabel    string          `json:"idLabel"`
	TTLMs      int64           `json:"ttlMs"`
	MaxPending int             `json:"maxPending"`
	Requests   []SenderRequest `json:"requests"`
}

// SenderRequest is one sender that waits.
type SenderRequest struct {
	ID         string            `json:"id"`
	Code       string            `json:"code"`
	CreatedAt  string            `json:"createdAt"`
	LastSeenAt string            `json:"lastSeenAt"`
	Meta       map[string]string `json:"meta,omitempty"`
}

// ChannelsPairingApproveParams approves a sender by its code. Notify nil means true.
type ChannelsPairingApproveParams struct {
	Channel string `json:"channel" schema:"minLength=1"`
	Code    string `json:"code" schema:"minLength=1"`
	Notify  *bool  `json:"notify,omitempty"`
}

// ChannelsPairingApproveResult says who was approved.
type ChannelsPairingApproveResult struct {
	OK       bool   `json:"ok"`
	Channel  string `json:"channel"`
	ID       string `json:"id"`
	Notified bool   `json:"notified"`
}

// ChannelsPairingRejectParams drops a sender's request.
type ChannelsPairingRejectParams struct {
	Channel string `json:"channel" schema:"minLength=1"`
	Code    string `json:"code" schema:"minLength=1"`
}

// ChannelsPairingRejectResult says whose request was dropped.
type ChannelsPairingRejectResult struct {
	OK      bool   `json:"ok"`
	Channel string `json:"channel"`
	ID      string `json:"id"`
}
