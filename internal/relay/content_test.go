package relay

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"openclaw/byo"
)

func envelope(version string) byo.Envelope {
	return byo.Envelope{
		Version: version, SenderRole: "desktop", Direction: "d2p", KeyID: "k", Seq: 7, MessageID: `m"\ü` + "\x01<>&",
		SessionID: "s", CorrelationID: "c", ContentType: "reasoning_input", JobID: "j", Purpose: "p", DeadlineAt: "d",
		Nonce: "AAAA", Ciphertext: strings.Repeat("Ab+/", 300) + "==",
	}
}

func tree(t *testing.T, data []byte) (v any) {
	t.Helper()
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatalf("%s: %v", data, err)
	}
	return v
}

// What is written by hand is what package byo writes.
func TestContentIsWrittenAlike(t *testing.T) {
	for _, e := range []byo.Envelope{envelope(byo.DuplexV2), envelope(byo.StaticV1), {Version: byo.StaticV1}, {}} {
		want, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tree(t, want), tree(t, appendEnvelope(nil, &e))); diff != "" {
			t.Errorf("appendEnvelope (-want +got):\n%s", diff)
		}
		req := byo.JobRequest{JobID: "j", Purpose: "p", DeadlineAt: "d", SchemaVersion: 1, EnvelopeVersion: 2, Payload: byo.SealedPayload(e)}
		frame, err := jobFrame(bond{Provider: "hermes"}, &req)
		if err != nil {
			t.Fatal(err)
		}
		want, err = json.Marshal(byo.Job{
			EventType: byo.EventReasoningJob, JobID: "j", Purpose: "p", DeadlineAt: "d", SchemaVersion: 1, EnvelopeVersion: 2,
			ResponseSchema: json.RawMessage("{}"), Payload: req.Payload, ProviderKind: "hermes", IdempotencyKey: "j",
		})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tree(t, want), tree(t, frame)); diff != "" {
			t.Errorf("jobFrame (-want +got):\n%s", diff)
		}
		done := byo.Completion{JobID: "j", Status: "completed", Output: byo.SealedOutput(e, "completed")}
		body, err := completionBody(&done)
		if err != nil {
			t.Fatal(err)
		}
		if want, err = json.Marshal(done); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tree(t, want), tree(t, body)); diff != "" {
			t.Errorf("completionBody (-want +got):\n%s", diff)
		}
		j := &job{ID: "j", Integration: "i", State: byo.JobCompleted, Body: body}
		want, err = json.Marshal(byo.JobResult{
			EventType: byo.EventReasoningJobResult, JobID: "j", IntegrationID: "i", Status: byo.JobCompleted, Result: body,
		})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tree(t, want), tree(t, resultFrame(j))); diff != "" {
			t.Errorf("resultFrame (-want +got):\n%s", diff)
		}
	}
}

// What is read in one pass is what package byo reads, whatever it looks like.
func FuzzDecodeContent(f *testing.F) {
	sealed, err := json.Marshal(byo.JobRequest{JobID: "j", Payload: byo.SealedPayload(envelope(byo.DuplexV2))})
	if err != nil {
		f.Fatal(err)
	}
	for _, seed := range []string{
		string(sealed), `{}`, `{"payload":1}`, `{"payload":{"byo_encrypted":1,"envelope":{"ciphertext":"x"}}}`,
		`{"payload":{"ciphertext":"x","nonce":"y"}}`, `{"output":{"byo_encrypted":true,"envelope":{}},"status":"failed"}`,
		`{"output":{"a":1}}`, `{"payload":{"byo_encrypted":true,"envelope":{"seq":"7"}}}`, `[`, ``,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var got, want byo.JobRequest
		gotErr, wantErr := decodeRequest(data, &got), decode(data, &want)
		if got.Payload.Envelope != nil {
			want.Payload.Raw, got.Payload.Raw = nil, nil
		}
		if diff := cmp.Diff(want, got); diff != "" || (gotErr == nil) != (wantErr == nil) {
			t.Errorf("decodeRequest(%q) = %v, want %v (-want +got):\n%s", data, gotErr, wantErr, diff)
		}
		var gotC, wantC byo.Completion
		gotErr, wantErr = decodeCompletion(data, &gotC), decode(data, &wantC)
		if gotC.Output != nil && gotC.Output.Envelope != nil {
			gotC.Output.Raw, wantC.Output.Raw = nil, nil
		}
		if diff := cmp.Diff(wantC, gotC); diff != "" || (gotErr == nil) != (wantErr == nil) {
			t.Errorf("decodeCompletion(%q) = %v, want %v (-want +got):\n%s", data, gotErr, wantErr, diff)
		}
	})
}
