package byo

// States of a pairing: waiting → claimed → nonce_received → revealed →
// confirming → active, or rejected, or expired. A pairing under [StaticV1] goes
// from claimed to active. See docs/byo.md#pairing-over-a-relay.
const (
	PairWaiting       = "waiting"
	PairClaimed       = "claimed"
	PairNonceReceived = "nonce_received"
	PairRevealed      = "revealed"
	PairConfirming    = "confirming"
	PairActive        = "active"
	PairRejected      = "rejected"
	PairExpired       = "expired"
)

// Code styles of a pairing.
const (
	CodeStyleShort = "short" // six digits; both sides compare a number
	CodeStyleLong  = "long"  // a text that carries the desktop's key and a shared secret
)

// How an assistant knows whose key it has, as it keeps it.
const (
	VerifiedSAS    = "sas"    // people compared the number
	VerifiedPSK    = "psk"    // the secret of the long code proved it
	VerifiedLegacy = "legacy" // nobody did: static_v1, by explicit choice
)

// DesktopRegister is the body of POST /desktops.
type DesktopRegister struct {
	Label  string `json:"label"`
	Invite Secret `json:"invite,omitempty"`
}

// DesktopRegistered answers POST /desktops.
type DesktopRegistered struct {
	DesktopID    string `json:"desktop_id"`
	DesktopToken Secret `json:"desktop_token"`
}

// PairStart is the body of POST /pair/start, from the desktop.
type PairStart struct {
	ProviderKind     string   `json:"provider_kind"`
	Label            string   `json:"label"`
	CodeStyle        string   `json:"code_style" schema:"enum=short|long"`
	DesktopPublicKey []byte   `json:"desktop_public_key"`
	Commitment       []byte   `json:"commitment"` // over the key and a nonce that stays secret for now
	BYOVersions      []string `json:"byo_versions"`
}

// Validate names the first field of p that is wrong.
func (p *PairStart) Validate() error {
	if err := CheckProviderKind(p.ProviderKind); err != nil {
		return err
	}
	if err := CheckLabel("label", p.Label); err != nil {
		return err
	}
	if p.CodeStyle != CodeStyleShort && p.CodeStyle != CodeStyleLong {
		return &FieldError{Field: "code_style", Problem: "must be short or long"}
	}
	if err := checkBytes("desktop_public_key", p.DesktopPublicKey, KeySize); err != nil {
		return err
	}
	if err := checkBytes("commitment", p.Commitment, CommitmentSize); err != nil {
		return err
	}
	if len(p.BYOVersions) == 0 {
		return &FieldError{Field: "byo_versions", Problem: "must not be empty"}
	}
	return nil
}

// PairStarted answers POST /pair/start.
type PairStarted struct {
	PairingID   string `json:"pairing_id"`
	PairingCode Secret `json:"pairing_code"`
	ExpiresAt   string `json:"expires_at"`
	PollAfterMS int64  `json:"poll_after_ms"`
}

// PairComplete is the body of POST /pair/complete, from the assistant's side.
// Public peers send only the code, the host label and perhaps a key.
type PairComplete struct {
	PairingCode     Secret   `json:"pairing_code"`
	HostLabel       string   `json:"host_label"`
	PluginPublicKey []byte   `json:"plugin_public_key,omitempty"`
	ProviderKind    string   `json:"provider_kind,omitempty"`
	BYOVersions     []string `json:"byo_versions,omitempty"`
	PluginVersion   string   `json:"plugin_version,omitempty"`
}

// Validate names the first field of p that is wrong.
func (p *PairComplete) Validate() error {
	if p.PairingCode == "" {
		return &FieldError{Field: "pairing_code", Problem: "must not be empty"}
	}
	if err := CheckLabel("host_label", p.HostLabel); err != nil {
		return err
	}
	if len(p.PluginPublicKey) > 0 {
		if err := checkBytes("plugin_public_key", p.PluginPublicKey, KeySize); err != nil {
			return err
		}
	}
	if p.ProviderKind != "" {
		return CheckProviderKind(p.ProviderKind)
	}
	return nil
}

// PairCompleted answers POST /pair/complete.
type PairCompleted struct {
	IntegrationID     string `json:"integration_id"`
	RelayToken        Secret `json:"relay_token"`
	Label             string `json:"label"`
	BYOPublicKey      Bytes  `json:"byo_public_key"` // the desktop's key
	DesktopCommitment Bytes  `json:"desktop_commitment"`
	BYOVersion        string `json:"byo_version"`
	ProviderKind      string `json:"provider_kind"`
	PairingState      string `json:"pairing_state"`
}

// PairState answers the desktop's GET /pair/{pairing_id}. What the other side has
// not sent yet is null.
type PairState struct {
	State           string `json:"state"`
	IntegrationID   string `json:"integration_id,omitempty"`
	HostLabel       string `json:"host_label,omitempty"`
	BYOVersion      string `json:"byo_version,omitempty"`
	ProviderKind    string `json:"provider_kind,omitempty"`
	PluginPublicKey Bytes  `json:"plugin_public_key"`
	PluginNonce     Bytes  `json:"plugin_nonce"`
	PluginConfirm   Bytes  `json:"plugin_confirm"`
	ExpiresAt       string `json:"expires_at"`
}

// Bytes is binary that is null while there is none.
type Bytes []byte

// SchemaType says which type describes the JSON of Bytes.
func (Bytes) SchemaType() (elem any, nullable bool) { return []byte{}, true }

// PairReveal is the body of POST /pair/{pairing_id}/reveal. A desktop sends it
// once, and only after it holds the assistant's nonce.
type PairReveal struct {
	DesktopNonce   []byte `json:"desktop_nonce"`
	DesktopConfirm []byte `json:"desktop_confirm"`
}

// Validate names the first field of p that is wrong.
func (p *PairReveal) Validate() error {
	if err := checkBytes("desktop_nonce", p.DesktopNonce, PairNonceSize); err != nil {
		return err
	}
	return checkBytes("desktop_confirm", p.DesktopConfirm, ConfirmSize)
}

// PairNonce is the body of POST /integrations/{id}/pairing/nonce.
type PairNonce struct {
	PluginNonce []byte `json:"plugin_nonce"`
}

// Validate names the first field of p that is wrong.
func (p *PairNonce) Validate() error {
	return checkBytes("plugin_nonce", p.PluginNonce, PairNonceSize)
}

// PairProgress answers the assistant's GET /integrations/{id}/pairing. The nonce
// and the tag are null until the desktop has revealed them.
type PairProgress struct {
	State          string `json:"state"`
	DesktopNonce   Bytes  `json:"desktop_nonce"`
	DesktopConfirm Bytes  `json:"desktop_confirm"`
}

// PairConfirm is the body of POST /integrations/{id}/pairing/confirm.
type PairConfirm struct {
	PluginConfirm []byte `json:"plugin_confirm"`
}

// Validate names the first field of p that is wrong.
func (p *PairConfirm) Validate() error {
	return checkBytes("plugin_confirm", p.PluginConfirm, ConfirmSize)
}

func checkBytes(field string, b []byte, n int) error {
	if len(b) != n {
		return fieldf(field, "must be %d bytes of base64", n)
	}
	return nil
}
