package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	"openclaw/internal/disk"
	"openclaw/internal/turn"
)

// TranscriptOptions says which transcript to open.
type TranscriptOptions struct {
	SessionID string
	// Path of the file; default [Store.TranscriptPath] of SessionID.
	Path string
	// Cwd is the workspace that a new header names.
	Cwd string
	// SyntheticResults lets [Transcript.Append] answer tool calls that were left
	// open, for model families that insist on it (see [Family.PairsTools]).
	SyntheticResults bool
}

// Transcript is an open transcript: the right to append to it and the view a
// model gets. Its methods are safe for concurrent use.
//
// Lines before the first assistant message are kept back, as other programs
// expect; a user message among them is safe in a side file. What is durable: a
// user message when Append returns, everything when Sync or Close returns. Every
// line is written at once, so a crash of this process alone loses none.
type Transcript struct {
	tape *tape
	opts TranscriptOptions

	mu     sync.Mutex
	closed bool
}

// tape is an open transcript file, shared by all handles of this process.
type tape struct {
	s    *Store
	path string

	opening  chan struct{} // one slot, held while the first handle opens or the last closes
	users    int           // guarded by the cache, like idleCost
	idleCost int64

	mu       sync.Mutex
	c        *scroll
	lock     *disk.FileLock
	file     *disk.AppendFile
	unsynced bool
}

// OpenTranscript opens a transcript for a run. It takes the lock file that other
// programs respect, repairs what is broken in the file, and steps back from a
// user message at the end that was never answered, so that two user turns do not
// follow each other. A missing file is an empty transcript. The error wraps
// [ErrLocked] when another process keeps the lock for 10 s.
func (s *Store) OpenTranscript(ctx context.Context, opts TranscriptOptions) (*Transcript, error) {
	t, err := s.openTranscript(ctx, opts)
	if err != nil {
		return nil, err
	}
	t.tape.mu.Lock()
	defer t.tape.mu.Unlock()
	for c := t.tape.c; c.leaf != nil && c.leaf.role == string(turn.RoleUser); {
		c.leaf = c.leaf.parent
	}
	return t, nil
}

func (s *Store) openTranscript(ctx context.Context, opts TranscriptOptions) (*Transcript, error) {
	if opts.Path == "" {
		opts.Path = s.TranscriptPath(Entry{SessionID: opts.SessionID})
	}
	t := s.logs.take(s, opts.Path)
	if err := t.open(ctx, opts); err != nil {
		s.logs.give(t)
		return nil, fmt.Errorf("open transcript %s: %w", opts.SessionID, err)
	}
	return &Transcript{tape: t, opts: opts}, nil
}

// open takes the lock and reads the file, if no other handle did.
func (t *tape) open(ctx context.Context, opts TranscriptOptions) error {
	if err := acquire(ctx, t.opening); err != nil {
		return err
	}
	defer release(t.opening)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.lock != nil {
		return nil
	}
	lock, err := t.s.lockTranscript(ctx, t.path)
	if err != nil {
		return err
	}
	if err := t.load(opts); err != nil {
		return errors.Join(err, lock.Unlock())
	}
	t.lock = lock
	return nil
}

// load reads the file unless it is what we left.
func (t *tape) load(opts TranscriptOptions) error {
	info, err := statFile(t.path)
	if err != nil {
		return err
	}
	if t.c != nil && t.c.stamp.matches(info) && (t.c.flushed || info == nil) {
		return nil
	}
	if t.c, err = loadScroll(t.path); err != nil {
		return err
	}
	fresh := header{Type: lineSession, Version: transcriptVersion, ID: opts.SessionID,
		Timestamp: t.s.now().UTC().Format(isoMillis), Cwd: opts.Cwd}
	changed, err := t.c.repair(fresh, t.s.now())
	if err != nil {
		return fmt.Errorf("repair: %w", err)
	}
	if changed {
		t.s.log.Info("transcript repaired; the original was kept beside it", "path", t.path, "lines", t.c.bad)
		if t.c, err = loadScroll(t.path); err != nil {
			return err
		}
	}
	if !t.c.hasHead {
		t.c.header, t.c.hasHead = fresh, true
	}
	return nil
}

// lockTranscript takes <path>.lock as other programs do. Within this process the
// tape is what is shared; between processes it is this file.
func (s *Store) lockTranscript(ctx context.Context, path string) (*disk.FileLock, error) {
	if err := disk.MkdirAll(filepath.Dir(path)); err != nil {
		return nil, err
	}
	return s.lockWithin(ctx, path, 10*time.Second)
}

func (s *Store) lockWithin(ctx context.Context, path string, timeout time.Duration) (*disk.FileLock, error) {
	lock, err := disk.Lock(ctx, path+".lock", disk.LockOptions{
		Content: func() []byte { return lockContent("createdAt", `"`+s.now().UTC().Format(isoMillis)+`"`) },
		Stale:   staleLock,
		Timeout: timeout,
	})
	var held *disk.LockedError
	if errors.As(err, &held) {
		pid := ""
		if n := lockPID(held.Content); n > 0 {
			pid = strconv.Itoa(n)
		}
		return nil, fmt.Errorf("%w (timeout %dms): pid=%s %s", ErrLocked, timeout.Milliseconds(), pid, path)
	}
	return lock, err
}

// ErrLocked says that another process writes the transcript.
var ErrLocked = errors.New("session file locked")

// staleLock judges the lock file of a program that uses no kernel locks.
func staleLock(content []byte, age time.Duration) bool {
	if age > 30*time.Minute {
		return true
	}
	pid := lockPID(content)
	return pid > 0 && !alive(pid)
}

func lockPID(content []byte) int {
	var owner struct {
		PID int `json:"pid"`
	}
	if json.Unmarshal(content, &owner) != nil {
		return 0
	}
	return owner.PID
}

// Close syncs what was written, gives the lock back and ends the handle. Later
// calls do nothing. What was kept back and never answered stays in the side file.
func (t *Transcript) Close() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return nil
	}
	t.closed = true
	return t.tape.s.logs.give(t.tape)
}

// shut ends the last handle; the caller holds t.opening.
func (t *tape) shut() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.lock == nil {
		return nil
	}
	err := t.sync()
	if t.file != nil {
		err = errors.Join(err, t.file.Close())
		t.file = nil
	}
	info, serr := statFile(t.path)
	if serr != nil || info == nil {
		t.c.stamp = stamp{}
	} else {
		t.c.stamp = stampOf(info)
	}
	err = errors.Join(err, serr, t.lock.Unlock())
	t.lock = nil
	if err != nil {
		return fmt.Errorf("close transcript %s: %w", t.path, err)
	}
	return nil
}

// Sync makes everything that was appended durable.
func (t *Transcript) Sync() error {
	t.tape.mu.Lock()
	defer t.tape.mu.Unlock()
	return t.tape.sync()
}

func (t *tape) sync() error {
	if !t.unsynced || t.file == nil {
		return nil
	}
	if err := t.file.Append(true); err != nil {
		return fmt.Errorf("sync transcript %s: %w", t.path, err)
	}
	t.unsynced = false
	return nil
}

// Path returns the path of the file, which may not exist yet.
func (t *Transcript) Path() string { return t.tape.path }

// SessionID returns the id in the header.
func (t *Transcript) SessionID() string {
	t.tape.mu.Lock()
	defer t.tape.mu.Unlock()
	return t.tape.c.header.ID
}

// add writes a line under the leaf and makes it the leaf.
func (t *tape) add(kind, role string, b any, sync bool) (string, error) {
	if t.lock == nil {
		return "", fmt.Errorf("append to transcript %s: %w", t.path, os.ErrClosed)
	}
	n := &node{id: t.c.newID(), kind: kind, role: role, parent: t.c.leaf}
	parent := ""
	if n.parent != nil {
		parent = n.parent.id
	}
	line, err := marshalLine(kind, n.id, parent, t.s.now(), b)
	if err == nil {
		n.raw, n.size = line, int32(len(line))
		err = t.write(n, sync)
	}
	if err != nil {
		return "", fmt.Errorf("append to transcript %s: %w", t.path, err)
	}
	n.body = parseBody(kind, line)
	t.c.attach(n)
	t.c.cost += int64(len(line))
	if t.c.flushed {
		n.raw = nil
	}
	return n.id, nil
}

// write puts n where it belongs now: at the end of the file, with all that was
// kept back into a new file, or back.
func (t *tape) write(n *node, sync bool) error {
	switch {
	case t.c.flushed:
		if err := t.openFile(); err != nil {
			return err
		}
		end, err := t.file.Size()
		if err != nil {
			return err
		}
		if err := t.file.Append(sync, n.raw); err != nil {
			return err
		}
		t.unsynced = !sync
		after, err := t.file.Size()
		if err != nil {
			return err
		}
		// A torn last line was ended first, so count from the end.
		n.off = max(end, after-int64(n.size)-1)
		return nil
	case n.role == string(turn.RoleAssistant):
		return t.flush(n)
	case sync:
		return t.keepSafe(n)
	}
	return nil
}

func (t *tape) openFile() error {
	if t.file != nil {
		return nil
	}
	f, err := disk.OpenAppend(t.path, 0o600)
	if err != nil {
		return err
	}
	t.file = f
	return nil
}

// keepSafe saves what is kept back, and last, in the side file.
func (t *tape) keepSafe(last *node) error {
	head, err := marshalPlain(t.c.header)
	if err != nil {
		return err
	}
	lines := [][]byte{head}
	for _, n := range t.c.nodes {
		if n.raw != nil {
			lines = append(lines, n.raw)
		}
	}
	data := slices.Concat(joinLines(lines), last.raw, []byte("\n"))
	if err := disk.WriteFile(t.path+sideSuffix, data, 0o600); err != nil {
		return err
	}
	t.c.side = true
	return nil
}

func joinLines(lines [][]byte) []byte {
	var out []byte
	for _, l := range lines {
		out = append(append(out, l...), '\n')
	}
	return out
}

// flush writes the file with all lines so far and last. Whatever was at the path,
// a header or what is no transcript, is replaced.
func (t *tape) flush(last *node) error {
	if err := t.c.parseRaw(); err != nil {
		return err
	}
	if t.c.stamp.size > 0 && t.c.version == 0 { // no transcript: not ours to lose
		if err := t.c.backup(t.s.now()); err != nil {
			return err
		}
	}
	head, err := marshalPlain(t.c.header)
	if err != nil {
		return err
	}
	nodes := append(slices.Clone(t.c.nodes), last)
	err = disk.Replace(t.path, 0o600, func(w io.Writer) error {
		lines := [][]byte{head}
		for _, n := range nodes {
			lines = append(lines, n.raw)
		}
		_, err := w.Write(joinLines(lines))
		return err
	})
	if err != nil {
		return err
	}
	off := int64(len(head) + 1)
	for _, n := range nodes {
		n.off, n.size = off, int32(len(n.raw))
		off += int64(n.size) + 1
		n.raw = nil
	}
	t.c.flushed = true
	if !t.c.side {
		return nil
	}
	t.c.side = false
	if err := os.Remove(t.path + sideSuffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.s.log.Warn("side file of a transcript not removed", "path", t.path, "err", err)
	}
	return nil
}

// parseRaw loads the bytes of nodes that stand in a file to be replaced.
func (c *scroll) parseRaw() error {
	var f *os.File
	for _, n := range c.nodes {
		if n.raw != nil {
			continue
		}
		if f == nil {
			var err error
			if f, err = os.Open(c.path); err != nil {
				return err
			}
			defer f.Close()
		}
		n.raw = make([]byte, n.size)
		if _, err := f.ReadAt(n.raw, n.off); err != nil {
			return err
		}
	}
	return nil
}
