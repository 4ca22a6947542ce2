package relay_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"openclaw/byo"
	"openclaw/internal/relay"
	"openclaw/internal/relay/relaytest"
)

// fixture is a node with a clock to turn.
func fixture(t *testing.T, change func(*relay.Config)) (*relaytest.Node, *relaytest.Clock) {
	t.Helper()
	clock := &relaytest.Clock{}
	cfg := config(relay.NewMemory(clock.Now))
	cfg.Now = clock.Now
	cfg.TrustedProxies = []netip.Prefix{relaytest.Address}
	if change != nil {
		change(&cfg)
	}
	return relaytest.NewNet().Start(t, "a", cfg), clock
}

// SW-06, SW-07: the relay keeps the order of a pairing: the nonce once, the reveal
// after it and once, approval at the end.
func TestPairingOrder(t *testing.T) {
	n, clock := fixture(t, nil)
	d := relaytest.NewDesktop(t, n)
	s := d.StartPairing(n, byo.CodeStyleLong, byo.DuplexV2)
	pair := "/pair/" + s.PairingID
	state := func(want string) (p byo.PairState) {
		t.Helper()
		if d.Must(n, 200, "GET", pair, nil, &p); p.State != want {
			t.Errorf("state = %s, want %s", p.State, want)
		}
		return p
	}
	state(byo.PairWaiting)
	if wait, err := byo.ParseTime(s.ExpiresAt); err != nil || wait.Sub(clock.Now()) > byo.PairingTTL || s.PollAfterMS != 2000 {
		t.Errorf("start = %+v, %v", s, err)
	}
	d.Fails(n, byo.CodePairingState, "POST", pair+"/approve", struct{}{})
	claim := relaytest.Claim(s.PairingCode, byo.DuplexV2, byo.StaticV1)
	var done byo.PairCompleted
	a := relaytest.NewAssistant(t)
	a.Must(n, 200, "POST", "/pair/complete", claim, &done)
	a.ID, a.Token = done.IntegrationID, string(done.RelayToken)
	if done.BYOVersion != byo.DuplexV2 || done.PairingState != byo.PairClaimed || done.Label != "Studio" ||
		!strings.HasPrefix(a.Token, "swr_") || len(done.BYOPublicKey) != 32 || len(done.DesktopCommitment) != 32 {
		t.Errorf("complete = %+v", done)
	}
	if p := state(byo.PairClaimed); !bytes.Equal(p.PluginPublicKey, claim.PluginPublicKey) || p.HostLabel != "studio-box" || p.PluginNonce != nil {
		t.Errorf("state = %+v", p)
	}
	mine := "/integrations/" + a.ID
	d.Fails(n, byo.CodePairingState, "POST", mine+"/reasoning-jobs", relaytest.NewJob(clock.Now(), time.Minute, 64))
	reveal := byo.PairReveal{DesktopNonce: relaytest.Bytes(32), DesktopConfirm: relaytest.Bytes(32)}
	d.Fails(n, byo.CodePairingState, "POST", pair+"/reveal", reveal)
	nonce := byo.PairNonce{PluginNonce: relaytest.Bytes(32)}
	a.Fails(n, byo.CodeInvalidRequest, "POST", mine+"/pairing/nonce", byo.PairNonce{PluginNonce: relaytest.Bytes(31)})
	a.Must(n, 204, "POST", mine+"/pairing/nonce", nonce, nil)
	a.Must(n, 204, "POST", mine+"/pairing/nonce", nonce, nil) // the answer got lost
	a.Fails(n, byo.CodePairingState, "POST", mine+"/pairing/nonce", byo.PairNonce{PluginNonce: relaytest.Bytes(32)})
	if p := state(byo.PairNonceReceived); !bytes.Equal(p.PluginNonce, nonce.PluginNonce) {
		t.Errorf("nonce = %x, want that of the assistant", p.PluginNonce)
	}
	a.Fails(n, byo.CodePairingState, "POST", mine+"/pairing/confirm", byo.PairConfirm{PluginConfirm: relaytest.Bytes(32)})
	d.Must(n, 204, "POST", pair+"/reveal", reveal, nil)
	other := byo.PairReveal{DesktopNonce: relaytest.Bytes(32), DesktopConfirm: relaytest.Bytes(32)}
	d.Fails(n, byo.CodePairingState, "POST", pair+"/reveal", other)
	var progress byo.PairProgress
	if a.Must(n, 200, "GET", mine+"/pairing", nil, &progress); !bytes.Equal(progress.DesktopNonce, reveal.DesktopNonce) {
		t.Errorf("progress = %+v, want the revealed nonce", progress)
	}
	d.Fails(n, byo.CodePairingState, "POST", pair+"/approve", struct{}{})
	confirm := byo.PairConfirm{PluginConfirm: relaytest.Bytes(32)}
	a.Must(n, 204, "POST", mine+"/pairing/confirm", confirm, nil)
	if p := state(byo.PairConfirming); !bytes.Equal(p.PluginConfirm, confirm.PluginConfirm) {
		t.Errorf("confirm = %x, want that of the assistant", p.PluginConfirm)
	}
	var list byo.Integrations
	d.Must(n, 200, "GET", "/integrations", nil, &list)
	if len(list.Integrations) != 1 || list.Integrations[0].Status != byo.PairConfirming {
		t.Errorf("list = %+v, want the pending one", list)
	}
	d.Must(n, 204, "POST", pair+"/approve", struct{}{}, nil)
	d.Must(n, 204, "POST", pair+"/approve", struct{}{}, nil)
	state(byo.PairActive)
	if a.Must(n, 200, "GET", mine+"/pairing", nil, &progress); progress.State != byo.PairActive {
		t.Errorf("progress = %s, want active", progress.State)
	}
	d.Fails(n, byo.CodePairingState, "POST", pair+"/reject", struct{}{})
	d.Submit(n, a.ID, relaytest.NewJob(clock.Now(), time.Minute, 64))
	clock.Advance(time.Hour)
	a.Must(n, 200, "GET", mine+"/pairing", nil, &progress)
	if a.Must(n, 200, "GET", mine+"/pairing", nil, &progress); progress.State != byo.PairActive {
		t.Errorf("progress after an hour = %s, want active", progress.State)
	}
}

// Section 2.4: a rejected or expired pairing goes no further.
func TestPairingEnds(t *testing.T) {
	n, clock := fixture(t, nil)
	d := relaytest.NewDesktop(t, n)
	s := d.StartPairing(n, byo.CodeStyleShort, byo.DuplexV2)
	a := relaytest.NewAssistant(t)
	var done byo.PairCompleted
	a.Must(n, 200, "POST", "/pair/complete", relaytest.Claim(s.PairingCode, byo.DuplexV2), &done)
	a.ID, a.Token = done.IntegrationID, string(done.RelayToken)
	d.Must(n, 204, "POST", "/pair/"+s.PairingID+"/reject", struct{}{}, nil)
	nonce := byo.PairNonce{PluginNonce: relaytest.Bytes(32)}
	a.Fails(n, byo.CodePairingState, "POST", "/integrations/"+a.ID+"/pairing/nonce", nonce)
	var progress byo.PairProgress
	if a.Must(n, 200, "GET", "/integrations/"+a.ID+"/pairing", nil, &progress); progress.State != byo.PairRejected {
		t.Errorf("state = %s, want rejected", progress.State)
	}
	s = d.StartPairing(n, byo.CodeStyleShort, byo.DuplexV2)
	a.Token = ""
	a.Must(n, 200, "POST", "/pair/complete", relaytest.Claim(s.PairingCode, byo.DuplexV2), &done)
	a.ID, a.Token = done.IntegrationID, string(done.RelayToken)
	clock.Advance(byo.PairingTTL)
	a.Fails(n, byo.CodePairingExpired, "POST", "/integrations/"+a.ID+"/pairing/nonce", nonce)
	d.Fails(n, byo.CodePairingExpired, "POST", "/pair/"+s.PairingID+"/approve", struct{}{})
	relaytest.NewDesktop(t, n).Fails(n, byo.CodeNotFound, "GET", "/pair/"+s.PairingID, nil)
	clock.Advance(byo.PairingTTL * 3)
	a.Fails(n, byo.CodeUnauthorized, "GET", "/integrations/"+a.ID+"/pairing", nil)
}

// Sections 2.4 and 8: the best scheme of both sides, static_v1 only if the desktop
// lists it, and what the provider's descriptor asks for.
func TestNegotiation(t *testing.T) {
	n, clock := fixture(t, nil)
	d := relaytest.NewDesktop(t, n)
	both := []string{byo.DuplexV2, byo.StaticV1}
	for name, tt := range map[string]struct {
		desktop []string
		change  func(*byo.PairComplete)
		want    string // "" for 426
	}{
		"both":               {both, func(c *byo.PairComplete) { c.BYOVersions = both }, byo.DuplexV2},
		"legacy allowed":     {both, func(c *byo.PairComplete) { c.BYOVersions = nil }, byo.StaticV1},
		"legacy not allowed": {both[:1], func(c *byo.PairComplete) { c.BYOVersions = nil }, ""},
		"no key":             {both, func(c *byo.PairComplete) { c.BYOVersions, c.PluginPublicKey = nil, nil }, ""},
		"nothing in common":  {both[:1], func(c *byo.PairComplete) { c.BYOVersions = both[1:] }, ""},
		"too old": {both, func(c *byo.PairComplete) {
			c.BYOVersions, c.ProviderKind, c.PluginVersion = both, byo.ProviderOpenClaw, "0.63.9"
		}, ""},
		"unknown kind": {both, func(c *byo.PairComplete) { c.BYOVersions, c.ProviderKind = both, "somebody-else" }, byo.DuplexV2},
	} {
		t.Run(name, func(t *testing.T) {
			clock.Advance(10 * time.Minute)
			s := d.StartPairing(n, byo.CodeStyleShort, tt.desktop...)
			a := relaytest.NewAssistant(t)
			claim := relaytest.Claim(s.PairingCode)
			tt.change(&claim)
			var done byo.PairCompleted
			status, e := a.Call(n, "POST", "/pair/complete", claim, &done)
			switch {
			case tt.want == "" && (status != 426 || e.Code != byo.CodePluginTooOld):
				t.Fatalf("complete = %d %v, want 426", status, e)
			case tt.want == "":
				claim = relaytest.Claim(s.PairingCode, both...) // after an update, with the same code
				claim.BYOVersions = tt.desktop
				a.Must(n, 200, "POST", "/pair/complete", claim, nil)
			case done.BYOVersion != tt.want:
				t.Errorf("scheme = %s (%v), want %s", done.BYOVersion, e, tt.want)
			case tt.want == byo.StaticV1:
				a.ID, a.Token = done.IntegrationID, string(done.RelayToken)
				a.Fails(n, byo.CodePairingState, "POST", "/integrations/"+a.ID+"/pairing/nonce", byo.PairNonce{PluginNonce: relaytest.Bytes(32)})
				d.Must(n, 204, "POST", "/pair/"+s.PairingID+"/approve", struct{}{}, nil)
			}
		})
	}
	var list byo.Providers
	if relaytest.Stranger(t).Must(n, 200, "GET", "/providers", nil, &list); len(list.Providers) < 2 {
		t.Errorf("providers = %+v, want the built-in ones", list)
	}
}

// Section 4.1: token first, then ids and body; what is not the caller's looks like
// what does not exist.
func TestConstantAnswers(t *testing.T) {
	n, clock := fixture(t, nil)
	d, foreign := relaytest.NewDesktop(t, n), relaytest.NewDesktop(t, n)
	a, other := d.Pair(n, byo.DuplexV2), foreign.Pair(n, byo.DuplexV2)
	job := relaytest.NewJob(clock.Now(), time.Minute, 64)
	foreign.Submit(n, other.ID, job)
	text := func(e byo.Error) string { return fmt.Sprint(e) }
	for _, path := range []string{"/integrations/%s", "/reasoning-jobs/%s", "/pair/%s"} {
		known := map[string]string{"/integrations/%s": other.ID, "/reasoning-jobs/%s": job.JobID, "/pair/%s": other.ID}[path]
		unknown := text(d.Fails(n, byo.CodeNotFound, "GET", fmt.Sprintf(path, relaytest.UUID()), nil))
		for _, id := range []string{known, "no-uuid", "x%2Fy"} {
			if got := text(d.Fails(n, byo.CodeNotFound, "GET", fmt.Sprintf(path, id), nil)); got != unknown {
				t.Errorf("GET %s with %s = %s, want %s as for an unknown id", path, id, got, unknown)
			}
		}
	}
	a.Fails(n, byo.CodeNotFound, "POST", "/integrations/"+other.ID+"/heartbeat", nil)
	a.Fails(n, byo.CodeNotFound, "POST", "/reasoning-jobs/"+job.JobID+"/ack", nil)
	a.Fails(n, byo.CodeNotFound, "POST", "/chat/messages/u-1/reply", nil)
	a.Fails(n, byo.CodeNotFound, "POST", "/tasks/"+relaytest.UUID()+"/status", byo.TaskStatus{Status: byo.TaskRunning})
	// The same id under another integration is another job.
	d.Submit(n, a.ID, job)
	if got := d.State(n, job.JobID); got.Status != byo.JobQueued {
		t.Errorf("job = %s, want the own one", got.Status)
	}

	d.Fails(n, byo.CodeNotFound, "GET", "/nothing/here", nil)
	d.Fails(n, byo.CodeNotFound, "PUT", "/desktops", nil)
	for _, token := range []string{"", "swd_wrong", a.Token} {
		wrong := relaytest.Stranger(t)
		wrong.Token = token
		wrong.Fails(n, byo.CodeUnauthorized, "POST", "/integrations/no-uuid/reasoning-jobs", []byte("{"))
	}
	a.Fails(n, byo.CodeInvalidRequest, "POST", "/integrations/"+a.ID+"/heartbeat", []byte("[]"))
	d.Fails(n, byo.CodeInvalidRequest, "POST", "/pair/start", []byte("null"))
	d.Fails(n, byo.CodeInvalidRequest, "POST", "/pair/start", []byte(`{"provider_kind":7}`))
	req, err := http.NewRequest("GET", "http://a"+byo.BasePath+"/providers", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-Correlation-ID", "c-9")
	res, err := n.Client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, res.Body)
	_ = res.Body.Close()
	if got := res.Header.Get("X-Correlation-ID"); got != "c-9" {
		t.Errorf("X-Correlation-ID = %q, want c-9", got)
	}
}

// Section 5.1: the fields of a job, repeats and conflicts.
func TestJobRequests(t *testing.T) {
	n, clock := fixture(t, nil)
	d := relaytest.NewDesktop(t, n)
	a := d.Pair(n, byo.DuplexV2)
	path := "/integrations/" + a.ID + "/reasoning-jobs"
	for name, change := range map[string]func(*byo.JobRequest){
		"id":       func(r *byo.JobRequest) { r.JobID = "x" },
		"purpose":  func(r *byo.JobRequest) { r.Purpose = "poetry" },
		"past":     func(r *byo.JobRequest) { r.DeadlineAt = byo.FormatTime(clock.Now()) },
		"far":      func(r *byo.JobRequest) { r.DeadlineAt = byo.FormatTime(clock.Now().Add(11 * time.Minute)) },
		"schema":   func(r *byo.JobRequest) { r.SchemaVersion = 2 },
		"response": func(r *byo.JobRequest) { r.ResponseSchema = json.RawMessage("[]") },
	} {
		job := relaytest.NewJob(clock.Now(), time.Minute, 64)
		change(&job)
		if status, e := d.Call(n, "POST", path, job, nil); status != 400 || e.Code != byo.CodeInvalidRequest {
			t.Errorf("%s: %d %v, want 400", name, status, e)
		}
	}
	job := relaytest.NewJob(clock.Now(), time.Minute, 64)
	d.Submit(n, a.ID, job)
	var again byo.JobAccepted
	if d.Must(n, 200, "POST", path, job, &again); again.Status != byo.JobQueued || again.DeadlineAt != job.DeadlineAt {
		t.Errorf("repeat = %+v, want queued", again)
	}
	other := job
	other.CorrelationID = "c-8"
	d.Fails(n, byo.CodeJobConflict, "POST", path, other)
	a.Must(n, 204, "POST", "/reasoning-jobs/"+job.JobID+"/ack", nil, nil)
	if d.Must(n, 200, "POST", path, job, &again); again.Status != byo.JobAcked {
		t.Errorf("repeat = %+v, want acked", again)
	}
	a.Must(n, 200, "POST", "/reasoning-jobs/"+job.JobID+"/complete", relaytest.Completed(job.JobID), nil)
	clock.Advance(2 * time.Minute) // a repeat long after its deadline still is one
	if d.Must(n, 200, "POST", path, job, &again); again.Status != byo.JobCompleted {
		t.Errorf("repeat = %+v, want completed", again)
	}
	a.Fails(n, byo.CodeAlreadyCompleted, "GET", "/reasoning-jobs/"+job.JobID, nil)
	a.Fails(n, byo.CodeAlreadyCompleted, "POST", "/reasoning-jobs/"+job.JobID+"/ack", nil)
	failed := relaytest.NewJob(clock.Now(), time.Minute, 64)
	d.Submit(n, a.ID, failed)
	code, message := byo.FailAgent, "the model said no"
	body := byo.Completion{JobID: failed.JobID, Status: byo.JobFailed, BYOEncrypted: true, ErrorCode: &code, ErrorMessage: &message}
	a.Must(n, 200, "POST", "/reasoning-jobs/"+failed.JobID+"/complete", body, nil)
	state := d.State(n, failed.JobID)
	if state.Status != byo.JobFailed || !strings.Contains(string(state.Result), code) || strings.Contains(string(state.Result), message) {
		t.Errorf("state = %s %s, want the code without the text", state.Status, state.Result)
	}
}

// Section 2.5: the assistant may revoke too, also while its pairing is under way;
// its open jobs are cancelled for the desktop.
func TestAssistantRevokes(t *testing.T) {
	n, clock := fixture(t, nil)
	d := relaytest.NewDesktop(t, n)
	a := d.Pair(n, byo.DuplexV2)
	job := relaytest.NewJob(clock.Now(), time.Minute, 64)
	d.Submit(n, a.ID, job)
	events := d.Stream(n, "")
	a.Must(n, 204, "DELETE", "/integrations/"+a.ID, nil, nil)
	var v byo.IntegrationStatus
	if events.NextOf(byo.EventIntegrationStatus, &v); v.IntegrationID != a.ID || v.Status != byo.HostDisabled {
		t.Errorf("status = %+v, want disabled", v)
	}
	a.Fails(n, byo.CodeUnauthorized, "DELETE", "/integrations/"+a.ID, nil)
	var list byo.Integrations
	if d.Must(n, 200, "GET", "/integrations", nil, &list); len(list.Integrations) != 0 {
		t.Errorf("list = %+v, want none", list)
	}
	s := d.StartPairing(n, byo.CodeStyleShort, byo.DuplexV2)
	pending := relaytest.NewAssistant(t)
	var done byo.PairCompleted
	pending.Must(n, 200, "POST", "/pair/complete", relaytest.Claim(s.PairingCode, byo.DuplexV2), &done)
	pending.ID, pending.Token = done.IntegrationID, string(done.RelayToken)
	pending.Must(n, 204, "DELETE", "/integrations/"+pending.ID, nil, nil)
	var p byo.PairState
	if d.Must(n, 200, "GET", "/pair/"+s.PairingID, nil, &p); p.State != byo.PairRejected {
		t.Errorf("state = %s, want rejected", p.State)
	}
}

// Section 16.
func TestLimits(t *testing.T) {
	n, clock := fixture(t, nil)
	d := relaytest.NewDesktop(t, n)
	a := d.Pair(n, byo.DuplexV2)
	path := "/integrations/" + a.ID + "/reasoning-jobs"
	job := func() byo.JobRequest { return relaytest.NewJob(clock.Now(), 9*time.Minute, 64) }
	var first byo.JobRequest
	for i := range byo.MaxJobsPerMinute {
		r := job()
		d.Submit(n, a.ID, r)
		if i == 0 {
			first = r
		}
	}
	if e := d.Fails(n, byo.CodeRateLimited, "POST", path, job()); e.RetryAfterMS < 1 {
		t.Errorf("error = %+v, want a time to wait", e)
	}
	d.Must(n, 200, "POST", path, first, nil) // a repeat is no new job
	clock.Advance(time.Minute)
	for range byo.MaxOpenJobs - byo.MaxJobsPerMinute {
		d.Submit(n, a.ID, job())
	}
	d.Fails(n, byo.CodeTooManyOpenJobs, "POST", path, job())
	a.Must(n, 200, "POST", "/reasoning-jobs/"+first.JobID+"/complete", relaytest.Completed(first.JobID), nil)
	d.Submit(n, a.ID, job())

	var streams []*relaytest.Stream
	for range byo.MaxDesktopStreams {
		streams = append(streams, d.Stream(n, ""))
	}
	if _, status, e := d.TryOpen(n, "/desktop/stream", ""); status != 429 || e.Code != byo.CodeTooManyStreams {
		t.Errorf("stream = %d %v, want too_many_streams", status, e)
	}
	for _, s := range streams {
		s.Close()
	}

	open := func() byo.PairStart {
		return byo.PairStart{ProviderKind: "hermes", CodeStyle: "short", DesktopPublicKey: relaytest.Bytes(32),
			Commitment: relaytest.Bytes(32), BYOVersions: []string{byo.DuplexV2}}
	}
	var last byo.PairStarted
	for range byo.MaxOpenPairings {
		d.Must(n, 201, "POST", "/pair/start", open(), &last)
	}
	d.Fails(n, byo.CodeRateLimited, "POST", "/pair/start", open())
	d.Must(n, 204, "POST", "/pair/"+last.PairingID+"/reject", struct{}{}, nil)
	d.Must(n, 201, "POST", "/pair/start", open(), nil)
	clock.Advance(byo.PairingTTL)
	for range byo.MaxIntegrations - 1 {
		d.Pair(n, byo.DuplexV2)
	}
	d.Fails(n, byo.CodeForbidden, "POST", "/pair/start", open())
	d.Must(n, 204, "DELETE", "/integrations/"+a.ID, nil, nil)
	d.Must(n, 201, "POST", "/pair/start", open(), nil)
}

// Section 4.2: registration wants an invite, which is good for so many uses and so
// long, and can be made for a relay that runs.
func TestInvites(t *testing.T) {
	dir := t.TempDir()
	var m *relay.Memory
	n, clock := fixture(t, func(c *relay.Config) {
		c.OpenRegistration, c.InviteDir = false, dir
		m = c.Broker.(*relay.Memory)
	})
	guest := relaytest.Stranger(t)
	register := func(invite byo.Secret) int {
		status, e := guest.Call(n, "POST", "/desktops", byo.DesktopRegister{Label: "x", Invite: invite}, nil)
		if e != nil && e.Code != byo.CodeForbidden {
			t.Errorf("register = %d %v", status, e)
		}
		return status
	}
	options := relay.InviteOptions{Uses: 2, Now: clock.Now}
	stored, err := relay.NewInvite(context.Background(), m, options)
	if err != nil {
		t.Fatal(err)
	}
	left, err := relay.WriteInvite(dir, relay.InviteOptions{Now: clock.Now})
	if err != nil {
		t.Fatal(err)
	}
	late, err := relay.WriteInvite(dir, relay.InviteOptions{Now: clock.Now, TTL: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	for i, tt := range []struct {
		invite byo.Secret
		want   int
	}{{"", 403}, {"swi_wrong", 403}, {stored, 201}, {stored, 201}, {stored, 403}, {left, 201}, {left, 403}} {
		if got := register(tt.invite); got != tt.want {
			t.Errorf("register %d = %d, want %d", i, got, tt.want)
		}
	}
	clock.Advance(2 * time.Hour)
	if got := register(late); got != 403 {
		t.Errorf("register with an expired invite = %d, want 403", got)
	}
	if e, err := m.Get(context.Background(), relay.Invites, string(stored)); !errors.Is(err, relay.ErrNotFound) {
		t.Errorf("the invite itself is stored: %v %v", e, err)
	}
}

// Section 4.3: what an old peer does not know it is not sent.
func TestLegacyPeersGetNoControlFrames(t *testing.T) {
	n, clock := fixture(t, nil)
	d := relaytest.NewDesktop(t, n)
	a := d.Pair(n, byo.StaticV1)
	s := a.Stream(n, "")
	d.Fails(n, byo.CodeEnvelopeMismatch, "POST", "/integrations/"+a.ID+"/control",
		byo.ControlFrame{FrameID: relaytest.UUID(), Envelope: relaytest.Sealed(byo.DuplexV2, byo.RoleDesktop, 64)})
	job := relaytest.NewJob(clock.Now(), time.Minute, 64)
	job.EnvelopeVersion, job.Payload = 1, byo.SealedPayload(relaytest.Sealed(byo.StaticV1, byo.RoleDesktop, 64))
	d.Submit(n, a.ID, job)
	s.NextJob()
	d.Must(n, 204, "DELETE", "/reasoning-jobs/"+job.JobID, nil, nil)
	text, err := byo.EnvelopeText(relaytest.Sealed(byo.StaticV1, byo.RoleDesktop, 64))
	if err != nil {
		t.Fatal(err)
	}
	task := byo.Task{ID: relaytest.UUID(), SessionID: "s-1", ActionType: "follow_up", BYOEncrypted: true, EncryptedRequest: text}
	clear := task
	clear.RequestText = "call Anna"
	d.Fails(n, byo.CodePlaintextRejected, "POST", "/integrations/"+a.ID+"/tasks", clear)
	d.Must(n, 202, "POST", "/integrations/"+a.ID+"/tasks", task, nil)
	var got byo.Task
	if ev := s.Next(); json.Unmarshal(ev.Data, &got) != nil || got.ID != task.ID || byo.EventType(ev.Data) != "" {
		t.Errorf("frame = %s, want the task", ev.Data)
	}
	events := d.Stream(n, "")
	var update byo.TaskUpdate
	a.Must(n, 200, "POST", "/tasks/"+task.ID+"/status", byo.TaskStatus{Status: byo.TaskDelivered}, nil)
	if events.NextOf(byo.EventTaskUpdate, &update); update.Status != byo.TaskDelivered {
		t.Errorf("update = %+v, want delivered", update)
	}
	a.Fails(n, byo.CodePlaintextRejected, "POST", "/tasks/"+task.ID+"/reply", byo.TaskReply{Content: "done, Anna says hi"})
	a.Must(n, 200, "POST", "/tasks/"+task.ID+"/reply", byo.TaskReply{Content: "sealed", EncryptedSummary: text}, nil)
	if events.NextOf(byo.EventTaskUpdate, &update); update.Status != byo.TaskCompleted || update.Reply.EncryptedSummary != text {
		t.Errorf("update = %+v, want the reply", update)
	}
	clock.Advance(2 * time.Second)
	again := a.Stream(n, "")
	if rest := s.End(); len(rest) != 0 {
		t.Errorf("frames before the end = %v, want no superseded", rest)
	}
	d.Must(n, 204, "DELETE", "/integrations/"+a.ID, nil, nil)
	if rest := again.End(); len(rest) != 0 {
		t.Errorf("frames before the end = %v, want neither a task again nor revoked", rest)
	}
}

// Section 2.5: rekey_due comes after 24 h, until a rekey went through.
func TestRekeyDue(t *testing.T) {
	n, clock := fixture(t, nil)
	d := relaytest.NewDesktop(t, n)
	a := d.Pair(n, byo.DuplexV2)
	due := func(want bool) {
		t.Helper()
		clock.Advance(byo.HeartbeatMinGap)
		var hb byo.HeartbeatAnswer
		if a.Must(n, 200, "POST", "/integrations/"+a.ID+"/heartbeat", nil, &hb); hb.RekeyDue != want {
			t.Errorf("rekey_due = %v, want %v", hb.RekeyDue, want)
		}
	}
	due(false)
	clock.Advance(24 * time.Hour)
	due(true)
	answer := byo.ControlFrame{FrameID: relaytest.UUID(), Envelope: relaytest.Sealed(byo.DuplexV2, byo.RoleDesktop, 64)}
	answer.Envelope.ContentType = byo.ContentRekeyAnswer
	d.Must(n, 202, "POST", "/integrations/"+a.ID+"/control", answer, nil)
	due(false)
}

// Through HTTP/2, or whatever does not give its connection away, streams work too.
func TestStreamWithoutHijack(t *testing.T) {
	n, clock := fixture(t, nil)
	d := relaytest.NewDesktop(t, n)
	a := d.Pair(n, byo.DuplexV2)
	job := relaytest.NewJob(clock.Now(), time.Minute, 64)
	d.Submit(n, a.ID, job)
	w := &plainWriter{head: http.Header{}, wrote: make(chan string, 64)}
	ctx, cancel := context.WithCancel(context.Background())
	req, err := http.NewRequestWithContext(ctx, "GET", byo.BasePath+"/integrations/"+a.ID+"/stream", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+a.Token)
	done := make(chan struct{})
	go func() {
		defer close(done)
		n.Relay.Handler().ServeHTTP(w, req)
	}()
	if got := <-w.wrote; got != ": open\n\n" {
		t.Errorf("first write = %q, want : open", got)
	}
	for !strings.Contains(<-w.wrote, job.JobID) { // after what the pairing left
	}
	cancel()
	<-done
}

type plainWriter struct {
	head  http.Header
	wrote chan string
}

func (w *plainWriter) Header() http.Header { return w.head }
func (w *plainWriter) WriteHeader(int)     {}
func (w *plainWriter) Flush()              {}
func (w *plainWriter) Write(p []byte) (int, error) {
	w.wrote <- string(p)
	return len(p), nil
}

// The published Hermes plugin looks for the API below another path.
func TestOldBasePath(t *testing.T) {
	n, _ := fixture(t, nil)
	for _, base := range []string{byo.BasePath, byo.OldBasePath} {
		res, err := n.Client.Get("http://a" + base + "/providers")
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		if res.StatusCode != http.StatusOK {
			t.Errorf("GET %s/providers: %s", base, res.Status)
		}
	}
}
