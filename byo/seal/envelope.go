package seal

import (
	"encoding/base64"
	"fmt"
	"io"
	"strconv"

	"golang.org/x/crypto/chacha20poly1305"

	"openclaw/byo"
)

// Header is what an envelope says about its content, readable to the relay and
// authenticated by the ciphertext.
type Header struct {
	MessageID     string // default a new UUID
	SessionID     string
	CorrelationID string
	ContentType   string
	JobID         string // this and what follows: Duplex only
	Purpose       string
	DeadlineAt    string // the very text of the job
}

// envelope makes the envelope of h without its content.
func (h Header) envelope(version string, role Role, random io.Reader) (byo.Envelope, error) {
	if h.MessageID == "" {
		id, err := byo.NewID(random)
		if err != nil {
			return byo.Envelope{}, err
		}
		h.MessageID = id
	}
	return byo.Envelope{Version: version, SenderRole: role.String(), MessageID: h.MessageID,
		SessionID: h.SessionID, CorrelationID: h.CorrelationID, ContentType: h.ContentType}, nil
}

// checkMeta refuses metadata that two languages might write differently. Values
// that may be absent may be empty.
func checkMeta(e *byo.Envelope) error {
	for _, f := range [...]struct {
		name, value string
		optional    bool
	}{
		{"message_id", e.MessageID, false}, {"content_type", e.ContentType, false},
		{"session_id", e.SessionID, true}, {"correlation_id", e.CorrelationID, true},
		{"job_id", e.JobID, true}, {"purpose", e.Purpose, true}, {"deadline_at", e.DeadlineAt, true},
		{"key_id", e.KeyID, true},
	} {
		if f.value == "" && f.optional {
			continue
		}
		if byo.CheckMeta(f.name, f.value) != nil {
			return &MalformedError{f.name}
		}
	}
	return nil
}

// aadStatic is the JSON of six fields in the order of their names. The values
// need no escapes: checkMeta has seen them.
func aadStatic(e *byo.Envelope) []byte {
	return []byte(`{"content_type":"` + e.ContentType + `","correlation_id":"` + e.CorrelationID +
		`","message_id":"` + e.MessageID + `","sender_role":"` + e.SenderRole +
		`","session_id":"` + e.SessionID + `","version":"` + e.Version + `"}`)
}

// aadDuplex is a label, a zero byte and twelve values with their lengths.
func aadDuplex(e *byo.Envelope) []byte {
	b := append(make([]byte, 0, 512), "stagewhisper/byo/v2/aad\x00"...)
	b = appendPart(b, e.Version)
	b = appendPart(b, e.Direction)
	b = appendPart(b, e.KeyID)
	b = appendPart(b, strconv.FormatUint(e.Epoch, 10))
	b = appendPart(b, strconv.FormatUint(e.Seq, 10))
	b = appendPart(b, e.MessageID)
	b = appendPart(b, e.SessionID)
	b = appendPart(b, e.CorrelationID)
	b = appendPart(b, e.ContentType)
	b = appendPart(b, e.JobID)
	b = appendPart(b, e.Purpose)
	return appendPart(b, e.DeadlineAt)
}

// encrypt seals plaintext, which it overwrites, into e with a fresh nonce. The
// ciphertext is encoded in scratch, which grows as needed and is returned.
func encrypt(e *byo.Envelope, key *[keySize]byte, aad, plaintext, scratch []byte, random io.Reader) ([]byte, error) {
	aead, err := chacha20poly1305.NewX(key[:])
	if err != nil {
		return scratch, fmt.Errorf("make cipher: %w", err)
	}
	var nonce [chacha20poly1305.NonceSizeX]byte
	if err := fill(random, nonce[:]); err != nil {
		return scratch, err
	}
	e.Nonce = base64.StdEncoding.EncodeToString(nonce[:])
	scratch = appendBase64(scratch[:0], aead.Seal(plaintext[:0], nonce[:], plaintext, aad))
	e.Ciphertext = string(scratch)
	return scratch, nil
}

// decrypt opens e. It returns [ErrMalformed] or [ErrTampered].
func decrypt(e *byo.Envelope, key *[keySize]byte, aad []byte) ([]byte, error) {
	nonce, err := decode("nonce", e.Nonce)
	if err != nil {
		return nil, err
	}
	if len(nonce) != chacha20poly1305.NonceSizeX {
		return nil, &MalformedError{"nonce"}
	}
	text, err := decode("ciphertext", e.Ciphertext)
	if err != nil {
		return nil, err
	}
	aead, err := chacha20poly1305.NewX(key[:])
	if err != nil {
		return nil, fmt.Errorf("make cipher: %w", err)
	}
	plain, err := aead.Open(text[:0], nonce, text, aad)
	if err != nil {
		return nil, ErrTampered
	}
	return plain, nil
}

// strict refuses loose bits behind the last byte.
var strict = base64.StdEncoding.Strict()

// decode reads base64 with padding and nothing else, not even line breaks.
func decode(field, text string) ([]byte, error) {
	b, err := strict.DecodeString(text)
	if err != nil || text == "" || base64.StdEncoding.EncodedLen(len(b)) != len(text) {
		return nil, &MalformedError{field}
	}
	return b, nil
}
