package config

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync/atomic"
	"time"

	"openclaw/internal/config/json5"
	"openclaw/internal/disk"
)

// Error is a change that was refused because of what it asked for. Message is a
// text that clients of the gateway know; see docs/protocol.md#config-set.
type Error struct {
	Message string
	Issues  []Issue // of the configuration that would have been written
}

func (e *Error) Error() string {
	text := e.Message
	for _, i := range e.Issues {
		text += "\n- " + i.String()
	}
	return text
}

// ErrNotFound is wrapped by the error for removing what is not in the file.
var ErrNotFound = errors.New("not set in the configuration file")

// Options says which file a [File] is.
type Options struct {
	Paths Paths
	// Env is the environment of the process as it was started.
	Env Env
	// AllowLastGood puts the newest valid backup in force when the file is invalid
	// at [Open]. Without it the caller refuses to start.
	AllowLastGood bool
	// InForce is a configuration that a program keeps when the file has become
	// invalid, as after a restart inside its process; nil for none.
	InForce *Snapshot
	// Version is written into meta.lastTouchedVersion.
	Version string
	// OnChange is told what [File.Run] found. It runs on Run's goroutine.
	OnChange func(Change)
	// Channels are the ids of messaging channels that can restart by themselves.
	Channels []string
	Log      *slog.Logger     // default: none
	Now      func() time.Time // default: the clock
}

// File is the configuration file of a running program. Its methods are safe for
// concurrent use.
type File struct {
	opts    Options
	current atomic.Pointer[Snapshot]
	turn    chan struct{} // holds a token while nobody writes
	written chan struct{} // tells Run about a write of ours; full means told
}

// Open reads the file; a missing or invalid one is no error, see
// [Snapshot.Err].
func Open(opts Options) *File {
	if opts.Log == nil {
		opts.Log = slog.New(slog.DiscardHandler)
	}
	if opts.Now == nil {
		opts.Now = time.Now
	}
	f := &File{opts: opts, turn: make(chan struct{}, 1), written: make(chan struct{}, 1)}
	f.turn <- struct{}{}
	s := Load(opts.Paths, opts.Env)
	if !s.Valid && opts.InForce != nil {
		s = keep(opts.InForce, s, "the file has become invalid; the configuration in force stays until it is repaired")
	}
	if !s.Valid && opts.AllowLastGood {
		s = lastGood(opts, s)
	}
	f.current.Store(s)
	return f
}

// keep returns good with a warning that says what is wrong with bad.
func keep(good, bad *Snapshot, warning string) *Snapshot {
	for _, issue := range bad.Problems() {
		warning += "\n- " + issue.String()
	}
	kept := *good
	kept.Warnings = append([]Issue{{"", warning}}, good.Warnings...)
	return &kept
}

// lastGood returns the newest valid backup with a warning, or s when there is
// none.
func lastGood(opts Options, s *Snapshot) *Snapshot {
	for i := range backups {
		path := disk.BackupName(s.Path, i)
		data, err := disk.ReadFile(path, maxFile)
		if err != nil {
			continue
		}
		good := evaluate(opts.Paths, opts.Env, string(data), true)
		if !good.Valid {
			continue
		}
		return keep(good, s, "the file is invalid; using "+path+" until it is repaired")
	}
	return s
}

// Snapshot returns the configuration in force: the last valid one that was read
// or written, or what [Open] found. It costs one pointer load.
func (f *File) Snapshot() *Snapshot { return f.current.Load() }

// Read reads the file as it is on disk now, valid or not, and changes nothing.
func (f *File) Read() *Snapshot { return Load(f.opts.Paths, f.opts.Env) }

// Set replaces the text of the file by raw. With an existing file baseHash must
// be its hash. Sentinels become the stored secrets; when raw was made from the
// resolved configuration, only the difference is written. Errors about the
// request are [*Error].
func (f *File) Set(ctx context.Context, raw, baseHash string) (*Snapshot, error) {
	return f.change(ctx, func(cur *Snapshot) (string, error) {
		if err := checkHash(cur, baseHash); err != nil {
			return "", err
		}
		return replacement(cur, raw)
	})
}

// Patch applies raw, a JSON5 object, as a JSON merge patch: null removes,
// objects merge, everything else replaces. The rules of [File.Set] hold.
func (f *File) Patch(ctx context.Context, raw, baseHash string) (*Snapshot, error) {
	return f.change(ctx, func(cur *Snapshot) (string, error) {
		if err := checkHash(cur, baseHash); err != nil {
			return "", err
		}
		if !cur.Valid {
			return "", &Error{"invalid config; fix before patching", cur.Problems()}
		}
		return patched(cur, raw)
	})
}

// Op is one change: Value is put at Path, or Path is removed with Unset. Values
// are JSON5 values; a path is as [ParsePath] returns it.
type Op struct {
	Path  []string
	Value any
	Unset bool
}

// Edit makes small changes, all or none, on whatever the file holds at that
// moment. Removing what is not there is [ErrNotFound]; a result that is invalid,
// or brings in unknown keys, is an [*Error].
func (f *File) Edit(ctx context.Context, ops ...Op) (*Snapshot, error) {
	return f.change(ctx, func(cur *Snapshot) (string, error) { return edited(cur, ops) })
}

// change runs fn on the file as it is and writes the text it returns, under one
// lock that other processes share.
func (f *File) change(ctx context.Context, fn func(cur *Snapshot) (string, error)) (*Snapshot, error) {
	if err := f.begin(ctx); err != nil {
		return nil, fmt.Errorf("change configuration: %w", err)
	}
	defer f.end()
	if f.opts.Env("OPENCLAW_NIX_MODE") == "1" {
		return nil, &Error{Message: "the configuration is managed by Nix (OPENCLAW_NIX_MODE=1) and read-only here"}
	}
	path := f.opts.Paths.ConfigPath
	if err := disk.MkdirAll(filepath.Dir(path)); err != nil {
		return nil, err
	}
	lock, err := disk.Lock(ctx, path+".lock", disk.LockOptions{Timeout: 5 * time.Second, Stale: staleLock})
	if err != nil {
		return nil, fmt.Errorf("change configuration %s: %w", path, err)
	}
	defer lock.Unlock() // a file left behind is stale at once
	cur := f.Read()
	text, err := fn(cur)
	if err != nil {
		return nil, err
	}
	if cur.Exists && text == cur.Raw {
		if !cur.Valid {
			return nil, &Error{"invalid config", cur.Problems()}
		}
		return cur, nil
	}
	next, err := f.accept(cur, text)
	if err != nil {
		return nil, err
	}
	if err := f.write(next.Raw); err != nil {
		return nil, err
	}
	f.current.Store(next)
	select {
	case f.written <- struct{}{}:
	default: // Run has not looked since the last write
	}
	return next, nil
}

// begin waits for the turn to read and write; end passes it on.
func (f *File) begin(ctx context.Context) error {
	select {
	case <-f.turn:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (f *File) end() { f.turn <- struct{}{} }

// staleLock gives a lock file that no process of ours holds a minute.
func staleLock(_ []byte, age time.Duration) bool { return age > time.Minute }

// accept stamps a text and refuses it when it is no valid configuration.
func (f *File) accept(cur *Snapshot, text string) (*Snapshot, error) {
	text, err := f.stamp(text)
	if err != nil {
		return nil, err
	}
	next := evaluate(f.opts.Paths, f.opts.Env, text, true)
	issues := next.Problems()
	before := map[string]bool{}
	for _, u := range cur.unknown {
		before[u.path()] = true
	}
	for _, u := range next.unknown {
		if !before[u.path()] {
			issues = append(issues, u.refusal())
		}
	}
	if len(issues) > 0 {
		return nil, &Error{"invalid config", issues}
	}
	return next, nil
}

// stamp notes the writer in meta.
func (f *File) stamp(text string) (string, error) {
	tree, err := json5.Decode(text)
	if err != nil {
		return "", &Error{Message: err.Error()}
	}
	if _, object := tree.(map[string]any); !object {
		return text, nil // refused later, with the reason
	}
	now := f.opts.Now().UTC().Format("2006-01-02T15:04:05.000Z")
	for _, set := range [][2]string{{"lastTouchedVersion", f.opts.Version}, {"lastTouchedAt", now}} {
		if tree, err = setAt(tree, []string{"meta", set[0]}, set[1]); err != nil {
			return text, nil // meta is no object: refused later
		}
	}
	return json5.Update(text, tree)
}

// backups is how many earlier texts stay: .bak and .bak.1 to .bak.4.
const backups = 5

func (f *File) write(text string) error {
	path := f.opts.Paths.ConfigPath
	if err := disk.Backup(path, backups); err != nil {
		return err
	}
	return disk.WriteFile(path, []byte(text), 0o600)
}

func checkHash(cur *Snapshot, baseHash string) error {
	switch {
	case !cur.Exists:
		return nil
	case cur.unreadable:
		return &Error{Message: "config base hash unavailable; re-run config.get and retry"}
	case baseHash == "":
		return &Error{Message: "config base hash required; re-run config.get and retry"}
	case baseHash != cur.Hash:
		return &Error{Message: "config changed since last load; re-run config.get and retry"}
	}
	return nil
}
