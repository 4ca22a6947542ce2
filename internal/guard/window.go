package guard

import (
	"cmp"
	"errors"
	"sync"
	"time"
)

// What a Window refuses.
var (
	// ErrTooOften says that the peer sent too many requests in the last while.
	ErrTooOften = errors.New("too many requests")
	// ErrTooMany says that too many requests of the peer are being answered.
	ErrTooMany = errors.New("too many requests at once")
)

// Window limits the requests of each peer: how many in a while, and how many at a
// time. Set the fields before the first call; it is safe for concurrent use.
type Window struct {
	Every   time.Duration // default a minute
	Max     int           // requests of one peer in Every; default 120
	Open    int           // requests of one peer that are being answered; default 8
	Tracked int           // peers remembered; default 4096. More are refused until some are forgotten
	Now     func() time.Time

	mu    sync.Mutex
	peers map[string]*visits
}

type visits struct {
	since       time.Time
	count, open int
}

// Enter admits a request of peer; the caller calls leave when it is answered. The
// error is ErrTooOften, with the time after which it is worth another try, or
// ErrTooMany.
func (w *Window) Enter(peer string) (leave func(), retry time.Duration, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now, every := w.now(), cmp.Or(w.Every, time.Minute)
	v := w.peers[peer]
	if v == nil {
		if v = w.track(peer, now, every); v == nil {
			return nil, every, ErrTooOften
		}
	}
	if now.Sub(v.since) >= every {
		v.since, v.count = now, 0
	}
	switch {
	case v.count >= cmp.Or(w.Max, 120):
		return nil, v.since.Add(every).Sub(now), ErrTooOften
	case v.open >= cmp.Or(w.Open, 8):
		return nil, time.Second, ErrTooMany
	}
	v.count++
	v.open++
	return sync.OnceFunc(func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		v.open--
	}), 0, nil
}

// track begins to count for a peer; nil when all places are taken.
func (w *Window) track(peer string, now time.Time, every time.Duration) *visits {
	if w.peers == nil {
		w.peers = map[string]*visits{}
	}
	if len(w.peers) >= cmp.Or(w.Tracked, 4096) {
		for name, v := range w.peers {
			if v.open == 0 && now.Sub(v.since) >= every {
				delete(w.peers, name)
			}
		}
		if len(w.peers) >= cmp.Or(w.Tracked, 4096) {
			return nil
		}
	}
	v := &visits{since: now}
	w.peers[peer] = v
	return v
}

func (w *Window) now() time.Time {
	if w.Now != nil {
		return w.Now()
	}
	return time.Now()
}
