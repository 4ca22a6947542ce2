package disk

import (
	"errors"
	"fmt"
	"os"
	"sync"
)

// Journal is a log of lines that many goroutines write to, kept in one file
// after the other. Write puts lines into the file, where they survive the end of
// this process; Sync puts them on the disk, where they survive the end of the
// machine, and callers that come together share one sync. It is safe for
// concurrent use and starts no goroutine.
//
//	mark, err := j.Write(line) // in the file, in the order of calls
//	err = j.Sync(mark)         // on the disk
type Journal struct {
	perm os.FileMode
	slot chan struct{} // one place, held while syncing

	mu      sync.Mutex // held for appends, not for syncs
	path    string
	head    [][]byte
	file    *AppendFile   // nil until the first Write
	old     []*AppendFile // rotated away and not synced yet
	size    int64         // of file
	written Mark
	synced  Mark
	lost    [2]Mark // first and last write of a file whose sync failed
	next    *flush  // those who wait for the next sync, nil for nobody
	err     error   // of a failed sync: nobody knows what the file holds
	closed  bool
}

// Mark is a place in a [Journal]: the number of a write.
type Mark uint64

// flush is a group of callers that share one sync.
type flush struct {
	done chan struct{} // closed when err is set
	err  error
}

// NewJournal returns a journal in the file path, which the first Write creates
// with mode perm, beginning with the lines of head. The folder must exist.
func NewJournal(path string, perm os.FileMode, head ...[]byte) *Journal {
	return &Journal{perm: perm, path: path, head: head, slot: make(chan struct{}, 1)}
}

// Write appends lines, all or none. They are in the file when it returns. A line
// must not hold a newline. After a failed sync every write fails until
// [Journal.Rotate].
func (j *Journal) Write(lines ...[]byte) (Mark, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	switch {
	case j.closed:
		return 0, fmt.Errorf("append to %s: %w", j.path, os.ErrClosed)
	case j.err != nil:
		return 0, j.err
	}
	if err := j.open(); err != nil {
		return 0, err
	}
	if j.size == 0 {
		lines = append(j.head[:len(j.head):len(j.head)], lines...)
	}
	if err := j.file.Append(false, lines...); err != nil {
		return 0, err
	}
	for _, line := range lines {
		j.size += int64(len(line)) + 1
	}
	j.written++
	return j.written, nil
}

// open makes file ready; j.mu is held.
func (j *Journal) open() error {
	if j.file != nil {
		return nil
	}
	f, err := OpenAppend(j.path, j.perm)
	if err != nil {
		return err
	}
	if j.size, err = f.Size(); err != nil {
		return errors.Join(err, f.Close())
	}
	j.file = f
	return nil
}

// Sync returns when the write m and all before it are on the disk. It does not
// give up early, because others may wait for the same sync.
func (j *Journal) Sync(m Mark) error {
	j.mu.Lock()
	switch {
	case j.lost[0] != 0 && j.lost[0] <= m && m <= j.lost[1]:
		defer j.mu.Unlock()
		return fmt.Errorf("sync a journal: an earlier sync failed and took this write with it")
	case m <= j.synced || j.err != nil:
		defer j.mu.Unlock()
		return j.err
	}
	b, first := j.next, false
	if b == nil {
		b, first = &flush{done: make(chan struct{})}, true
		j.next = b
	}
	j.mu.Unlock()
	if !first {
		<-b.done
		return b.err
	}
	// While this one waits for the sync before, others join it.
	j.slot <- struct{}{}
	if b.err == nil { // else the sync before failed, and this file with it
		b.err = j.flush(b)
	}
	<-j.slot
	close(b.done)
	return b.err
}

// flush syncs all that is written by now, for b, or for nobody in particular.
// The caller holds slot.
func (j *Journal) flush(b *flush) error {
	j.mu.Lock()
	if b != nil && j.next == b {
		j.next = nil // who comes from now on needs another sync
	}
	old, file, upTo := j.old, j.file, j.written
	j.old = nil
	j.mu.Unlock()

	var err error
	for _, f := range old {
		if err == nil {
			err = f.Sync()
		}
		_ = f.Close() // what it holds is synced, or the error says so
	}
	if file != nil && err == nil {
		err = file.Sync()
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if err != nil {
		j.err = err
		if j.next != nil { // their lines are in the same file
			j.next.err, j.next = err, nil
		}
		return err
	}
	j.synced = max(j.synced, upTo)
	return nil
}

// Rotate ends the file and lets the next Write begin a new one, path, with the
// lines of head. What was written before is on the disk when it returns, unless
// an earlier sync failed: then the journal starts afresh, and the caller must
// write again what it cannot do without.
func (j *Journal) Rotate(path string, head ...[]byte) error {
	j.slot <- struct{}{}
	defer func() { <-j.slot }()
	j.mu.Lock()
	if j.closed {
		defer j.mu.Unlock()
		return fmt.Errorf("append to %s: %w", j.path, os.ErrClosed)
	}
	file := j.file
	j.path, j.head, j.file, j.size = path, head, nil, 0
	if j.err != nil {
		j.lost = [2]Mark{j.synced + 1, j.written}
		j.err, j.synced = nil, j.written
		defer j.mu.Unlock()
		if file != nil {
			_ = file.Close() // its content is in doubt anyway
		}
		return nil
	}
	if file != nil {
		j.old = append(j.old, file)
	}
	j.mu.Unlock()
	return j.flush(nil)
}

// Path returns the file that takes the next line. It need not exist yet.
func (j *Journal) Path() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.path
}

// Size returns the length of the file in bytes, 0 when there is none yet.
func (j *Journal) Size() int64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.size
}

// Close syncs and closes the file. Later calls do nothing.
func (j *Journal) Close() error {
	j.slot <- struct{}{}
	defer func() { <-j.slot }()
	j.mu.Lock()
	if j.closed {
		defer j.mu.Unlock()
		return nil
	}
	j.closed = true
	err := j.err
	j.mu.Unlock()
	if err == nil {
		err = j.flush(nil)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.file != nil {
		if cerr := j.file.Close(); err == nil {
			err = cerr
		}
		j.file = nil
	}
	return err
}
