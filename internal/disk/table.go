package disk

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"os"
	"slices"
	"sync"
)

// slackBytes is what a table's file may hold beyond twice its content.
const slackBytes = 256 << 10

// Table is a small map that survives the end of the process and of the machine: it
// lives in memory and in one file of lines, one line a transaction. A line that a
// crash cut short is dropped. Its methods are safe for concurrent use, callers that
// come together share one sync, and it starts no goroutine. Only one process may
// have the file open; the owner of the folder sees to that.
type Table struct {
	path string

	mu      sync.Mutex
	rows    map[string]row
	serial  uint64 // of the newest row
	file    *AppendFile
	size    int64 // of the file
	live    int64 // bytes of the rows
	written uint64
	broken  bool // the file may lack something: write it anew

	syncing sync.Mutex // held during a sync; taken before mu
	synced  uint64
}

type row struct {
	serial uint64
	value  json.RawMessage
}

// Change sets the value of a key, which must be JSON, or deletes it when the value
// is nil.
type Change struct {
	Key   string
	Value json.RawMessage
}

type pair struct {
	key   string
	value json.RawMessage
}

func (p pair) MarshalJSON() ([]byte, error) {
	key, err := json.Marshal(p.key)
	if err != nil {
		return nil, err
	}
	if p.value == nil {
		return slices.Concat([]byte("["), key, []byte("]")), nil
	}
	return slices.Concat([]byte("["), key, []byte(","), p.value, []byte("]")), nil
}

func (p *pair) UnmarshalJSON(data []byte) error {
	var parts []json.RawMessage
	if err := json.Unmarshal(data, &parts); err != nil {
		return err
	}
	if len(parts) < 1 || len(parts) > 2 {
		return errors.New("want [key] or [key, value]")
	}
	if len(parts) == 2 {
		p.value = parts[1]
	}
	return json.Unmarshal(parts[0], &p.key)
}

// OpenTable reads the table in the file path, which the first Apply creates with mode
// 0600. The folder must exist. Lines that cannot be read are left out; the file keeps
// them beside it, as path.bad, when it is written anew.
func OpenTable(path string) (*Table, error) {
	t := &Table{path: path, rows: map[string]row{}}
	if err := t.read(); err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	f, err := OpenAppend(path, 0o600)
	if err != nil {
		return nil, err
	}
	t.file = f
	return t, nil
}

func (t *Table) read() error {
	f, err := os.Open(t.path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	var bad [][]byte
	r := bufio.NewReader(f)
	for {
		line, err := r.ReadBytes('\n')
		t.size += int64(len(line))
		if err != nil && err != io.EOF {
			return err
		}
		if err == io.EOF {
			t.broken = len(line) > 0 // never acknowledged: it must not come back
			break
		}
		var pairs []pair
		if json.Unmarshal(line, &pairs) != nil {
			if len(bytes.TrimSpace(line)) > 0 {
				bad = append(bad, bytes.Clone(line))
			}
			continue
		}
		for _, p := range pairs {
			t.set(p.key, p.value)
		}
	}
	if len(bad) > 0 {
		t.broken = true // the next change writes the file anew
		return WriteFile(t.path+".bad", bytes.Join(bad, nil), 0o600)
	}
	return nil
}

func (t *Table) set(key string, value json.RawMessage) {
	old, had := t.rows[key]
	t.live += int64(len(value) - len(old.value))
	switch {
	case value == nil:
		delete(t.rows, key)
	case had:
		t.rows[key] = row{old.serial, value}
	default:
		t.serial++
		t.rows[key] = row{t.serial, value}
	}
}

// Get returns the value of a key; it must not be changed.
func (t *Table) Get(key string) (json.RawMessage, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	r, ok := t.rows[key]
	return r.value, ok
}

// Len returns the number of keys.
func (t *Table) Len() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.rows)
}

// All returns the keys and values as they are now, in the order in which the keys
// were first set.
func (t *Table) All() iter.Seq2[string, json.RawMessage] {
	t.mu.Lock()
	pairs := t.sorted()
	t.mu.Unlock()
	return func(yield func(string, json.RawMessage) bool) {
		for _, p := range pairs {
			if !yield(p.key, p.value) {
				return
			}
		}
	}
}

func (t *Table) sorted() []pair {
	keys := make([]string, 0, len(t.rows))
	for key := range t.rows {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, func(a, b string) int { return cmp.Compare(t.rows[a].serial, t.rows[b].serial) })
	pairs := make([]pair, len(keys))
	for i, key := range keys {
		pairs[i] = pair{key, t.rows[key].value}
	}
	return pairs
}

// Apply makes all changes or none, and returns when they are on the disk. After an
// error of a sync it is not known whether they are; the values in memory are the new
// ones and the next Apply writes everything again.
func (t *Table) Apply(changes ...Change) error {
	if len(changes) == 0 {
		return nil
	}
	line, err := encode(changes)
	if err != nil {
		return fmt.Errorf("change %s: %w", t.path, err)
	}
	mark, done, err := t.write(line, changes)
	if err != nil || done {
		return err
	}
	return t.sync(mark)
}

func encode(changes []Change) ([]byte, error) {
	pairs := make([]pair, len(changes))
	for i, c := range changes {
		if c.Value != nil && !json.Valid(c.Value) {
			return nil, fmt.Errorf("value of %q is not JSON", c.Key)
		}
		pairs[i] = pair{c.Key, c.Value}
	}
	return json.Marshal(pairs) // compacts the values
}

// write puts the line into the file; done means that it is on the disk already.
func (t *Table) write(line []byte, changes []Change) (mark uint64, done bool, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.file == nil {
		return 0, false, fmt.Errorf("change %s: %w", t.path, os.ErrClosed)
	}
	if t.broken || t.size > 2*t.live+slackBytes {
		return 0, true, t.rewrite(changes)
	}
	if err := t.file.Append(false, line); err != nil {
		return 0, false, err
	}
	t.size += int64(len(line)) + 1
	for _, c := range changes {
		t.set(c.Key, c.Value)
	}
	t.written++
	return t.written, false, nil
}

// rewrite makes the changes and replaces the file by one that holds just the rows.
func (t *Table) rewrite(changes []Change) error {
	was, live, serial := t.rows, t.live, t.serial
	t.rows = make(map[string]row, len(was))
	maps.Copy(t.rows, was)
	for _, c := range changes {
		t.set(c.Key, c.Value)
	}
	var size int64
	err := Replace(t.path, 0o600, func(w io.Writer) error {
		for _, p := range t.sorted() {
			line, err := json.Marshal([]pair{p})
			if err != nil {
				return err
			}
			if _, err := w.Write(append(line, '\n')); err != nil {
				return err
			}
			size += int64(len(line)) + 1
		}
		return nil
	})
	if err != nil {
		t.rows, t.live, t.serial = was, live, serial
		return err
	}
	f, err := OpenAppend(t.path, 0o600)
	if err != nil {
		t.broken = true
		return err
	}
	t.file.Close()
	t.file, t.size, t.broken = f, size, false
	t.written++
	return nil
}

// sync returns when the write mark is on the disk.
func (t *Table) sync(mark uint64) error {
	t.syncing.Lock()
	defer t.syncing.Unlock()
	if t.synced >= mark {
		return nil // somebody's sync came after our write
	}
	t.mu.Lock()
	f, upTo := t.file, t.written
	t.mu.Unlock()
	if f == nil {
		return fmt.Errorf("change %s: %w", t.path, os.ErrClosed)
	}
	err := f.Sync()
	if errors.Is(err, os.ErrClosed) {
		return nil // the file was written anew with everything in it, and synced
	}
	if err != nil {
		t.mu.Lock()
		t.broken = true
		t.mu.Unlock()
		return err
	}
	t.synced = upTo
	return nil
}

// Close closes the file; what Apply acknowledged is in it. Later calls do nothing.
func (t *Table) Close() error {
	t.syncing.Lock()
	defer t.syncing.Unlock()
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.file == nil {
		return nil
	}
	err := t.file.Close()
	t.file = nil
	return err
}
