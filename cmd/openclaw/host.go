package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"openclaw/internal/config"
	"openclaw/internal/disk"
	"openclaw/internal/gateway"
	"openclaw/internal/ledger"
	"openclaw/internal/logs"
	"openclaw/internal/pairing"
	"openclaw/internal/plugin/stagewhisper"
	"openclaw/internal/run"
)

const (
	// forcedExit is how long a gateway may take to end, with all that hangs on it.
	// The grace period of its runs lies within.
	forcedExit = 5 * time.Second
	runGrace   = 2500 * time.Millisecond
)

// host runs gateways, one after the other: a restart is a new one in the same
// process, with the configuration as it is then.
type host struct {
	*program
	flags *runFlags
	log   *logger
	// fixed is the port of --port, nil to follow the configuration. A free one that
	// was taken for 0 stays the same over restarts.
	fixed *int
	// port is the one that was tried last.
	port int
	// inForce is the configuration of the gateway before this one, nil for the first.
	inForce *config.Snapshot
	// restarts receives SIGUSR1, of which one waiting is enough. It listens all the
	// time, because the signal ends a process that does not.
	restarts chan os.Signal
}

// run serves until ctx ends.
func (h *host) run(ctx context.Context) error {
	h.restarts = make(chan os.Signal, 1)
	signal.Notify(h.restarts, syscall.SIGUSR1)
	defer signal.Stop(h.restarts)
	for {
		err := h.serve(ctx)
		if !errors.Is(err, gateway.ErrRestart) {
			return err
		}
		if ctx.Err() != nil {
			return nil
		}
	}
}

// serve wires a gateway and runs it, the config watcher and the stores until ctx
// ends or a restart is due.
func (h *host) serve(ctx context.Context) error {
	limit := &deadline{log: h.log.Logger, leave: os.Exit}
	defer limit.stop()
	defer context.AfterFunc(ctx, limit.begin)()
	var gw *gateway.Gateway
	var a *app
	var sw *stagewhisper.Plugin
	file := config.Open(config.Options{
		Paths: h.paths, Env: os.Getenv, Version: version, AllowLastGood: h.flags.allowLastGood, InForce: h.inForce,
		Log: h.log.With("subsystem", "config"), OnChange: func(c config.Change) { h.changed(c, a, gw, sw) },
		Channels: []string{stagewhisper.Channel},
	})
	if snap := file.Snapshot(); !snap.Valid {
		return h.invalidConfig(snap)
	}
	defer func() { h.inForce = file.Snapshot() }()
	for _, w := range file.Snapshot().Warnings {
		h.log.Warn("config: "+w.Message, "path", w.Path)
	}
	led, err := ledger.Open(ledger.Config{Dir: h.paths.State("runs"), Log: h.log.With("subsystem", "ledger")})
	if err != nil {
		return err
	}
	a = newApp(h.program, file, h.log.Logger, led, func(e run.Event) { gw.Publish(e); sw.Publish(e) })
	defer func() {
		if err := errors.Join(a.close(), led.Close()); err != nil {
			h.log.Error("shutdown is incomplete", "err", err)
		}
	}()
	devices, err := pairing.OpenDevices(pairing.Config{Dir: h.paths.State("devices"), Now: time.Now, Log: h.log.With("subsystem", "pairing")})
	if err != nil {
		return err
	}
	sw = h.newStageWhisper(a)
	ready := make(chan struct{})
	gw = h.newGateway(a, devices, limit.begin, sync.OnceFunc(func() { close(ready) }))
	a.stores.appended.Store(new(gw.Appended))
	group, groupCtx := errgroup.WithContext(ctx)
	group.Go(func() error { return file.Run(groupCtx) })
	group.Go(func() error { return devices.Run(groupCtx) })
	group.Go(func() error { return led.Run(groupCtx) })
	// Desktops are answered from when the gateway is there until its runs have ended.
	answering, hush := context.WithCancel(context.WithoutCancel(ctx))
	group.Go(func() error { defer hush(); return gw.Run(groupCtx) })
	group.Go(func() error { return runAfter(answering, ready, sw.Run) })
	group.Go(func() error { h.sweep(); return nil })
	group.Go(func() error { return h.watchSignal(groupCtx, gw) })
	return group.Wait()
}

// runAfter calls run once ready is closed, unless ctx has ended before.
func runAfter(ctx context.Context, ready <-chan struct{}, run func(context.Context) error) error {
	select {
	case <-ready:
		return run(ctx)
	case <-ctx.Done():
		return nil
	}
}

// newStageWhisper makes the assistant that desktops reach over StageWhisper.
func (h *host) newStageWhisper(a *app) *stagewhisper.Plugin {
	return stagewhisper.New(stagewhisper.Config{
		Dir: h.paths.State(stageWhisperDir...), Config: func() *config.Config { return a.file.Snapshot().Config }, Env: environment,
		Router: a.router, Models: a.models.of, Tools: a.tools.names, Version: version, Log: h.log.With("subsystem", "stagewhisper"),
	})
}

// sweep removes what gateways that were killed have left unfinished. Another program
// may be writing right now, so what is young stays.
func (h *host) sweep() {
	dirs, _ := filepath.Glob(h.paths.State("agents", "*", "sessions")) // the pattern is a good one
	runs, _ := filepath.Glob(h.paths.State("runs", "*"))               // likewise
	pairings, _ := filepath.Glob(filepath.Join(h.paths.State(stageWhisperDir...), "*"))
	dirs = append(slices.Concat(dirs, runs, pairings), h.paths.StateDir, h.paths.State("runs"), h.paths.State("devices"), h.paths.State("identity"), h.paths.State("credentials"))
	if n := disk.Sweep(time.Now().Add(-10*time.Second), dirs...); n > 0 {
		h.log.Info("removed files that a killed process had not finished", "files", n)
	}
}

func (h *host) newGateway(a *app, devices *pairing.Devices, ending, ready func()) *gateway.Gateway {
	f := h.flags
	name, _ := os.Hostname() // presence does without it
	var source string
	pinned := h.fixed
	if h.port, source = a.file.Snapshot().Config.Port(os.Getenv); source == "env" && pinned == nil {
		pinned = &h.port
	} else if pinned != nil {
		h.port = *pinned
	}
	return gateway.New(gateway.Config{
		Settings: a.file, Router: a.router, Recover: a.router.Recover, Sessions: a.stores.of, Models: a.models.base, Devices: devices, Workspace: a.workspace,
		ConfigPath: h.paths.ConfigPath, StateDir: h.paths.StateDir, TempDir: os.TempDir(),
		Version: version, Host: name, Kernel: kernelRelease(),
		Port: pinned, Bind: f.bind, AuthMode: f.auth,
		Token: logs.Secret(firstOf(f.token, envSecret("TOKEN"))), Password: logs.Secret(firstOf(f.password, envSecret("PASSWORD"))),
		AllowUnconfigured: f.allowUnconfigured || f.dev, AllowMulti: os.Getenv("OPENCLAW_ALLOW_MULTI_GATEWAY") == "1",
		LogPath: h.log.path, Grace: runGrace, Ending: ending, Log: h.log.Logger,
		Listening: func(addr net.Addr, fingerprint string) {
			if at, ok := addr.(*net.TCPAddr); ok {
				a.tools.port.Store(int32(at.Port))
				if h.fixed != nil {
					h.fixed = &at.Port
				}
			}
			h.tellReady(a, addr, fingerprint)
			ready()
		},
	})
}

// tellReady says that the gateway takes connections, and what is worth knowing.
func (h *host) tellReady(a *app, addr net.Addr, fingerprint string) {
	attrs := []any{"subsystem", "gateway", "url", "ws://" + addr.String(), "version", version, "pid", os.Getpid()}
	if fingerprint != "" {
		attrs[3] = "wss://" + addr.String()
		attrs = append(attrs, "tlsSha256", fingerprint)
	}
	auth := a.file.Snapshot().Config.Gateway.Auth
	for _, s := range []struct{ name, flag, env, stored string }{
		{"token", h.flags.token, envSecret("TOKEN"), auth.Token.Reveal()},
		{"password", h.flags.password, envSecret("PASSWORD"), auth.Password.Reveal()},
	} {
		from, note := secretSource(s.name, s.flag, s.env, s.stored)
		if from != "" {
			attrs = append(attrs, s.name+"From", from)
		}
		if note != "" {
			h.log.Warn(note, "subsystem", "gateway")
		}
	}
	h.log.Info("gateway ready", attrs...)
	if a.models.base.Offline() {
		h.log.Warn("no model is connected: " + a.models.base.OfflineReason())
		return
	}
	h.log.Info("default model", "subsystem", "models", "model", a.models.base.Default().String())
}

// secretSource names where a secret of the gateway is from; the first one present
// wins. Note says when another source holds another one.
func secretSource(name, flag, env, stored string) (from, note string) {
	type source struct{ where, value string }
	present := slices.DeleteFunc([]source{
		{"--" + name, flag}, {"OPENCLAW_GATEWAY_" + strings.ToUpper(name), env}, {"gateway.auth." + name, stored},
	}, func(s source) bool { return s.value == "" })
	if len(present) == 0 {
		return "", ""
	}
	for _, other := range present[1:] {
		if other.value != present[0].value {
			return present[0].where, fmt.Sprintf("%s differs from %s and wins", present[0].where, other.where)
		}
	}
	return present[0].where, ""
}

// changed takes a changed configuration in, as far as it is not read anyway
// whenever it is used, and restarts the gateway for the rest.
func (h *host) changed(c config.Change, a *app, gw *gateway.Gateway, sw *stagewhisper.Plugin) {
	h.log.apply(c.New.Config)
	a.reload(c.New.Config)
	gw.Reload()
	sw.Reload()
	paths := make([]string, 0, len(c.Paths))
	for _, changed := range c.Paths {
		paths = append(paths, changed.Path)
	}
	log := h.log.With("subsystem", "config")
	log.Info("config file changed", "paths", strings.Join(paths, ", "), "restart", c.Plan.Restart)
	for _, path := range c.Plan.Ignored {
		log.Warn("gateway.reload.mode keeps this change from taking effect until a restart", "path", path)
	}
	if c.Plan.Restart {
		gw.Restart("config file changed")
	}
}

// watchSignal passes SIGUSR1 on until ctx ends.
func (h *host) watchSignal(ctx context.Context, gw *gateway.Gateway) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-h.restarts:
			if !gw.RestartSignal() {
				h.log.Warn("SIGUSR1 ignored: no restart is planned and commands.restart is not true", "subsystem", "gateway")
			}
		}
	}
}

// deadline ends the process when something that has begun to end does not get
// there. What is acknowledged is on disk by then.
type deadline struct {
	log   *slog.Logger
	leave func(code int)

	mu    sync.Mutex
	timer *time.Timer
	over  bool
}

// begin starts the clock; only the first call counts.
func (d *deadline) begin() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.over || d.timer != nil {
		return
	}
	d.timer = time.AfterFunc(forcedExit, func() {
		d.log.Error("the gateway did not end in time, leaving without the rest", "subsystem", "gateway", "after", forcedExit.String())
		d.leave(1)
	})
}

func (d *deadline) stop() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.over = true
	if d.timer != nil {
		d.timer.Stop()
	}
}
