package byo

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const (
	someID  = "22222222-2222-4222-8222-222222222222"
	nonce24 = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYX"
	sealed1 = `{"version":"static_v1","nonce":"` + nonce24 + `","ciphertext":"AAEC"}`
	sealed2 = `{"version":"duplex_v2","nonce":"` + nonce24 + `","ciphertext":"AAEC"}`
)

// problem is an error's text, "" of none.
func problem(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// SW-42: nested and flat envelopes are found, and nothing that holds a ciphertext
// counts as clear.
func TestPayload(t *testing.T) {
	tests := []struct {
		name, json                string
		encrypted, envelope, seal bool
	}{
		{"nested", `{"byo_encrypted":true,"envelope":` + sealed2 + `}`, true, true, true},
		{"flat", sealed1, false, true, true},
		{"nested without the mark", `{"envelope":` + sealed1 + `}`, false, true, true},
		{"mark without an envelope", `{"byo_encrypted":true}`, true, false, true},
		{"envelope that is a text", `{"byo_encrypted":true,"envelope":"x"}`, true, false, true},
		{"envelope that is null", `{"byo_encrypted":true,"envelope":null}`, true, false, true},
		{"mark of another kind", `{"byo_encrypted":"true","envelope":` + sealed1 + `}`, false, true, true},
		{"ciphertext deep inside", `{"data":[{"inner":{"ciphertext":"x"}}]}`, false, false, true},
		{"ciphertext in other letters", `{"CipherText":"x"}`, false, false, true},
		{"fields of another kind", `{"byo_encrypted":true,"envelope":{"version":1,"nonce":[],"ciphertext":"AAEC"}}`, true, true, true},
		{"clear", `{"user_prompt":"what is a ciphertext?"}`, false, false, false},
		{"empty", `{}`, false, false, false},
		{"text", `"ciphertext"`, false, false, false},
		{"null", `null`, false, false, false},
	}
	for _, tt := range tests {
		var p Payload
		if err := json.Unmarshal([]byte(`{"p":`+tt.json+`}`), &struct{ P *Payload }{&p}); err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
		if p.BYOEncrypted != tt.encrypted || (p.Envelope != nil) != tt.envelope || p.Sealed() != tt.seal {
			t.Errorf("%s: encrypted %v, envelope %v, sealed %v; want %v, %v, %v", tt.name, p.BYOEncrypted, p.Envelope != nil, p.Sealed(), tt.encrypted, tt.envelope, tt.seal)
		}
		data, err := json.Marshal(p)
		if err != nil || !json.Valid(data) {
			t.Errorf("%s: encodes to %s, %v", tt.name, data, err)
		}
		if tt.envelope && !strings.HasPrefix(string(data), `{"byo_encrypted":true,"envelope":{`) {
			t.Errorf("%s: encodes to %s, want the nested form", tt.name, data)
		}
	}
	if data, err := json.Marshal(Payload{}); err != nil || string(data) != "{}" {
		t.Errorf("the zero payload encodes to %s, %v", data, err)
	}
	if data, err := json.Marshal(Completion{Output: &CompletionOutput{}}); err != nil || !strings.Contains(string(data), `"output":null`) {
		t.Errorf("an empty output encodes to %s, %v", data, err)
	}
}

// SW-42: what this side writes is the nested form, and reads back.
func TestSealedForms(t *testing.T) {
	var e Envelope
	if err := json.Unmarshal([]byte(sealed2), &e); err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(struct {
		P Payload
		O *CompletionOutput
	}{SealedPayload(e), SealedOutput(e, JobFailed)})
	if err != nil {
		t.Fatal(err)
	}
	var back struct {
		P Payload
		O *CompletionOutput
	}
	if err := json.Unmarshal(data, &back); err != nil {
		t.Fatal(err)
	}
	if !back.P.BYOEncrypted || *back.P.Envelope != e || !back.O.BYOEncrypted || *back.O.Envelope != e || back.O.Status != JobFailed {
		t.Errorf("%s reads back as %+v", data, back)
	}
	// A flat output is an answer in clear that has a field of that name: only
	// payloads are flat.
	var o CompletionOutput
	if err := json.Unmarshal([]byte(sealed2), &o); err != nil || o.Envelope != nil || o.BYOEncrypted {
		t.Errorf("a flat output = %+v, %v, want none sealed", o, err)
	}
}

// SW-26, SW-42: what a relay may know about a payload, in the order it checks.
func TestCheckSealed(t *testing.T) {
	nested := func(e string) string { return `{"byo_encrypted":true,"envelope":` + e + `}` }
	tests := []struct {
		name, payload, scheme string
		version               int
		want                  string
	}{
		{"good", nested(sealed2), DuplexV2, 2, ""},
		{"good of version 1", nested(sealed1), StaticV1, 1, ""},
		{"flat", sealed2, DuplexV2, 2, CodePlaintextRejected},
		{"clear", `{"user_prompt":"x"}`, DuplexV2, 2, CodePlaintextRejected},
		{"no envelope, wrong version", `{"byo_encrypted":true}`, DuplexV2, 1, CodePlaintextRejected},
		{"number of another version", nested(sealed2), DuplexV2, 1, CodeEnvelopeMismatch},
		{"envelope of another version", nested(sealed1), DuplexV2, 2, CodeEnvelopeMismatch},
		{"version 2 on a version 1 integration", nested(sealed2), StaticV1, 2, CodeEnvelopeMismatch},
		{"no scheme", nested(sealed2), "", 0, CodeEnvelopeMismatch},
		{"short nonce and wrong version", nested(`{"version":"static_v1","nonce":"AA==","ciphertext":"AAEC"}`), DuplexV2, 2, CodeEnvelopeMismatch},
		{"short nonce", nested(`{"version":"duplex_v2","nonce":"AA==","ciphertext":"AAEC"}`), DuplexV2, 2, CodeInvalidEnvelope},
		{"nonce that is no base64", nested(`{"version":"duplex_v2","nonce":"` + strings.Repeat("-", 32) + `","ciphertext":"AAEC"}`), DuplexV2, 2, CodeInvalidEnvelope},
		{"no ciphertext", nested(`{"version":"duplex_v2","nonce":"` + nonce24 + `"}`), DuplexV2, 2, CodeInvalidEnvelope},
		{"ciphertext without padding", nested(`{"version":"duplex_v2","nonce":"` + nonce24 + `","ciphertext":"AA"}`), DuplexV2, 2, CodeInvalidEnvelope},
	}
	for _, tt := range tests {
		var p Payload
		if err := json.Unmarshal([]byte(tt.payload), &p); err != nil {
			t.Fatal(err)
		}
		err := CheckSealed(p, tt.version, tt.scheme)
		var e *Error
		if got := ""; errors.As(err, &e) {
			got = e.Code
			if got != tt.want {
				t.Errorf("%s: %v, want %s", tt.name, err, tt.want)
			}
		} else if err != nil || tt.want != "" {
			t.Errorf("%s: %v, want %s", tt.name, err, tt.want)
		}
	}
}

// SW-22: what is sent for a job, and what has to be fetched.
func TestJobFrames(t *testing.T) {
	data, err := json.Marshal(Job{EventType: EventReasoningJob, JobID: someID, IdempotencyKey: someID, ResponseSchema: json.RawMessage("{}")})
	if err != nil || !strings.Contains(string(data), `"idempotency_key":"`+someID+`"`) || strings.Contains(string(data), "_truncated") {
		t.Errorf("a job encodes to %s, %v", data, err)
	}
	for frame, stub := range map[string]bool{
		string(data): false,
		`{"event_type":"reasoning_job","job_id":"` + someID + `","_truncated":true}`: true,
		`{"event_type":"reasoning_job","job_id":"` + someID + `"}`:                   true,
	} {
		var j Job
		if err := json.Unmarshal([]byte(frame), &j); err != nil || j.Stub() != stub {
			t.Errorf("Stub() of %s = %v, %v, want %v", frame, j.Stub(), err, stub)
		}
	}
	for frame, want := range map[string]string{`{"event_type":"byo_control"}`: EventBYOControl, `{"id":"t-1"}`: "", `[]`: "", `nonsense`: "", `{"event_type":7}`: ""} {
		if got := EventType([]byte(frame)); got != want {
			t.Errorf("EventType(%s) = %q, want %q", frame, got, want)
		}
	}
}

func TestJobRequestValidate(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 0, 0, time.UTC)
	good := JobRequest{JobID: someID, Purpose: PurposeLiveAnalysis, DeadlineAt: "2026-01-02T03:04:05Z", SchemaVersion: 1, EnvelopeVersion: 2, ResponseSchema: json.RawMessage("{}")}
	for name, tt := range map[string]struct {
		change func(r *JobRequest)
		want   string
	}{
		"good":                {func(*JobRequest) {}, ""},
		"no response schema":  {func(r *JobRequest) { r.ResponseSchema = nil }, ""},
		"1 second ahead":      {func(r *JobRequest) { r.DeadlineAt = "2026-01-02T03:04:01.000Z" }, ""},
		"10 minutes ahead":    {func(r *JobRequest) { r.DeadlineAt = "2026-01-02T03:14:00+00:00" }, ""},
		"job id":              {func(r *JobRequest) { r.JobID = "job-1"; r.Purpose = "x" }, "job_id must be a UUID"},
		"purpose":             {func(r *JobRequest) { r.Purpose = "chat" }, "purpose must be live_analysis, session_summary or capability_probe"},
		"no deadline":         {func(r *JobRequest) { r.DeadlineAt = "" }, "deadline_at must be an RFC 3339 time in UTC"},
		"deadline in CET":     {func(r *JobRequest) { r.DeadlineAt = "2026-01-02T04:04:05+01:00" }, "deadline_at must be an RFC 3339 time in UTC"},
		"too soon":            {func(r *JobRequest) { r.DeadlineAt = "2026-01-02T03:04:00.9Z" }, "deadline_at must be 1 second to 10 minutes ahead"},
		"too late":            {func(r *JobRequest) { r.DeadlineAt = "2026-01-02T03:14:01Z" }, "deadline_at must be 1 second to 10 minutes ahead"},
		"schema version":      {func(r *JobRequest) { r.SchemaVersion = 2 }, "schema_version must be 1"},
		"response schema":     {func(r *JobRequest) { r.ResponseSchema = json.RawMessage("[]") }, "response_schema must be an object"},
		"correlation with \"": {func(r *JobRequest) { r.CorrelationID = `a"b` }, "correlation_id must have 1 to 200 characters of A-Z a-z 0-9 . _ : + -"},
	} {
		r := good
		tt.change(&r)
		if got := problem(r.Validate(now)); got != tt.want {
			t.Errorf("%s: Validate = %q, want %q", name, got, tt.want)
		}
	}
	for purpose, want := range map[string]time.Duration{PurposeLiveAnalysis: 20 * time.Second, PurposeSessionSummary: 2 * time.Minute, PurposeCapabilityProbe: time.Minute, "": 0} {
		if got := DefaultDeadline(purpose); got != want {
			t.Errorf("DefaultDeadline(%s) = %v, want %v", purpose, got, want)
		}
	}
	for state, want := range map[string]bool{JobQueued: false, JobDelivered: false, JobAcked: false, JobCompleted: true, JobFailed: true, JobTimedOut: true, JobCancelled: true} {
		if Terminal(state) != want {
			t.Errorf("Terminal(%s) = %v, want %v", state, !want, want)
		}
	}
}

// SW-46: the body of /v1/incoming, field by field, the first wrong one named.
func TestParseIncoming(t *testing.T) {
	const head = `"task_id":"` + someID + `","session_id":"s-7","reason":"chat_message"`
	const token = `"token":"0123456789abcdef"`
	tests := []struct{ name, body, want string }{
		{"smallest", `{` + head + `,"payload":{"text":""}}`, ""},
		{"all of it", `{` + head + `,"chat_id":"c","occurred_at":"2026-01-02T03:04:05Z","payload":{"text":"hi","user_message_id":"u","parent_message_id":"p","ts_start_ms":1,"ts_end_ms":2.5,"is_final":true},"callback":{"url":"http://127.0.0.1:1",` + token + `},"more":1}`, ""},
		{"no callback", `{` + head + `,"payload":{"text":""},"callback":null}`, ""},
		{"optional fields of another kind", `{` + head + `,"chat_id":7,"payload":{"text":"","ts_start_ms":"1","is_final":"yes","user_message_id":null}}`, ""},
		{"no JSON", `{`, "body must be an object"},
		{"list", `[]`, "body must be an object"},
		{"null", `null`, "body must be an object"},
		{"no task", `{}`, "task_id must be a UUID"},
		{"task that is a number", `{"task_id":7}`, "task_id must be a UUID"},
		{"task that is none", `{"task_id":"22222222-2222-4222-8222-22222222222g","session_id":""}`, "task_id must be a UUID"},
		{"no session", `{"task_id":"` + someID + `"}`, "session_id must have 1 to 128 characters"},
		{"session of 129", `{"task_id":"` + someID + `","session_id":"` + strings.Repeat("é", 129) + `"}`, "session_id must have 1 to 128 characters"},
		{"session of 128", `{"task_id":"` + someID + `","session_id":"` + strings.Repeat("é", 128) + `"}`, "reason must be transcript_chunk, chat_message or system_prelude"},
		{"reason", `{"task_id":"` + someID + `","session_id":"s","reason":"x","payload":{"text":""}}`, "reason must be transcript_chunk, chat_message or system_prelude"},
		{"no payload", `{` + head + `}`, "payload must be an object"},
		{"payload that is a text", `{` + head + `,"payload":"hi"}`, "payload must be an object"},
		{"no text", `{` + head + `,"payload":{}}`, "payload.text must be a string"},
		{"text that is a number", `{` + head + `,"payload":{"text":1}}`, "payload.text must be a string"},
		{"text of 16000 code points", `{` + head + `,"payload":{"text":"` + strings.Repeat("😀", 16000) + `"}}`, ""},
		{"text of 16001", `{` + head + `,"payload":{"text":"` + strings.Repeat("a", 16001) + `"},"callback":7}`, "payload.text must have at most 16000 characters"},
		{"callback that is a text", `{` + head + `,"payload":{"text":""},"callback":"x"}`, "callback must be an object"},
		{"callback without url", `{` + head + `,"payload":{"text":""},"callback":{` + token + `}}`, "callback.url must be an http or https URL with a host"},
		{"callback with a path", `{` + head + `,"payload":{"text":""},"callback":{"url":"http://127.0.0.1:1/x"}}`, "callback.url must have no path, query, fragment or user"},
		{"callback with a short token", `{` + head + `,"payload":{"text":""},"callback":{"url":"http://127.0.0.1:1","token":"0123456789abcde"}}`, "callback.token must have at least 16 characters"},
	}
	for _, tt := range tests {
		in, err := ParseIncoming([]byte(tt.body))
		if got := problem(err); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
		if tt.name == "all of it" {
			want := Incoming{TaskID: someID, SessionID: "s-7", Reason: ReasonChatMessage, ChatID: "c", OccurredAt: "2026-01-02T03:04:05Z",
				Payload:  IncomingPayload{Text: "hi", UserMessageID: "u", ParentMessageID: "p", TSStartMS: 1, TSEndMS: 2.5, IsFinal: new(true)},
				Callback: &CallbackTarget{URL: "http://127.0.0.1:1", Token: "0123456789abcdef"}}
			if diff := cmp.Diff(want, in); diff != "" {
				t.Errorf("incoming (-want +got):\n%s", diff)
			}
			if !in.Payload.Final() {
				t.Error("Final() = false")
			}
		}
	}
	if (&IncomingPayload{}).Final() || (&IncomingPayload{IsFinal: new(false)}).Final() {
		t.Error("Final() = true of a text that may change")
	}
}

// FuzzParseIncoming: what is accepted is valid, also when it is sent on.
func FuzzParseIncoming(f *testing.F) {
	f.Add([]byte(`{"task_id":"` + someID + `","session_id":"s-7","reason":"transcript_chunk","payload":{"text":"hi","is_final":true},"callback":{"url":"http://127.0.0.1:1","token":"0123456789abcdef"}}`))
	f.Add([]byte(`{"task_id":"x"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		in, err := ParseIncoming(data)
		if err != nil {
			return
		}
		again, err := json.Marshal(in)
		if err != nil {
			t.Fatal(err)
		}
		if back, err := ParseIncoming(again); err != nil || !cmp.Equal(in, back) {
			t.Fatalf("%s is accepted as %+v and sent on as %s: %v", data, in, again, err)
		}
	})
}

// FuzzPayload: whatever a payload is, it decodes, and it encodes to what decodes to
// the same; nothing with a ciphertext counts as clear.
func FuzzPayload(f *testing.F) {
	for _, s := range []string{sealed1, `{"byo_encrypted":true,"envelope":` + sealed2 + `}`, `{"byo_encrypted":true,"envelope":{"version":1}}`, `[]`, `null`, `{"user_prompt":"x"}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if !json.Valid(data) {
			return
		}
		var p Payload
		if err := json.Unmarshal(data, &p); err != nil {
			t.Fatal(err)
		}
		var top map[string]json.RawMessage
		if json.Unmarshal(data, &top) == nil && top["ciphertext"] != nil && !p.Sealed() {
			t.Fatalf("%s counts as clear", data)
		}
		again, err := json.Marshal(p)
		if err != nil {
			t.Fatalf("%s: %v", data, err)
		}
		var back Payload
		if err := json.Unmarshal(again, &back); err != nil || (p.Envelope == nil) != (back.Envelope == nil) || p.Sealed() != back.Sealed() {
			t.Fatalf("%s becomes %s: %v", data, again, err)
		}
		if p.Envelope != nil && *p.Envelope != *back.Envelope {
			t.Fatalf("%s becomes %s", data, again)
		}
	})
}

// SW-60: the checks of a callback, in the order of the desktop's answers.
func TestCallbackValidate(t *testing.T) {
	good := Callback{SessionID: "s", Status: StatusMessage}
	tests := []struct {
		name, task string
		change     func(c *Callback)
		want       error
	}{
		{"good", someID, func(*Callback) {}, nil},
		{"same task in the body", someID, func(c *Callback) { c.TaskID = someID }, nil},
		{"path", "t-1", func(c *Callback) { c.SessionID = "" }, ErrInvalidTaskID},
		{"other task in the body", someID, func(c *Callback) { c.TaskID, c.SessionID = strings.ToUpper(someID)[:35]+"3", "" }, ErrTaskIDMismatch},
		{"blank session", someID, func(c *Callback) { c.SessionID, c.Status = " \t", "x" }, ErrSessionRequired},
		{"status", someID, func(c *Callback) { c.Status = "done" }, ErrInvalidStatus},
	}
	for _, tt := range tests {
		c := good
		tt.change(&c)
		if err := c.Validate(tt.task); !errors.Is(err, tt.want) {
			t.Errorf("%s: Validate = %v, want %v", tt.name, err, tt.want)
		}
	}
	for status, transient := range map[string]bool{StatusMessage: false, StatusErrored: false, StatusCompleted: false, StatusSilent: false,
		StatusTyping: true, StatusToolCall: true, StatusStream: true, StatusNotice: true} {
		if !KnownStatus(status) || TransientStatus(status) != transient {
			t.Errorf("%s: known %v, transient %v, want true, %v", status, KnownStatus(status), TransientStatus(status), transient)
		}
	}
	for id, want := range map[string]string{"insights:s-7": "s-7", "s-7": "", "INSIGHTS:s-7": "", "insights:": ""} {
		session, insights := SplitSession(id)
		if insights != strings.HasPrefix(id, InsightsPrefix) || insights && session != want || !insights && session != id {
			t.Errorf("SplitSession(%s) = %s, %v", id, session, insights)
		}
	}
}

// SW-45: the shape and limits of a profile, and a profile cut to them.
func TestProfile(t *testing.T) {
	good := Profile{RawDescription: "d"}
	many := make([]string, 101)
	for name, tt := range map[string]struct {
		p    Profile
		want string
	}{
		"good":        {good, ""},
		"2000 runes":  {Profile{RawDescription: strings.Repeat("é", 2000)}, ""},
		"nothing":     {Profile{}, "raw_description must not be empty"},
		"description": {Profile{RawDescription: strings.Repeat("é", 2001)}, "raw_description must have at most 2000 characters"},
		"skills":      {Profile{RawDescription: "d", Skills: make([]ProfileSkill, 101)}, "skills must have at most 100 entries"},
		"tools":       {Profile{RawDescription: "d", Tools: many}, "tools must have at most 100 entries"},
		"models":      {Profile{RawDescription: "d", Models: many}, "models must have at most 100 entries"},
		"skill":       {Profile{RawDescription: "d", Skills: []ProfileSkill{{}, {Description: strings.Repeat("x", 201)}}}, "skills/1/description must have at most 200 characters"},
		"too large":   {Profile{RawDescription: "d", Tools: []string{strings.Repeat("x", 40<<10)}}, "profile must have at most 32 KiB"},
	} {
		if got := problem(tt.p.Validate()); got != tt.want {
			t.Errorf("%s: Validate = %q, want %q", name, got, tt.want)
		}
		if tt.p.RawDescription == "" {
			continue
		}
		before, err := json.Marshal(tt.p)
		if err != nil {
			t.Fatal(err)
		}
		cut := tt.p.Clamp()
		if err := cut.Validate(); err != nil {
			t.Errorf("%s: after Clamp: %v", name, err)
		}
		if after, err := json.Marshal(tt.p); err != nil || string(after) != string(before) {
			t.Errorf("%s: Clamp changes its receiver", name)
		}
	}
	huge := Profile{RawDescription: "d", Agent: &ProfileAgent{Name: strings.Repeat("n", 40<<10)}, Skills: []ProfileSkill{{ID: "a"}}}
	if got := huge.Clamp(); got.Validate() != nil || got.Agent != nil {
		t.Errorf("Clamp of a profile with an endless name = %v", got.Validate())
	}
}

func TestIDs(t *testing.T) {
	for _, id := range []string{someID, strings.ToUpper("abcdefab-cdef-7abc-8def-abcdefabcdef"), "00000000-0000-0000-0000-000000000000"} {
		if err := CheckUUID("x", id); err != nil {
			t.Errorf("CheckUUID(%s) = %v", id, err)
		}
	}
	for _, id := range []string{"", "22222222222242228222222222222222", someID + "2", "2222222-22222-4222-8222-222222222222", "{2222222-2222-4222-8222-22222222222}", "22222222_2222_4222_8222_222222222222"} {
		if CheckUUID("x", id) == nil {
			t.Errorf("CheckUUID(%s) = nil", id)
		}
	}
	for id, ok := range map[string]bool{"s-7": true, "insights:A.b_9": true, "": false, "a b": false, "a+b": false, "é": false, strings.Repeat("x", 128): true, strings.Repeat("x", 129): false} {
		if err := CheckSessionID(id); (err == nil) != ok {
			t.Errorf("CheckSessionID(%s) = %v, want allowed %v", id, err, ok)
		}
	}
	for kind, ok := range map[string]bool{"openclaw": true, "my_agent-2": true, "a": false, "Hermes": false, "2go": false, "": false, strings.Repeat("a", 32): true, strings.Repeat("a", 33): false} {
		if err := CheckProviderKind(kind); (err == nil) != ok {
			t.Errorf("CheckProviderKind(%s) = %v, want allowed %v", kind, err, ok)
		}
	}
	for label, ok := range map[string]bool{"Anna's laptop ☕": true, "": true, "a\nb": false, "a\x1b[31m": false, "\xff": false, strings.Repeat("é", 200): true, strings.Repeat("é", 201): false} {
		if err := CheckLabel("label", label); (err == nil) != ok {
			t.Errorf("CheckLabel(%q) = %v, want allowed %v", label, err, ok)
		}
	}
}

func TestTimes(t *testing.T) {
	at := time.Date(2026, 1, 2, 4, 4, 5, 678_900_000, time.FixedZone("CET", 3600))
	if got := FormatTime(at); got != "2026-01-02T03:04:05.678Z" {
		t.Errorf("FormatTime = %s", got)
	}
	if got := FormatTime(at.Truncate(time.Second)); got != "2026-01-02T03:04:05Z" {
		t.Errorf("FormatTime of a whole second = %s", got)
	}
	if got, err := ParseTime(FormatTime(at)); err != nil || !got.Equal(at.Truncate(time.Millisecond)) {
		t.Errorf("ParseTime = %v, %v", got, err)
	}
	if _, err := ParseTime("2026-01-02"); err == nil {
		t.Error("ParseTime takes a date")
	}
}

// The error table.
func TestStatuses(t *testing.T) {
	for code, want := range map[string]int{CodeInvalidRequest: 400, CodeUnauthorized: 401, CodeForbidden: 403, CodeNotFound: 404, CodePairingCodeInvalid: 404,
		CodeJobConflict: 409, CodeAlreadyCompleted: 409, CodeAssistantOffline: 409, CodePairingState: 409, CodeJobExpired: 410, CodeJobCancelled: 410,
		CodePairingExpired: 410, CodeTooLarge: 413, CodePlaintextRejected: 422, CodeEnvelopeMismatch: 422, CodeInvalidEnvelope: 422, CodePluginTooOld: 426,
		CodeRateLimited: 429, CodeTooManyOpenJobs: 429, CodeTooManyStreams: 429, CodeInternal: 500, CodeDraining: 503, CodeStorageUnavailable: 503, "?": 500} {
		if got := Status(code); got != want {
			t.Errorf("Status(%s) = %d, want %d", code, got, want)
		}
		if got := Retryable(code); got != (want == 429 || want >= 500) {
			t.Errorf("Retryable(%s) = %v", code, got)
		}
	}
	var err error = Errorf(CodeForbidden, "spent after %d uses", 1)
	if err.Error() != "forbidden: spent after 1 uses" {
		t.Errorf("Error() = %s", err)
	}
}

func TestVersions(t *testing.T) {
	both := []string{StaticV1, DuplexV2}
	for _, tt := range []struct {
		desktop, plugin []string
		want            string
	}{
		{both, both, DuplexV2}, {[]string{DuplexV2}, both, DuplexV2}, {both, []string{StaticV1}, StaticV1}, {both, nil, StaticV1},
		{[]string{DuplexV2}, nil, ""}, {[]string{DuplexV2}, []string{StaticV1}, ""}, {nil, both, ""}, {both, []string{"duplex_v3"}, ""},
	} {
		if got := BestVersion(tt.desktop, tt.plugin); got != tt.want {
			t.Errorf("BestVersion(%v, %v) = %q, want %q", tt.desktop, tt.plugin, got, tt.want)
		}
	}
	if EnvelopeVersion(StaticV1) != 1 || EnvelopeVersion(DuplexV2) != 2 || EnvelopeVersion("x") != 0 {
		t.Error("EnvelopeVersion numbers the schemes wrongly")
	}
}

func TestRegistry(t *testing.T) {
	r := Builtin()
	if p, known := r.Provider(ProviderOpenClaw); !known || p.Protocol.MinPluginVersion != "0.64.0" {
		t.Errorf("openclaw = %+v, %v", p, known)
	}
	p, known := r.Provider("my-agent")
	if known || p.Kind != "my-agent" || !strings.Contains(p.Pairing.RelayCommand, "--provider-kind my-agent --code {code}") {
		t.Errorf("an unknown kind = %+v, %v, want a generic descriptor", p, known)
	}
	merged, err := r.Merge([]byte(`{"providers":[{"provider_kind":"hermes","display_name":"H","topologies":["direct"],"protocol":{"envelope_versions":[2],"min_plugin_version":"2.0"}},{"provider_kind":"zed","display_name":"Zed"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	if got := merged.All().Providers; len(got) != 3 || got[1].DisplayName != "H" || got[2].Kind != "zed" {
		t.Errorf("merged = %+v", got)
	}
	if len(r.All().Providers) != 2 {
		t.Error("Merge changes its receiver")
	}
	for file, want := range map[string]string{
		`[]`: "read providers: json: cannot unmarshal array into Go value of type byo.Providers",
		`{"providers":[{"provider_kind":"X","display_name":"x"}]}`:                                          "read providers: entry 1: provider_kind must match ^[a-z][a-z0-9_-]{1,31}$",
		`{"providers":[{"provider_kind":"ok"}]}`:                                                            "read providers: entry 1: display_name must not be empty",
		`{"providers":[{"provider_kind":"ok","display_name":"x","topologies":["mesh"]}]}`:                   "read providers: entry 1: topologies must be relay and direct only",
		`{"providers":[{"provider_kind":"ok","display_name":"x","protocol":{"min_plugin_version":"new"}}]}`: "read providers: entry 1: protocol.min_plugin_version must be a version like 1.2.3",
	} {
		if _, err := r.Merge([]byte(file)); problem(err) != want {
			t.Errorf("Merge(%s) = %v, want %s", file, err, want)
		}
	}
	h, _ := merged.Provider("hermes")
	o, _ := r.Provider(ProviderOpenClaw)
	for _, tt := range []struct {
		p               Provider
		version, scheme string
		ok              bool
	}{
		{o, "0.64.0", StaticV1, true}, {o, "0.63.9", StaticV1, false}, {o, "0.100.0", DuplexV2, true}, {o, "v1.0", DuplexV2, true}, {o, "", StaticV1, true},
		{o, "0.64.0-beta.1+x", DuplexV2, true}, {o, "latest", DuplexV2, false}, {o, "1.2.3.4", DuplexV2, false}, {o, "1.0.0", "", false},
		{h, "2.0.0", DuplexV2, true}, {h, "2.0.0", StaticV1, false}, {h, "1.9", DuplexV2, false},
	} {
		err := tt.p.CheckPlugin(tt.version, tt.scheme)
		var e *Error
		if (err == nil) != tt.ok || err != nil && (!errors.As(err, &e) || e.Code != CodePluginTooOld) {
			t.Errorf("%s: CheckPlugin(%s, %s) = %v, want ok %v", tt.p.Kind, tt.version, tt.scheme, err, tt.ok)
		}
	}
}

// Validate of the small bodies, the first wrong field named.
func TestBodies(t *testing.T) {
	b32 := make([]byte, 32)
	env := Envelope{Version: DuplexV2, Nonce: nonce24, Ciphertext: "AAEC"}
	start := func(change func(p *PairStart)) interface{ Validate() error } {
		p := &PairStart{ProviderKind: "hermes", Label: "l", CodeStyle: CodeStyleLong, DesktopPublicKey: b32, Commitment: b32, BYOVersions: []string{DuplexV2}}
		change(p)
		return p
	}
	tests := []struct {
		v    interface{ Validate() error }
		want string
	}{
		{start(func(*PairStart) {}), ""},
		{start(func(p *PairStart) { p.ProviderKind = "X" }), "provider_kind must match ^[a-z][a-z0-9_-]{1,31}$"},
		{start(func(p *PairStart) { p.Label = "\n" }), "label must have at most 200 printable characters"},
		{start(func(p *PairStart) { p.CodeStyle = "" }), "code_style must be short or long"},
		{start(func(p *PairStart) { p.DesktopPublicKey = b32[1:] }), "desktop_public_key must be 32 bytes of base64"},
		{start(func(p *PairStart) { p.Commitment = nil }), "commitment must be 32 bytes of base64"},
		{start(func(p *PairStart) { p.BYOVersions = nil }), "byo_versions must not be empty"},
		{&PairComplete{PairingCode: "482913", HostLabel: "h"}, ""},
		{&PairComplete{HostLabel: "h"}, "pairing_code must not be empty"},
		{&PairComplete{PairingCode: "1", HostLabel: "\x00"}, "host_label must have at most 200 printable characters"},
		{&PairComplete{PairingCode: "1", PluginPublicKey: b32[1:]}, "plugin_public_key must be 32 bytes of base64"},
		{&PairComplete{PairingCode: "1", ProviderKind: "!"}, "provider_kind must match ^[a-z][a-z0-9_-]{1,31}$"},
		{&PairReveal{b32, b32}, ""},
		{&PairReveal{nil, b32}, "desktop_nonce must be 32 bytes of base64"},
		{&PairReveal{b32, nil}, "desktop_confirm must be 32 bytes of base64"},
		{&PairNonce{b32}, ""},
		{&PairNonce{b32[1:]}, "plugin_nonce must be 32 bytes of base64"},
		{&PairConfirm{nil}, "plugin_confirm must be 32 bytes of base64"},
		{&ControlFrame{someID, env}, ""},
		{&ControlFrame{"f", env}, "frame_id must be a UUID"},
		{&ControlFrame{someID, Envelope{Version: StaticV1}}, "envelope must be of version duplex_v2"},
		{&ControlFrame{someID, Envelope{Version: DuplexV2, Nonce: nonce24}}, "ciphertext must be base64 and not empty"},
		{&TaskStatus{Status: TaskRunning}, ""},
		{&TaskStatus{Status: TaskQueued}, "status must be delivered, running, completed or failed"},
		{&ChatPost{"u-1", "s-7", "x"}, ""},
		{&ChatPost{"u 1", "s-7", "x"}, "user_message_id must have 1 to 200 characters of A-Z a-z 0-9 . _ : + -"},
		{&ChatPost{"u-1", "", "x"}, "session_id must have 1 to 128 characters of A-Z a-z 0-9 . _ : -"},
		{&ChatPost{"u-1", "s-7", ""}, "content must not be empty"},
		{&ChatReply{Status: ReplyErrored}, ""},
		{&ChatReply{}, "status must be completed or errored"},
	}
	for i, tt := range tests {
		if got := problem(tt.v.Validate()); got != tt.want {
			t.Errorf("body %d, %T: Validate = %q, want %q", i, tt.v, got, tt.want)
		}
	}
	for _, tt := range []struct {
		c    Completion
		want string
	}{
		{Completion{JobID: someID, Status: JobCompleted}, ""},
		{Completion{Status: JobTimedOut}, ""},
		{Completion{JobID: "other", Status: JobFailed}, "job_id must be that of the path"},
		{Completion{JobID: someID, Status: JobCancelled}, "status must be completed, failed or timed_out"},
	} {
		if got := problem(tt.c.Validate(someID)); got != tt.want {
			t.Errorf("Completion.Validate = %q, want %q", got, tt.want)
		}
	}
	for content, want := range map[string]string{ContentChatIn: EventChatFrame, ContentChatOut: EventChatFrame, ContentRekeyOffer: EventBYOControl, "": EventBYOControl} {
		if got := (&ControlFrame{Envelope: Envelope{ContentType: content}}).Event(); got != want {
			t.Errorf("Event() of %q = %s, want %s", content, got, want)
		}
	}
}

// Envelopes inside JSON strings, as tasks and chat of older peers carry them.
func TestEnvelopeText(t *testing.T) {
	var e Envelope
	if err := json.Unmarshal([]byte(sealed1), &e); err != nil {
		t.Fatal(err)
	}
	text, err := EnvelopeText(e)
	if err != nil {
		t.Fatal(err)
	}
	if back, err := ParseEnvelope(text); err != nil || back != e {
		t.Errorf("ParseEnvelope(%s) = %+v, %v", text, back, err)
	}
	for _, bad := range []string{"", "hello", "{}", "[]", `{"nonce":"x"}`} {
		if _, err := ParseEnvelope(bad); err == nil {
			t.Errorf("ParseEnvelope(%s) = nil", bad)
		}
	}
	if e.Digest() != "ae4b3280e56e2faf83f414a6e3dabe9d5fbe18976544c05fed121accb85b53fc" {
		t.Errorf("Digest() = %s, want the SHA-256 of 00 01 02", e.Digest())
	}
	if a, b := (Envelope{Ciphertext: "%"}).Digest(), (Envelope{Ciphertext: "&"}).Digest(); a == b {
		t.Error("two texts that are no base64 have one digest")
	}
}
