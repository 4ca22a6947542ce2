package device

import (
	"crypto/subtle"
	"time"

	"openclaw/protocol"
)

// Skew3 and Skew4 are how far a signature's time may be off on protocol 3 and 4.
const (
	Skew3 = 600 * time.Second
	Skew4 = 120 * time.Second
)

// Error says why a device was refused. Its text is the message and the close
// reason that clients know.
type Error struct {
	Message string
	Code    string // details.code
	Reason  string // details.reason
}

// Error implements error.
func (e *Error) Error() string { return e.Message }

// The errors of [Verify], to be compared with errors.Is.
var (
	ErrIDMismatch    = &Error{"device identity mismatch", protocol.DetailDeviceIDMismatch, "device-id-mismatch"}
	ErrExpired       = &Error{"device signature expired", protocol.DetailSignatureExpired, "device-signature-stale"}
	ErrNonceRequired = &Error{"device nonce required", protocol.DetailNonceRequired, "device-nonce-missing"}
	ErrNonceMismatch = &Error{"device nonce mismatch", protocol.DetailNonceMismatch, "device-nonce-mismatch"}
	ErrSignature     = &Error{"device signature invalid", protocol.DetailSignatureInvalid, "device-signature"}
	ErrPublicKey     = &Error{"device public key invalid", protocol.DetailPublicKeyInvalid, "device-public-key"}
)

// Rules are what a connection demands of a device.
type Rules struct {
	Nonce string    // of this connection's challenge, never empty
	Now   time.Time // when the connect arrived
	Skew  time.Duration
	// AllowUnchallenged accepts a version 1 signature without a nonce, which old
	// clients on the same host send. The operator must have asked for it.
	AllowUnchallenged bool
}

// Verify checks the device of a connect request: that its id is the hash of its
// key, and that the key signed this request for this connection just now. The
// checks come in the order of docs/protocol.md#device and the errors are
// those of this package. The caller has checked the role and that p.Device is
// not nil.
func Verify(p *protocol.ConnectParams, r Rules) (Key, error) {
	d := p.Device
	key, err := ParseKey(d.PublicKey)
	if err != nil {
		// An id that hashes something else is as wrong as the key.
		if !isID(d.ID) {
			return Key{}, ErrIDMismatch
		}
		return Key{}, ErrPublicKey
	}
	if key.ID() != d.ID {
		return Key{}, ErrIDMismatch
	}
	if !within(d.SignedAt, r.Now.UnixMilli(), r.Skew.Milliseconds()) {
		return Key{}, ErrExpired
	}
	if d.Nonce == "" && !r.AllowUnchallenged {
		return Key{}, ErrNonceRequired
	}
	if d.Nonce != "" && subtle.ConstantTimeCompare([]byte(d.Nonce), []byte(r.Nonce)) == 0 {
		return Key{}, ErrNonceMismatch
	}
	versions := []string{protocol.SignatureV3, protocol.SignatureV2}
	if d.Nonce == "" {
		versions = []string{protocol.SignatureV1}
	}
	for _, v := range versions {
		if key.Verify(protocol.DeviceText(v, p), d.Signature) {
			return key, nil
		}
	}
	return Key{}, ErrSignature
}

// within compares without overflow: a and b are not negative.
func within(a, b, most int64) bool { return a >= b-most && a <= b+most }

func isID(s string) bool {
	if len(s) != 64 {
		return false
	}
	for _, c := range []byte(s) {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}
