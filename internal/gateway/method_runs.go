package gateway

import (
	"context"
	"errors"
	"strings"
	"time"

	"openclaw/internal/ledger"
	"openclaw/internal/logs"
	"openclaw/internal/router"
	"openclaw/internal/run"
	"openclaw/protocol"
)

// waitDefault is how long agent.wait waits unless told otherwise.
const waitDefault = 30 * time.Second

// once runs do for the first request with an idempotency key and answers
// repeats with what is known of it. Do settles its entry unless it has no effect.
func (g *Gateway) once(ctx context.Context, q *request, key string, do func(*dedupeEntry) (any, error)) (any, error) {
	key = q.method + "\x00" + q.conn.owner + "\x00" + key
	for {
		e, hit := g.answers.begin(key)
		if !hit {
			// Whatever happens, nobody shall wait for this request for ever.
			defer g.answers.withdraw(e)
			return do(e)
		}
		select {
		case <-e.known:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		a, ok := g.answers.stored(e)
		if !ok {
			continue // the first one was refused; this one may be right
		}
		var payload any
		if a.payload != nil {
			payload = encodedPayload(a.payload)
		}
		if a.err != nil {
			return nil, &failed{payload: payload, err: a.err}
		}
		return payload, nil
	}
}

// settled stores an answer and returns it encoded.
func (g *Gateway) settled(e *dedupeEntry, payload any, err *protocol.Error, finished bool) (encodedPayload, error) {
	data, encodeErr := encodePayload(payload)
	if encodeErr != nil {
		err = errInternal
	}
	g.answers.settle(e, answer{payload: data, err: err}, finished)
	return data, encodeErr
}

// agent starts a run and answers twice: when it is accepted and when it ends.
func (g *Gateway) agent(ctx context.Context, q *request, p *protocol.AgentParams) (any, error) {
	if err := q.park(); err != nil {
		return nil, err
	}
	return g.once(ctx, q, p.IdempotencyKey, func(e *dedupeEntry) (any, error) {
		if prev, ok := g.cfg.Router.Previous(ledger.Agent, q.conn.owner, run.ID(p.IdempotencyKey)); ok {
			if !prev.Ended {
				return protocol.AgentAccepted{RunID: string(prev.ID), Status: protocol.StatusAccepted, AcceptedAt: prev.AcceptedAt.UnixMilli()}, nil
			}
			return g.finished(e, prev.ID, prev.Outcome, prev.Err)
		}
		live := g.runs.start(run.ID(p.IdempotencyKey), p.SessionKey, q.conn)
		r, err := g.cfg.Router.Agent(ctx, router.AgentRequest{AgentParams: *p, Owner: q.conn.owner})
		if err != nil {
			g.runs.drop(live)
			return nil, err
		}
		accepted, err := g.settled(e, protocol.AgentAccepted{
			RunID: string(r.ID()), Status: protocol.StatusAccepted, AcceptedAt: r.AcceptedAt().UnixMilli(),
		}, nil, false)
		if err == nil {
			g.reply(q.conn, q.id, accepted, nil)
		}
		g.runs.release(live)
		<-r.Done() // the router ends every run, also on shutdown
		out, err := r.Result()
		return g.finished(e, r.ID(), out, err)
	})
}

// finished is the last answer to agent.
func (g *Gateway) finished(e *dedupeEntry, id run.ID, out run.Outcome, err error) (any, error) {
	if err == nil {
		return g.settled(e, struct {
			RunID   string      `json:"runId"`
			Status  string      `json:"status"`
			Summary string      `json:"summary"`
			Result  run.Outcome `json:"result"`
		}{string(id), protocol.StatusOK, "completed", out}, nil, true)
	}
	text := errorText(err)
	wire := unavailable(text)
	payload, err := g.settled(e, protocol.AgentResult{RunID: string(id), Status: protocol.StatusError, Summary: text}, wire, true)
	if err != nil {
		return nil, err
	}
	return nil, &failed{payload: payload, err: wire}
}

// errorText is how a failed run reads to its requester: the text with its class
// in front, and without secrets.
func errorText(err error) string {
	text := logs.Redact(err.Error())
	if strings.HasPrefix(text, "Error: ") {
		return text
	}
	return "Error: " + text
}

func (g *Gateway) agentWait(ctx context.Context, q *request, p *protocol.AgentWaitParams) (any, error) {
	if err := q.park(); err != nil {
		return nil, err
	}
	wait := waitDefault
	if p.TimeoutMs != nil {
		wait = time.Duration(min(*p.TimeoutMs, run.MaxTimeout.Milliseconds())) * time.Millisecond
	}
	end, ok := g.cfg.Router.Wait(ctx, run.ID(p.RunID), wait)
	if !ok {
		out := protocol.AgentWaitResult{RunID: p.RunID, Status: protocol.StatusTimeout}
		if wait == 0 && q.conn.version >= protocol.Version4 && g.cfg.Router.Busy(run.ID(p.RunID)) {
			out.Status = protocol.StatusPending // who asks without waiting wants to know
		}
		return out, nil
	}
	out := protocol.AgentWaitResult{
		RunID: p.RunID, Status: protocol.StatusOK, StartedAt: millis(end.StartedAt), EndedAt: millis(end.EndedAt),
	}
	if end.Error != "" {
		out.Status, out.Error = protocol.StatusError, logs.Redact(end.Error)
	}
	if q.conn.version >= protocol.Version4 {
		out.StopReason = end.StopReason
	}
	return out, nil
}

// chatSend takes a message in and answers at once; what comes of it are chat
// events.
func (g *Gateway) chatSend(ctx context.Context, q *request, p *protocol.ChatSendParams) (any, error) {
	key := g.settings().canonical(p.SessionKey)
	q.conn.open.Store(&key)
	return g.once(ctx, q, p.IdempotencyKey, func(e *dedupeEntry) (any, error) {
		if prev, ok := g.cfg.Router.Previous(ledger.Chat, q.conn.owner, run.ID(p.IdempotencyKey)); ok {
			return g.chatBefore(e, p.IdempotencyKey, prev)
		}
		live := g.runs.start(run.ID(p.IdempotencyKey), p.SessionKey, q.conn)
		res, err := g.cfg.Router.Chat(ctx, router.ChatRequest{ChatSendParams: *p, Owner: q.conn.owner})
		if err != nil || res.Stopped != nil {
			g.runs.drop(live)
			if err != nil {
				return nil, err
			}
			return g.aborted(*res.Stopped, run.AbortStop), nil
		}
		return g.chatStarted(q, p, e, live, res)
	})
}

// chatBefore answers a message that was accepted before, perhaps by an earlier
// gateway.
func (g *Gateway) chatBefore(e *dedupeEntry, id string, prev router.Previous) (any, error) {
	result := protocol.ChatSendResult{RunID: id, Status: protocol.StatusOK}
	switch {
	case !prev.Ended:
		result.Status = protocol.StatusInFlight
		return result, nil
	case prev.Err == nil:
		return g.settled(e, result, nil, true)
	}
	result.Status, result.Summary = protocol.StatusError, errorText(prev.Err)
	wire := unavailable(result.Summary)
	payload, err := g.settled(e, result, wire, true)
	if err != nil {
		return nil, err
	}
	return nil, &failed{payload: payload, err: wire}
}

// chatStarted answers chat.send and sees to it that the message ends.
func (g *Gateway) chatStarted(q *request, p *protocol.ChatSendParams, e *dedupeEntry, live *liveRun, res router.ChatResult) (any, error) {
	id := string(res.ID)
	result := func(status string) protocol.ChatSendResult { return protocol.ChatSendResult{RunID: id, Status: status} }
	if _, err := g.settled(e, result(protocol.StatusInFlight), nil, false); err != nil {
		return nil, err
	}
	g.tellUser(q.conn, p)
	g.reply(q.conn, q.id, result(protocol.StatusStarted), nil)
	if res.Answered {
		g.runs.drop(live)
		if res.Run != nil {
			g.runs.adopt(res.Run.ID(), q.conn) // queued under an id of its own
		}
		g.runs.reply(res.ID, p.SessionKey, res.Reply)
		_, err := g.settled(e, result(protocol.StatusOK), nil, true)
		return silence{}, err
	}
	g.runs.release(live)
	g.requests.Go(func() {
		<-res.Run.Done() // the router ends every run, also on shutdown
		_, err := res.Run.Result()
		if err == nil {
			_, _ = g.settled(e, result(protocol.StatusOK), nil, true) // two strings always encode
			return
		}
		text := errorText(err)
		r := result(protocol.StatusError)
		r.Summary = text
		_, _ = g.settled(e, r, unavailable(text), true)
	})
	return silence{}, nil
}

func (g *Gateway) chatAbort(ctx context.Context, _ *request, p *protocol.ChatAbortParams) (any, error) {
	res, err := g.cfg.Router.Abort(ctx, p.SessionKey, run.ID(p.RunID))
	if err != nil {
		return nil, err
	}
	return g.aborted(res, run.AbortRPC), nil
}

// aborted tells everybody at once that runs were stopped and is the answer to
// who stopped them.
func (g *Gateway) aborted(res router.AbortResult, why run.Abort) protocol.ChatAbortResult {
	out := protocol.ChatAbortResult{OK: true, Aborted: res.Aborted, RunIDs: make([]string, 0, len(res.RunIDs))}
	for _, id := range res.RunIDs {
		out.RunIDs = append(out.RunIDs, string(id))
	}
	g.runs.abort(out.RunIDs, string(why))
	return out
}

func (g *Gateway) sessionsPatch(ctx context.Context, _ *request, p *protocol.SessionsPatchParams) (any, error) {
	res, err := g.cfg.Router.PatchSession(ctx, *p)
	if err != nil {
		return nil, err
	}
	g.changed(res.Key, protocol.ChangedPatch)
	entry, err := marshal(res.Entry)
	if err != nil {
		return nil, err
	}
	return protocol.SessionsPatchResult{
		OK: true, Path: res.Path, Key: res.Key, Entry: entry,
		Resolved: protocol.ResolvedModel{ModelProvider: res.Model.Provider, Model: res.Model.ID},
	}, nil
}

func (g *Gateway) sessionsReset(ctx context.Context, _ *request, p *protocol.SessionsResetParams) (any, error) {
	key, e, err := g.cfg.Router.ResetSession(ctx, p.Key)
	if err != nil {
		return nil, err
	}
	g.changed(key, protocol.ChangedReset)
	entry, err := marshal(e)
	if err != nil {
		return nil, err
	}
	return protocol.SessionsResetResult{OK: true, Key: key, Entry: entry}, nil
}

// routerError gives the router's refusals their codes.
func routerError(err error) *protocol.Error {
	var refused *router.Error
	var busy *router.BusyError
	switch {
	case errors.As(err, &refused):
		return invalid(refused.Text)
	case errors.As(err, &busy):
		return &protocol.Error{Code: protocol.CodeUnavailable, Message: busy.Error(), Retryable: true, RetryAfterMs: 1000}
	case errors.Is(err, router.ErrClosing):
		return &protocol.Error{Code: protocol.CodeUnavailable, Message: protocol.ShutdownStopping, Retryable: true, RetryAfterMs: 1500}
	}
	return nil
}
