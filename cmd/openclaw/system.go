package main

import "github.com/spf13/cobra"

// systemCommand tells the gateway something and asks it who is there. See
// docs/commands/system.md.
func systemCommand(p *program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "system",
		Short: "Leave a word for the main session, ask about heartbeats and presence",
		Args:  noArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(systemEventCommand(p), systemHeartbeatCommand(p), systemPresenceCommand(p))
	return cmd
}

// printAnswer calls a method and prints its answer as JSON.
func (p *program) printAnswer(cmd *cobra.Command, f gatewayFlags, method string, params any) error {
	doc, err := p.callOnce(cmd.Context(), f, method, params)
	if err != nil {
		return err
	}
	return p.io.RawJSON(doc)
}
