package main

import (
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"openclaw/internal/cli"
	"openclaw/protocol"
)

// devicesCommand decides which devices may talk to the gateway. See
// docs/commands/devices.md.
func devicesCommand(p *program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "devices",
		Short: "See, approve and revoke the devices that may talk to the gateway",
		Args:  noArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(devicesListCommand(p), devicesApproveCommand(p), devicesRejectCommand(p), devicesRotateCommand(p), devicesRevokeCommand(p))
	return cmd
}

// decide calls a method about devices and prints its result, which is JSON with
// and without --json.
func (p *program) decide(cmd *cobra.Command, f gatewayFlags, method string, params any) error {
	doc, err := p.callOnce(cmd.Context(), f, method, params)
	if err != nil {
		return deviceHint(p, err)
	}
	return p.io.RawJSON(doc)
}

// deviceHint adds where the names that a command takes are from.
func deviceHint(p *program, err error) error {
	switch err.Error() {
	case "unknown requestId":
		return cli.Hint(err, "requests are valid for five minutes; see them with "+p.name+" devices list")
	case "unknown deviceId/role":
		return cli.Hint(err, "see devices and their roles with "+p.name+" devices list")
	}
	return err
}

// roleFlags name a device and one of its roles.
type roleFlags struct {
	gatewayFlags
	device, role string
}

func (f *roleFlags) registerRole(cmd *cobra.Command) {
	f.register(cmd, 10000)
	cmd.Flags().StringVar(&f.device, "device", "", "id of the device")
	cmd.Flags().StringVar(&f.role, "role", "", "role of the token: operator or node")
}

func (f *roleFlags) check(cmd *cobra.Command) error {
	switch {
	case f.device == "":
		return cli.Fail("missing --device", "see the ids of devices with: devices list", helpHint(cmd))
	case f.role == "":
		return cli.Fail("missing --role", helpHint(cmd))
	}
	return nil
}

// devicesPage is what device.pair.list answers.
func (p *program) devicesPage(cmd *cobra.Command, f gatewayFlags) (protocol.DevicePairListResult, json.RawMessage, error) {
	var page protocol.DevicePairListResult
	doc, err := p.callOnce(cmd.Context(), f, protocol.MethodDevicePairList, protocol.NoParams{})
	if err != nil {
		return page, nil, err
	}
	if err := json.Unmarshal(doc, &page); err != nil {
		return page, nil, fmt.Errorf("read the gateway's answer: %w", err)
	}
	return page, doc, nil
}
