package protocol

import "encoding/json"

// Error codes of a response. See docs/protocol.md#error-codes.
const (
	CodeInvalidRequest   = "INVALID_REQUEST"
	CodeNotPaired        = "NOT_PAIRED"
	CodeUnavailable      = "UNAVAILABLE"
	CodeAgentTimeout     = "AGENT_TIMEOUT" // reserved
	CodeNotLinked        = "NOT_LINKED"    // reserved
	CodeForbidden        = "FORBIDDEN"     // protocol 4
	CodeApprovalNotFound = "APPROVAL_NOT_FOUND"
)

// Error is the error of a failed response. It is a Go error whose text is the
// message alone, which is what people are meant to read.
type Error struct {
	Code    string          `json:"code" schema:"minLength=1"`
	Message string          `json:"message" schema:"minLength=1"`
	Details json.RawMessage `json:"details,omitempty"`
	// Retryable says that the same request may succeed later, RetryAfterMs when.
	Retryable    bool  `json:"retryable,omitempty"`
	RetryAfterMs int64 `json:"retryAfterMs,omitempty" schema:"min=0"`
}

// Error implements error.
func (e *Error) Error() string { return e.Message }

// DetailCode returns the code inside the details, or "". Connect failures carry
// one of the Detail constants there.
func (e *Error) DetailCode() string {
	var d struct {
		Code string `json:"code"`
	}
	if len(e.Details) == 0 || json.Unmarshal(e.Details, &d) != nil {
		return ""
	}
	return d.Code
}

// Values of details.code. See docs/protocol.md#protocol-4-errors.
const (
	DetailMissingScope       = "MISSING_SCOPE"
	DetailPairingRequired    = "PAIRING_REQUIRED"
	DetailProtocolMismatch   = "PROTOCOL_MISMATCH"
	DetailClientVersion      = "CLIENT_VERSION_MISMATCH"
	DetailAuthRequired       = "AUTH_REQUIRED"
	DetailAuthUnauthorized   = "AUTH_UNAUTHORIZED"
	DetailTokenMissing       = "AUTH_TOKEN_MISSING"
	DetailTokenMismatch      = "AUTH_TOKEN_MISMATCH"
	DetailTokenUnset         = "AUTH_TOKEN_NOT_CONFIGURED"
	DetailPasswordMissing    = "AUTH_PASSWORD_MISSING"
	DetailPasswordMismatch   = "AUTH_PASSWORD_MISMATCH"
	DetailPasswordUnset      = "AUTH_PASSWORD_NOT_CONFIGURED"
	DetailBootstrapInvalid   = "AUTH_BOOTSTRAP_TOKEN_INVALID"
	DetailDeviceToken        = "AUTH_DEVICE_TOKEN_MISMATCH"
	DetailAuthScope          = "AUTH_SCOPE_MISMATCH"
	DetailRateLimited        = "AUTH_RATE_LIMITED"
	DetailTailscaleMissing   = "AUTH_TAILSCALE_IDENTITY_MISSING"
	DetailTailscaleProxy     = "AUTH_TAILSCALE_PROXY_MISSING"
	DetailTailscaleWhois     = "AUTH_TAILSCALE_WHOIS_FAILED"
	DetailTailscaleMismatch  = "AUTH_TAILSCALE_IDENTITY_MISMATCH"
	DetailOriginNotAllowed   = "CONTROL_UI_ORIGIN_NOT_ALLOWED"
	DetailControlUIDevice    = "CONTROL_UI_DEVICE_IDENTITY_REQUIRED"
	DetailDeviceRequired     = "DEVICE_IDENTITY_REQUIRED"
	DetailDeviceAuth         = "DEVICE_AUTH_INVALID"
	DetailDeviceIDMismatch   = "DEVICE_AUTH_DEVICE_ID_MISMATCH"
	DetailSignatureExpired   = "DEVICE_AUTH_SIGNATURE_EXPIRED"
	DetailNonceRequired      = "DEVICE_AUTH_NONCE_REQUIRED"
	DetailNonceMismatch      = "DEVICE_AUTH_NONCE_MISMATCH"
	DetailSignatureInvalid   = "DEVICE_AUTH_SIGNATURE_INVALID"
	DetailPublicKeyInvalid   = "DEVICE_AUTH_PUBLIC_KEY_INVALID"
	NextRetryWithDeviceToken = "retry_with_device_token"
	NextUpdateAuthConfig     = "update_auth_configuration"
	NextUpdateCredentials    = "update_auth_credentials"
	NextWaitThenRetry        = "wait_then_retry"
	NextReviewAuthConfig     = "review_auth_configuration"
)

// ConnectErrorDetails is the details object of a refused connect.
type ConnectErrorDetails struct {
	Code string `json:"code,omitempty"`
	// Reason names what was wrong with a device, or why pairing is needed.
	Reason string `json:"reason,omitempty"`

	// Version mismatch.
	ExpectedProtocol     int `json:"expectedProtocol,omitempty"`
	ClientMinProtocol    int `json:"clientMinProtocol,omitempty"`
	ClientMaxProtocol    int `json:"clientMaxProtocol,omitempty"`
	MinimumProbeProtocol int `json:"minimumProbeProtocol,omitempty"`

	// Pairing.
	RequestID       string   `json:"requestId,omitempty"`
	DeviceID        string   `json:"deviceId,omitempty"`
	RequestedRole   string   `json:"requestedRole,omitempty"`
	RequestedScopes []string `json:"requestedScopes,omitempty"`
	ApprovedRoles   []string `json:"approvedRoles,omitempty"`
	ApprovedScopes  []string `json:"approvedScopes,omitempty"`
	RemediationHint string   `json:"remediationHint,omitempty"`

	CanRetryWithDeviceToken bool   `json:"canRetryWithDeviceToken,omitempty"`
	RecommendedNextStep     string `json:"recommendedNextStep,omitempty"`
}

// ScopeErrorDetails is the details object of a FORBIDDEN error.
type ScopeErrorDetails struct {
	Code           string   `json:"code"`
	MissingScope   string   `json:"missingScope"`
	RequiredScopes []string `json:"requiredScopes"`
}
