package router

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"openclaw/internal/chat"
	"openclaw/internal/run"
	"openclaw/internal/session"
	"openclaw/protocol"
)

// CreateSession makes a session, with a key of its own unless one is given. A key
// that exists is left alone but for the settings that come along. Errors are
// those of [Router.PatchSession].
func (rt *Router) CreateSession(ctx context.Context, p protocol.SessionsCreateParams) (PatchResult, error) {
	key := strings.TrimSpace(p.Key)
	if key == "" {
		agent := rt.cfg.Config().DefaultAgentID()
		if p.AgentID != "" {
			agent = chat.NormalizeAgentID(p.AgentID)
		}
		key = "agent:" + agent + ":session:" + session.NewID()
	}
	key, err := rt.KeyOf(key, p.AgentID)
	if err != nil {
		return PatchResult{}, err
	}
	patch := protocol.SessionsPatchParams{Key: key}
	if p.Label != "" {
		patch.Label = protocol.Value(p.Label)
	}
	if p.Model != "" {
		patch.Model = protocol.Value(p.Model)
	}
	return rt.PatchSession(ctx, patch)
}

// KeyOf returns the canonical form of a session key that belongs to agentID when
// it does not name its agent itself. An agent that does not exist, or that is not
// the one of the key, gives an [*Error].
func (rt *Router) KeyOf(sessionKey, agentID string) (string, error) {
	agentID = strings.TrimSpace(agentID)
	if agentID == "" {
		return rt.canonical(sessionKey), nil
	}
	c := rt.cfg.Config()
	agent := chat.NormalizeAgentID(agentID)
	if !slices.Contains(c.AgentIDs(), agent) {
		return "", &Error{fmt.Sprintf("unknown agent id %q", agentID)}
	}
	if owner, _, ok := chat.ParseKey(sessionKey); ok && chat.NormalizeAgentID(owner) != agent {
		return "", &Error{fmt.Sprintf("agent %q does not match session key agent %q", agent, owner)}
	}
	return chat.CanonicalKey(sessionKey, agent, c.Session.Global()), nil
}

// AbortSession stops what runs in a session, whoever asked for it, or one run of
// it; a run id alone is enough. Messages that wait go on, unless queued says that
// they are to go as well. It does not wait.
func (rt *Router) AbortSession(sessionKey string, id run.ID, queued bool) (AbortResult, error) {
	key := rt.canonical(sessionKey)
	if id != "" {
		r := rt.runs.find(id)
		if r == nil {
			r = rt.runs.findChat(id)
		}
		switch {
		case r == nil:
			return aborted(nil), nil
		case key != "" && r.SessionKey() != key:
			return AbortResult{}, &Error{"runId does not match sessionKey"}
		}
		key = r.lane()
		ids := rt.runs.abort(key, run.AbortRPC, func(o *Run) bool { return o == r || queued && o.queued })
		return aborted(ids), nil
	}
	if queued {
		return rt.Stop(key, run.AbortRPC), nil
	}
	return aborted(rt.runs.abort(key, run.AbortRPC, func(r *Run) bool { return !r.queued || r.state == stateRunning })), nil
}

// Running returns the run that is being worked on in a session.
func (rt *Router) Running(sessionKey string) (run.ID, bool) {
	r := rt.runs.running(rt.canonical(sessionKey))
	if r == nil {
		return "", false
	}
	return r.ID(), true
}
