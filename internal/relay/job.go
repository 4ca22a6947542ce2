package relay

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"time"

	"openclaw/byo"
)

// createJob answers POST /integrations/{id}/reasoning-jobs.
func (c *call) createJob() (answer, error) {
	b, err := c.bond()
	if err != nil {
		return answer{}, err
	}
	data, err := c.body()
	if err != nil {
		return answer{}, err
	}
	var req byo.JobRequest
	if err := decodeRequest(data, &req); err != nil {
		return answer{}, err
	}
	ctx, now := c.req.Context(), c.now()
	sum := digest(data)
	if err := req.Validate(now); err != nil { // a repeat is judged by what it repeats
		if j, known := c.job(ctx, b.ID, req.JobID); known == nil {
			return c.repeatJob(ctx, b, j, sum)
		}
		return answer{}, err
	}
	unsealed := b.Scheme == byo.StaticV1 && req.Purpose == byo.PurposeCapabilityProbe && !req.Payload.Sealed()
	if !unsealed {
		if err := byo.CheckSealed(req.Payload, req.EnvelopeVersion, b.Scheme); err != nil {
			return answer{}, err
		}
	}
	live, err := c.admit(ctx, b.ID, req.RequireLive)
	if err != nil { // what was taken before is not refused now
		if j, known := c.job(ctx, b.ID, req.JobID); known == nil {
			return c.repeatJob(ctx, b, j, sum)
		}
		return answer{}, err
	}
	j, err := newJob(b, &req, sum, unsealed, now)
	if err != nil {
		return answer{}, err
	}
	if err := c.storeJob(ctx, j); errors.Is(err, ErrConflict) {
		if j, err = c.job(ctx, b.ID, req.JobID); err == nil {
			return c.repeatJob(ctx, b, j, sum)
		}
		return answer{}, err
	} else if err != nil {
		return answer{}, err
	}
	c.metrics.jobs.WithLabelValues(j.Purpose, byo.JobQueued).Inc()
	return answer{http.StatusAccepted, byo.JobAccepted{JobID: j.ID, Status: j.State, DeadlineAt: j.DeadlineAt, Liveness: live}}, nil
}

// repeatJob answers the creation of a job that is there already.
func (c *call) repeatJob(ctx context.Context, b bond, j *job, sum string) (answer, error) {
	if j.Digest != sum {
		return answer{}, byo.Errorf(byo.CodeJobConflict, "another job has this id")
	}
	if j.State == byo.JobQueued { // the first try may have ended before this
		if err := c.publishJob(ctx, j); err != nil {
			return answer{}, err
		}
	}
	live, err := c.isLive(ctx, b.ID)
	if err != nil {
		return answer{}, err
	}
	return ok(byo.JobAccepted{JobID: j.ID, Status: j.State, DeadlineAt: j.DeadlineAt, Liveness: live})
}

// admit applies the limits on new jobs and returns the assistant's liveness.
func (c *call) admit(ctx context.Context, integration string, mustLive bool) (live string, err error) {
	if live, err = c.isLive(ctx, integration); err != nil {
		return "", err
	}
	if mustLive && live != byo.LivenessFresh {
		return "", byo.Errorf(byo.CodeAssistantOffline, "the assistant is not reachable now")
	}
	if c.tracker.open(integration) >= c.cfg.OpenJobs {
		return "", limited(byo.CodeTooManyOpenJobs, "too many jobs are open", time.Second)
	}
	perNode := max(c.cfg.JobsPerMinute/c.nodes.count(), 1)
	if wait := c.limits.take("job "+integration, perNode, time.Minute); wait > 0 {
		return "", limited(byo.CodeRateLimited, "too many jobs in a minute", wait)
	}
	return live, nil
}

// newJob makes the record, whose body is the frame as the assistant gets it.
func newJob(b bond, req *byo.JobRequest, sum string, unsealed bool, now time.Time) (*job, error) {
	frame, err := jobFrame(b, req)
	if err != nil {
		return nil, errBody
	}
	deadline, err := byo.ParseTime(req.DeadlineAt)
	if err != nil {
		return nil, err
	}
	return &job{
		ID: req.JobID, Integration: b.ID, Desktop: b.Desktop, State: byo.JobQueued, Purpose: req.Purpose,
		DeadlineAt: req.DeadlineAt, Deadline: millis(deadline), Scheme: b.Scheme, Clear: unsealed, Digest: sum,
		Created: millis(now), Attempt: 1, Body: frame,
	}, nil
}

// storeJob makes a job exist, then known.
func (r *Relay) storeJob(ctx context.Context, j *job) error {
	data, err := j.encode()
	if err != nil {
		return err
	}
	if j.revision, err = r.store.Put(ctx, Jobs, jobKey(j.Integration, j.ID), data, 0); err != nil {
		return err
	}
	r.recent.put(j)
	r.tracker.add(j)
	return r.publishJob(ctx, j)
}

// publishJob puts the job into its assistant's topic; a repeat of an attempt
// counts once.
func (r *Relay) publishJob(ctx context.Context, j *job) error {
	data, err := json.Marshal(ref{
		Kind: refJob, Integration: j.Integration, ID: j.ID, Desktop: j.Desktop, Deadline: j.Deadline, Attempt: j.Attempt,
	})
	if err != nil {
		return err
	}
	ctx, cancel := steady(ctx)
	defer cancel()
	_, err = r.store.Publish(ctx, Message{
		Topic: Topic{ToAssistant, j.Integration}, ID: "job:" + jobKey(j.Integration, j.ID) + ":" + strconv.Itoa(j.Attempt),
		Data: data, TTL: time.UnixMilli(j.Deadline).Sub(r.now()) + time.Minute,
	})
	return err
}

// steady is for the second half of a step, whose first half must not stand alone
// because a caller left.
func steady(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
}

// job reads a job and lets it expire when its deadline has passed.
func (r *Relay) job(ctx context.Context, integration, id string) (*job, error) {
	if byo.CheckUUID("job_id", id) != nil {
		return nil, ErrNotFound
	}
	e, err := r.store.Get(ctx, Jobs, jobKey(integration, id))
	if err != nil {
		return nil, err
	}
	j, err := decodeJob(e.Value)
	if err != nil {
		return nil, err
	}
	j.revision = e.Revision
	if !byo.Terminal(j.State) && r.expired(j) {
		if j, err = r.finish(ctx, integration, id, j, byo.JobTimedOut, nil, ""); err != nil {
			return nil, err
		}
		return j, nil
	}
	return j, nil
}

func (r *Relay) expired(j *job) bool { return millis(r.now()) >= j.Deadline }

// changeJob lets fn change a job until nobody came between; see change. It begins
// with what the caller has read, if anything.
func (r *Relay) changeJob(ctx context.Context, integration, id string, have *job, fn func(*job) error) (*job, error) {
	for range casTries {
		j := have
		if j == nil || j.revision == 0 {
			e, err := r.store.Get(ctx, Jobs, jobKey(integration, id))
			if err != nil {
				return nil, err
			}
			if j, err = decodeJob(e.Value); err != nil {
				return nil, err
			}
			j.revision = e.Revision
		}
		have = nil
		if err := fn(j); errors.Is(err, errKeep) {
			return j, nil
		} else if err != nil {
			return j, err
		}
		data, err := j.encode()
		if err != nil {
			return nil, err
		}
		rev, err := r.store.Put(ctx, Jobs, jobKey(integration, id), data, j.revision)
		if j.revision = rev; err == nil {
			r.recent.put(j)
			return j, nil
		} else if !errors.Is(err, ErrConflict) {
			return nil, err
		}
	}
	return nil, ErrConflict
}

// errEnded says that a job has ended otherwise.
var errEnded = errors.New("the job has ended")

// finish ends a job that is open and tells its desktop. When it has ended already
// it is returned as it is.
func (r *Relay) finish(ctx context.Context, integration, id string, have *job, state string, result []byte, sum string) (*job, error) {
	j, err := r.changeJob(ctx, integration, id, have, func(j *job) error {
		if byo.Terminal(j.State) {
			return errEnded
		}
		if state != byo.JobCancelled && state != byo.JobTimedOut && r.expired(j) {
			state, result, sum = byo.JobTimedOut, nil, ""
		}
		j.State, j.Body, j.Result = state, result, sum
		return nil
	})
	if errors.Is(err, errEnded) {
		return j, nil
	}
	if err != nil {
		return nil, err
	}
	r.metrics.finished(j, r.now())
	return j, r.publishResult(ctx, j)
}

// publishResult tells the desktop, and every node, that a job has ended.
func (r *Relay) publishResult(ctx context.Context, j *job) error {
	data, err := json.Marshal(ref{Kind: refJob, Integration: j.Integration, ID: j.ID})
	if err != nil {
		return err
	}
	ctx, cancel := steady(ctx)
	defer cancel()
	_, err = r.store.Publish(ctx, Message{
		Topic: Topic{ToDesktop, j.Desktop}, ID: "result:" + jobKey(j.Integration, j.ID), Data: data, TTL: byo.ResultsFor,
	})
	return err
}

// getJob answers GET /reasoning-jobs/{job}: the frame for the assistant, the
// state for the desktop.
func (c *call) getJob() (answer, error) {
	if c.who.Kind == kindDesktop {
		return c.waitJob()
	}
	if _, err := c.bond(); err != nil {
		return answer{}, err
	}
	j, err := c.job(c.req.Context(), c.who.ID, c.path("job"))
	if err != nil {
		return answer{}, err
	}
	if err := gone(j); err != nil {
		return answer{}, err
	}
	return ok(json.RawMessage(j.Body))
}

// gone is what a job that has ended answers to its assistant.
func gone(j *job) error {
	switch j.State {
	case byo.JobCompleted, byo.JobFailed:
		return byo.Errorf(byo.CodeAlreadyCompleted, "the job has a result")
	case byo.JobTimedOut:
		return byo.Errorf(byo.CodeJobExpired, "the deadline of the job has passed")
	case byo.JobCancelled:
		return byo.Errorf(byo.CodeJobCancelled, "the desktop cancelled the job")
	}
	return nil
}

// findJob looks for a job among the integrations of a desktop.
func (c *call) findJob(ctx context.Context, id string) (*job, error) {
	if byo.CheckUUID("job_id", id) != nil {
		return nil, ErrNotFound
	}
	d, _, err := read[desktop](ctx, c.store, Desktops, c.who.ID)
	if err != nil {
		return nil, err
	}
	for _, integration := range slices.Backward(d.Integrations) {
		j, err := c.job(ctx, integration, id)
		if !errors.Is(err, ErrNotFound) {
			return j, err
		}
	}
	return nil, ErrNotFound
}

// waitJob answers a desktop, after its job's end if it wants to wait for that.
func (c *call) waitJob() (answer, error) {
	ctx, id := c.req.Context(), c.path("job")
	wait := time.Duration(0)
	if text := c.req.URL.Query().Get("wait_ms"); text != "" {
		ms, err := strconv.ParseInt(text, 10, 64)
		if err != nil || ms < 0 || ms > byo.MaxWait.Milliseconds() {
			return answer{}, byo.Errorf(byo.CodeInvalidRequest, "wait_ms must be 0 to %d", byo.MaxWait.Milliseconds())
		}
		wait = time.Duration(ms) * time.Millisecond
	}
	ended := make(chan struct{}, 1)
	if wait > 0 { // listen first, look then
		defer c.broker.Subscribe(Topic{ToDesktop, c.who.ID}, func(ev Event) {
			if v := parseRef(ev.Data); v.Kind == refJob && v.ID == id {
				select {
				case ended <- struct{}{}:
				default:
				}
			}
		})()
	}
	j, err := c.findJob(ctx, id)
	if err != nil {
		return answer{}, err
	}
	if wait > 0 && !byo.Terminal(j.State) {
		timer := time.NewTimer(min(wait, max(time.UnixMilli(j.Deadline).Sub(c.now()), time.Millisecond)))
		defer timer.Stop()
		select {
		case <-ended:
		case <-timer.C:
		case <-c.hub.closing:
		case <-ctx.Done():
			return answer{}, ctx.Err()
		}
		if j, err = c.job(ctx, j.Integration, id); err != nil {
			return answer{}, err
		}
	}
	return ok(byo.JobState{JobID: j.ID, Status: j.State, Result: j.result()})
}

// result is the completion, null when there is none.
func (j *job) result() json.RawMessage {
	if byo.Terminal(j.State) && len(j.Body) > 0 {
		return j.Body
	}
	return json.RawMessage("null")
}

func parseRef(data []byte) (v ref) {
	_ = json.Unmarshal(data, &v) // what is none has no kind
	return v
}
