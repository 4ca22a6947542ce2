package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"openclaw/client"
	"openclaw/protocol"
)

// versionTime is the cost of a command that does nothing.
func versionTime(ctx context.Context, o options) error {
	path, err := filepath.Abs(o.bin)
	if err != nil {
		return err
	}
	var series []time.Duration
	for range o.rounds * 2 {
		began := time.Now()
		if err := exec.CommandContext(ctx, path, "--version").Run(); err != nil {
			return fmt.Errorf("run %s --version (run make build first): %w", o.bin, err)
		}
		series = append(series, time.Since(began))
	}
	report("--version, start to exit", series)
	return nil
}

// startTime is how long a client must wait after the gateway was started.
func startTime(ctx context.Context, o options) error {
	var series []time.Duration
	for range o.rounds {
		w, err := newWorld()
		if err != nil {
			return err
		}
		if err := w.start(ctx, o.bin); err != nil {
			w.close()
			return err
		}
		series = append(series, w.ready)
		err = w.stop()
		w.close()
		if err != nil {
			return fmt.Errorf("stop the gateway: %w", err)
		}
	}
	report("gateway, exec to first handshake", series)
	return nil
}

// with runs a measurement on a running gateway.
func with(ctx context.Context, o options, do func(*world) error) error {
	w, err := newWorld()
	if err != nil {
		return err
	}
	defer w.close()
	if err := w.start(ctx, o.bin); err != nil {
		return err
	}
	return errors.Join(do(w), w.stop())
}

// idleMemory is what a gateway holds that has nothing to do.
func idleMemory(ctx context.Context, o options) error {
	return with(ctx, o, func(w *world) error {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(2 * time.Second):
		}
		resident, anonymous, err := w.memory()
		if err != nil {
			return err
		}
		fmt.Printf("%-34s %.1f MiB resident, %.1f MiB of it anonymous (2 s after the start)\n", "gateway, idle memory",
			float64(resident)/1024, float64(anonymous)/1024)
		return nil
	})
}

// healthRate is how many health requests are answered in a second; the clients
// run on the same processors.
func healthRate(ctx context.Context, o options) error {
	return with(ctx, o, func(w *world) error {
		conns, err := w.dialMany(ctx, o.conns, 0)
		if err != nil {
			return err
		}
		limit, cancel := context.WithTimeout(ctx, o.duration)
		defer cancel()
		var done atomic.Int64
		var wg sync.WaitGroup
		began := time.Now()
		for _, c := range conns {
			wg.Go(func() {
				for limit.Err() == nil && c.Call(limit, protocol.MethodHealth, nil, nil) == nil {
					done.Add(1)
				}
			})
		}
		wg.Wait()
		took := time.Since(began)
		resident, _, err := w.memory()
		closeAll(conns)
		fmt.Printf("%-34s %.0f requests/s over %d connections (%.1f MiB resident)\n", "health", float64(done.Load())/took.Seconds(),
			len(conns), float64(resident)/1024)
		return err
	})
}

// runOverhead is what a run costs beyond its model: from the request to the last
// answer, without the time the model server was busy.
func runOverhead(ctx context.Context, o options) error {
	return with(ctx, o, func(w *world) error {
		c, err := w.dial(ctx, nil, 0)
		if err != nil {
			return err
		}
		defer c.Close()
		var total, own []time.Duration
		for i := range o.rounds * 10 {
			busy := w.model.busy.Load()
			began := time.Now()
			params := protocol.AgentParams{Message: "say hello", AgentID: "main", IdempotencyKey: fmt.Sprintf("bench-%d", i)}
			var res protocol.AgentResult
			if err := c.CallFinal(ctx, protocol.MethodAgent, params, &res); err != nil {
				return fmt.Errorf("run a turn: %w", err)
			}
			took := time.Since(began)
			if i < 5 {
				continue // the first ones open files and connections
			}
			total = append(total, took)
			own = append(own, took-time.Duration(w.model.busy.Load()-busy))
		}
		report("run, request to last answer", total)
		report("run, without the model server", own)
		return nil
	})
}

// fanOut streams an answer of a thousand words to many subscribers.
func fanOut(ctx context.Context, o options) error {
	return with(ctx, o, func(w *world) error {
		subs, err := w.dialMany(ctx, o.subs, 8192)
		if err != nil {
			return err
		}
		defer closeAll(subs)
		sender, err := w.dial(ctx, nil, 0)
		if err != nil {
			return err
		}
		defer sender.Close()
		var rates []float64
		for i := range 5 {
			id := fmt.Sprintf("fan-%d", i)
			var events atomic.Int64
			var wg sync.WaitGroup
			began := time.Now()
			for _, c := range subs {
				wg.Go(func() { events.Add(countRun(ctx, c, id)) })
			}
			params := protocol.AgentParams{Message: "long 1000", AgentID: "main", IdempotencyKey: id}
			if err := sender.CallFinal(ctx, protocol.MethodAgent, params, nil); err != nil {
				return fmt.Errorf("stream an answer: %w", err)
			}
			wg.Wait()
			rates = append(rates, float64(events.Load())/time.Since(began).Seconds())
		}
		slices.Sort(rates)
		fmt.Printf("%-34s median %.0f events/s to %d subscribers (1,000 words, best %.0f)\n", "streamed answer", rates[len(rates)/2], o.subs, rates[len(rates)-1])
		return nil
	})
}

// countRun counts the events of a run that a subscriber gets, up to its end.
func countRun(ctx context.Context, c *client.Client, id string) int64 {
	n := int64(0)
	for {
		e, err := c.Events().Next(ctx)
		if err != nil {
			return n
		}
		if e.Name != protocol.EventAgent {
			continue
		}
		var ev struct {
			RunID  string `json:"runId"`
			Stream string `json:"stream"`
			Data   struct {
				Phase string `json:"phase"`
			} `json:"data"`
		}
		if json.Unmarshal(e.Payload, &ev) != nil || ev.RunID != id {
			continue
		}
		n++
		if ev.Stream == protocol.StreamLifecycle && ev.Data.Phase != "start" {
			return n
		}
	}
}

func closeAll(conns []*client.Client) {
	var wg sync.WaitGroup
	for _, c := range conns {
		wg.Go(func() { _ = c.Close() })
	}
	wg.Wait()
}
