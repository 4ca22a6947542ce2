package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"openclaw/internal/assistant"
	"openclaw/internal/cli"
)

// assistantPairCodeCommand makes the code of the direct topology.
func assistantPairCodeCommand(p *program) *cobra.Command {
	var change assistant.DirectChange
	cmd := &cobra.Command{
		Use:   "pair-code",
		Short: "Print the code with which a desktop reaches this assistant without a relay",
		Long: `Prints the code that a desktop pairs with when it reaches this machine itself: the same
machine, an ssh tunnel, a private network. The code holds the token of the listener that
"stagewhisper assistant run" opens; whoever has it can write to the assistant. The token
stays the same until --new-token or unpair, and so does what no flag changes.`,
		Args: noArgs,
		RunE: func(*cobra.Command, []string) error {
			dir, err := p.folder("assistants", assistant.DirectName)
			if err != nil {
				return err
			}
			code, d, err := assistant.PairCode(dir, change)
			if err != nil {
				return cli.Hint(err, "the url is https, or http to this machine or a private network; kinds are listed by: stagewhisper providers")
			}
			fmt.Fprintln(p.io.Out, code)
			p.io.Say("paste it into the desktop, or: stagewhisper desktop pair CODE")
			if forward := d.Forward(); forward != "" {
				p.io.Say("from another machine: ssh -N -L %s HOST, or: stagewhisper desktop pair --ssh HOST CODE", forward)
			}
			return nil
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&change.URL, "url", "", "address under which the desktop reaches this assistant (default http://127.0.0.1:PORT)")
	fl.IntVar(&change.Port, "port", 0, "port of the listener (default 8765)")
	fl.StringVar(&change.Label, "label", "", "name of the assistant as the desktop shows it")
	fl.StringVar(&change.ProviderKind, "provider-kind", "", "kind of assistant: openclaw, hermes or a name of your own")
	fl.BoolVar(&change.NewToken, "new-token", false, "make a new token; desktops paired before are out")
	return cmd
}
