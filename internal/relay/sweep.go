package relay

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"openclaw/byo"
)

// sweeperLock is the entry that the sweeping node holds.
const sweeperLock = "sweeper"

const (
	lockFor    = 15 * time.Second
	sweepEvery = 5 * time.Second
)

// sweeper does what nobody asks for: it ends overdue jobs and tests, redelivers,
// and tells desktops whose assistant fell silent. One node sweeps at a time.
type sweeper struct {
	r        *Relay
	revision uint64 // of the lock while this node has it
}

// run sweeps until ctx ends.
func (s *sweeper) run(ctx context.Context) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for n := 0; ; n++ {
		if n%int(sweepEvery/time.Second) == 0 {
			if n > 0 {
				s.r.greet(ctx)
			}
			s.hold(ctx)
			faded := s.r.tracker.faded(s.r.now(), s.r.nodes.alive)
			if s.revision != 0 {
				s.jobs(ctx)
				for id, sign := range faded {
					s.r.publishStatus(id, sign)
				}
			}
		}
		if s.revision != 0 {
			s.tests()
		}
		s.r.recent.prune()
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// hold takes the lock or renews it.
func (s *sweeper) hold(ctx context.Context) {
	rev, err := s.r.store.Put(ctx, Locks, sweeperLock, []byte(s.r.node), s.revision)
	if errors.Is(err, ErrConflict) && s.revision != 0 { // lost, or timed out
		rev, err = s.r.store.Put(ctx, Locks, sweeperLock, []byte(s.r.node), 0)
	}
	if err != nil {
		rev = 0
		if !errors.Is(err, ErrConflict) && ctx.Err() == nil {
			s.r.log.Error("the sweeper's lock cannot be had", "err", err)
		}
	}
	s.revision = rev
}

// release gives the lock to the next one at once.
func (s *sweeper) release() {
	if s.revision == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if err := s.r.store.Delete(ctx, Locks, sweeperLock, s.revision); err != nil && !errors.Is(err, ErrConflict) {
		s.r.log.Warn("the sweeper's lock was not given back", "err", err)
	}
}

// jobs ends what is overdue and redelivers what nobody acknowledged.
func (s *sweeper) jobs(ctx context.Context) {
	now, acks := millis(s.r.now()), map[string]bool{}
	for _, open := range s.r.tracker.openJobs("") {
		var err error
		switch {
		case ctx.Err() != nil:
			return
		case now >= open.deadline:
			err = s.expire(ctx, open)
		case !open.acked && open.attempt <= byo.MaxRedeliveries && now-open.sent >= byo.AckWithin.Milliseconds():
			ack, known := acks[open.integration]
			if !known {
				ack, err = s.acknowledges(ctx, open.integration)
				acks[open.integration] = ack
			}
			if ack {
				err = s.redeliver(ctx, open)
			}
		}
		if err != nil && ctx.Err() == nil {
			s.r.log.Error("a job was not swept", "integration", open.integration, "job", open.id, "err", err)
		}
	}
}

// expire ends an overdue job. One that has ended is here only because the word
// of its end got lost, so it is said again.
func (s *sweeper) expire(ctx context.Context, open openJob) error {
	j, err := s.r.finish(ctx, open.integration, open.id, nil, byo.JobTimedOut, nil, "")
	if errors.Is(err, ErrNotFound) {
		s.r.tracker.drop(jobKey(open.integration, open.id))
		return nil
	}
	if err != nil {
		return err
	}
	return s.r.publishResult(ctx, j)
}

// acknowledges reports whether an assistant said that it acknowledges jobs, and has
// a stream; without one the next stream brings every job again.
func (s *sweeper) acknowledges(ctx context.Context, integration string) (bool, error) {
	p, err := s.r.presence(ctx, integration)
	return p.SupportsAck && s.r.connected(p), err
}

// redeliver publishes a job again that its assistant did not acknowledge for a
// while.
func (s *sweeper) redeliver(ctx context.Context, open openJob) error {
	key := jobKey(open.integration, open.id)
	now := millis(s.r.now())
	again := false
	j, err := s.r.changeJob(ctx, open.integration, open.id, nil, func(j *job) error {
		again = j.State == byo.JobDelivered && now-j.Sent >= byo.AckWithin.Milliseconds()
		if !again {
			return errKeep
		}
		j.Attempt++
		j.Sent = now
		return nil
	})
	if errors.Is(err, ErrNotFound) {
		s.r.tracker.drop(key)
		return nil
	}
	if err != nil {
		return err
	}
	s.r.tracker.looked(key, j.Sent, j.State != byo.JobDelivered && j.State != byo.JobQueued)
	if !again {
		return nil
	}
	s.r.metrics.redelivered.Inc()
	return s.r.publishJob(ctx, j)
}

// tests ends the connectivity tests that nobody answered.
func (s *sweeper) tests() {
	for key, test := range s.r.tracker.dueTests(s.r.now()) {
		s.r.endTest(test.integration, test.desktop, key, false, 0)
	}
}

// recover learns which jobs are open from what the topics hold, and which
// assistants are there.
func (r *Relay) recover(ctx context.Context) {
	if list, err := r.store.List(ctx, Presences, ""); err == nil {
		for _, e := range list {
			var p presence
			if json.Unmarshal(e.Value, &p) == nil {
				r.tracker.known(e.Key, r.sign(p), r.liveness(p.life()))
			}
		}
	}
	jobs := map[string]Event{}
	err := r.broker.Replay(ctx, Topic{Side: ToAssistant}, 0, func(ev Event) error {
		if v := parseRef(ev.Data); v.Kind == refJob {
			jobs[jobKey(v.Integration, v.ID)] = ev
		}
		return ctx.Err()
	})
	for key, ev := range jobs {
		if e, err := r.store.Get(ctx, Jobs, key); err == nil {
			if j, err := decodeJob(e.Value); err == nil && !byo.Terminal(j.State) {
				r.tracker.assistant(ev)
			}
		}
	}
	if err != nil && ctx.Err() == nil {
		r.log.Error("open jobs are not known", "err", err)
	}
}
