package ledger

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"openclaw/internal/disk"
)

const lockName = "lock"

// lockDoor takes the lock that is held while folders come and go. It is held for
// moments, and no longer than its process lives.
func (l *Ledger) lockDoor() (*disk.FileLock, error) {
	return disk.Lock(context.Background(), filepath.Join(l.cfg.Dir, lockName), disk.LockOptions{})
}

// takeOver makes what dead processes left part of this ledger.
func (l *Ledger) takeOver() (err error) {
	l.tidying <- struct{}{}
	defer func() { <-l.tidying }()
	l.mu.Lock()
	closed := l.closed
	l.mu.Unlock()
	if closed {
		return ErrClosed
	}
	others, err := l.others()
	if err != nil || len(others) == 0 {
		return err
	}
	door, err := l.lockDoor()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, door.Unlock()) }()
	for _, dir := range others {
		lock, err := disk.Lock(context.Background(), filepath.Join(dir, lockName), disk.LockOptions{Timeout: -1})
		if errors.Is(err, disk.ErrLocked) || errors.Is(err, fs.ErrNotExist) {
			continue // its owner lives, or somebody else was faster
		}
		if err != nil {
			return err
		}
		if err := l.absorb(dir, lock); err != nil {
			return err
		}
	}
	return nil
}

// others lists the folders of other processes.
func (l *Ledger) others() ([]string, error) {
	list, err := os.ReadDir(l.cfg.Dir)
	if err != nil {
		return nil, err
	}
	var dirs []string
	for _, d := range list {
		if d.IsDir() && d.Name() != l.boot {
			dirs = append(dirs, filepath.Join(l.cfg.Dir, d.Name()))
		}
	}
	return dirs, nil
}

// errNewer says that a file is of a version that this program does not know.
var errNewer = errors.New("written by a newer version")

// absorb copies what counts in the folder dir into our own file and removes the
// folder. After a crash in between both have it, which is harmless.
func (l *Ledger) absorb(dir string, lock *disk.FileLock) error {
	found := map[ref]*Entry{}
	files, err := filepath.Glob(filepath.Join(dir, "*.jsonl"))
	if err == nil {
		err = l.readAll(files, func(rec record, _ []byte) error { collect(found, rec); return nil })
	}
	if errors.Is(err, errNewer) {
		l.log.Warn("a part of the run ledger is left alone", "path", dir, "err", err)
		return lock.Unlock()
	}
	if err == nil {
		l.merge(found)
		err = l.carry(files)
	}
	if err != nil {
		return errors.Join(err, lock.Unlock())
	}
	return clearOut(dir, files, lock)
}

// clearOut removes a folder whose content nobody needs any more.
func clearOut(dir string, files []string, lock *disk.FileLock) error {
	err := removeFiles(files)
	if uerr := lock.Unlock(); err == nil {
		err = uerr
	}
	if err != nil {
		return err
	}
	return os.RemoveAll(dir) // with what a kill may have left of a lock
}

// removeFiles removes files, oldest first.
func removeFiles(files []string) error {
	for _, path := range files {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// readAll calls apply for every whole record of files, with its line.
func (l *Ledger) readAll(files []string, apply func(rec record, line []byte) error) error {
	slices.Sort(files)
	for _, path := range files {
		f, err := os.Open(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue // it never got a line
		}
		if err != nil {
			return err
		}
		bad, err := readLines(f, apply)
		f.Close()
		if err != nil {
			return fmt.Errorf("read %s: %w", path, err)
		}
		if bad > 0 {
			l.log.Warn("run ledger has unreadable lines", "path", path, "lines", bad)
		}
	}
	return nil
}

// readLines calls apply for every whole record in r. A line at the end that a
// kill cut off is normal and not counted as bad.
func readLines(r io.Reader, apply func(rec record, line []byte) error) (bad int, err error) {
	for in := bufio.NewReaderSize(r, 64<<10); ; {
		line, err := in.ReadBytes('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return bad, err
		}
		last := err != nil
		if n := len(line); n > 0 && line[n-1] == '\n' {
			line = line[:n-1]
		}
		rec, ok := parse(line)
		switch {
		case ok && rec.Type == typeHeader:
			if rec.Version > version {
				return bad, fmt.Errorf("%w (format %d, this program knows %d)", errNewer, rec.Version, version)
			}
		case ok:
			if err := apply(rec, line); err != nil {
				return bad, err
			}
		case len(line) > 0 && !last:
			bad++
		}
		if last {
			return bad, nil
		}
	}
}

// collect adds one record to what was found. Lines come in any order, and more
// than once.
func collect(found map[ref]*Entry, rec record) {
	at := rec.ref()
	e := found[at]
	if e == nil {
		e = &Entry{ref: at}
		found[at] = e
	}
	switch rec.Type {
	case typeAccepted:
		e.accepted = rec.accepted()
	case typeEnded:
		if e.accepted.Request.ID == "" {
			e.accepted = rec.accepted()
		}
		if !e.ended() {
			e.ending = rec.ending()
		}
	case typeResponse:
		if len(rec.Response) <= MaxResponse {
			e.response = rec.Response
		}
	}
}

// merge makes what was found in another folder known here.
func (l *Ledger) merge(found map[ref]*Entry) {
	l.mu.Lock()
	defer l.mu.Unlock()
	order := make([]*Entry, 0, len(found))
	for at, e := range found {
		if e.accepted.Request.ID != "" && l.byRef[at] == nil {
			order = append(order, e)
		}
	}
	slices.SortFunc(order, func(a, b *Entry) int { return a.ref.compare(b.ref) })
	for _, e := range order {
		e.ledger = l
		l.last = max(l.last, e.ref.n)
		l.byRef[e.ref] = e
		if had := l.byKey[e.key()]; had == nil || had.ref.compare(e.ref) < 0 {
			l.byKey[e.key()] = e
		}
		if e.ended() {
			l.remember(e, e.ending)
		}
	}
	slices.SortStableFunc(l.ended, func(a, b *Entry) int { return a.since.Compare(b.since) })
	l.trim()
}

// still is a remembered end as it is written.
type still struct {
	ref  ref
	past Past
}

// carry writes to the present file what counts of files: the acceptance of every
// run that is open, copied, and every end that is remembered, from memory. All of
// it is on the disk when it returns. It goes on beside the writers of new lines.
func (l *Ledger) carry(files []string) error {
	w := batch{journal: l.journal}
	l.mu.Lock()
	ends := make([]still, len(l.ended))
	for i, e := range l.ended {
		ends[i] = still{e.ref, e.past()}
	}
	l.mu.Unlock()
	err := l.readAll(files, func(rec record, line []byte) error {
		if rec.Type != typeAccepted || !l.open(rec.ref()) {
			return nil
		}
		return w.add(line)
	})
	if err != nil {
		return err
	}
	for _, s := range ends {
		line, err := encodeEnded(s.ref, s.past)
		if err == nil {
			err = w.add(line)
		}
		if err == nil && s.past.Response != nil {
			if line, err = encodeResponse(s.ref, s.past.Response); err == nil {
				err = w.add(line)
			}
		}
		if err != nil {
			return err
		}
	}
	return w.end()
}

// open reports whether a run is known and has not ended.
func (l *Ledger) open(at ref) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.byRef[at]
	return e != nil && !e.ended()
}

// batch writes many lines in few writes, none of them so large that others
// would have to wait for long.
type batch struct {
	journal *disk.Journal
	lines   [][]byte
	size    int
	mark    disk.Mark
}

const batchSize = 64 << 10

func (b *batch) add(line []byte) error {
	b.lines, b.size = append(b.lines, line), b.size+len(line)
	if b.size < batchSize {
		return nil
	}
	return b.write()
}

func (b *batch) write() error {
	if len(b.lines) == 0 {
		return nil
	}
	mark, err := b.journal.Write(b.lines...)
	b.lines, b.size, b.mark = b.lines[:0], 0, cmp.Or(mark, b.mark)
	return err
}

func (b *batch) end() error {
	if err := b.write(); err != nil {
		return err
	}
	return b.journal.Sync(b.mark)
}
