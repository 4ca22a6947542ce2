package session

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Update changes the entry of key, which must be canonical, or creates it. fn
// gets the caller's own copy; it may run again when another change of the same
// key came first, and must not block. UpdatedAt becomes the current time unless
// fn sets it. The change is on disk when Update returns without an error. fn's
// error is returned as it is, with nothing changed; [Skip] means that there is
// nothing to do. A label that another session has gives [ErrLabelInUse].
//
// The cost does not depend on the number of sessions, and concurrent callers
// share one sync. A cancelled ctx stops the waiting, not the change.
func (s *Store) Update(ctx context.Context, key string, fn func(*Entry) error) (Entry, error) {
	if key == "" {
		return Entry{}, errors.New("update session: empty key")
	}
	if err := context.Cause(ctx); err != nil {
		return Entry{}, fmt.Errorf("update session %s: %w", key, err)
	}
	for {
		s.lookAgain()
		v := s.lookup(key)
		e := s.whole(v)
		before := e.UpdatedAt
		if err := fn(&e); errors.Is(err, Skip) {
			return e, nil
		} else if err != nil {
			return Entry{}, err
		}
		now := s.now().UnixMilli()
		if e.UpdatedAt == before {
			e.UpdatedAt = max(before, now)
		}
		change := &record{key: key, entry: new(e.Clone()), at: max(now, before, e.UpdatedAt)}
		done, err := s.commit(ctx, v.entry, change)
		if errors.Is(err, errRaced) {
			continue
		}
		if err == nil {
			err = done(ctx)
		}
		if err != nil {
			return Entry{}, fmt.Errorf("update session %s: %w", key, err)
		}
		return e, nil
	}
}

// Delete removes the entry of key and reports whether there was one. Like a
// change it is on disk when Delete returns. The transcript stays.
func (s *Store) Delete(ctx context.Context, key string) (bool, error) {
	for {
		s.lookAgain()
		v := s.lookup(key)
		if v.entry == nil {
			return false, nil
		}
		change := &record{key: key, at: max(s.now().UnixMilli(), v.entry.UpdatedAt)}
		done, err := s.commit(ctx, v.entry, change)
		if errors.Is(err, errRaced) {
			continue
		}
		if err == nil {
			err = done(ctx)
		}
		if err != nil {
			return false, fmt.Errorf("delete session %s: %w", key, err)
		}
		return true, nil
	}
}

var errRaced = errors.New("changed meanwhile")

// commit makes change visible and hands it to the journal, if base is still what
// the index says. The returned function waits until it is on disk.
func (s *Store) commit(ctx context.Context, base *Entry, change *record) (func(context.Context) error, error) {
	if s.isClosed() {
		return nil, ErrClosed
	}
	owned, err := s.own(ctx)
	if err != nil {
		return nil, err
	}
	line, err := journalLine(change)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, ErrClosed
	}
	now := record{}
	if rec := s.recs[change.key]; rec != nil {
		now = *rec
	}
	if now.entry != base {
		return nil, errRaced
	}
	if err := s.labelFree(now.entry, change); err != nil {
		return nil, err
	}
	s.changes++
	change.seq, change.place = s.changes, now.place
	s.put(change)
	s.markDirty()
	if !owned {
		return s.fold, nil // another process owns the journal: write the index itself
	}
	return s.enqueue(line), nil
}

func (s *Store) isClosed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closed
}

// labelFree refuses a label that another session carries; s.mu is held.
func (s *Store) labelFree(old *Entry, change *record) error {
	if change.entry == nil || change.entry.Label == "" || old != nil && old.Label == change.entry.Label {
		return nil
	}
	if key, taken := s.byLabel[change.entry.Label]; taken && key != change.key {
		return fmt.Errorf("%w: %s", ErrLabelInUse, change.entry.Label)
	}
	return nil
}

// markDirty tells Run that something waits to be folded; s.mu is held.
func (s *Store) markDirty() {
	s.lastDirty = s.now()
	if s.firstDirty.IsZero() {
		s.firstDirty = s.lastDirty
	}
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// batch is a group of changes that share one write and one sync.
type batch struct {
	lines [][]byte
	done  chan struct{} // closed when err is set
	err   error
}

// enqueue adds line to the next batch; s.mu is held. The first change of a batch
// writes it for all: while it waits for the batch before, others join.
func (s *Store) enqueue(line []byte) func(context.Context) error {
	b, first := s.next, false
	if b == nil {
		b, first = &batch{done: make(chan struct{})}, true
		s.next = b
	}
	b.lines = append(b.lines, line)
	if first {
		return func(context.Context) error { return s.flush(b) }
	}
	return func(ctx context.Context) error {
		select {
		case <-b.done:
			return b.err
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// flush writes b. It does not give up early, because others wait for it.
func (s *Store) flush(b *batch) error {
	s.flushing <- struct{}{}
	defer release(s.flushing)
	s.mu.Lock()
	if s.next == b {
		s.next = nil
	}
	s.mu.Unlock()
	b.err = s.appendJournal(b.lines)
	close(b.done)
	return b.err
}

// pending reports whether sessions.json lacks something.
func (s *Store) pending() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.rewrite {
		return true
	}
	for _, rec := range s.recs {
		if rec.at != 0 {
			return true
		}
	}
	return false
}

// waits returns how long the index must rest before it is folded, and how long a
// fold may be put off while changes go on. Both grow with the file, so a huge
// index is not rewritten all the time.
func (s *Store) waits() (idle, patience time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	scale := time.Duration(1 + s.stamp.size/(4<<20))
	return min(time.Second*scale, 30*time.Second), min(5*time.Second*scale, 2*time.Minute)
}
