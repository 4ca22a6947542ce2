package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"openclaw/internal/disk"
	"openclaw/internal/turn"
)

var (
	// ErrLabelInUse is returned when a label is given to a second session.
	ErrLabelInUse = errors.New("label already in use")
	// ErrClosed is returned by writes after [Store.Close].
	ErrClosed = errors.New("session store closed")
	//lint:ignore ST1012 it is no failure, like fs.SkipDir
	// Skip makes [Store.Update] leave the entry as it is and return no error.
	Skip = errors.New("nothing to update")
)

const (
	indexName   = "sessions.json"
	journalName = "sessions.journal"

	// checkEvery is how long an answer may ignore changes by other programs.
	checkEvery = 250 * time.Millisecond
)

// Config says where a store lives. Only Dir is required.
type Config struct {
	// Dir holds the transcripts and, unless Path says otherwise, sessions.json.
	// It is created by the first write.
	Dir string
	// Path of the index; default Dir/sessions.json.
	Path string
	// AgentID names the agent in log lines; default "main".
	AgentID string
	// Log receives warnings about damaged files; default discards.
	Log *slog.Logger
	// Now is the clock; default time.Now.
	Now func() time.Time
	// OnMessage is told of each message after it was added to a transcript. It
	// must neither block nor call the store.
	OnMessage func(Appended)
	// CacheBytes bounds the parsed transcripts kept between runs; default 16 MiB.
	CacheBytes int64
}

// Appended is a message that was added to a transcript. The message is shared: it
// must not be changed.
type Appended struct {
	AgentID, SessionID string
	Path               string // of the transcript
	ID                 string // of the line
	Message            turn.Message
	// Flushed is false while the transcript is kept back until its first answer.
	Flushed bool
}

// Store is the sessions of one agent. Its methods are safe for concurrent use.
type Store struct {
	cfg  Config
	path string
	now  func() time.Time
	log  *slog.Logger

	// folding and flushing are locks held during I/O, so they are channels of
	// one slot. The order is folding, flushing, mu.
	folding  chan struct{}
	flushing chan struct{}
	wake     chan struct{} // a change waits for Run, capacity one, surplus dropped
	owned    atomic.Bool   // owner is held

	// Owned by the holder of flushing.
	journal *disk.AppendFile // nil until the next change
	sealed  []string         // journals that the next fold makes superfluous
	serial  uint64           // number of the newest journal
	owner   *disk.FileLock   // proves that the journals are ours

	mu         sync.Mutex
	recs       map[string]*record
	byID       map[string]string // session id → key
	byLabel    map[string]string
	shared     bool                // some id or label is in use twice, so an index may miss
	sorted     []Item              // cache of List, nil when there is none
	moved      map[string]struct{} // keys that changed since sorted was built
	live       int                 // records that are not deletions
	stamp      stamp               // the sessions.json that recs reflects
	irregular  bool                // that file cannot be copied piecewise: write all from memory
	rewrite    bool                // it has to be written although nothing changed
	checked    time.Time
	next       *batch // changes that wait for the journal
	changes    uint64
	firstDirty time.Time // oldest change not folded, zero when none
	lastDirty  time.Time
	journaled  int64 // bytes in journals
	closed     bool

	logs  logCache
	meter meter
	texts textCache
}

// record is one session in memory. Entries are never changed in place.
type record struct {
	key   string
	entry *Entry // nil: deleted with at, otherwise no entry but a value we keep
	at    int64  // when we changed it and did not fold yet, in ms; 0 otherwise
	seq   uint64 // number of that change
	place place
}

// place says where an entry lies in sessions.json.
type place struct {
	off  int64
	size int32
	big  [len(bigFields)]span // relative to off; kept on disk when size > 0
}

type span struct{ off, size int32 }

// Item is one row of [Store.List]. The entry is shared: read it, do not change
// it. Its SkillsSnapshot and SystemPromptReport are not loaded.
type Item struct {
	Key   string
	Entry *Entry
}

// Open reads the index in cfg.Dir and the changes a killed process left in its
// journal. A missing or damaged index reads as empty; a damaged one is copied
// aside first. Nothing is created before the first change.
func Open(cfg Config) (*Store, error) {
	if cfg.Dir == "" {
		return nil, errors.New("open sessions: no folder given")
	}
	cfg.AgentID = cmp.Or(cfg.AgentID, "main")
	s := &Store{
		cfg:      cfg,
		path:     cmp.Or(cfg.Path, filepath.Join(cfg.Dir, indexName)),
		now:      cfg.Now,
		log:      cfg.Log,
		folding:  make(chan struct{}, 1),
		flushing: make(chan struct{}, 1),
		wake:     make(chan struct{}, 1),
		recs:     map[string]*record{},
		byID:     map[string]string{},
		byLabel:  map[string]string{},
		moved:    map[string]struct{}{},
	}
	if s.now == nil {
		s.now = time.Now
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	s.log = s.log.With("agent", cfg.AgentID)
	s.logs.limit = cmp.Or(cfg.CacheBytes, 16<<20)
	if err := s.refresh(); err != nil {
		return nil, fmt.Errorf("open sessions of %s: %w", cfg.AgentID, err)
	}
	if err := s.takeOver(); err != nil {
		return nil, fmt.Errorf("open sessions of %s: %w", cfg.AgentID, err)
	}
	return s, nil
}

// Path returns the path of sessions.json.
func (s *Store) Path() string { return s.path }

// Dir returns the folder of the transcripts.
func (s *Store) Dir() string { return s.cfg.Dir }

// AgentID returns the agent whose sessions these are.
func (s *Store) AgentID() string { return s.cfg.AgentID }

// Get returns the entry of key, which must be canonical. The entry is the
// caller's own.
func (s *Store) Get(key string) (Entry, bool) {
	s.lookAgain()
	v := s.lookup(key)
	if v.entry == nil {
		return Entry{}, false
	}
	return s.whole(v), true
}

// view is a copy of a record and the state of the file its place belongs to.
type view struct {
	record
	stamp stamp
}

func (s *Store) lookup(key string) view {
	s.mu.Lock()
	defer s.mu.Unlock()
	if rec := s.recs[key]; rec != nil {
		return view{*rec, s.stamp}
	}
	return view{record: record{key: key}}
}

// Count returns the number of sessions.
func (s *Store) Count() int {
	s.lookAgain()
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.live
}

// List returns all sessions, the most recently updated first. The slice is
// shared by callers until something changes: it must not be modified.
func (s *Store) List() []Item {
	s.lookAgain()
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.sorted == nil:
		s.sorted = make([]Item, 0, s.live)
		for key, rec := range s.recs {
			if rec.entry != nil {
				s.sorted = append(s.sorted, Item{Key: key, Entry: rec.entry})
			}
		}
		slices.SortFunc(s.sorted, newestFirst)
	case len(s.moved) > 0:
		s.sorted = s.resort()
	}
	clear(s.moved)
	return s.sorted
}

// resort merges what changed since the last listing into its order; s.mu is held.
func (s *Store) resort() []Item {
	moved := make([]Item, 0, len(s.moved))
	for key := range s.moved {
		if rec := s.recs[key]; rec != nil && rec.entry != nil {
			moved = append(moved, Item{Key: key, Entry: rec.entry})
		}
	}
	slices.SortFunc(moved, newestFirst)
	list := make([]Item, 0, s.live)
	for _, it := range s.sorted {
		if _, gone := s.moved[it.Key]; gone {
			continue
		}
		for len(moved) > 0 && newestFirst(moved[0], it) < 0 {
			list, moved = append(list, moved[0]), moved[1:]
		}
		list = append(list, it)
	}
	return append(list, moved...)
}

func newestFirst(a, b Item) int {
	if a.Entry.UpdatedAt != b.Entry.UpdatedAt {
		return cmp.Compare(b.Entry.UpdatedAt, a.Entry.UpdatedAt)
	}
	return cmp.Compare(a.Key, b.Key)
}

// FindByID returns the session whose transcript is sessionID.
func (s *Store) FindByID(sessionID string) (key string, e Entry, ok bool) {
	return s.find(func() map[string]string { return s.byID }, sessionID, func(e *Entry) string { return e.SessionID })
}

// FindByLabel returns the session that carries label.
func (s *Store) FindByLabel(label string) (key string, e Entry, ok bool) {
	return s.find(func() map[string]string { return s.byLabel }, label, func(e *Entry) string { return e.Label })
}

func (s *Store) find(index func() map[string]string, want string, of func(*Entry) string) (string, Entry, bool) {
	if want == "" {
		return "", Entry{}, false
	}
	s.lookAgain()
	v, ok := s.findRecord(index, want, of)
	if !ok {
		return "", Entry{}, false
	}
	return v.key, s.whole(v), true
}

func (s *Store) findRecord(index func() map[string]string, want string, of func(*Entry) string) (view, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if rec := s.recs[index()[want]]; rec != nil && rec.entry != nil && of(rec.entry) == want {
		return view{*rec, s.stamp}, true
	}
	if s.shared {
		for _, rec := range s.recs {
			if rec.entry != nil && of(rec.entry) == want {
				return view{*rec, s.stamp}, true
			}
		}
	}
	return view{}, false
}

// put replaces the record of rec.key and keeps the indexes; s.mu is held.
func (s *Store) put(rec *record) {
	if old := s.recs[rec.key]; old != nil && old.entry != nil {
		s.live--
		if s.byID[old.entry.SessionID] == rec.key {
			delete(s.byID, old.entry.SessionID)
		}
		if s.byLabel[old.entry.Label] == rec.key {
			delete(s.byLabel, old.entry.Label)
		}
	}
	s.recs[rec.key] = rec
	s.move(rec.key)
	if rec.entry == nil {
		return
	}
	s.live++
	for _, in := range []struct {
		index map[string]string
		value string
	}{{s.byID, rec.entry.SessionID}, {s.byLabel, rec.entry.Label}} {
		if in.value == "" {
			continue
		}
		if _, taken := in.index[in.value]; taken {
			s.shared = true
		}
		in.index[in.value] = rec.key
	}
}

// move notes that the listing of key is out of date; s.mu is held. A list that
// nobody asks for is dropped.
func (s *Store) move(key string) {
	switch {
	case s.sorted == nil:
	case len(s.moved) > len(s.sorted)/4+64:
		s.sorted = nil
		clear(s.moved)
	default:
		s.moved[key] = struct{}{}
	}
}

// whole returns the entry of v as the caller's own, with the big fields that are
// only on disk. When sessions.json changed under us they are looked up anew; if
// they cannot be had, the entry comes without them.
func (s *Store) whole(v view) Entry {
	for range 3 {
		if v.entry == nil || v.at != 0 || v.place.size == 0 {
			break
		}
		bigs, err := s.readBig(v)
		if err == nil {
			e := v.entry.Clone()
			for i, raw := range bigs {
				if field := e.big(i); len(*field) == 0 {
					*field = raw
				}
			}
			return e
		}
		if err := s.refreshNow(); err != nil {
			break
		}
		v = s.lookup(v.key)
	}
	if v.entry == nil {
		return Entry{}
	}
	return v.entry.Clone()
}

var errMoved = errors.New("the file changed")

func (s *Store) readBig(v view) (bigs [len(bigFields)][]byte, err error) {
	if v.place.big == ([len(bigFields)]span{}) {
		return bigs, nil
	}
	f, err := os.Open(s.path)
	if err != nil {
		return bigs, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return bigs, err
	}
	if !v.stamp.matches(info) {
		return bigs, errMoved
	}
	for i, sp := range v.place.big {
		if sp.size == 0 {
			continue
		}
		raw := make([]byte, sp.size)
		if _, err := f.ReadAt(raw, v.place.off+int64(sp.off)); err != nil {
			return bigs, err
		}
		if _, err := skipObject(raw, 0, 0, nil); err != nil {
			return bigs, errMoved
		}
		bigs[i] = raw
	}
	return bigs, nil
}

// acquire takes the one slot of lock or gives up with ctx.
func acquire(ctx context.Context, lock chan struct{}) error {
	select {
	case lock <- struct{}{}:
		return nil
	default:
	}
	select {
	case lock <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func release(lock chan struct{}) { <-lock }
