package main

import (
	"github.com/spf13/cobra"

	"openclaw/protocol"
)

// systemHeartbeatCommand asks about heartbeats and switches them.
func systemHeartbeatCommand(p *program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "heartbeat",
		Short: "Show the last heartbeat, or switch heartbeats",
		Args:  noArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	for _, verb := range []struct {
		name, short, method string
		params              any
	}{
		{"last", "Show what came of the last heartbeat; null before the first", protocol.MethodLastHeartbeat, struct{}{}},
		{"enable", "Let heartbeats run", protocol.MethodSetHeartbeats, protocol.SetHeartbeatsParams{Enabled: true}},
		{"disable", "Keep heartbeats from running until the gateway starts again", protocol.MethodSetHeartbeats, protocol.SetHeartbeatsParams{}},
	} {
		var f gatewayFlags
		sub := &cobra.Command{
			Use: verb.name, Short: verb.short, Args: noArgs,
			RunE: func(cmd *cobra.Command, _ []string) error { return p.printAnswer(cmd, f, verb.method, verb.params) },
		}
		f.register(sub, 10000)
		cmd.AddCommand(sub)
	}
	return cmd
}
