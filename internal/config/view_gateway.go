package config

import "openclaw/internal/logs"

// Gateway is gateway.
type Gateway struct {
	Port           int          `json:"port"` // 18789; see [Config.Port] for the environment
	Mode           string       `json:"mode"` // local, remote or empty
	Bind           string       `json:"bind"` // loopback
	CustomBindHost string       `json:"customBindHost"`
	Auth           GatewayAuth  `json:"auth"`
	TLS            GatewayTLS   `json:"tls"`
	ControlUI      ControlUI    `json:"controlUi"`
	TrustedProxies []string     `json:"trustedProxies"` // addresses or CIDR
	Tailscale      Tailscale    `json:"tailscale"`
	Remote         Remote       `json:"remote"`
	Reload         Reload       `json:"reload"`
	HTTP           GatewayHTTP  `json:"http"`
	Nodes          GatewayNodes `json:"nodes"`
	Tools          struct {
		Allow []string `json:"allow"`
		Deny  []string `json:"deny"`
	} `json:"tools"`
	Compat struct {
		AllowUnchallengedLocalDevices bool `json:"allowUnchallengedLocalDevices"`
	} `json:"compat"`
	Pairing struct {
		// LocalAutoApproveUpgrades is nil for the default: only for client mode cli.
		LocalAutoApproveUpgrades *bool `json:"localAutoApproveUpgrades"`
	} `json:"pairing"`
}

// GatewayAuth is gateway.auth.
type GatewayAuth struct {
	Mode           string      `json:"mode"` // empty: password when only that is set, else token
	Token          logs.Secret `json:"token"`
	Password       logs.Secret `json:"password"`
	AllowTailscale *bool       `json:"allowTailscale"` // nil: when tailscale serves and mode is not password
	TrustedProxy   struct {
		UserHeader      string   `json:"userHeader"`
		RequiredHeaders []string `json:"requiredHeaders"`
		AllowUsers      []string `json:"allowUsers"`
		AllowLoopback   bool     `json:"allowLoopback"`
	} `json:"trustedProxy"`
	IdentityScopes map[string][]string `json:"identityScopes"`
}

// GatewayTLS is gateway.tls.
type GatewayTLS struct {
	Enabled      bool   `json:"enabled"`
	AutoGenerate bool   `json:"autoGenerate"` // true
	CertPath     string `json:"certPath"`
	KeyPath      string `json:"keyPath"`
	CAPath       string `json:"caPath"`
}

// ControlUI is gateway.controlUi.
type ControlUI struct {
	Enabled                      bool     `json:"enabled"` // true
	BasePath                     string   `json:"basePath"`
	Root                         string   `json:"root"`
	AllowedOrigins               []string `json:"allowedOrigins"`
	AllowInsecureAuth            bool     `json:"allowInsecureAuth"`
	DangerouslyDisableDeviceAuth bool     `json:"dangerouslyDisableDeviceAuth"`
	AllowLoopbackOrigins         bool     `json:"allowLoopbackOrigins"`
}

// Tailscale is gateway.tailscale.
type Tailscale struct {
	Mode        string `json:"mode"` // off
	ResetOnExit bool   `json:"resetOnExit"`
}

// Remote is gateway.remote: the gateway that clients on this machine use.
type Remote struct {
	URL            string      `json:"url"`
	Transport      string      `json:"transport"`
	Token          logs.Secret `json:"token"`
	Password       logs.Secret `json:"password"`
	TLSFingerprint string      `json:"tlsFingerprint"`
	SSHTarget      string      `json:"sshTarget"`
	SSHIdentity    string      `json:"sshIdentity"`
}

// Reload is gateway.reload.
type Reload struct {
	Mode       string `json:"mode"`       // hybrid
	DebounceMs int    `json:"debounceMs"` // 300
}

// GatewayHTTP is gateway.http.
type GatewayHTTP struct {
	Endpoints struct {
		ChatCompletions struct {
			Enabled bool `json:"enabled"`
		} `json:"chatCompletions"`
		Responses ResponsesEndpoint `json:"responses"`
	} `json:"endpoints"`
}

// ResponsesEndpoint is gateway.http.endpoints.responses.
type ResponsesEndpoint struct {
	Enabled      bool       `json:"enabled"`
	MaxBodyBytes int64      `json:"maxBodyBytes"` // 20971520
	Files        FetchRules `json:"files"`
	Images       FetchRules `json:"images"`
}

// FetchRules limit files that a request brings or names.
type FetchRules struct {
	AllowURL     bool     `json:"allowUrl"` // false
	AllowedMimes []string `json:"allowedMimes"`
	MaxBytes     int64    `json:"maxBytes"`     // 5 MB, images 10 MB
	MaxChars     int      `json:"maxChars"`     // 200000
	MaxRedirects int      `json:"maxRedirects"` // 3
	TimeoutMs    int      `json:"timeoutMs"`    // 10000
	PDF          struct {
		MaxPages     int `json:"maxPages"`     // 4
		MaxPixels    int `json:"maxPixels"`    // 4000000
		MinTextChars int `json:"minTextChars"` // 200
	} `json:"pdf"`
}

// GatewayNodes is gateway.nodes.
type GatewayNodes struct {
	Browser struct {
		Mode string `json:"mode"`
		Node string `json:"node"`
	} `json:"browser"`
	AllowCommands []string `json:"allowCommands"`
	DenyCommands  []string `json:"denyCommands"`
}

// DefaultPort is the gateway's port when nothing else is said.
const DefaultPort = 18789

func standardGateway() Gateway {
	g := Gateway{
		Port: DefaultPort, Bind: "loopback",
		TLS:       GatewayTLS{AutoGenerate: true},
		ControlUI: ControlUI{Enabled: true},
		Tailscale: Tailscale{Mode: "off"},
		Reload:    Reload{Mode: "hybrid", DebounceMs: 300},
	}
	r := &g.HTTP.Endpoints.Responses
	r.MaxBodyBytes = 20 << 20
	r.Files = FetchRules{MaxBytes: 5 << 20, MaxChars: 200000, MaxRedirects: 3, TimeoutMs: 10000}
	r.Files.PDF.MaxPages, r.Files.PDF.MaxPixels, r.Files.PDF.MinTextChars = 4, 4000000, 200
	r.Images = FetchRules{MaxBytes: 10 << 20, MaxRedirects: 3, TimeoutMs: 10000}
	return g
}
