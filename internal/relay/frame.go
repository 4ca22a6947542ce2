package relay

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"time"

	"openclaw/byo"
	"openclaw/internal/sse"
)

// publishEvent publishes a frame that holds no content. A failure is logged: the
// state it speaks of is safe already.
func (r *Relay) publishEvent(t Topic, event, id string, v any, ttl time.Duration) {
	data, err := json.Marshal(v)
	if err != nil {
		r.log.Error("an event cannot be encoded", "event", event, "err", err)
		return
	}
	if err := r.publishRef(t, id, ref{Kind: refEvent, ID: id, Event: event, Data: data}, ttl); err != nil {
		r.log.Error("an event was not published", "event", event, "err", err)
	}
}

// publishRef is not bound to a request, whose end must not tear it.
func (r *Relay) publishRef(t Topic, id string, v ref, ttl time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = r.store.Publish(ctx, Message{Topic: t, ID: id, Data: data, TTL: ttl})
	return err
}

// frames turns references into what goes on the wire.
type frames struct {
	r    *Relay
	side Side
	id   string // of the integration or the desktop
	// duplex says that the peer knows control frames.
	duplex bool
	live   bool   // not catching up any more
	cursor uint64 // during catch-up: confirmed by the assistant; 0 later
	jobs   map[string]bool
}

// errSkip says that there is nothing to send any more.
var errSkip = errors.New("nothing to send")

// frame makes the frame of an event, or errSkip. sent is to be called when it was
// written.
func (f *frames) frame(ctx context.Context, ev Event) (out sse.Event, sent func(context.Context) error, err error) {
	v := parseRef(ev.Data)
	out = sse.Event{ID: strconv.FormatUint(ev.Seq, 10)}
	switch {
	case v.Kind == refJob && f.side == ToAssistant:
		out.Type = byo.EventReasoningJob
		out.Data, sent, err = f.job(ctx, v)
	case v.Kind == refJob:
		out.Type = byo.EventReasoningJobResult
		out.Data, err = f.result(ctx, v)
	case v.Kind == refMessage:
		var m message
		if m, _, err = read[message](ctx, f.r.store, Messages, v.ID); err == nil && (m.Done || ev.Seq <= f.cursor) {
			err = errSkip
		}
		out.Type, out.Data = m.Event, m.Data
	case v.Kind == refEvent && (f.side == ToDesktop || f.duplex):
		out.Type, out.Data = v.Event, v.Data
		if ev.Seq <= f.cursor {
			err = errSkip
		}
	default:
		err = errSkip
	}
	if errors.Is(err, ErrNotFound) {
		err = errSkip
	}
	return out, sent, err
}

// job is the frame of a job that is still open; a long one becomes a stub.
func (f *frames) job(ctx context.Context, v ref) ([]byte, func(context.Context) error, error) {
	if f.jobs != nil && f.jobs[v.ID] {
		return nil, nil, errSkip // this catch-up sent it already
	}
	j, err := f.read(ctx, v)
	if err != nil {
		return nil, nil, err
	}
	if byo.Terminal(j.State) || f.jobs == nil && v.Attempt > 1 && j.State == byo.JobAcked {
		return nil, nil, errSkip
	}
	if f.jobs != nil {
		f.jobs[v.ID] = true
	}
	data := j.Body
	if len(data) > byo.MaxInlineFrame {
		data, err = json.Marshal(byo.JobStub{EventType: byo.EventReasoningJob, JobID: j.ID, Truncated: true})
	}
	return data, func(ctx context.Context) error { return f.r.delivered(ctx, j) }, err
}

// read gets the job of an event. One that was just published is as this node or
// another one just wrote it.
func (f *frames) read(ctx context.Context, v ref) (*job, error) {
	if f.live {
		return f.r.recentJob(ctx, v.Integration, v.ID)
	}
	return f.r.job(ctx, v.Integration, v.ID)
}

// delivered notes that a job was written to a stream.
func (r *Relay) delivered(ctx context.Context, j *job) error {
	if j.State != byo.JobQueued {
		return nil
	}
	now := r.now()
	_, err := r.changeJob(ctx, j.Integration, j.ID, j, func(j *job) error {
		if j.State != byo.JobQueued {
			return errKeep
		}
		j.State, j.Sent = byo.JobDelivered, millis(now)
		return nil
	})
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	r.metrics.delivery.Observe(now.Sub(time.UnixMilli(j.Created)).Seconds())
	return err
}

// result is the frame of an ended job.
func (f *frames) result(ctx context.Context, v ref) ([]byte, error) {
	j, err := f.read(ctx, v)
	if err != nil {
		return nil, err
	}
	if !byo.Terminal(j.State) {
		return nil, errSkip
	}
	return resultFrame(j), nil
}
