package desktop

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"openclaw/byo"
	"openclaw/byo/seal"
	"openclaw/internal/relayclient"
)

// lateResult is how long after its deadline a job's end may still arrive.
const lateResult = 3 * time.Second

// Question is a reasoning job.
type Question struct {
	Purpose   string // byo.PurposeLiveAnalysis, …
	SessionID string
	Input     byo.ReasoningInput
	// Within is the time the assistant has; default by purpose.
	Within time.Duration
	// RequireLive fails at once when the assistant is not there.
	RequireLive bool
}

// Result is how a job ended.
type Result struct {
	JobID  string `json:"job_id"`
	Status string `json:"status"`
	Code   string `json:"error_code,omitempty"` // when there is no output
	byo.ReasoningOutput
	Took time.Duration `json:"took"`
}

// JobError is a job that brought no result.
type JobError struct{ Status, Code, Text string }

func (e *JobError) Error() string {
	s := "the assistant did not answer: " + e.Status
	if e.Code != "" {
		s += " (" + e.Code + ")"
	}
	if e.Text != "" {
		s += ": " + e.Text
	}
	return s
}

// Ask has an assistant reason about something and returns its result, opened and
// checked to belong to this very question. A job without one is a *[JobError].
func (d *Desk) Ask(ctx context.Context, assistantID string, q Question) (*Result, error) {
	b := d.bond(assistantID)
	if b == nil {
		return nil, fmt.Errorf("no assistant %q is paired over a relay", assistantID)
	}
	if q.Within == 0 {
		q.Within = byo.DefaultDeadline(q.Purpose)
	}
	id, err := byo.NewID(d.cfg.Rand)
	if err != nil {
		return nil, err
	}
	req, env, err := b.job(id, &q)
	if err != nil {
		return nil, err
	}
	arrived := make(chan byo.JobResult, 1)
	d.mu.Lock()
	d.jobs[id] = arrived
	d.mu.Unlock()
	defer func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		delete(d.jobs, id)
	}()
	began := time.Now()
	ctx, cancel := context.WithTimeout(ctx, q.Within+lateResult)
	defer cancel()
	err = relayclient.Retry(ctx, began.Add(q.Within), func(ctx context.Context) error {
		return b.relay.Call(ctx, http.MethodPost, b.path("/reasoning-jobs"), req, nil)
	})
	if err != nil {
		return nil, fmt.Errorf("give the job to the relay: %w", err)
	}
	status, raw, err := b.await(ctx, id, arrived)
	if err != nil {
		d.drop(b, id)
		return nil, err
	}
	r, err := b.result(req, env, status, raw)
	if r != nil {
		r.Took = time.Since(began)
	}
	d.drop(b, id)
	return r, err
}

// drop tells the relay that a job, or what it keeps of one, is no longer needed.
func (d *Desk) drop(b *bond, id string) {
	_ = d.background(func(ctx context.Context) { // a desk that ends leaves it to the relay's clock
		ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
		defer cancel()
		_ = b.relay.Call(ctx, http.MethodDelete, "/reasoning-jobs/"+id, nil, nil)
	})
}

// job seals a question.
func (b *bond) job(id string, q *Question) (*byo.JobRequest, *byo.Envelope, error) {
	req := &byo.JobRequest{JobID: id, Purpose: q.Purpose, DeadlineAt: byo.FormatTime(b.now().Add(q.Within)), SchemaVersion: byo.SchemaVersion,
		ResponseSchema: json.RawMessage("{}"), RequireLive: q.RequireLive}
	plain, err := json.Marshal(q.Input)
	if err != nil {
		return nil, nil, err
	}
	head := seal.Header{SessionID: q.SessionID, ContentType: byo.ContentReasoningInput, JobID: id, Purpose: q.Purpose, DeadlineAt: req.DeadlineAt}
	var env byo.Envelope
	switch {
	case b.duplex != nil:
		req.EnvelopeVersion = byo.EnvelopeVersion2
		env, err = b.duplex.Seal(head, plain)
	case q.Purpose == byo.PurposeCapabilityProbe: // older assistants take and answer it in clear
		req.EnvelopeVersion = byo.EnvelopeVersion1
		clear, err := json.Marshal(map[string]string{"prompt": q.Input.UserPrompt})
		req.Payload = byo.Payload{Raw: clear}
		return req, nil, err
	default:
		req.EnvelopeVersion = byo.EnvelopeVersion1
		if len(q.Input.ResponseSchema) > 0 {
			req.ResponseSchema = q.Input.ResponseSchema // they read it outside only
		}
		head.CorrelationID = id
		if head.SessionID == "" {
			head.SessionID = id
		}
		env, err = b.static.Seal(head, plain)
	}
	req.Payload = byo.SealedPayload(env)
	return req, &env, err
}

// await waits for the end of a job: the stream brings it, and a poll now and then finds
// what a broken stream missed.
func (b *bond) await(ctx context.Context, id string, arrived <-chan byo.JobResult) (status string, result json.RawMessage, err error) {
	poll := time.NewTicker(5 * time.Second)
	defer poll.Stop()
	for {
		select {
		case r := <-arrived:
			return r.Status, r.Result, nil
		case <-poll.C:
			var s byo.JobState
			err := b.relay.Call(ctx, http.MethodGet, "/reasoning-jobs/"+id, nil, &s)
			if err == nil && byo.Terminal(s.Status) {
				return s.Status, s.Result, nil
			}
			if relayclient.Gone(err) {
				return "", nil, fmt.Errorf("ask the relay for a job: %w", err)
			}
		case <-ctx.Done():
			if errors.Is(ctx.Err(), context.DeadlineExceeded) {
				return byo.JobTimedOut, nil, nil
			}
			return "", nil, ctx.Err()
		}
	}
}

// result opens the end of a job.
func (b *bond) result(req *byo.JobRequest, asked *byo.Envelope, status string, raw json.RawMessage) (*Result, error) {
	r := &Result{JobID: req.JobID, Status: status}
	var done byo.Completion
	if len(raw) > 0 && string(raw) != "null" {
		if err := json.Unmarshal(raw, &done); err != nil {
			return nil, fmt.Errorf("read the result of a job: %w", err)
		}
		if done.ErrorCode != nil {
			r.Code = *done.ErrorCode
		}
	}
	if done.Output != nil {
		if err := b.output(r, req, asked, done.Output); err != nil {
			return nil, fmt.Errorf("open the result of a job: %w", err)
		}
	}
	if status != byo.JobCompleted {
		return r, &JobError{status, r.Code, r.ErrorMessage}
	}
	if len(r.Result) == 0 {
		return r, &JobError{status, byo.FailMissingEnvelope, "the result is empty"}
	}
	return r, nil
}

func (b *bond) output(r *Result, req *byo.JobRequest, asked *byo.Envelope, out *byo.CompletionOutput) error {
	switch {
	case asked == nil: // the clear probe
		r.Result = out.Raw
		return nil
	case out.Envelope == nil:
		return errors.New("it is not sealed")
	case b.static != nil:
		plain, err := b.static.Open(*out.Envelope, byo.ContentReasoningOutput)
		r.Result = plain
		return err
	}
	plain, err := b.duplex.Open(*out.Envelope, seal.Binding{JobID: req.JobID, Purpose: req.Purpose, DeadlineAt: req.DeadlineAt,
		ContentType: byo.ContentReasoningOutput, CorrelationID: asked.MessageID})
	if err != nil {
		return err
	}
	return json.Unmarshal(plain, &r.ReasoningOutput)
}
