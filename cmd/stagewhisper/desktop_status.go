package main

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"openclaw/byo"
	"openclaw/internal/cli"
	"openclaw/internal/desktop"
)

// desktopStatusCommand tells how everything is.
func desktopStatusCommand(p *program) *cobra.Command {
	var json bool
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Tell what is paired, what waits and which calls go on",
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return p.with(cmd, func(ctx context.Context, d *desk) error {
				var s desktop.Status
				if err := d.call(ctx, http.MethodGet, "/v1/status", nil, &s); err != nil {
					return err
				}
				if json {
					return p.io.JSON(map[string]any{"daemon": !d.own, "status": s})
				}
				fmt.Fprintf(p.io.Out, "Daemon:    %s\n", yesNo(!d.own))
				fmt.Fprintf(p.io.Out, "Callbacks: %s\n", cmp.Or(s.CallbackURL, "none, answers are read from the assistants"))
				fmt.Fprintf(p.io.Out, "Relays:    %s\n", cmp.Or(strings.Join(s.Relays, ", "), "none"))
				fmt.Fprintf(p.io.Out, "Calls:     %s\n", cmp.Or(strings.Join(s.Calls, ", "), "none"))
				fmt.Fprintf(p.io.Out, "Waiting:   %d messages\n\n", s.Waiting)
				return p.tableOf(s.Assistants)
			})
		},
	}
	cmd.Flags().BoolVar(&json, "json", false, "print JSON")
	return cmd
}

func (p *program) tableOf(list []desktop.Assistant) error {
	t := cli.NewTable(cli.Column{Title: "Assistant"}, cli.Column{Title: "Label", Max: 30}, cli.Column{Title: "Kind"}, cli.Column{Title: "Way"}, cli.Column{Title: "Verified"}, cli.Column{Title: "State"})
	for _, a := range list {
		state := ""
		if a.State != nil {
			state = a.State.Liveness
			if a.State.Connected {
				state += ", connected"
			}
		}
		t.Row(a.ID, a.Label, a.ProviderKind, a.Topology, cmp.Or(a.Verified, "no"), state)
	}
	return t.Write(p.io.Out)
}

// desktopAssistantsCommand lists what is paired.
func desktopAssistantsCommand(p *program) *cobra.Command {
	var json bool
	cmd := &cobra.Command{
		Use:   "assistants",
		Short: "List the assistants that are paired",
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return p.with(cmd, func(ctx context.Context, d *desk) error {
				list, err := d.assistants(ctx)
				if err != nil {
					return err
				}
				if json {
					return p.io.JSON(map[string]any{"assistants": list})
				}
				return p.tableOf(list)
			})
		},
	}
	cmd.Flags().BoolVar(&json, "json", false, "print JSON")
	return cmd
}

// desktopUnpairCommand ends a pairing.
func desktopUnpairCommand(p *program) *cobra.Command {
	return &cobra.Command{
		Use:   "unpair [ASSISTANT]",
		Short: "End a pairing on both sides and delete its keys",
		Args:  wantArgs("[assistant]"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.with(cmd, func(ctx context.Context, d *desk) error {
				a, err := d.assistant(ctx, first(args))
				if err != nil {
					return err
				}
				if err := d.call(ctx, http.MethodDelete, "/v1/assistants/"+url.PathEscape(a.ID), nil, nil); err != nil {
					return err
				}
				fmt.Fprintf(p.io.Out, "Unpaired %s\n", a.ID)
				return nil
			})
		},
	}
}

func first(args []string) string {
	if len(args) == 0 {
		return ""
	}
	return args[0]
}

// desktopProbeCommand finds out whether an assistant answers and what it can do.
func desktopProbeCommand(p *program) *cobra.Command {
	var json bool
	cmd := &cobra.Command{
		Use:   "probe [ASSISTANT]",
		Short: "Find out whether an assistant answers, and what it can do",
		Args:  wantArgs("[assistant]"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.with(cmd, func(ctx context.Context, d *desk) error {
				a, err := d.assistant(ctx, first(args))
				if err != nil {
					return err
				}
				began := time.Now()
				path := "/v1/assistants/" + url.PathEscape(a.ID)
				var way struct {
					RoundTripMS int64 `json:"round_trip_ms"`
				}
				if a.Topology == byo.TopologyRelay {
					if err := d.call(ctx, http.MethodPost, path+"/test", struct{}{}, &way); err != nil {
						return cli.Hint(err, "is \"stagewhisper assistant run\" running?")
					}
				}
				if err := d.call(ctx, http.MethodPost, path+"/probe", struct{}{}, a); err != nil {
					return err
				}
				if json {
					return p.io.JSON(a)
				}
				fmt.Fprintf(p.io.Out, "%s answers (%s).\n", cmp.Or(a.Label, a.ID), time.Since(began).Round(time.Millisecond))
				return p.describe(a)
			})
		},
	}
	cmd.Flags().BoolVar(&json, "json", false, "print the assistant as JSON")
	return cmd
}

// describe prints what an assistant says about itself.
func (p *program) describe(a *desktop.Assistant) error {
	profile, err := profileOf(a)
	if err != nil || profile == nil {
		return err
	}
	fmt.Fprintf(p.io.Out, "\n%s\n", plain(profile.RawDescription))
	for _, s := range profile.Skills {
		fmt.Fprintf(p.io.Out, "- %s: %s\n", plain(s.Name), plain(s.Description))
	}
	if len(profile.Models) > 0 {
		fmt.Fprintf(p.io.Out, "Models: %s\n", plain(strings.Join(profile.Models, ", ")))
	}
	return nil
}
