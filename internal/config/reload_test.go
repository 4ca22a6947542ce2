package config

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// RT-008: the first matching prefix decides.
func TestClassifyRT008(t *testing.T) {
	for path, want := range map[string]ChangedPath{
		"gateway.remote.url":              {Class: ClassNone},
		"gateway.reload":                  {Class: ClassNone},
		"gateway.reload.mode":             {Class: ClassNone},
		"gateway.port":                    {Class: ClassRestart},
		"gateway.remoteness":              {Class: ClassRestart},
		"gateway":                         {Class: ClassRestart},
		"hooks.gmail.account":             {Class: ClassHot, Action: ActionGmail},
		"hooks.token":                     {Class: ClassHot, Action: ActionHooks},
		"agents.defaults.heartbeat.every": {Class: ClassHot, Action: ActionHeartbeat},
		"agents.defaults.model":           {Class: ClassNone},
		"agents.list":                     {Class: ClassNone},
		"cron.enabled":                    {Class: ClassHot, Action: ActionCron},
		"browser":                         {Class: ClassHot, Action: ActionBrowser},
		"web.enabled":                     {Class: ClassHot, Action: ActionWeb},
		"channels.telegram.botToken":      {Class: ClassHot, Action: "channel:telegram"},
		"channels.other.x":                {Class: ClassRestart},
		"meta.lastTouchedAt":              {Class: ClassNone},
		"models.providers.p":              {Class: ClassNone},
		"ui.seamColor":                    {Class: ClassNone},
		"plugins.allow":                   {Class: ClassRestart},
		"discovery.mdns.mode":             {Class: ClassRestart},
		"canvasHost.port":                 {Class: ClassRestart},
		"brandNew":                        {Class: ClassRestart},
	} {
		want.Path = path
		if got := classify(path, []string{"telegram"}); got != want {
			t.Errorf("classify(%q) = %+v, want %+v", path, got, want)
		}
	}
}

// RT-008: gateway.reload.mode decides what happens.
func TestPlanRT008(t *testing.T) {
	hot := ChangedPath{"cron.enabled", ClassHot, ActionCron}
	again := ChangedPath{"cron.store", ClassHot, ActionCron}
	none := ChangedPath{"ui", ClassNone, ""}
	restart := ChangedPath{"gateway.port", ClassRestart, ""}
	for _, tt := range []struct {
		mode  string
		paths []ChangedPath
		want  Plan
	}{
		{"hybrid", []ChangedPath{none}, Plan{}},
		{"hybrid", []ChangedPath{hot, again, none}, Plan{Actions: []Action{ActionCron}}},
		{"hybrid", []ChangedPath{hot, restart}, Plan{Restart: true}},
		{"hot", []ChangedPath{hot, restart}, Plan{Actions: []Action{ActionCron}, Ignored: []string{"gateway.port"}}},
		{"restart", []ChangedPath{none}, Plan{}},
		{"restart", []ChangedPath{hot}, Plan{Restart: true}},
		{"off", []ChangedPath{hot, restart}, Plan{}},
	} {
		if diff := cmp.Diff(tt.want, plan(tt.paths, tt.mode)); diff != "" {
			t.Errorf("plan(%v, %s) (-want +got):\n%s", tt.paths, tt.mode, diff)
		}
	}
}

func TestChangedPaths(t *testing.T) {
	a := decode(t, `{same: {x: [1, {y: 2}]}, n: 1, l: [1, 2], o: {p: 1, q: {r: 1}}, gone: 1, kind: {a: 1}}`).(map[string]any)
	b := decode(t, `{same: {x: [1.0, {y: 2}]}, n: 2, l: [1, 3], o: {p: 1, q: {r: 2, s: 1}}, fresh: {z: 1}, kind: 5}`).(map[string]any)
	want := []string{"fresh", "gone", "kind", "l", "n", "o.q.r", "o.q.s"}
	if diff := cmp.Diff(want, changedPaths(a, b)); diff != "" {
		t.Errorf("changedPaths (-want +got):\n%s", diff)
	}
	if got := changedPaths(a, a); len(got) != 0 {
		t.Errorf("changedPaths of the same tree = %v", got)
	}
}

// running is a File under Run whose changes and log lines a test can wait for.
type running struct {
	*File
	t       *testing.T
	changes chan Change
	logged  chan string
}

func (h *home) run() *running {
	r := &running{t: h.t, changes: make(chan Change, 10), logged: make(chan string, 10)}
	r.File = Open(Options{
		Paths: h.paths(), Env: h.getenv, Version: "2026.2.3", Channels: []string{"telegram"},
		OnChange: func(c Change) { r.changes <- c },
		Log:      slog.New(lineHandler{slog.DiscardHandler, r.logged}),
	})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- r.File.Run(ctx) }()
	h.t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			h.t.Errorf("Run = %v", err)
		}
	})
	return r
}

// lineHandler sends the message of every record.
type lineHandler struct {
	slog.Handler
	lines chan string
}

func (h lineHandler) Enabled(context.Context, slog.Level) bool { return true }

func (h lineHandler) Handle(_ context.Context, r slog.Record) error {
	h.lines <- r.Message
	return nil
}

// next waits for a change. The file is touched again until it comes, because
// Run may not watch yet.
func (r *running) next(touch func()) Change {
	r.t.Helper()
	return await(r.t, r.changes, touch)
}

func await[T any](t *testing.T, ch chan T, touch func()) T {
	t.Helper()
	deadline := time.After(20 * time.Second)
	for {
		touch()
		select {
		case v := <-ch:
			return v
		case <-time.After(time.Second):
		case <-deadline:
			t.Fatal("nothing happened")
		}
	}
}

func nothing() {}

func TestRunReloadsRT008(t *testing.T) {
	h := newHome(t).config(`{gateway: {reload: {debounceMs: 1}}, cron: {enabled: true}}`)
	r := h.run()
	c := r.next(func() { h.config(`{gateway: {reload: {debounceMs: 1}}, cron: {enabled: false}}`) })
	if len(c.Paths) != 1 || c.Paths[0].Path != "cron.enabled" || !cmp.Equal(c.Plan.Actions, []Action{ActionCron}) || c.Plan.Restart {
		t.Errorf("change = %+v, plan %+v", c.Paths, c.Plan)
	}
	if r.Snapshot() != c.New || r.Snapshot().Config.Cron.Enabled {
		t.Error("the new configuration is not in force")
	}

	// Our own write is told once, and the notification it causes is not a second change.
	if _, err := r.Edit(t.Context(), Op{Path: []string{"gateway", "port"}, Value: 5}); err != nil {
		t.Fatal(err)
	}
	c = r.next(nothing)
	if !c.Plan.Restart || len(c.Paths) != 2 { // meta and the port
		t.Errorf("change = %+v, plan %+v", c.Paths, c.Plan)
	}

	// An editor that replaces the file.
	c = r.next(func() {
		h.write(fmt.Sprintf(`{gateway: {reload: {debounceMs: 1}, port: 5}, cron: {enabled: false}, messages: {messagePrefix: "%d"}}`, time.Now().UnixNano()), ".openclaw", "new")
		if err := os.Rename(h.path(".openclaw", "new"), h.path(".openclaw", "openclaw.json")); err != nil {
			t.Fatal(err)
		}
	})
	if c.Plan.Restart || len(c.Plan.Actions) > 0 || r.Snapshot().Config.Messages.MessagePrefix == "" {
		t.Errorf("change = %+v, plan %+v", c.Paths, c.Plan)
	}
}

// RT-006: an invalid or removed file leaves the configuration in force.
func TestRunKeepsValidRT006(t *testing.T) {
	h := newHome(t).config(`{gateway: {port: 7, reload: {debounceMs: 1}}}`)
	r := h.run()
	before := r.Snapshot()
	i := 0
	line := await(t, r.logged, func() { i++; h.config(fmt.Sprintf(`{gateway: {port: "%d"}}`, i)) })
	if !strings.Contains(line, "invalid") || r.Snapshot() != before {
		t.Errorf("logged %q, port %d", line, r.Snapshot().Config.Gateway.Port)
	}
	if r.Read().Valid {
		t.Error("Read hides the invalid file")
	}
	line = await(t, r.logged, func() {
		if err := os.Remove(h.path(".openclaw", "openclaw.json")); err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
	})
	for strings.Contains(line, "invalid") { // one of the texts before was read late
		line = await(t, r.logged, nothing)
	}
	if !strings.Contains(line, "gone") || r.Snapshot() != before {
		t.Errorf("logged %q", line)
	}
	c := r.next(func() { h.config(`{gateway: {port: 8, reload: {debounceMs: 1}}}`) })
	if c.Old != before || r.Snapshot().Config.Gateway.Port != 8 {
		t.Errorf("port = %d, want 8", r.Snapshot().Config.Gateway.Port)
	}
}

func TestRunWatchesIncludesAndNewFile(t *testing.T) {
	h := newHome(t)
	if err := os.MkdirAll(h.path(".openclaw"), 0o700); err != nil {
		t.Fatal(err)
	}
	r := h.run()
	h.write(`{logging: {level: "debug"}}`, "shared", "base.json5")
	c := r.next(func() { h.config(`{$include: "../shared/base.json5", gateway: {reload: {debounceMs: 1}}}`) })
	if c.New.Config.Logging.Level != "debug" {
		t.Errorf("level = %q", c.New.Config.Logging.Level)
	}
	c = r.next(func() { h.write(`{logging: {level: "warn"}}`, "shared", "base.json5") })
	if c.New.Config.Logging.Level != "warn" || len(c.Paths) != 1 {
		t.Errorf("change = %+v", c.Paths)
	}
}

func TestRunModeOff(t *testing.T) {
	h := newHome(t).config(`{gateway: {port: 7, reload: {mode: "off"}}}`)
	r := h.run()
	if _, err := r.Edit(t.Context(), Op{Path: []string{"cron", "enabled"}, Value: false}); err != nil {
		t.Fatal(err)
	}
	if c := r.next(nothing); len(c.Plan.Actions) > 0 || c.Plan.Restart || c.New.Config.Cron.Enabled {
		t.Errorf("plan = %+v", c.Plan)
	}
	h.config(`{gateway: {port: 8}}`)
	if _, err := r.Edit(t.Context(), Op{Path: []string{"cron", "enabled"}, Value: true}); err != nil {
		t.Fatal(err)
	}
	if c := r.next(nothing); c.New.Config.Gateway.Port != 8 { // the write read what is there
		t.Errorf("port = %d, want 8", c.New.Config.Gateway.Port)
	}
}

// A burst of writes is one reload, and a file that still grows is not read.
func TestRunSettles(t *testing.T) {
	h := newHome(t).config(`{gateway: {reload: {debounceMs: 1}}}`)
	r := h.run()
	c := r.next(func() {
		for i := range 20 {
			h.config(strings.Repeat(" ", i) + fmt.Sprintf(`{gateway: {reload: {debounceMs: 1}}, messages: {messagePrefix: "%d"}}`, i))
		}
	})
	if got := c.New.Config.Messages.MessagePrefix; got != "19" {
		t.Errorf("prefix = %q, want the last one", got)
	}
	select {
	case extra := <-r.changes:
		t.Errorf("a second change: %+v", extra.Paths)
	case <-time.After(50 * time.Millisecond):
	}
}

func TestSameMarks(t *testing.T) {
	h := newHome(t)
	h.write("a", "f")
	files := []string{h.path("f"), h.path("none")}
	before := marks(files)
	if !sameMarks(before, marks(files)) {
		t.Error("an untouched file looks changed")
	}
	h.write("ab", "f")
	if sameMarks(before, marks(files)) {
		t.Error("a longer file looks the same")
	}
	before = marks(files)
	h.write("", "none")
	if sameMarks(before, marks(files)) || sameMarks(nil, before) {
		t.Error("a new file looks the same")
	}
}
