package main

import (
	"github.com/spf13/cobra"

	"openclaw/protocol"
)

// systemPresenceCommand lists who is or was connected, always as JSON.
func systemPresenceCommand(p *program) *cobra.Command {
	var f gatewayFlags
	cmd := &cobra.Command{
		Use:   "presence",
		Short: "List who is connected to the gateway, as JSON",
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return p.printAnswer(cmd, f, protocol.MethodSystemPresence, struct{}{})
		},
	}
	f.register(cmd, 10000)
	return cmd
}
