package main

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"openclaw/internal/chat"
	"openclaw/internal/cli"
	"openclaw/internal/logs"
	"openclaw/internal/workspace"
	"openclaw/protocol"
)

// statusReport is what status prints as JSON: the gateway's own summary, or one
// made from the files when it is down, and what this machine knows. CLI-021.
type statusReport struct {
	protocol.StatusResult
	OS                  statusOS        `json:"os"`
	Update              *struct{}       `json:"update"`
	UpdateChannel       string          `json:"updateChannel"`
	UpdateChannelSource string          `json:"updateChannelSource"`
	Memory              *struct{}       `json:"memory"`
	MemoryPlugin        *struct{}       `json:"memoryPlugin"`
	Gateway             statusGateway   `json:"gateway"`
	GatewayService      serviceState    `json:"gatewayService"`
	NodeService         *struct{}       `json:"nodeService"`
	Agents              statusAgents    `json:"agents"`
	SecurityAudit       *struct{}       `json:"securityAudit"`
	Health              json.RawMessage `json:"health,omitempty"`

	model string
}

type statusOS struct {
	Platform string `json:"platform"`
	Arch     string `json:"arch"`
	Release  string `json:"release"`
	Label    string `json:"label"`
}

type statusGateway struct {
	Mode             string          `json:"mode"`
	URL              string          `json:"url"`
	URLSource        string          `json:"urlSource"`
	Misconfigured    bool            `json:"misconfigured"`
	Reachable        bool            `json:"reachable"`
	ConnectLatencyMs *int64          `json:"connectLatencyMs"`
	Self             json.RawMessage `json:"self"`
	Error            *string         `json:"error"`
}

type statusAgents struct {
	DefaultID             string        `json:"defaultId"`
	Agents                []statusAgent `json:"agents"`
	TotalSessions         int           `json:"totalSessions"`
	BootstrapPendingCount int           `json:"bootstrapPendingCount"`
}

type statusAgent struct {
	ID               string `json:"id"`
	Name             string `json:"name,omitempty"`
	WorkspaceDir     string `json:"workspaceDir"`
	BootstrapPending bool   `json:"bootstrapPending"`
	SessionsPath     string `json:"sessionsPath"`
	SessionsCount    int    `json:"sessionsCount"`
	LastUpdatedAt    *int64 `json:"lastUpdatedAt"`
	LastActiveAgeMs  *int64 `json:"lastActiveAgeMs"`
}

// statusCommand is the overview; a gateway that is down does not make it fail.
// See docs/commands/status.md.
func statusCommand(p *program) *cobra.Command {
	var f gatewayFlags
	var all, deep, verbose bool
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show the whole installation at a glance",
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			r, err := p.status(cmd.Context(), f, deep)
			if err != nil {
				return err
			}
			if f.json {
				return p.io.JSON(r)
			}
			p.printStatus(r, all || verbose)
			return nil
		},
	}
	f.register(cmd, 10000)
	cmd.Flags().BoolVar(&all, "all", false, "a report to paste into a bug report, without secrets")
	cmd.Flags().BoolVar(&deep, "deep", false, "also ask the gateway for its health")
	cmd.Flags().BoolVar(&verbose, "verbose", false, "show more")
	return cmd
}

func (p *program) status(ctx context.Context, f gatewayFlags, deep bool) (statusReport, error) {
	r := statusReport{
		OS: statusOS{Platform: platform(), Arch: runtime.GOARCH, Release: kernelRelease(),
			Label: joinNonEmpty(" ", platform(), kernelRelease(), "("+runtime.GOARCH+")")},
		UpdateChannel: "stable", UpdateChannelSource: "default", GatewayService: p.serviceState(),
	}
	t, err := p.target(f)
	if err != nil {
		return r, err
	}
	r.Gateway = statusGateway{Mode: firstOf(p.snapshot().Config.Gateway.Mode, "local"), URL: t.URL, URLSource: t.Source,
		Misconfigured: t.Note != "", Self: json.RawMessage("null")}
	if err := p.statusOfGateway(ctx, f, t, &r, deep); err != nil {
		if ctx.Err() != nil {
			return r, ctx.Err()
		}
		text := err.Error()
		r.Gateway.Error = &text
		if r.StatusResult, err = p.localStatus(); err != nil {
			return r, err
		}
	}
	info := p.defaultInfo()
	r.model = info.Ref.String()
	r.Agents, err = p.agentsStatus()
	return r, err
}

// statusOfGateway asks the gateway.
func (p *program) statusOfGateway(ctx context.Context, f gatewayFlags, t target, r *statusReport, deep bool) error {
	began := time.Now()
	conn, err := p.dialAs(ctx, f, t, dialOptions{mode: protocol.ModeProbe})
	if err != nil {
		return err
	}
	defer conn.Close()
	r.Gateway.Reachable = true
	r.Gateway.ConnectLatencyMs = new(time.Since(began).Milliseconds())
	if r.Gateway.Self, err = json.Marshal(conn.Hello().Server); err != nil {
		return err
	}
	if deep {
		if err := conn.call(ctx, protocol.MethodHealth, nil, &r.Health); err != nil {
			return err
		}
	}
	return conn.call(ctx, protocol.MethodStatus, nil, &r.StatusResult)
}

// localStatus sums the files up as a gateway would.
func (p *program) localStatus() (protocol.StatusResult, error) {
	c := p.snapshot().Config
	info := p.defaultInfo()
	window := int64(info.ContextWindow)
	r := protocol.StatusResult{
		Heartbeat:      protocol.StatusHeartbeat{DefaultAgentID: c.DefaultAgentID(), Agents: []protocol.StatusAgentHeartbeat{}},
		ChannelSummary: []string{}, QueuedSystemEvents: []string{},
		Sessions: protocol.StatusSessions{Paths: []string{}, Recent: []protocol.StatusSession{}, ByAgent: []protocol.StatusAgentSessions{},
			Defaults: protocol.StatusSessionDefaults{Model: &info.Ref.ID, ContextTokens: &window}},
	}
	for _, id := range c.AgentIDs() {
		r.Heartbeat.Agents = append(r.Heartbeat.Agents, protocol.StatusAgentHeartbeat{AgentID: id, Every: c.Agents.Defaults.Heartbeat.Every})
		path := c.SessionStore(p.paths, id)
		items, err := readSessions(p.paths.State("agents", id, "sessions"), path, id)
		if err != nil {
			return r, err
		}
		by := protocol.StatusAgentSessions{AgentID: id, Path: path, Count: len(items), Recent: []protocol.StatusSession{}}
		for _, it := range items[:min(10, len(items))] {
			l := p.sessionLine(it, info)
			by.Recent = append(by.Recent, protocol.StatusSession{
				AgentID: id, Key: l.Key, Kind: string(chat.KeyKind(it.Key, it.Entry.ChatType)), SessionID: l.SessionID,
				UpdatedAt: l.UpdatedAt, Age: l.AgeMs, TotalTokens: wide(l.TotalTokens), Model: &l.Model, ContextTokens: wide(l.ContextTokens),
				ThinkingLevel: l.ThinkingLevel, VerboseLevel: l.VerboseLevel, Flags: strings.Fields(sessionFlags(l, true)),
			})
		}
		r.Sessions.Paths = append(r.Sessions.Paths, path)
		r.Sessions.ByAgent = append(r.Sessions.ByAgent, by)
		r.Sessions.Count += by.Count
		r.Sessions.Recent = append(r.Sessions.Recent, by.Recent...)
	}
	return r, nil
}

func wide(n *int) *int64 {
	if n == nil {
		return nil
	}
	return new(int64(*n))
}

// agentsStatus looks at the folders of every agent.
func (p *program) agentsStatus() (statusAgents, error) {
	c := p.snapshot().Config
	s := statusAgents{DefaultID: c.DefaultAgentID(), Agents: []statusAgent{}}
	for _, id := range c.AgentIDs() {
		a, _ := c.Agent(id)
		one := statusAgent{ID: id, Name: a.Name, WorkspaceDir: c.Workspace(p.paths, id), SessionsPath: c.SessionStore(p.paths, id)}
		one.BootstrapPending = workspace.Bootstrapping(one.WorkspaceDir)
		items, err := readSessions(p.paths.State("agents", id, "sessions"), one.SessionsPath, id)
		if err != nil {
			return s, err
		}
		if one.SessionsCount = len(items); one.SessionsCount > 0 {
			at := items[0].Entry.UpdatedAt
			one.LastUpdatedAt, one.LastActiveAgeMs = &at, new(max(0, p.now().UnixMilli()-at))
		}
		if one.BootstrapPending {
			s.BootstrapPendingCount++
		}
		s.TotalSessions += one.SessionsCount
		s.Agents = append(s.Agents, one)
	}
	return s, nil
}

func (p *program) printStatus(r statusReport, all bool) {
	style := p.io.OutStyle()
	line := func(name, format string, args ...any) {
		fmt.Fprintf(p.io.Out, "%-9s %s\n", name+":", fmt.Sprintf(format, args...))
	}
	snap := p.snapshot()
	state := "valid"
	switch {
	case !snap.Exists:
		state = "missing, " + p.name + " setup makes it"
	case !snap.Valid:
		state = style.Red("invalid")
	}
	line("Version", "openclaw %s on %s", version, r.OS.Label)
	line("Config", "%s (%s)", p.io.Path(snap.Path), state)
	if r.Gateway.Reachable {
		line("Gateway", "%s at %s in %d ms", style.Green("reachable"), r.Gateway.URL, *r.Gateway.ConnectLatencyMs)
	} else {
		line("Gateway", "%s: %s", style.Yellow("not reachable"), *r.Gateway.Error)
	}
	line("Model", "%s", r.model)
	for _, a := range r.Agents.Agents {
		line("Agent", "%s with %s, workspace %s%s", a.ID, count(a.SessionsCount, "session"), p.io.Path(a.WorkspaceDir), mark(a.BootstrapPending, " (bootstrapping)"))
	}
	for _, s := range r.Sessions.Recent[:min(5, len(r.Sessions.Recent))] {
		used := "-"
		if s.TotalTokens != nil {
			used = cli.Tokens(int(*s.TotalTokens)) + " tokens"
		}
		line("Session", "%s %s, %s", s.Key, ageText(s.Age), used)
	}
	if all {
		p.printStatusAll(r)
	}
}

// printStatusAll adds what helps to find a fault; secrets are hidden.
func (p *program) printStatusAll(r statusReport) {
	fmt.Fprintf(p.io.Out, "\nGateway %s (from %s), mode %s, service %s\n", r.Gateway.URL, r.Gateway.URLSource, r.Gateway.Mode, r.GatewayService.Runtime.Status)
	snap := p.snapshot()
	for _, i := range snap.Problems() {
		fmt.Fprintf(p.io.Out, "config problem: %s\n", i)
	}
	for _, w := range snap.Warnings {
		fmt.Fprintf(p.io.Out, "config warning: %s\n", w)
	}
	if redacted := snap.Redacted().Raw; redacted != nil {
		fmt.Fprintf(p.io.Out, "\n%s\n", strings.TrimSpace(logs.Redact(*redacted)))
	}
}
