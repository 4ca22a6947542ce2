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
}

// typed makes a row from a function over decoded params.
func typed[P any](s scope, fn func(*Gateway, context.Context, *request, *P) (any, error)) method {
	return method{s, func(ctx context.Context, g *Gateway, q *request) (any, error) {
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
	return method{s, func(ctx context.Context, g *Gateway, q *request) (any, error) {
		p := new(P)
		_ = json.Unmarshal(q.params, p) // whatever it is
		return fn(g, ctx, q, p)
	}}
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

		protocol.MethodChatSend:    typed(scopeWrite, (*Gateway).chatSend),
		protocol.MethodChatHistory: typed(scopeRead, (*Gateway).chatHistory),
		protocol.MethodChatAbort:   typed(scopeWrite, (*Gateway).chatAbort),
		protocol.MethodChatInject:  typed(scopeAdmin, (*Gateway).chatInject),

		protocol.MethodSessionsList:    typed(scopeRead, (*Gateway).sessionsList),
		protocol.MethodSessionsPatch:   typed(scopeAdmin, (*Gateway).sessionsPatch),
		protocol.MethodSessionsReset:   typed(scopeAdmin, (*Gateway).sessionsReset),
		protocol.MethodSessionsPreview: typed(scopeRead, (*Gateway).sessionsPreview),
		protocol.MethodSessionsResolve: typed(scopeAdmin, (*Gateway).sessionsResolve),
		protocol.MethodSessionsDelete:  typed(scopeAdmin, (*Gateway).sessionsDelete),
		protocol.MethodSessionsCompact: typed(scopeAdmin, (*Gateway).sessionsCompact),

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
