package gateway

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"openclaw/internal/chat"
	"openclaw/internal/router"
	"openclaw/internal/run"
	"openclaw/internal/session"
	"openclaw/protocol"
)

// sessionState is a session as protocol 4 shows it; nil when there is none.
func (g *Gateway) sessionState(key string, title, last bool) (*protocol.SessionState, error) {
	store, e, ok, err := g.session(key)
	if err != nil || !ok {
		return nil, err
	}
	out := &protocol.SessionState{SessionRow: sessionRow(key, &e, g.modelDefaults())}
	it := agentItem{agent: chat.AgentOf(key, g.settings().of.DefaultAgentID()), store: store, Item: session.Item{Key: key, Entry: &e}}
	if title {
		out.DerivedTitle = derivedTitle(it)
	}
	if last {
		out.LastMessagePreview = lastMessage(it)
	}
	id, running := g.cfg.Router.Running(key)
	out.HasActiveRun, out.ActiveRunID = running, string(id)
	return out, nil
}

func (g *Gateway) sessionsDescribe(_ context.Context, _ *request, p *protocol.SessionsDescribeParams) (any, error) {
	key, err := g.cfg.Router.KeyOf(p.Key, p.AgentID)
	if err != nil {
		return nil, err
	}
	state, err := g.sessionState(key, p.IncludeDerivedTitles, p.IncludeLastMessage)
	return protocol.SessionsDescribeResult{Session: state}, err
}

// sessionsSubscribe has changes of all sessions told to the connection. With
// params it also answers the list, of a moment when changes were told already.
func (g *Gateway) sessionsSubscribe(ctx context.Context, q *request, p *protocol.SessionsListParams) (any, error) {
	q.conn.subs.begin(&g.hub)
	q.conn.subs.changes.Store(true)
	out := protocol.SessionsSubscribeResult{Subscribed: true}
	var given map[string]json.RawMessage
	if json.Unmarshal(q.params, &given) != nil || len(given) == 0 {
		return out, nil
	}
	list, err := g.sessionsList(ctx, q, p)
	if err != nil {
		return nil, err
	}
	out.List = new(list.(protocol.SessionsListResult))
	return out, nil
}

func (g *Gateway) sessionsUnsubscribe(_ context.Context, q *request, _ *protocol.NoParams) (any, error) {
	q.conn.subs.changes.Store(false)
	return protocol.SessionsSubscribeResult{}, nil
}

func (g *Gateway) messagesSubscribe(_ context.Context, q *request, p *protocol.SessionsMessagesParams) (any, error) {
	key, err := g.cfg.Router.KeyOf(p.Key, p.AgentID)
	if err != nil {
		return nil, err
	}
	if key == "" || key == chat.UnknownKey {
		return nil, invalid("invalid session key")
	}
	q.conn.subs.begin(&g.hub)
	if !q.conn.subs.follow(key) {
		return nil, unavailable("too many sessions are followed on this connection")
	}
	return protocol.SessionsMessagesResult{Subscribed: true, Key: key}, nil
}

func (g *Gateway) messagesUnsubscribe(_ context.Context, q *request, p *protocol.SessionsMessagesParams) (any, error) {
	key, err := g.cfg.Router.KeyOf(p.Key, p.AgentID)
	if err != nil {
		return nil, err
	}
	q.conn.subs.unfollow(key)
	return protocol.SessionsMessagesResult{Key: key}, nil
}

// known returns the key under which a session is spoken to: as the caller wrote
// it, unless the agent was given beside it. The session must exist.
func (g *Gateway) known(key, agentID string) (string, error) {
	canonical, err := g.cfg.Router.KeyOf(key, agentID)
	if err != nil {
		return "", err
	}
	_, _, ok, err := g.session(canonical)
	switch {
	case err != nil:
		return "", err
	case !ok:
		return "", invalid("session not found: " + strings.TrimSpace(key))
	case agentID != "":
		return canonical, nil
	}
	return key, nil
}

// sessionsSend is chat.send to a session that exists.
func (g *Gateway) sessionsSend(ctx context.Context, q *request, p *protocol.SessionsSendParams) (any, error) {
	key, err := g.known(p.Key, p.AgentID)
	if err != nil {
		return nil, err
	}
	return g.chatSend(ctx, q, &protocol.ChatSendParams{
		SessionKey: key, Message: p.Message, Thinking: p.Thinking, Attachments: p.Attachments,
		TimeoutMs: p.TimeoutMs, IdempotencyKey: p.IdempotencyKey,
	})
}

// sessionsAbort stops what runs in a session, whoever started it.
func (g *Gateway) sessionsAbort(_ context.Context, _ *request, p *protocol.SessionsAbortParams) (any, error) {
	if p.Key == "" && p.RunID == "" {
		return nil, invalid("key or runId required")
	}
	key := ""
	if p.Key != "" {
		var err error
		if key, err = g.cfg.Router.KeyOf(p.Key, p.AgentID); err != nil {
			return nil, err
		}
	}
	res, err := g.cfg.Router.AbortSession(key, run.ID(p.RunID), p.ClearQueued)
	if err != nil {
		return nil, err
	}
	done := g.aborted(res, run.AbortRPC)
	out := protocol.SessionsAbortResult{OK: true, Status: protocol.NoActiveRun, Aborted: done.Aborted, RunIDs: done.RunIDs}
	if done.Aborted {
		out.Status, out.AbortedRunID = protocol.AbortedRun, &done.RunIDs[0]
	}
	return out, nil
}

// sessionsGet returns the end of a conversation.
func (g *Gateway) sessionsGet(_ context.Context, _ *request, p *protocol.SessionsGetParams) (any, error) {
	key, err := g.cfg.Router.KeyOf(p.Key, p.AgentID)
	if err != nil {
		return nil, err
	}
	out := protocol.SessionsGetResult{Messages: []json.RawMessage{}}
	store, e, ok, err := g.session(key)
	if err != nil || !ok || e.SessionID == "" {
		return out, err
	}
	limit := historyLimit
	if p.Limit != nil {
		limit = *p.Limit
	}
	messages, err := session.History(store.TranscriptPath(e), limit, historyBytes)
	out.Messages = append(out.Messages, messages...)
	return out, err
}

// sessionsCreate makes a session and, with a message, speaks to it.
func (g *Gateway) sessionsCreate(ctx context.Context, q *request, p *protocol.SessionsCreateParams) (any, error) {
	res, err := g.cfg.Router.CreateSession(ctx, *p)
	if err != nil {
		return nil, err
	}
	g.changed(res.Key, protocol.ChangedCreate)
	entry, err := marshal(res.Entry)
	if err != nil {
		return nil, err
	}
	out := protocol.SessionsCreateResult{
		OK: true, Key: res.Key, SessionID: res.Entry.SessionID, Entry: entry,
		Resolved: protocol.ResolvedModel{ModelProvider: res.Model.Provider, Model: res.Model.ID},
	}
	if strings.TrimSpace(p.Message) == "" {
		return out, nil
	}
	return g.createAndSpeak(ctx, q, out, p.Message)
}

// createAndSpeak sends the first message of a new session. The answer goes out
// before the first event of its run.
func (g *Gateway) createAndSpeak(ctx context.Context, q *request, out protocol.SessionsCreateResult, message string) (any, error) {
	p := protocol.ChatSendParams{SessionKey: out.Key, Message: message, IdempotencyKey: newID()}
	live := g.runs.start(run.ID(p.IdempotencyKey), p.SessionKey, q.conn)
	res, err := g.cfg.Router.Chat(ctx, router.ChatRequest{ChatSendParams: p, Owner: q.conn.owner})
	if err != nil || res.Stopped != nil {
		g.runs.drop(live)
		return out, err
	}
	out.RunStarted, out.RunID = true, p.IdempotencyKey
	g.tellUser(q.conn, &p)
	g.reply(q.conn, q.id, out, nil)
	if res.Answered {
		g.runs.drop(live)
		g.runs.reply(res.ID, p.SessionKey, res.Reply)
		return silence{}, nil
	}
	g.runs.release(live)
	return silence{}, nil
}

// powerful are the settings of a session that say what it may do. The others can
// be changed by a command, by whoever may talk to the session.
var powerful = []string{
	"elevatedLevel", "execHost", "execSecurity", "execAsk", "execNode", "sendPolicy", "groupActivation", "spawnedBy",
}

// patchScope is what sessions.patch asks for on protocol 4: the scope to write, as
// long as it touches nothing powerful.
func patchScope(params json.RawMessage) scope {
	var given map[string]json.RawMessage
	if json.Unmarshal(params, &given) != nil {
		return scopeAdmin
	}
	for name := range given {
		// Decoding does not mind the case of a key either.
		if slices.ContainsFunc(powerful, func(p string) bool { return strings.EqualFold(p, name) }) {
			return scopeAdmin
		}
	}
	return scopeWrite
}

// withKey adds an idempotency key to params that have none.
func withKey(params json.RawMessage) json.RawMessage {
	var given map[string]json.RawMessage
	if len(params) > 0 && json.Unmarshal(params, &given) != nil {
		return params // the method will say what is wrong
	}
	if _, ok := given["idempotencyKey"]; ok {
		return params
	}
	if given == nil {
		given = map[string]json.RawMessage{}
	}
	given["idempotencyKey"], _ = json.Marshal(newID()) // a string always encodes
	out, err := json.Marshal(given)
	if err != nil {
		return params
	}
	return out
}
