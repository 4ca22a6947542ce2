package gateway

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"openclaw/protocol"
)

const (
	// healthEvery is the distance of two regular refreshes.
	healthEvery = sweepEvery
	// healthFresh is how old a snapshot must be before a mere request has it
	// refreshed in the background.
	healthFresh = 5 * time.Second
)

// health keeps the latest health snapshot, encoded. See docs/protocol.md#health.
type health struct {
	// build makes a new snapshot.
	build func(ctx context.Context) (protocol.HealthResult, error)
	// stale asks for a refresh in the background.
	stale func()

	latest  atomic.Pointer[healthSnapshot]
	refresh sync.Mutex // one build at a time
}

type healthSnapshot struct {
	payload []byte
	at      time.Time
	version int64
}

// snapshot returns the latest snapshot, nil before the first.
func (h *health) snapshot() *healthSnapshot { return h.latest.Load() }

// version is the current health version.
func (h *health) version() int64 {
	if s := h.latest.Load(); s != nil {
		return s.version
	}
	return 1
}

// cached returns a snapshot that is young enough to answer with, and has an
// older one refreshed in the background.
func (h *health) cached() (*healthSnapshot, bool) {
	s := h.latest.Load()
	if s == nil {
		return nil, false
	}
	if h.old() {
		h.stale()
	}
	return s, time.Since(s.at) < healthEvery
}

// old reports whether a request is reason enough to refresh the snapshot.
func (h *health) old() bool {
	s := h.latest.Load()
	return s == nil || time.Since(s.at) >= healthFresh
}

// renew makes a new snapshot. Callers that come while one is being made share
// it if it was begun after they came.
func (h *health) renew(ctx context.Context) (*healthSnapshot, error) {
	asked := time.Now()
	h.refresh.Lock()
	defer h.refresh.Unlock()
	old := h.latest.Load()
	if old != nil && old.at.After(asked) {
		return old, nil
	}
	at := time.Now()
	result, err := h.build(ctx)
	if err != nil {
		return nil, fmt.Errorf("check health: %w", err)
	}
	result.DurationMs = time.Since(at).Milliseconds()
	payload, err := marshal(result)
	if err != nil {
		return nil, err
	}
	s := &healthSnapshot{payload: payload, at: at, version: h.version() + 1}
	h.latest.Store(s)
	return s, nil
}
