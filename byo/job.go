package byo

import (
	"encoding/json"
	"time"
)

// Purposes of a job.
const (
	PurposeLiveAnalysis    = "live_analysis"
	PurposeSessionSummary  = "session_summary"
	PurposeCapabilityProbe = "capability_probe"
)

// DefaultDeadline is how long a desktop gives a job of that purpose, 0 for a
// purpose that does not exist.
func DefaultDeadline(purpose string) time.Duration {
	switch purpose {
	case PurposeLiveAnalysis:
		return 20 * time.Second
	case PurposeSessionSummary:
		return 120 * time.Second
	case PurposeCapabilityProbe:
		return 60 * time.Second
	}
	return 0
}

// States of a job: queued → delivered → acked → one of the four ends.
const (
	JobQueued    = "queued"
	JobDelivered = "delivered"
	JobAcked     = "acked"
	JobCompleted = "completed"
	JobFailed    = "failed"
	JobTimedOut  = "timed_out"
	JobCancelled = "cancelled"
)

// Terminal reports whether a job in that state has ended.
func Terminal(state string) bool {
	switch state {
	case JobCompleted, JobFailed, JobTimedOut, JobCancelled:
		return true
	}
	return false
}

// JobRequest is the body of POST /integrations/{id}/reasoning-jobs, from the
// desktop. The desktop chooses the id, so that it can be sealed into the content.
// See docs/byo.md#jobs.
type JobRequest struct {
	JobID           string          `json:"job_id"`
	Purpose         string          `json:"purpose" schema:"enum=live_analysis|session_summary|capability_probe"`
	DeadlineAt      string          `json:"deadline_at"`
	SchemaVersion   int             `json:"schema_version" schema:"min=1"`
	EnvelopeVersion int             `json:"envelope_version" schema:"min=1"`
	ResponseSchema  json.RawMessage `json:"response_schema"` // {} when the payload is sealed by DuplexV2
	Payload         Payload         `json:"payload"`
	CorrelationID   string          `json:"correlation_id,omitempty"`
	Model           string          `json:"model,omitempty"`
	// RequireLive asks for assistant_offline instead of a job that waits.
	RequireLive bool `json:"require_live,omitempty"`
}

// Validate names the first field of r that is wrong at that moment. The payload
// is not looked at: see [CheckSealed].
func (r *JobRequest) Validate(now time.Time) error {
	if err := CheckUUID("job_id", r.JobID); err != nil {
		return err
	}
	if DefaultDeadline(r.Purpose) == 0 {
		return &FieldError{Field: "purpose", Problem: "must be live_analysis, session_summary or capability_probe"}
	}
	deadline, err := ParseTime(r.DeadlineAt)
	if _, offset := deadline.Zone(); err != nil || offset != 0 {
		return &FieldError{Field: "deadline_at", Problem: "must be an RFC 3339 time in UTC"}
	}
	if d := deadline.Sub(now); d < MinDeadline || d > MaxDeadline {
		return &FieldError{Field: "deadline_at", Problem: "must be 1 second to 10 minutes ahead"}
	}
	if r.SchemaVersion != SchemaVersion {
		return &FieldError{Field: "schema_version", Problem: "must be 1"}
	}
	if len(r.ResponseSchema) > 0 && !object(r.ResponseSchema) && string(r.ResponseSchema) != "null" {
		return &FieldError{Field: "response_schema", Problem: "must be an object"}
	}
	if r.CorrelationID != "" {
		if err := CheckMeta("correlation_id", r.CorrelationID); err != nil {
			return err
		}
	}
	return nil
}

// JobAccepted answers a [JobRequest]: 202 for a new job, 200 for a repeat.
type JobAccepted struct {
	JobID      string `json:"job_id"`
	Status     string `json:"status"`
	DeadlineAt string `json:"deadline_at"`
	Liveness   string `json:"liveness"`
}

// Job is the frame of a job on the stream to the assistant, and the whole answer
// to its GET /reasoning-jobs/{job_id}.
type Job struct {
	EventType       string          `json:"event_type" schema:"const=reasoning_job"`
	JobID           string          `json:"job_id"`
	Purpose         string          `json:"purpose"`
	DeadlineAt      string          `json:"deadline_at"`
	SchemaVersion   int             `json:"schema_version"`
	EnvelopeVersion int             `json:"envelope_version"`
	ResponseSchema  json.RawMessage `json:"response_schema"`
	Payload         Payload         `json:"payload"`
	ProviderKind    string          `json:"provider_kind"`
	// IdempotencyKey is always written (the job's id): public plugins take a
	// frame without it for a stub.
	IdempotencyKey string `json:"idempotency_key"`
	CorrelationID  string `json:"correlation_id,omitempty"`
	Model          string `json:"model,omitempty"`
	// Truncated marks a [JobStub]; the rest has to be fetched.
	Truncated bool `json:"_truncated,omitempty"`
}

// Stub reports whether j is not the whole job, so that it has to be fetched.
func (j *Job) Stub() bool { return j.Truncated || j.IdempotencyKey == "" }

// JobStub stands on the stream for a job whose frame exceeds [MaxInlineFrame].
type JobStub struct {
	EventType string `json:"event_type" schema:"const=reasoning_job"`
	JobID     string `json:"job_id"`
	Truncated bool   `json:"_truncated"`
}

// JobCancelledEvent tells the assistant that the desktop no longer wants a job.
type JobCancelledEvent struct {
	EventType string `json:"event_type" schema:"const=reasoning_job_cancelled"`
	JobID     string `json:"job_id"`
}

// JobState answers the desktop's GET /reasoning-jobs/{job_id}.
type JobState struct {
	JobID  string `json:"job_id"`
	Status string `json:"status"`
	// Result is the completion as the assistant posted it, null before the end
	// and after a purge.
	Result json.RawMessage `json:"result"`
}

// Completion is the body of POST /reasoning-jobs/{job_id}/complete. Under
// [DuplexV2] everything that says something about the answer is inside the sealed
// output and null out here. See docs/byo.md#completion.
type Completion struct {
	JobID         string            `json:"job_id"`
	Status        string            `json:"status" schema:"enum=completed|failed|timed_out"`
	BYOEncrypted  bool              `json:"byo_encrypted,omitempty"` // on failures of sealed jobs
	ProviderRunID *string           `json:"provider_run_id"`
	ModelRef      *string           `json:"model_ref"`
	Usage         json.RawMessage   `json:"usage"`
	Output        *CompletionOutput `json:"output"`
	ErrorCode     *string           `json:"error_code"`
	ErrorMessage  *string           `json:"error_message"`
}

// Validate names the first field of c that is wrong for the job of the path.
func (c *Completion) Validate(jobID string) error {
	if c.JobID != "" && c.JobID != jobID {
		return &FieldError{Field: "job_id", Problem: "must be that of the path"}
	}
	switch c.Status {
	case JobCompleted, JobFailed, JobTimedOut:
	default:
		return &FieldError{Field: "status", Problem: "must be completed, failed or timed_out"}
	}
	return nil
}

// CompletionOutput is the output of a completion: sealed ([Envelope] set) or the
// parsed JSON answer itself (Raw). Decoding never fails on JSON.
type CompletionOutput struct {
	BYOEncrypted bool
	Envelope     *Envelope
	Status       string          // of a sealed output: that of the completion
	Raw          json.RawMessage // as decoded; written only when Envelope is nil
}

// SealedOutput is the output around e of a completion with that status.
func SealedOutput(e Envelope, status string) *CompletionOutput {
	return &CompletionOutput{BYOEncrypted: true, Envelope: &e, Status: status}
}

// MarshalJSON implements json.Marshaler.
func (o CompletionOutput) MarshalJSON() ([]byte, error) {
	switch {
	case o.Envelope != nil:
		return json.Marshal(sealedOutput{true, *o.Envelope, o.Status})
	case len(o.Raw) > 0:
		return o.Raw, nil
	}
	return []byte("null"), nil
}

// UnmarshalJSON implements json.Unmarshaler.
func (o *CompletionOutput) UnmarshalJSON(data []byte) error {
	*o = CompletionOutput{Raw: append(json.RawMessage(nil), data...)}
	if o.BYOEncrypted, o.Envelope = unseal(data, false); o.Envelope != nil {
		var s struct {
			Status string `json:"status"`
		}
		_ = json.Unmarshal(data, &s) // a status of another kind is none
		o.Status = s.Status
	}
	return nil
}

// SchemaType says that any JSON may be a CompletionOutput.
func (CompletionOutput) SchemaType() (elem any, nullable bool) { return nil, false }

// sealedOutput is a sealed output on the wire.
type sealedOutput struct {
	BYOEncrypted bool     `json:"byo_encrypted"`
	Envelope     Envelope `json:"envelope"`
	Status       string   `json:"status"`
}

// CompletionAnswer answers a completion that was taken, now or before.
type CompletionAnswer struct {
	OK        bool `json:"ok"`
	Duplicate bool `json:"duplicate,omitempty"`
}

// JobAck is the empty body of POST /reasoning-jobs/{job_id}/ack.
type JobAck struct{}

// object reports whether data is a JSON object.
func object(data []byte) bool {
	var v map[string]json.RawMessage
	return json.Unmarshal(data, &v) == nil && v != nil
}
