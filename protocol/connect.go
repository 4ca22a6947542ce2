package protocol

import "encoding/json"

// Roles of a connection.
const (
	RoleOperator = "operator"
	RoleNode     = "node"
)

// Operator scopes. See docs/protocol.md#scopes.
const (
	ScopeRead      = "operator.read"
	ScopeWrite     = "operator.write"
	ScopeAdmin     = "operator.admin"
	ScopeApprovals = "operator.approvals"
	ScopePairing   = "operator.pairing"
)

// Client ids with a meaning of their own.
const (
	ClientWebchatUI   = "webchat-ui"
	ClientControlUI   = "openclaw-control-ui"
	ClientWebchat     = "webchat"
	ClientCLI         = "cli"
	ClientGateway     = "gateway-client"
	ClientMacOS       = "openclaw-macos"
	ClientIOS         = "openclaw-ios"
	ClientAndroid     = "openclaw-android"
	ClientNodeHost    = "node-host"
	ClientTest        = "test"
	ClientFingerprint = "fingerprint"
	ClientProbe       = "openclaw-probe"
	ClientTUI         = "openclaw-tui"
)

// Client modes.
const (
	ModeWebchat = "webchat"
	ModeCLI     = "cli"
	ModeUI      = "ui"
	ModeBackend = "backend"
	ModeNode    = "node"
	ModeProbe   = "probe"
	ModeTest    = "test"
	ModeWorker  = "worker"
)

// Capabilities a connection may announce.
const (
	// CapToolEvents asks for the tool stream of runs the connection started.
	CapToolEvents = "tool-events"
	// CapOpenClawGo offers the additions of docs/protocol.md#own-additions.
	CapOpenClawGo = "openclaw-go"
	// CapToolStatus asks for the tool stream of every run in open sessions.
	CapToolStatus = "tool-status"
)

// ChallengeEvent is the payload of connect.challenge, sent at once on accept.
type ChallengeEvent struct {
	Nonce        string   `json:"nonce" schema:"minLength=1"`
	Ts           int64    `json:"ts" schema:"min=0"`
	Capabilities []string `json:"capabilities,omitempty"` // protocol 4
}

// ConnectParams is the first request of every connection. Unknown keys are
// ignored at every level. See docs/protocol.md#connect.
type ConnectParams struct {
	_           struct{}        `schema:"open"`
	MinProtocol int             `json:"minProtocol" schema:"min=1"`
	MaxProtocol int             `json:"maxProtocol" schema:"min=1"`
	Client      ClientInfo      `json:"client"`
	Caps        []string        `json:"caps,omitempty" schema:"itemMinLength=1"`
	Commands    []string        `json:"commands,omitempty" schema:"itemMinLength=1"`
	Permissions map[string]bool `json:"permissions,omitempty" schema:"itemMinLength=1"`
	PathEnv     string          `json:"pathEnv,omitempty"`
	Role        string          `json:"role,omitempty" schema:"minLength=1"`
	Scopes      []string        `json:"scopes,omitempty" schema:"itemMinLength=1"`
	Device      *ConnectDevice  `json:"device,omitempty"`
	Auth        *ConnectAuth    `json:"auth,omitempty"`
	Locale      string          `json:"locale,omitempty"`
	UserAgent   string          `json:"userAgent,omitempty"`
}

// ClientInfo says what program is at the other end.
type ClientInfo struct {
	_               struct{} `schema:"open"`
	ID              string   `json:"id" schema:"enum=webchat-ui|openclaw-control-ui|webchat|cli|gateway-client|openclaw-macos|openclaw-ios|openclaw-android|node-host|test|fingerprint|openclaw-probe|openclaw-tui|openclaw-linux|openclaw-watchos|openclaw-browser-copilot|openclaw-worker"`
	DisplayName     string   `json:"displayName,omitempty" schema:"minLength=1"`
	Version         string   `json:"version" schema:"minLength=1"`
	Platform        string   `json:"platform" schema:"minLength=1"`
	DeviceFamily    string   `json:"deviceFamily,omitempty" schema:"minLength=1"`
	ModelIdentifier string   `json:"modelIdentifier,omitempty" schema:"minLength=1"`
	Mode            string   `json:"mode" schema:"enum=webchat|cli|ui|backend|node|probe|test|worker"`
	InstanceID      string   `json:"instanceId,omitempty" schema:"minLength=1"`
	BuildID         string   `json:"buildId,omitempty" schema:"maxLength=96"`  // protocol 4
	TimeZone        string   `json:"timeZone,omitempty" schema:"maxLength=64"` // protocol 4
}

// ConnectDevice proves possession of a device key. See docs/protocol.md#device.
type ConnectDevice struct {
	_         struct{} `schema:"open"`
	ID        string   `json:"id" schema:"minLength=1"`
	PublicKey string   `json:"publicKey" schema:"minLength=1"`
	Signature string   `json:"signature" schema:"minLength=1"`
	SignedAt  int64    `json:"signedAt" schema:"min=0"`
	Nonce     string   `json:"nonce,omitempty" schema:"minLength=1"`
}

// ConnectAuth carries the credentials of a connect.
type ConnectAuth struct {
	_        struct{} `schema:"open"`
	Token    Secret   `json:"token,omitempty"`
	Password Secret   `json:"password,omitempty"`
	// Protocol 4.
	DeviceToken          Secret `json:"deviceToken,omitempty"`
	BootstrapToken       Secret `json:"bootstrapToken,omitempty"`
	ApprovalRuntimeToken Secret `json:"approvalRuntimeToken,omitempty"`
	AgentRuntimeToken    Secret `json:"agentRuntimeIdentityToken,omitempty"`
}

// HelloType is the type field of [HelloOK].
const HelloType = "hello-ok"

// HelloOK is the payload of a successful connect. Its Protocol fixes the
// dialect of the whole connection. See docs/protocol.md#hello-ok.
type HelloOK struct {
	Type          string         `json:"type" schema:"const=hello-ok"`
	Protocol      int            `json:"protocol" schema:"min=1"`
	Server        HelloServer    `json:"server"`
	Features      HelloFeatures  `json:"features"`
	Snapshot      Snapshot       `json:"snapshot"`
	CanvasHostURL string         `json:"canvasHostUrl,omitempty" schema:"minLength=1"` // protocol 3
	PluginSurface *PluginSurface `json:"pluginSurfaceUrls,omitempty"`                  // protocol 4
	// Auth is present on protocol 3 only when there is a device token, on
	// protocol 4 always.
	Auth   *HelloAuth  `json:"auth,omitempty"`
	Policy HelloPolicy `json:"policy"`
}

// HelloServer names the gateway.
type HelloServer struct {
	Version string `json:"version" schema:"minLength=1"`
	Commit  string `json:"commit,omitempty" schema:"minLength=1"`  // protocol 3
	Host    string `json:"host,omitempty" schema:"minLength=1"`    // protocol 3
	BuildID string `json:"buildId,omitempty" schema:"minLength=1"` // protocol 4
	BootID  string `json:"bootId,omitempty" schema:"minLength=1"`  // protocol 4
	ConnID  string `json:"connId" schema:"minLength=1"`
}

// HelloFeatures lists what this connection may call and will receive.
type HelloFeatures struct {
	Methods      []string `json:"methods" schema:"itemMinLength=1"`
	Events       []string `json:"events" schema:"itemMinLength=1"`
	Capabilities []string `json:"capabilities,omitempty"` // protocol 4
}

// PluginSurface holds URLs of surfaces that the gateway hosts.
type PluginSurface struct {
	Canvas string `json:"canvas,omitempty"`
}

// HelloAuth is what the connection may do. On protocol 3 it exists only with a
// device token, which is repeated on every connect.
type HelloAuth struct {
	Method      string   `json:"method,omitempty" schema:"enum=none|token|password|tailscale|device-token|bootstrap-token|trusted-proxy"` // protocol 4
	DeviceToken Secret   `json:"deviceToken,omitempty" schema:"minLength=1"`
	Role        string   `json:"role" schema:"minLength=1"`
	Scopes      []string `json:"scopes"`
	IssuedAtMs  int64    `json:"issuedAtMs,omitempty" schema:"min=0"`
}

// HelloPolicy is what the connection must respect.
type HelloPolicy struct {
	MaxPayload       int64             `json:"maxPayload" schema:"min=1"`
	MaxBufferedBytes int64             `json:"maxBufferedBytes" schema:"min=1"`
	TickIntervalMs   int64             `json:"tickIntervalMs" schema:"min=1"`
	Attachments      *AttachmentPolicy `json:"attachments,omitempty"` // protocol 4
}

// AttachmentPolicy bounds attachments, in decoded bytes.
type AttachmentPolicy struct {
	MaxBytes      int64 `json:"maxBytes"`
	MaxImageBytes int64 `json:"maxImageBytes"`
}

// Snapshot is the state at the time of hello-ok.
type Snapshot struct {
	Presence []PresenceEntry `json:"presence"`
	// Health is the cached [HealthResult], or {} before the first one.
	Health       json.RawMessage `json:"health"`
	StateVersion StateVersion    `json:"stateVersion"`
	UptimeMs     int64           `json:"uptimeMs" schema:"min=0"`
	// ConfigPath and StateDir are host paths, sent only to admins.
	ConfigPath      string           `json:"configPath,omitempty" schema:"minLength=1"`
	StateDir        string           `json:"stateDir,omitempty" schema:"minLength=1"`
	SessionDefaults *SessionDefaults `json:"sessionDefaults,omitempty"`
	AuthMode        string           `json:"authMode,omitempty"` // protocol 4
}

// SessionDefaults says where a message without a session key goes.
type SessionDefaults struct {
	DefaultAgentID string `json:"defaultAgentId" schema:"minLength=1"`
	MainKey        string `json:"mainKey" schema:"minLength=1"`
	MainSessionKey string `json:"mainSessionKey" schema:"minLength=1"`
	Scope          string `json:"scope,omitempty" schema:"minLength=1"`
}
