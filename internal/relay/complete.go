package relay

import (
	"encoding/json"
	"regexp"
	"strings"

	"openclaw/byo"
)

// ackJob answers POST /reasoning-jobs/{job}/ack.
func (c *call) ackJob() (answer, error) {
	if _, err := c.bond(); err != nil {
		return answer{}, err
	}
	id := c.path("job")
	j, err := c.recentJob(c.req.Context(), c.who.ID, id)
	if err != nil {
		return answer{}, err
	}
	j, err = c.changeJob(c.req.Context(), c.who.ID, id, j, func(j *job) error {
		if byo.Terminal(j.State) || j.State == byo.JobAcked {
			return errKeep
		}
		j.State = byo.JobAcked
		return nil
	})
	if err != nil {
		return answer{}, err
	}
	return noContent, gone(j)
}

// deleteJob answers DELETE /reasoning-jobs/{job}: an open job is cancelled, the
// result of an ended one is forgotten.
func (c *call) deleteJob() (answer, error) {
	ctx := c.req.Context()
	j, err := c.findJob(ctx, c.path("job"))
	if err != nil {
		return answer{}, err
	}
	if byo.Terminal(j.State) {
		c.recent.forget(j.Integration, j.ID)
		return noContent, c.store.Delete(ctx, Jobs, jobKey(j.Integration, j.ID), 0)
	}
	if j, err = c.finish(ctx, j.Integration, j.ID, j, byo.JobCancelled, nil, ""); err != nil {
		return answer{}, err
	}
	if j.State == byo.JobCancelled && j.Scheme == byo.DuplexV2 {
		c.publishEvent(Topic{ToAssistant, j.Integration}, byo.EventReasoningJobCancelled, "cancel:"+jobKey(j.Integration, j.ID),
			byo.JobCancelledEvent{EventType: byo.EventReasoningJobCancelled, JobID: j.ID}, byo.MaxDeadline)
	}
	return noContent, nil
}

// completeJob answers POST /reasoning-jobs/{job}/complete. The first completion
// wins, on whatever node it comes in.
func (c *call) completeJob() (answer, error) {
	if _, err := c.bond(); err != nil {
		return answer{}, err
	}
	ctx, id := c.req.Context(), c.path("job")
	j, err := c.recentJob(ctx, c.who.ID, id)
	if err != nil {
		return answer{}, err
	}
	data, err := c.body()
	if err != nil {
		return answer{}, err
	}
	var done byo.Completion
	if err := decodeCompletion(data, &done); err != nil {
		return answer{}, err
	}
	sum := digest(data)
	if !byo.Terminal(j.State) {
		if err := checkCompletion(j, &done); err != nil {
			return answer{}, err
		}
		if data, err = forDesktop(j, &done, data); err != nil {
			return answer{}, err
		}
		if j, err = c.finish(ctx, c.who.ID, id, j, done.Status, data, sum); err != nil {
			return answer{}, err
		}
		if j.Result == sum {
			return ok(byo.CompletionAnswer{OK: true})
		}
	}
	if j.Result == sum {
		return ok(byo.CompletionAnswer{OK: true, Duplicate: true})
	}
	if j.Result != "" {
		return answer{}, byo.Errorf(byo.CodeAlreadyCompleted, "the job has another completion")
	}
	return answer{}, gone(j)
}

// failCode is what an error code looks like: nothing that could be content.
var failCode = regexp.MustCompile(`^[a-z][a-z0-9_.-]{0,63}$`)

// checkCompletion looks at the shape of a completion only.
func checkCompletion(j *job, done *byo.Completion) error {
	if err := done.Validate(j.ID); err != nil {
		return err
	}
	if done.ErrorCode != nil && *done.ErrorCode != "" && !failCode.MatchString(*done.ErrorCode) {
		return byo.Errorf(byo.CodeInvalidRequest, "error_code must be a code")
	}
	o := done.Output
	switch {
	case j.Clear:
		return nil
	case o == nil && done.Status != byo.JobCompleted:
		return nil
	case o == nil || !o.BYOEncrypted || o.Envelope == nil:
		return errPlaintext
	}
	return byo.CheckSealed(byo.SealedPayload(*o.Envelope), byo.EnvelopeVersion(j.Scheme), j.Scheme)
}

// forDesktop is the completion as it is kept: as it was posted, on one line. Under
// duplex_v2 nothing but the envelope says anything about the answer, so texts that
// a peer leaves outside of it go no further.
func forDesktop(j *job, done *byo.Completion, data []byte) ([]byte, error) {
	if j.Scheme == byo.DuplexV2 {
		done.ModelRef, done.Usage, done.ProviderRunID, done.ErrorMessage = nil, nil, nil, nil
		data, err := completionBody(done)
		if err != nil {
			return nil, errBody
		}
		return data, nil
	}
	return compact(data)
}

// compact puts JSON on one line.
func compact(data []byte) ([]byte, error) {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(json.RawMessage(data)); err != nil {
		return nil, errBody
	}
	return []byte(strings.TrimSuffix(b.String(), "\n")), nil
}
