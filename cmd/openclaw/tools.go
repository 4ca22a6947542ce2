package main

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"openclaw/internal/agent"
	"openclaw/internal/chat"
	"openclaw/internal/config"
	"openclaw/internal/plugin/stagewhisper"
	"openclaw/internal/session"
	"openclaw/internal/tool"
	"openclaw/internal/tool/file"
	"openclaw/internal/tool/shell"
)

// toolbox makes the tools of a run and applies the policy of the configuration.
type toolbox struct {
	config func() *config.Snapshot
	files  *file.Files
	shell  *shell.Shell
	log    *slog.Logger
	// port is the gateway's, for the environment of commands; 0 without one.
	port atomic.Int32
}

// newToolbox makes the toolbox of a process; its shell owns the commands that
// agents start until close.
func newToolbox(paths config.Paths, current func() *config.Snapshot, log *slog.Logger) *toolbox {
	log = log.With("subsystem", "tools")
	number := func(name string) int {
		n, _ := strconv.Atoi(os.Getenv(name)) // zero is the default
		return n
	}
	return &toolbox{
		config: current, log: log,
		files: file.New(file.Config{Home: paths.Home}),
		shell: shell.New(shell.Config{
			Env: os.Environ(), Home: paths.Home, Shell: os.Getenv("SHELL"),
			MaxOutput: number("PI_BASH_MAX_OUTPUT_CHARS"), MaxUnread: number("OPENCLAW_BASH_PENDING_MAX_OUTPUT_CHARS"),
			OnExit: func(e shell.Exit) {
				log.Info("background command ended", "session", e.SessionKey, "id", e.ID, "code", e.Code, "signal", e.Signal, "took", e.Took.Round(time.Millisecond))
			},
		}),
	}
}

// of returns the tools of a run: those of the workspace and own, filtered.
func (b *toolbox) of(scope agent.ToolScope, own []tool.Tool) []tool.Tool {
	snap := b.config()
	c := snap.Config
	a, _ := c.Agent(scope.AgentID)
	layers, err := tool.Layers(toolRules(c.Tools.Rules()), toolRules(a.Tools.Rules()), scope.Model.Provider, scope.Model.ID)
	if err != nil {
		// Validation refuses unknown profiles, so this is a program's mistake; a run
		// without tools is the safe answer.
		b.log.Error("tool policy cannot be applied, the run gets no tools", "err", err)
		return nil
	}
	s := shell.Scope{
		AgentID: scope.AgentID, SessionKey: scope.SessionKey, Dir: scope.Workspace, Env: b.env(snap.EnvVars),
		Settings: execSettings(c.Tools.Exec, a.Tools.Exec, scope.Entry), Elevated: elevated(scope, c.Tools.Elevated, a.Tools.Elevated),
	}
	if stagewhisper.Overheard(scope.SessionKey) {
		layers = append(layers, tool.Layer{Name: "words of a call", Allow: stagewhisper.HarmlessTools, Strict: true})
	}
	kept, notes := b.build(scope, s, own, layers)
	if s.Foreground = !has(kept, "process"); s.Foreground {
		kept, notes = b.build(scope, s, own, layers)
	}
	for _, n := range notes {
		b.log.Warn("tool policy names unknown tools", "list", n.Layer, "unknown", n.Unknown, "ignored", n.Ignored)
	}
	return kept
}

// names lists what an agent may use.
func (b *toolbox) names(agentID string) []string {
	scope := agent.ToolScope{AgentID: agentID, SessionKey: chat.MainKey(agentID), Channel: stagewhisper.Channel}
	var list []string
	for _, t := range b.of(scope, nil) {
		list = append(list, t.Spec().Name)
	}
	return list
}

// env is what commands find in their environment beyond that of the gateway.
func (b *toolbox) env(vars map[string]string) []string {
	list := envList(vars)
	if port := b.port.Load(); port > 0 {
		list = append(list, fmt.Sprintf("OPENCLAW_GATEWAY_PORT=%d", port))
	}
	return list
}

// build makes all tools of a scope and keeps those that every layer allows.
func (b *toolbox) build(scope agent.ToolScope, s shell.Scope, own []tool.Tool, layers []tool.Layer) ([]tool.Tool, []tool.Note) {
	all := b.files.Tools(file.Scope{Dir: scope.Workspace})
	all = append(all, b.shell.Tools(s)...)
	return tool.Filter(append(all, own...), layers...)
}

// close ends the commands that agents started.
func (b *toolbox) close(ctx context.Context) error { return b.shell.Close(ctx) }

func has(tools []tool.Tool, name string) bool {
	return slices.ContainsFunc(tools, func(t tool.Tool) bool { return t.Spec().Name == name })
}

func envList(vars map[string]string) []string {
	var list []string
	for _, name := range sortedKeys(vars) {
		list = append(list, name+"="+vars[name])
	}
	return list
}

func toolRules(r config.ToolRules) tool.Rules {
	out := tool.Rules{Profile: r.Profile, Allow: r.Allow, AlsoAllow: r.AlsoAllow, Deny: r.Deny}
	if len(r.ByProvider) > 0 {
		out.ByProvider = make(map[string]tool.Rules, len(r.ByProvider))
	}
	for name, rules := range r.ByProvider {
		out.ByProvider[name] = toolRules(rules)
	}
	return out
}

// execSettings joins what the session, the agent and the configuration say about
// commands, the most specific word first.
func execSettings(global, own config.Exec, e session.Entry) shell.Settings {
	ms := func(n int) time.Duration { return time.Duration(n) * time.Millisecond }
	notify := cmp.Or(own.NotifyOnExit, global.NotifyOnExit)
	yield, _ := strconv.Atoi(os.Getenv("PI_BASH_YIELD_MS"))
	ttl, _ := strconv.Atoi(os.Getenv("PI_BASH_JOB_TTL_MS"))
	return shell.Settings{
		Host:        cmp.Or(e.ExecHost, own.Host, global.Host),
		Security:    cmp.Or(e.ExecSecurity, own.Security, global.Security),
		Ask:         cmp.Or(e.ExecAsk, own.Ask, global.Ask),
		Node:        cmp.Or(e.ExecNode, own.Node, global.Node),
		PathPrepend: append(slices.Clone(own.PathPrepend), global.PathPrepend...),
		Yield:       ms(cmp.Or(own.BackgroundMs, yield, global.BackgroundMs)),
		Timeout:     time.Duration(cmp.Or(own.TimeoutSec, global.TimeoutSec)) * time.Second,
		TTL:         ms(cmp.Or(own.CleanupMs, ttl, global.CleanupMs)),
		Quiet:       notify != nil && !*notify,
	}
}

// elevated says whether the run may leave its host, and which settings forbid it.
func elevated(scope agent.ToolScope, global, own config.Elevated) shell.Elevated {
	e := shell.Elevated{Level: scope.Elevated}
	for _, gate := range []struct {
		key  string
		open bool
	}{
		{"tools.elevated.enabled", global.Enabled == nil || *global.Enabled},
		{"agents.list[].tools.elevated.enabled", own.Enabled == nil || *own.Enabled},
		{"tools.elevated.allowFrom." + firstOf(scope.Channel, "webchat"), slices.Contains(global.AllowFrom[firstOf(scope.Channel, "webchat")], "*")},
		{"agents.list[].tools.elevated.allowFrom", own.AllowFrom == nil || slices.Contains(own.AllowFrom[firstOf(scope.Channel, "webchat")], "*")},
	} {
		if !gate.open {
			e.Closed = append(e.Closed, gate.key)
		}
	}
	e.Allowed = len(e.Closed) == 0
	return e
}
