package router

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"openclaw/internal/chat"
	"openclaw/internal/lane"
	"openclaw/internal/run"
	"openclaw/internal/session"
	"openclaw/internal/turn"
	"openclaw/protocol"
)

const (
	// settleTime is how long a session may take to come to rest before it is
	// changed.
	settleTime = 15 * time.Second
	// changeTime bounds the change itself.
	changeTime = 30 * time.Second
	// compactLines is how many lines a compaction keeps unless told otherwise.
	compactLines = 400
)

// alone calls change when no run is in the session; runs that come meanwhile
// wait. Before it waits it calls ahead, which may stop what is under way. A change
// that has begun is finished even when ctx ends.
func (rt *Router) alone(ctx context.Context, key string, ahead func(), change func(context.Context) error) error {
	rt.accept.Lock()
	place := rt.cfg.Lanes.Queue(lane.Session(key))
	rt.accept.Unlock()
	defer place.Leave()
	ahead()
	busy := &BusyError{Key: key}
	wait, cancel := context.WithTimeoutCause(ctx, settleTime, busy)
	defer cancel()
	if err := place.Wait(wait); err != nil {
		return err
	}
	within, done := context.WithTimeout(context.WithoutCancel(ctx), changeTime)
	defer done()
	err := change(within)
	if errors.Is(err, session.ErrLocked) {
		return busy // another process works on it
	}
	return err
}

// DeleteResult is what [Router.DeleteSession] did.
type DeleteResult struct {
	Key      string // canonical
	Deleted  bool
	Archived []string // where the transcripts are now
}

// DeleteSession removes a session: what runs or waits in it and in its subagents
// is stopped, its transcript is put aside unless keep says to leave it, and its
// entry goes. The default agent's main session stays. Errors are [*Error] and
// [*BusyError].
func (rt *Router) DeleteSession(ctx context.Context, sessionKey string, keep bool) (DeleteResult, error) {
	if main := rt.MainSession(); rt.canonical(sessionKey) == main {
		return DeleteResult{}, &Error{fmt.Sprintf("Cannot delete the main session (%s).", main)}
	}
	d, err := rt.locate(sessionKey)
	if err != nil {
		return DeleteResult{}, err
	}
	out := DeleteResult{Key: d.key, Archived: []string{}}
	stop := func() {
		rt.Stop(d.key, run.AbortRPC)
		rt.stopChildren(d)
	}
	err = rt.alone(ctx, d.key, stop, func(ctx context.Context) error {
		rt.notices.take(d.key)
		e, known := d.store.Get(d.key)
		if known && e.SessionID != "" && !keep {
			path, err := d.store.Archive(ctx, e)
			if err != nil {
				return err
			}
			if path != "" {
				out.Archived = append(out.Archived, path)
			}
		}
		out.Deleted, err = d.store.Delete(ctx, d.key)
		return err
	})
	return out, err
}

// stopChildren stops the runs of subagents that the session spawned.
func (rt *Router) stopChildren(d door) {
	for _, a := range rt.Active() {
		if !chat.IsSubagent(a.SessionKey) {
			continue
		}
		if e, _ := d.store.Get(a.SessionKey); rt.canonical(e.SpawnedBy) == d.key {
			rt.Stop(a.SessionKey, run.AbortRPC)
		}
	}
}

// CompactResult is what [Router.CompactSession] did.
type CompactResult struct {
	Key       string // canonical
	Compacted bool
	Reason    string // why there was nothing to compact
	Archived  string // where the whole transcript is now
	Kept      int    // lines
}

// CompactSession cuts a transcript to its last lines, 0 meaning 400, and keeps the
// whole file beside it. It waits for the run that is under way. Errors are
// [*Error] and [*BusyError].
func (rt *Router) CompactSession(ctx context.Context, sessionKey string, maxLines int) (CompactResult, error) {
	d, err := rt.locate(sessionKey)
	if err != nil {
		return CompactResult{}, err
	}
	if maxLines <= 0 {
		maxLines = compactLines
	}
	out := CompactResult{Key: d.key}
	err = rt.alone(ctx, d.key, func() {}, func(ctx context.Context) error {
		e, _ := d.store.Get(d.key)
		if e.SessionID == "" {
			out.Reason = "no sessionId"
			return nil
		}
		done, err := d.store.TrimTranscript(ctx, e, maxLines)
		if errors.Is(err, fs.ErrNotExist) {
			out.Reason = "no transcript"
			return nil
		}
		if err != nil {
			return err
		}
		out.Kept, out.Archived, out.Compacted = done.Kept, done.Archived, done.Archived != ""
		if !out.Compacted {
			return nil
		}
		_, err = d.store.Update(ctx, d.key, func(e *session.Entry) error {
			// They counted what is no longer there.
			e.InputTokens, e.OutputTokens, e.TotalTokens = nil, nil, nil
			return nil
		})
		return err
	})
	return out, err
}

// InjectMessage appends an assistant message that no model wrote, with label in
// front of it, and returns the id of its line. A session or a transcript that does
// not exist gives an [*Error].
func (rt *Router) InjectMessage(ctx context.Context, sessionKey, label, text string) (id string, m turn.Message, err error) {
	d, err := rt.open(sessionKey)
	if refused := (*Error)(nil); errors.As(err, &refused) {
		return "", m, &Error{"session not found"}
	}
	if err != nil {
		return "", m, err
	}
	e, ok := d.store.Get(d.key)
	if !ok || e.SessionID == "" {
		return "", m, &Error{"session not found"}
	}
	if label = strings.TrimSpace(label); label != "" {
		text = "[" + label + "]\n\n" + text
	}
	m = injected(text, rt.now())
	opts := session.TranscriptOptions{SessionID: e.SessionID, Path: d.store.TranscriptPath(e), Cwd: rt.cfg.Workspace(d.agentID)}
	id, err = d.store.Inject(ctx, opts, m, false)
	if errors.Is(err, fs.ErrNotExist) {
		return "", m, &Error{"transcript file not found"}
	}
	return id, m, err
}

// ResolveSession returns the canonical key of the session that a key, an id or a
// label means. What is not found, or not unique, gives an [*Error].
func (rt *Router) ResolveSession(p protocol.SessionsResolveParams) (string, error) {
	key, id, label := strings.TrimSpace(p.Key), strings.TrimSpace(p.SessionID), strings.TrimSpace(p.Label)
	given := slices.DeleteFunc([]string{key, id, label}, func(s string) bool { return s == "" })
	switch {
	case len(given) > 1:
		return "", &Error{"Provide either key, sessionId, or label (not multiple)"}
	case len(given) == 0:
		return "", &Error{"Either key, sessionId, or label is required"}
	case key != "":
		d, err := rt.locate(key)
		if refused := (*Error)(nil); err != nil && !errors.As(err, &refused) {
			return "", err
		}
		if err == nil {
			if _, ok := d.store.Get(d.key); ok {
				return d.key, nil
			}
		}
		return "", &Error{"No session found: " + key}
	case id != "":
		return rt.only(p, "sessionId: "+id, id, func(st *session.Store) (string, session.Entry, bool) { return st.FindByID(id) })
	}
	return rt.only(p, "label: "+label, "", func(st *session.Store) (string, session.Entry, bool) { return st.FindByLabel(label) })
}

// only returns the one session that find gives in the stores that p allows. What
// names it in texts; bare is the shorter name for when there is none.
func (rt *Router) only(p protocol.SessionsResolveParams, what, bare string, find func(*session.Store) (string, session.Entry, bool)) (string, error) {
	agents := rt.cfg.Config().AgentIDs()
	if p.AgentID != "" {
		wanted := chat.NormalizeAgentID(p.AgentID)
		agents = slices.DeleteFunc(slices.Clone(agents), func(id string) bool { return id != wanted })
	}
	var keys []string
	for _, agent := range agents {
		st, err := rt.cfg.Sessions(agent)
		if err != nil {
			return "", err
		}
		key, e, ok := find(st)
		switch {
		case !ok, slices.Contains(keys, key),
			key == chat.GlobalKey && !p.IncludeGlobal, key == chat.UnknownKey && !p.IncludeUnknown,
			p.SpawnedBy != "" && rt.canonical(e.SpawnedBy) != rt.canonical(p.SpawnedBy):
			continue
		}
		keys = append(keys, key)
	}
	switch {
	case len(keys) == 1:
		return keys[0], nil
	case len(keys) > 1:
		return "", &Error{fmt.Sprintf("Multiple sessions found for %s (%s)", what, strings.Join(keys, ", "))}
	case bare != "":
		return "", &Error{"No session found: " + bare}
	}
	return "", &Error{"No session found with " + what}
}
