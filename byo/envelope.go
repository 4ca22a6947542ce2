package byo

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"strings"
)

// Roles of a sender.
const (
	RoleDesktop = "desktop"
	RolePlugin  = "plugin"
)

// Directions of a [DuplexV2] envelope.
const (
	DesktopToPlugin = "d2p"
	PluginToDesktop = "p2d"
)

// Content types of an envelope.
const (
	ContentReasoningInput  = "reasoning_input"  // a ReasoningInput
	ContentReasoningOutput = "reasoning_output" // static_v1: the answer itself; duplex_v2: a ReasoningOutput
	ContentToolIntent      = "tool_intent"
	ContentToolResult      = "tool_result"
	ContentTask            = "task_content"
	ContentTaskReply       = "task_reply"
	ContentChatIn          = "chat_in"  // duplex_v2 chat_frame: an Incoming
	ContentChatOut         = "chat_out" // duplex_v2 chat_frame: a Callback
	ContentRekeyOffer      = "rekey_offer"
	ContentRekeyAnswer     = "rekey_answer"
	ContentRekeyDone       = "rekey_done" // the first message under new keys
)

// Envelope is sealed content of either scheme. Direction, KeyID, Epoch, Seq,
// JobID, Purpose and DeadlineAt belong to [DuplexV2] only. Everything but
// SenderRole is authenticated by the ciphertext; nothing of it is true before
// byo/seal has opened it. See docs/byo.md#envelopes.
type Envelope struct {
	Version       string `json:"version"`
	SenderRole    string `json:"sender_role"`
	Direction     string `json:"direction,omitempty"`
	KeyID         string `json:"key_id,omitempty"`
	Epoch         uint64 `json:"epoch,omitempty"`
	Seq           uint64 `json:"seq,omitempty"`
	MessageID     string `json:"message_id"`
	SessionID     string `json:"session_id"`
	CorrelationID string `json:"correlation_id"`
	ContentType   string `json:"content_type"`
	JobID         string `json:"job_id,omitempty"`
	Purpose       string `json:"purpose,omitempty"`
	DeadlineAt    string `json:"deadline_at,omitempty"`
	Nonce         string `json:"nonce"`      // base64 with padding, 24 bytes
	Ciphertext    string `json:"ciphertext"` // base64 with padding, tag at the end
}

// MarshalJSON writes the epoch of a [DuplexV2] envelope even when it is 0.
func (e Envelope) MarshalJSON() ([]byte, error) {
	if e.Version == DuplexV2 {
		return json.Marshal(duplexEnvelope(e))
	}
	return json.Marshal(envelope(e))
}

// SchemaType says which type describes the JSON of an Envelope.
func (Envelope) SchemaType() (elem any, nullable bool) { return envelope{}, false }

// envelope is Envelope without its methods.
type envelope Envelope

// duplexEnvelope is an envelope whose epoch and number are always written.
type duplexEnvelope struct {
	Version       string `json:"version"`
	SenderRole    string `json:"sender_role"`
	Direction     string `json:"direction"`
	KeyID         string `json:"key_id"`
	Epoch         uint64 `json:"epoch"`
	Seq           uint64 `json:"seq"`
	MessageID     string `json:"message_id"`
	SessionID     string `json:"session_id"`
	CorrelationID string `json:"correlation_id"`
	ContentType   string `json:"content_type"`
	JobID         string `json:"job_id,omitempty"`
	Purpose       string `json:"purpose,omitempty"`
	DeadlineAt    string `json:"deadline_at,omitempty"`
	Nonce         string `json:"nonce"`
	Ciphertext    string `json:"ciphertext"`
}

// CheckShape reports what a relay may know to be wrong with e without any key:
// a nonce of other than 24 bytes, or a ciphertext that is empty or no base64.
func (e Envelope) CheckShape() error {
	nonce, err := base64.StdEncoding.Strict().DecodeString(e.Nonce)
	if err != nil || len(nonce) != 24 {
		return &FieldError{Field: "nonce", Problem: "must be 24 bytes of base64"}
	}
	text, err := base64.StdEncoding.Strict().DecodeString(e.Ciphertext)
	if err != nil || len(text) == 0 {
		return &FieldError{Field: "ciphertext", Problem: "must be base64 and not empty"}
	}
	return nil
}

// Digest is the SHA-256 of the ciphertext in hex: what tells a repeat of a job
// from another job under the same id.
func (e Envelope) Digest() string {
	text, err := base64.StdEncoding.DecodeString(e.Ciphertext)
	if err != nil {
		text = []byte(e.Ciphertext)
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// Payload is the content of a job: sealed ([Envelope] set) or, only where that is
// allowed, clear (the bytes in Raw). It decodes the nested form, which is the only
// one it writes, and the flat one, where the payload itself is the envelope;
// BYOEncrypted is true for the nested form only. Decoding never fails on JSON.
type Payload struct {
	BYOEncrypted bool
	Envelope     *Envelope
	Raw          json.RawMessage // as decoded; written only when Envelope is nil
}

// SealedPayload is the nested form around e.
func SealedPayload(e Envelope) Payload { return Payload{BYOEncrypted: true, Envelope: &e} }

// MarshalJSON implements json.Marshaler.
func (p Payload) MarshalJSON() ([]byte, error) {
	switch {
	case p.Envelope != nil:
		return json.Marshal(sealed{true, *p.Envelope})
	case len(p.Raw) > 0:
		return p.Raw, nil
	}
	return []byte("{}"), nil
}

// UnmarshalJSON implements json.Unmarshaler.
func (p *Payload) UnmarshalJSON(data []byte) error {
	*p = Payload{Raw: append(json.RawMessage(nil), data...)}
	p.BYOEncrypted, p.Envelope = unseal(data, true)
	return nil
}

// SchemaType says that any JSON may be a Payload.
func (Payload) SchemaType() (elem any, nullable bool) { return nil, false }

// Sealed reports whether p claims or looks like sealed content, readable or not:
// such a payload must never reach a model as it is.
func (p Payload) Sealed() bool {
	return p.BYOEncrypted || p.Envelope != nil || holdsCiphertext(p.Raw)
}

// sealed is the nested form on the wire.
type sealed struct {
	BYOEncrypted bool     `json:"byo_encrypted"`
	Envelope     Envelope `json:"envelope"`
}

// unseal finds the envelope in data, nested or (when flat says so) flat. An
// envelope with fields of the wrong kind is still one: opening it will fail.
func unseal(data []byte, flat bool) (encrypted bool, e *Envelope) {
	var obj map[string]json.RawMessage
	if json.Unmarshal(data, &obj) != nil {
		return false, nil
	}
	encrypted = string(obj["byo_encrypted"]) == "true"
	inner := obj["envelope"]
	if _, here := obj["ciphertext"]; here && flat && inner == nil {
		inner = data
	}
	if len(inner) == 0 || inner[0] != '{' {
		return encrypted, nil
	}
	e = new(Envelope)
	var kind *json.UnmarshalTypeError
	if err := json.Unmarshal(inner, e); err != nil && !errors.As(err, &kind) {
		return encrypted, nil
	}
	return encrypted, e
}

// holdsCiphertext reports whether any object in data has a ciphertext.
func holdsCiphertext(data []byte) bool {
	var v any
	return json.Unmarshal(data, &v) == nil && deepKey(v, "ciphertext")
}

func deepKey(v any, key string) bool {
	switch v := v.(type) {
	case map[string]any:
		for name, inner := range v {
			if strings.EqualFold(name, key) || deepKey(inner, key) {
				return true
			}
		}
	case []any:
		for _, inner := range v {
			if deepKey(inner, key) {
				return true
			}
		}
	}
	return false
}

// CheckSealed is what a relay checks on the payload of an integration whose
// content scheme is scheme, in this order: it is nested and sealed
// ([CodePlaintextRejected]), the versions fit ([CodeEnvelopeMismatch]), the
// envelope has the right shape ([CodeInvalidEnvelope]). The error is an *[Error].
func CheckSealed(p Payload, envelopeVersion int, scheme string) error {
	switch {
	case !p.BYOEncrypted || p.Envelope == nil:
		return Errorf(CodePlaintextRejected, "payload must hold byo_encrypted true and an envelope")
	case envelopeVersion != EnvelopeVersion(scheme) || p.Envelope.Version != scheme:
		return Errorf(CodeEnvelopeMismatch, "the integration takes %s envelopes only", scheme)
	}
	if err := p.Envelope.CheckShape(); err != nil {
		return Errorf(CodeInvalidEnvelope, "envelope: %v", err)
	}
	return nil
}
