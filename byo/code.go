package byo

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// Prefixes of the texts that people carry from one side to the other.
const (
	DirectCodePrefix = "stagewhisper-pair:v1:"
	RelayCodePrefix  = "stagewhisper-pair:v2:"
)

// Errors of [ParsePairingCode].
var (
	ErrNoPairingCode  = errors.New("this is no StageWhisper pairing code")
	ErrPairingVersion = errors.New("this pairing code is of a version that does not fit here")
)

// DirectCode pairs a desktop with an assistant's listener, without a relay.
type DirectCode struct {
	URL   string `json:"url"`
	Token Secret `json:"token"`
	Label string `json:"label,omitempty"`
}

// RelayCode is the long code of a pairing over a relay. The relay knows Code
// only; Key and PSK reach the assistant past it.
type RelayCode struct {
	API   string `json:"api"` // base URL of the relay, without BasePath
	Code  Secret `json:"code"`
	Key   []byte `json:"dpk"` // the desktop's public key
	PSK   PSK    `json:"psk"`
	Label string `json:"label,omitempty"`
}

// PSK is the secret of a [RelayCode]. It never prints itself.
type PSK []byte

// Format implements fmt.Formatter for all verbs.
func (PSK) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, "[secret]") }

// Format implements fmt.Formatter for all verbs.
func (DirectCode) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, "[secret]") }

// Format implements fmt.Formatter for all verbs.
func (RelayCode) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, "[secret]") }

// Format implements fmt.Formatter for all verbs.
func (PairingCode) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, "[secret]") }

// PairingCode is what a person pastes: exactly one of both is set.
type PairingCode struct {
	V1 *DirectCode
	V2 *RelayCode
}

// ParsePairingCode reads either kind of code, with white space around it.
func ParsePairingCode(text string) (PairingCode, error) {
	text = strings.TrimSpace(text)
	if strings.HasPrefix(text, RelayCodePrefix) {
		c, err := ParseRelayCode(text)
		return PairingCode{V2: c}, err
	}
	c, err := ParseDirectCode(text)
	return PairingCode{V1: c}, err
}

// ParseDirectCode reads a code of version 1 only.
func ParseDirectCode(text string) (*DirectCode, error) {
	var c DirectCode
	if err := parseCode(text, DirectCodePrefix, &c); err != nil {
		return nil, err
	}
	u, err := NormalizeURL(c.URL)
	if err != nil {
		return nil, err
	}
	c.URL, c.Token, c.Label = u, Secret(strings.TrimSpace(string(c.Token))), strings.TrimSpace(c.Label)
	if c.Token == "" {
		return nil, &FieldError{Field: "token", Problem: "must not be empty"}
	}
	return &c, nil
}

// ParseRelayCode reads a code of version 2 only.
func ParseRelayCode(text string) (*RelayCode, error) {
	var c RelayCode
	if err := parseCode(text, RelayCodePrefix, &c); err != nil {
		return nil, err
	}
	u, err := NormalizeURL(c.API)
	if err != nil {
		return nil, err
	}
	code, ok := NormalizeCode(string(c.Code))
	if !ok {
		return nil, &FieldError{Field: "code", Problem: "must be a code of the relay"}
	}
	c.API, c.Code, c.Label = u, Secret(code), strings.TrimSpace(c.Label)
	if err := checkBytes("dpk", c.Key, KeySize); err != nil {
		return nil, err
	}
	if err := checkBytes("psk", c.PSK, PSKSize); err != nil {
		return nil, err
	}
	return &c, nil
}

// maxCode bounds the text of a code; ours have about 300 characters.
const maxCode = 8 << 10

func parseCode(text, prefix string, into any) error {
	text = strings.TrimSpace(text)
	body, ok := strings.CutPrefix(text, prefix)
	switch {
	case !ok && strings.HasPrefix(text, "stagewhisper-pair:v"):
		return ErrPairingVersion
	case !ok || len(body) > maxCode:
		return ErrNoPairingCode
	}
	data, err := base64.RawURLEncoding.Strict().DecodeString(body)
	if err != nil || !utf8.Valid(data) || json.Unmarshal(data, into) != nil {
		return ErrNoPairingCode
	}
	return nil
}

// Encode writes the text of a code. It holds secrets: show it to the person who
// asked for it, and to nobody else.
func (c PairingCode) Encode() (string, error) {
	switch {
	case c.V1 != nil:
		return c.V1.Encode()
	case c.V2 != nil:
		return c.V2.Encode()
	}
	return "", ErrNoPairingCode
}

// Encode writes the text of the code, as [PairingCode.Encode] does.
func (c *DirectCode) Encode() (string, error) { return encodeCode(DirectCodePrefix, c) }

// Encode writes the text of the code, as [PairingCode.Encode] does.
func (c *RelayCode) Encode() (string, error) { return encodeCode(RelayCodePrefix, c) }

func encodeCode(prefix string, c any) (string, error) {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(c); err != nil {
		return "", fmt.Errorf("encode pairing code: %w", err)
	}
	return prefix + base64.RawURLEncoding.EncodeToString([]byte(strings.TrimSuffix(b.String(), "\n"))), nil
}

// DeepLink is a link that fills a pairing code in; the person still has to agree.
func DeepLink(code string) string { return "stagewhisper://pair?v=1&code=" + code }

// crockford is the alphabet of long codes: no I, L, O and U.
const crockford = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"

// LongCodeLength and ShortCodeLength are the lengths of the relay's codes.
const (
	LongCodeLength  = 16 // 80 bits
	ShortCodeLength = 6  // digits
)

// NewCode makes a code of that style, for the relay. A nil random source means
// the system's.
func NewCode(random io.Reader, style string) (Secret, error) {
	if style == CodeStyleLong {
		b, err := read(random, LongCodeLength)
		if err != nil {
			return "", err
		}
		for i := range b {
			b[i] = crockford[b[i]&31]
		}
		return Secret(b), nil
	}
	const size, whole = 1000000, 1 << 24 / 1000000 * 1000000
	for {
		b, err := read(random, 3)
		if err != nil {
			return "", err
		}
		if n := int(b[0])<<16 | int(b[1])<<8 | int(b[2]); n < whole { // no digit is likelier than another
			return Secret(fmt.Sprintf("%06d", n%size)), nil
		}
	}
}

// NormalizeCode reduces a code as people type it, with spaces, dashes and lower
// case, to the form of [NewCode], and reports whether it can be one.
func NormalizeCode(text string) (string, bool) {
	s := strings.Map(func(r rune) rune {
		switch {
		case r == ' ' || r == '-' || r == '\t' || r == '\n' || r == '\r':
			return -1
		case r >= 'a' && r <= 'z':
			return r - 'a' + 'A'
		}
		return r
	}, text)
	if len(s) == ShortCodeLength && strings.Trim(s, "0123456789") == "" {
		return s, true
	}
	s = strings.NewReplacer("O", "0", "I", "1", "L", "1").Replace(s)
	return s, len(s) == LongCodeLength && strings.Trim(s, crockford) == ""
}
