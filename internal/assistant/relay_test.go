package assistant_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"openclaw/byo"
	"openclaw/byo/seal"
	"openclaw/internal/assistant"
)

const integration = "11111111-1111-4111-8111-111111111111"

// relay is a relay and the desktop behind it, without a network: it pairs, streams
// what the test pushes and remembers what it was sent.
type relay struct {
	t      testing.TB
	secret seal.SecretKey
	nonce  []byte
	psk    byo.PSK
	// swap changes what passes through, as a relay that reads along would.
	swap func(path string, v any)

	mu       sync.Mutex
	complete byo.PairComplete
	plugin   []byte // nonce
	confirm  []byte
	root     *seal.Root
	duplex   *seal.Duplex
	stream   *io.PipeWriter
	streams  int
	serial   int
	calls    []call
	answer   func(c call) int // status, 0 for 200
	jobs     map[string]byo.Job
	deleted  bool
}

type call struct {
	method, path, body string
	at                 time.Time
}

func newRelay(t testing.TB) *relay {
	secret, err := seal.Generate(nil)
	if err != nil {
		t.Fatal(err)
	}
	nonce, err := seal.NewNonce(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &relay{t: t, secret: secret, nonce: nonce, jobs: map[string]byo.Job{}}
}

func (r *relay) http() *http.Client { return &http.Client{Transport: r} }

// RoundTrip implements http.RoundTripper.
func (r *relay) RoundTrip(req *http.Request) (*http.Response, error) {
	var body []byte
	if req.Body != nil {
		body, _ = io.ReadAll(req.Body)
	}
	path := strings.TrimPrefix(req.URL.Path, byo.BasePath)
	r.mu.Lock()
	defer r.mu.Unlock()
	c := call{req.Method, path, string(body), time.Now()}
	r.calls = append(r.calls, c)
	if r.answer != nil {
		if status := r.answer(c); status != 0 {
			return respond(status, `{}`), nil
		}
	}
	path = strings.TrimPrefix(path, "/integrations/"+integration)
	switch {
	case path == "/stream":
		body, w := io.Pipe()
		r.stream, r.streams = w, r.streams+1
		context.AfterFunc(req.Context(), func() { w.CloseWithError(req.Context().Err()) })
		go func() { // as a relay does, so that nobody takes the stream for dead
			for {
				select {
				case <-time.After(byo.KeepAliveEvery):
					if _, err := io.WriteString(w, ": keep-alive\n\n"); err != nil {
						return
					}
				case <-req.Context().Done():
					return
				}
			}
		}()
		resp := respond(200, "")
		resp.Body = body
		return resp, nil
	case path == "/heartbeat":
		return r.json(path, byo.HeartbeatAnswer{OK: true, NextInMS: 30000}), nil
	case path == "/pair/complete":
		json.Unmarshal(body, &r.complete)
		pd := r.secret.Public()
		return r.json(path, byo.PairCompleted{IntegrationID: integration, RelayToken: "swr_test", Label: "Studio", BYOPublicKey: pd[:],
			DesktopCommitment: seal.Commit(pd, r.nonce), BYOVersion: byo.DuplexV2, ProviderKind: "openclaw", PairingState: byo.PairClaimed}), nil
	case path == "/pairing/nonce":
		var n byo.PairNonce
		json.Unmarshal(body, &n)
		r.plugin = n.PluginNonce
		return respond(204, ""), nil
	case path == "/pairing/confirm":
		var n byo.PairConfirm
		json.Unmarshal(body, &n)
		r.confirm = n.PluginConfirm
		return respond(204, ""), nil
	case path == "/pairing":
		return r.json(path, r.progress()), nil
	case path == "" && req.Method == http.MethodDelete:
		r.deleted = true
		return respond(204, ""), nil
	case strings.HasPrefix(path, "/reasoning-jobs/") && req.Method == http.MethodGet:
		return r.json(path, r.jobs[strings.TrimPrefix(path, "/reasoning-jobs/")]), nil
	}
	return respond(200, `{"ok":true}`), nil
}

// progress is what the desktop has revealed, which it does when it has the nonce.
func (r *relay) progress() byo.PairProgress {
	if r.plugin == nil {
		return byo.PairProgress{State: byo.PairClaimed}
	}
	if r.root == nil {
		pp, err := seal.NewPublicKey(r.complete.PluginPublicKey)
		if err != nil {
			r.t.Fatal(err)
		}
		if r.root, err = (seal.Handshake{IntegrationID: integration, ProviderKind: "openclaw", DesktopKey: r.secret.Public(), PluginKey: pp,
			DesktopNonce: r.nonce, PluginNonce: r.plugin, PSK: r.psk}).Derive(r.secret, seal.Desktop); err != nil {
			r.t.Fatal(err)
		}
	}
	p := byo.PairProgress{State: byo.PairRevealed, DesktopNonce: r.nonce, DesktopConfirm: r.root.Confirm(seal.Desktop)}
	if r.confirm != nil && r.root.CheckConfirm(seal.Plugin, r.confirm) {
		p.State = byo.PairActive
	}
	return p
}

func (r *relay) json(path string, v any) *http.Response {
	data, _ := json.Marshal(v)
	if r.swap != nil {
		var m map[string]any
		json.Unmarshal(data, &m)
		r.swap(path, m)
		data, _ = json.Marshal(m)
	}
	return respond(200, string(data))
}

func respond(status int, body string) *http.Response {
	return &http.Response{StatusCode: status, Status: fmt.Sprint(status), Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body))}
}

// answering sets what calls are answered with.
func (r *relay) answering(f func(c call) int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answer = f
}

// push sends an event down the stream.
func (r *relay) push(v any) {
	data, err := json.Marshal(v)
	if err != nil {
		r.t.Fatal(err)
	}
	r.mu.Lock()
	r.serial++
	w, n := r.stream, r.serial
	r.mu.Unlock()
	fmt.Fprintf(w, "id: %d\nevent: %s\ndata: %s\n\n", n, byo.EventType(data), data)
	synctest.Wait()
}

// sent lists the bodies of the calls whose path has that end.
func (r *relay) sent(end string) []call {
	r.mu.Lock()
	defer r.mu.Unlock()
	var list []call
	for _, c := range r.calls {
		if strings.HasSuffix(c.path, end) && c.path != "/pair/complete" {
			list = append(list, c)
		}
	}
	return list
}

// job seals a question.
func (r *relay) job(n int, in byo.ReasoningInput, within time.Duration) byo.Job {
	deadline := byo.FormatTime(time.Now().Add(within))
	plain, _ := json.Marshal(in)
	env, err := r.duplex.Seal(seal.Header{ContentType: byo.ContentReasoningInput, SessionID: "s", JobID: task(n), Purpose: byo.PurposeLiveAnalysis, DeadlineAt: deadline}, plain)
	if err != nil {
		r.t.Fatal(err)
	}
	return byo.Job{EventType: byo.EventReasoningJob, JobID: task(n), Purpose: byo.PurposeLiveAnalysis, DeadlineAt: deadline, SchemaVersion: 1, EnvelopeVersion: 2,
		ResponseSchema: json.RawMessage("{}"), Payload: byo.SealedPayload(env), ProviderKind: "openclaw", IdempotencyKey: task(n)}
}

// ends opens the completions that were posted: "status code result".
func (r *relay) ends(jobs ...byo.Job) string {
	var list []string
	for _, c := range r.sent("/complete") {
		var done byo.Completion
		if err := json.Unmarshal([]byte(c.body), &done); err != nil {
			r.t.Fatal(err)
		}
		text := done.Status
		if done.ErrorCode != nil {
			text += " " + *done.ErrorCode
		}
		if done.ErrorMessage != nil || done.ModelRef != nil || done.ProviderRunID != nil || len(done.Usage) > 0 && string(done.Usage) != "null" {
			r.t.Errorf("a completion tells the relay more than it must: %s", c.body)
		}
		for _, j := range jobs {
			if j.JobID != done.JobID || done.Output == nil || done.Output.Envelope == nil {
				continue
			}
			plain, err := r.duplex.Open(*done.Output.Envelope, seal.Binding{JobID: j.JobID, Purpose: j.Purpose, DeadlineAt: j.DeadlineAt,
				ContentType: byo.ContentReasoningOutput, CorrelationID: j.Payload.Envelope.MessageID})
			if err != nil {
				text += " (" + err.Error() + ")"
				continue
			}
			var out byo.ReasoningOutput
			if err := json.Unmarshal(plain, &out); err != nil {
				r.t.Fatal(err)
			}
			text += " " + string(out.Result)
		}
		list = append(list, text)
	}
	return strings.Join(list, "; ")
}

// pair pairs an assistant with the long code and returns its folder.
func (r *relay) pair(parent string) string {
	psk, err := seal.NewPSK(nil)
	if err != nil {
		r.t.Fatal(err)
	}
	r.psk = psk
	pd := r.secret.Public()
	code, err := (&byo.RelayCode{API: "https://relay.example", Code: "0123456789ABCDEF", Key: pd[:], PSK: psk}).Encode()
	if err != nil {
		r.t.Fatal(err)
	}
	dir, p, err := assistant.Pair(context.Background(), assistant.PairConfig{Code: code, ParentDir: parent, HostLabel: "box", ProviderKind: "openclaw", Version: "1.2.0",
		Show: func(context.Context, string, bool) (bool, error) { return false, nil }, HTTP: r.http()})
	if err != nil {
		r.t.Fatal(err)
	}
	if p.Verified != byo.VerifiedPSK {
		r.t.Fatalf("verified %q", p.Verified)
	}
	r.duplex = seal.NewDuplex(r.root, seal.Config{})
	return dir
}

// client runs an assistant in the folder; stop ends it like the end of its process.
func (r *relay) client(dir string, a *agent) (stop func() error) {
	c, err := assistant.OpenClient(assistant.ClientConfig{Dir: dir, Agent: a, Version: "1.2.0", Transport: "gateway", HTTP: r.http()})
	if err != nil {
		r.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx) }()
	synctest.Wait()
	var result error
	once := sync.OnceFunc(func() { cancel(); result = <-ended })
	r.t.Cleanup(once)
	return func() error { once(); return result }
}
