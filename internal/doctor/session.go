package doctor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"openclaw/internal/chat"
	"openclaw/internal/config/json5"
	"openclaw/internal/disk"
	"openclaw/internal/session"
)

const (
	maxStore = 512 << 20
	// recentlyUsed is how young a session must be to be worth a remark.
	recentlyUsed = 24 * time.Hour
)

// sessionStores checks that every index of sessions can be read.
func (d *doctor) sessionStores(context.Context) []Finding {
	const check = "sessions"
	c := d.snapshot().Config
	var found []Finding
	count := 0
	for _, id := range c.AgentIDs() {
		path := c.SessionStore(d.Paths, id)
		data, err := disk.ReadFile(path, maxStore)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			found = append(found, problem(check, fmt.Sprintf("the index of agent %s cannot be read: %v", id, err)))
			continue
		}
		n, err := countEntries(data)
		if err != nil {
			found = append(found, d.damagedStore(check, id, path, data))
		}
		count += n
		if info, err := os.Stat(path); err == nil && info.Mode().Perm()&0o077 != 0 {
			f := problem(check, fmt.Sprintf("%s can be read by others (mode %04o)", d.Paths.Short(path), info.Mode().Perm()))
			f.Repair = tighten("make it private", path, 0o600)
			found = append(found, f)
		}
	}
	return or(found, check, fmt.Sprintf("%d in %d store(s)", count, len(c.AgentIDs())))
}

func countEntries(data []byte) (int, error) {
	var plain map[string]json.RawMessage
	if json.Unmarshal(data, &plain) == nil {
		return len(plain), nil
	}
	v, err := json5.Decode(string(data))
	if err != nil {
		return 0, err
	}
	m, ok := v.(map[string]any)
	if !ok {
		return 0, errors.New("not an object")
	}
	return len(m), nil
}

// damagedStore offers to begin a new index from the transcripts that are there.
func (d *doctor) damagedStore(check, agent, path string, data []byte) Finding {
	f := problem(check, fmt.Sprintf("the index of agent %s is damaged: %s", agent, d.Paths.Short(path)),
		"it counts as empty until then; the transcripts beside it are not touched")
	f.Repair = &Repair{Title: "set it aside and begin a new one", Do: func(context.Context) ([]string, error) {
		aside := fmt.Sprintf("%s.damaged-%d", path, d.Now().UnixMilli())
		if err := disk.WriteFile(aside, data, 0o600); err != nil {
			return nil, fmt.Errorf("keep the damaged index: %w", err)
		}
		if err := disk.WriteFile(path, []byte("{}\n"), 0o600); err != nil {
			return nil, fmt.Errorf("begin a new index: %w", err)
		}
		return []string{"kept the damaged index as " + d.Paths.Short(aside)}, nil
	}}
	return f
}

// transcripts checks that recent sessions have the transcript they name.
func (d *doctor) transcripts(context.Context) []Finding {
	const check = "transcripts"
	c := d.snapshot().Config
	var found []Finding
	seen := 0
	for _, id := range c.AgentIDs() {
		path := c.SessionStore(d.Paths, id)
		if !exists(path) {
			continue
		}
		dir := d.Paths.State("agents", id, "sessions")
		items, store, err := list(dir, path, id)
		if err != nil {
			found = append(found, problem(check, err.Error()))
			continue
		}
		var missing []string
		for _, it := range items {
			if d.Now().Sub(time.UnixMilli(it.Entry.UpdatedAt)) > recentlyUsed || it.Entry.SessionID == "" {
				continue
			}
			seen++
			file := store.TranscriptPath(*it.Entry)
			switch lines := countLines(file); {
			case lines == 0:
				missing = append(missing, it.Key)
			case lines == 1 && chat.IsMain(it.Key):
				found = append(found, note(check, fmt.Sprintf("the transcript of %s holds one line only: %s", it.Key, d.Paths.Short(file))))
			}
		}
		if len(missing) > 0 {
			shown := missing[:min(3, len(missing))]
			found = append(found, note(check, fmt.Sprintf("%d recent session(s) of agent %s have no transcript: %v", len(missing), id, shown),
				"a first turn that failed leaves none; anything else was moved or deleted from "+d.Paths.Short(dir)))
		}
	}
	return or(found, check, fmt.Sprintf("all %d recent sessions have one", seen))
}

// list reads a store without changing it.
func list(dir, path, agent string) ([]session.Item, *session.Store, error) {
	st, err := session.Open(session.Config{Dir: dir, Path: path, AgentID: agent})
	if err != nil {
		return nil, nil, err
	}
	items := slices.Clone(st.List())
	return items, st, st.Close()
}

// countLines counts up to two lines of a file; a missing file has none.
func countLines(path string) int {
	f, err := os.Open(filepath.Clean(path))
	if err != nil {
		return 0
	}
	defer f.Close() //nolint:errcheck // it was only read
	buf := make([]byte, 64<<10)
	lines := 0
	for lines < 2 {
		n, err := f.Read(buf)
		for _, c := range buf[:n] {
			if c == '\n' {
				lines++
			}
		}
		if err != nil {
			break
		}
	}
	return lines
}
