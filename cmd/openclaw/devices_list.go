package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"openclaw/internal/cli"
	"openclaw/protocol"
)

// devicesListCommand lists pending and paired devices. CLI-026.
func devicesListCommand(p *program) *cobra.Command {
	var f gatewayFlags
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the devices that wait for approval and those that have it",
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			page, doc, err := p.devicesPage(cmd, f)
			if err != nil {
				return err
			}
			if f.json {
				return p.io.RawJSON(doc)
			}
			return p.printDevices(page)
		},
	}
	f.register(cmd, 10000)
	return cmd
}

func (p *program) printDevices(page protocol.DevicePairListResult) error {
	out := p.io.Out
	fmt.Fprintf(out, "Pending: %d\n", len(page.Pending))
	if len(page.Pending) > 0 {
		table := cli.NewTable(cli.Column{Title: "Request"}, cli.Column{Title: "Device", Max: 24}, cli.Column{Title: "Role"},
			cli.Column{Title: "Scopes"}, cli.Column{Title: "Address"}, cli.Column{Title: "Age"}, cli.Column{Title: "Flags"})
		for _, d := range page.Pending {
			table.Row(d.RequestID, firstOf(d.DisplayName, d.DeviceID), firstOf(d.Role, strings.Join(d.Roles, ",")),
				strings.Join(d.Scopes, ","), d.RemoteIP, p.age(d.Ts), mark(d.IsRepair, "repair"))
		}
		if err := table.Write(out); err != nil {
			return err
		}
		fmt.Fprintf(out, "approve one with: %s devices approve <request>\n", p.name)
	}
	fmt.Fprintf(out, "Paired:  %d\n", len(page.Paired))
	if len(page.Paired) == 0 {
		return nil
	}
	table := cli.NewTable(cli.Column{Title: "Device"}, cli.Column{Title: "Name", Max: 24}, cli.Column{Title: "Roles"},
		cli.Column{Title: "Scopes"}, cli.Column{Title: "Tokens"}, cli.Column{Title: "Address"}, cli.Column{Title: "Approved"})
	for _, d := range page.Paired {
		roles := d.Roles
		if len(roles) == 0 && d.Role != "" {
			roles = []string{d.Role}
		}
		table.Row(d.DeviceID, firstOf(d.DisplayName, d.ClientID), strings.Join(roles, ","), strings.Join(d.Scopes, ","),
			tokensOf(d), d.RemoteIP, p.age(d.ApprovedAtMs))
	}
	return table.Write(out)
}

// tokensOf tells the roles that a device has a token for, and which were revoked.
func tokensOf(d protocol.PairedDevice) string {
	var words []string
	for _, t := range d.Tokens {
		word := t.Role
		if t.RevokedAtMs > 0 {
			word += " (revoked)"
		}
		words = append(words, word)
	}
	return strings.Join(words, ",")
}

// age is how long ago a time in milliseconds was.
func (p *program) age(ms int64) string {
	if ms <= 0 {
		return "-"
	}
	return cli.Age(p.now().Sub(time.UnixMilli(ms)))
}
