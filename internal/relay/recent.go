package relay

import (
	"context"
	"sync"
	"time"

	"openclaw/byo"
)

// recent holds the jobs that this node wrote a moment ago, since the next step of
// a job mostly comes right after the last one. A change that begins with such a
// job names its revision, so one that is not the newest any more is found out.
type recent struct {
	now   func() time.Time
	mu    sync.Mutex
	jobs  map[string]recentJob
	bytes int
}

type recentJob struct {
	job *job // never changed
	at  time.Time
}

const (
	recentFor   = time.Second
	recentBytes = 16 << 20
)

func newRecent(now func() time.Time) *recent {
	return &recent{now: now, jobs: map[string]recentJob{}}
}

// put remembers a job as it was written.
func (r *recent) put(j *job) {
	if j.revision == 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	key := jobKey(j.Integration, j.ID)
	r.drop(key)
	if r.bytes += len(j.Body); r.bytes > recentBytes {
		clear(r.jobs)
		r.bytes = len(j.Body)
	}
	kept := *j
	r.jobs[key] = recentJob{&kept, r.now()}
}

// get returns a copy of a job, or nil.
func (r *recent) get(integration, id string) *job {
	r.mu.Lock()
	defer r.mu.Unlock()
	e, ok := r.jobs[jobKey(integration, id)]
	if !ok || r.now().Sub(e.at) >= recentFor {
		return nil
	}
	j := *e.job
	return &j
}

// drop is called with the lock.
func (r *recent) drop(key string) {
	if e, ok := r.jobs[key]; ok {
		r.bytes -= len(e.job.Body)
		delete(r.jobs, key)
	}
}

func (r *recent) forget(integration, id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.drop(jobKey(integration, id))
}

// ended drops a job that another node has ended.
func (r *recent) ended(integration, id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if e, ok := r.jobs[jobKey(integration, id)]; ok && !byo.Terminal(e.job.State) {
		r.drop(jobKey(integration, id))
	}
}

// prune gives the memory of what is not recent any more back.
func (r *recent) prune() {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.now()
	for key, e := range r.jobs {
		if now.Sub(e.at) >= recentFor {
			r.drop(key)
		}
	}
}

// recentJob is job for whoever can do with what this node knew a moment ago: the
// writer of a frame, and the beginning of a change.
func (r *Relay) recentJob(ctx context.Context, integration, id string) (*job, error) {
	if j := r.recent.get(integration, id); j != nil && (byo.Terminal(j.State) || !r.expired(j)) {
		return j, nil
	}
	return r.job(ctx, integration, id)
}
