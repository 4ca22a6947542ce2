package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
)

// Rekeyed is an entry that [Store.Rekey] took from one key to another.
type Rekeyed struct {
	From, To string
	// Dropped says that the entry under To had changed later and stayed; the
	// transcript of the other is still there.
	Dropped bool
}

// Rekey gives every entry that earlier releases stored under another key the one
// that canonical returns. Where two claim one key, the one that changed last wins.
// What it did is on disk when it returns; asking again does nothing.
func (s *Store) Rekey(ctx context.Context, canonical func(key string) string) ([]Rekeyed, error) {
	var done []Rekeyed
	for _, m := range s.Misplaced(canonical) {
		for {
			moved, err := s.rekey(ctx, &m)
			if errors.Is(err, errRaced) {
				continue
			}
			if err != nil {
				return done, fmt.Errorf("move session %s to %s: %w", m.From, m.To, err)
			}
			if moved {
				done = append(done, m)
			}
			break
		}
	}
	return done, nil
}

// Misplaced lists what [Store.Rekey] would move, by key, and changes nothing.
func (s *Store) Misplaced(canonical func(string) string) []Rekeyed {
	s.lookAgain()
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []Rekeyed
	for key, rec := range s.recs {
		if rec.entry == nil {
			continue
		}
		if to := canonical(key); to != "" && to != key {
			list = append(list, Rekeyed{From: key, To: to})
		}
	}
	slices.SortFunc(list, func(a, b Rekeyed) int { return cmp.Compare(a.From, b.From) })
	return list
}

// rekey moves one entry. It reports false when the entry is gone.
func (s *Store) rekey(ctx context.Context, m *Rekeyed) (bool, error) {
	from, to := s.lookup(m.From), s.lookup(m.To)
	if from.entry == nil {
		return false, nil
	}
	at := max(s.now().UnixMilli(), from.entry.UpdatedAt)
	changes := []*record{{key: m.From, at: at}}
	m.Dropped = to.entry != nil && to.entry.UpdatedAt >= from.entry.UpdatedAt
	if !m.Dropped {
		// The new entry goes first: what a crash cuts off is the removal.
		e := s.whole(from)
		changes = []*record{{key: m.To, entry: &e, at: at}, changes[0]}
	}
	done, err := s.commitAll(ctx, map[string]*Entry{m.From: from.entry, m.To: to.entry}, changes)
	if err != nil {
		return false, err
	}
	return true, done(ctx)
}

// commitAll is commit for changes that belong together, if bases are still what
// the index says. They share one write.
func (s *Store) commitAll(ctx context.Context, bases map[string]*Entry, changes []*record) (func(context.Context) error, error) {
	owned, err := s.own(ctx)
	if err != nil {
		return nil, err
	}
	lines := make([][]byte, len(changes))
	for i, change := range changes {
		if lines[i], err = journalLine(change); err != nil {
			return nil, err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, ErrClosed
	}
	for key, base := range bases {
		rec := s.recs[key]
		if rec == nil && base != nil || rec != nil && rec.entry != base {
			return nil, errRaced
		}
	}
	var done func(context.Context) error
	for i, change := range changes {
		if rec := s.recs[change.key]; rec != nil {
			change.place = rec.place
		}
		s.changes++
		change.seq = s.changes
		s.put(change)
		if owned {
			if wait := s.enqueue(lines[i]); i == 0 {
				done = wait
			}
		}
	}
	s.markDirty()
	if !owned {
		return s.fold, nil // another process owns the journal: write the index itself
	}
	return done, nil
}
