package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"openclaw/client"
	"openclaw/internal/cli"
	"openclaw/protocol"
)

// probeReport is what gateway probe prints as JSON.
type probeReport struct {
	OK              bool           `json:"ok"`
	Ts              int64          `json:"ts"`
	DurationMs      int64          `json:"durationMs"`
	TimeoutMs       int            `json:"timeoutMs"`
	PrimaryTargetID *string        `json:"primaryTargetId"`
	Warnings        []probeWarning `json:"warnings"`
	Network         struct{}       `json:"network"`
	Discovery       probeDiscovery `json:"discovery"`
	Targets         []probeTarget  `json:"targets"`
}

type probeWarning struct {
	Code      string   `json:"code"`
	Message   string   `json:"message"`
	TargetIDs []string `json:"targetIds,omitempty"`
}

// probeDiscovery is empty: nothing is looked for on the network.
type probeDiscovery struct {
	TimeoutMs int      `json:"timeoutMs"`
	Count     int      `json:"count"`
	Beacons   []string `json:"beacons"`
}

type probeTarget struct {
	ID       string          `json:"id"`
	Kind     string          `json:"kind"`
	URL      string          `json:"url"`
	Active   bool            `json:"active"`
	Tunnel   *struct{}       `json:"tunnel"`
	Connect  probeConnect    `json:"connect"`
	Self     json.RawMessage `json:"self"`
	Config   json.RawMessage `json:"config"`
	Health   json.RawMessage `json:"health"`
	Summary  json.RawMessage `json:"summary"`
	Presence json.RawMessage `json:"presence"`
}

type probeConnect struct {
	OK        bool        `json:"ok"`
	LatencyMs *int64      `json:"latencyMs"`
	Error     *string     `json:"error"`
	Close     *probeClose `json:"close"`

	hints []string
}

type probeClose struct {
	Code   int    `json:"code"`
	Reason string `json:"reason"`
}

// gatewayProbeCommand tries every gateway that this machine could mean.
func gatewayProbeCommand(p *program) *cobra.Command {
	var f gatewayFlags
	cmd := &cobra.Command{
		Use:   "probe",
		Short: "Try the gateways this machine could mean",
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			r, err := p.probe(cmd.Context(), f)
			if err != nil {
				return err
			}
			if f.json {
				err = p.io.JSON(r)
			} else {
				p.printProbe(r)
			}
			if err == nil && !r.OK {
				err = cli.Exit(1)
			}
			return err
		},
	}
	f.register(cmd, 3000)
	return cmd
}

// probeTargets are the gateway of --url, the remote one and the one on this
// machine, each once; the first is the one that commands use.
func (p *program) probeTargets(f gatewayFlags) ([]target, error) {
	first, err := p.target(f)
	if err != nil {
		return nil, err
	}
	targets := []target{first}
	if first.Kind != kindLocal {
		local, err := p.localTarget()
		if err != nil {
			return nil, err
		}
		if local.URL != first.URL {
			targets = append(targets, local)
		}
	}
	return targets, nil
}

func (p *program) probe(ctx context.Context, f gatewayFlags) (probeReport, error) {
	began := time.Now()
	r := probeReport{Ts: began.UnixMilli(), TimeoutMs: f.timeout, Warnings: []probeWarning{}, Discovery: probeDiscovery{Beacons: []string{}}}
	targets, err := p.probeTargets(f)
	if err != nil {
		return r, err
	}
	reached := []string{}
	for i, t := range targets {
		one := p.probeOne(ctx, f, t)
		if ctx.Err() != nil {
			return r, ctx.Err()
		}
		one.Active = i == 0
		if one.Connect.OK {
			reached = append(reached, one.ID)
		}
		r.Targets = append(r.Targets, one)
	}
	if r.OK = len(reached) > 0; r.OK {
		r.PrimaryTargetID = &reached[0]
	}
	if len(reached) > 1 {
		r.Warnings = append(r.Warnings, probeWarning{Code: "multiple_gateways",
			Message: "several gateways answer; commands use the first one", TargetIDs: reached})
	}
	r.DurationMs = time.Since(began).Milliseconds()
	return r, nil
}

func (p *program) probeOne(ctx context.Context, f gatewayFlags, t target) probeTarget {
	null := json.RawMessage("null")
	one := probeTarget{ID: t.Kind, Kind: t.Kind, URL: t.URL, Self: null, Config: null, Health: null, Summary: null, Presence: null}
	began := time.Now()
	conn, err := p.dialAs(ctx, f, t, dialOptions{mode: protocol.ModeProbe})
	if err != nil {
		one.Connect = failedConnect(err)
		return one
	}
	defer conn.Close()
	one.Connect = probeConnect{OK: true, LatencyMs: new(time.Since(began).Milliseconds())}
	one.Self, _ = json.Marshal(conn.Hello().Server) // plain data
	for method, place := range map[string]*json.RawMessage{
		protocol.MethodHealth: &one.Health, protocol.MethodStatus: &one.Summary, protocol.MethodSystemPresence: &one.Presence,
	} {
		if err := conn.call(ctx, method, nil, place); err != nil {
			text := err.Error()
			one.Connect.Error = &text
		}
	}
	return one
}

func failedConnect(err error) probeConnect {
	text := err.Error()
	c := probeConnect{Error: &text}
	var closed *client.CloseError
	if errors.As(err, &closed) {
		c.Close = &probeClose{Code: closed.Code, Reason: closed.Reason}
	}
	var e *cli.Error
	if errors.As(err, &e) {
		c.hints = e.Hints
	}
	return c
}

func (p *program) printProbe(r probeReport) {
	style := p.io.OutStyle()
	for _, t := range r.Targets {
		state := style.Green("reachable")
		if !t.Connect.OK {
			state = style.Red("not reachable")
		}
		fmt.Fprintf(p.io.Out, "%-7s %s %s%s\n", t.Kind, t.URL, state, mark(t.Active, " (used by commands)"))
		if t.Connect.OK {
			fmt.Fprintf(p.io.Out, "        answered in %d ms\n", *t.Connect.LatencyMs)
		}
		if t.Connect.Error != nil {
			fmt.Fprintf(p.io.Out, "        %s\n", *t.Connect.Error)
		}
		for _, hint := range t.Connect.hints {
			fmt.Fprintf(p.io.Out, "        hint: %s\n", hint)
		}
	}
	for _, w := range r.Warnings {
		fmt.Fprintf(p.io.Out, "%s\n", style.Yellow(w.Message))
	}
}
