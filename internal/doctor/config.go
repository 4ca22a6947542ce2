package doctor

import (
	"context"
	"fmt"
	"os"
	"strings"

	"openclaw/internal/config"
	"openclaw/internal/disk"
)

// maxConfig bounds a config file that is copied.
const maxConfig = 16 << 20

// configFile checks that the file can be read and used.
func (d *doctor) configFile(context.Context) []Finding {
	const check = "config"
	snap := d.snapshot()
	if !snap.Exists {
		return []Finding{note(check, "there is no config file at "+d.Paths.Short(snap.Path), d.Program+" setup makes one")}
	}
	var found []Finding
	for _, i := range snap.Issues {
		found = append(found, problem(check, i.String()))
	}
	if len(snap.Issues) > 0 {
		last := &found[len(found)-1]
		last.Hints = []string{"correct it in " + d.Paths.Short(snap.Path)}
		last.Repair = d.restoreBackup(snap)
	}
	if len(snap.LegacyIssues) > 0 {
		found = append(found, d.legacy(snap))
	}
	return or(found, check, d.Paths.Short(snap.Path)+" is valid")
}

// restoreBackup offers the newest valid copy of a file that cannot be read at all.
func (d *doctor) restoreBackup(snap *config.Snapshot) *Repair {
	if len(snap.Issues) != 1 || snap.Issues[0].Path != "" {
		return nil // single values are wrong; going back would lose the rest
	}
	for _, suffix := range []string{".bak", ".bak.1", ".bak.2", ".bak.3", ".bak.4"} {
		paths := d.Paths
		paths.ConfigPath += suffix
		old := config.Load(paths, d.Env)
		if !old.Exists || !old.Valid {
			continue
		}
		return &Repair{Title: "go back to the copy " + d.Paths.Short(paths.ConfigPath), Do: func(context.Context) ([]string, error) {
			aside := fmt.Sprintf("%s.broken-%d", snap.Path, d.Now().UnixMilli())
			if err := disk.WriteFile(aside, []byte(snap.Raw), 0o600); err != nil {
				return nil, fmt.Errorf("keep the broken file: %w", err)
			}
			if err := disk.WriteFile(snap.Path, []byte(old.Raw), 0o600); err != nil {
				return nil, fmt.Errorf("restore the config file: %w", err)
			}
			return []string{"restored " + d.Paths.Short(paths.ConfigPath), "the broken file is kept as " + d.Paths.Short(aside)}, nil
		}}
	}
	return nil
}

// legacy offers to move keys of earlier releases.
func (d *doctor) legacy(snap *config.Snapshot) Finding {
	var lines []string
	for _, i := range snap.LegacyIssues {
		lines = append(lines, i.String())
	}
	f := problem("config", "keys of an earlier release: "+strings.Join(lines, "; "))
	if tree, object := snap.Parsed.(map[string]any); object {
		if ops, done := migrate(tree); len(ops) > 0 {
			f.Repair = &Repair{Title: "move them to where they live now", Safe: true, Do: func(ctx context.Context) ([]string, error) {
				return done, d.edit(ctx, ops...)
			}}
		}
	}
	return f
}

// configKeys finds keys that nobody knows, and the ones that work as an alias.
func (d *doctor) configKeys(context.Context) []Finding {
	const check = "config keys"
	snap := d.snapshot()
	if !snap.Exists || !snap.Valid {
		return nil
	}
	var found []Finding
	var ops []config.Op
	var done []string
	for _, w := range snap.Warnings {
		if !strings.HasPrefix(w.Message, "unknown key") || strings.HasPrefix(w.Path, "agent.") {
			continue
		}
		found = append(found, note(check, w.String()))
		if path, ok := findPath(snap.Parsed, w.Path); ok {
			ops = append(ops, config.Op{Path: path, Unset: true})
			done = append(done, "removed "+w.Path)
		}
	}
	if len(ops) > 0 {
		found[len(found)-1].Repair = &Repair{Title: "remove the unknown keys", Do: func(ctx context.Context) ([]string, error) {
			return done, d.edit(ctx, ops...)
		}}
	}
	if tree, object := snap.Parsed.(map[string]any); object && tree["agent"] != nil {
		f := note(check, "the block agent{} is an old spelling of agents.defaults{}")
		if ops, done := migrateAgent(tree); len(ops) > 0 {
			f.Repair = &Repair{Title: "move its keys to agents.defaults", Safe: true, Do: func(ctx context.Context) ([]string, error) {
				return done, d.edit(ctx, ops...)
			}}
		}
		found = append(found, f)
	}
	return or(append(found, d.oldSpelling(snap)...), check, "all keys are known")
}

// oldSpelling offers to move keys that are ignored, or still work, under an old name.
func (d *doctor) oldSpelling(snap *config.Snapshot) []Finding {
	tree, object := snap.Parsed.(map[string]any)
	if !object {
		return nil
	}
	var found []Finding
	for _, path := range []string{"gateway.token", "messages.tts.enabled"} {
		if _, set := config.Lookup(tree, strings.Split(path, ".")...); set {
			found = append(found, note("config keys", path+" is an old spelling"))
		}
	}
	if len(found) == 0 {
		return nil
	}
	if ops, done := migrate(tree); len(ops) > 0 {
		found[len(found)-1].Repair = &Repair{Title: "move it to where it lives now", Safe: true, Do: func(ctx context.Context) ([]string, error) {
			return done, d.edit(ctx, ops...)
		}}
	}
	return found
}

// findPath finds the value that a dotted path means; keys may hold dots.
func findPath(tree any, dotted string) ([]string, bool) {
	parts := strings.Split(dotted, ".")
	return walkPath(tree, parts, nil)
}

func walkPath(v any, parts, path []string) ([]string, bool) {
	if len(parts) == 0 {
		return path, true
	}
	for n := len(parts); n > 0; n-- {
		key := strings.Join(parts[:n], ".")
		if next, ok := config.Lookup(v, key); ok {
			if found, ok := walkPath(next, parts[n:], append(path[:len(path):len(path)], key)); ok {
				return found, true
			}
		}
	}
	return nil, false
}

// configMode checks that nobody else may read the file, which may hold secrets.
func (d *doctor) configMode(context.Context) []Finding {
	const check = "config permissions"
	info, err := os.Stat(d.Paths.ConfigPath)
	if err != nil || info.Mode().Perm()&0o077 == 0 {
		return nil
	}
	f := problem(check, fmt.Sprintf("%s can be read by others (mode %04o)", d.Paths.Short(d.Paths.ConfigPath), info.Mode().Perm()))
	f.Repair = tighten("make it private", d.Paths.ConfigPath, 0o600)
	return []Finding{f}
}

// tighten is the repair of permissions that are too wide.
func tighten(title, path string, mode os.FileMode) *Repair {
	return &Repair{Title: title, Safe: true, Do: func(context.Context) ([]string, error) {
		if err := os.Chmod(path, mode); err != nil {
			return nil, fmt.Errorf("change permissions: %w", err)
		}
		return []string{fmt.Sprintf("%s has mode %04o now", path, mode)}, nil
	}}
}
