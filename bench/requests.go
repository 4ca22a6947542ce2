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

const period = 3 * time.Second // of measurements that count

// handshakeRate is how many connections can be opened in a second, each from the
// TCP connect to hello-ok.
func handshakeRate(ctx context.Context, o *options, t *table) error {
	const workers = 10
	return with(ctx, o, "say hello", nil, func(w *world) error {
		finish, err := w.watch(o, "handshakes")
		if err != nil {
			return err
		}
		limit, cancel := context.WithTimeout(ctx, period)
		defer cancel()
		var done atomic.Int64
		errs := make([]error, workers)
		var wg sync.WaitGroup
		for k := range workers {
			wg.Go(func() {
				for limit.Err() == nil && errs[k] == nil {
					var s *socket
					if s, errs[k] = w.open(16 << 10); errs[k] == nil {
						done.Add(1)
						errs[k] = s.Close()
					}
				}
			})
		}
		wg.Wait()
		used, took, err := finish()
		if err = errors.Join(err, errors.Join(errs...)); err != nil {
			return err
		}
		t.add(row{work: "handshakes over 10 workers", reference: "150–295 /s", target: atLeast(3000, "/s"),
			value: float64(done.Load()) / took.Seconds(), note: each(used, done.Load(), "handshake")})
		return nil
	})
}

// each says what one of n things cost.
func each(used time.Duration, n int64, what string) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("%.1f µs for each %s", float64(used.Microseconds())/float64(n), what)
}

// healthRate is how many health requests are answered in a second, one at a time
// on each connection, and what many connections weigh.
func healthRate(ctx context.Context, o *options, t *table) error {
	for _, c := range []struct {
		conns     int
		reference string
		target    float64
	}{{1, "3–7 k/s", 10_000}, {100, "0.2–0.7 k/s", 20_000}, {1000, "46 /s", 20_000}} {
		err := with(ctx, o, "say hello", nil, func(w *world) error {
			conns, err := w.openMany(c.conns, 4<<10)
			if err != nil {
				return err
			}
			defer closeAll(conns)
			if c.conns == 1000 {
				if err := connMemory(ctx, w, t, "RSS with 1,000 connections"); err != nil {
					return err
				}
			}
			finish, err := w.watch(o, fmt.Sprintf("health-%d", c.conns))
			if err != nil {
				return err
			}
			n, err := flood(ctx, conns)
			used, took, ferr := finish()
			if err = errors.Join(err, ferr); err != nil {
				return err
			}
			t.add(row{work: fmt.Sprintf("health requests over %s", plural(c.conns, "connection")), reference: c.reference, target: atLeast(c.target, "/s"),
				value: float64(n) / took.Seconds(), note: each(used, n, "request")})
			if c.conns < 1000 {
				return nil
			}
			return connMemory(ctx, w, t, "RSS with 1,000 connections after that traffic")
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return number(float64(n)) + " " + noun + "s"
}

func connMemory(ctx context.Context, w *world, t *table, work string) error {
	if err := rest(ctx, time.Second); err != nil {
		return err
	}
	resident, anonymous, err := w.memory()
	if err == nil {
		t.add(row{work: work, reference: "401 MB", target: atMost(64, "MB"), value: megabytes(resident), note: anon(anonymous)})
	}
	return err
}

// flood asks for the health on every connection until time is up. A worker has
// some of the connections: it asks on all of them and then collects the answers,
// so a request is under way on each while the client itself needs few switches.
func flood(ctx context.Context, conns []*socket) (int64, error) {
	limit, cancel := context.WithTimeout(ctx, period)
	defer cancel()
	req := request("h", protocol.MethodHealth, nil)
	workers := min(len(conns), 20)
	errs := make([]error, workers)
	var done atomic.Int64
	var wg sync.WaitGroup
	for k := range workers {
		wg.Go(func() {
			for limit.Err() == nil {
				for i := k; i < len(conns); i += workers {
					if _, err := conns[i].Write(req); err != nil {
						errs[k] = err
						return
					}
				}
				for i := k; i < len(conns); i += workers {
					if _, err := conns[i].response(); err != nil {
						errs[k] = err
						return
					}
					done.Add(1)
				}
			}
		})
	}
	wg.Wait()
	return done.Load(), errors.Join(errs...)
}
