package config

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"
)

const (
	// stable is how long a file must not change before it is read: editors and
	// copies write in steps.
	stable = 200 * time.Millisecond
	// pollEvery is the pace of looking where the system cannot notify.
	pollEvery = 2 * time.Second
)

// Run watches the file and what it includes, reads it again when it has changed
// and tells OnChange. An invalid file is logged and the configuration in force
// stays (RT-006). With gateway.reload.mode off only writes of this File count.
// It returns nil when ctx ends.
func (f *File) Run(ctx context.Context) error {
	w := &watcher{file: f, events: make(chan struct{}, 1), applied: f.Snapshot()}
	w.events <- struct{}{} // it may have changed since it was read
	notify, err := fsnotify.NewWatcher()
	if err != nil {
		f.opts.Log.Warn("cannot watch the configuration, looking every two seconds", "err", err)
		w.loop(ctx)
		return nil
	}
	w.notify = notify
	w.follow()
	var forwarding sync.WaitGroup
	forwarding.Go(w.forward)
	w.loop(ctx)
	notify.Close() // ends forward
	forwarding.Wait()
	return nil
}

// watcher is the state of one Run. Only loop and what it calls touch it; forward
// only sends events.
type watcher struct {
	file    *File
	notify  *fsnotify.Watcher // nil when the system cannot notify
	dirs    []string          // watched
	events  chan struct{}     // something happened; full means so already
	applied *Snapshot         // what OnChange was last told
	mark    []fileMark        // of the files of applied; nil when not known
}

// fileMark tells versions of a file apart without reading it.
type fileMark struct {
	path string
	size int64
	mod  time.Time
	id   os.FileInfo
}

func (w *watcher) loop(ctx context.Context) {
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	if w.notify != nil {
		tick.Stop()
	}
	for {
		select {
		case <-ctx.Done():
			return
		case <-w.file.written:
			w.apply(w.file.Snapshot(), nil)
			continue
		case <-tick.C:
		case <-w.events:
		}
		if w.file.Snapshot().Config.Gateway.Reload.Mode == "off" || sameMarks(w.mark, marks(w.applied.Files)) {
			continue
		}
		if !w.settle(ctx) || !w.reload(ctx) {
			return
		}
	}
}

// settle waits for the debounce time, then until the files stay as they are. It
// reports false when ctx ended.
func (w *watcher) settle(ctx context.Context) bool {
	wait := time.Duration(w.file.Snapshot().Config.Gateway.Reload.DebounceMs) * time.Millisecond
	timer := time.NewTimer(wait)
	defer timer.Stop()
	var before []fileMark
	for {
		select {
		case <-ctx.Done():
			return false
		case <-w.events:
			if before == nil {
				timer.Reset(wait) // still in the debounce time
			}
		case <-timer.C:
			now := marks(w.applied.Files)
			if before != nil && sameMarks(before, now) {
				return true
			}
			before = now
			timer.Reset(stable)
		}
	}
}

// reload reads the file and puts a valid one in force. It reports false when ctx
// ended.
func (w *watcher) reload(ctx context.Context) bool {
	if w.file.begin(ctx) != nil {
		return false
	}
	w.mark = marks(w.applied.Files) // before reading, so that no change is missed
	next := w.file.Read()
	usable := next.Valid && (next.Exists || !w.applied.Exists)
	if usable {
		w.file.current.Store(next)
	}
	w.file.end()
	log := w.file.opts.Log
	switch {
	case usable:
		w.apply(next, w.mark)
	case next.Valid:
		log.Warn("the configuration file is gone, keeping the one in force", "path", next.Path)
	default:
		log.Warn("ignoring the changed configuration, it is invalid", "path", next.Path, "issues", next.Problems())
	}
	return true
}

// apply tells OnChange what is new since the last time. Mark is of the files
// before next was read, nil when that is not known.
func (w *watcher) apply(next *Snapshot, mark []fileMark) {
	change := Compare(w.applied, next, w.file.opts.Channels...)
	if !slices.Equal(w.applied.Files, next.Files) {
		mark = nil
	}
	w.applied, w.mark = next, mark
	w.follow()
	if len(change.Paths) == 0 {
		return
	}
	log := w.file.opts.Log
	for _, i := range next.Warnings {
		log.Warn("configuration warning", "path", i.Path, "reason", i.Message)
	}
	if len(change.Plan.Ignored) > 0 {
		log.Warn("changed settings need a restart to take effect", "paths", change.Plan.Ignored)
	}
	if w.file.opts.OnChange != nil {
		w.file.opts.OnChange(change)
	}
}

// follow watches the folders of all files: a watch on a file itself ends when
// the file is replaced.
func (w *watcher) follow() {
	if w.notify == nil {
		return
	}
	var dirs []string
	for _, file := range w.applied.Files {
		dirs = append(dirs, filepath.Dir(file))
		if real, err := filepath.EvalSymlinks(file); err == nil {
			dirs = append(dirs, filepath.Dir(real))
		}
	}
	slices.Sort(dirs)
	dirs = slices.Compact(dirs)
	for _, dir := range dirs {
		if slices.Contains(w.dirs, dir) {
			continue
		}
		if err := w.notify.Add(dir); err != nil {
			w.file.opts.Log.Warn("cannot watch a folder of the configuration", "path", dir, "err", err)
		}
	}
	for _, dir := range w.dirs {
		if !slices.Contains(dirs, dir) {
			w.notify.Remove(dir) // it may be gone already
		}
	}
	w.dirs = dirs
}

// forward turns notifications into events until the watcher is closed. Which
// file it was about does not matter: loop looks at all of them.
func (w *watcher) forward() {
	for {
		select {
		case _, ok := <-w.notify.Events:
			if !ok {
				return
			}
		case err, ok := <-w.notify.Errors:
			if !ok {
				return
			}
			w.file.opts.Log.Warn("watching the configuration", "err", err)
		}
		select {
		case w.events <- struct{}{}:
		default: // loop has not looked since the last one
		}
	}
}

func marks(files []string) []fileMark {
	out := make([]fileMark, len(files))
	for i, file := range files {
		out[i].path = file
		if info, err := os.Stat(file); err == nil {
			out[i].size, out[i].mod, out[i].id = info.Size(), info.ModTime(), info
		}
	}
	return out
}

func sameMarks(a, b []fileMark) bool {
	return a != nil && slices.EqualFunc(a, b, func(x, y fileMark) bool {
		if x.id == nil || y.id == nil {
			return x.path == y.path && x.id == nil && y.id == nil
		}
		return x.path == y.path && x.size == y.size && x.mod.Equal(y.mod) && os.SameFile(x.id, y.id)
	})
}
