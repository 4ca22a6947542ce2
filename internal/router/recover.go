package router

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"openclaw/internal/ledger"
	"openclaw/internal/run"
	"openclaw/internal/session"
	"openclaw/internal/turn"
)

const (
	// recoverTime bounds what a session may take to hear of its lost runs; another
	// program may hold its transcript.
	recoverTime = 2 * time.Second
	// recoverers bounds how many sessions are told at once.
	recoverers = 8
)

// How a lost run ended, for those who wait and for repeated requests.
const (
	reasonDuring = "the gateway stopped during this run"
	reasonBefore = "the gateway stopped before this run began"
)

// And for those who read the session.
const (
	noteDuring = "⚠️ The gateway stopped while I was working on this, so it has no answer. What I had done until then may have had effects. Ask me to go on, or send the message again."
	noteBefore = "⚠️ The gateway stopped before I could begin with this message, so it has no answer. Send it again if it still matters."
)

// Recover ends the runs that a gateway had accepted and did not end before it was
// gone: each gets one end that clients who wait for it hear and that its session
// shows. A run whose answer is in the session has finished. Ends that are still
// remembered count again for [Router.Wait].
//
// It is to be called when no other gateway works on the same state any more and
// before requests come in. Calling it again is harmless. The error is about the
// ledger; what cannot be told to one session is logged and keeps nobody else.
func (rt *Router) Recover(ctx context.Context) error {
	select {
	case rt.recovering <- struct{}{}:
		defer func() { <-rt.recovering }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	list, err := rt.cfg.Ledger.Lost()
	if err != nil {
		return fmt.Errorf("recover runs: %w", err)
	}
	for _, p := range rt.cfg.Ledger.Ended() {
		rt.runs.recall(p.Ending, p.ID, p.Origin)
	}
	var group errgroup.Group
	group.SetLimit(recoverers)
	for _, lost := range bySession(list) {
		group.Go(func() error { rt.recoverSession(ctx, lost); return nil })
	}
	return group.Wait()
}

// lostRun is a run that somebody else accepted.
type lostRun struct {
	entry *ledger.Entry
	was   ledger.Accepted
}

// bySession sorts lost runs by transcript and keeps their order.
func bySession(list []*ledger.Entry) (sessions [][]lostRun) {
	type place struct{ agent, session string }
	index := map[place]int{}
	for _, e := range list {
		l := lostRun{e, e.Accepted()}
		p := place{l.was.Request.AgentID, l.was.Request.SessionID}
		i, ok := index[p]
		if !ok {
			i = len(sessions)
			index[p] = i
			sessions = append(sessions, nil)
		}
		sessions[i] = append(sessions[i], l)
	}
	return sessions
}

// recoverSession ends the lost runs of one session, in the order in which they were
// accepted. The ledger comes last, so that a kill in between repeats what was not
// done, and nothing that was.
func (rt *Router) recoverSession(ctx context.Context, lost []lostRun) {
	ctx, cancel := context.WithTimeout(ctx, recoverTime)
	defer cancel()
	fates, err := rt.tellSession(ctx, lost)
	log := rt.log.With("session", lost[0].was.Request.SessionKey)
	if err != nil {
		log.Warn("session not told about runs that were lost", "err", err)
	}
	for i, l := range lost {
		x := ledger.Ending{State: ledger.Failed, Reason: reasonDuring, EndedAt: rt.now()}
		switch fates[i].kind {
		case fateAnswered:
			x.State, x.Reason, x.StartedAt = ledger.Finished, "", fates[i].began
		case fateAbsent:
			x.Reason = reasonBefore
		default:
			x.StartedAt = fates[i].began
		}
		log.Warn("run of an earlier gateway ended", "run", l.was.Request.ID, "state", string(x.State), "reason", x.Reason)
		rt.end(l.entry, x)
		if l.was.Kind == ledger.Agent && x.State == ledger.Finished {
			rt.keepAnswer(l, fates[i])
		}
		rt.runs.recall(x, l.was.Request.ID, l.was.Origin)
	}
}

// tellSession finds out how far the runs of a session got and writes into the
// session what is missing there. It returns a fate for every run, whatever happens.
func (rt *Router) tellSession(ctx context.Context, lost []lostRun) ([]fate, error) {
	fates := make([]fate, len(lost))
	q := lost[0].was.Request
	if q.SessionID == "" {
		return fates, nil // it named no session
	}
	store, err := rt.cfg.Sessions(q.AgentID)
	if err != nil {
		return fates, err
	}
	e, known := store.Get(q.SessionKey)
	if e.SessionID != q.SessionID {
		e, known = session.Entry{SessionID: q.SessionID}, false // it was reset since
	}
	opts := session.TranscriptOptions{SessionID: q.SessionID, Path: store.TranscriptPath(e), Cwd: rt.cfg.Workspace(q.AgentID)}
	msgs, err := since(opts.Path, lost[0].was.At)
	if err != nil {
		return fates, err
	}
	create := known || q.SessionKey == ""
	told := false
	for i, l := range lost {
		fates[i], msgs = fateOf(l.was, msgs)
		if fates[i].kind == fateAnswered {
			continue
		}
		told = true
		note, err := rt.writeNote(ctx, store, opts, l.was, fates[i].kind, create)
		if errors.Is(err, fs.ErrNotExist) {
			return fates, nil // a session that is gone
		}
		if err != nil {
			return fates, err
		}
		// Messages that were steered into this run need no note of their own.
		msgs = append(msgs, note)
	}
	if !told || !known {
		return fates, nil
	}
	_, err = store.Update(ctx, q.SessionKey, func(e *session.Entry) error {
		if e.SessionID != q.SessionID {
			return session.Skip
		}
		e.AbortedLastRun = new(true)
		return nil
	})
	return fates, err
}

// writeNote says in the transcript that a run has no answer, after the message it
// should have answered, and returns what it said.
func (rt *Router) writeNote(ctx context.Context, store *session.Store, opts session.TranscriptOptions, was ledger.Accepted, kind fateKind, create bool) (turn.Message, error) {
	note := injected(noteDuring, rt.now())
	switch kind {
	case fateNoted:
		return note, nil
	case fateAbsent:
		note = injected(noteBefore, rt.now())
		m := turn.User(was.Request.Prompt, rt.now())
		m.Content = append(m.Content, was.Request.Images...)
		if _, err := store.Inject(ctx, opts, m, create); err != nil {
			return note, err
		}
	}
	_, err := store.Inject(ctx, opts, note, create)
	return note, err
}

// keepAnswer stores what a lost run said for those who ask again, as the run itself
// would have.
func (rt *Router) keepAnswer(l lostRun, f fate) {
	out, m := run.Outcome{Payloads: []run.Payload{}}, f.answer
	for _, text := range slices.Compact(f.said) {
		out.Payloads = append(out.Payloads, run.Payload{Text: text})
	}
	out.Meta.AgentMeta = run.AgentMeta{SessionID: l.was.Request.SessionID, Provider: m.Provider, Model: m.Model}
	data, err := response(out)
	if err == nil {
		err = l.entry.Keep(data)
	}
	if err != nil {
		rt.log.Warn("response not kept for repeated requests", "run", l.was.Request.ID, "err", err)
	}
}

// since returns the messages of a transcript that may belong to runs accepted at
// that time or later.
func since(path string, at time.Time) ([]turn.Message, error) {
	for limit := 200; ; limit *= 10 {
		raw, err := session.History(path, limit, 64<<20)
		if err != nil {
			return nil, err
		}
		msgs := make([]turn.Message, 0, len(raw))
		for _, r := range raw {
			var m turn.Message
			if json.Unmarshal(r, &m) == nil {
				msgs = append(msgs, m)
			}
		}
		if len(raw) < limit || len(msgs) > 0 && msgs[0].Timestamp < at.UnixMilli() {
			return msgs, nil
		}
	}
}

// recall remembers an end that this process did not see, under all ids that people
// may know it by.
func (rs *runs) recall(x ledger.Ending, ids ...run.ID) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	snap := Snapshot{StartedAt: x.StartedAt, EndedAt: x.EndedAt}
	switch x.State {
	case ledger.Failed:
		snap.Error = x.Reason
	case ledger.Aborted:
		snap.StopReason = x.Reason
	}
	for _, id := range ids {
		if _, known := rs.ended[id]; !known && id != "" {
			rs.remember(&Run{req: run.Request{ID: id}, snap: snap})
		}
	}
}
