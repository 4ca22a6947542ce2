package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"openclaw/protocol"
)

// turn runs one turn in a session and returns how long after the request it was
// accepted and answered.
func (s *socket) turn(id, key string) (accepted, final time.Duration, err error) {
	req := request(id, protocol.MethodAgent, protocol.AgentParams{Message: "say hello", SessionKey: key, IdempotencyKey: id})
	began := time.Now()
	if _, err = s.ask(req); err != nil {
		return 0, 0, err
	}
	accepted = time.Since(began)
	_, err = s.response()
	return accepted, time.Since(began), err
}

// runTime is what a run costs when the model costs nothing.
func runTime(ctx context.Context, o *options, t *table) error {
	const warm, n = 10, 200
	return with(ctx, o, "say hello", nil, func(w *world) error {
		s, err := w.open(64 << 10)
		if err != nil {
			return err
		}
		defer s.Close()
		var finish func() (time.Duration, time.Duration, error)
		var work, whole []time.Duration
		for i := range warm + n {
			if i == warm { // the first ones open files and connections
				if finish, err = w.watch(o, "run"); err != nil {
					return err
				}
			}
			accepted, final, err := s.turn(fmt.Sprintf("run-%d", i), "agent:main:main")
			if err != nil {
				return err
			}
			if i >= warm {
				work, whole = append(work, final-accepted), append(whole, final)
			}
		}
		used, _, err := finish()
		if err != nil {
			return err
		}
		t.add(row{work: "run in the same session, accept to final p50", reference: "58 ms", target: atMost(5, "ms"), value: ms(median(work)),
			note: each(used, n, "run") + ", " + spread(work)})
		t.add(row{work: "the same, request to final", target: limit{unit: "ms"}, value: ms(median(whole)), note: spread(whole)})
		return nil
	})
}

// runRate is how many runs end in a second over some sessions, each with a client
// of its own that sends the next message when it has the answer, and sees what
// happens in all the others.
func runRate(ctx context.Context, o *options, t *table) error {
	for _, c := range []struct {
		sessions, runs int
		reference      string
		target         float64
	}{{1, 400, "13 /s", 150}, {10, 1000, "8 /s", 300}, {50, 1500, "3 /s, ⅓ refused", 300}} {
		err := with(ctx, o, "say hello", nil, func(w *world) error {
			conns, err := w.openMany(c.sessions, 64<<10)
			if err != nil {
				return err
			}
			defer closeAll(conns)
			finish, err := w.watch(o, fmt.Sprintf("runs-%d", c.sessions))
			if err != nil {
				return err
			}
			refused, err := runAll(conns, c.runs)
			used, took, ferr := finish()
			if err = errors.Join(err, ferr); err != nil {
				return err
			}
			t.add(row{work: "runs over " + plural(c.sessions, "session"), reference: c.reference, target: atLeast(c.target, "/s"),
				value: float64(c.runs) / took.Seconds(), note: fmt.Sprintf("%d refused, %s", refused, each(used, int64(c.runs), "run"))})
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// runAll shares n runs among the connections and returns how many were refused.
func runAll(conns []*socket, n int) (refused int64, err error) {
	var left, bad atomic.Int64
	left.Store(int64(n))
	errs := make([]error, len(conns))
	var wg sync.WaitGroup
	for k, s := range conns {
		wg.Go(func() {
			for i := 0; left.Add(-1) >= 0; i++ {
				_, _, err := s.turn(fmt.Sprintf("r-%d-%d", k, i), fmt.Sprintf("agent:main:s%d", k))
				switch {
				case errors.Is(err, errRefused):
					bad.Add(1)
				case err != nil:
					errs[k] = err
					return
				}
			}
		})
	}
	wg.Wait()
	return bad.Load(), errors.Join(errs...)
}

// memoryAfterRuns is what the gateway holds after a thousand runs.
func memoryAfterRuns(ctx context.Context, o *options, t *table) error {
	return with(ctx, o, "say hello", nil, func(w *world) error {
		conns, err := w.openMany(20, 64<<10)
		if err != nil {
			return err
		}
		if refused, err := runAll(conns, 1000); err != nil || refused > 0 {
			return errors.Join(fmt.Errorf("%d of 1,000 runs refused", refused), err)
		}
		closeAll(conns)
		if err := errors.Join(rest(ctx, 2*time.Second), w.heap(o, "runs-memory")); err != nil {
			return err
		}
		resident, anonymous, err := w.memory()
		if err == nil {
			t.add(row{work: "RSS after 1,000 runs in 20 sessions", reference: "589–914 MB", target: atMost(45, "MB"), value: megabytes(resident), note: anon(anonymous)})
		}
		return err
	})
}

// freshSessions is a run in a new session when many exist. The target is the cost
// without any, and a third for the noise of the machine.
func freshSessions(ctx context.Context, o *options, t *table) error {
	const n = 60
	var alone float64
	for _, c := range []struct {
		sessions  int
		reference string
	}{{0, ""}, {200, "1,079 ms"}, {5000, ""}} {
		err := with(ctx, o, "say hello", func(w *world) error { return w.fillSessions(ctx, c.sessions) }, func(w *world) error {
			s, err := w.open(64 << 10)
			if err != nil {
				return err
			}
			defer s.Close()
			finish, err := w.watch(o, fmt.Sprintf("fresh-%d", c.sessions))
			if err != nil {
				return err
			}
			var series []time.Duration
			for i := range n {
				_, final, err := s.turn(fmt.Sprintf("fresh-%d", i), fmt.Sprintf("agent:main:fresh-%d", i))
				if err != nil {
					return err
				}
				series = append(series, final)
			}
			used, _, err := finish()
			if err != nil {
				return err
			}
			r := row{work: fmt.Sprintf("run in a fresh session when %s exist", plural(c.sessions, "session")), reference: c.reference,
				target: limit{unit: "ms"}, value: ms(median(series)), note: each(used, n, "run") + ", " + spread(series)}
			if c.sessions == 0 {
				alone = r.value
			} else {
				r.target = atMost(alone*4/3, "ms")
			}
			t.add(r)
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}
