package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"openclaw/byo"
	"openclaw/internal/assistant"
	"openclaw/internal/cli"
)

// pairWithin is how long a pairing may take; its code does not live longer.
const pairWithin = byo.PairingTTL + time.Minute

// assistantPairCommand claims a code that a desktop shows.
func assistantPairCommand(p *program) *cobra.Command {
	var code, api, kind, label, pin string
	var same, json bool
	cmd := &cobra.Command{
		Use:   "pair",
		Short: "Pair with a desktop over a relay, by the code that it shows",
		Long: `Claims the code that a desktop shows and proves both sides to each other. The long code
carries a secret that the relay never sees, so nothing has to be compared. With six
digits both sides show a number of twelve digits: they have to be the same, otherwise
somebody stands in between.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if code == "" {
				return cli.Fail("--code is missing", "get one on the desktop: stagewhisper desktop pair --api-url URL")
			}
			if _, err := assistant.ReadCode(code, api); err != nil {
				return cli.Hint(err, "--code takes what the desktop shows, --api-url the relay of six digits")
			}
			parent, err := p.pairings()
			if err != nil {
				return err
			}
			if label == "" {
				if label, err = os.Hostname(); err != nil {
					label = "assistant"
				}
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), pairWithin)
			defer cancel()
			_, pairing, err := assistant.Pair(ctx, assistant.PairConfig{Code: code, API: api, ParentDir: parent, HostLabel: label, ProviderKind: kind, Version: version,
				Pin:  pin,
				Show: func(_ context.Context, sas string, must bool) (bool, error) { return p.io.SameNumber(sas, must, same) }})
			if err != nil {
				return err
			}
			if json {
				return p.io.JSON(assistantRow(pairing, false))
			}
			fmt.Fprintf(p.io.Out, "Paired with %s: %s\n", cmp.Or(pairing.Label, "the desktop"), pairing.IntegrationID)
			p.io.Say("answer for it: stagewhisper assistant run --backend …")
			return nil
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&code, "code", "", "the code: six digits, or the text that begins with "+byo.RelayCodePrefix)
	fl.StringVar(&api, "api-url", "", "address of the relay, with six digits")
	fl.StringVar(&kind, "provider-kind", "custom", "kind of assistant: openclaw, hermes or a name of your own")
	fl.StringVar(&label, "host-label", "", "name of this machine as the desktop shows it (default: its host name)")
	fl.StringVar(&pin, "pin", "", "SHA-256 of the relay's certificate, which then is all that counts about it")
	fl.BoolVar(&same, "yes-same", false, "say that both sides show the same number, for scripts that compared it")
	fl.BoolVar(&json, "json", false, "print the pairing as JSON")
	return cmd
}
