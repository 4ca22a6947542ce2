package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"runtime"
	"time"
)

// options say what to measure.
type options struct {
	bin    string
	only   *regexp.Regexp
	rounds int
	// profile is a folder for profiles, empty for none.
	profile string
}

func main() {
	var o options
	var only string
	flag.StringVar(&o.bin, "bin", "bin/openclaw", "the binary to measure")
	flag.StringVar(&only, "only", "", "measure only the steps whose name matches this pattern")
	flag.IntVar(&o.rounds, "rounds", 15, "rounds of the measurements of a start")
	flag.StringVar(&o.profile, "profile", "", "write CPU and heap profiles of the gateway to this folder (needs a binary built with -tags pprof)")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	err := o.check(only)
	if err == nil {
		err = measure(ctx, &o)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func (o *options) check(only string) (err error) {
	if o.only, err = regexp.Compile(only); err != nil {
		return err
	}
	if o.rounds < 1 {
		return errors.New("-rounds must be 1 or more")
	}
	if o.profile != "" {
		err = os.MkdirAll(o.profile, 0o755)
	}
	return err
}

// step measures one thing and adds its rows to the table.
type step struct {
	name string
	do   func(context.Context, *options, *table) error
}

// steps lists every measurement, in the order of the table.
func steps() []step {
	return []step{
		{"start", startTime},
		{"commands", commandCost},
		{"idle", idleMemory},
		{"runs memory", memoryAfterRuns},
		{"handshakes", handshakeRate},
		{"health", healthRate},
		{"run", runTime},
		{"runs rate", runRate},
		{"fresh sessions", freshSessions},
		{"stream", fanOut},
		{"history", historyTime},
	}
}

// measure takes the steps in turn and prints the table as it grows.
func measure(ctx context.Context, o *options) error {
	began := time.Now()
	fmt.Printf("%s, %s/%s, %d CPUs, load %s\n\n", o.bin, runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), load())
	t := newTable(os.Stdout)
	for _, s := range steps() {
		if !o.only.MatchString(s.name) {
			continue
		}
		if err := s.do(ctx, o, t); err != nil {
			return fmt.Errorf("measure %s: %w", s.name, err)
		}
	}
	fmt.Printf("\n%s; took %s, load at the end %s\n", t.verdict(), time.Since(began).Round(time.Second), load())
	return nil
}
