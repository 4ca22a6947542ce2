package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"openclaw/internal/chat"
	"openclaw/internal/disk"
	"openclaw/internal/session"
)

// legacyState finds folders of earlier releases in the state folder. A gateway moves
// them by itself when it starts.
func (d *doctor) legacyState(context.Context) []Finding {
	const check = "old state"
	snap := d.snapshot()
	if !snap.Valid {
		return nil
	}
	moves := Moves{d.Paths, d.Env, snap.Config, d.Now}
	dirs := moves.LegacyState()
	if len(dirs) == 0 {
		return nil
	}
	for i, dir := range dirs {
		dirs[i] = d.Paths.Short(dir)
	}
	f := problem(check, strings.Join(dirs, " and ")+" are from an earlier release")
	if len(dirs) == 1 {
		f.Text = dirs[0] + " is from an earlier release"
	}
	f.Repair = &Repair{Title: "move what is in there to the default agent", Safe: true, Do: moves.Run}
	return []Finding{f}
}

// sessionKeys finds sessions under keys of earlier releases.
func (d *doctor) sessionKeys(ctx context.Context) []Finding {
	const check = "session keys"
	c := d.snapshot().Config
	var found []Finding
	for _, id := range c.AgentIDs() {
		path := c.SessionStore(d.Paths, id)
		if !exists(path) {
			continue
		}
		var keys []string
		err := d.withStore(id, func(st *session.Store) error {
			for _, m := range st.Misplaced(CanonicalKey(id)) {
				keys = append(keys, m.From)
			}
			return nil
		})
		if err != nil || len(keys) == 0 {
			continue // a store that cannot be read is told of by another check
		}
		f := problem(check, fmt.Sprintf("%d session(s) of agent %s have keys of an earlier release: %s", len(keys), id, strings.Join(keys[:min(3, len(keys))], ", ")))
		f.Repair = &Repair{Title: "give them the keys under which they are looked for", Safe: true, Do: func(ctx context.Context) ([]string, error) {
			return d.rekey(ctx, id, path)
		}}
		found = append(found, f)
	}
	return found
}

// CanonicalKey returns the form of session keys in the store of an agent.
func CanonicalKey(agent string) func(key string) string {
	return func(key string) string { return chat.CanonicalKey(key, agent, false) }
}

// withStore opens the sessions of an agent for a moment.
func (d *doctor) withStore(id string, do func(*session.Store) error) error {
	st, err := session.Open(session.Config{Dir: d.Paths.State("agents", id, "sessions"), Path: d.snapshot().Config.SessionStore(d.Paths, id), AgentID: id, Now: d.Now})
	if err != nil {
		return err
	}
	return errors.Join(do(st), st.Close())
}

func (d *doctor) rekey(ctx context.Context, id, path string) (done []string, err error) {
	data, err := disk.ReadFile(path, maxStore)
	if err != nil {
		return nil, err
	}
	aside := fmt.Sprintf("%s.legacy-%d", path, d.Now().UnixMilli())
	if err := disk.WriteFile(aside, data, 0o600); err != nil {
		return nil, fmt.Errorf("keep a copy: %w", err)
	}
	err = d.withStore(id, func(st *session.Store) error {
		moved, err := st.Rekey(ctx, CanonicalKey(id))
		for _, m := range moved {
			line := "moved " + m.From + " to " + m.To
			if m.Dropped {
				line = "dropped " + m.From + "; " + m.To + " was used later"
			}
			done = append(done, line)
		}
		return err
	})
	return append(done, "the index before is kept as "+d.Paths.Short(aside)), err
}

// whatsAppFile matches what the WhatsApp connection of earlier releases kept in the
// folder of all credentials.
var whatsAppFile = regexp.MustCompile(`^(creds\.json(\.bak)?|(app-state-sync|session|sender-key|pre-key)-.*\.json)$`)

// whatsApp finds credentials of WhatsApp that lie among all others.
func (d *doctor) whatsApp(context.Context) []Finding {
	const check = "WhatsApp credentials"
	from := firstSet(d.Env, "OPENCLAW_OAUTH_DIR", "CLAWDBOT_OAUTH_DIR")
	if from == "" {
		from = d.Paths.State("credentials")
	}
	entries, err := os.ReadDir(from)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return []Finding{problem(check, err.Error())}
	}
	wanted := func(name string) bool { return whatsAppFile.MatchString(name) }
	if !slices.ContainsFunc(entries, func(e os.DirEntry) bool { return e.Type().IsRegular() && wanted(e.Name()) }) {
		return nil
	}
	to := filepath.Join(from, "whatsapp", "default")
	if exists(filepath.Join(to, "creds.json")) {
		return []Finding{note(check, fmt.Sprintf("%s holds old ones; %s is used", d.Paths.Short(from), d.Paths.Short(to)))}
	}
	f := problem(check, "they lie in "+d.Paths.Short(from)+", as in earlier releases")
	f.Repair = &Repair{Title: "move them to the account default", Safe: true, Do: func(context.Context) ([]string, error) {
		n, err := moveFiles(from, to, wanted)
		return []string{fmt.Sprintf("moved %d file(s) to %s", n, d.Paths.Short(to))}, err
	}}
	return []Finding{f}
}
