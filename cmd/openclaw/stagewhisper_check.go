package main

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"openclaw/internal/assistant"
	"openclaw/internal/chat"
	"openclaw/internal/cli"
	"openclaw/internal/config"
	"openclaw/internal/plugin/stagewhisper"
)

const checkWithin = 60 * time.Second

// stagewhisperReasoningCheckCommand asks the model what desktops ask during a call.
func stagewhisperReasoningCheckCommand(p *program) *cobra.Command {
	var model, agent string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "reasoning-check",
		Short: "Ask the model what a desktop asks during a call, and check its answer",
		Long: `Puts the question of a live call to the agent's model, with a call that is made up, and
checks that the answer has the form that desktops need. No gateway and no pairing are
needed. Ends with 1 when the model does not answer in that form.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			file, err := p.openConfig(nil, nil)
			if err != nil {
				return err
			}
			snap := func() *config.Snapshot { return file.Snapshot() }
			if agent == "" {
				agent = snap().Config.DefaultAgentID()
			}
			if !slices.Contains(snap().Config.AgentIDs(), chat.NormalizeAgentID(agent)) {
				return cli.Fail(fmt.Sprintf("agent %q is not in agents.list", agent))
			}
			models := newModels(p.paths, snap)
			ctx, cancel := context.WithTimeout(cmd.Context(), checkWithin)
			defer cancel()
			began := time.Now()
			asker := stagewhisper.Asker{Config: func() *config.Config { return snap().Config }, Models: models.of, Strict: true, Log: slog.New(slog.DiscardHandler)}
			answer, value, err := assistant.Check(ctx, func(ctx context.Context, q assistant.Question) (assistant.Answer, error) {
				return asker.Reason(ctx, agent, q)
			}, model)
			if err != nil {
				return cli.Hint(err, "try another model with --model, or see "+p.name+" models status")
			}
			took := time.Since(began)
			if answer.ModelRef == assistant.RulesRef {
				p.io.Say("no model is connected, so a few rules answered; a call gets no more than that. %s", models.of(agent).OfflineReason())
			}
			if asJSON {
				return p.io.JSON(map[string]any{"ok": true, "model": answer.ModelRef, "took_ms": took.Milliseconds(), "result": value})
			}
			fmt.Fprintf(p.io.Out, "ok: %s answered in %s\n%s\n", answer.ModelRef, took.Round(time.Millisecond), value)
			return nil
		},
	}
	cmd.Flags().StringVar(&model, "model", "", "model to ask, as provider/model or alias (default: the agent's)")
	cmd.Flags().StringVar(&agent, "agent", "", "agent whose model is asked (default: the default agent)")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}
