package main

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"openclaw/internal/assistant"
	"openclaw/internal/cli"
)

// pairingRow is a pairing as status prints it.
type pairingRow struct {
	ID           string    `json:"integration_id"`
	Label        string    `json:"label"`
	ProviderKind string    `json:"provider_kind"`
	Relay        string    `json:"relay"`
	Verified     string    `json:"verified"`
	SAS          string    `json:"sas,omitempty"`
	Fingerprint  string    `json:"fingerprint,omitempty"`
	PairedAt     time.Time `json:"paired_at"`
	Running      bool      `json:"running"`
}

func assistantRow(p *assistant.Pairing, running bool) pairingRow {
	r := pairingRow{ID: p.IntegrationID, Label: p.Label, ProviderKind: p.ProviderKind, Relay: p.APIBaseURL, Verified: p.Verified, SAS: p.SAS, PairedAt: p.PairedAt, Running: running}
	if print, err := p.Fingerprint(); err == nil { // a damaged key shows as none
		r.Fingerprint = print
	}
	return r
}

// assistantStatusCommand lists the pairings.
func assistantStatusCommand(p *program) *cobra.Command {
	var json bool
	cmd := &cobra.Command{
		Use:   "status",
		Short: "List the pairings of this assistant",
		Args:  noArgs,
		RunE: func(*cobra.Command, []string) error {
			parent, err := p.pairings()
			if err != nil {
				return err
			}
			all, err := assistant.Pairings(parent)
			if err != nil {
				return err
			}
			rows := []pairingRow{}
			for name, pairing := range all {
				rows = append(rows, assistantRow(pairing, assistant.InUse(filepath.Join(parent, name))))
			}
			slices.SortFunc(rows, func(a, b pairingRow) int { return a.PairedAt.Compare(b.PairedAt) })
			listener, _ := assistant.LoadDirect(filepath.Join(parent, assistant.DirectName)) // none when it cannot be read; run says why
			if json {
				out := map[string]any{"pairings": rows}
				if listener != nil {
					out["direct"] = map[string]any{"url": listener.URL, "label": listener.Label, "provider_kind": listener.ProviderKind, "running": assistant.InUse(filepath.Join(parent, assistant.DirectName))}
				}
				return p.io.JSON(out)
			}
			if len(rows) == 0 && listener == nil {
				return noPairing()
			}
			t := cli.NewTable(cli.Column{Title: "Pairing"}, cli.Column{Title: "Desktop", Max: 30}, cli.Column{Title: "Kind"}, cli.Column{Title: "Verified"}, cli.Column{Title: "Runs"}, cli.Column{Title: "Over", Max: 50})
			for _, r := range rows {
				t.Row(r.ID, r.Label, r.ProviderKind, r.Verified, yesNo(r.Running), r.Relay)
			}
			if listener != nil {
				t.Row(assistant.DirectName, listener.Label, listener.ProviderKind, "token", yesNo(assistant.InUse(filepath.Join(parent, assistant.DirectName))), listener.URL)
			}
			return t.Write(p.io.Out)
		},
	}
	cmd.Flags().BoolVar(&json, "json", false, "print JSON")
	return cmd
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

// assistantUnpairCommand ends a pairing.
func assistantUnpairCommand(p *program) *cobra.Command {
	var pin string
	cmd := &cobra.Command{
		Use:   "unpair [PAIRING]",
		Short: "End a pairing and delete its keys and what was remembered in it",
		Args:  wantArgs("[pairing]"),
		RunE: func(cmd *cobra.Command, args []string) error {
			id := ""
			if len(args) > 0 {
				id = args[0]
			}
			dir, err := p.onePairing(id)
			if err != nil {
				return err
			}
			if assistant.InUse(dir) {
				return cli.Fail("the pairing is in use", "stop \"stagewhisper assistant run\" first")
			}
			if filepath.Base(dir) == assistant.DirectName {
				err = assistant.RemovePairing(dir)
			} else {
				ctx, cancel := context.WithTimeout(cmd.Context(), 20*time.Second)
				defer cancel()
				err = assistant.Unpair(ctx, dir, pinned(pin))
			}
			if err != nil {
				return cli.Hint(err, "the keys here are gone all the same; unpair on the desktop as well")
			}
			fmt.Fprintf(p.io.Out, "Unpaired %s\n", filepath.Base(dir))
			return nil
		},
	}
	cmd.Flags().StringVar(&pin, "pin", "", "SHA-256 of the relay's certificate, when it is another one than at the pairing")
	return cmd
}
