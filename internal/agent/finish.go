package agent

import (
	"context"
	"errors"
	"fmt"

	"openclaw/internal/model"
	"openclaw/internal/run"
	"openclaw/internal/session"
)

// succeed ends a run whose model had the last word.
func (j *job) succeed() (run.Outcome, error) {
	j.remember(false)
	list := payloads(j.result, "", j.levels.reasoning == "on")
	j.events.end(run.Lifecycle{Phase: run.PhaseEnd, Silent: j.result.silent})
	return j.outcome(list, false), nil
}

// fail ends a run whose model failed: the failure is the reply.
func (j *job) fail(failed *model.Error) (run.Outcome, error) {
	text := friendly(failed)
	j.log.Warn("model failed", "kind", failed.Kind, "status", failed.Status, "model", failed.Ref, "err", failed)
	j.remember(false)
	list := payloads(j.result, text, j.levels.reasoning == "on")
	out := j.outcome(list, false)
	if failed.Kind == model.KindOverflow {
		out.Meta.Error = &run.MetaError{Kind: string(model.KindOverflow), Message: text}
	}
	j.events.end(run.Lifecycle{Phase: run.PhaseEnd, Error: text})
	return out, nil
}

// abort ends a run that was stopped. It delivers nothing more.
func (j *job) abort(why run.Abort) (run.Outcome, error) {
	j.log.Info("run stopped", "reason", string(why))
	j.remember(why.ByUser())
	end := run.Lifecycle{Phase: run.PhaseEnd, Aborted: true, StopReason: string(why)}
	if why == run.AbortTimeout {
		end.Error = "The run took too long and was stopped. Ask for less at once, or raise agents.defaults.timeoutSeconds."
	}
	j.events.start() // a run that is stopped early still has a beginning
	j.events.end(end)
	return j.outcome(nil, true), nil
}

// friendly is what users read about a failed model.
func friendly(e *model.Error) string {
	switch {
	case e.Kind == model.KindOverflow:
		return fmt.Sprintf("This conversation has grown too long for %s. Send /new to start a fresh session.", e.Ref)
	case e.Text != "":
		return e.Text
	}
	return fmt.Sprintf("The model %s failed to answer. Please try again.", e.Ref)
}

// outcome describes the run as it stands.
func (j *job) outcome(list []run.Payload, aborted bool) run.Outcome {
	if list == nil {
		list = []run.Payload{}
	}
	out := run.Outcome{Payloads: list, Meta: run.Meta{
		DurationMs: j.agent.now().Sub(j.began).Milliseconds(),
		AgentMeta:  run.AgentMeta{SessionID: j.req.SessionID, Provider: j.info.Ref.Provider, Model: j.info.Ref.ID},
		Aborted:    aborted,
	}}
	if j.report.Source != "" {
		out.Meta.SystemPromptReport = j.report.encode()
	}
	if u := j.result.usage; u != nil {
		out.Meta.AgentMeta.Usage = &run.Usage{Input: u.Input, Output: u.Output, CacheRead: u.CacheRead, CacheWrite: u.CacheWrite, Total: u.TotalTokens}
	}
	return out
}

// remember writes the session entry after the run, also when the run's context
// has ended. A session that was reset or deleted meanwhile is left alone. The
// conversation itself is safe by now, so a failure here is only logged.
func (j *job) remember(stopped bool) {
	if j.req.SessionKey == "" || j.store == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), saveTimeout)
	defer cancel()
	_, err := j.store.Update(ctx, j.req.SessionKey, func(e *session.Entry) error {
		if e.SessionID != j.req.SessionID {
			return session.Skip
		}
		j.update(e, stopped)
		return nil
	})
	if err != nil && !errors.Is(err, session.ErrClosed) {
		j.log.Error("session not updated after the run", "err", err)
	}
}

func (j *job) update(e *session.Entry, stopped bool) {
	e.AbortedLastRun = new(stopped)
	if j.info.Ref != (model.Ref{}) {
		e.ModelProvider, e.Model = j.info.Ref.Provider, j.info.Ref.ID
		e.ContextTokens = new(j.info.ContextWindow)
	}
	if u := j.result.usage; u != nil && u.Input+u.Output+u.CacheRead+u.CacheWrite > 0 {
		e.InputTokens, e.OutputTokens, e.TotalTokens = new(u.Input), new(u.Output), new(u.Context())
	}
	if j.req.Chat {
		e.SystemSent = new(true)
		e.SystemPromptReport = j.report.encode()
	}
}
