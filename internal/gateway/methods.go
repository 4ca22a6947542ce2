package gateway

import (
	"context"
	"encoding/json"

	"openclaw/protocol"
)

// method is one row of the table: who may call it and what it does.
type method struct {
	scope scope
	run   func(ctx context.Context, g *Gateway, q *request) (any, error)
	// only4 methods exist on protocol 4 only. There scopeBy, if any, decides by the
	// params what the method asks of its caller.
	only4   bool
	scopeBy func(params json.RawMessage) scope
}

// typed makes a row from a function over decoded params.
func typed[P any](s scope, fn func(*Gateway, context.Context, *request, *P) (any, error)) method {
	return method{scope: s, run: func(ctx context.Context, g *Gateway, q *request) (any, error) {
		p := new(P)
		if err := q.decode(p); err != nil {
			return nil, err
		}
		return fn(g, ctx, q, p)
	}}
}

// loose makes a row for a method that takes from its params what fits and
// ignores the rest.
func loose[P any](s scope, fn func(*Gateway, context.Context, *request, *P) (any, error)) method {
	return method{scope: s, run: func(ctx context.Context, g *Gateway, q *request) (any, error) {
		p := new(P)
		_ = json.Unmarshal(q.params, p) // whatever it is
		return fn(g, ctx, q, p)
	}}
}

// since4 marks a method of protocol 4.
func since4(m method) method {
	m.only4 = true
	return m
}

// keyed lets a method of protocol 4 go without an idempotency key: one is made.
func keyed(m method) method {
	run := m.run
	m.run = func(ctx context.Context, g *Gateway, q *request) (any, error) {
		if q.conn.version >= protocol.Version4 {
			q.params = withKey(q.params)
		}
		return run(ctx, g, q)
	}
	return m
}

// judged4 lets the params decide about the scope on protocol 4.
func judged4(m method, by func(json.RawMessage) scope) method {
	m.scopeBy = by
	return m
}

// methodTable lists every method that this gateway answers. Adding one is a row
// here, its params and result in package protocol, and a script in testdata.
func methodTable() map[string]method {
	return map[string]method{
		protocol.MethodHealth:         loose(scopeRead, (*Gateway).healthMethod),
		protocol.MethodStatus:         loose(scopeRead, (*Gateway).status),
		protocol.MethodLogsTail:       typed(scopeRead, (*Gateway).logsTail),
		protocol.MethodSystemPresence: loose(scopeRead, (*Gateway).systemPresence),
		protocol.MethodSystemEvent:    loose(scopeAdmin, (*Gateway).systemEvent),
		protocol.MethodUsageStatus:    loose(scopeRead, (*Gateway).usageStatus),
		protocol.MethodUsageCost:      loose(scopeRead, (*Gateway).usageCost),
		protocol.MethodLastHeartbeat:  loose(scopeRead, (*Gateway).lastHeartbeat),
		protocol.MethodSetHeartbeats:  typed(scopeAdmin, (*Gateway).setHeartbeats),
		protocol.MethodWake:           typed(scopeWrite, (*Gateway).wake),

		protocol.MethodAgent:            typed(scopeWrite, (*Gateway).agent),
		protocol.MethodAgentWait:        typed(scopeWrite, (*Gateway).agentWait),
		protocol.MethodAgentIdentityGet: typed(scopeRead, (*Gateway).agentIdentityGet),

		protocol.MethodChatSend:    keyed(typed(scopeWrite, (*Gateway).chatSend)),
		protocol.MethodChatHistory: typed(scopeRead, (*Gateway).chatHistory),
		protocol.MethodChatAbort:   typed(scopeWrite, (*Gateway).chatAbort),
		protocol.MethodChatInject:  typed(scopeAdmin, (*Gateway).chatInject),

		protocol.MethodSessionsList:    typed(scopeRead, (*Gateway).sessionsList),
		protocol.MethodSessionsPatch:   judged4(typed(scopeAdmin, (*Gateway).sessionsPatch), patchScope),
		protocol.MethodSessionsReset:   typed(scopeAdmin, (*Gateway).sessionsReset),
		protocol.MethodSessionsPreview: typed(scopeRead, (*Gateway).sessionsPreview),
		protocol.MethodSessionsResolve: typed(scopeAdmin, (*Gateway).sessionsResolve),
		protocol.MethodSessionsDelete:  typed(scopeAdmin, (*Gateway).sessionsDelete),
		protocol.MethodSessionsCompact: typed(scopeAdmin, (*Gateway).sessionsCompact),

		protocol.MethodSessionsDescribe:    since4(typed(scopeRead, (*Gateway).sessionsDescribe)),
		protocol.MethodSessionsGet:         since4(typed(scopeRead, (*Gateway).sessionsGet)),
		protocol.MethodSessionsSubscribe:   since4(typed(scopeRead, (*Gateway).sessionsSubscribe)),
		protocol.MethodSessionsUnsubscribe: since4(typed(scopeRead, (*Gateway).sessionsUnsubscribe)),
		protocol.MethodMessagesSubscribe:   since4(typed(scopeRead, (*Gateway).messagesSubscribe)),
		protocol.MethodMessagesUnsubscribe: since4(typed(scopeRead, (*Gateway).messagesUnsubscribe)),
		protocol.MethodSessionsSend:        since4(keyed(typed(scopeWrite, (*Gateway).sessionsSend))),
		protocol.MethodSessionsAbort:       since4(typed(scopeWrite, (*Gateway).sessionsAbort)),
		protocol.MethodSessionsCreate:      since4(typed(scopeWrite, (*Gateway).sessionsCreate)),

		protocol.MethodModelsList:      typed(scopeRead, (*Gateway).modelsList),
		protocol.MethodAgentsList:      typed(scopeRead, (*Gateway).agentsList),
		protocol.MethodAgentsFilesList: typed(scopeAdmin, (*Gateway).agentsFilesList),
		protocol.MethodAgentsFilesGet:  typed(scopeAdmin, (*Gateway).agentsFilesGet),
		protocol.MethodAgentsFilesSet:  typed(scopeAdmin, (*Gateway).agentsFilesSet),

		protocol.MethodConfigGet:    typed(scopeAdmin, (*Gateway).configGet),
		protocol.MethodConfigSet:    typed(scopeAdmin, (*Gateway).configSet),
		protocol.MethodConfigApply:  typed(scopeAdmin, (*Gateway).configApply),
		protocol.MethodConfigPatch:  typed(scopeAdmin, (*Gateway).configPatch),
		protocol.MethodConfigSchema: typed(scopeAdmin, (*Gateway).configSchema),

		protocol.MethodDevicePairList:    typed(scopePairing, (*Gateway).devicePairList),
		protocol.MethodDevicePairApprove: typed(scopePairing, (*Gateway).devicePairApprove),
		protocol.MethodDevicePairReject:  typed(scopePairing, (*Gateway).devicePairReject),
		protocol.MethodDeviceTokenRotate: typed(scopePairing, (*Gateway).deviceTokenRotate),
		protocol.MethodDeviceTokenRevoke: typed(scopePairing, (*Gateway).deviceTokenRevoke),
	}
}
