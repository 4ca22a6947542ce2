package main

import (
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"openclaw/internal/cli"
	"openclaw/protocol"
)

// gatewayCallCommand calls any method. See docs/commands/gateway.md.
func gatewayCallCommand(p *program) *cobra.Command {
	var f gatewayFlags
	var params string
	cmd := &cobra.Command{
		Use:   "call <method>",
		Short: "Call a method of the running gateway and print its answer",
		Args:  exactArgs("method"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !json.Valid([]byte(params)) {
				return cli.Fail("--params is not valid JSON", `write it as --params '{"key":"value"}'`)
			}
			doc, err := p.callOnce(cmd.Context(), f, args[0], json.RawMessage(params))
			if err != nil {
				return err
			}
			if !f.json {
				fmt.Fprintf(p.io.Out, "Gateway call: %s\n", args[0])
			}
			return p.io.RawJSON(doc)
		},
	}
	f.register(cmd, 10000)
	f.registerFinal(cmd)
	cmd.Flags().StringVar(&params, "params", "{}", "the method's params, a JSON object")
	return cmd
}

// gatewayHealthCommand is health under another name.
func gatewayHealthCommand(p *program) *cobra.Command {
	var f gatewayFlags
	cmd := &cobra.Command{
		Use:   "health",
		Short: "Ask the running gateway how it is",
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			doc, err := p.callOnce(cmd.Context(), f, protocol.MethodHealth, protocol.HealthParams{})
			if err != nil {
				return err
			}
			if f.json {
				return p.io.RawJSON(doc)
			}
			var h protocol.HealthResult
			if err := json.Unmarshal(doc, &h); err != nil {
				return fmt.Errorf("read the gateway's answer: %w", err)
			}
			p.printHealth(h, false)
			return nil
		},
	}
	f.register(cmd, 10000)
	return cmd
}
