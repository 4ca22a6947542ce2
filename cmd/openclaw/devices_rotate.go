package main

import (
	"github.com/spf13/cobra"

	"openclaw/internal/cli"
	"openclaw/protocol"
)

// devicesRotateCommand gives a device a new token for a role and prints it: the
// one place that shows one. CLI-026, CLI-035.
func devicesRotateCommand(p *program) *cobra.Command {
	var f roleFlags
	var scopes []string
	cmd := &cobra.Command{
		Use:   "rotate --device <id> --role <role> [--scope <scope>…]",
		Short: "Give a device a new token and print it",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 && len(scopes) == 0 {
				return cli.Fail("unexpected argument "+args[0], helpHint(cmd))
			}
			if err := f.check(cmd); err != nil {
				return err
			}
			// From protocol 4 on a new token is told to its own device only.
			f.protocol = protocol.Version3
			params := protocol.DeviceTokenRotateParams{DeviceID: f.device, Role: f.role, Scopes: append(scopes, args...)}
			return p.decide(cmd, f.gatewayFlags, protocol.MethodDeviceTokenRotate, params)
		},
	}
	f.registerRole(cmd)
	// "--scope a b" is how the reference's command takes several.
	cmd.Flags().StringSliceVar(&scopes, "scope", nil, "scopes of the new token (default: those of the old one)")
	return cmd
}
