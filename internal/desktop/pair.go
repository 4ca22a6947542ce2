package desktop

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"openclaw/byo"
	"openclaw/byo/seal"
	"openclaw/internal/disk"
	"openclaw/internal/relayclient"
)

// PairingStep is where a pairing over a relay stands.
type PairingStep struct {
	ID    string `json:"id"`
	State string `json:"state"` // of package byo, or "failed"
	// Code is what the person carries to the assistant: six digits or a text. It is a
	// secret of the two.
	Code      string    `json:"code,omitempty"`
	ExpiresAt time.Time `json:"expires_at"`
	HostLabel string    `json:"host_label,omitempty"`
	// SAS is the number that both sides show; Compare is set when a person has to say
	// whether they are the same.
	SAS     string `json:"sas,omitempty"`
	Compare bool   `json:"compare,omitempty"`
	// Fingerprint is all there is for an assistant that knows static_v1 only. Nobody
	// has verified it: a person has to accept that.
	Fingerprint string     `json:"fingerprint,omitempty"`
	Assistant   *Assistant `json:"assistant,omitempty"`
	Error       string     `json:"error,omitempty"`
}

// PairRequest says what to pair with.
type PairRequest struct {
	API          string     `json:"api"` // of the relay
	Pin          string     `json:"pin,omitempty"`
	Invite       byo.Secret `json:"invite,omitempty"` // the first time at this relay
	DesktopLabel string     `json:"desktop_label,omitempty"`
	ProviderKind string     `json:"provider_kind"`
	Label        string     `json:"label"`
	Style        string     `json:"code_style"` // default byo.CodeStyleLong
	// AllowLegacy lets assistants pair whose key nobody can verify.
	AllowLegacy bool `json:"allow_legacy_static_v1,omitempty"`
}

// Errors of a pairing.
var (
	// ErrTampered says that the relay, or somebody on the way, changed a key.
	ErrTampered = errors.New("pairing_tampered: what came over the relay is not what the assistant sent; it may be reading along. Nothing was paired")
	// ErrRejected says that a person said no.
	ErrRejected = errors.New("the pairing was rejected; nothing was paired")
	// ErrExpired says that the code was not used in time.
	ErrExpired = errors.New("the code has expired; make a new one")
)

// pairing is one under way.
type pairing struct {
	d      *Desk
	req    PairRequest
	relay  *relayclient.Client
	secret seal.SecretKey
	nonce  []byte
	psk    byo.PSK
	decide chan bool
	cancel context.CancelFunc

	// Frozen when the assistant's part is there; revealed once.
	state    byo.PairState
	root     *seal.Root
	revealed bool

	step PairingStep // guarded by d.mu
}

// StartPairing asks the relay for a code and sees the pairing through in the
// background, as long as the desk runs. Events tell how it goes on.
func (d *Desk) StartPairing(ctx context.Context, req PairRequest) (PairingStep, error) {
	req.Style = cmp.Or(req.Style, byo.CodeStyleLong)
	req.ProviderKind = cmp.Or(req.ProviderKind, byo.ProviderOpenClaw)
	api, err := byo.NormalizeURL(req.API)
	if err != nil {
		return PairingStep{}, fmt.Errorf("address of the relay: %w", err)
	}
	account, err := d.account(ctx, api, &req)
	if err != nil {
		return PairingStep{}, err
	}
	p := &pairing{d: d, req: req, relay: d.client(account), decide: make(chan bool, 1)}
	if p.secret, err = seal.Generate(d.cfg.Rand); err != nil {
		return PairingStep{}, err
	}
	if p.nonce, err = seal.NewNonce(d.cfg.Rand); err != nil {
		return PairingStep{}, err
	}
	public := p.secret.Public()
	start := byo.PairStart{ProviderKind: req.ProviderKind, Label: req.Label, CodeStyle: req.Style, DesktopPublicKey: public[:],
		Commitment: seal.Commit(public, p.nonce), BYOVersions: []string{byo.DuplexV2}}
	if req.AllowLegacy {
		start.BYOVersions = append(start.BYOVersions, byo.StaticV1)
	}
	var started byo.PairStarted
	if err := p.relay.Call(ctx, http.MethodPost, "/pair/start", start, &started); err != nil {
		return PairingStep{}, fmt.Errorf("ask the relay for a code: %w", err)
	}
	p.step = PairingStep{ID: started.PairingID, State: byo.PairWaiting, Code: string(started.PairingCode)}
	if p.step.ExpiresAt, err = byo.ParseTime(started.ExpiresAt); err != nil {
		p.step.ExpiresAt = d.now().Add(byo.PairingTTL)
	}
	if req.Style == byo.CodeStyleLong {
		if p.psk, err = seal.NewPSK(d.cfg.Rand); err != nil {
			return PairingStep{}, err
		}
		p.step.Code, err = (&byo.RelayCode{API: api, Code: started.PairingCode, Key: public[:], PSK: p.psk, Label: req.Label}).Encode()
		if err != nil {
			return PairingStep{}, err
		}
	}
	return p.step, d.background(func(ctx context.Context) {
		ctx, p.cancel = context.WithCancel(ctx)
		defer p.cancel()
		d.mu.Lock()
		d.pairings[p.step.ID] = p
		d.mu.Unlock()
		p.conclude(p.run(ctx))
	})
}

// account returns this desktop's account on a relay, made when there is none.
func (d *Desk) account(ctx context.Context, api string, req *PairRequest) (relayAccount, error) {
	for _, a := range d.config.get().Relays {
		if a.API == api {
			return a, nil
		}
	}
	relay := &relayclient.Client{Base: api, HTTP: d.http(req.Pin)}
	var got byo.DesktopRegistered
	if err := relay.Call(ctx, http.MethodPost, "/desktops", byo.DesktopRegister{Label: req.DesktopLabel, Invite: req.Invite}, &got); err != nil {
		if relayclient.Code(err) == byo.CodeForbidden {
			err = fmt.Errorf("%w; the relay wants an invite: ask its operator for one (stagewhisper relay invite)", err)
		}
		return relayAccount{}, fmt.Errorf("register at the relay: %w", err)
	}
	a := relayAccount{API: api, Pin: req.Pin, DesktopID: got.DesktopID, Token: got.DesktopToken}
	err := d.config.change(func(s *settings) error { s.Relays = append(s.Relays, a); return nil })
	if err == nil {
		err = d.follow(a)
	}
	return a, err
}

// Decide says what a person found: the numbers are the same, or the risk of a key that
// nobody verified is taken.
func (d *Desk) Decide(pairingID string, yes bool) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	p := d.pairings[pairingID]
	if p == nil {
		return errors.New("no such pairing is under way")
	}
	select {
	case p.decide <- yes:
	default:
	}
	return nil
}

// Pairing returns where a pairing stands.
func (d *Desk) Pairing(id string) (PairingStep, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if p := d.pairings[id]; p != nil {
		return p.step, true
	}
	i := slices.IndexFunc(d.ended, func(s PairingStep) bool { return s.ID == id })
	if i < 0 {
		return PairingStep{}, false
	}
	return d.ended[i], true
}

func (p *pairing) to(edit func(*PairingStep)) {
	p.d.mu.Lock()
	edit(&p.step)
	step := p.step
	p.d.mu.Unlock()
	step.Code = "" // those who watch have no need of it
	p.d.hub.tell(Event{Kind: EventPairing, Pairing: &step})
}

func (p *pairing) conclude(rec *record, err error) {
	if err != nil {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		_ = p.relay.Call(ctx, http.MethodPost, "/pair/"+p.step.ID+"/reject", struct{}{}, nil) // it expires by itself as well
	}
	p.to(func(s *PairingStep) {
		s.Code = ""
		if err != nil {
			s.State, s.Error = "failed", err.Error()
		} else {
			s.State, s.Assistant = byo.PairActive, &rec.Assistant
		}
	})
	p.d.mu.Lock()
	defer p.d.mu.Unlock()
	delete(p.d.pairings, p.step.ID)
	if p.d.ended = append(p.d.ended, p.step); len(p.d.ended) > 16 {
		p.d.ended = p.d.ended[1:]
	}
}

// run goes through the states.
func (p *pairing) run(ctx context.Context) (*record, error) {
	ctx, cancel := context.WithDeadlineCause(ctx, p.step.ExpiresAt.Add(time.Minute), ErrExpired)
	defer cancel()
	for {
		var s byo.PairState
		err := p.relay.Call(ctx, http.MethodGet, "/pair/"+p.step.ID, nil, &s)
		switch {
		case err != nil && (relayclient.Gone(err) || relayclient.Code(err) == byo.CodePairingExpired), s.State == byo.PairExpired:
			return nil, ErrExpired
		case s.State == byo.PairRejected:
			return nil, ErrRejected
		case err == nil:
			if rec, err := p.advance(ctx, &s); rec != nil || err != nil {
				return rec, err
			}
		}
		if !relayclient.Sleep(ctx, time.Second) {
			return nil, context.Cause(ctx)
		}
	}
}

// advance does what the state asks for.
func (p *pairing) advance(ctx context.Context, s *byo.PairState) (*record, error) {
	if s.State == byo.PairWaiting {
		return nil, nil
	}
	p.to(func(step *PairingStep) { step.State, step.HostLabel = s.State, s.HostLabel })
	if s.BYOVersion == byo.StaticV1 {
		return p.legacy(ctx, s)
	}
	if len(s.PluginNonce) == 0 {
		return nil, nil
	}
	if p.root == nil {
		p.state = *s // from here on the assistant's part must stay what it is
		if err := p.reveal(ctx); err != nil {
			return nil, err
		}
	}
	if !bytes.Equal(s.PluginPublicKey, p.state.PluginPublicKey) || !bytes.Equal(s.PluginNonce, p.state.PluginNonce) || s.IntegrationID != p.state.IntegrationID {
		return nil, ErrTampered
	}
	if len(s.PluginConfirm) == 0 {
		return nil, nil
	}
	if !p.root.CheckConfirm(seal.Plugin, s.PluginConfirm) {
		return nil, ErrTampered
	}
	verified := byo.VerifiedPSK
	if p.psk == nil {
		verified = byo.VerifiedSAS
		if err := p.ask(ctx, func(step *PairingStep) { step.SAS, step.Compare = p.root.SAS(), true }); err != nil {
			return nil, err
		}
	} else {
		p.to(func(step *PairingStep) { step.SAS = p.root.SAS() })
	}
	return p.approve(ctx, p.record(verified))
}

// reveal shows the desktop's nonce, once, and never before the assistant's is there.
func (p *pairing) reveal(ctx context.Context) error {
	if p.revealed {
		return errors.New("the desktop's part was shown already; pair again")
	}
	peer, err := seal.NewPublicKey(p.state.PluginPublicKey)
	if err != nil {
		return fmt.Errorf("the assistant's key: %w", err)
	}
	root, err := seal.Handshake{IntegrationID: p.state.IntegrationID, ProviderKind: cmp.Or(p.state.ProviderKind, p.req.ProviderKind), DesktopKey: p.secret.Public(), PluginKey: peer,
		DesktopNonce: p.nonce, PluginNonce: p.state.PluginNonce, PSK: p.psk}.Derive(p.secret, seal.Desktop)
	if err != nil {
		return err
	}
	p.revealed = true
	err = p.relay.Call(ctx, http.MethodPost, "/pair/"+p.step.ID+"/reveal", byo.PairReveal{DesktopNonce: p.nonce, DesktopConfirm: root.Confirm(seal.Desktop)}, nil)
	if err != nil {
		return fmt.Errorf("show the desktop's part: %w", err)
	}
	p.root = root
	return nil
}

// ask waits for a person's word.
func (p *pairing) ask(ctx context.Context, edit func(*PairingStep)) error {
	p.to(edit)
	select {
	case yes := <-p.decide:
		if !yes {
			return ErrRejected
		}
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// legacy pairs with an assistant that knows static_v1 only, when that was allowed and
// a person accepts that its key is not verified.
func (p *pairing) legacy(ctx context.Context, s *byo.PairState) (*record, error) {
	if !p.req.AllowLegacy {
		return nil, errors.New("the assistant speaks static_v1 only, whose keys cannot be verified; allow_legacy_static_v1 lets it in")
	}
	peer, err := seal.NewPublicKey(s.PluginPublicKey)
	if err != nil {
		return nil, fmt.Errorf("the assistant's key: %w", err)
	}
	p.state = *s
	print := seal.Fingerprint(p.secret.Public(), peer)
	if err := p.ask(ctx, func(step *PairingStep) { step.Fingerprint, step.Compare = print, true }); err != nil {
		return nil, err
	}
	rec := p.record(byo.VerifiedLegacy)
	rec.SecretKey, rec.PeerKey, rec.Fingerprint = p.secret.Reveal(), s.PluginPublicKey, print
	return p.approve(ctx, rec)
}

func (p *pairing) record(verified string) record {
	return record{Assistant: Assistant{ID: p.state.IntegrationID, Label: p.req.Label, ProviderKind: cmp.Or(p.state.ProviderKind, p.req.ProviderKind), Topology: byo.TopologyRelay,
		BYOVersion: p.state.BYOVersion, Verified: verified, HostLabel: p.state.HostLabel, URL: p.relay.Base, PairedAt: p.d.now().UTC()}}
}

// approve keeps the keys and then tells the relay; from then on jobs may be sent.
func (p *pairing) approve(ctx context.Context, rec record) (*record, error) {
	if byo.CheckUUID("integration_id", rec.ID) != nil || strings.ContainsAny(rec.ID, `/\`) {
		return nil, errors.New("the relay gave no proper integration id")
	}
	if err := p.d.keepKeys(rec, p.root); err != nil {
		return nil, err
	}
	if err := p.relay.Call(ctx, http.MethodPost, "/pair/"+p.step.ID+"/approve", struct{}{}, nil); err != nil {
		return nil, errors.Join(fmt.Errorf("approve the pairing: %w", err), p.d.dropKeys(rec.ID))
	}
	if err := p.d.config.put(rec); err != nil {
		return nil, err
	}
	return &rec, p.d.addBond(rec)
}

func (d *Desk) keepKeys(rec record, root *seal.Root) error {
	path := bondPath(d.cfg.Dir, rec.ID)
	if err := disk.MkdirAll(filepath.Dir(path)); err != nil {
		return err
	}
	table, err := disk.OpenTable(path)
	if err != nil {
		return err
	}
	if root == nil { // static_v1: the record has its key
		return table.Close()
	}
	b := bond{table: table}
	return errors.Join(b.saveKeys(seal.NewDuplex(root, seal.Config{Rand: d.cfg.Rand, Now: d.cfg.Now}).Snapshot()), table.Close())
}
