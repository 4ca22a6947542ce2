package seal

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"openclaw/byo"
)

// lowOrder are all points of low order, and the same numbers plus p.
var lowOrder = []string{
	"0000000000000000000000000000000000000000000000000000000000000000",
	"0100000000000000000000000000000000000000000000000000000000000000",
	"e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800",
	"5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157",
	"ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
	"edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
	"eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
}

// SW-04: such keys are refused when they are read and when they are used.
func TestLowOrderKeys(t *testing.T) {
	k := readJSON[keys](t, "testdata/keys.json")
	for _, point := range lowOrder {
		raw, err := hex.DecodeString(point)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := NewPublicKey(raw); !errors.Is(err, ErrLowOrder) {
			t.Errorf("NewPublicKey(%s) = %v, want ErrLowOrder", point, err)
		}
		if _, err := ParsePublic(base64.StdEncoding.EncodeToString(raw)); !errors.Is(err, ErrLowOrder) {
			t.Errorf("ParsePublic(%s) = %v, want ErrLowOrder", point, err)
		}
		own, peer := secret(t, k.Inputs.PluginSecret), PublicKey(raw)
		if _, err := NewStatic(own, peer, Plugin); !errors.Is(err, ErrLowOrder) {
			t.Errorf("NewStatic with %s = %v, want ErrLowOrder", point, err)
		}
		h := k.handshake()
		h.DesktopKey = peer
		if _, err := h.Derive(own, Plugin); !errors.Is(err, ErrLowOrder) {
			t.Errorf("Derive with %s = %v, want ErrLowOrder", point, err)
		}
	}
}

func TestKeyText(t *testing.T) {
	s := must[SecretKey](t)(Generate(counting(1)))
	again := must[SecretKey](t)(ParseSecret(s.Reveal()))
	if again.Public() != s.Public() {
		t.Error("a secret key does not survive its text")
	}
	if p, err := ParsePublic(s.Public().String()); err != nil || p != s.Public() {
		t.Errorf("ParsePublic(%s) = %v, %v", s.Public(), p, err)
	}
	for _, text := range []string{"", "AAAA", "not base64", strings.TrimRight(s.Public().String(), "="), s.Public().String() + "\n="} {
		if _, err := ParsePublic(text); !errors.Is(err, ErrKey) {
			t.Errorf("ParsePublic(%q) = %v, want ErrKey", text, err)
		}
		if _, err := ParseSecret(byo.Secret(text)); !errors.Is(err, ErrKey) {
			t.Errorf("ParseSecret(%q) = %v, want ErrKey", text, err)
		}
	}
	if _, err := Generate(strings.NewReader("too short")); err == nil {
		t.Error("Generate takes a random source that ends")
	}
	if (SecretKey{}).Public() != (PublicKey{}) || (SecretKey{}).Reveal() != "" {
		t.Error("the zero secret key has a public key or a text")
	}
}

// Every difference in what the sides believe gives other keys, so that their tags
// and numbers differ. SW-06 rests on it.
func TestHandshakeBindsEverything(t *testing.T) {
	k := readJSON[keys](t, "testdata/keys.json")
	own := secret(t, k.Inputs.PluginSecret)
	base := must[*Root](t)(k.handshake().Derive(own, Plugin))
	stranger := must[SecretKey](t)(Generate(counting(9)))
	for name, change := range map[string]func(h *Handshake){
		"integration":   func(h *Handshake) { h.IntegrationID = "22222222-2222-4222-8222-222222222222" },
		"provider":      func(h *Handshake) { h.ProviderKind = "hermes" },
		"desktop key":   func(h *Handshake) { h.DesktopKey = stranger.Public() },
		"desktop nonce": func(h *Handshake) { h.DesktopNonce = bytes.Repeat([]byte{1}, 32) },
		"plugin nonce":  func(h *Handshake) { h.PluginNonce = bytes.Repeat([]byte{1}, 32) },
		"psk":           func(h *Handshake) { h.PSK = byo.PSK(k.Inputs.PSK) },
	} {
		h := k.handshake()
		change(&h)
		r := must[*Root](t)(h.Derive(own, Plugin))
		if r.SAS() == base.SAS() || r.KeyID() == base.KeyID() || base.CheckConfirm(Desktop, r.Confirm(Desktop)) {
			t.Errorf("another %s: SAS %s, key id %s; want other ones and another tag", name, r.SAS(), r.KeyID())
		}
	}
	if CheckCommitment(Commit(stranger.Public(), k.Inputs.DesktopNonce), PublicKey(k.DesktopPublic), k.Inputs.DesktopNonce) ||
		CheckCommitment(k.Duplex.Commitment, PublicKey(k.DesktopPublic), k.Inputs.PluginNonce) ||
		CheckCommitment(nil, PublicKey(k.DesktopPublic), k.Inputs.DesktopNonce) {
		t.Error("CheckCommitment takes a commitment to something else")
	}
	if !CheckCommitment(k.Duplex.Commitment, PublicKey(k.DesktopPublic), k.Inputs.DesktopNonce) {
		t.Error("CheckCommitment refuses the right one")
	}
}

func TestHandshakeRefusals(t *testing.T) {
	k := readJSON[keys](t, "testdata/keys.json")
	own := secret(t, k.Inputs.PluginSecret)
	for name, change := range map[string]func(h *Handshake){
		"no integration":      func(h *Handshake) { h.IntegrationID = "" },
		"short desktop nonce": func(h *Handshake) { h.DesktopNonce = h.DesktopNonce[:31] },
		"no plugin nonce":     func(h *Handshake) { h.PluginNonce = nil },
		"psk of 15 bytes":     func(h *Handshake) { h.PSK = byo.PSK(k.Inputs.PSK[:15]) },
		"somebody else's key": func(h *Handshake) { h.PluginKey = must[SecretKey](t)(Generate(counting(9))).Public() },
		"own key swapped":     func(h *Handshake) { h.PluginKey = h.DesktopKey },
		"own key as peer":     func(h *Handshake) { h.DesktopKey = h.PluginKey },
	} {
		h := k.handshake()
		change(&h)
		if _, err := h.Derive(own, Plugin); !errors.Is(err, ErrKey) {
			t.Errorf("%s: Derive = %v, want ErrKey", name, err)
		}
	}
	if _, err := k.handshake().Derive(own, 0); !errors.Is(err, ErrKey) {
		t.Errorf("no role: Derive = %v, want ErrKey", err)
	}
	if _, err := NewStatic(own, PublicKey(k.DesktopPublic), 0); !errors.Is(err, ErrKey) {
		t.Errorf("no role: NewStatic = %v, want ErrKey", err)
	}
}

// Nothing that holds a key prints it, in any way.
func TestKeysDoNotPrint(t *testing.T) {
	k := readJSON[keys](t, "testdata/keys.json")
	s := secret(t, k.Inputs.DesktopSecret)
	root, _ := k.roots(t, k.handshake())
	static, err := NewStatic(s, PublicKey(k.PluginPublic), Desktop)
	if err != nil {
		t.Fatal(err)
	}
	d := NewDuplex(root, Config{})
	state := d.Snapshot()
	leaks := []string{hex.EncodeToString(k.Inputs.DesktopSecret[:4]), hex.EncodeToString(k.Duplex.SAS.Root[:4]), hex.EncodeToString(k.Static.Key[:4]),
		base64.StdEncoding.EncodeToString(k.Duplex.SAS.Root)[:8], string(s.Reveal())[:8], fmt.Sprint([]byte(k.Duplex.SAS.Root[:4]))[1:], fmt.Sprint([]byte(k.Static.Key[:4]))[1:]}
	for _, v := range []any{s, &s, root, static, d, state, &state, state.Current, &state.Current, struct{ S SecretKey }{s}, s.Reveal(), byo.PSK(k.Inputs.PSK)} {
		var log bytes.Buffer
		slog.New(slog.NewJSONHandler(&log, nil)).Info("x", "v", v)
		slog.New(slog.NewTextHandler(&log, nil)).Info("x", "v", v)
		for _, format := range []string{"%v", "%+v", "%#v", "%s", "%x", "%q", "%d"} {
			fmt.Fprintf(&log, format, v)
		}
		for _, leak := range leaks {
			// A State is meant to be stored: as JSON it is whole.
			if strings.Contains(log.String(), strings.TrimSuffix(leak, "]")) {
				t.Errorf("%T prints %s: %s", v, leak, log.String())
			}
		}
	}
	if data, err := json.Marshal(state); err != nil || !bytes.Contains(data, []byte(base64.StdEncoding.EncodeToString(k.Duplex.SAS.Root))) {
		t.Errorf("a state does not store its root (error %v)", err)
	}
	s.Erase()
	static.Erase()
	if *s.b != [32]byte{} || static.key != [keySize]byte{} {
		t.Error("Erase leaves keys behind")
	}
}
