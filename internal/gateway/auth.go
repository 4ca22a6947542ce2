package gateway

import (
	"context"
	"crypto/sha256"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"openclaw/internal/logs"
	"openclaw/protocol"
)

// authMethod is how a connection proved itself; the values are those of
// auth.method in hello-ok.
type authMethod string

const (
	authToken       authMethod = "token"
	authPassword    authMethod = "password"
	authTailscale   authMethod = "tailscale"
	authDeviceToken authMethod = "device-token"
)

// Auth modes of gateway.auth.mode.
const (
	modeToken    = "token"
	modePassword = "password"
)

// secrets is what a caller is measured against. It is read anew for each
// authentication, so that a changed config counts at once.
type secrets struct {
	mode            string
	token, password logs.Secret
	tailscale       bool
}

// shared returns the secret of the mode and whether there is one.
func (s secrets) shared() (logs.Secret, bool) {
	if s.mode == modePassword {
		return s.password, s.password.Reveal() != ""
	}
	return s.token, s.token.Reveal() != ""
}

// print returns the digests by which connections remember which secret let
// them in.
func (s secrets) print() (token, password [32]byte) {
	return sha256.Sum256([]byte(s.token)), sha256.Sum256([]byte(s.password))
}

// offer is what a caller brings along.
type offer struct {
	token, password string
	deviceToken     string
	tailscale       tailscaleClaim
}

// authFailure says why shared authentication failed; see failureTexts.
type authFailure string

const (
	tokenMissing      authFailure = "token_missing"
	tokenMismatch     authFailure = "token_mismatch"
	tokenUnset        authFailure = "token_missing_config"
	passwordMissing   authFailure = "password_missing"
	passwordMismatch  authFailure = "password_mismatch"
	passwordUnset     authFailure = "password_missing_config"
	tailscaleMissing  authFailure = "tailscale_user_missing"
	tailscaleProxy    authFailure = "tailscale_proxy_missing"
	tailscaleWhois    authFailure = "tailscale_whois_failed"
	tailscaleMismatch authFailure = "tailscale_user_mismatch"
	authLocked        authFailure = "rate_limited"
)

// checkShared measures o against the shared secret alone. See
// docs/protocol.md#shared-auth.
func checkShared(s secrets, o offer, version int) (authMethod, authFailure) {
	want, ok := s.shared()
	got, method := o.token, authToken
	missing, mismatch, unset := tokenMissing, tokenMismatch, tokenUnset
	if s.mode == modePassword {
		got, method = o.password, authPassword
		missing, mismatch, unset = passwordMissing, passwordMismatch, passwordUnset
	}
	if got == "" && version >= protocol.Version4 {
		// Newer clients may put the secret into either field.
		got = o.token + o.password
	}
	switch {
	case !ok:
		return "", unset
	case got == "":
		return "", missing
	case !want.Equal(logs.Secret(got)):
		return "", mismatch
	}
	return method, ""
}

// tailscaleClaim is what a request says about its Tailscale identity, taken at
// the upgrade.
type tailscaleClaim struct {
	login string
	// proxied is true when the request came over loopback with all the headers
	// that `tailscale serve` sets.
	proxied bool
	client  netip.Addr
}

func claimOf(r *http.Request) tailscaleClaim {
	c := tailscaleClaim{login: strings.TrimSpace(r.Header.Get("Tailscale-User-Login"))}
	first, _, _ := strings.Cut(r.Header.Get("X-Forwarded-For"), ",")
	c.client = parseAddr(first)
	socket := parseAddr(r.RemoteAddr)
	c.proxied = socket.IsValid() && socket.IsLoopback() && c.client.IsValid() &&
		r.Header.Get("X-Forwarded-Proto") != "" && r.Header.Get("X-Forwarded-Host") != ""
	return c
}

// whoisTimeout bounds the question to the local Tailscale daemon.
const whoisTimeout = 3 * time.Second

// checkTailscale verifies a claim with the local daemon; without a way to ask it
// every claim fails.
func checkTailscale(ctx context.Context, whois func(context.Context, netip.Addr) (string, error), c tailscaleClaim) authFailure {
	if c.login == "" {
		return tailscaleMissing
	}
	if !c.proxied {
		return tailscaleProxy
	}
	if whois == nil {
		return tailscaleWhois
	}
	ctx, cancel := context.WithTimeout(ctx, whoisTimeout)
	defer cancel()
	login, err := whois(ctx, c.client)
	if err != nil || strings.TrimSpace(login) == "" {
		return tailscaleWhois
	}
	if !strings.EqualFold(strings.TrimSpace(login), c.login) {
		return tailscaleMismatch
	}
	return ""
}

// failureText is how a failure reads to people and to programs.
type failureText struct {
	message string // with %s for the hint, or without
	code    string
	next    string
}

var failureTexts = map[authFailure]failureText{
	tokenMissing:      {"unauthorized: gateway token missing (%s)", protocol.DetailTokenMissing, protocol.NextUpdateAuthConfig},
	tokenMismatch:     {"unauthorized: gateway token mismatch (%s)", protocol.DetailTokenMismatch, protocol.NextUpdateCredentials},
	tokenUnset:        {"unauthorized: gateway token not configured on gateway (set gateway.auth.token)", protocol.DetailTokenUnset, protocol.NextReviewAuthConfig},
	passwordMissing:   {"unauthorized: gateway password missing (%s)", protocol.DetailPasswordMissing, protocol.NextUpdateAuthConfig},
	passwordMismatch:  {"unauthorized: gateway password mismatch (%s)", protocol.DetailPasswordMismatch, protocol.NextUpdateCredentials},
	passwordUnset:     {"unauthorized: gateway password not configured on gateway (set gateway.auth.password)", protocol.DetailPasswordUnset, protocol.NextReviewAuthConfig},
	tailscaleMissing:  {"unauthorized: tailscale identity missing (use Tailscale Serve auth or the gateway token/password)", protocol.DetailTailscaleMissing, protocol.NextReviewAuthConfig},
	tailscaleProxy:    {"unauthorized: tailscale proxy headers missing", protocol.DetailTailscaleProxy, protocol.NextReviewAuthConfig},
	tailscaleWhois:    {"unauthorized: tailscale identity check failed", protocol.DetailTailscaleWhois, protocol.NextReviewAuthConfig},
	tailscaleMismatch: {"unauthorized: tailscale identity mismatch", protocol.DetailTailscaleMismatch, protocol.NextReviewAuthConfig},
	authLocked:        {"unauthorized", protocol.DetailRateLimited, protocol.NextWaitThenRetry},
}

// hint says what the person behind client can do about a missing or wrong
// shared secret.
func hint(client protocol.ClientInfo, f authFailure) string {
	password := f == passwordMissing || f == passwordMismatch
	switch {
	case isCLI(client) && password:
		return "set gateway.remote.password to match gateway.auth.password"
	case isCLI(client):
		return "set gateway.remote.token to match gateway.auth.token"
	case (isControlUI(client) || isWebchat(client)) && password:
		return "enter the password in Control UI settings"
	case isControlUI(client) || isWebchat(client):
		return "open a tokenized dashboard URL or paste token in Control UI settings"
	case password:
		return "provide gateway auth password"
	}
	return "provide gateway auth token"
}

// Client predicates. See docs/protocol.md#clients.
func isCLI(c protocol.ClientInfo) bool { return lower(c.Mode) == protocol.ModeCLI }

func isWebchat(c protocol.ClientInfo) bool {
	return lower(c.Mode) == protocol.ModeWebchat || lower(c.ID) == protocol.ClientWebchatUI
}

func isControlUI(c protocol.ClientInfo) bool { return lower(c.ID) == protocol.ClientControlUI }

func lower(s string) string { return strings.ToLower(strings.TrimSpace(s)) }
