package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"time"

	"openclaw/internal/disk"
)

// foldTimeout bounds the fold of a shutdown.
const foldTimeout = 15 * time.Second

// Run folds changes into sessions.json: about a second after the last one, and
// while changes go on every few seconds. It returns nil when ctx ends, after a
// last fold. Without Run the folding is left to Close.
func (s *Store) Run(ctx context.Context) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	<-timer.C
	for {
		select {
		case <-ctx.Done():
			return s.lastFold(ctx)
		case <-s.wake:
		}
		for {
			wait := s.untilFold()
			if wait <= 0 {
				break
			}
			timer.Reset(wait)
			select {
			case <-ctx.Done():
				return s.lastFold(ctx)
			case <-timer.C:
			}
		}
		if err := s.fold(ctx); err != nil && ctx.Err() == nil {
			s.log.Warn("session index not written; its changes stay in the journal", "path", s.path, "err", err)
		}
	}
}

// lastFold is the fold of a shutdown, which a cancelled ctx must not stop.
func (s *Store) lastFold(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), foldTimeout)
	defer cancel()
	if err := s.fold(ctx); err != nil {
		s.log.Warn("session index not written; its changes stay in the journal", "path", s.path, "err", err)
	}
	return nil
}

// untilFold is the time until the next fold is due.
func (s *Store) untilFold() time.Duration {
	idle, patience := s.waits()
	now := s.now()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.firstDirty.IsZero() || s.journaled > journalLimit {
		return 0
	}
	return min(s.lastDirty.Add(idle).Sub(now), s.firstDirty.Add(patience).Sub(now))
}

// Close folds what is left and releases the journal. Later changes fail with
// [ErrClosed]; reading still works.
func (s *Store) Close() error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), foldTimeout)
	defer cancel()
	err := s.fold(ctx)
	s.flushing <- struct{}{}
	defer release(s.flushing)
	if err != nil {
		s.sealJournal() // the next process replays it
		err = fmt.Errorf("close sessions of %s: %w", s.cfg.AgentID, err)
	}
	if s.owner != nil {
		s.owned.Store(false)
		err = errors.Join(err, s.owner.Unlock())
		s.owner = nil
	}
	return err
}

// fold writes all changes into sessions.json and removes the journals that hold
// them.
func (s *Store) fold(ctx context.Context) error {
	if err := acquire(ctx, s.folding); err != nil {
		return err
	}
	defer release(s.folding)
	sealed, owned, err := s.beginFold(ctx)
	if err != nil {
		return err
	}
	err = s.writeIndex(ctx)
	s.flushing <- struct{}{}
	defer release(s.flushing)
	switch {
	case err != nil:
		s.sealed = append(sealed, s.sealed...)
		s.mu.Lock()
		s.markDirty() // Run tries again
		s.mu.Unlock()
	case owned:
		s.removeJournals(sealed)
	}
	return err
}

// beginFold starts a new journal file, so that changes go on during the fold,
// and returns the files that will be superfluous after it.
func (s *Store) beginFold(ctx context.Context) (sealed []string, owned bool, err error) {
	s.mu.Lock()
	clean := s.firstDirty.IsZero()
	s.mu.Unlock()
	if !clean {
		if _, err := s.own(ctx); err != nil {
			return nil, false, err
		}
	}
	if err := acquire(ctx, s.flushing); err != nil {
		return nil, false, err
	}
	defer release(s.flushing)
	s.sealJournal()
	sealed, s.sealed = s.sealed, nil
	s.mu.Lock()
	s.firstDirty, s.journaled = time.Time{}, 0
	s.mu.Unlock()
	return sealed, s.owner != nil, nil
}

// writeIndex puts our changes into sessions.json under the lock that other
// programs take too.
func (s *Store) writeIndex(ctx context.Context) error {
	if !s.pending() {
		return nil
	}
	lock, err := disk.Lock(ctx, s.path+".lock", disk.LockOptions{
		Content: func() []byte { return lockContent("startedAt", strconv.FormatInt(s.now().UnixMilli(), 10)) },
		Stale:   func(_ []byte, age time.Duration) bool { return age > 30*time.Second },
		Poll:    25 * time.Millisecond,
		Timeout: 10 * time.Second,
	})
	if err != nil {
		return err
	}
	defer func() {
		if err := lock.Unlock(); err != nil {
			s.log.Warn("session index lock not released", "err", err)
		}
	}()
	if err := s.refresh(); err != nil {
		return err
	}
	w := &indexWriter{s: s, places: map[string]place{}}
	w.recs, w.base, w.irregular = s.snapshot()
	if err := disk.Replace(s.path, 0o600, w.write); err != nil {
		return err
	}
	info, err := os.Stat(s.path)
	if err != nil {
		return err
	}
	st := stampOf(info)
	if st.size != w.off {
		st = stamp{} // somebody was faster: read it again
	}
	s.folded(w, st)
	return nil
}

// snapshot returns copies of all records: those of the file in its order, then
// new ones in the order they appeared.
func (s *Store) snapshot() (recs []record, base stamp, irregular bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	recs = make([]record, 0, len(s.recs))
	for _, rec := range s.recs {
		recs = append(recs, *rec)
	}
	slices.SortFunc(recs, func(a, b record) int {
		if (a.place.size == 0) != (b.place.size == 0) {
			return cmp.Compare(b.place.size, a.place.size)
		}
		return cmp.Or(cmp.Compare(a.place.off, b.place.off), cmp.Compare(a.seq, b.seq), cmp.Compare(a.key, b.key))
	})
	return recs, s.stamp, s.irregular
}

// folded notes that sessions.json now is what w wrote.
func (s *Store) folded(w *indexWriter, st stamp) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stamp, s.irregular, s.rewrite = st, false, false
	for _, was := range w.recs {
		rec := s.recs[was.key]
		if rec == nil {
			continue
		}
		rec.place = w.places[was.key]
		if rec.seq != was.seq {
			continue // changed meanwhile; the next fold has it
		}
		rec.at = 0
		if was.entry == nil && was.at != 0 {
			delete(s.recs, was.key)
			continue
		}
		s.spill(rec)
	}
}

// spill leaves the big fields of rec to the file; s.mu is held.
func (s *Store) spill(rec *record) {
	if rec.entry == nil || len(rec.entry.SkillsSnapshot) == 0 && len(rec.entry.SystemPromptReport) == 0 {
		return
	}
	light := *rec.entry
	for i := range bigFields {
		*light.big(i) = nil
	}
	rec.entry = &light
	s.move(rec.key)
}
