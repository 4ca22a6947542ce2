package main

import (
	"context"
	"errors"

	"openclaw/internal/chat"
	"openclaw/internal/cli"
	"openclaw/internal/router"
	"openclaw/internal/run"
	"openclaw/protocol"
)

// agentHere runs the turn in this process, on the same stores and locks as a
// gateway would.
func (p *program) agentHere(ctx context.Context, f *agentFlags, params protocol.AgentParams) (err error) {
	log, err := p.quietLog(p.snapshot().Config, false)
	if err != nil {
		return err
	}
	defer log.close()
	file, err := p.openConfig(log.Logger, nil)
	if err != nil {
		return err
	}
	out := &printer{io: p.io, silent: f.json}
	w := &localWatcher{out: out}
	a := newApp(p, file, log.Logger, nil, w.show)
	defer func() {
		if closeErr := a.close(); err == nil {
			err = closeErr
		}
	}()
	if dir := a.models.base; dir.Offline() && !f.json {
		p.io.Say("%s: %s", p.name, dir.OfflineReason())
	}
	if f.verbose != "" {
		if err := a.setVerbose(ctx, params, f.verbose); err != nil {
			return err
		}
	}
	r, err := a.router.Agent(ctx, router.AgentRequest{AgentParams: params})
	if err != nil {
		return err
	}
	select {
	case <-r.Done():
	case <-ctx.Done():
		return ctx.Err() // closing the app aborts the run
	}
	res, err := r.Result()
	out.endMessage()
	if err != nil {
		return err
	}
	if f.json {
		return errors.Join(p.io.JSON(res), failedTurn(w.failure))
	}
	return p.finishTurn(out, resultOf(res), w.failure)
}

func resultOf(o run.Outcome) *protocol.RunResult {
	res := &protocol.RunResult{Meta: protocol.RunMeta{Aborted: o.Meta.Aborted}}
	for _, pl := range o.Payloads {
		res.Payloads = append(res.Payloads, protocol.ReplyPayload{Text: pl.Text, MediaURL: pl.MediaURL, MediaURLs: pl.MediaURLs, IsError: pl.IsError})
	}
	return res
}

// setVerbose stores the verbose level in the session that the turn will use.
func (a *app) setVerbose(ctx context.Context, params protocol.AgentParams, level string) error {
	c := a.file.Snapshot().Config
	key := chat.MainKey(firstOf(params.AgentID, c.DefaultAgentID()))
	if params.SessionID != "" && params.AgentID == "" {
		store, err := a.stores.of(c.DefaultAgentID())
		if err != nil {
			return err
		}
		found, _, ok := store.FindByID(params.SessionID)
		if !ok {
			return cli.Fail("--verbose needs a session that exists; the id names none")
		}
		key = found
	}
	_, err := a.router.PatchSession(ctx, protocol.SessionsPatchParams{Key: key, VerboseLevel: protocol.Value(level)})
	var refused *router.Error
	if errors.As(err, &refused) {
		return cli.Fail(refused.Text)
	}
	return err
}

// localWatcher prints the events of an embedded run. The run's goroutine calls
// it, one event after the other.
type localWatcher struct {
	out     *printer
	failure string // why the turn is no success
}

func (w *localWatcher) show(e run.Event) {
	switch {
	case e.Lifecycle != nil && e.Lifecycle.Terminal():
		w.failure = e.Lifecycle.Error
	case e.Assistant != nil:
		w.out.assistant(e.Assistant.Text, e.Assistant.Delta)
	case e.Tool != nil:
		w.tool(*e.Tool, e.Verbose)
	case e.Compaction != nil && e.Compaction.Phase == run.PhaseStart:
		w.out.note("making room: the older part of the conversation is being summarised")
	}
}

// tool tells as much as a gateway would at this verbose level.
func (w *localWatcher) tool(t run.Tool, verbose string) {
	switch t.Phase {
	case run.PhaseStart:
		args := string(t.Args)
		if verbose == "off" || verbose == "" {
			args = ""
		}
		w.out.toolStart(t.Name, args)
	case run.PhaseResult:
		summary := ""
		if verbose == "full" && t.Result != nil {
			summary = t.Result.Content.Text()
		}
		w.out.toolResult(t.Name, summary, t.IsError, t.Duration)
	}
}
