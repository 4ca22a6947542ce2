package relay

import (
	"encoding/json"
	"strconv"

	"openclaw/byo"
)

// Jobs and completions are most of a relay's work, and an envelope is most of
// them. So a sealed one is read in one pass, and written by hand, instead of
// going through the lenient forms of package byo several times.

// sealedContent is the nested form of sealed content.
type sealedContent struct {
	BYOEncrypted bool          `json:"byo_encrypted"`
	Envelope     *byo.Envelope `json:"envelope"`
	Status       string        `json:"status"`
}

// decodeRequest reads a job. What is not sealed in the usual form is left to
// package byo, which knows the others.
func decodeRequest(data []byte, req *byo.JobRequest) error {
	type plain byo.JobRequest
	v := struct {
		*plain
		Payload sealedContent `json:"payload"`
	}{plain: (*plain)(req)}
	if decode(data, &v) == nil && v.Payload.Envelope != nil && v.Payload.BYOEncrypted {
		req.Payload = byo.Payload{BYOEncrypted: true, Envelope: v.Payload.Envelope}
		return nil
	}
	*req = byo.JobRequest{}
	return decode(data, req)
}

// decodeCompletion reads a completion in the same way.
func decodeCompletion(data []byte, done *byo.Completion) error {
	type plain byo.Completion
	v := struct {
		*plain
		Output *sealedContent `json:"output"`
	}{plain: (*plain)(done)}
	if decode(data, &v) == nil && v.Output != nil && v.Output.Envelope != nil && v.Output.BYOEncrypted {
		done.Output = &byo.CompletionOutput{BYOEncrypted: true, Envelope: v.Output.Envelope, Status: v.Output.Status}
		return nil
	}
	*done = byo.Completion{}
	return decode(data, done)
}

// jobFrame is the frame of a job for its assistant. Nothing that stood beside the
// envelope in the payload goes along.
func jobFrame(b bond, req *byo.JobRequest) ([]byte, error) {
	schema := req.ResponseSchema
	if len(schema) == 0 || string(schema) == "null" {
		schema = json.RawMessage("{}")
	}
	frame := byo.Job{
		EventType: byo.EventReasoningJob, JobID: req.JobID, Purpose: req.Purpose, DeadlineAt: req.DeadlineAt,
		SchemaVersion: req.SchemaVersion, EnvelopeVersion: req.EnvelopeVersion, ResponseSchema: schema,
		Payload: req.Payload, ProviderKind: b.Provider, IdempotencyKey: req.JobID,
		CorrelationID: req.CorrelationID, Model: req.Model,
	}
	e := req.Payload.Envelope
	if e == nil {
		return json.Marshal(frame)
	}
	type plain byo.Job
	head, err := json.Marshal(struct {
		plain
		Payload bool `json:"payload,omitempty"` // hides the one of plain
	}{plain: plain(frame)})
	if err != nil {
		return nil, err
	}
	dst := make([]byte, 0, len(head)+len(e.Ciphertext)+640)
	dst = append(append(dst, head[:len(head)-1]...), `,"payload":{"byo_encrypted":true,"envelope":`...)
	return append(appendEnvelope(dst, e), "}}"...), nil
}

// completionBody is a sealed completion as it is kept for the desktop.
func completionBody(done *byo.Completion) ([]byte, error) {
	o := done.Output
	if o == nil || o.Envelope == nil {
		return json.Marshal(done)
	}
	type plain byo.Completion
	head, err := json.Marshal(struct {
		*plain
		Output bool `json:"output,omitempty"` // hides the one of plain
	}{plain: (*plain)(done)})
	if err != nil {
		return nil, err
	}
	dst := make([]byte, 0, len(head)+len(o.Envelope.Ciphertext)+640)
	dst = append(append(dst, head[:len(head)-1]...), `,"output":{"byo_encrypted":true,"envelope":`...)
	dst = append(appendEnvelope(dst, o.Envelope), `,"status":`...)
	return append(appendString(dst, o.Status), "}}"...), nil
}

// resultFrame is the frame of an ended job for its desktop.
func resultFrame(j *job) []byte {
	result := j.result()
	dst := make([]byte, 0, len(result)+256)
	dst = append(dst, `{"event_type":"`+byo.EventReasoningJobResult+`","job_id":`...)
	dst = append(appendString(dst, j.ID), `,"integration_id":`...)
	dst = append(appendString(dst, j.Integration), `,"status":`...)
	dst = append(appendString(dst, j.State), `,"result":`...)
	return append(append(dst, result...), '}')
}

// appendEnvelope writes e as its MarshalJSON does.
func appendEnvelope(dst []byte, e *byo.Envelope) []byte {
	dst = append(dst, `{"version":`...)
	dst = appendString(dst, e.Version)
	for _, f := range []struct {
		name, value string
		always      bool
	}{
		{"sender_role", e.SenderRole, true}, {"direction", e.Direction, false}, {"key_id", e.KeyID, false},
		{"message_id", e.MessageID, true}, {"session_id", e.SessionID, true}, {"correlation_id", e.CorrelationID, true},
		{"content_type", e.ContentType, true}, {"job_id", e.JobID, false}, {"purpose", e.Purpose, false},
		{"deadline_at", e.DeadlineAt, false}, {"nonce", e.Nonce, true}, {"ciphertext", e.Ciphertext, true},
	} {
		if f.always || f.value != "" {
			dst = append(append(append(dst, `,"`...), f.name...), `":`...)
			dst = appendString(dst, f.value)
		}
	}
	if e.Epoch != 0 || e.Version == byo.DuplexV2 {
		dst = strconv.AppendUint(append(dst, `,"epoch":`...), e.Epoch, 10)
	}
	if e.Seq != 0 {
		dst = strconv.AppendUint(append(dst, `,"seq":`...), e.Seq, 10)
	}
	return append(dst, '}')
}

// appendString writes s as JSON; almost every string of this wire needs no care.
func appendString(dst []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c == '"' || c == '\\' || c >= 0x7f {
			data, err := json.Marshal(s)
			if err != nil {
				panic(err) // no string fails
			}
			return append(dst, data...)
		}
	}
	return append(append(append(dst, '"'), s...), '"')
}
