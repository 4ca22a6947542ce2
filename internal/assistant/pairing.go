package assistant

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"openclaw/byo"
	"openclaw/byo/seal"
	"openclaw/internal/disk"
	"openclaw/internal/relayclient"
)

// Pairing is the bond with one desktop over a relay, as it is kept in a folder of its
// own, 0600: whoever has it can read and answer everything.
type Pairing struct {
	APIBaseURL    string     `json:"api_base_url"`
	Pin           string     `json:"pin,omitempty"` // see [PairConfig.Pin]
	IntegrationID string     `json:"integration_id"`
	RelayToken    byo.Secret `json:"relay_token"`
	Label         string     `json:"label"`
	ProviderKind  string     `json:"provider_kind"`
	BYOVersion    string     `json:"byo_version"`
	// Verified says how it is known whose key this is; empty while it is not, and
	// then nothing is opened.
	Verified   string     `json:"verified"`
	DesktopKey []byte     `json:"desktop_public_key"`
	PluginKey  []byte     `json:"plugin_public_key"`
	SecretKey  byo.Secret `json:"plugin_secret_key"`
	SAS        string     `json:"sas,omitempty"`
	PairedAt   time.Time  `json:"paired_at"`
}

const pairingFile = "pairing.json"

// LoadPairing reads the pairing kept in dir; fs.ErrNotExist when there is none.
func LoadPairing(dir string) (*Pairing, error) {
	data, err := disk.ReadFile(filepath.Join(dir, pairingFile), 64<<10)
	if err != nil {
		return nil, fmt.Errorf("read the pairing: %w", err)
	}
	var p Pairing
	if err := json.Unmarshal(data, &p); err != nil {
		return nil, fmt.Errorf("read the pairing in %s: %w", dir, err)
	}
	if p.IntegrationID == "" || p.RelayToken == "" {
		return nil, fmt.Errorf("read the pairing in %s: it is not complete; pair again", dir)
	}
	return &p, nil
}

func (p *Pairing) save(dir string) error {
	data, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		return fmt.Errorf("write the pairing: %w", err)
	}
	return disk.WriteFile(filepath.Join(dir, pairingFile), append(data, '\n'), 0o600)
}

// Fingerprint is what people compare on a pairing under static_v1.
func (p *Pairing) Fingerprint() (string, error) {
	own, err := seal.NewPublicKey(p.PluginKey)
	if err != nil {
		return "", err
	}
	peer, err := seal.NewPublicKey(p.DesktopKey)
	if err != nil {
		return "", err
	}
	return seal.Fingerprint(own, peer), nil
}

// http returns the client for the pairing's relay, the given one when there is one.
func (p *Pairing) http(given *http.Client) *http.Client {
	if given != nil {
		return given
	}
	return relayclient.NewHTTP(p.Pin)
}

// RemovePairing deletes everything kept in dir, the keys first.
func RemovePairing(dir string) error {
	if err := os.Remove(filepath.Join(dir, pairingFile)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("remove the pairing: %w", err)
	}
	return os.RemoveAll(dir)
}

// Errors of [Pair]: somebody stands between the two sides, or a person said no.
var (
	// ErrKeyMismatch says that the relay gave another key than the code carries.
	ErrKeyMismatch = errors.New("pairing_key_mismatch: the relay handed over another key than the code carries; it may be reading along. Pair again, and over another relay if this repeats")
	// ErrTampered says that what the desktop revealed is not what it committed to.
	ErrTampered = errors.New("pairing_tampered: what came over the relay is not what the desktop sent; it may be reading along. Pair again, and over another relay if this repeats")
	// ErrNotSame says that the numbers on both sides differ.
	ErrNotSame = errors.New("the numbers are not the same: somebody may stand between both sides. Nothing was paired")
	// ErrRejected says that the desktop ended the pairing.
	ErrRejected = errors.New("the desktop did not accept the pairing")
	// ErrCode says that the relay has no such code.
	ErrCode = errors.New("the relay does not know this code: it is wrong, used or has expired. Make a new one on the desktop")
	// ErrNoRelay says that six digits came without the address of their relay.
	ErrNoRelay = errors.New("six digits do not say which relay they belong to: its address is missing")
	// ErrKnown says that the relay gave the pairing the id of another one.
	ErrKnown = errors.New("the relay gave this pairing the id of one that is here already: unpair that one first if it is not used any more, otherwise do not trust this relay")
	// ErrLate says that the other side did not do its part in time.
	ErrLate = errors.New("the other side did not finish the pairing in time: make a new code and try again")
	// ErrExpired says that it took too long.
	ErrExpired = errors.New("the code has expired: make a new one on the desktop")
)

// PairConfig is what a person gave, and the world.
type PairConfig struct {
	// Code is six digits, or the whole text that begins with stagewhisper-pair:v2:.
	Code string
	// API is the address of the relay; a long code carries it.
	API string
	// ParentDir gets a folder for the pairing, named by its integration id.
	ParentDir string

	HostLabel, ProviderKind, Version string
	// Pin is the SHA-256 of the relay's certificate in hex, which then is all that counts
	// about it; it is kept with the pairing. Empty for a certificate as usual.
	Pin string
	// Show is given the number that the desktop shows as well. With six digits its
	// answer says whether a person found both the same; with a long code it is only
	// told.
	Show func(ctx context.Context, sas string, mustCompare bool) (same bool, err error)

	HTTP *http.Client // default: one that knows Pin
	Rand io.Reader
	Now  func() time.Time
}

// Pair claims a code, proves both sides to each other and keeps the pairing in a new
// folder, which it returns. When it fails nothing is kept and the relay is told.
func Pair(ctx context.Context, cfg PairConfig) (dir string, p *Pairing, err error) {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.HTTP == nil {
		cfg.HTTP = relayclient.NewHTTP(cfg.Pin)
	}
	h, err := claim(ctx, &cfg)
	if err != nil {
		return "", nil, err
	}
	defer func() {
		if err != nil {
			h.giveUp()
		}
		if errors.Is(err, context.DeadlineExceeded) {
			err = fmt.Errorf("%w (%w)", ErrLate, err)
		}
	}()
	root, err := h.prove(ctx)
	if err != nil {
		return "", nil, err
	}
	h.pairing.SAS = root.SAS()
	same, err := cfg.Show(ctx, root.SAS(), h.psk == nil)
	if err != nil {
		return "", nil, err
	}
	h.pairing.Verified = byo.VerifiedPSK
	if h.psk == nil {
		if !same {
			return "", nil, ErrNotSame
		}
		h.pairing.Verified = byo.VerifiedSAS
	}
	if _, err := h.await(ctx, byo.PairActive); err != nil {
		return "", nil, err
	}
	dir = filepath.Join(cfg.ParentDir, h.pairing.IntegrationID)
	if err := h.keep(dir, root); err != nil {
		return "", nil, errors.Join(err, os.RemoveAll(dir))
	}
	return dir, &h.pairing, nil
}

// handshake is a pairing under way.
type handshake struct {
	cfg        *PairConfig
	relay      *relayclient.Client
	secret     seal.SecretKey
	psk        byo.PSK
	commitment []byte
	pairing    Pairing
}

// ReadCode reads a code of either style and says what is wrong with it; api is the relay
// of one with six digits. What it returns holds secrets.
func ReadCode(code, api string) (*byo.RelayCode, error) {
	long, err := byo.ParseRelayCode(code)
	if errors.Is(err, byo.ErrNoPairingCode) {
		short, ok := byo.NormalizeCode(code)
		if !ok {
			return nil, errors.New("read the code: want the six digits or the whole text beginning with " + byo.RelayCodePrefix)
		}
		if api == "" {
			return nil, ErrNoRelay
		}
		long, err = &byo.RelayCode{API: api, Code: byo.Secret(short)}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the code: %w", err)
	}
	if long.API, err = byo.NormalizeURL(long.API); err != nil {
		return nil, fmt.Errorf("address of the relay: %w", err)
	}
	return long, nil
}

func claim(ctx context.Context, cfg *PairConfig) (*handshake, error) {
	h := &handshake{cfg: cfg}
	read, err := ReadCode(cfg.Code, cfg.API)
	if err != nil {
		return nil, err
	}
	api, code, dpk := read.API, string(read.Code), read.Key
	h.psk = read.PSK
	if h.secret, err = seal.Generate(cfg.Rand); err != nil {
		return nil, err
	}
	h.relay = &relayclient.Client{Base: api, HTTP: cfg.HTTP}
	public := h.secret.Public()
	ask := byo.PairComplete{PairingCode: byo.Secret(code), HostLabel: cfg.HostLabel, PluginPublicKey: public[:],
		ProviderKind: cfg.ProviderKind, BYOVersions: []string{byo.DuplexV2}, PluginVersion: cfg.Version}
	var got byo.PairCompleted
	if err := h.relay.Call(ctx, http.MethodPost, "/pair/complete", ask, &got); err != nil {
		if relayclient.Code(err) == byo.CodePairingCodeInvalid {
			return nil, ErrCode
		}
		return nil, fmt.Errorf("claim the code: %w", err)
	}
	if byo.CheckUUID("integration_id", got.IntegrationID) != nil || got.RelayToken == "" {
		return nil, errors.New("claim the code: the relay's answer is not complete")
	}
	h.relay.Token = func() byo.Secret { return got.RelayToken }
	if known, err := isKnown(cfg.ParentDir, got.IntegrationID); known || err != nil {
		return nil, cmp.Or(err, ErrKnown)
	}
	h.commitment = got.DesktopCommitment
	h.pairing = Pairing{APIBaseURL: api, Pin: cfg.Pin, IntegrationID: got.IntegrationID, RelayToken: got.RelayToken, Label: got.Label, ProviderKind: got.ProviderKind,
		BYOVersion: got.BYOVersion, DesktopKey: got.BYOPublicKey, PluginKey: public[:], SecretKey: h.secret.Reveal(), PairedAt: cfg.Now().UTC()}
	switch {
	case got.BYOVersion != byo.DuplexV2:
		h.giveUp()
		return nil, fmt.Errorf("claim the code: the relay wants %q, this side speaks %s only", got.BYOVersion, byo.DuplexV2)
	case dpk != nil && string(dpk) != string(got.BYOPublicKey):
		h.giveUp()
		return nil, ErrKeyMismatch
	}
	return h, nil
}

// isKnown reports whether a pairing has that id. A relay chooses ids: with one that is in
// use it would have one desktop replace another, keys, memory and agent.
func isKnown(parent, id string) (bool, error) {
	entries, err := os.ReadDir(parent)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return false, fmt.Errorf("list the pairings: %w", err)
	}
	return slices.ContainsFunc(entries, func(e os.DirEntry) bool { return strings.EqualFold(e.Name(), id) }), nil
}

func (h *handshake) path(rest string) string {
	return "/integrations/" + h.pairing.IntegrationID + rest
}

// prove runs the exchange after which both sides know that they share a root.
func (h *handshake) prove(ctx context.Context) (*seal.Root, error) {
	desktop, err := seal.NewPublicKey(h.pairing.DesktopKey)
	if err != nil {
		return nil, fmt.Errorf("the desktop's key: %w", err)
	}
	nonce, err := seal.NewNonce(h.cfg.Rand)
	if err != nil {
		return nil, err
	}
	if err := h.relay.Call(ctx, http.MethodPost, h.path("/pairing/nonce"), byo.PairNonce{PluginNonce: nonce}, nil); err != nil {
		return nil, fmt.Errorf("answer the desktop: %w", err)
	}
	progress, err := h.await(ctx, byo.PairRevealed)
	if err != nil {
		return nil, err
	}
	if !seal.CheckCommitment(h.commitment, desktop, progress.DesktopNonce) {
		return nil, ErrTampered
	}
	root, err := seal.Handshake{IntegrationID: h.pairing.IntegrationID, ProviderKind: h.pairing.ProviderKind, DesktopKey: desktop, PluginKey: h.secret.Public(),
		DesktopNonce: progress.DesktopNonce, PluginNonce: nonce, PSK: h.psk}.Derive(h.secret, seal.Plugin)
	if err != nil {
		return nil, err
	}
	if !root.CheckConfirm(seal.Desktop, progress.DesktopConfirm) {
		return nil, ErrTampered
	}
	if err := h.relay.Call(ctx, http.MethodPost, h.path("/pairing/confirm"), byo.PairConfirm{PluginConfirm: root.Confirm(seal.Plugin)}, nil); err != nil {
		return nil, fmt.Errorf("confirm the pairing: %w", err)
	}
	return root, nil
}

// await polls until the pairing is at least in a state.
func (h *handshake) await(ctx context.Context, state string) (*byo.PairProgress, error) {
	order := []string{byo.PairWaiting, byo.PairClaimed, byo.PairNonceReceived, byo.PairRevealed, byo.PairConfirming, byo.PairActive}
	rank := func(s string) int {
		for i, o := range order {
			if o == s {
				return i
			}
		}
		return -1
	}
	ctx, cancel := context.WithTimeoutCause(ctx, byo.PairingTTL+time.Minute, ErrExpired)
	defer cancel()
	for {
		var got byo.PairProgress
		err := h.relay.Call(ctx, http.MethodGet, h.path("/pairing"), nil, &got)
		switch {
		case err != nil && relayclient.Code(err) == byo.CodePairingExpired, got.State == byo.PairExpired:
			return nil, ErrExpired
		case err != nil && relayclient.Gone(err), got.State == byo.PairRejected:
			return nil, ErrRejected
		case err != nil && ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case err == nil && rank(got.State) >= rank(state):
			return &got, nil
		}
		if !relayclient.Sleep(ctx, time.Second) {
			return nil, context.Cause(ctx)
		}
	}
}

// keep writes the pairing and its keys.
func (h *handshake) keep(dir string, root *seal.Root) error {
	if err := disk.MkdirAll(dir); err != nil {
		return err
	}
	table, err := disk.OpenTable(filepath.Join(dir, relayFile))
	if err != nil {
		return err
	}
	state := seal.NewDuplex(root, seal.Config{Rand: h.cfg.Rand, Now: h.cfg.Now}).Snapshot()
	if err := errors.Join(table.Apply(put(keysRow, state)), table.Close()); err != nil {
		return err
	}
	return h.pairing.save(dir) // last: with it the pairing exists
}

// giveUp tells the relay that nothing came of it.
func (h *handshake) giveUp() {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	_ = h.relay.Call(ctx, http.MethodDelete, h.path(""), nil, nil) // it expires by itself as well
}

// Unpair ends a pairing at the relay and deletes what is kept of it, even when the
// relay cannot be reached; the error then says so. The client is nil for one that knows
// the pairing's pin.
func Unpair(ctx context.Context, dir string, client *http.Client) error {
	p, err := LoadPairing(dir)
	if err != nil {
		return err
	}
	relay := &relayclient.Client{Base: p.APIBaseURL, Token: func() byo.Secret { return p.RelayToken }, HTTP: p.http(client)}
	err = relay.Call(ctx, http.MethodDelete, "/integrations/"+p.IntegrationID, nil, nil)
	if relayclient.Gone(err) {
		err = nil
	}
	if err != nil {
		err = fmt.Errorf("the relay still knows the pairing; remove it on the desktop too: %w", err)
	}
	return errors.Join(err, RemovePairing(dir))
}
