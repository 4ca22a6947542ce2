package router

import (
	"context"

	"openclaw/internal/chat"
	"openclaw/internal/run"
)

// AbortResult lists the runs that were stopped, in the order they were accepted.
type AbortResult struct {
	Aborted bool
	RunIDs  []run.ID
}

// Abort stops one chat run, or all chat runs of a session when runID is empty.
// It does not wait for them. Runs of agent requests are left alone; a run of
// another session is an [*Error]. See docs/protocol.md#chat-send.
func (rt *Router) Abort(_ context.Context, sessionKey string, runID run.ID) (AbortResult, error) {
	c := rt.cfg.Config()
	key := chat.CanonicalKey(sessionKey, c.DefaultAgentID(), c.Session.Global())
	if runID == "" {
		return aborted(rt.runs.abort(key, run.AbortRPC, func(r *Run) bool { return r.kind == kindChat })), nil
	}
	r := rt.runs.findChat(runID)
	switch {
	case r == nil:
		return aborted(nil), nil
	case r.SessionKey() != key:
		return AbortResult{}, &Error{"runId does not match sessionKey"}
	}
	return aborted(rt.runs.abort(key, run.AbortRPC, func(o *Run) bool { return o == r })), nil
}

func aborted(ids []run.ID) AbortResult {
	if ids == nil {
		ids = []run.ID{}
	}
	return AbortResult{Aborted: len(ids) > 0, RunIDs: ids}
}

// Stop stops everything that runs or waits in a session, whoever asked for it,
// and forgets what was queued. It does not wait.
func (rt *Router) Stop(sessionKey string, why run.Abort) AbortResult {
	c := rt.cfg.Config()
	key := chat.CanonicalKey(sessionKey, c.DefaultAgentID(), c.Session.Global())
	rt.accept.Lock()
	delete(rt.overflow, key)
	rt.accept.Unlock()
	return aborted(rt.runs.abort(key, why, func(*Run) bool { return true }))
}
