package relaytest

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"openclaw/byo"
	"openclaw/internal/sse"
)

// peer calls nodes with a token.
type peer struct {
	t     testing.TB
	Token string
}

// Call sends a body (nil: none, []byte: as it is, else JSON) and decodes a 2xx
// answer into into. It returns the status and, of a failure, the error.
func (p *peer) Call(n *Node, method, path string, body, into any) (int, *byo.Error) {
	p.t.Helper()
	status, _, e := p.call(n, method, path, body, into, nil)
	return status, e
}

func (p *peer) call(n *Node, method, path string, body, into any, header map[string]string) (int, http.Header, *byo.Error) {
	p.t.Helper()
	req := p.request(n, method, path, body)
	for k, v := range header {
		req.Header.Set(k, v)
	}
	res, err := n.Client.Do(req)
	if err != nil {
		p.t.Fatalf("%s %s: %v", method, path, err)
	}
	data, err := io.ReadAll(res.Body)
	_ = res.Body.Close()
	if err != nil {
		p.t.Fatalf("%s %s: %v", method, path, err)
	}
	if res.StatusCode >= 300 {
		var e byo.ErrorBody
		if json.Unmarshal(data, &e) != nil || e.Error.Code == "" {
			p.t.Fatalf("%s %s = %d %q, want an error body", method, path, res.StatusCode, data)
		}
		return res.StatusCode, res.Header, &e.Error
	}
	if into != nil {
		if err := json.Unmarshal(data, into); err != nil {
			p.t.Fatalf("%s %s = %q: %v", method, path, data, err)
		}
	}
	return res.StatusCode, res.Header, nil
}

func (p *peer) request(n *Node, method, path string, body any) *http.Request {
	p.t.Helper()
	var r io.Reader
	switch body := body.(type) {
	case nil:
	case []byte:
		r = bytes.NewReader(body)
	default:
		data, err := json.Marshal(body)
		if err != nil {
			p.t.Fatal(err)
		}
		r = bytes.NewReader(data)
	}
	req, err := http.NewRequest(method, "http://"+n.Name+byo.BasePath+path, r)
	if err != nil {
		p.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	if p.Token != "" {
		req.Header.Set("Authorization", "Bearer "+p.Token)
	}
	return req
}

// Must is Call for what has to succeed with that status.
func (p *peer) Must(n *Node, want int, method, path string, body, into any) {
	p.t.Helper()
	if status, e := p.Call(n, method, path, body, into); status != want {
		p.t.Fatalf("%s %s = %d %v, want %d", method, path, status, e, want)
	}
}

// Fails is Call for what has to be refused with that code.
func (p *peer) Fails(n *Node, code, method, path string, body any) byo.Error {
	p.t.Helper()
	status, e := p.Call(n, method, path, body, nil)
	if e == nil || e.Code != code || status != byo.Status(code) {
		p.t.Fatalf("%s %s = %d %v, want %d %s", method, path, status, e, byo.Status(code), code)
		return byo.Error{}
	}
	return *e
}

// NewAssistant is one that has not claimed anything.
func NewAssistant(t testing.TB) *Assistant { return &Assistant{peer: peer{t: t}} }

// Desktop is a registered desktop.
type Desktop struct {
	peer
	ID string
}

// Assistant is one that claimed a pairing.
type Assistant struct {
	peer
	ID string // of the integration
}

// Address is what a [Net] gives its clients; a relay that trusts it as a proxy
// sees each [NewDesktop] and [Desktop.Pair] come from elsewhere.
var Address = netip.MustParsePrefix("192.0.2.0/24")

func elsewhere() map[string]string {
	ip := Bytes(3)
	return map[string]string{"X-Forwarded-For": fmt.Sprintf("10.%d.%d.%d", ip[0], ip[1], ip[2])}
}

// Stranger has no token.
func Stranger(t testing.TB) *Desktop { return &Desktop{peer: peer{t: t}} }

// NewDesktop registers a desktop at a relay with open registration.
func NewDesktop(t testing.TB, n *Node) *Desktop {
	t.Helper()
	var a byo.DesktopRegistered
	d := &Desktop{peer: peer{t: t}}
	if status, _, e := d.call(n, "POST", "/desktops", byo.DesktopRegister{Label: "test"}, &a, elsewhere()); status != 201 {
		t.Fatalf("register = %d %v, want 201", status, e)
	}
	d.ID, d.Token = a.DesktopID, string(a.DesktopToken)
	return d
}

// Bytes are random, as everything sealed looks to a relay.
func Bytes(n int) []byte {
	b := make([]byte, n)
	_, _ = rand.Read(b) // never fails
	return b
}

// UUID is a random id.
func UUID() string {
	id, err := byo.NewID(nil)
	if err != nil {
		panic(err)
	}
	return id
}

// StartPairing opens a pairing for content schemes of the desktop's choice.
func (d *Desktop) StartPairing(n *Node, style string, versions ...string) byo.PairStarted {
	d.t.Helper()
	var s byo.PairStarted
	d.Must(n, 201, "POST", "/pair/start", byo.PairStart{
		ProviderKind: "hermes", Label: "Studio", CodeStyle: style, DesktopPublicKey: Bytes(byo.KeySize),
		Commitment: Bytes(byo.CommitmentSize), BYOVersions: versions,
	}, &s)
	return s
}

// Claim is an assistant's claim of a code.
func Claim(code byo.Secret, versions ...string) byo.PairComplete {
	return byo.PairComplete{
		PairingCode: code, HostLabel: "studio-box", PluginPublicKey: Bytes(byo.KeySize), ProviderKind: "hermes",
		BYOVersions: versions, PluginVersion: "1.2.0",
	}
}

// Pair brings a desktop and a new assistant together, as scheme says.
func (d *Desktop) Pair(n *Node, scheme string) *Assistant {
	d.t.Helper()
	s := d.StartPairing(n, byo.CodeStyleLong, scheme)
	a := NewAssistant(d.t)
	var done byo.PairCompleted
	if status, _, e := a.call(n, "POST", "/pair/complete", Claim(s.PairingCode, scheme), &done, elsewhere()); status != 200 {
		d.t.Fatalf("pair/complete = %d %v, want 200", status, e)
	}
	a.ID, a.Token = done.IntegrationID, string(done.RelayToken)
	if scheme == byo.DuplexV2 {
		a.Must(n, 204, "POST", "/integrations/"+a.ID+"/pairing/nonce", byo.PairNonce{PluginNonce: Bytes(32)}, nil)
		d.Must(n, 204, "POST", "/pair/"+s.PairingID+"/reveal", byo.PairReveal{DesktopNonce: Bytes(32), DesktopConfirm: Bytes(32)}, nil)
		a.Must(n, 204, "POST", "/integrations/"+a.ID+"/pairing/confirm", byo.PairConfirm{PluginConfirm: Bytes(32)}, nil)
	}
	d.Must(n, 204, "POST", "/pair/"+s.PairingID+"/approve", struct{}{}, nil)
	return a
}

// Sealed is an envelope as a relay sees one.
func Sealed(scheme, role string, size int) byo.Envelope {
	e := byo.Envelope{
		Version: scheme, SenderRole: role, MessageID: UUID(), SessionID: "s-7", CorrelationID: "c-7",
		ContentType: byo.ContentReasoningInput, Nonce: base64.StdEncoding.EncodeToString(Bytes(24)),
		Ciphertext: base64.StdEncoding.EncodeToString(Bytes(size)),
	}
	if role == byo.RolePlugin {
		e.ContentType = byo.ContentReasoningOutput
	}
	if scheme == byo.DuplexV2 {
		e.Direction, e.KeyID, e.Seq = byo.DesktopToPlugin, "d406217f512ecc81", 1
		if role == byo.RolePlugin {
			e.Direction = byo.PluginToDesktop
		}
	}
	return e
}

// NewJob is a job that is due after that time.
func NewJob(now time.Time, in time.Duration, size int) byo.JobRequest {
	r := byo.JobRequest{
		JobID: UUID(), Purpose: byo.PurposeLiveAnalysis, DeadlineAt: byo.FormatTime(now.Add(in)), SchemaVersion: 1,
		EnvelopeVersion: 2, ResponseSchema: json.RawMessage("{}"), CorrelationID: "c-7",
	}
	e := Sealed(byo.DuplexV2, byo.RoleDesktop, size)
	e.JobID, e.Purpose, e.DeadlineAt = r.JobID, r.Purpose, r.DeadlineAt
	r.Payload = byo.SealedPayload(e)
	return r
}

// Submit creates a job for an assistant.
func (d *Desktop) Submit(n *Node, integration string, r byo.JobRequest) {
	d.t.Helper()
	d.Must(n, 202, "POST", "/integrations/"+integration+"/reasoning-jobs", r, nil)
}

// State is a job as its desktop sees it.
func (d *Desktop) State(n *Node, job string) byo.JobState {
	d.t.Helper()
	var s byo.JobState
	d.Must(n, 200, "GET", "/reasoning-jobs/"+job, nil, &s)
	return s
}

// Completed is a sealed completion.
func Completed(job string) byo.Completion {
	e := Sealed(byo.DuplexV2, byo.RolePlugin, 1040)
	e.JobID = job
	return byo.Completion{JobID: job, Status: byo.JobCompleted, Output: byo.SealedOutput(e, byo.JobCompleted)}
}

// Stream is an open event stream.
type Stream struct {
	// Patience is how long a frame may take, Wait at first.
	Patience time.Duration

	t      testing.TB
	body   io.Closer
	Header http.Header
	frames chan sse.Event
	notes  chan string // comments
	ended  chan struct{}
}

// Open opens a stream; lastID may be empty.
func (p *peer) Open(n *Node, path, lastID string) *Stream {
	p.t.Helper()
	s, status, e := p.TryOpen(n, path, lastID)
	if e != nil {
		p.t.Fatalf("GET %s = %d %v, want a stream", path, status, e)
	}
	return s
}

// TryOpen is Open for a stream that may be refused.
func (p *peer) TryOpen(n *Node, path, lastID string) (*Stream, int, *byo.Error) {
	p.t.Helper()
	req := p.request(n, "GET", path, nil)
	ctx, cancel := context.WithCancel(context.Background())
	req = req.WithContext(ctx)
	if lastID != "" {
		req.Header.Set("Last-Event-ID", lastID)
	}
	res, err := n.Client.Do(req)
	if err != nil {
		cancel()
		p.t.Fatalf("GET %s: %v", path, err)
	}
	if res.StatusCode != http.StatusOK {
		defer cancel()
		var e byo.ErrorBody
		if err := json.NewDecoder(res.Body).Decode(&e); err != nil {
			p.t.Fatalf("GET %s = %d without an error body: %v", path, res.StatusCode, err)
		}
		_ = res.Body.Close()
		return nil, res.StatusCode, &e.Error
	}
	s := &Stream{Patience: Wait, t: p.t, body: res.Body, Header: res.Header, frames: make(chan sse.Event, 4096),
		notes: make(chan string, 4096), ended: make(chan struct{})}
	var wg sync.WaitGroup
	wg.Go(func() {
		r := sse.NewReader(res.Body, sse.Config{Comment: func(text []byte) { s.notes <- strings.TrimSpace(string(text)) }})
		for {
			ev, err := r.Next()
			if err != nil {
				close(s.frames)
				close(s.ended)
				return
			}
			s.frames <- ev
		}
	})
	p.t.Cleanup(func() {
		cancel()
		wg.Wait()
	})
	return s, res.StatusCode, nil
}

// Raw opens a stream that nobody reads but the caller, who closes it.
func (p *peer) Raw(n *Node, path string) io.ReadCloser {
	p.t.Helper()
	res, err := n.Client.Do(p.request(n, "GET", path, nil))
	if err != nil {
		p.t.Fatalf("GET %s: %v", path, err)
	}
	if res.StatusCode != http.StatusOK {
		p.t.Fatalf("GET %s = %d, want 200", path, res.StatusCode)
	}
	return res.Body
}

// Stream opens the assistant's stream.
func (a *Assistant) Stream(n *Node, lastID string) *Stream {
	a.t.Helper()
	return a.Open(n, "/integrations/"+a.ID+"/stream", lastID)
}

// Stream opens the desktop's stream.
func (d *Desktop) Stream(n *Node, lastID string) *Stream {
	d.t.Helper()
	return d.Open(n, "/desktop/stream", lastID)
}

// Comment waits for a comment of that text.
func (s *Stream) Comment(text string) {
	s.t.Helper()
	for timeout := time.After(s.Patience); ; {
		select {
		case got := <-s.notes:
			if got == text {
				return
			}
		case <-timeout:
			s.t.Fatalf("no comment %q came", text)
		}
	}
}

// Wait bounds how long a test waits for what has to come.
const Wait = 20 * time.Second

// Next returns the next frame.
func (s *Stream) Next() sse.Event {
	s.t.Helper()
	select {
	case ev, open := <-s.frames:
		if !open {
			s.t.Fatal("the stream ended, want a frame")
		}
		return ev
	case <-time.After(s.Patience):
		s.t.Fatal("no frame came")
	}
	return sse.Event{}
}

// NextOf returns the next frame of a type and decodes it, leaving out others.
func (s *Stream) NextOf(event string, into any) sse.Event {
	s.t.Helper()
	for {
		ev := s.Next()
		if byo.EventType(ev.Data) != event {
			continue
		}
		if err := json.Unmarshal(ev.Data, into); err != nil {
			s.t.Fatalf("frame %q: %v", ev.Data, err)
		}
		return ev
	}
}

// NextJob returns the id of the next job and of its frame.
func (s *Stream) NextJob() (job, id string) {
	s.t.Helper()
	var j byo.Job
	ev := s.NextOf(byo.EventReasoningJob, &j)
	return j.JobID, ev.ID
}

// End waits for the end of the stream and returns the frames before it.
func (s *Stream) End() []sse.Event {
	s.t.Helper()
	var rest []sse.Event
	timeout := time.After(s.Patience)
	for {
		select {
		case ev, open := <-s.frames:
			if !open {
				return rest
			}
			rest = append(rest, ev)
		case <-timeout:
			s.t.Fatal("the stream did not end")
		}
	}
}

// Quiet fails if a frame of that type is there already.
func (s *Stream) Quiet(event string) {
	s.t.Helper()
	for {
		select {
		case ev := <-s.frames:
			if byo.EventType(ev.Data) == event {
				s.t.Fatalf("frame %s %q, want none", ev.ID, ev.Data)
			}
		default:
			return
		}
	}
}

// Close breaks the connection.
func (s *Stream) Close() {
	_ = s.body.Close()
	<-s.ended
}
