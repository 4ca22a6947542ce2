package client

import (
	"cmp"
	"context"
	"net"
	"net/http"
	"runtime"
	"time"

	"openclaw/protocol"
)

// Signer is the key of a device. Internal device identities are one; programs
// of their own implement it with their Ed25519 key.
type Signer interface {
	// DeviceID is the SHA-256 of the raw public key in lower-case hex.
	DeviceID() string
	// PublicKey is the raw public key as base64url without padding.
	PublicKey() string
	// Sign returns the Ed25519 signature of text as base64url without padding.
	Sign(text string) string
}

// TokenStore keeps the tokens that the gateway issues to a device, by role.
type TokenStore interface {
	// Token returns the stored token, "" for none.
	Token(role string) (protocol.Secret, error)
	Save(role string, token protocol.Secret, scopes []string) error
	Delete(role string) error
}

// Options say where to connect and as what. Only URL is required.
type Options struct {
	URL string // ws://host:port or wss://host:port

	// Token and Password are the shared secrets of the gateway.
	Token    protocol.Secret
	Password protocol.Secret
	// Signer proves a device; nil connects without one.
	Signer Signer
	// Tokens, with a Signer, lets the device in by its own token: a stored token
	// is preferred to Token. When it is refused and there is a shared secret, it is
	// deleted and the connect is tried once more.
	Tokens TokenStore

	Client      protocol.ClientInfo // default a gateway-client of mode backend, version "dev", this platform
	Role        string              // default operator
	Scopes      []string            // default those of the gateway
	Caps        []string
	Commands    []string        // nodes
	Permissions map[string]bool // nodes
	PathEnv     string          // nodes
	Locale      string
	UserAgent   string

	// MinProtocol and MaxProtocol bound the version, default all of this module.
	MinProtocol, MaxProtocol int

	// TLSFingerprint pins the certificate by its SHA-256 instead of asking a
	// certificate authority; it needs a wss URL.
	TLSFingerprint string

	Header http.Header // of the upgrade request
	// DialContext opens the TCP connection, default by net.Dialer.
	DialContext func(ctx context.Context, network, address string) (net.Conn, error)

	HandshakeTimeout time.Duration // default 10 s
	WriteTimeout     time.Duration // of one message, default 30 s
	MaxMessage       int64         // largest message received, default 25 MiB
	// EventQueue, when positive, makes Dial open a subscription to all events from
	// the first one on, see [Client.Events]. It is its capacity.
	EventQueue int
}

func (o Options) withDefaults() Options {
	o.Client.ID = cmp.Or(o.Client.ID, protocol.ClientGateway)
	o.Client.Mode = cmp.Or(o.Client.Mode, protocol.ModeBackend)
	o.Client.Version = cmp.Or(o.Client.Version, "dev")
	o.Client.Platform = cmp.Or(o.Client.Platform, runtime.GOOS)
	o.Role = cmp.Or(o.Role, protocol.RoleOperator)
	o.MinProtocol = cmp.Or(o.MinProtocol, protocol.MinVersion)
	o.MaxProtocol = cmp.Or(o.MaxProtocol, protocol.MaxVersion)
	o.HandshakeTimeout = cmp.Or(o.HandshakeTimeout, protocol.HandshakeTimeoutMs*time.Millisecond)
	o.WriteTimeout = cmp.Or(o.WriteTimeout, 30*time.Second)
	o.MaxMessage = cmp.Or(o.MaxMessage, protocol.MaxPayload)
	return o
}
