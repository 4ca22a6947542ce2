package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"github.com/spf13/cobra"

	"openclaw/internal/cli"
	"openclaw/internal/config"
	"openclaw/internal/gateway"
	"openclaw/protocol"
)

// gatewayState is what gateway status prints as JSON.
type gatewayState struct {
	Service serviceState `json:"service"`
	Config  struct {
		CLI configState `json:"cli"`
	} `json:"config"`
	Gateway       bindState      `json:"gateway"`
	Port          portState      `json:"port"`
	LastError     string         `json:"lastError,omitempty"`
	RPC           *rpcState      `json:"rpc,omitempty"`
	ExtraServices []serviceState `json:"extraServices"`
}

// serviceState is the gateway as a service of the system.
type serviceState struct {
	Label         string       `json:"label"`
	Loaded        bool         `json:"loaded"`
	LoadedText    string       `json:"loadedText"`
	NotLoadedText string       `json:"notLoadedText"`
	Command       *struct{}    `json:"command"`
	Runtime       runtimeState `json:"runtime"`
}

type runtimeState struct {
	Status string `json:"status"` // running, stopped or unknown
	PID    int    `json:"pid,omitempty"`
	Detail string `json:"detail,omitempty"`
}

type configState struct {
	Path   string         `json:"path"`
	Exists bool           `json:"exists"`
	Valid  bool           `json:"valid"`
	Issues []config.Issue `json:"issues,omitempty"`
}

type bindState struct {
	BindMode       string `json:"bindMode"`
	BindHost       string `json:"bindHost"`
	CustomBindHost string `json:"customBindHost,omitempty"`
	Port           int    `json:"port"`
	PortSource     string `json:"portSource"`
	ProbeURL       string `json:"probeUrl"`
	ProbeNote      string `json:"probeNote,omitempty"`
}

type portState struct {
	Port      int        `json:"port"`
	Status    string     `json:"status"` // free or busy
	Listeners []listener `json:"listeners"`
	Hints     []string   `json:"hints"`
}

type rpcState struct {
	OK    bool   `json:"ok"`
	Error string `json:"error,omitempty"`
	URL   string `json:"url"`
	// secretNote tells when two sources of the secret differ.
	secretNote string
}

// gatewayStatusCommand inspects the gateway of this machine; it never fails
// because there is none. CLI-003, CLI-019.
func gatewayStatusCommand(p *program) *cobra.Command {
	var f gatewayFlags
	var noProbe, deep bool
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Inspect the gateway of this machine",
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := p.gatewayState(cmd.Context(), f, !noProbe)
			if err != nil {
				return err
			}
			if f.json {
				return p.io.JSON(s)
			}
			p.printGatewayState(s, deep)
			return nil
		},
	}
	f.register(cmd, 10000)
	cmd.Flags().BoolVar(&noProbe, "no-probe", false, "do not connect to the gateway")
	cmd.Flags().BoolVar(&deep, "deep", false, "also show programs that listen on the port, and where the secret is from")
	return cmd
}

func (p *program) gatewayState(ctx context.Context, f gatewayFlags, probe bool) (gatewayState, error) {
	snap := p.snapshot()
	c := snap.Config
	s := gatewayState{Service: p.serviceState(), ExtraServices: []serviceState{}}
	s.Config.CLI = configState{Path: snap.Path, Exists: snap.Exists, Valid: snap.Valid}
	s.Config.CLI.Issues = snap.Problems()
	port, source := c.Port(os.Getenv)
	t, err := p.target(f)
	if err != nil {
		return s, err
	}
	s.Gateway = bindState{BindMode: c.Gateway.Bind, BindHost: bindHostOf(c.Gateway),
		CustomBindHost: c.Gateway.CustomBindHost, Port: port, PortSource: source, ProbeURL: t.URL, ProbeNote: t.Note}
	s.Port = portState{Port: port, Status: "free", Listeners: portListeners(port), Hints: []string{}}
	if len(s.Port.Listeners) > 0 {
		s.Port.Status = "busy"
		s.Service.Runtime = runtimeState{Status: "running", PID: s.Port.Listeners[0].PID, Detail: "in the foreground, not as a service"}
	} else {
		s.Port.Listeners = []listener{}
	}
	if !probe {
		return s, nil
	}
	s.RPC = &rpcState{URL: t.URL, secretNote: p.secretNote()}
	conn, err := p.dialAs(ctx, f, t, dialOptions{mode: protocol.ModeProbe})
	if err == nil {
		err = conn.call(ctx, protocol.MethodStatus, nil, nil)
		conn.Close()
	}
	if ctx.Err() != nil {
		return s, ctx.Err()
	}
	s.RPC.OK = err == nil
	if err != nil {
		s.LastError = p.lastError(c)
		s.RPC.Error = err.Error()
		if s.Port.Status == "busy" {
			s.Port.Hints = append(s.Port.Hints, "the port is taken, but what listens there did not let this command in")
		}
		var e *cli.Error
		if errors.As(err, &e) {
			s.Port.Hints = append(s.Port.Hints, e.Hints...)
		}
	}
	return s, nil
}

// secretNote says when the environment hides a secret of the config file.
func (p *program) secretNote() string {
	auth := p.snapshot().Config.Gateway.Auth
	for _, s := range []struct{ name, env, stored string }{
		{"token", envSecret("TOKEN"), auth.Token.Reveal()}, {"password", envSecret("PASSWORD"), auth.Password.Reveal()},
	} {
		if _, note := secretSource(s.name, "", s.env, s.stored); note != "" {
			return note
		}
	}
	return ""
}

// bindHostOf is the address that the gateway would listen on, "" when it would
// refuse to.
func bindHostOf(gw config.Gateway) string {
	host, err := gateway.BindHost(gw.Bind, gw.CustomBindHost)
	if err != nil {
		return ""
	}
	return host
}

// serviceState tells whether the gateway is set up as a service.
func (p *program) serviceState() serviceState {
	s := serviceState{Label: "systemd", LoadedText: "enabled", NotLoadedText: "disabled", Runtime: runtimeState{Status: "stopped"}}
	suffix := ""
	if p.paths.Profile != "" {
		suffix = "-" + p.paths.Profile
	}
	file := filepath.Join(p.paths.Home, ".config", "systemd", "user", "openclaw-gateway"+suffix+".service")
	if runtime.GOOS == "darwin" {
		s.Label, s.LoadedText, s.NotLoadedText = "LaunchAgent", "loaded", "not loaded"
		file = filepath.Join(p.paths.Home, "Library", "LaunchAgents", "ai.openclaw."+firstOf(p.paths.Profile, "gateway")+".plist")
	}
	if _, err := os.Stat(file); err == nil {
		s.Loaded = true
	}
	return s
}

func (p *program) printGatewayState(s gatewayState, deep bool) {
	style := p.io.OutStyle()
	line := func(name, format string, args ...any) {
		fmt.Fprintf(p.io.Out, "%-9s %s\n", name+":", fmt.Sprintf(format, args...))
	}
	service := s.Service.NotLoadedText
	if s.Service.Loaded {
		service = s.Service.LoadedText
	}
	line("Service", "%s %s", s.Service.Label, service)
	state := "valid"
	switch {
	case !s.Config.CLI.Exists:
		state = "missing"
	case !s.Config.CLI.Valid:
		state = style.Red("invalid")
	}
	line("Config", "%s (%s)", p.io.Path(s.Config.CLI.Path), state)
	line("Bind", "%s (%s), port %d from %s", s.Gateway.BindMode, s.Gateway.BindHost, s.Gateway.Port, s.Gateway.PortSource)
	running := s.Service.Runtime.Status
	if s.Service.Runtime.PID > 0 {
		running += fmt.Sprintf(" (pid %d)", s.Service.Runtime.PID)
	}
	line("Process", "%s", running)
	if s.Gateway.ProbeNote != "" {
		line("Note", "%s", s.Gateway.ProbeNote)
	}
	if deep {
		for _, l := range s.Port.Listeners {
			line("Listener", "%s", l)
		}
	}
	if s.RPC == nil {
		return
	}
	if s.RPC.OK {
		line("Answer", "%s from %s", style.Green("ok"), s.RPC.URL)
	} else {
		line("Answer", "%s: %s", style.Red("none"), s.RPC.Error)
	}
	if s.RPC.secretNote != "" {
		line("Secret", "%s", s.RPC.secretNote)
	}
	if s.LastError != "" {
		line("Log", "last error: %s", s.LastError)
	}
	for _, hint := range s.Port.Hints {
		fmt.Fprintf(p.io.Out, "  hint: %s\n", hint)
	}
}
