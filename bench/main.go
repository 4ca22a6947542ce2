package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"time"
)

// options say what to measure.
type options struct {
	bin      string
	rounds   int
	conns    int
	subs     int
	duration time.Duration
}

func main() {
	var o options
	flag.StringVar(&o.bin, "bin", "bin/openclaw", "the binary to measure")
	flag.IntVar(&o.rounds, "rounds", 15, "rounds of the start measurements")
	flag.IntVar(&o.conns, "conns", 1000, "connections for the health requests")
	flag.IntVar(&o.subs, "subs", 100, "subscribers of the streamed answer")
	flag.DurationVar(&o.duration, "duration", 5*time.Second, "length of the health measurement")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := measure(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// measure runs every measurement in turn; each prints its own lines.
func measure(ctx context.Context, o options) error {
	fmt.Printf("%s, %s/%s, %d CPUs\n", o.bin, runtime.GOOS, runtime.GOARCH, runtime.NumCPU())
	for _, step := range []func(context.Context, options) error{versionTime, startTime, idleMemory, healthRate, runOverhead, fanOut} {
		if err := step(ctx, o); err != nil {
			return err
		}
	}
	return nil
}

// report prints the median and the spread of a series.
func report(name string, series []time.Duration) {
	slices.Sort(series)
	fmt.Printf("%-34s median %8s   best %8s   worst %8s   (%d rounds)\n", name, show(median(series)),
		show(series[0]), show(series[len(series)-1]), len(series))
}

// median wants a sorted series.
func median(series []time.Duration) time.Duration { return series[len(series)/2] }

func show(d time.Duration) string { return fmt.Sprintf("%.2f ms", float64(d.Microseconds())/1000) }
