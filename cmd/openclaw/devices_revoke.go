package main

import (
	"github.com/spf13/cobra"

	"openclaw/protocol"
)

// devicesRevokeCommand ends the token of a device for a role, and what is
// connected with it. CLI-026.
func devicesRevokeCommand(p *program) *cobra.Command {
	var f roleFlags
	cmd := &cobra.Command{
		Use:   "revoke --device <id> --role <role>",
		Short: "End a device's token for a role; it must be approved anew",
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.check(cmd); err != nil {
				return err
			}
			return p.decide(cmd, f.gatewayFlags, protocol.MethodDeviceTokenRevoke, protocol.DeviceTokenRevokeParams{DeviceID: f.device, Role: f.role})
		},
	}
	f.registerRole(cmd)
	return cmd
}
