package ledger

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"openclaw/internal/disk"
	"openclaw/internal/run"
)

const (
	// Retention is how long the end of a run is remembered. It is what agent.wait
	// promises; idempotency keys need less. See docs/protocol.md#idempotency.
	Retention = 10 * time.Minute

	maxRemembered = 5000     // ended runs
	maxResponses  = 16 << 20 // bytes of all responses together
	// MaxResponse bounds one stored response, in bytes.
	MaxResponse = 64 << 10
	maxReason   = 2000 // bytes
)

// Errors of an [Entry].
var (
	ErrEnded  = errors.New("the run has ended already")
	ErrClosed = errors.New("the ledger is closed")
)

// Kind is the door a run came through; idempotency keys of different kinds have
// nothing to do with each other.
type Kind string

const (
	Agent Kind = "agent" // the agent method
	Chat  Kind = "chat"  // a chat message
)

// State is how a run ended; empty means that it has not.
type State string

const (
	Finished State = "finished" // it did what it could, silence included
	Failed   State = "failed"   // Ending.Reason says why
	Aborted  State = "aborted"  // Ending.Reason is the stop reason
)

// Accepted is what is known of a run when it is accepted, and all that it takes
// to see the run through in another process.
type Accepted struct {
	Kind Kind
	// Owner is who asked, as idempotency keys know it: a device or a secret.
	Owner string
	// Origin is the id the message was sent under, when the run has an id of its
	// own because the message had to queue.
	Origin  run.ID
	At      time.Time
	Request run.Request
}

// Key returns the idempotency key under which the run was asked for.
func (a Accepted) Key() run.ID { return cmp.Or(a.Origin, a.Request.ID) }

// Ending is the end of a run.
type Ending struct {
	State     State
	Reason    string    // cut when it is long
	StartedAt time.Time // zero when the run never began
	EndedAt   time.Time
}

// Past is what the ledger remembers of a run.
type Past struct {
	Kind       Kind
	Owner      string
	ID, Origin run.ID
	SessionKey string
	AcceptedAt time.Time
	// Ending has no state while the run is open.
	Ending   Ending
	Response []byte // as [Entry.Keep] got it; nil for none
}

// Config says where a ledger is.
type Config struct {
	// Dir is the folder, normally <state>/runs. It is created when missing.
	Dir string

	Log *slog.Logger     // default: discarded
	Now func() time.Time // default time.Now
}

// Ledger is the open ledger of one process. It is safe for concurrent use. A nil
// *Ledger is valid and remembers nothing, for runs that live and die with their
// command.
type Ledger struct {
	cfg  Config
	now  func() time.Time
	log  *slog.Logger
	boot string // names this process and its folder
	own  *disk.FileLock

	journal *disk.Journal
	wake    chan struct{} // something waits for Run, capacity one, surplus dropped
	// tidying is a lock that is held during I/O, so it is a channel of one slot:
	// who holds it may replace files or take them over.
	tidying chan struct{}

	// Owned by the holder of tidying.
	serial int      // of the newest file
	old    []string // files whose content is not all in the newest yet

	mu        sync.Mutex
	last      uint64 // number of the newest entry
	byRef     map[ref]*Entry
	byKey     map[key]*Entry
	ended     []*Entry // remembered, in the order in which they ended
	responses int      // bytes in ended
	forgotten bool     // the file holds ends that nobody remembers
	broken    bool     // the file may lack something
	unsynced  disk.Mark
	begun     time.Time // when the file was
	baseSize  int64     // what the file began with
	closed    bool
}

// ref identifies an entry for ever: the number is its place in the order of
// acceptance, made from the clock so that it also orders processes that followed
// each other.
type ref struct {
	boot string
	n    uint64
}

func (a ref) compare(b ref) int { return cmp.Or(cmp.Compare(a.n, b.n), cmp.Compare(a.boot, b.boot)) }

type key struct {
	kind  Kind
	owner string
	id    run.ID
}

// Open opens the ledger and takes over what dead processes left in it. Another
// process that lives keeps its own part.
func Open(cfg Config) (*Ledger, error) {
	l := &Ledger{cfg: cfg, now: cfg.Now, log: cmp.Or(cfg.Log, slog.New(slog.DiscardHandler)),
		wake: make(chan struct{}, 1), tidying: make(chan struct{}, 1),
		byRef: map[ref]*Entry{}, byKey: map[key]*Entry{}}
	if l.now == nil {
		l.now = time.Now
	}
	if err := l.settleIn(); err != nil {
		return nil, fmt.Errorf("open run ledger %s: %w", cfg.Dir, err)
	}
	if err := l.takeOver(); err != nil {
		return nil, fmt.Errorf("open run ledger %s: %w", cfg.Dir, errors.Join(err, l.Close()))
	}
	return l, nil
}

// settleIn makes this process's own folder, which is locked before others see
// it as one without an owner.
func (l *Ledger) settleIn() error {
	if err := disk.MkdirAll(l.cfg.Dir); err != nil {
		return err
	}
	door, err := l.lockDoor()
	if err != nil {
		return err
	}
	defer door.Unlock() // the kernel frees it at the latest
	var name [6]byte
	_, _ = rand.Read(name[:]) // never fails
	l.boot = hex.EncodeToString(name[:])
	if err := disk.MkdirAll(l.folder()); err != nil {
		return err
	}
	if l.own, err = disk.Lock(context.Background(), filepath.Join(l.folder(), lockName), disk.LockOptions{Timeout: -1}); err != nil {
		return err
	}
	l.journal = disk.NewJournal(l.nextFile(), 0o600, l.header())
	l.begun = l.now()
	return nil
}

func (l *Ledger) folder() string { return filepath.Join(l.cfg.Dir, l.boot) }

// nextFile names the file after the newest; the caller holds tidying or is Open.
func (l *Ledger) nextFile() string {
	l.serial++
	return filepath.Join(l.folder(), fmt.Sprintf("%06d.jsonl", l.serial))
}

func (l *Ledger) header() []byte {
	data, err := json.Marshal(record{Type: typeHeader, Version: version, PID: os.Getpid(), At: l.now().UnixMilli()})
	if err != nil {
		panic(err) // four plain fields
	}
	return data
}

// Lookup returns what is known of the run that owner asked for under an
// idempotency key, also of one that is open.
func (l *Ledger) Lookup(kind Kind, owner string, id run.ID) (Past, bool) {
	if l == nil {
		return Past{}, false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.byKey[key{kind, owner, id}]
	if e == nil || e.ended() && l.now().Sub(e.since) > Retention {
		return Past{}, false
	}
	return e.past(), true
}

// Ended lists the ends that are remembered, oldest first.
func (l *Ledger) Ended() []Past {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.trim()
	list := make([]Past, len(l.ended))
	for i, e := range l.ended {
		list[i] = e.past()
	}
	return list
}

// Lost takes over what processes left that have died by now, and returns the
// runs that a dead process accepted and nobody has ended, in the order of
// acceptance. Their requests are complete.
func (l *Ledger) Lost() ([]*Entry, error) {
	if l == nil {
		return nil, nil
	}
	if err := l.takeOver(); err != nil {
		return nil, fmt.Errorf("read run ledger %s: %w", l.cfg.Dir, err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	var list []*Entry
	for _, e := range l.byRef {
		if e.ref.boot != l.boot && !e.ended() {
			list = append(list, e)
		}
	}
	slices.SortFunc(list, func(a, b *Entry) int { return a.ref.compare(b.ref) })
	return list, nil
}

// Close syncs what was written and lets go of the folder. Runs that are open are
// lost for the next process. Later calls do nothing.
func (l *Ledger) Close() error {
	if l == nil {
		return nil
	}
	l.tidying <- struct{}{}
	defer func() { <-l.tidying }()
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return nil
	}
	l.closed = true
	l.trim()
	empty := len(l.byRef) == 0
	l.mu.Unlock()
	err := l.journal.Close()
	if empty && err == nil {
		err = clearOut(l.folder(), append(l.old, l.journal.Path()), l.own)
	} else {
		err = errors.Join(err, l.own.Unlock())
	}
	if err != nil {
		return fmt.Errorf("close run ledger %s: %w", l.cfg.Dir, err)
	}
	return nil
}
