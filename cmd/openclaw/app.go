package main

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"time"

	"openclaw/internal/agent"
	"openclaw/internal/config"
	"openclaw/internal/lane"
	"openclaw/internal/ledger"
	"openclaw/internal/router"
	"openclaw/internal/run"
)

// app is everything a run needs, wired: config → stores → lanes → models → tools →
// agent → router. The gateway and an embedded run of the command line are both
// built on it.
type app struct {
	file   *config.File
	log    *slog.Logger
	stores *stores
	// workspace names the folder of an agent.
	workspace func(agentID string) string
	lanes     *lane.Lanes
	models    *models
	tools     *toolbox
	agent     *agent.Agent
	router    *router.Router
}

// newApp wires the rooms. emit takes the events of all runs; led remembers them, nil
// for runs that live and die with their command.
func newApp(p *program, file *config.File, log *slog.Logger, led *ledger.Ledger, emit func(run.Event)) *app {
	a := &app{file: file, log: log}
	migrateState(p.paths, file.Snapshot().Config, log)
	a.stores = newStores(p.paths, file.Snapshot, log)
	a.workspace = func(id string) string { return file.Snapshot().Config.Workspace(p.paths, id) }
	a.models = newModels(p.paths, file.Snapshot)
	a.lanes = lane.New(lane.Config{
		Limits: laneLimits(file.Snapshot().Config),
		OnWait: func(w lane.Wait) {
			log.Info("a run waits for its turn", "subsystem", "lane", "lane", w.Lane, "waited", w.Waited.Round(time.Millisecond), "depth", w.Depth)
		},
	})
	a.tools = newToolbox(p.paths, file.Snapshot, log)
	a.agent = a.newAgent(p)
	a.router = router.New(router.Config{
		Runner: a.agent, Lanes: a.lanes, Emit: emit,
		Config:   func() *config.Config { return file.Snapshot().Config },
		Sessions: a.stores.of, Models: a.models.of, Status: a.agent.Status,
		Workspace: a.workspace, Ledger: led,
		Log: log.With("subsystem", "router"),
	})
	return a
}

func (a *app) newAgent(p *program) *agent.Agent {
	host, _ := os.Hostname() // the prompt does without it
	return agent.New(agent.Config{
		Sessions: a.stores.of,
		Models:   a.models.of,
		Settings: func(id string) agent.Settings { return agent.SettingsOf(a.file.Snapshot().Config, p.paths, id) },
		Tools:    a.tools.of,
		Emit:     func(e run.Event) { a.router.Publish(e) },
		Version:  version, Host: host, Home: p.paths.Home,
		Log: a.log.With("subsystem", "agent"),
	})
}

// reload takes a changed configuration in, as far as it is not read anyway
// whenever it is used.
func (a *app) reload(c *config.Config) { a.lanes.SetLimits(laneLimits(c)) }

func laneLimits(c *config.Config) map[string]int {
	return map[string]int{
		lane.Main:     c.Agents.Defaults.MaxConcurrent,
		lane.Subagent: c.Agents.Defaults.Subagents.MaxConcurrent,
		lane.Cron:     c.Cron.MaxConcurrentRuns,
	}
}

// close ends what is left of the runs and of their commands, and folds the
// session stores.
func (a *app) close() error {
	now, cancel := context.WithCancel(context.Background())
	cancel()
	// Nothing is under way after a gateway's shutdown; an embedded run that was
	// interrupted is aborted here.
	_ = a.router.Drain(now) // says how many were aborted, which is what was asked
	limit, done := context.WithTimeout(context.Background(), 5*time.Second)
	defer done()
	return errors.Join(a.tools.close(limit), a.stores.close())
}

// environment reads a variable of the process.
func environment(name string) string { return os.Getenv(name) }

// openConfig opens the config file of a long-lived command.
func (p *program) openConfig(log *slog.Logger, onChange func(config.Change)) (*config.File, error) {
	file := config.Open(config.Options{Paths: p.paths, Env: os.Getenv, Version: version, Log: log, OnChange: onChange})
	if snap := file.Snapshot(); !snap.Valid {
		return nil, errors.Join(p.invalidConfig(snap))
	}
	return file, nil
}
