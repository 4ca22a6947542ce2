package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"openclaw/internal/chat"
	"openclaw/internal/config"
	"openclaw/internal/disk"
	"openclaw/internal/session"
)

// Moves says where the state of earlier releases goes. See docs/runtime.md#migrations.
type Moves struct {
	Paths  config.Paths
	Env    config.Env
	Config *config.Config
	Now    func() time.Time
}

// LegacyState lists the folders of earlier releases that [Moves.Run] would move,
// and changes nothing. It costs two looks at the disk.
func (m Moves) LegacyState() []string {
	var found []string
	for _, name := range []string{"sessions", "agent"} {
		dir := m.Paths.State(name)
		if info, err := os.Lstat(dir); err == nil && info.IsDir() && !m.inUse(dir) {
			found = append(found, dir)
		}
	}
	return found
}

// inUse reports whether the configuration names something in dir: then it is no
// leftover.
func (m Moves) inUse(dir string) bool {
	return slices.ContainsFunc(m.Config.AgentIDs(), func(id string) bool {
		return within(m.Config.SessionStore(m.Paths, id), dir) || within(m.Config.AgentDir(m.Paths, m.Env, id), dir)
	})
}

func within(path, dir string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

// Run moves sessions and the agent folder of earlier releases to where the default
// agent has them now, and returns a line for each thing it did. What is there
// already stays; what was moved from is kept beside it until somebody deletes it.
// Where nothing is left to do it does nothing, also after it was interrupted.
func (m Moves) Run(ctx context.Context) ([]string, error) {
	dirs := m.LegacyState()
	if len(dirs) == 0 {
		return nil, nil
	}
	lock, err := disk.Lock(ctx, m.Paths.State("migrate.lock"), disk.LockOptions{Timeout: 10 * time.Second})
	if err != nil {
		return nil, fmt.Errorf("move the state of an earlier release: %w", err)
	}
	defer lock.Unlock() //nolint:errcheck // a file left behind is stale at once
	var done []string
	for _, dir := range dirs {
		if !isDir(dir) {
			continue // another process was faster
		}
		step := m.sessions
		if filepath.Base(dir) == "agent" {
			step = m.agent
		}
		lines, err := step(ctx, dir)
		done = append(done, lines...)
		if err != nil {
			return done, fmt.Errorf("move the state of an earlier release: %w", err)
		}
	}
	return done, nil
}

// sessions moves <state>/sessions: transcripts first, then the index, which names
// them, then what is left out of the way.
func (m Moves) sessions(ctx context.Context, from string) ([]string, error) {
	id := m.Config.DefaultAgentID()
	to := m.Paths.State("agents", id, "sessions")
	n, err := moveFiles(from, to, func(name string) bool { return strings.HasSuffix(name, ".jsonl") })
	if err != nil {
		return nil, err
	}
	kept, err := m.mergeIndex(ctx, from, to, id)
	if err != nil {
		return nil, err
	}
	line := fmt.Sprintf("moved %d transcript(s) and %d session(s) to %s", n, kept, m.Paths.Short(to))
	return m.retire(from, []string{line})
}

// mergeIndex adds the sessions of the folder from to those of to; the newer entry
// of a key wins. It returns how many came over.
func (m Moves) mergeIndex(ctx context.Context, from, to, agent string) (n int, err error) {
	path := filepath.Join(from, "sessions.json")
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	old, err := session.Open(session.Config{Dir: from, AgentID: agent, Now: m.Now})
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, old.Close()) }()
	st, err := session.Open(session.Config{Dir: to, Path: m.Config.SessionStore(m.Paths, agent), AgentID: agent, Now: m.Now})
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	for _, it := range slices.Clone(old.List()) {
		e, ok := old.Get(it.Key)
		if !ok {
			continue
		}
		if filepath.Dir(e.SessionFile) == from {
			e.SessionFile = filepath.Join(to, filepath.Base(e.SessionFile))
		}
		came, err := adopt(ctx, st, chat.CanonicalKey(it.Key, agent, false), e)
		if err != nil {
			return n, err
		}
		if came {
			n++
		}
	}
	return n, nil
}

// adopt stores e under key unless what is there changed later. A label that
// another session has is left out.
func adopt(ctx context.Context, st *session.Store, key string, e session.Entry) (bool, error) {
	came := false
	put := func(have *session.Entry) error {
		came = have.UpdatedAt < e.UpdatedAt || have.SessionID == ""
		if !came {
			return session.Skip
		}
		*have = e.Clone()
		return nil
	}
	_, err := st.Update(ctx, key, put)
	if errors.Is(err, session.ErrLabelInUse) {
		e.Label = ""
		_, err = st.Update(ctx, key, put)
	}
	return came, err
}

// agent moves <state>/agent.
func (m Moves) agent(_ context.Context, from string) ([]string, error) {
	to := m.Config.AgentDir(m.Paths, m.Env, m.Config.DefaultAgentID())
	n, err := moveFiles(from, to, func(string) bool { return true })
	if err != nil {
		return nil, err
	}
	return m.retire(from, []string{fmt.Sprintf("moved %d file(s) of the agent to %s", n, m.Paths.Short(to))})
}

// retire removes an empty folder, and renames one that still holds something.
func (m Moves) retire(dir string, done []string) ([]string, error) {
	if os.Remove(dir) == nil {
		return done, nil
	}
	aside := fmt.Sprintf("%s.legacy-%d", dir, m.Now().UnixMilli())
	if err := disk.Move(dir, aside); err != nil {
		return done, err
	}
	return append(done, "what is left is kept as "+m.Paths.Short(aside)), nil
}

// moveFiles moves what is wanted from one folder to another, unless its name is
// taken there, and returns how many files went.
func moveFiles(from, to string, want func(name string) bool) (int, error) {
	entries, err := os.ReadDir(from)
	if err != nil {
		return 0, err
	}
	n := 0
	for _, e := range entries {
		if !want(e.Name()) {
			continue
		}
		err := disk.Move(filepath.Join(from, e.Name()), filepath.Join(to, e.Name()))
		if errors.Is(err, fs.ErrExist) {
			continue // it stays in the copy
		}
		if err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}
