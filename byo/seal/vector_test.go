package seal

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"os"
	"testing"

	"openclaw/byo"
)

// hexBytes is binary in a vector file.
type hexBytes []byte

func (h *hexBytes) UnmarshalText(text []byte) (err error) {
	*h, err = hex.DecodeString(string(text))
	return err
}

func (h hexBytes) MarshalText() ([]byte, error) { return []byte(hex.EncodeToString(h)), nil }

// keys is testdata/keys.json: numbers that were computed by two implementations.
type keys struct {
	Inputs struct {
		DesktopSecret hexBytes `json:"desktop_secret"`
		PluginSecret  hexBytes `json:"plugin_secret"`
		Nonce         hexBytes `json:"nonce"`
		DesktopNonce  hexBytes `json:"desktop_nonce"`
		PluginNonce   hexBytes `json:"plugin_nonce"`
		PSK           hexBytes `json:"psk"`
		IntegrationID string   `json:"integration_id_text"`
		ProviderKind  string   `json:"provider_kind_text"`
		Plaintext     string   `json:"plaintext_text"`
		RekeyDesktop  hexBytes `json:"rekey_desktop_ephemeral"`
		RekeyPlugin   hexBytes `json:"rekey_plugin_ephemeral"`
	} `json:"inputs"`
	DesktopPublic hexBytes `json:"desktop_public"`
	PluginPublic  hexBytes `json:"plugin_public"`
	Shared        hexBytes `json:"shared"`
	Static        struct {
		Key              hexBytes `json:"key"`
		AAD              string   `json:"aad_text"`
		Ciphertext       string   `json:"ciphertext_base64"`
		Fingerprint      hexBytes `json:"fingerprint"`
		FingerprintShown string   `json:"fingerprint_shown_text"`
	} `json:"static_v1"`
	Duplex struct {
		Commitment        hexBytes     `json:"commitment"`
		Transcript        hexBytes     `json:"transcript"`
		SAS               style        `json:"sas_style"`
		PSK               style        `json:"psk_style"`
		Envelope          byo.Envelope `json:"envelope"`
		AADSum            hexBytes     `json:"aad_sha256"`
		CiphertextLength  int          `json:"ciphertext_length"`
		CiphertextSum     hexBytes     `json:"ciphertext_sha256"`
		CiphertextFirst32 hexBytes     `json:"ciphertext_first_32"`
	} `json:"duplex_v2"`
	Rekey struct {
		Transcript hexBytes `json:"transcript"`
		Root       hexBytes `json:"root"`
		KeyD2P     hexBytes `json:"key_d2p"`
	} `json:"rekey_epoch_1"`
}

type style struct {
	Root           hexBytes `json:"root"`
	KeyD2P         hexBytes `json:"key_d2p"`
	KeyP2D         hexBytes `json:"key_p2d"`
	KeyID          string   `json:"key_id"`
	SAS            string   `json:"sas_text"`
	ConfirmDesktop hexBytes `json:"confirm_desktop"`
	ConfirmPlugin  hexBytes `json:"confirm_plugin"`
}

func readJSON[T any](t testing.TB, path string) (v T) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatalf("read %s: %v", path, err)
	}
	return v
}

// secret makes a key of 32 bytes.
func secret(t testing.TB, b []byte) SecretKey {
	t.Helper()
	k, err := NewSecretKey(b)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func same(t *testing.T, name string, got, want []byte) {
	t.Helper()
	if !bytes.Equal(got, want) {
		t.Errorf("%s = %x, want %x", name, got, want)
	}
}

// handshake is the pairing of the vectors, without a PSK.
func (k keys) handshake() Handshake {
	return Handshake{IntegrationID: k.Inputs.IntegrationID, ProviderKind: k.Inputs.ProviderKind,
		DesktopKey: PublicKey(k.DesktopPublic), PluginKey: PublicKey(k.PluginPublic),
		DesktopNonce: k.Inputs.DesktopNonce, PluginNonce: k.Inputs.PluginNonce}
}

// roots derives the root of h on both sides.
func (k keys) roots(t testing.TB, h Handshake) (desktop, plugin *Root) {
	t.Helper()
	desktop, err := h.Derive(secret(t, k.Inputs.DesktopSecret), Desktop)
	if err != nil {
		t.Fatal(err)
	}
	plugin, err = h.Derive(secret(t, k.Inputs.PluginSecret), Plugin)
	if err != nil {
		t.Fatal(err)
	}
	return desktop, plugin
}

// SW-01: key, AAD, ciphertext and base64 of static_v1, sealed and opened.
func TestStaticVectors(t *testing.T) {
	k := readJSON[keys](t, "testdata/keys.json")
	d, p := secret(t, k.Inputs.DesktopSecret), secret(t, k.Inputs.PluginSecret)
	dp, pp := d.Public(), p.Public()
	same(t, "desktop public", dp[:], k.DesktopPublic)
	same(t, "plugin public", pp[:], k.PluginPublic)
	shared, err := d.agree(pp)
	if err != nil {
		t.Fatal(err)
	}
	same(t, "shared", shared, k.Shared)
	low, high := dp, pp
	if bytes.Compare(low[:], high[:]) > 0 {
		low, high = high, low
	}
	sum := fingerprint(low, high)
	same(t, "fingerprint", sum[:], k.Static.Fingerprint)
	for _, got := range []string{Fingerprint(dp, pp), Fingerprint(pp, dp)} {
		if got != k.Static.FingerprintShown {
			t.Errorf("Fingerprint = %q, want %q", got, k.Static.FingerprintShown)
		}
	}

	desktop, err := NewStatic(d, pp, Desktop)
	if err != nil {
		t.Fatal(err)
	}
	same(t, "static key", desktop.key[:], k.Static.Key)
	desktop.Rand = bytes.NewReader(k.Inputs.Nonce)
	v := k.Duplex.Envelope
	e, err := desktop.Seal(Header{MessageID: v.MessageID, SessionID: v.SessionID, CorrelationID: v.CorrelationID,
		ContentType: v.ContentType}, []byte(k.Inputs.Plaintext))
	if err != nil {
		t.Fatal(err)
	}
	if got := string(aadStatic(&e)); got != k.Static.AAD {
		t.Errorf("AAD = %s, want %s", got, k.Static.AAD)
	}
	if e.Ciphertext != k.Static.Ciphertext {
		t.Errorf("ciphertext = %s, want %s", e.Ciphertext, k.Static.Ciphertext)
	}
	plugin, err := NewStatic(p, dp, Plugin)
	if err != nil {
		t.Fatal(err)
	}
	plain, err := plugin.Open(e, byo.ContentReasoningInput)
	if err != nil || string(plain) != k.Inputs.Plaintext {
		t.Errorf("Open = %q, %v, want the plaintext", plain, err)
	}
}

// SW-05: transcript, roots, keys, SAS and tags of duplex_v2 in both styles, the
// same on both sides.
func TestHandshakeVectors(t *testing.T) {
	k := readJSON[keys](t, "testdata/keys.json")
	same(t, "commitment", Commit(PublicKey(k.DesktopPublic), k.Inputs.DesktopNonce), k.Duplex.Commitment)
	for name, tt := range map[string]struct {
		psk  []byte
		want style
	}{"SAS style": {nil, k.Duplex.SAS}, "PSK style": {k.Inputs.PSK, k.Duplex.PSK}} {
		h := k.handshake()
		h.PSK = tt.psk
		desktop, plugin := k.roots(t, h)
		for side, r := range map[string]*Root{"desktop": desktop, "plugin": plugin} {
			same(t, name+" transcript", r.transcript[:], k.Duplex.Transcript)
			same(t, name+" root of "+side, r.key[:], tt.want.Root)
			same(t, name+" confirm desktop", r.Confirm(Desktop), tt.want.ConfirmDesktop)
			same(t, name+" confirm plugin", r.Confirm(Plugin), tt.want.ConfirmPlugin)
			if !r.CheckConfirm(Desktop, tt.want.ConfirmDesktop) || r.CheckConfirm(Plugin, tt.want.ConfirmDesktop) {
				t.Errorf("%s: CheckConfirm does not tell the tags apart", name)
			}
			if r.SAS() != tt.want.SAS || r.KeyID() != tt.want.KeyID {
				t.Errorf("%s: SAS, key id = %s, %s, want %s, %s", name, r.SAS(), r.KeyID(), tt.want.SAS, tt.want.KeyID)
			}
		}
		d, p := NewDuplex(desktop, Config{}), NewDuplex(plugin, Config{})
		same(t, name+" k_d2p", d.current.send[:], tt.want.KeyD2P)
		same(t, name+" k_d2p", p.current.receive[:], tt.want.KeyD2P)
		same(t, name+" k_p2d", d.current.receive[:], tt.want.KeyP2D)
		same(t, name+" k_p2d", p.current.send[:], tt.want.KeyP2D)
	}
}

// SW-05: AAD and ciphertext of duplex_v2.
func TestDuplexVector(t *testing.T) {
	k := readJSON[keys](t, "testdata/keys.json")
	desktop, plugin := k.roots(t, k.handshake())
	d, p := NewDuplex(desktop, Config{Rand: bytes.NewReader(k.Inputs.Nonce)}), NewDuplex(plugin, Config{Now: clock(t, "2026-01-02T03:04:00Z")})
	want := k.Duplex.Envelope
	e, err := d.Seal(headerOf(want), []byte(k.Inputs.Plaintext))
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(aadDuplex(&e))
	same(t, "AAD", sum[:], k.Duplex.AADSum)
	text, err := base64.StdEncoding.DecodeString(e.Ciphertext)
	if err != nil || len(text) != k.Duplex.CiphertextLength {
		t.Fatalf("ciphertext has %d bytes, error %v, want %d", len(text), err, k.Duplex.CiphertextLength)
	}
	sum = sha256.Sum256(text)
	same(t, "ciphertext", sum[:], k.Duplex.CiphertextSum)
	same(t, "start of ciphertext", text[:32], k.Duplex.CiphertextFirst32)
	if e.Digest() != hex.EncodeToString(k.Duplex.CiphertextSum) {
		t.Errorf("Digest() = %s, want the SHA-256 of the ciphertext", e.Digest())
	}
	want.Nonce, want.Ciphertext = e.Nonce, e.Ciphertext
	if e != want {
		t.Errorf("envelope = %+v, want %+v", e, want)
	}
	plain, err := p.Open(e, bindingOf(e))
	if err != nil || string(plain) != k.Inputs.Plaintext {
		t.Errorf("Open = %q, %v, want the plaintext", plain, err)
	}
}

// SW-10: the keys of epoch 1.
func TestRekeyVector(t *testing.T) {
	k := readJSON[keys](t, "testdata/keys.json")
	desktop, plugin := k.roots(t, k.handshake())
	d, p := secret(t, k.Inputs.RekeyDesktop), secret(t, k.Inputs.RekeyPlugin)
	for _, side := range []struct {
		root *Root
		own  SecretKey
	}{{desktop, d}, {plugin, p}} {
		r, err := side.root.next(1, side.own, d.Public(), p.Public())
		if err != nil {
			t.Fatal(err)
		}
		same(t, "rekey transcript", r.transcript[:], k.Rekey.Transcript)
		same(t, "rekey root", r.key[:], k.Rekey.Root)
		same(t, "rekey k_d2p", r.expand("key d2p", keySize), k.Rekey.KeyD2P)
	}
}
