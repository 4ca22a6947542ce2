package main

import (
	"context"
	"fmt"
	"os/exec"
	"syscall"
	"time"
)

// startTime is how long a client must wait after the gateway was started.
func startTime(ctx context.Context, o *options, t *table) error {
	var series []time.Duration
	for range o.rounds {
		err := with(ctx, o, "say hello", nil, func(w *world) error {
			series = append(series, w.ready)
			return nil
		})
		if err != nil {
			return err
		}
	}
	t.add(row{work: "exec until the first handshake succeeds", reference: "6.8 s, 45 s cold", target: atMost(60, "ms"), value: ms(median(series)), note: spread(series)})
	return nil
}

// commandCost is what commands need that do little.
func commandCost(ctx context.Context, o *options, t *table) error {
	return with(ctx, o, "say hello", nil, func(w *world) error {
		version, size, err := timeCommand(ctx, w, o.rounds*2, "--version")
		if err != nil {
			return err
		}
		t.add(row{work: "--version, start to exit", reference: "3.0 s, 262 MB", target: atMost(15, "ms"), value: ms(median(version)),
			note: fmt.Sprintf("%s, at most %.1f MB", spread(version), megabytes(size))})
		health, size, err := timeCommand(ctx, w, o.rounds, "health")
		if err != nil {
			return err
		}
		t.add(row{work: "health command, start to exit", reference: "6.7 s, 365 MB", target: atMost(30, "ms"), value: ms(median(health)),
			note: fmt.Sprintf("%s, at most %.1f MB", spread(health), megabytes(size))})
		return nil
	})
}

// timeCommand returns how long runs of a command took and the most memory one of
// them can have had: what the kernel tells includes this program's own size at
// the moment of the fork.
func timeCommand(ctx context.Context, w *world, rounds int, args ...string) (series []time.Duration, size int64, err error) {
	for range rounds {
		cmd := w.command(ctx, args...)
		began := time.Now()
		if err := cmd.Run(); err != nil {
			return nil, 0, fmt.Errorf("run %v: %w", args, err)
		}
		series = append(series, time.Since(began))
		size = max(size, peak(cmd))
	}
	return series, size, nil
}

func peak(cmd *exec.Cmd) int64 {
	if use, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		return use.Maxrss << 10
	}
	return 0
}

// idleMemory is what a gateway holds that has nothing to do.
func idleMemory(ctx context.Context, o *options, t *table) error {
	return with(ctx, o, "say hello", nil, func(w *world) error {
		if err := rest(ctx, 2*time.Second); err != nil {
			return err
		}
		resident, anonymous, err := w.memory()
		if err != nil {
			return err
		}
		t.add(row{work: "idle RSS", reference: "371 MB", target: atMost(30, "MB"), value: megabytes(resident), note: anon(anonymous)})
		return nil
	})
}

func anon(bytes int64) string {
	return fmt.Sprintf("%.1f MB are not the program file", megabytes(bytes))
}
