package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"time"

	"openclaw/internal/run"
	"openclaw/internal/tool"
	"openclaw/internal/turn"
)

const (
	textSkipped = "Skipped due to queued user message."
	textNotRun  = "Not run: the run was stopped before this call."
	textStopped = "Stopped: the run ended while this call was running."
	// maxEcho bounds how much of unusable arguments the model is shown again.
	maxEcho = 4000
)

// execute runs the calls of one answer, one after the other, and appends their
// results. A message that was steered in meanwhile ends the round early, and so
// does an abort; in both cases every call that did not run gets a result too,
// because a call without one would spoil the history.
func (a *attempt) execute(ctx context.Context, calls []turn.Block, raw []string) error {
	for i, call := range calls {
		written := string(call.Arguments)
		if i < len(raw) {
			written = raw[i]
		}
		if err := a.append(a.call(ctx, call, written)); err != nil {
			return err
		}
		rest := calls[i+1:]
		switch {
		case ctx.Err() != nil:
			if err := a.skip(rest, textNotRun); err != nil {
				return err
			}
			return context.Cause(ctx)
		case len(rest) > 0 && a.box.waiting():
			return a.skip(rest, textSkipped)
		}
	}
	return nil
}

// skip answers calls that are not run.
func (a *attempt) skip(calls []turn.Block, why string) error {
	for _, call := range calls {
		a.announce(call)
		if err := a.append(a.conclude(call, refuse(why), "", 0)); err != nil {
			return err
		}
	}
	return nil
}

func (a *attempt) announce(call turn.Block) {
	a.events.tool(run.Tool{Phase: run.PhaseStart, Name: call.Name, CallID: call.ID, Args: call.Arguments})
}

// refuse is the result of a call that was not executed.
func refuse(why string) tool.Result {
	return tool.Result{Content: turn.Text(why), Details: json.RawMessage("{}"), IsError: true}
}

// call runs one call between its start and result events. raw is what the model
// wrote as arguments, which may be no JSON at all.
func (a *attempt) call(ctx context.Context, call turn.Block, raw string) turn.Message {
	began := a.now()
	a.announce(call)
	t, known := a.tools[call.Name]
	if !known {
		return a.conclude(call, refuse("Tool "+call.Name+" not found"), "", 0)
	}
	var res tool.Result
	switch {
	case strings.TrimSpace(raw) != "" && !isObject(raw):
		res = refuse((&tool.ArgumentError{Tool: call.Name, Args: clip(raw, maxEcho, "…"),
			Problems: []string{"root: must be a JSON object"}}).Error())
	case a.guard.blocks(call.Name, call.Arguments):
		res = refuse(fmt.Sprintf("Blocked as a loop: %s gave the same result %d times in a row for the same arguments. Try something else.",
			call.Name, maxRepeats))
	default:
		res = a.invoke(ctx, t, call)
		a.guard.record(call.Name, call.Arguments, res.Content)
	}
	return a.conclude(call, res, meta(t, call.Arguments, a.home), a.now().Sub(began))
}

// invoke executes the tool. Partial output becomes update events for as long as
// the call is open.
func (a *attempt) invoke(ctx context.Context, t tool.Tool, call turn.Block) tool.Result {
	var closed atomic.Bool
	update := func(r tool.Result) {
		if !closed.Load() {
			a.events.tool(run.Tool{Phase: run.PhaseUpdate, Name: call.Name, CallID: call.ID,
				PartialResult: &run.ToolOutput{Content: tool.EventContent(r.Content), Details: a.details(r)}})
		}
	}
	res, err := a.guarded(ctx, t, tool.Call{ID: call.ID, Args: call.Arguments, Update: update})
	closed.Store(true)
	var invalid *tool.ArgumentError
	switch {
	case errors.As(err, &invalid):
		return refuse(invalid.Error())
	case err != nil && ctx.Err() != nil:
		return refuse(textStopped)
	case err != nil:
		return tool.Failure(call.Name, err)
	}
	return res
}

// guarded keeps a tool that panics from taking the run with it.
func (a *attempt) guarded(ctx context.Context, t tool.Tool, call tool.Call) (res tool.Result, err error) {
	defer func() {
		if p := recover(); p != nil {
			a.log.Error("tool panicked", "tool", t.Spec().Name, "panic", p, "stack", string(debug.Stack()))
			res, err = tool.Result{}, errors.New("the tool failed with an internal error; the gateway's log has the details")
		}
	}()
	return t.Execute(ctx, call)
}

// conclude sends the result event and returns the message that answers call.
func (a *attempt) conclude(call turn.Block, res tool.Result, meta string, took time.Duration) turn.Message {
	details := a.details(res)
	content := res.Content
	if content == nil {
		content = turn.Content{}
	}
	why, failed := tool.Failed(res.IsError, content, details)
	a.result.failed = failed
	if failed {
		a.result.failure = "⚠️ " + a.title(call.Name, meta) + " failed"
		if why != "" {
			a.result.failure += ": " + why
		}
	}
	a.events.tool(run.Tool{Phase: run.PhaseResult, Name: call.Name, CallID: call.ID, Meta: meta, IsError: failed, Duration: took,
		Result: &run.ToolOutput{Content: tool.EventContent(content), Details: details}})
	return turn.ToolResult(call, content, res.IsError, details, a.now())
}

// title names a call for people: "Exec: make test".
func (a *attempt) title(name, meta string) string {
	label := name
	if t, ok := a.tools[name]; ok && t.Spec().Label != "" {
		label = t.Spec().Label
	}
	if meta == "" {
		return label
	}
	return label + ": " + meta
}

// details encodes what a tool tells besides its text.
func (a *attempt) details(r tool.Result) json.RawMessage {
	data, err := r.DetailsJSON()
	if err != nil {
		a.log.Warn("details of a tool result cannot be encoded", "err", err)
		return nil
	}
	return data
}
