package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"openclaw/internal/cli"
	"openclaw/protocol"
)

// When the main session is to hear a word: at once, or with its next turn.
const (
	wakeNow   = "now"
	wakeLater = "next-heartbeat"
)

// systemEventCommand leaves a word for the main session.
func systemEventCommand(p *program) *cobra.Command {
	var f gatewayFlags
	var text, mode string
	cmd := &cobra.Command{
		Use:   "event --text <text>",
		Short: "Leave a word that the main session hears with its next turn",
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if strings.TrimSpace(text) == "" {
				return cli.Fail("missing --text", helpHint(cmd))
			}
			if mode != wakeNow && mode != wakeLater {
				return cli.Fail(fmt.Sprintf("--mode %q is unknown (use now or next-heartbeat)", mode))
			}
			doc, err := p.callOnce(cmd.Context(), f, protocol.MethodWake, protocol.WakeParams{Mode: mode, Text: text})
			if err != nil {
				return err
			}
			if f.json {
				return p.io.RawJSON(doc)
			}
			_, err = fmt.Fprintln(p.io.Out, "ok")
			return err
		},
	}
	f.register(cmd, 10000)
	cmd.Flags().StringVar(&text, "text", "", "the word")
	cmd.Flags().StringVar(&mode, "mode", wakeLater, "now or next-heartbeat")
	return cmd
}
