package session

import (
	"bufio"
	"bytes"
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
	"strings"

	"openclaw/internal/disk"
)

// The journal is a JSON lines file beside the index: a header, then one record
// per change with the whole entry, or null for a deletion. A new file is begun
// with each fold, numbered upwards, and older ones are removed when the index
// holds what they say; so replaying a file twice is harmless.
const (
	journalFormat  = "openclaw-sessions-journal"
	journalVersion = 1
	journalLimit   = 4 << 20 // bytes after which a fold is due at once
)

type journalHeader struct {
	Type      string `json:"type"`
	Version   int    `json:"version"`
	PID       int    `json:"pid"`
	StartedAt int64  `json:"startedAt"`
}

type journalRecord struct {
	At    int64           `json:"at"` // Unix ms, not before any time in the entry
	Key   string          `json:"key"`
	Entry json.RawMessage `json:"entry"`
}

func journalLine(r *record) ([]byte, error) {
	entry := []byte("null")
	if r.entry != nil {
		var err error
		if entry, err = r.entry.MarshalJSON(); err != nil {
			return nil, err
		}
	}
	line := make([]byte, 0, len(entry)+len(r.key)+48)
	line = strconv.AppendInt(append(line, `{"at":`...), r.at, 10)
	line = append(append(line, `,"key":`...), quote(r.key)...)
	line = append(append(line, `,"entry":`...), entry...)
	line = append(line, '}')
	if bytes.IndexByte(line, '\n') >= 0 {
		var compact bytes.Buffer // a raw field with layout of another program
		if err := json.Compact(&compact, line); err != nil {
			return nil, err
		}
		line = compact.Bytes()
	}
	return line, nil
}

func (s *Store) journalPath(serial uint64) string {
	return filepath.Join(filepath.Dir(s.path), journalName+"-"+strconv.FormatUint(serial, 10))
}

// appendJournal writes lines durably, to a new file when there is none; the
// caller holds flushing.
func (s *Store) appendJournal(lines [][]byte) error {
	if s.journal == nil {
		path := s.journalPath(s.serial + 1)
		f, err := disk.OpenAppend(path, 0o600)
		if err != nil {
			return fmt.Errorf("open session journal: %w", err)
		}
		s.journal, s.serial = f, s.serial+1
		header, err := json.Marshal(journalHeader{journalFormat, journalVersion, os.Getpid(), s.now().UnixMilli()})
		if err != nil {
			return err
		}
		lines = append([][]byte{header}, lines...)
	}
	if err := s.journal.Append(true, lines...); err != nil {
		// The next change starts a new file: after a failed sync nobody knows
		// what this one holds.
		s.sealJournal()
		return err
	}
	n := 0
	for _, line := range lines {
		n += len(line) + 1
	}
	s.mu.Lock()
	s.journaled += int64(n)
	s.mu.Unlock()
	return nil
}

// sealJournal ends the current file; the caller holds flushing.
func (s *Store) sealJournal() {
	if s.journal == nil {
		return
	}
	if err := s.journal.Close(); err != nil {
		s.log.Warn("session journal not closed", "err", err)
	}
	s.journal = nil
	s.sealed = append(s.sealed, s.journalPath(s.serial))
}

// own makes this process the owner of the journal, or reports that another live
// process is. The folder is created, since this precedes the first write.
func (s *Store) own(ctx context.Context) (bool, error) {
	if s.owned.Load() {
		return true, nil
	}
	if err := acquire(ctx, s.flushing); err != nil {
		return false, err
	}
	defer release(s.flushing)
	if s.owner != nil {
		return true, nil
	}
	if err := disk.MkdirAll(filepath.Dir(s.path)); err != nil {
		return false, err
	}
	if err := disk.MkdirAll(s.cfg.Dir); err != nil {
		return false, err
	}
	lock, err := disk.Lock(ctx, filepath.Join(filepath.Dir(s.path), journalName+".lock"), disk.LockOptions{
		Content: func() []byte { return lockContent("startedAt", strconv.FormatInt(s.now().UnixMilli(), 10)) },
		Timeout: -1,
	})
	if errors.Is(err, disk.ErrLocked) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	// What the owner before us left is ours to keep now.
	s.sealed = nil
	if err := s.replay(); err != nil {
		return false, errors.Join(err, lock.Unlock())
	}
	s.owner = lock
	s.owned.Store(true)
	return true, nil
}

// lockContent is the JSON of a lock file; value is raw JSON.
func lockContent(name, value string) []byte {
	return []byte(`{"pid":` + strconv.Itoa(os.Getpid()) + `,"` + name + `":` + value + `}`)
}

// journals lists the journal files, oldest first.
func (s *Store) journals() (serials []uint64, err error) {
	dir, err := os.ReadDir(filepath.Dir(s.path))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	for _, d := range dir {
		if tail, ok := strings.CutPrefix(d.Name(), journalName+"-"); ok {
			if n, err := strconv.ParseUint(tail, 10, 63); err == nil {
				serials = append(serials, n)
			}
		}
	}
	slices.Sort(serials)
	return serials, nil
}

// takeOver applies the changes that a killed process left in its journals. While
// their owner lives they are only read. It runs in Open.
func (s *Store) takeOver() error {
	serials, err := s.journals()
	if err != nil || len(serials) == 0 {
		return err
	}
	if owned, err := s.own(context.Background()); owned || err != nil {
		return err
	}
	return s.replay()
}

// replay applies all journals; the caller holds flushing, or is Open.
func (s *Store) replay() error {
	serials, err := s.journals()
	if err != nil {
		return err
	}
	for _, n := range serials {
		path := s.journalPath(n)
		f, err := os.Open(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue // folded by its owner this moment
		}
		if err != nil {
			return err
		}
		bad, err := readJournal(f, s.replayOne)
		f.Close()
		if err != nil {
			return fmt.Errorf("read %s: %w", path, err)
		}
		if bad > 0 {
			s.log.Warn("session journal has unreadable lines", "path", path, "lines", bad)
		}
		s.sealed, s.serial = append(s.sealed, path), max(s.serial, n)
	}
	if len(serials) > 0 {
		s.mu.Lock()
		s.markDirty()
		s.mu.Unlock()
	}
	return nil
}

// replayOne applies one record unless another program wrote a newer entry.
func (s *Store) replayOne(r journalRecord) {
	s.mu.Lock()
	defer s.mu.Unlock()
	rec := &record{key: r.Key, at: r.At}
	if old := s.recs[r.Key]; old != nil {
		if old.at == 0 && old.entry != nil && old.entry.UpdatedAt > r.At {
			return
		}
		rec.place = old.place
	}
	if string(r.Entry) != "null" {
		rec.entry = new(Entry)
		if rec.entry.UnmarshalJSON(r.Entry) != nil {
			return // checked by readJournal
		}
	}
	s.changes++
	rec.seq = s.changes
	s.put(rec)
}

// readJournal calls apply for each whole record. A torn last line is normal after
// a kill and not counted as bad.
func readJournal(r io.Reader, apply func(journalRecord)) (bad int, err error) {
	lines := bufio.NewReaderSize(r, readSize)
	for first := true; ; first = false {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return bad, nil
		}
		if err != nil {
			return bad, err
		}
		if first {
			var h journalHeader
			if json.Unmarshal(line, &h) == nil && h.Type == journalFormat {
				if h.Version > journalVersion {
					return bad, fmt.Errorf("written by a newer version (format %d, this program knows %d)", h.Version, journalVersion)
				}
				continue
			}
		}
		rec, ok := parseRecord(line)
		if !ok {
			bad++
			continue
		}
		apply(rec)
	}
}

func parseRecord(line []byte) (r journalRecord, ok bool) {
	if json.Unmarshal(line, &r) != nil || r.Key == "" || len(r.Entry) == 0 {
		return r, false
	}
	return r, r.Entry[0] == '{' || string(r.Entry) == "null"
}

// removeJournals deletes the files that a fold made superfluous; the caller
// holds flushing and owns the journal.
func (s *Store) removeJournals(paths []string) {
	for _, path := range paths {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			s.log.Warn("session journal not removed", "path", path, "err", err)
			s.sealed = append(s.sealed, path) // the next fold tries again
		}
	}
}
