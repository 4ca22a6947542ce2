package session

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"openclaw/internal/disk"
)

// maxIndex bounds a sessions.json that has to be read as a whole because it is
// not plain JSON.
const maxIndex = 512 << 20

// stamp identifies one state of a file; the zero stamp is a missing file.
type stamp struct {
	info os.FileInfo
	size int64
	time time.Time
}

func stampOf(info os.FileInfo) stamp {
	return stamp{info: info, size: info.Size(), time: info.ModTime()}
}

// matches reports whether info is the state s was taken from; nil info means
// that the file is missing.
func (s stamp) matches(info os.FileInfo) bool {
	if s.info == nil || info == nil {
		return s.info == nil && info == nil
	}
	return os.SameFile(s.info, info) && s.size == info.Size() && s.time.Equal(info.ModTime())
}

func statFile(path string) (os.FileInfo, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return info, err
}

// lookAgain notices changes that other programs made to sessions.json. It costs
// one clock read most of the time and never waits for a fold.
func (s *Store) lookAgain() {
	now := s.now()
	s.mu.Lock()
	due := now.Sub(s.checked) >= checkEvery || now.Before(s.checked)
	if due {
		s.checked = now
	}
	s.mu.Unlock()
	if !due {
		return
	}
	select {
	case s.folding <- struct{}{}:
		defer release(s.folding)
		if err := s.refresh(); err != nil {
			s.log.Warn("session index not readable", "path", s.path, "err", err)
		}
	default: // a fold looks itself
	}
}

func (s *Store) refreshNow() error {
	if err := acquire(context.Background(), s.folding); err != nil {
		return err
	}
	defer release(s.folding)
	return s.refresh()
}

// refresh brings the records in line with sessions.json. The caller holds
// folding, or is Open.
func (s *Store) refresh() error {
	info, err := statFile(s.path)
	if err != nil {
		return err
	}
	s.mu.Lock()
	same := s.stamp.matches(info)
	s.mu.Unlock()
	if same {
		return nil
	}
	loaded, err := s.load()
	if err != nil {
		return err
	}
	s.merge(loaded)
	return nil
}

// index is what was read from sessions.json.
type index struct {
	stamp     stamp
	recs      map[string]*record
	irregular bool
	damaged   bool
}

func (s *Store) load() (index, error) {
	f, err := os.Open(s.path)
	if errors.Is(err, fs.ErrNotExist) {
		return index{recs: map[string]*record{}}, nil
	}
	if err != nil {
		return index{}, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return index{}, err
	}
	if !info.Mode().IsRegular() {
		return index{}, fmt.Errorf("read %s: is not a regular file", s.path)
	}
	x := index{stamp: stampOf(info), recs: map[string]*record{}}
	err = scanObject(f, func(key string, off int64, raw []byte) error {
		if len(raw) > 1<<30 {
			return errSyntax
		}
		return x.add(key, off, raw)
	})
	if err == nil {
		return x, nil
	}
	if !errors.Is(err, errSyntax) && !errors.Is(err, errShort) {
		return index{}, fmt.Errorf("read %s: %w", s.path, err)
	}
	return s.loadLenient(x.stamp)
}

// add takes one member of sessions.json. The big fields stay on disk, and so does
// what is no entry at all.
func (x *index) add(key string, off int64, raw []byte) error {
	rec := &record{key: key, place: place{off: off, size: int32(len(raw))}}
	if raw[0] == '{' {
		rec.entry = new(Entry)
		err := rec.entry.read(raw, func(name string, value []byte) bool {
			i := slices.Index(bigFields[:], name)
			if i < 0 || value[0] != '{' {
				return false
			}
			// value is a part of raw, so the capacities tell its offset.
			rec.place.big[i] = span{off: int32(cap(raw) - cap(value)), size: int32(len(value))}
			return true
		})
		if err != nil {
			return err
		}
	}
	if x.recs[key] != nil {
		x.irregular = true // a repeated key: the last one counts
	}
	x.recs[key] = rec
	return nil
}

// loadLenient reads a file that is no plain JSON: as JSON5, or as damaged, which
// is empty. What it gives is kept in memory as a whole until the next fold.
func (s *Store) loadLenient(st stamp) (index, error) {
	data, err := disk.ReadFile(s.path, maxIndex)
	if err != nil {
		return index{}, err
	}
	x := index{stamp: st, recs: map[string]*record{}, irregular: true}
	if plain, err := standardize(data); err == nil && plain[0] == '{' {
		err = members(plain, func(key, raw []byte) error {
			if raw[0] != '{' {
				return nil
			}
			e := new(Entry)
			if err := e.UnmarshalJSON(raw); err != nil {
				return err
			}
			name := unquote(key)
			x.recs[name] = &record{key: name, entry: e}
			return nil
		})
		if err == nil {
			return x, nil
		}
	}
	x.recs, x.damaged = map[string]*record{}, true
	if len(data) > 0 {
		s.copyAside(data)
	}
	return x, nil
}

// copyAside saves a damaged index before anything replaces it, unless the same
// bytes were saved before.
func (s *Store) copyAside(data []byte) {
	prefix := filepath.Base(s.path) + ".corrupt-"
	dir := filepath.Dir(s.path)
	copies, _ := os.ReadDir(dir) // the folder was readable a moment ago
	for _, c := range copies {
		if !strings.HasPrefix(c.Name(), prefix) {
			continue
		}
		if saved, err := disk.ReadFile(filepath.Join(dir, c.Name()), int64(len(data))); err == nil && bytes.Equal(saved, data) {
			s.warnDamaged(filepath.Join(dir, c.Name()))
			return
		}
	}
	to := fmt.Sprintf("%s.corrupt-%d", s.path, s.now().UnixMilli())
	if err := disk.WriteFile(to, data, 0o600); err != nil {
		s.log.Error("session index is damaged and could not be copied aside", "path", s.path, "err", err)
		return
	}
	s.warnDamaged(to)
}

func (s *Store) warnDamaged(kept string) {
	s.log.Warn("session index is damaged; it is treated as empty and a copy was kept", "path", s.path, "copy", kept)
}

// merge makes x the base of the records and keeps our changes that are not in it
// yet, unless the other program's entry is newer. A file that was damaged while
// we run does not take away what we know.
func (s *Store) merge(x index) {
	s.mu.Lock()
	defer s.mu.Unlock()
	old, known := s.recs, s.stamp.info != nil
	s.stamp, s.irregular = x.stamp, x.irregular
	if x.damaged && known {
		for _, rec := range old {
			rec.place = place{}
		}
		s.rewrite = true
		s.markDirty()
		return
	}
	s.recs, s.byID, s.byLabel, s.live = x.recs, map[string]string{}, map[string]string{}, 0
	s.shared, s.sorted = false, nil
	for key, mine := range old {
		if mine.at == 0 {
			continue
		}
		theirs := x.recs[key]
		if theirs != nil && theirs.entry != nil && theirs.entry.UpdatedAt > mine.at {
			continue
		}
		kept := *mine
		kept.place = place{}
		if theirs != nil {
			kept.place = theirs.place
		}
		x.recs[key] = &kept
	}
	for _, rec := range x.recs {
		s.recs[rec.key] = nil // put counts what it replaces; nothing is replaced here
		s.put(rec)
	}
}
