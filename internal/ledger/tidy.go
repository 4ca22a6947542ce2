package ledger

import (
	"context"
	"time"
)

const (
	// lag is how long an end may wait for its sync when no acceptance comes along
	// to share one.
	lag = time.Second
	// tidyEvery is how often the past is looked at when nothing happens.
	tidyEvery = time.Minute
	// fileLimit is the size from which a file is worth replacing by a smaller one.
	fileLimit = 4 << 20
)

// Run keeps the ledger durable and small until ctx ends, then returns nil.
func (l *Ledger) Run(ctx context.Context) error {
	if l == nil {
		<-ctx.Done()
		return nil
	}
	tick := time.NewTicker(tidyEvery)
	defer tick.Stop()
	wait := time.NewTimer(lag)
	defer wait.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		case <-l.wake:
			wait.Reset(lag) // what comes meanwhile is done along with it
			select {
			case <-ctx.Done():
				return nil
			case <-wait.C:
			}
		}
		l.tidy()
	}
}

// tidy syncs the ends that were not synced by anybody else, and replaces the
// file when too little of it still counts.
func (l *Ledger) tidy() {
	l.tidying <- struct{}{}
	defer func() { <-l.tidying }()
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return
	}
	mark := l.unsynced
	l.trim()
	l.mu.Unlock()
	if err := l.journal.Sync(mark); err != nil {
		l.log.Error("run ledger not synced", "err", err)
		l.distrust()
	}
	if !l.due() {
		return
	}
	if err := l.renew(); err != nil {
		l.log.Error("run ledger not renewed", "err", err)
	}
}

// distrust makes the next tidying begin a new file, because something that is
// known here may not be in the present one.
func (l *Ledger) distrust() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.broken = true
}

// full reports whether the file has outgrown what it began with.
func full(size, base int64) bool { return size > max(fileLimit, 2*base) }

// due reports whether the file should be replaced; the caller holds tidying.
func (l *Ledger) due() bool {
	size := l.journal.Size()
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.broken:
		return true
	case size == 0:
		return false
	case len(l.byRef) == 0:
		return true // no word of anybody stays longer than it must
	}
	return full(size, l.baseSize) || l.forgotten && l.now().Sub(l.begun) > Retention
}

// renew begins a new file with what counts and removes the ones before. Others
// write on meanwhile. After an error the old ones stay until the next try. The
// caller holds tidying.
func (l *Ledger) renew() error {
	l.mu.Lock()
	l.broken, l.forgotten = false, false
	l.mu.Unlock()
	was := l.journal.Path()
	err := l.journal.Rotate(l.nextFile(), l.header())
	l.old = append(l.old, was)
	if err == nil {
		err = l.carry(l.old)
	}
	if err == nil {
		err = removeFiles(l.old)
	}
	if err != nil {
		l.distrust()
		return err
	}
	l.old = nil
	l.mu.Lock()
	defer l.mu.Unlock()
	l.baseSize, l.begun = l.journal.Size(), l.now()
	return nil
}
