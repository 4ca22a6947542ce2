package assistant_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"openclaw/byo"
	"openclaw/byo/seal"
	"openclaw/internal/assistant"
	"openclaw/internal/relayclient"
)

// says answers every question with the texts in turn, the last one again and again.
func says(texts ...string) (*agent, *[]assistant.Question) {
	var asked []assistant.Question
	return &agent{reason: func(_ context.Context, q assistant.Question) (assistant.Answer, error) {
		asked = append(asked, q)
		return assistant.Answer{Text: texts[min(len(asked), len(texts))-1], ModelRef: "mock/m", RunID: "run-9", Usage: json.RawMessage(`{"input_tokens":1,"output_tokens":2}`)}, nil
	}}, &asked
}

const verdict = `{"signals":[],"no_signal_reason":"quiet"}`

func liveInput(prompt string) byo.ReasoningInput {
	return byo.ReasoningInput{UserPrompt: prompt, SystemInstruction: "You watch a call.", ResponseSchema: byo.ResponseSchema(byo.PurposeLiveAnalysis)}
}

// bubble runs a test with a paired assistant.
func bubble(t *testing.T, name string, f func(t *testing.T, r *relay, dir string)) {
	t.Run(name, func(t *testing.T) {
		parent := t.TempDir()
		synctest.Test(t, func(t *testing.T) {
			r := newRelay(t)
			f(t, r, r.pair(parent))
		})
	})
}

func TestJobs(t *testing.T) {
	bubble(t, "a job is answered, sealed, and acknowledged", func(t *testing.T, r *relay, dir string) {
		a, asked := says("```json\n" + verdict + "\n```")
		r.client(dir, a)
		j := r.job(1, liveInput("canary"), 20*time.Second)
		r.push(j)
		if got := r.ends(j); got != "completed "+verdict {
			t.Errorf("the desktop got %s", got)
		}
		q := (*asked)[0]
		if !strings.Contains(q.System, "You watch a call.") || !strings.Contains(q.System, `"no_signal_reason"`) || !strings.Contains(q.Input, "canary") || q.MaxTokens != 4096 {
			t.Errorf("the agent was asked %+v", q)
		}
		if n := len(r.sent("/ack")); n != 1 {
			t.Errorf("%d acknowledgements", n)
		}
		for _, c := range r.calls { // SW-23
			if strings.Contains(c.body, "canary") || strings.Contains(c.body, "quiet") {
				t.Errorf("the relay reads along: %s", c.body)
			}
		}
	})

	bubble(t, "SW-09 a repeat runs once and is answered with the same bytes, another content is dropped", func(t *testing.T, r *relay, dir string) {
		a, asked := says(verdict)
		stop := r.client(dir, a)
		j, other := r.job(1, liveInput("a"), 20*time.Second), r.job(1, liveInput("b"), 20*time.Second)
		r.push(j)
		r.push(j)
		r.push(other)
		stop()
		r.client(dir, a)
		r.push(j)
		r.push(other)
		sent := r.sent("/complete")
		if len(*asked) != 1 || len(sent) != 3 || sent[1].body != sent[0].body || sent[2].body != sent[0].body {
			t.Errorf("asked %d times, answered %d times; want 1 and three times the same", len(*asked), len(sent))
		}
	})

	bubble(t, "SW-42 what is not sealed for this side never reaches the model", func(t *testing.T, r *relay, dir string) {
		a, asked := says(verdict)
		r.client(dir, a)
		clear := r.job(1, liveInput("x"), time.Minute)
		clear.Payload = byo.Payload{Raw: json.RawMessage(`{"user_prompt":"x"}`)}
		flat := r.job(2, liveInput("x"), time.Minute)
		asSealed := flat
		data, _ := json.Marshal(flat.Payload.Envelope)
		flat.Payload = byo.Payload{Raw: data}
		bad := r.job(3, liveInput("x"), time.Minute)
		bad.Payload.Envelope.Ciphertext = "AAAA" + bad.Payload.Envelope.Ciphertext[4:]
		old := r.job(4, liveInput("x"), time.Minute)
		old.Payload.Envelope.Version = byo.StaticV1
		moved := r.job(5, liveInput("x"), time.Minute)
		moved.Purpose = byo.PurposeSessionSummary // SW-08
		mine := r.job(6, liveInput("x"), time.Minute)
		mine.Payload.Envelope.Direction, mine.Payload.Envelope.SenderRole = byo.PluginToDesktop, byo.RolePlugin // SW-03
		for _, j := range []byo.Job{clear, bad, old, moved, mine} {
			r.push(j)
		}
		if got, want := r.ends(), "failed missing_envelope; failed decryption_error; failed unsupported_envelope; failed decryption_error; failed decryption_error"; got != want || len(*asked) != 0 {
			t.Errorf("the desktop got %s after %d questions, want %s", got, len(*asked), want)
		}
		r.push(flat)
		if got := r.ends(asSealed); len(*asked) != 1 || !strings.HasSuffix(got, "completed "+verdict) {
			t.Errorf("the flat form: %s", got)
		}
	})

	bubble(t, "SW-43 the deadline counts", func(t *testing.T, r *relay, dir string) {
		asked := 0
		r.client(dir, &agent{reason: func(ctx context.Context, _ assistant.Question) (assistant.Answer, error) {
			asked++
			<-ctx.Done()
			return assistant.Answer{Text: verdict}, nil // too late, and it does not even say so
		}})
		late := r.job(1, liveInput("x"), -time.Second)
		slow := r.job(2, liveInput("x"), 20*time.Second)
		r.push(late)
		r.push(slow)
		time.Sleep(30 * time.Second)
		if got, want := r.ends(), "timed_out deadline_expired_before_start; timed_out deadline_exceeded"; got != want || asked != 1 {
			t.Errorf("the desktop got %s after %d questions, want %s", got, asked, want)
		}
		if at := r.sent("/complete")[1].at.Sub(r.sent("/complete")[0].at); at != 20*time.Second {
			t.Errorf("given up after %v", at)
		}
	})

	bubble(t, "SW-44 one chance to correct itself, when there is time", func(t *testing.T, r *relay, dir string) {
		a, asked := says(`{"signals":"none"}`, verdict, "no JSON", `{"no_signal_reason":""}`, "still not")
		r.client(dir, a)
		for n := range 3 {
			within := 20 * time.Second
			if n == 2 {
				within = 2 * time.Second
			}
			r.push(r.job(n+1, liveInput("x"), within))
		}
		if got, want := r.ends(), "completed; failed schema_validation_error; failed response_parse_error"; got != want || len(*asked) != 5 {
			t.Errorf("the desktop got %s after %d questions, want %s after 5", got, len(*asked), want)
		}
		if again := (*asked)[1]; !strings.Contains(again.Input, `{"signals":"none"}`) || again.System != (*asked)[0].System {
			t.Errorf("the second question is %q", again.Input)
		}
	})

	bubble(t, "at most four at a time, a cancelled one is not answered", func(t *testing.T, r *relay, dir string) {
		var running, most atomic.Int32
		r.client(dir, &agent{reason: func(ctx context.Context, _ assistant.Question) (assistant.Answer, error) {
			if n := running.Add(1); n > most.Load() {
				most.Store(n)
			}
			defer running.Add(-1)
			select {
			case <-time.After(5 * time.Second):
				return assistant.Answer{Text: verdict}, nil
			case <-ctx.Done():
				return assistant.Answer{}, ctx.Err()
			}
		}})
		for n := range 6 {
			r.push(r.job(n+1, liveInput("x"), time.Minute))
		}
		r.push(byo.JobCancelledEvent{EventType: byo.EventReasoningJobCancelled, JobID: task(1)})
		time.Sleep(30 * time.Second)
		if got := r.ends(); most.Load() != 4 || strings.Count(got, "completed") != 5 {
			t.Errorf("%d at a time, ends %s", most.Load(), got)
		}
		for _, c := range r.sent("/complete") {
			if strings.Contains(c.path, task(1)) {
				t.Error("a cancelled job was answered")
			}
		}
	})

	bubble(t, "SW-22 a stub is fetched", func(t *testing.T, r *relay, dir string) {
		a, _ := says(verdict)
		r.client(dir, a)
		j := r.job(1, liveInput("x"), time.Minute)
		r.jobs[task(1)] = j
		r.push(byo.JobStub{EventType: byo.EventReasoningJob, JobID: task(1), Truncated: true})
		if got := r.ends(j); got != "completed "+verdict {
			t.Errorf("the desktop got %s", got)
		}
	})

	bubble(t, "an answer is posted until it is taken, a final no ends it", func(t *testing.T, r *relay, dir string) {
		n := 0
		r.answering(func(c call) int {
			if !strings.HasSuffix(c.path, "/complete") {
				return 0
			}
			if strings.Contains(c.path, task(2)) {
				return 410
			}
			if n++; n < 4 {
				return []int{500, 429, 503}[n-1]
			}
			return 0
		})
		a, _ := says(verdict)
		r.client(dir, a)
		r.push(r.job(1, liveInput("x"), time.Minute))
		r.push(r.job(2, liveInput("x"), time.Minute))
		time.Sleep(time.Minute)
		if got := len(r.sent("/complete")); got != 5 {
			t.Errorf("%d posts, want 4 and 1", got)
		}
	})

	bubble(t, "a job that was taken survives the end of the process, before and after its answer", func(t *testing.T, r *relay, dir string) {
		down := true
		r.answering(func(c call) int {
			if down && strings.HasSuffix(c.path, "/complete") {
				return 503
			}
			return 0
		})
		asked := 0
		stop := r.client(dir, &agent{reason: func(ctx context.Context, q assistant.Question) (assistant.Answer, error) {
			if asked++; strings.Contains(q.Input, "first") {
				return assistant.Answer{Text: verdict}, nil
			}
			<-ctx.Done()
			return assistant.Answer{}, ctx.Err()
		}})
		one, two := r.job(1, liveInput("first"), 5*time.Minute), r.job(2, liveInput("second"), 5*time.Minute)
		r.push(one)
		r.push(two)
		stop()
		down, r.calls = false, nil // nothing runs now
		a, again := says(verdict)
		r.client(dir, a)
		time.Sleep(time.Second)
		if got := r.ends(one, two); got != "completed "+verdict+"; completed "+verdict || asked != 2 || len(*again) != 1 {
			t.Errorf("the desktop got %s; %d and %d questions", got, asked, len(*again))
		}
	})

	bubble(t, "SW-45 the probe takes its lists from the registry", func(t *testing.T, r *relay, dir string) {
		a, asked := says("I know the CRM.")
		a.about = byo.Profile{Skills: make([]byo.ProfileSkill, 150), Tools: []string{"web_search"}}
		for i := range a.about.Skills {
			a.about.Skills[i] = byo.ProfileSkill{ID: fmt.Sprint(i), Name: "n", Description: strings.Repeat("d", 300)}
		}
		r.client(dir, a)
		j := r.job(1, byo.ReasoningInput{UserPrompt: "Who are you?"}, time.Minute)
		j.Purpose = byo.PurposeCapabilityProbe
		env, err := r.duplex.Seal(seal.Header{ContentType: byo.ContentReasoningInput, JobID: j.JobID, Purpose: j.Purpose, DeadlineAt: j.DeadlineAt}, []byte(`{"user_prompt":"?"}`))
		if err != nil {
			t.Fatal(err)
		}
		j.Payload = byo.SealedPayload(env)
		r.push(j)
		var profile byo.Profile
		if err := json.Unmarshal([]byte(strings.TrimPrefix(r.ends(j), "completed ")), &profile); err != nil || profile.Validate() != nil {
			t.Fatalf("profile: %v %v", err, profile.Validate())
		}
		if profile.RawDescription != "I know the CRM." || len(profile.Skills) != 100 || profile.Agent.Version != "1.2.0" || len(*asked) != 1 || (*asked)[0].Purpose != byo.PurposeCapabilityProbe {
			t.Errorf("profile %.200v", profile)
		}
	})
}

// SW-40: every half minute, with the fields of the contract; the end of the pairing
// ends it.
func TestHeartbeat(t *testing.T) {
	bubble(t, "times and fields", func(t *testing.T, r *relay, dir string) {
		a, _ := says(verdict)
		stop := r.client(dir, a)
		time.Sleep(time.Minute + time.Second)
		beats := r.sent("/heartbeat")
		if len(beats) != 3 || beats[2].at.Sub(beats[1].at) != 30*time.Second {
			t.Fatalf("%d heartbeats", len(beats))
		}
		var h byo.Heartbeat
		if err := json.Unmarshal([]byte(beats[0].body), &h); err != nil {
			t.Fatal(err)
		}
		if !h.SupportsReasoning || h.ReasoningTransport != "gateway" || h.ProviderRef != "openclaw" || h.Status != byo.HostUnverified || h.Protocol.PluginVersion != "1.2.0" || !h.Protocol.SupportsAck || h.CapabilityHash == "" {
			t.Errorf("heartbeat %s", beats[0].body)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
	bubble(t, "states", func(t *testing.T, r *relay, dir string) {
		fail := errors.New("down")
		r.client(dir, &agent{reason: func(context.Context, assistant.Question) (assistant.Answer, error) {
			return assistant.Answer{Text: verdict}, fail
		}})
		state := func() string {
			time.Sleep(31 * time.Second)
			beats := r.sent("/heartbeat")
			var h byo.Heartbeat
			json.Unmarshal([]byte(beats[len(beats)-1].body), &h)
			if h.DegradedReason != nil {
				return h.Status + " " + *h.DegradedReason
			}
			return h.Status
		}
		n := 0
		for _, step := range []struct {
			jobs int
			err  error
			want string
		}{{2, fail, "unverified"}, {1, fail, "degraded agent_error"}, {1, nil, "healthy"}, {1, assistant.ErrAuth, "auth_required model_auth"}, {1, nil, "healthy"}} {
			fail = step.err
			for range step.jobs {
				n++
				r.push(r.job(n, liveInput("x"), time.Minute))
			}
			if got := state(); got != step.want {
				t.Errorf("after %d jobs with %v: %q, want %q", step.jobs, step.err, got, step.want)
			}
		}
	})
	bubble(t, "unpaired", func(t *testing.T, r *relay, dir string) {
		a, _ := says(verdict)
		stop := r.client(dir, a)
		r.answering(func(c call) int {
			if strings.HasSuffix(c.path, "/heartbeat") {
				return 401
			}
			return 0
		})
		time.Sleep(time.Hour)
		if n := len(r.sent("/heartbeat")); n != 2 {
			t.Errorf("%d heartbeats, want none after a 401", n)
		}
		if err := stop(); !relayclient.Gone(err) {
			t.Errorf("Run = %v", err)
		}
	})
	bubble(t, "revoked", func(t *testing.T, r *relay, dir string) {
		a, _ := says(verdict)
		stop := r.client(dir, a)
		r.push(byo.ControlEvent{EventType: byo.EventRevoked})
		if err := stop(); !errors.Is(err, relayclient.ErrRevoked) {
			t.Errorf("Run = %v", err)
		}
	})
}

// Chat over the relay: sealed both ways, once, and the keys change under way.
func TestRelayChat(t *testing.T) {
	bubble(t, "", func(t *testing.T, r *relay, dir string) {
		r.client(dir, &agent{turn: echo})
		say := func(n int, text string) byo.Frame {
			plain, _ := json.Marshal(chat(n, "s-7", text))
			env, err := r.duplex.Seal(seal.Header{ContentType: byo.ContentChatIn, SessionID: "s-7"}, plain)
			if err != nil {
				t.Fatal(err)
			}
			f := byo.Frame{EventType: byo.EventChatFrame, FrameID: task(100 + n), Envelope: env}
			r.push(f)
			return f
		}
		seen := 0
		replies := func() string {
			var list []string
			calls := r.sent("/control")
			for _, c := range calls[seen:] {
				var f byo.ControlFrame
				if err := json.Unmarshal([]byte(c.body), &f); err != nil || f.Validate() != nil {
					t.Fatalf("%v %v", err, f.Validate())
				}
				if f.Envelope.ContentType != byo.ContentChatOut {
					back, err := r.duplex.Control(f.Envelope)
					if err != nil {
						t.Fatal(err)
					}
					if back != nil {
						r.push(byo.Frame{EventType: byo.EventBYOControl, FrameID: task(500 + len(calls)), Envelope: *back})
					}
					continue
				}
				plain, err := r.duplex.Open(f.Envelope, seal.Binding{ContentType: byo.ContentChatOut})
				if err != nil {
					t.Fatal(err)
				}
				var cb byo.Callback
				json.Unmarshal(plain, &cb)
				if cb.Status == byo.StatusMessage {
					list = append(list, cb.ReplyText)
				}
			}
			seen = len(calls)
			return strings.Join(list, ",")
		}
		f := say(1, "hi")
		r.push(f) // once more
		if got := replies(); got != "re: hi" {
			t.Errorf("the desktop got %q", got)
		}
		before, _ := r.duplex.Epoch()
		time.Sleep(25 * time.Hour) // SW-10: the keys are old
		for range 4 {
			replies()
			time.Sleep(2 * time.Minute)
		}
		if after, _ := r.duplex.Epoch(); after <= before {
			t.Errorf("epoch %d after a day, %d before", after, before)
		}
		say(2, "still there?")
		if got := replies(); got != "re: still there?" {
			t.Errorf("the desktop got %q", got)
		}
	})
}

// SW-06: a relay that swaps a key or a nonce is found out, and nothing is kept.
func TestPairRefusesASwap(t *testing.T) {
	other, err := seal.Generate(nil)
	if err != nil {
		t.Fatal(err)
	}
	public := other.Public()
	for _, style := range []string{"long", "short"} {
		for _, field := range []string{"byo_public_key", "desktop_commitment", "desktop_nonce", "desktop_confirm"} {
			t.Run(style+" "+field, func(t *testing.T) {
				parent := t.TempDir()
				r := newRelay(t)
				r.swap = func(_ string, v any) {
					if m := v.(map[string]any); m[field] != nil {
						m[field] = public.String()
					}
				}
				pd := r.secret.Public()
				code, api := "482913", "https://relay.example"
				if style == "long" {
					r.psk, _ = seal.NewPSK(nil)
					code, _ = (&byo.RelayCode{API: api, Code: "0123456789ABCDEF", Key: pd[:], PSK: r.psk}).Encode()
				}
				_, _, err := assistant.Pair(t.Context(), assistant.PairConfig{Code: code, API: api, ParentDir: parent, ProviderKind: "openclaw", HTTP: r.http(),
					Show: func(context.Context, string, bool) (bool, error) { t.Error("a person was asked"); return true, nil }})
				want := assistant.ErrTampered
				if style == "long" && field == "byo_public_key" {
					want = assistant.ErrKeyMismatch
				}
				left, _ := os.ReadDir(parent)
				if !errors.Is(err, want) || len(left) != 0 || !r.deleted {
					t.Errorf("Pair = %v, kept %v, relay told %v; want %v", err, left, r.deleted, want)
				}
			})
		}
	}
}

// With six digits people compare; both answers count.
func TestPairComparesNumbers(t *testing.T) {
	for _, same := range []bool{true, false} {
		parent := t.TempDir()
		r := newRelay(t)
		dir, p, err := assistant.Pair(t.Context(), assistant.PairConfig{Code: "482 913", API: "https://relay.example/", ParentDir: parent, ProviderKind: "openclaw", HTTP: r.http(),
			Show: func(_ context.Context, sas string, must bool) (bool, error) {
				if sas != r.root.SAS() || !must {
					t.Errorf("shown %q, must compare %v", sas, must)
				}
				return same, nil
			}})
		if !same {
			if !errors.Is(err, assistant.ErrNotSame) || !r.deleted {
				t.Errorf("Pair = %v, relay told %v", err, r.deleted)
			}
			continue
		}
		if err != nil || p.Verified != byo.VerifiedSAS || p.Label != "Studio" {
			t.Fatalf("Pair = %+v, %v", p, err)
		}
		filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if info, err := d.Info(); err != nil || info.Mode().Perm()&0o077 != 0 {
				t.Errorf("%s: mode %v, %v", path, info.Mode(), err)
			}
			return nil
		})
		got, err := assistant.LoadPairing(dir)
		if err != nil || fmt.Sprintf("%v", got) == "" || strings.Contains(fmt.Sprintf("%+v", got), "swr_test") {
			t.Errorf("LoadPairing = %+v, %v", got, err)
		}
		if err := assistant.Unpair(t.Context(), dir, r.http()); err != nil || !r.deleted {
			t.Errorf("Unpair = %v", err)
		}
		if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("after Unpair: %v", err)
		}
	}
}

// A relay chooses the ids of pairings. With one that is in use it would put one desktop
// in the place of another; nothing of that one is touched.
func TestPairKeepsOthers(t *testing.T) {
	bubble(t, "the id of another pairing", func(t *testing.T, r *relay, dir string) {
		before := map[string]string{}
		read := func(into map[string]string) {
			for _, name := range []string{"pairing.json", "relay.jsonl"} {
				data, _ := os.ReadFile(filepath.Join(dir, name)) // one that is missing is like none
				into[name] = string(data)
			}
		}
		read(before)
		_, _, err := assistant.Pair(t.Context(), assistant.PairConfig{Code: "482913", API: "https://relay.example", ParentDir: filepath.Dir(dir), ProviderKind: "openclaw", HTTP: r.http(),
			Show: func(context.Context, string, bool) (bool, error) { return true, nil }})
		if !errors.Is(err, assistant.ErrKnown) {
			t.Errorf("Pair = %v, want ErrKnown", err)
		}
		after := map[string]string{}
		read(after)
		if diff := cmp.Diff(before, after); diff != "" || before["pairing.json"] == "" {
			t.Errorf("the other pairing (-before +after):\n%s", diff)
		}
		if r.deleted {
			t.Error("the relay was told to forget the other pairing")
		}
	})
}
