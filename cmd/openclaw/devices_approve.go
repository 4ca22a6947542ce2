package main

import (
	"github.com/spf13/cobra"

	"openclaw/protocol"
)

// devicesApproveCommand decides about a pending request. CLI-026.
func devicesApproveCommand(p *program) *cobra.Command {
	var f gatewayFlags
	cmd := &cobra.Command{
		Use:   "approve <request>",
		Short: "Approve the request of a device",
		Args:  exactArgs("request"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.decide(cmd, f, protocol.MethodDevicePairApprove, protocol.DevicePairApproveParams{RequestID: args[0]})
		},
	}
	f.register(cmd, 10000)
	return cmd
}
