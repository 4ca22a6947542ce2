package main

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"openclaw/internal/assistant"
	"openclaw/internal/cli"
	"openclaw/internal/config"
	"openclaw/internal/plugin/stagewhisper"
)

// pairingRow is a pairing as status prints it.
type pairingRow struct {
	ID          string     `json:"integration_id"`
	Label       string     `json:"label,omitempty"`
	Relay       string     `json:"relay,omitempty"`
	URL         string     `json:"url,omitempty"` // of the direct listener
	Verified    string     `json:"verified"`
	SAS         string     `json:"sas,omitempty"`
	Fingerprint string     `json:"fingerprint,omitempty"`
	PairedAt    *time.Time `json:"paired_at,omitempty"`
	Agent       string     `json:"agent,omitempty"`
	Problem     string     `json:"problem,omitempty"`
	Running     bool       `json:"running"`
}

func (p *program) pairingRow(c *config.Config, of *assistant.Pairing) pairingRow {
	r := pairingRow{ID: of.IntegrationID, Label: of.Label, Relay: of.APIBaseURL, Verified: of.Verified, SAS: of.SAS, PairedAt: &of.PairedAt, Running: p.served(of.IntegrationID)}
	if print, err := of.Fingerprint(); err == nil { // a damaged key shows as none
		r.Fingerprint = print
	}
	return r.answeredBy(c)
}

func (r pairingRow) answeredBy(c *config.Config) pairingRow {
	var err error
	if r.Agent, err = stagewhisper.AgentOf(c, r.ID); err != nil {
		r.Problem = err.Error()
	}
	return r
}

// stagewhisperStatusCommand lists the pairings.
func stagewhisperStatusCommand(p *program) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "status",
		Short: "List the pairings, which agent answers and whether a gateway does so now",
		Args:  noArgs,
		RunE: func(*cobra.Command, []string) error {
			over, direct, err := p.ourPairings()
			if err != nil {
				return err
			}
			conf := p.snapshot().Config
			rows := []pairingRow{}
			for _, name := range sortedKeys(over) {
				rows = append(rows, p.pairingRow(conf, over[name]))
			}
			if direct != nil {
				rows = append(rows, pairingRow{ID: assistant.DirectName, Label: direct.Label, URL: direct.URL, Verified: "token", Running: p.served(assistant.DirectName)}.answeredBy(conf))
			}
			if asJSON {
				return p.io.JSON(map[string]any{"pairings": rows})
			}
			if len(rows) == 0 {
				return cli.Fail("nothing is paired", p.name+" stagewhisper pair --code CODE")
			}
			t := cli.NewTable(cli.Column{Title: "Pairing"}, cli.Column{Title: "Desktop", Max: 30}, cli.Column{Title: "Agent"}, cli.Column{Title: "Verified"}, cli.Column{Title: "Answers"}, cli.Column{Title: "Over", Max: 50})
			for _, r := range rows {
				t.Row(r.ID, r.Label, cmp.Or(r.Agent, "none"), r.Verified, mark(r.Running, "now"), r.Relay+r.URL)
			}
			if err := t.Write(p.io.Out); err != nil {
				return err
			}
			for _, r := range rows {
				if r.Problem != "" {
					p.io.Say("%s: %s", r.ID, r.Problem)
				}
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// stagewhisperUnpairCommand ends a pairing. What the agent wrote stays in its
// workspace and sessions.
func stagewhisperUnpairCommand(p *program) *cobra.Command {
	var keep bool
	cmd := &cobra.Command{
		Use:   "unpair [pairing]",
		Short: "End a pairing and delete its keys",
		Long: `Ends a pairing at the relay and deletes its keys and the answers that wait to be
delivered. The agent that was made for it leaves the config file; its workspace and its
sessions stay until you delete them. A running gateway stops answering at once.`,
		Args: atMostOne,
		RunE: func(cmd *cobra.Command, args []string) error {
			name, err := p.theirs(args)
			if err != nil {
				return err
			}
			file, err := p.openConfig(nil, nil)
			if err != nil {
				return err
			}
			if err := p.changeConfig(cmd, file, stagewhisper.Unbind(file.Snapshot().Config, name)); err != nil {
				return err
			}
			dir := p.stageWhisperDir(name)
			if name == assistant.DirectName {
				err = assistant.RemovePairing(dir)
			} else {
				ctx, cancel := context.WithTimeout(cmd.Context(), 20*time.Second)
				defer cancel()
				err = assistant.Unpair(ctx, dir, nil)
			}
			if err != nil {
				return cli.Hint(err, "unpair on the desktop as well")
			}
			fmt.Fprintf(p.io.Out, "Unpaired %s\n", name)
			return nil
		},
	}
	cmd.Flags().BoolVar(&keep, "keep-responses", false, "accepted for scripts: what the agent wrote is always kept")
	return cmd
}
