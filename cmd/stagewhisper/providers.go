package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// providersCommand prints the kinds of assistants.
func providersCommand(p *program) *cobra.Command {
	var file string
	var json bool
	cmd := &cobra.Command{
		Use:   "providers",
		Short: "Print the kinds of assistants: how to install and pair them, and what they need",
		Args:  noArgs,
		RunE: func(*cobra.Command, []string) error {
			known, err := registry(file)
			if err != nil {
				return err
			}
			all := known.All()
			if json {
				return p.io.JSON(all)
			}
			for i, a := range all.Providers {
				if i > 0 {
					fmt.Fprintln(p.io.Out)
				}
				fmt.Fprintf(p.io.Out, "%s (%s, %s): %s\n", p.io.OutStyle().Bold(a.DisplayName), a.Kind, a.Status, strings.Join(a.Topologies, ", "))
				for _, c := range a.Install {
					fmt.Fprintf(p.io.Out, "  install (%s): %s\n", c.OS, c.Command)
				}
				if a.Pairing.RelayCommand != "" {
					fmt.Fprintf(p.io.Out, "  pair over a relay: %s\n", a.Pairing.RelayCommand)
				}
				if a.Pairing.DirectCommand != "" {
					fmt.Fprintf(p.io.Out, "  pair directly:     %s\n", a.Pairing.DirectCommand)
				}
				fmt.Fprintf(p.io.Out, "  needs: envelopes %v", a.Protocol.EnvelopeVersions)
				if a.Protocol.MinPluginVersion != "" {
					fmt.Fprintf(p.io.Out, ", plugin %s or newer", a.Protocol.MinPluginVersion)
				}
				fmt.Fprintln(p.io.Out)
			}
			fmt.Fprintln(p.io.Out, "\nAny other agent pairs through \"stagewhisper assistant\", under a name of its own.")
			return nil
		},
	}
	cmd.Flags().StringVar(&file, "file", "", "JSON file with more kinds, or other words for these")
	cmd.Flags().BoolVar(&json, "json", false, "print JSON")
	return cmd
}
