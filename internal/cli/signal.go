package cli

import (
	"context"
	"os"
	"os/signal"
	"sync"
	"syscall"
)

// SignalContext returns a context that the first SIGINT or SIGTERM cancels with
// cause [Interrupted]. A second signal ends the process at once. Call stop when
// the command is done; it waits for the watcher.
func SignalContext(parent context.Context) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(parent)
	signals := make(chan os.Signal, 2) // two signals are all that is ever acted on
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	done := make(chan struct{})
	var watch sync.WaitGroup
	watch.Go(func() {
		for n := 0; ; n++ {
			select {
			case sig := <-signals:
				if n > 0 {
					os.Exit(signalCode(sig))
				}
				cancel(Interrupted{sig})
			case <-done:
				return
			}
		}
	})
	return ctx, func() {
		signal.Stop(signals)
		close(done)
		watch.Wait()
		cancel(nil)
	}
}
