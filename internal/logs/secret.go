package logs

import (
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"io"
	"log/slog"
	"strings"
)

// Hidden stands where a secret was.
const Hidden = "[redacted]"

// Secret is a token, password or key. Printing, logging or marshalling it shows
// [Hidden], or nothing when it is empty; [Secret.Reveal] is the only way out. It
// decodes from JSON like a string.
type Secret string

// Reveal returns the secret itself, for the one place that sends it.
func (s Secret) Reveal() string { return string(s) }

// Equal compares in constant time, so that an answer's timing tells nothing
// about the secret or its length. An empty secret equals nothing, itself
// included: no credential must ever match a missing one.
func (s Secret) Equal(other Secret) bool {
	a, b := sha256.Sum256([]byte(s)), sha256.Sum256([]byte(other))
	return subtle.ConstantTimeCompare(a[:], b[:]) == 1 && s != "" && other != ""
}

// String returns [Hidden], or "" for an empty secret.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return Hidden
}

// GoString is what %#v prints.
func (s Secret) GoString() string { return fmt.Sprintf("logs.Secret(%q)", s.String()) }

// Format hides the secret from every verb, also from those that make no sense
// for text and would print the value as a mistake.
func (s Secret) Format(f fmt.State, verb rune) {
	text := s.String()
	switch {
	case verb == 'v' && f.Flag('#'):
		text = s.GoString()
	case verb == 'q':
		text = fmt.Sprintf("%q", text)
	}
	io.WriteString(f, text)
}

// LogValue implements slog.LogValuer.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// MarshalJSON implements json.Marshaler.
func (s Secret) MarshalJSON() ([]byte, error) { return []byte(`"` + s.String() + `"`), nil }

// MarshalText implements encoding.TextMarshaler.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// SensitiveKey reports whether a setting, header or attribute of this name holds
// a secret: apiKey, OPENAI_API_KEY, x-api-key, botToken, password, …
func SensitiveKey(name string) bool {
	var b strings.Builder
	for _, r := range name {
		if r != '_' && r != '-' && r != '.' && r != ' ' {
			b.WriteRune(r)
		}
	}
	flat := strings.ToLower(b.String())
	for _, end := range sensitiveEnds {
		if strings.HasSuffix(flat, end) {
			return true
		}
	}
	return false
}

// The names end so; "maxTokens", "tokenFile" and "passwordMode" are no secrets.
var sensitiveEnds = [...]string{
	"token", "password", "passwd", "passphrase", "secret", "apikey", "accesskey", "secretkey", "privatekey",
	"signingkey", "encryptionkey", "authorization", "credential", "credentials", "cookie",
}
