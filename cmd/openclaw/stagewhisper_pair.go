package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"openclaw/byo"
	"openclaw/internal/assistant"
	"openclaw/internal/cli"
	"openclaw/internal/plugin/stagewhisper"
)

// pairWithin is how long a pairing may take; its code does not live longer.
const pairWithin = byo.PairingTTL + time.Minute

// stagewhisperPairCommand claims a code that a desktop shows.
func stagewhisperPairCommand(p *program) *cobra.Command {
	var code, api, agent, label, pin string
	var same, asJSON bool
	cmd := &cobra.Command{
		Use:   "pair",
		Short: "Pair with a desktop over a relay, by the code that it shows",
		Long: `Claims the code that a desktop shows and proves both sides to each other. The long code
carries a secret that the relay never sees, so nothing has to be compared. With six
digits both sides show a number of twelve digits: they have to be the same, otherwise
somebody stands in between.

The pairing gets an agent with a workspace of its own, so that nothing of other
conversations is seen over it, and nothing of it elsewhere. --agent takes one that is
there. A running gateway answers at once.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if code == "" {
				return cli.Fail("--code is missing", "get one on the desktop: stagewhisper desktop pair --api-url URL")
			}
			file, err := p.openConfig(nil, nil)
			if err != nil {
				return err
			}
			conf := file.Snapshot().Config
			api = cmp.Or(api, stagewhisper.APIBaseURL(conf))
			if _, err := assistant.ReadCode(code, api); err != nil {
				return cli.Hint(err, "--code takes what the desktop shows, --api-url the relay of six digits")
			}
			if _, err := stagewhisper.Bind(conf, "any", agent, ""); agent != "" && err != nil {
				return cli.Hint(err, "leave --agent out to get an agent for this pairing alone")
			}
			if label = cmp.Or(label, stagewhisper.Label(conf)); label == "" {
				if label, err = os.Hostname(); err != nil {
					label = "openclaw"
				}
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), pairWithin)
			defer cancel()
			dir, pairing, err := assistant.Pair(ctx, assistant.PairConfig{Code: code, API: api, Pin: pin, ParentDir: p.stageWhisperDir(),
				HostLabel: label, ProviderKind: "openclaw", Version: stagewhisper.Version,
				Show: func(_ context.Context, sas string, must bool) (bool, error) { return p.io.SameNumber(sas, must, same) }})
			if err != nil {
				return err
			}
			name := pairing.IntegrationID
			ops, err := stagewhisper.Bind(file.Read().Config, name, agent, pairing.Label)
			if err == nil {
				err = p.changeConfig(cmd, file, ops)
			}
			if err != nil { // nobody would answer: it is undone
				return errors.Join(err, assistant.Unpair(cmd.Context(), dir, nil))
			}
			answers, err := stagewhisper.AgentOf(file.Snapshot().Config, name)
			if err != nil {
				return err
			}
			if asJSON {
				return p.io.JSON(p.pairingRow(file.Snapshot().Config, pairing))
			}
			fmt.Fprintf(p.io.Out, "Paired with %s: %s\n", cmp.Or(pairing.Label, "the desktop"), name)
			p.io.Say("agent %q answers for it, from %s", answers, p.io.Path(file.Snapshot().Config.Workspace(p.paths, answers)))
			p.io.Say("a running gateway takes it up by itself; otherwise: %s gateway run", p.name)
			return nil
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&code, "code", "", "the code: six digits, or the text that begins with "+byo.RelayCodePrefix)
	fl.StringVar(&api, "api-url", "", "address of the relay, with six digits (default: channels.stagewhisper.apiBaseUrl)")
	fl.StringVar(&agent, "agent", "", "agent that answers (default: a new one for this pairing alone)")
	fl.StringVar(&label, "host-label", "", "name of this machine as the desktop shows it (default: channels.stagewhisper.label, then its host name)")
	fl.StringVar(&pin, "pin", "", "SHA-256 of the relay's certificate, which then is all that counts about it")
	fl.BoolVar(&same, "yes-same", false, "say that both sides show the same number, for scripts that compared it")
	fl.BoolVar(&asJSON, "json", false, "print the pairing as JSON")
	return cmd
}

// stagewhisperPairCodeCommand makes the code of the direct topology.
func stagewhisperPairCodeCommand(p *program) *cobra.Command {
	var change assistant.DirectChange
	var agent string
	cmd := &cobra.Command{
		Use:   "pair-code",
		Short: "Print the code with which a desktop reaches this gateway without a relay",
		Long: `Prints the code that a desktop pairs with when it reaches this machine itself: the same
machine, an ssh tunnel, a private network. The code holds the token of a listener that
the gateway opens; whoever has it can write to the agent. The token stays the same until
--new-token or unpair, and so does what no flag changes.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			file, err := p.openConfig(nil, nil)
			if err != nil {
				return err
			}
			name := assistant.DirectName
			conf := file.Snapshot().Config
			// What no flag changes stays.
			ops, err := stagewhisper.Bind(conf, name, cmp.Or(agent, stagewhisper.Bound(conf, name)), change.Label)
			if err != nil {
				return cli.Hint(err, "leave --agent out to get an agent for this pairing alone")
			}
			dir := p.stageWhisperDir(name)
			_, known := assistant.LoadDirect(dir)
			if known != nil {
				change.Label = cmp.Or(change.Label, stagewhisper.Label(conf))
			}
			change.ProviderKind = "openclaw"
			code, d, err := assistant.PairCode(dir, change)
			if err != nil {
				return cli.Hint(err, "the url is https, or http to this machine or a private network")
			}
			if err := p.changeConfig(cmd, file, ops); err != nil {
				if known != nil { // nothing was paired before, and nothing is now
					err = errors.Join(err, assistant.RemovePairing(dir))
				}
				return err
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
	fl.StringVar(&change.URL, "url", "", "address under which the desktop reaches the listener (default http://127.0.0.1:PORT)")
	fl.IntVar(&change.Port, "port", 0, "port of the listener (default 8765)")
	fl.StringVar(&change.Label, "label", "", "name of the assistant as the desktop shows it")
	fl.StringVar(&agent, "agent", "", "agent that answers (default: a new one for this pairing alone)")
	fl.BoolVar(&change.NewToken, "new-token", false, "make a new token; desktops paired before are out")
	return cmd
}
