package relaytest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"openclaw/byo"
	"openclaw/internal/relay"
)

// pair is a relay of two nodes.
type pair struct {
	clock   *Clock
	net     *Net
	brokers []relay.Broker
	a, b    *Node
	log     *logBuffer
}

type logBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func newPair(t *testing.T, clock *Clock, brokers []relay.Broker) *pair {
	t.Helper()
	p := &pair{clock: clock, net: NewNet(), brokers: brokers, log: &logBuffer{}}
	log := slog.New(slog.NewJSONHandler(p.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	p.a = p.net.Start(t, "a", relay.Config{Broker: brokers[0], Now: clock.Now, Log: log, OpenRegistration: true})
	p.b = p.net.Start(t, "b", relay.Config{Broker: brokers[1], Now: clock.Now, Log: log, OpenRegistration: true})
	return p
}

// suite are the promises of a relay that a broker could break.
var suite = []struct {
	name string
	run  func(*testing.T, *pair)
}{
	{"SW20_StreamForm", streamForm},
	{"SW21_Resume", resume},
	{"SW22_StubAndHydration", stub},
	{"SW23_NoContentAnywhere", noContent},
	{"SW24_TokensAndRevocation", tokens},
	{"SW25_FirstCompletionWins", firstWins},
	{"SW26_PlaintextRefused", plaintext},
	{"SW27_Deadline", deadline},
	{"SW28_Codes", codes},
	{"SW29_StreamThrottle", throttle},
	{"SW30_NodeDies", nodeDies},
	{"SW31_Liveness", livenessTimes},
	{"TakeOver", takeOver},
	{"ChatAndFrames", chat},
	{"ConnectivityTest", connectivity},
	{"LongPoll", longPoll},
}

// SW-20: path, bearer, one-line frames, event_type in all control frames and no
// top-level id in them; superseded has no id line.
func streamForm(t *testing.T, p *pair) {
	d := NewDesktop(t, p.a)
	as := d.Pair(p.a, byo.DuplexV2)
	Stranger(t).Fails(p.a, byo.CodeUnauthorized, "GET", "/integrations/"+as.ID+"/stream", nil)
	d.Fails(p.a, byo.CodeUnauthorized, "GET", "/integrations/"+as.ID+"/stream", nil)
	as.Fails(p.a, byo.CodeNotFound, "GET", "/integrations/"+UUID()+"/stream", nil)
	job := NewJob(p.clock.Now(), time.Minute, 1040)
	d.Submit(p.b, as.ID, job)
	d.Must(p.b, 202, "POST", "/integrations/"+as.ID+"/control",
		byo.ControlFrame{FrameID: UUID(), Envelope: Sealed(byo.DuplexV2, byo.RoleDesktop, 64)}, nil)

	req := as.request(p.a, "GET", "/integrations/"+as.ID+"/stream", nil)
	req.Header.Set("Accept", "*/*")
	res, err := p.a.Client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	for name, want := range map[string]string{
		"Content-Type": "text/event-stream", "Cache-Control": "no-store", "X-Accel-Buffering": "no",
	} {
		if got := res.Header.Get(name); got != want {
			t.Errorf("%s = %q, want %q", name, got, want)
		}
	}
	var text []byte
	for !bytes.Contains(text, []byte(`"`+byo.EventBYOControl+`"`)) {
		buf := make([]byte, 4096)
		n, err := res.Body.Read(buf)
		if text = append(text, buf[:n]...); err != nil {
			t.Fatalf("read the first stream: %v", err)
		}
	}
	p.clock.Advance(2 * time.Second)
	second := as.Stream(p.b, "") // ends the first
	rest, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatalf("read the first stream: %v", err)
	}
	second.Close()
	text = append(text, rest...)
	if !strings.HasPrefix(string(text), ": open\n\n") {
		t.Errorf("the stream begins with %q, want : open", text[:min(len(text), 20)])
	}
	seen := map[string]int{}
	for frame := range strings.SplitSeq(strings.TrimSuffix(string(text), "\n\n"), "\n\n") {
		if strings.HasPrefix(frame, ":") {
			continue
		}
		checkFrame(t, frame, seen)
	}
	for _, want := range []string{byo.EventReasoningJob, byo.EventBYOControl, byo.EventSuperseded} {
		if seen[want] != 1 {
			t.Errorf("%d frames of %s, want 1 (%v)", seen[want], want, seen)
		}
	}
}

func checkFrame(t *testing.T, frame string, seen map[string]int) {
	t.Helper()
	var id, event, data string
	for line := range strings.SplitSeq(frame, "\n") {
		name, value, _ := strings.Cut(line, ": ")
		switch {
		case name == "id" && id == "":
			id = value
		case name == "event" && event == "":
			event = value
		case name == "data" && data == "":
			data = value
		default:
			t.Errorf("frame %q has a line %q", frame, line)
		}
	}
	var v map[string]any
	if err := json.Unmarshal([]byte(data), &v); err != nil {
		t.Fatalf("data of %q: %v", frame, err)
	}
	if v["event_type"] != event || event == "" {
		t.Errorf("event_type = %v under event %q", v["event_type"], event)
	}
	if _, has := v["id"]; has {
		t.Errorf("%s has a top-level id", event)
	}
	if _, err := strconv.ParseUint(id, 10, 64); (err != nil) != (event == byo.EventSuperseded) {
		t.Errorf("id of %s = %q", event, id)
	}
	seen[event]++
}

// SW-21: a connect without Last-Event-ID brings all open jobs, with it the rest,
// and a bad one counts as none.
func resume(t *testing.T, p *pair) {
	d := NewDesktop(t, p.a)
	as := d.Pair(p.a, byo.DuplexV2)
	var want []string
	for range 3 {
		job := NewJob(p.clock.Now(), 2*time.Minute, 1040)
		d.Submit(p.a, as.ID, job)
		want = append(want, job.JobID)
	}
	open := func(n *Node, lastID string, jobs ...string) (ids []string) {
		t.Helper()
		p.clock.Advance(2 * time.Second)
		s := as.Stream(n, lastID)
		for _, job := range jobs {
			got, id := s.NextJob()
			if got != job {
				t.Fatalf("Last-Event-ID %q: job %s, want %s", lastID, got, job)
			}
			ids = append(ids, id)
		}
		more := NewJob(p.clock.Now(), 2*time.Minute, 64)
		d.Submit(p.b, as.ID, more)
		if got, _ := s.NextJob(); got != more.JobID {
			t.Fatalf("Last-Event-ID %q: then %s, want the new job", lastID, got)
		}
		s.Close()
		as.Must(p.a, 200, "POST", "/reasoning-jobs/"+more.JobID+"/complete", Completed(more.JobID), nil)
		return ids
	}
	ids := open(p.a, "", want...)
	open(p.b, "", want...)
	open(p.b, ids[0], want[1:]...)
	open(p.a, ids[2])
	for _, bad := range []string{"x", "-1", "1e3", "99999999"} {
		open(p.b, bad, want...)
	}
	as.Must(p.b, 200, "POST", "/reasoning-jobs/"+want[1]+"/complete", Completed(want[1]), nil)
	open(p.a, "", want[0], want[2])
}

// SW-22: idempotency_key is always there; an oversize frame becomes a stub and
// GET returns the whole.
func stub(t *testing.T, p *pair) {
	d := NewDesktop(t, p.a)
	as := d.Pair(p.a, byo.DuplexV2)
	s := as.Stream(p.a, "")
	small, large := NewJob(p.clock.Now(), time.Minute, 1040), NewJob(p.clock.Now(), time.Minute, 110<<10)
	d.Submit(p.a, as.ID, small)
	var j byo.Job
	s.NextOf(byo.EventReasoningJob, &j)
	if j.IdempotencyKey != small.JobID || j.ProviderKind != "hermes" || j.Payload.Envelope == nil {
		t.Errorf("frame = %+v, want the whole job with its key", j)
	}
	d.Submit(p.b, as.ID, large)
	ev := s.Next()
	if want := `{"event_type":"reasoning_job","job_id":"` + large.JobID + `","_truncated":true}`; string(ev.Data) != want {
		t.Errorf("frame = %.200s, want %s", ev.Data, want)
	}
	var whole byo.Job
	as.Must(p.b, 200, "GET", "/reasoning-jobs/"+large.JobID, nil, &whole)
	if whole.IdempotencyKey != large.JobID || whole.Payload.Envelope == nil ||
		whole.Payload.Envelope.Ciphertext != large.Payload.Envelope.Ciphertext {
		t.Errorf("GET = a job %s with another envelope", whole.JobID)
	}
	huge := NewJob(p.clock.Now(), time.Minute, byo.MaxJobBody)
	d.Fails(p.a, byo.CodeTooLarge, "POST", "/integrations/"+as.ID+"/reasoning-jobs", huge)
	other := NewDesktop(t, p.a).Pair(p.a, byo.DuplexV2)
	other.Fails(p.a, byo.CodeNotFound, "GET", "/reasoning-jobs/"+large.JobID, nil)
}

// SW-23: no plaintext, token, code or key in storage, logs, metrics and errors.
func noContent(t *testing.T, p *pair) {
	const canary = "canary-7391"
	d := NewDesktop(t, p.a)
	start := d.StartPairing(p.a, byo.CodeStyleLong, byo.DuplexV2)
	as := d.Pair(p.b, byo.DuplexV2)
	s := as.Stream(p.a, "")
	jobs := "/integrations/" + as.ID + "/reasoning-jobs"
	var answers strings.Builder
	say := func(e byo.Error) { fmt.Fprintf(&answers, "%s %s\n", e.Code, e.Message) }

	plain := NewJob(p.clock.Now(), time.Minute, 64)
	plain.Payload = byo.Payload{Raw: json.RawMessage(`{"user_prompt":"` + canary + `"}`)}
	say(d.Fails(p.a, byo.CodePlaintextRejected, "POST", jobs, plain))
	say(d.Fails(p.a, byo.CodeInvalidRequest, "POST", jobs, []byte(`{"job_id":"`+canary+`","x":`)))
	say(d.Fails(p.a, byo.CodeInvalidRequest, "POST", jobs, []byte(`{"job_id":"`+canary+`"}`)))
	say(as.Fails(p.a, byo.CodeNotFound, "GET", "/reasoning-jobs/"+canary, nil))
	job := NewJob(p.clock.Now(), time.Minute, 64)
	d.Submit(p.a, as.ID, job)
	s.NextJob()
	done := Completed(job.JobID)
	done.Output = &byo.CompletionOutput{Raw: json.RawMessage(`{"signals":"` + canary + `"}`)}
	say(as.Fails(p.b, byo.CodePlaintextRejected, "POST", "/reasoning-jobs/"+job.JobID+"/complete", done))
	done = Completed(job.JobID)
	text := canary
	done.ErrorCode = &text
	*done.ErrorCode = canary + " said the model"
	say(as.Fails(p.b, byo.CodeInvalidRequest, "POST", "/reasoning-jobs/"+job.JobID+"/complete", done))
	done = Completed(job.JobID)
	text = canary
	done.ErrorMessage, done.ModelRef, done.Usage = &text, &text, json.RawMessage(`{"x":"`+canary+`"}`)
	as.Must(p.b, 200, "POST", "/reasoning-jobs/"+job.JobID+"/complete", done, nil)
	say(d.Fails(p.a, byo.CodePlaintextRejected, "POST", "/integrations/"+as.ID+"/chat/messages",
		byo.ChatPost{UserMessageID: "u-1", SessionID: "s-1", Content: canary}))
	if got := d.State(p.a, job.JobID); got.Status != byo.JobCompleted {
		t.Fatalf("job = %s, want completed", got.Status)
	}

	hidden := []string{canary, d.Token, as.Token, string(start.PairingCode)}
	places := map[string]string{"errors": answers.String(), "log": p.log.String()}
	for i, n := range []*Node{p.a, p.b} {
		rec := httptest.NewRecorder()
		n.Relay.Metrics().ServeHTTP(rec, httptest.NewRequest("GET", "/metrics", nil))
		if rec.Code != http.StatusOK || !strings.Contains(rec.Body.String(), "stagewhisper_relay_requests_total") {
			t.Errorf("metrics = %d %.100s", rec.Code, rec.Body)
		}
		places["metrics "+strconv.Itoa(i)] = rec.Body.String()
	}
	for _, c := range relay.Buckets() {
		list, err := p.brokers[0].List(t.Context(), c.Bucket, "")
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range list {
			places["storage "+string(c.Bucket)] += e.Key + " " + string(e.Value) + "\n"
		}
	}
	for _, side := range []relay.Side{relay.ToAssistant, relay.ToDesktop} {
		places["topics "+string(side)] = strings.Join(replay(t, p.brokers[0], relay.Topic{Side: side}, 0), "\n")
	}
	for place, content := range places {
		for _, secret := range hidden {
			if strings.Contains(content, secret) {
				t.Errorf("%s: holds %q", place, secret)
			}
		}
	}
	// What is meant to be there is there, so that the scan looked at something.
	if !strings.Contains(places["storage sw_jobs"], done.Output.Envelope.Ciphertext[:64]) {
		t.Error("the scan did not see the sealed result")
	}
	if strings.Contains(places["storage sw_jobs"], job.Payload.Envelope.Ciphertext) {
		t.Error("the request's ciphertext is still stored after the end")
	}
}

// SW-24: tokens at rest are hashes only; a revoked integration's stream ends
// within 2 s, and later calls give 401, on every node.
func tokens(t *testing.T, p *pair) {
	d := NewDesktop(t, p.a)
	as := d.Pair(p.a, byo.DuplexV2)
	if _, err := p.brokers[0].Get(t.Context(), relay.Tokens, byo.TokenHash(as.Token)); err != nil {
		t.Errorf("the token's hash is not stored: %v", err)
	}
	old := as.Token
	var r byo.TokenRotated
	as.Must(p.a, 200, "POST", "/integrations/"+as.ID+"/token/rotate", nil, &r)
	for _, token := range []string{old, string(r.RelayToken)} {
		as.Token = token
		as.Must(p.b, 200, "GET", "/integrations/"+as.ID+"/pairing", nil, nil)
	}
	p.clock.Advance(byo.OldTokenFor)
	as.Token = old
	as.Fails(p.b, byo.CodeUnauthorized, "GET", "/integrations/"+as.ID+"/pairing", nil)
	as.Token = string(r.RelayToken)
	job := NewJob(p.clock.Now(), time.Minute, 64)
	d.Submit(p.a, as.ID, job)
	s, events := as.Stream(p.a, ""), d.Stream(p.b, "")
	s.NextJob()
	NewDesktop(t, p.b).Fails(p.b, byo.CodeNotFound, "DELETE", "/integrations/"+as.ID, nil)
	began := time.Now()
	d.Must(p.b, 204, "DELETE", "/integrations/"+as.ID, nil, nil)
	rest := s.End()
	if took := time.Since(began); took > 2*time.Second {
		t.Errorf("the stream ended after %v, want within 2 s", took)
	}
	if len(rest) == 0 || byo.EventType(rest[len(rest)-1].Data) != byo.EventRevoked {
		t.Errorf("last frames = %v, want revoked", rest)
	}
	var result byo.JobResult
	if events.NextOf(byo.EventIntegrationStatus, &byo.IntegrationStatus{}); result.JobID != "" {
		t.Error("unreachable")
	}
	for _, n := range []*Node{p.a, p.b} {
		as.Fails(n, byo.CodeUnauthorized, "POST", "/integrations/"+as.ID+"/heartbeat", nil)
		as.Fails(n, byo.CodeUnauthorized, "GET", "/integrations/"+as.ID+"/stream", nil)
		d.Fails(n, byo.CodeNotFound, "GET", "/integrations/"+as.ID, nil)
		d.Fails(n, byo.CodeNotFound, "GET", "/reasoning-jobs/"+job.JobID, nil)
	}
	for _, bucket := range []relay.Bucket{relay.Jobs, relay.Messages, relay.Integrations} {
		list, err := p.brokers[1].List(t.Context(), bucket, "")
		if err != nil || len(list) > 0 {
			t.Errorf("%s holds %d entries after the revocation (%v), want none", bucket, len(list), err)
		}
	}
}

// SW-25: of completions on two nodes at once the first wins; repeats and late
// ones get what 5.4 says.
func firstWins(t *testing.T, p *pair) {
	d := NewDesktop(t, p.a)
	as := d.Pair(p.a, byo.DuplexV2)
	for range 5 {
		job := NewJob(p.clock.Now(), time.Minute, 64)
		path := "/reasoning-jobs/" + job.JobID + "/complete"
		d.Submit(p.a, as.ID, job)
		var mu sync.Mutex
		var wg sync.WaitGroup
		var won []byo.Completion
		for i := range 6 {
			wg.Go(func() {
				done := Completed(job.JobID)
				status, e := as.Call([]*Node{p.a, p.b}[i%2], "POST", path, done, nil)
				mu.Lock()
				defer mu.Unlock()
				if status == 200 {
					won = append(won, done)
				} else if e.Code != byo.CodeAlreadyCompleted {
					t.Errorf("complete = %d %v, want 200 or already_completed", status, e)
				}
			})
		}
		wg.Wait()
		if len(won) != 1 {
			t.Fatalf("%d completions won, want 1", len(won))
		}
		var state byo.Completion
		if err := json.Unmarshal(d.State(p.b, job.JobID).Result, &state); err != nil {
			t.Fatal(err)
		}
		if state.Output.Envelope.Ciphertext != won[0].Output.Envelope.Ciphertext {
			t.Error("the result is not that of the winner")
		}
		var again byo.CompletionAnswer
		as.Must(p.b, 200, "POST", path, won[0], &again)
		if !again.OK || !again.Duplicate {
			t.Errorf("identical repeat = %+v, want ok and duplicate", again)
		}
		as.Fails(p.a, byo.CodeAlreadyCompleted, "POST", path, Completed(job.JobID))
	}
	cancelled := NewJob(p.clock.Now(), time.Minute, 64)
	d.Submit(p.a, as.ID, cancelled)
	d.Must(p.b, 204, "DELETE", "/reasoning-jobs/"+cancelled.JobID, nil, nil)
	as.Fails(p.a, byo.CodeJobCancelled, "POST", "/reasoning-jobs/"+cancelled.JobID+"/complete", Completed(cancelled.JobID))
	NewDesktop(t, p.a).Pair(p.a, byo.DuplexV2).
		Fails(p.a, byo.CodeNotFound, "POST", "/reasoning-jobs/"+cancelled.JobID+"/complete", Completed(cancelled.JobID))
	d.Must(p.b, 204, "DELETE", "/reasoning-jobs/"+cancelled.JobID, nil, nil)
	d.Fails(p.a, byo.CodeNotFound, "GET", "/reasoning-jobs/"+cancelled.JobID, nil)
}

// SW-26: an integration with BYO takes no plaintext, and no other scheme.
func plaintext(t *testing.T, p *pair) {
	d := NewDesktop(t, p.a)
	as, legacy := d.Pair(p.a, byo.DuplexV2), d.Pair(p.a, byo.StaticV1)
	with := func(change func(*byo.JobRequest)) byo.JobRequest {
		r := NewJob(p.clock.Now(), time.Minute, 64)
		change(&r)
		return r
	}
	raw := func(s string) byo.Payload { return byo.Payload{Raw: json.RawMessage(s)} }
	for name, tt := range map[string]struct {
		to   string
		code string
		job  byo.JobRequest
	}{
		"clear": {as.ID, byo.CodePlaintextRejected, with(func(r *byo.JobRequest) { r.Payload = raw(`{"prompt":"x"}`) })},
		"clear probe": {as.ID, byo.CodePlaintextRejected, with(func(r *byo.JobRequest) {
			r.Payload, r.Purpose = raw(`{"prompt":"x"}`), byo.PurposeCapabilityProbe
		})},
		"flat": {as.ID, byo.CodePlaintextRejected, with(func(r *byo.JobRequest) {
			data, _ := json.Marshal(r.Payload.Envelope)
			r.Payload = raw(string(data))
		})},
		"no envelope": {as.ID, byo.CodePlaintextRejected, with(func(r *byo.JobRequest) { r.Payload = raw(`{"byo_encrypted":true}`) })},
		"version":     {as.ID, byo.CodeEnvelopeMismatch, with(func(r *byo.JobRequest) { r.EnvelopeVersion = 1 })},
		"downgrade": {as.ID, byo.CodeEnvelopeMismatch, with(func(r *byo.JobRequest) {
			r.Payload = byo.SealedPayload(Sealed(byo.StaticV1, byo.RoleDesktop, 64))
		})},
		"nonce":         {as.ID, byo.CodeInvalidEnvelope, with(func(r *byo.JobRequest) { r.Payload.Envelope.Nonce = "AAAA" })},
		"legacy, clear": {legacy.ID, byo.CodePlaintextRejected, with(func(r *byo.JobRequest) { r.EnvelopeVersion, r.Payload = 1, raw(`{"prompt":"x"}`) })},
	} {
		if status, e := d.Call(p.a, "POST", "/integrations/"+tt.to+"/reasoning-jobs", tt.job, nil); e == nil || e.Code != tt.code {
			t.Errorf("%s: %d %v, want %s", name, status, e, tt.code)
		}
	}
	job := NewJob(p.clock.Now(), time.Minute, 64)
	d.Submit(p.a, as.ID, job)
	clear := byo.Completion{JobID: job.JobID, Status: byo.JobCompleted, Output: &byo.CompletionOutput{Raw: json.RawMessage(`{"a":1}`)}}
	as.Fails(p.b, byo.CodePlaintextRejected, "POST", "/reasoning-jobs/"+job.JobID+"/complete", clear)
	clear.Output = nil
	as.Fails(p.b, byo.CodePlaintextRejected, "POST", "/reasoning-jobs/"+job.JobID+"/complete", clear)
	if got := d.State(p.a, job.JobID); byo.Terminal(got.Status) {
		t.Errorf("job = %s after a refused completion, want open", got.Status)
	}
	// The exception: a probe of a static_v1 peer, asked and answered in clear.
	probe := with(func(r *byo.JobRequest) {
		r.Purpose, r.EnvelopeVersion, r.Payload = byo.PurposeCapabilityProbe, 1, raw(`{"prompt":"describe yourself"}`)
	})
	d.Submit(p.a, legacy.ID, probe)
	clear = byo.Completion{JobID: probe.JobID, Status: byo.JobCompleted, Output: &byo.CompletionOutput{Raw: json.RawMessage(`{"raw_description":"x"}`)}}
	legacy.Must(p.b, 200, "POST", "/reasoning-jobs/"+probe.JobID+"/complete", clear, nil)
}

// SW-27: a job times out on every node at its deadline, and nothing comes later.
func deadline(t *testing.T, p *pair) {
	d := NewDesktop(t, p.a)
	as := d.Pair(p.a, byo.DuplexV2)
	events := d.Stream(p.b, "")
	job := NewJob(p.clock.Now(), 10*time.Second, 64)
	d.Submit(p.a, as.ID, job)
	p.clock.Advance(10 * time.Second)
	for _, n := range []*Node{p.b, p.a} {
		if got := d.State(n, job.JobID); got.Status != byo.JobTimedOut || string(got.Result) != "null" {
			t.Errorf("job at %s = %+v, want timed_out without a result", n.Name, got)
		}
		as.Fails(n, byo.CodeJobExpired, "POST", "/reasoning-jobs/"+job.JobID+"/complete", Completed(job.JobID))
		as.Fails(n, byo.CodeJobExpired, "GET", "/reasoning-jobs/"+job.JobID, nil)
	}
	var result byo.JobResult
	if events.NextOf(byo.EventReasoningJobResult, &result); result.JobID != job.JobID || result.Status != byo.JobTimedOut {
		t.Errorf("result = %+v, want timed_out", result)
	}
	s := as.Stream(p.b, "")
	fresh := NewJob(p.clock.Now(), time.Minute, 64)
	d.Submit(p.a, as.ID, fresh)
	if got, _ := s.NextJob(); got != fresh.JobID {
		t.Errorf("delivered %s, want only the job that is open", got)
	}
	// Nobody asks for this one: the sweeper ends it.
	p.clock.Advance(time.Minute)
	if events.NextOf(byo.EventReasoningJobResult, &result); result.JobID != fresh.JobID || result.Status != byo.JobTimedOut {
		t.Errorf("result = %+v, want %s timed_out", result, fresh.JobID)
	}
}

// SW-28: a code works once and for 300 s, and the limits on guessing hold across
// nodes.
func codes(t *testing.T, p *pair) {
	d, guest := NewDesktop(t, p.a), Stranger(t)
	s := d.StartPairing(p.a, byo.CodeStyleShort, byo.DuplexV2)
	claim := func(n *Node, code byo.Secret) (int, *byo.Error) {
		return guest.Call(n, "POST", "/pair/complete", Claim(code, byo.DuplexV2), nil)
	}
	var mu sync.Mutex
	var wg sync.WaitGroup
	won := 0
	for i := range 2 {
		wg.Go(func() {
			status, _ := claim([]*Node{p.a, p.b}[i], s.PairingCode)
			mu.Lock()
			defer mu.Unlock()
			if status == 200 {
				won++
			} else if status != 404 {
				t.Errorf("claim = %d, want 200 or 404", status)
			}
		})
	}
	wg.Wait()
	if won != 1 {
		t.Errorf("%d claims won, want 1", won)
	}
	late := d.StartPairing(p.b, byo.CodeStyleLong, byo.DuplexV2)
	p.clock.Advance(byo.PairingTTL)
	var answers []string
	for _, code := range []byo.Secret{s.PairingCode, late.PairingCode, "000000", "nonsense"} {
		status, e := claim(p.a, code)
		answers = append(answers, fmt.Sprint(status, e))
	}
	for _, a := range answers {
		if a != answers[0] || !strings.HasPrefix(a, "404 "+byo.CodePairingCodeInvalid) {
			t.Errorf("used, expired, wrong and odd codes answer %q, want one 404", answers)
			break
		}
	}
	var state byo.PairState
	if d.Must(p.b, 200, "GET", "/pair/"+late.PairingID, nil, &state); state.State != byo.PairExpired {
		t.Errorf("state = %s, want expired", state.State)
	}
	p.clock.Advance(time.Minute)
	for i := range byo.PairPerAddress {
		if status, _ := claim([]*Node{p.a, p.b}[i%2], "111111"); status != 404 {
			t.Errorf("try %d = %d, want 404", i, status)
		}
	}
	good := d.StartPairing(p.a, byo.CodeStyleShort, byo.DuplexV2)
	if status, e := claim(p.b, good.PairingCode); status != 429 || e.Code != byo.CodeRateLimited {
		t.Errorf("the sixth try in a minute = %d %v, want 429", status, e)
	}
	p.clock.Advance(time.Minute)
	for range 2 { // 5 + 5 wrong in five minutes, the four odd ones included
		_, _ = claim(p.a, "222222")
	}
	p.clock.Advance(time.Minute)
	if status, _ := claim(p.b, good.PairingCode); status != 429 {
		t.Errorf("the right code from a blocked address = %d, want 429", status)
	}
	p.clock.Advance(byo.WrongCodesBlock)
	fresh := d.StartPairing(p.a, byo.CodeStyleShort, byo.DuplexV2)
	if status, e := claim(p.b, fresh.PairingCode); status != 200 {
		t.Errorf("after the block = %d %v, want 200", status, e)
	}
}

// SW-29: streams come at most once a second, whatever the node.
func throttle(t *testing.T, p *pair) {
	as := NewDesktop(t, p.a).Pair(p.a, byo.DuplexV2)
	as.Stream(p.a, "").Close()
	for _, n := range []*Node{p.a, p.b} {
		_, status, e := as.TryOpen(n, "/integrations/"+as.ID+"/stream", "")
		if status != 429 || e.RetryAfterMS < 1 || e.RetryAfterMS > 1000 {
			t.Errorf("stream right after a stream = %d %v, want 429 with a wait up to 1 s", status, e)
		}
	}
	p.clock.Advance(byo.StreamMinGap)
	as.Stream(p.b, "").Close()
}

// SW-30: a node dies during delivery; another one delivers again, nothing is lost
// and no result comes twice.
func nodeDies(t *testing.T, p *pair) {
	d := NewDesktop(t, p.a)
	as := d.Pair(p.a, byo.DuplexV2)
	s, events := as.Stream(p.a, ""), d.Stream(p.b, "")
	want := map[string]bool{}
	submit := func(n *Node) {
		job := NewJob(p.clock.Now(), 5*time.Minute, 64)
		d.Submit(n, as.ID, job)
		want[job.JobID] = true
	}
	for range 8 {
		submit(p.a)
	}
	for range 3 {
		s.NextJob()
	}
	p.a.Crash()
	s.End()
	submit(p.b)
	p.clock.Advance(2 * time.Second)
	again := as.Stream(p.b, "")
	delivered := map[string]bool{}
	for len(delivered) < len(want) {
		job, _ := again.NextJob()
		if delivered[job] || !want[job] {
			t.Errorf("delivered %s twice, or from nowhere", job)
		}
		delivered[job] = true
		as.Must(p.b, 200, "POST", "/reasoning-jobs/"+job+"/complete", Completed(job), nil)
	}
	results := map[string]bool{}
	for len(results) < len(want) {
		var r byo.JobResult
		events.NextOf(byo.EventReasoningJobResult, &r)
		if results[r.JobID] || r.Status != byo.JobCompleted {
			t.Errorf("result %+v came twice, or is none", r)
		}
		results[r.JobID] = true
	}
	again.Quiet(byo.EventReasoningJob)
}

// SW-31: liveness changes at 90 s and 300 s after the last sign of life.
func livenessTimes(t *testing.T, p *pair) {
	d := NewDesktop(t, p.a)
	as := d.Pair(p.a, byo.DuplexV2)
	check := func(want string) {
		t.Helper()
		var v byo.Integration
		if d.Must(p.b, 200, "GET", "/integrations/"+as.ID, nil, &v); v.Liveness != want {
			t.Errorf("liveness = %s, want %s", v.Liveness, want)
		}
	}
	live := NewJob(p.clock.Now(), 10*time.Minute, 64)
	live.RequireLive = true
	check(byo.LivenessOffline)
	d.Fails(p.b, byo.CodeAssistantOffline, "POST", "/integrations/"+as.ID+"/reasoning-jobs", live)
	var hb byo.HeartbeatAnswer
	as.Must(p.a, 200, "POST", "/integrations/"+as.ID+"/heartbeat", nil, &hb)
	if !hb.OK || hb.NextInMS != 30000 {
		t.Errorf("heartbeat = %+v, want ok and 30000", hb)
	}
	as.Fails(p.b, byo.CodeRateLimited, "POST", "/integrations/"+as.ID+"/heartbeat", []byte("{}"))
	check(byo.LivenessFresh)
	p.clock.Advance(byo.FreshFor - time.Second)
	check(byo.LivenessFresh)
	p.clock.Advance(time.Second)
	check(byo.LivenessStale)
	p.clock.Advance(byo.OfflineAfter - byo.FreshFor - time.Second)
	check(byo.LivenessStale)
	p.clock.Advance(time.Second)
	check(byo.LivenessOffline)
	s := as.Stream(p.a, "")
	check(byo.LivenessFresh)
	var v byo.Integration
	if d.Must(p.b, 200, "GET", "/integrations/"+as.ID, nil, &v); !v.Connected {
		t.Error("connected = false with an open stream")
	}
	d.Must(p.b, 202, "POST", "/integrations/"+as.ID+"/reasoning-jobs", live, nil)
	s.Close()
}

// The newest stream of an integration wins, on whatever node.
func takeOver(t *testing.T, p *pair) {
	d := NewDesktop(t, p.a)
	as := d.Pair(p.a, byo.DuplexV2)
	first := as.Stream(p.a, "")
	for i, n := range []*Node{p.b, p.b, p.a} {
		p.clock.Advance(2 * time.Second)
		next := as.Stream(n, "")
		rest := first.End()
		if len(rest) == 0 || byo.EventType(rest[len(rest)-1].Data) != byo.EventSuperseded {
			t.Errorf("stream %d ended with %v, want superseded", i, rest)
		}
		first = next
	}
	job := NewJob(p.clock.Now(), time.Minute, 64)
	d.Submit(p.b, as.ID, job)
	if got, _ := first.NextJob(); got != job.JobID {
		t.Errorf("job = %s, want %s on the newest stream", got, job.JobID)
	}
}

// Section 9: sealed chat both ways, once each, readable for a day.
func chat(t *testing.T, p *pair) {
	d := NewDesktop(t, p.a)
	as, legacy := d.Pair(p.a, byo.DuplexV2), d.Pair(p.a, byo.StaticV1)
	s, old, events := as.Stream(p.a, ""), legacy.Stream(p.b, ""), d.Stream(p.b, "")
	post := func(to *Assistant, scheme, id string) byo.ChatPost {
		text, err := byo.EnvelopeText(Sealed(scheme, byo.RoleDesktop, 64))
		if err != nil {
			t.Fatal(err)
		}
		m := byo.ChatPost{UserMessageID: id, SessionID: "s-7", Content: text}
		d.Must(p.a, 202, "POST", "/integrations/"+to.ID+"/chat/messages", m, nil)
		d.Must(p.b, 200, "POST", "/integrations/"+to.ID+"/chat/messages", m, nil)
		other := m
		other.SessionID = "s-8"
		d.Fails(p.b, byo.CodeJobConflict, "POST", "/integrations/"+to.ID+"/chat/messages", other)
		return m
	}
	post(as, byo.DuplexV2, "u-1")
	var f byo.Frame
	if s.NextOf(byo.EventChatFrame, &f); f.FrameID != "u-1" || f.Envelope.Ciphertext == "" {
		t.Errorf("frame = %+v, want u-1", f)
	}
	answer := byo.ControlFrame{FrameID: UUID(), Envelope: Sealed(byo.DuplexV2, byo.RolePlugin, 64)}
	answer.Envelope.ContentType = byo.ContentChatOut
	for _, n := range []*Node{p.a, p.b} {
		as.Must(n, 202, "POST", "/integrations/"+as.ID+"/control", answer, nil)
	}
	if events.NextOf(byo.EventChatFrame, &f); f.FrameID != answer.FrameID || f.IntegrationID != as.ID {
		t.Errorf("frame = %+v, want the answer", f)
	}
	reflected := byo.ControlFrame{FrameID: UUID(), Envelope: Sealed(byo.DuplexV2, byo.RoleDesktop, 64)}
	as.Fails(p.a, byo.CodeInvalidEnvelope, "POST", "/integrations/"+as.ID+"/control", reflected)

	m := post(legacy, byo.StaticV1, "u-2")
	var c byo.ChatDispatched
	if old.NextOf(byo.EventChatDispatched, &c); c.UserMessageID != "u-2" || c.Content != m.Content {
		t.Errorf("chat = %+v, want u-2", c)
	}
	text, err := byo.EnvelopeText(Sealed(byo.StaticV1, byo.RolePlugin, 64))
	if err != nil {
		t.Fatal(err)
	}
	path := "/chat/messages/u-2/reply"
	legacy.Fails(p.b, byo.CodePlaintextRejected, "POST", path, byo.ChatReply{Content: "hello", Status: byo.ReplyCompleted})
	legacy.Fails(p.b, byo.CodePlaintextRejected, "POST", path+"/start", nil)
	as.Fails(p.b, byo.CodeNotFound, "POST", path, byo.ChatReply{Content: text, Status: byo.ReplyCompleted})
	for _, n := range []*Node{p.b, p.a} {
		legacy.Must(n, 200, "POST", path, byo.ChatReply{Content: text, Status: byo.ReplyCompleted}, nil)
	}
	var reply byo.ChatMessage
	if events.NextOf(byo.EventChatMessage, &reply); reply.UserMessageID != "u-2" || reply.Content != text || reply.SessionID != "s-7" {
		t.Errorf("reply = %+v, want that of u-2", reply)
	}
	var page byo.ChatMessages
	d.Must(p.a, 200, "GET", "/integrations/"+legacy.ID+"/chat/messages", nil, &page)
	if len(page.Messages) != 1 || page.Messages[0].Content != text {
		t.Errorf("messages = %+v, want the reply", page)
	}
	d.Must(p.a, 200, "GET", "/integrations/"+legacy.ID+"/chat/messages?after="+page.Cursor, nil, &page)
	if len(page.Messages) != 0 {
		t.Errorf("messages after the last = %+v, want none", page)
	}
	// A new process gets what it may not have seen, and no chat that was answered.
	p.clock.Advance(2 * time.Second)
	old = legacy.Stream(p.a, "")
	post(legacy, byo.StaticV1, "u-3")
	if old.NextOf(byo.EventChatDispatched, &c); c.UserMessageID != "u-3" {
		t.Errorf("chat = %s, want only u-3", c.UserMessageID)
	}
	p.clock.Advance(10 * time.Second)
	s = as.Stream(p.b, "")
	ev := s.NextOf(byo.EventChatFrame, &f)
	as.Must(p.a, 200, "POST", "/integrations/"+as.ID+"/heartbeat", byo.Heartbeat{StreamCursor: ev.ID}, nil)
	p.clock.Advance(2 * time.Second)
	s = as.Stream(p.a, "")
	post(as, byo.DuplexV2, "u-4")
	if s.NextOf(byo.EventChatFrame, &f); f.FrameID != "u-4" {
		t.Errorf("frame = %s, want only u-4 after the cursor", f.FrameID)
	}
	events.Quiet(byo.EventChatFrame)
}

// Section 9: a connectivity test is answered, or ends after 20 s.
func connectivity(t *testing.T, p *pair) {
	d := NewDesktop(t, p.a)
	as := d.Pair(p.a, byo.DuplexV2)
	s, events := as.Stream(p.a, ""), d.Stream(p.b, "")
	var started byo.TestStarted
	d.Must(p.b, 202, "POST", "/integrations/"+as.ID+"/test", struct{}{}, &started)
	var task byo.Task
	for ev := s.Next(); ; ev = s.Next() {
		if byo.EventType(ev.Data) == "" {
			if err := json.Unmarshal(ev.Data, &task); err != nil {
				t.Fatal(err)
			}
			break
		}
	}
	if task.ID != started.TestID || task.ActionType != byo.ActionConnectivityTest || task.RequestText != "" {
		t.Errorf("task = %+v, want the test without text", task)
	}
	as.Must(p.b, 200, "POST", "/tasks/"+task.ID+"/status", byo.TaskStatus{Status: byo.TaskDelivered}, nil)
	as.Must(p.b, 200, "POST", "/integrations/"+as.ID+"/test-reply", byo.TestReply{TestID: task.ID, Content: "ok"}, nil)
	var end byo.IntegrationTest
	if events.NextOf(byo.EventIntegrationTest, &end); end.TestID != task.ID || !end.OK || end.RoundTripMS < 1 {
		t.Errorf("test = %+v, want ok", end)
	}
	d.Must(p.b, 202, "POST", "/integrations/"+as.ID+"/test", struct{}{}, &started)
	p.clock.Advance(byo.TestWithin)
	if events.NextOf(byo.EventIntegrationTest, &end); end.TestID != started.TestID || end.OK {
		t.Errorf("test = %+v, want not ok", end)
	}
}

// Section 5.5: a desktop may wait for the end of a job on another node.
func longPoll(t *testing.T, p *pair) {
	d := NewDesktop(t, p.a)
	as := d.Pair(p.a, byo.DuplexV2)
	job := NewJob(p.clock.Now(), time.Minute, 64)
	d.Submit(p.a, as.ID, job)
	d.Fails(p.a, byo.CodeInvalidRequest, "GET", "/reasoning-jobs/"+job.JobID+"?wait_ms=30001", nil)
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() {
		as.Must(p.a, 204, "POST", "/reasoning-jobs/"+job.JobID+"/ack", struct{}{}, nil)
		as.Must(p.a, 200, "POST", "/reasoning-jobs/"+job.JobID+"/complete", Completed(job.JobID), nil)
	})
	var state byo.JobState
	d.Must(p.b, 200, "GET", "/reasoning-jobs/"+job.JobID+"?wait_ms=25000", nil, &state)
	if state.Status != byo.JobCompleted || string(state.Result) == "null" {
		t.Errorf("state = %+v, want completed with its result", state)
	}
}

// Cluster proves on brokers of a cluster that the death of a server, which kill
// brings about, loses no job that was accepted.
func Cluster(t *testing.T, brokers []relay.Broker, kill func()) {
	p := newPair(t, &Clock{}, brokers)
	d := NewDesktop(t, p.a)
	as := d.Pair(p.b, byo.DuplexV2)
	s := as.Stream(p.b, "")
	open := map[string]bool{}
	for range 4 {
		job := NewJob(p.clock.Now(), 5*time.Minute, 1040)
		d.Submit(p.a, as.ID, job)
		open[job.JobID] = true
		as.Must(p.b, 200, "GET", "/reasoning-jobs/"+job.JobID, nil, nil) // read on the other node at once
	}
	for range 2 {
		s.NextJob()
	}
	kill()
	retry := func(what string, call func() (int, *byo.Error)) {
		t.Helper()
		for deadline := time.Now().Add(2 * Wait); ; {
			status, e := call()
			if status < 300 {
				return
			}
			if !byo.Retryable(e.Code) || time.Now().After(deadline) {
				t.Fatalf("%s after a server died = %d %v", what, status, e)
			}
			<-time.After(100 * time.Millisecond)
		}
	}
	late := NewJob(p.clock.Now(), 5*time.Minute, 1040)
	open[late.JobID] = true
	retry("create", func() (int, *byo.Error) {
		return d.Call(p.a, "POST", "/integrations/"+as.ID+"/reasoning-jobs", late, nil)
	})
	s.Close()
	p.clock.Advance(2 * time.Second)
	var again *Stream
	retry("stream", func() (status int, e *byo.Error) {
		again, status, e = as.TryOpen(p.b, "/integrations/"+as.ID+"/stream", "")
		return status, e
	})
	delivered := map[string]bool{}
	for len(delivered) < len(open) {
		job, _ := again.NextJob()
		if !open[job] {
			t.Fatalf("delivered %s, which nobody created", job)
		}
		if delivered[job] {
			continue
		}
		delivered[job] = true
		done := Completed(job)
		retry("complete", func() (int, *byo.Error) {
			return as.Call(p.b, "POST", "/reasoning-jobs/"+job+"/complete", done, nil)
		})
	}
	for job := range open {
		if got := d.State(p.a, job); got.Status != byo.JobCompleted {
			t.Errorf("job = %s, want completed", got.Status)
		}
	}
}
