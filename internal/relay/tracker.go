package relay

import (
	"encoding/json"
	"maps"
	"slices"
	"sync"
	"time"

	"openclaw/byo"
)

// tracker is what a node knows from watching: which jobs are open, which tests
// wait, and which assistants are alive. Every node has all of it, so that any
// may sweep.
type tracker struct {
	now   func() time.Time
	mu    sync.Mutex
	last  uint64 // newest sequence number on the assistants' side
	jobs  map[string]*openJob
	count map[string]int // open jobs of an integration
	tests map[string]openTest
	lives map[string]*lifeline
}

type openJob struct {
	integration, id string
	deadline, sent  int64
	attempt         int
	acked           bool
}

type openTest struct {
	integration, desktop string
	due                  int64
}

type lifeline struct {
	sign
	told string // liveness as the desktop knows it
}

func newTracker(now func() time.Time) *tracker {
	return &tracker{now: now, jobs: map[string]*openJob{}, count: map[string]int{}, tests: map[string]openTest{}, lives: map[string]*lifeline{}}
}

// assistant sees every event to an assistant.
func (t *tracker) assistant(ev Event) {
	v := parseRef(ev.Data)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.last = max(t.last, ev.Seq)
	switch {
	case v.Kind == refJob:
		t.put(v.Integration, v.ID, v.Deadline, v.Attempt)
	case v.Kind == refMessage && v.Deadline > 0:
		t.tests[v.ID] = openTest{v.Integration, v.Desktop, v.Deadline}
	}
}

// desktop sees every event to a desktop.
func (t *tracker) desktop(ev Event) ref {
	v := parseRef(ev.Data)
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case v.Kind == refJob:
		t.remove(jobKey(v.Integration, v.ID))
	case v.Kind == refEvent && v.Event == byo.EventIntegrationTest:
		delete(t.tests, v.ID)
	}
	return v
}

// add notes a job that is about to be published.
func (t *tracker) add(j *job) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.put(j.Integration, j.ID, j.Deadline, j.Attempt)
}

// put is called with the lock.
func (t *tracker) put(integration, id string, deadline int64, attempt int) {
	key := jobKey(integration, id)
	j := t.jobs[key]
	if j == nil {
		j = &openJob{integration: integration, id: id, deadline: deadline}
		t.jobs[key] = j
		t.count[integration]++
	}
	if attempt > j.attempt {
		j.attempt, j.sent = attempt, millis(t.now())
	}
}

// remove is called with the lock.
func (t *tracker) remove(key string) {
	j := t.jobs[key]
	if j == nil {
		return
	}
	delete(t.jobs, key)
	if t.count[j.integration]--; t.count[j.integration] <= 0 {
		delete(t.count, j.integration)
	}
}

// drop forgets a job that does not exist any more.
func (t *tracker) drop(key string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.remove(key)
}

func (t *tracker) open(integration string) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.count[integration]
}

func (t *tracker) newest() uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.last
}

// openJobs lists copies of the open jobs, of one integration or of all.
func (t *tracker) openJobs(integration string) []openJob {
	t.mu.Lock()
	defer t.mu.Unlock()
	var list []openJob
	for _, j := range t.jobs {
		if integration == "" || j.integration == integration {
			list = append(list, *j)
		}
	}
	slices.SortFunc(list, func(a, b openJob) int { return int(a.deadline - b.deadline) })
	return list
}

// looked notes what the sweeper found out about a job.
func (t *tracker) looked(key string, sent int64, acked bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if j := t.jobs[key]; j != nil {
		j.sent, j.acked = sent, acked
	}
}

// dueTests takes the tests whose time is over.
func (t *tracker) dueTests(now time.Time) map[string]openTest {
	t.mu.Lock()
	defer t.mu.Unlock()
	due := map[string]openTest{}
	for key, test := range t.tests {
		if millis(now) >= test.due {
			due[key] = test
			delete(t.tests, key)
		}
	}
	return due
}

// forget drops everything about an integration.
func (t *tracker) forget(integration string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for key, j := range t.jobs {
		if j.integration == integration {
			t.remove(key)
		}
	}
	maps.DeleteFunc(t.tests, func(_ string, test openTest) bool { return test.integration == integration })
	delete(t.lives, integration)
}

// alive notes a sign of life.
func (t *tracker) alive(integration string, data []byte) {
	var s sign
	if json.Unmarshal(data, &s) != nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	l := t.lives[integration]
	if l == nil {
		l = &lifeline{told: byo.LivenessFresh}
		t.lives[integration] = l
	}
	l.sign, l.told = s, byo.LivenessFresh
}

// news reports whether a sign says something that its desktop does not know.
func (t *tracker) news(integration string, s sign) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	l := t.lives[integration]
	return l == nil || l.told != byo.LivenessFresh || l.Status != s.Status || l.Connected != s.Connected
}

// known takes over what a presence says when a node begins.
func (t *tracker) known(integration string, s sign, liveness string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.lives[integration] == nil && s.Desktop != "" {
		t.lives[integration] = &lifeline{sign: s, told: liveness}
	}
}

// faded lists the assistants whose liveness changed since the last look, and those
// whose stream was on a node that has died.
func (t *tracker) faded(now time.Time, alive func(node string) bool) map[string]sign {
	t.mu.Lock()
	defer t.mu.Unlock()
	changed := map[string]sign{}
	for id, l := range t.lives {
		liveness := livenessAt(l.At, now)
		cut := l.Connected && !alive(l.Node)
		if cut {
			l.Connected, l.Status = false, byo.HostDisconnected
		}
		if liveness != l.told || cut {
			l.told = liveness
			changed[id] = l.sign
		}
		if liveness == byo.LivenessOffline && !l.Connected {
			delete(t.lives, id)
		}
	}
	return changed
}
