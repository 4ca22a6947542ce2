package main

import (
	"github.com/spf13/cobra"

	"openclaw/protocol"
)

// devicesRejectCommand decides about a pending request. CLI-026.
func devicesRejectCommand(p *program) *cobra.Command {
	var f gatewayFlags
	cmd := &cobra.Command{
		Use:   "reject <request>",
		Short: "Refuse the request of a device",
		Args:  exactArgs("request"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.decide(cmd, f, protocol.MethodDevicePairReject, protocol.DevicePairRejectParams{RequestID: args[0]})
		},
	}
	f.register(cmd, 10000)
	return cmd
}
