package conformance

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
)

// wrongToken stands for tokens that were made up to be wrong.
const wrongToken = "not-the-token-at-all-0123456789"

// unsigned stands for a signature until sign replaces it.
const unsigned = "unsigned"

// forged lists connects that were signed with another key than the one they
// show; a recording cannot tell.
var forged = map[string]bool{"connect-device-errors/other-key": true, "connect-device-errors/bad-signature": true}

// keyring holds the device keys of a play. Recordings hold no keys, so each
// placeholder of a public key gets a fresh one.
type keyring struct {
	private map[string]ed25519.PrivateKey // by public key as it is sent
}

// prepare makes up what only the client of a recorded connect knew: keys, ids,
// and tokens that are wrong.
func (k *keyring) prepare(params map[string]any, b *binding) {
	if name := str(params, "auth", "token"); strings.HasPrefix(name, "<token-") && b.real[name] == "" {
		b.bind(name, wrongToken)
	}
	device, ok := params["device"].(map[string]any)
	if !ok {
		return
	}
	if name := str(device, "publicKey"); b.real[name] == "" {
		pub, private, err := ed25519.GenerateKey(rand.Reader)
		if err != nil {
			panic(err) // the system has no randomness
		}
		real := base64.RawURLEncoding.EncodeToString(pub)
		k.private[real] = private
		b.bind(name, real)
		sum := sha256.Sum256(pub)
		if id := str(device, "id"); strings.HasPrefix(id, "<hex64-") && b.real[id] == "" {
			b.bind(id, hex.EncodeToString(sum[:]))
		}
	}
	if name := str(device, "signature"); strings.HasPrefix(name, "<signature-") {
		b.real[name] = unsigned
	}
}

// sign signs filled connect params with the key they show, or with a stranger's.
func (k *keyring) sign(params map[string]any, forge bool) {
	device, ok := params["device"].(map[string]any)
	if !ok || device["signature"] != unsigned {
		return
	}
	private := k.private[str(device, "publicKey")]
	if forge {
		_, private, _ = ed25519.GenerateKey(rand.Reader)
	}
	var scopes []string
	list, _ := params["scopes"].([]any)
	for _, s := range list {
		scopes = append(scopes, fmt.Sprint(s))
	}
	signedAt, _ := device["signedAt"].(json.Number)
	fields := []string{"v1", str(device, "id"), str(params, "client", "id"), str(params, "client", "mode"),
		str(params, "role"), strings.Join(scopes, ","), signedAt.String(), str(params, "auth", "token")}
	if nonce := str(device, "nonce"); nonce != "" {
		fields[0] = "v2"
		fields = append(fields, nonce)
	}
	sig := ed25519.Sign(private, []byte(strings.Join(fields, "|")))
	device["signature"] = base64.RawURLEncoding.EncodeToString(sig)
}

// newUUID makes up a random id.
func newUUID() string {
	var b [16]byte
	rand.Read(b[:])
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
