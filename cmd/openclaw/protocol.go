package main

import (
	"github.com/spf13/cobra"

	"openclaw/protocol"
)

// protocolCommand prints the wire contract. See docs/commands/protocol.md.
func protocolCommand(p *program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "protocol",
		Short: "Print the wire contract of the gateway",
		Args:  noArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(&cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of every frame, method and event",
		Args:  noArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := p.io.Out.Write(protocol.SchemaJSON())
			return err
		},
	})
	return cmd
}
