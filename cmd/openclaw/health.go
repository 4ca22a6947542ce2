package main

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"openclaw/internal/cli"
	"openclaw/protocol"
)

// healthCommand asks a running gateway how it is. See docs/commands/health.md.
func healthCommand(p *program) *cobra.Command {
	var f gatewayFlags
	var verbose bool
	cmd := &cobra.Command{
		Use:   "health",
		Short: "Ask the running gateway how it is",
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			doc, err := p.callOnce(cmd.Context(), f, protocol.MethodHealth, protocol.HealthParams{Probe: verbose})
			if err != nil {
				return err
			}
			if f.json {
				return p.io.RawJSON(doc)
			}
			var h protocol.HealthResult
			if err := json.Unmarshal(doc, &h); err != nil {
				return fmt.Errorf("read the gateway's answer: %w", err)
			}
			p.printHealth(h, verbose)
			return nil
		},
	}
	f.register(cmd, 10000)
	cmd.Flags().BoolVar(&verbose, "verbose", false, "ask for fresh checks and show all agents")
	return cmd
}

func (p *program) printHealth(h protocol.HealthResult, verbose bool) {
	style := p.io.OutStyle()
	word := style.Green("ok")
	if !h.OK {
		word = style.Red("not ok")
	}
	fmt.Fprintf(p.io.Out, "Gateway:  %s (checked in %d ms)\n", word, h.DurationMs)
	for _, a := range h.Agents {
		if a.IsDefault || verbose {
			fmt.Fprintf(p.io.Out, "Agent:    %s\n", joinNonEmpty(" ", a.AgentID, a.Name, mark(a.IsDefault, "(default)"),
				fmt.Sprintf("with %s", count(a.Sessions.Count, "session"))))
		}
	}
	if len(h.ChannelOrder) == 0 {
		fmt.Fprintln(p.io.Out, "Channels: none")
	}
	for _, id := range h.ChannelOrder {
		state := "not configured"
		if c := h.Channels[id]; c.Configured {
			state = "configured"
			if c.Linked != nil && !*c.Linked {
				state = "not linked"
			}
		}
		fmt.Fprintf(p.io.Out, "Channel:  %s %s\n", firstOf(h.ChannelLabels[id], id), state)
	}
	fmt.Fprintf(p.io.Out, "Sessions: %d in %s\n", h.Sessions.Count, p.io.Path(h.Sessions.Path))
	for _, s := range h.Sessions.Recent {
		fmt.Fprintf(p.io.Out, "  %s %s\n", s.Key, style.Dim(ageText(s.Age)))
	}
}

// ageText turns milliseconds into words; nil is unknown.
func ageText(ms *int64) string {
	if ms == nil {
		return "at an unknown time"
	}
	return cli.Age(time.Duration(*ms)*time.Millisecond) + " ago"
}

func mark(on bool, text string) string {
	if on {
		return text
	}
	return ""
}

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
