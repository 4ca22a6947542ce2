package stagewhisper

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"sync"

	"openclaw/internal/assistant"
	"openclaw/internal/config"
	"openclaw/internal/model"
	"openclaw/internal/router"
	"openclaw/internal/run"
)

// Version is the plugin's own, which relays compare with the oldest they work with. The
// numbers of the published plugin for other gateways end below it.
const Version = "1.0.0"

// Config joins a [Plugin] to the gateway. The functions must be cheap and safe for
// concurrent use.
type Config struct {
	// Dir holds a folder for each pairing.
	Dir string
	// Config returns the present configuration.
	Config func() *config.Config
	Env    config.Env
	Router *router.Router
	// Models returns the models of an agent.
	Models func(agentID string) *model.Directory
	// Tools names what an agent may use, for the profile that desktops are shown.
	Tools func(agentID string) []string

	Version string       // of the gateway, for the profile
	HTTP    *http.Client // default: one for each pairing, which knows its relay's certificate
	Log     *slog.Logger // default: discarded
}

// Plugin answers for the pairings of a gateway.
type Plugin struct {
	cfg   Config
	log   *slog.Logger
	host  *assistant.Host
	asker Asker

	// turns holds a *mailbox for each run.ID that answers a desktop. Every event of every
	// run is looked up in it.
	turns sync.Map

	mu       sync.Mutex
	seen     map[string]string // by pairing, the model that a job named last
	reported string            // what was last wrong with the settings
}

// New returns a plugin that serves nothing yet.
func New(cfg Config) *Plugin {
	p := &Plugin{cfg: cfg, log: cmp.Or(cfg.Log, slog.New(slog.DiscardHandler)), seen: map[string]string{}}
	p.asker = Asker{Config: cfg.Config, Models: cfg.Models, Log: p.log}
	p.host = assistant.NewHost(assistant.HostConfig{
		Dir: cfg.Dir, Version: Version, Transport: "gateway", HTTP: cfg.HTTP, Log: p.log,
		Serves:    func(name string) bool { return p.settings().serves(name) },
		Listening: func() assistant.Listening { return p.settings().listening },
		Agent: func(name, _, kind string) (assistant.Agent, error) {
			if _, err := AgentOf(cfg.Config(), name); err != nil {
				return nil, err
			}
			return &agent{plugin: p, name: name, kind: cmp.Or(kind, "openclaw")}, nil
		},
	})
	return p
}

// Run serves until ctx ends. It is to be called when the router has recovered; the
// router should stand until it has returned.
func (p *Plugin) Run(ctx context.Context) error { return p.host.Run(ctx) }

// Reload takes a changed configuration in at once.
func (p *Plugin) Reload() { p.host.Look() }

// Served lists the pairings that are being answered for.
func (p *Plugin) Served() []assistant.Served { return p.host.Served() }

// settings reads the settings of this moment. What cannot be read switches everything
// off, because it may be what limits who is let in.
func (p *Plugin) settings() settings {
	s, err := readSettings(p.cfg.Config(), p.cfg.Env)
	problem := ""
	switch {
	case err != nil:
		problem = err.Error()
		s = settings{off: problem}
	case s.legacy:
		problem = "the configuration holds the keys of a pairing that cannot be checked; pair again: openclaw stagewhisper pair --code CODE"
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if problem != "" && problem != p.reported {
		p.log.Warn("settings", "problem", problem)
	}
	p.reported = problem
	return s
}

// Publish takes an event of any run. It does not wait for anybody.
func (p *Plugin) Publish(e run.Event) {
	if box, ok := p.turns.Load(e.RunID); ok {
		box.(*mailbox).put(e)
	}
}

// listen returns what is told of a run, until stop is called.
func (p *Plugin) listen(id run.ID) (box *mailbox, stop func()) {
	box = newMailbox()
	p.turns.Store(id, box)
	return box, func() { p.turns.Delete(id) }
}
