package session

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"sync"

	"openclaw/internal/disk"
	"openclaw/internal/turn"
)

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
	file     *disk.AppendFile // the transcript, once flushed
	side     *disk.AppendFile // the side file, before that
	unsynced bool             // lines were written since the last sync began
	syncing  sync.WaitGroup   // a sync of file that goes on beside the run
	syncErr  error            // its result, valid after syncing.Wait
	sideSync sync.WaitGroup   // the same for side, whose result decides nothing
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
	if t.c.flushed {
		t.dropSide() // left by a crash after the first flush
	}
	return nil
}

// shut ends the last handle; the caller holds t.opening.
func (t *tape) shut() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.lock == nil {
		return nil
	}
	err := t.sync()
	t.sideSync.Wait()
	for _, f := range []**disk.AppendFile{&t.file, &t.side} {
		if *f != nil {
			err = errors.Join(err, (*f).Close())
			*f = nil
		}
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

func (t *tape) sync() error {
	if t.unsynced {
		t.startSync()
	}
	if t.file == nil {
		t.sideSync.Wait()
	}
	t.syncing.Wait()
	err := t.syncErr
	t.syncErr = nil
	if err != nil {
		t.unsynced = true
		return fmt.Errorf("sync transcript %s: %w", t.path, err)
	}
	if t.c.flushed && t.c.side {
		t.dropSide()
	}
	return nil
}

// startSync lets the disk catch up while the run goes on.
func (t *tape) startSync() {
	if t.file == nil {
		if side := t.side; side != nil {
			t.sideSync.Wait()
			t.unsynced = false
			t.sideSync.Go(func() {
				if err := side.Append(true); err != nil {
					t.s.log.Warn("side file of a transcript not synced", "path", t.path, "err", err)
				}
			})
		}
		return
	}
	file := t.file
	t.syncing.Wait()
	earlier := t.syncErr
	t.unsynced = false
	t.syncing.Go(func() { t.syncErr = errors.Join(earlier, file.Append(true)) })
}

// dropSide removes the side file: the transcript has what it holds.
func (t *tape) dropSide() {
	t.sideSync.Wait()
	if t.side != nil {
		_ = t.side.Close() // it is not needed any more
		t.side = nil
	}
	t.c.side = false
	if err := os.Remove(t.path + sideSuffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.s.log.Warn("side file of a transcript not removed", "path", t.path, "err", err)
	}
}

// add writes a line under the leaf and makes it the leaf. milestone says that the
// line ends something, so it should reach the disk soon.
func (t *tape) add(kind, role string, b any, milestone bool) (string, error) {
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
		err = t.write(n, milestone)
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
func (t *tape) write(n *node, milestone bool) error {
	var err error
	switch {
	case t.c.flushed:
		err = t.appendLine(n)
	case n.role == string(turn.RoleAssistant):
		err = t.flush(n)
	case milestone:
		err = t.keepSafe(n)
	default:
		return nil
	}
	if err != nil {
		return err
	}
	t.unsynced = true
	if milestone {
		t.startSync()
	}
	return nil
}

func (t *tape) appendLine(n *node) error {
	if err := t.openFile(); err != nil {
		return err
	}
	if err := t.file.Append(false, n.raw); err != nil {
		return err
	}
	size, err := t.file.Size()
	if err != nil {
		return err
	}
	// Counted from the end, because a torn last line was ended first.
	n.off = size - int64(n.size) - 1
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
	var lines [][]byte
	if !t.c.side {
		head, err := marshalPlain(t.c.header)
		if err != nil {
			return err
		}
		lines = append(lines, head)
	}
	unsafe := append(slices.Clone(t.c.nodes), last)
	unsafe = slices.DeleteFunc(unsafe, func(n *node) bool { return n.safe })
	for _, n := range unsafe {
		lines = append(lines, n.raw)
	}
	if t.side == nil {
		f, err := disk.OpenAppend(t.path+sideSuffix, 0o600)
		if err != nil {
			return err
		}
		t.side = f
	}
	if err := t.side.Append(false, lines...); err != nil {
		return err
	}
	for _, n := range unsafe {
		n.safe = true
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
// a header or what is no transcript, is replaced. The side file stays until the
// new one is known to be on the disk.
func (t *tape) flush(last *node) error {
	if err := t.c.parseRaw(); err != nil {
		return err
	}
	head, err := marshalPlain(t.c.header)
	if err != nil {
		return err
	}
	nodes := append(slices.Clone(t.c.nodes), last)
	lines := [][]byte{head}
	for _, n := range nodes {
		lines = append(lines, n.raw)
	}
	if err := t.create(lines); err != nil {
		return err
	}
	off := int64(len(head) + 1)
	for _, n := range nodes {
		n.off, n.size = off, int32(len(n.raw))
		off += int64(n.size) + 1
		n.raw, n.safe = nil, true
	}
	t.c.flushed = true
	return nil
}

// create makes the file of lines and opens it.
func (t *tape) create(lines [][]byte) error {
	if t.c.stamp.info == nil {
		if err := t.openFile(); err != nil {
			return err
		}
		return t.file.Append(false, lines...)
	}
	if t.c.stamp.size > 0 && t.c.version == 0 { // no transcript: not ours to lose
		if err := t.c.backup(t.s.now()); err != nil {
			return err
		}
	}
	if err := disk.WriteFile(t.path, joinLines(lines), 0o600); err != nil {
		return err
	}
	return t.openFile()
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
