package gateway

import (
	"encoding/json"
	"slices"

	"openclaw/protocol"
)

// scope is what a method asks of its caller. See docs/protocol.md#matrix.
type scope int

const (
	scopeAdmin scope = iota // also of every method that is not known
	scopeRead
	scopeWrite
	scopeApprovals
	scopePairing
	scopeNode // role node, nobody else
)

// name is the scope string that a caller needs. (Write also does for reading,
// and admin for everything.)
func (s scope) name() string {
	switch s {
	case scopeRead:
		return protocol.ScopeRead
	case scopeWrite:
		return protocol.ScopeWrite
	case scopeApprovals:
		return protocol.ScopeApprovals
	case scopePairing:
		return protocol.ScopePairing
	}
	return protocol.ScopeAdmin
}

// reserved holds the methods of the protocol that this gateway does not answer
// yet. They are here because a caller is judged before the method is looked up:
// without the right scope even these are refused in the words of their scope.
var reserved = map[string]scope{
	"channels.status": scopeRead, "channels.logout": scopeAdmin,
	"tts.status": scopeRead, "tts.providers": scopeRead,
	"tts.enable": scopeWrite, "tts.disable": scopeWrite, "tts.convert": scopeWrite, "tts.setProvider": scopeWrite,
	"exec.approvals.get": scopeAdmin, "exec.approvals.set": scopeAdmin,
	"exec.approvals.node.get": scopeAdmin, "exec.approvals.node.set": scopeAdmin,
	"exec.approval.request": scopeApprovals, "exec.approval.resolve": scopeApprovals,
	"wizard.start": scopeAdmin, "wizard.next": scopeAdmin, "wizard.cancel": scopeAdmin, "wizard.status": scopeAdmin,
	"talk.mode":     scopeWrite,
	"skills.status": scopeRead, "skills.bins": scopeNode, "skills.install": scopeAdmin, "skills.update": scopeAdmin,
	"update.run":    scopeAdmin,
	"voicewake.get": scopeRead, "voicewake.set": scopeWrite,
	"cron.list": scopeRead, "cron.status": scopeRead, "cron.runs": scopeRead,
	"cron.add": scopeAdmin, "cron.update": scopeAdmin, "cron.remove": scopeAdmin, "cron.run": scopeAdmin,
	"node.pair.request": scopePairing, "node.pair.list": scopePairing, "node.pair.approve": scopePairing,
	"node.pair.reject": scopePairing, "node.pair.verify": scopePairing,
	"node.rename": scopePairing, "node.list": scopeRead, "node.describe": scopeRead,
	"node.invoke": scopeWrite, "node.invoke.result": scopeNode, "node.event": scopeNode,
	"send": scopeWrite, "poll": scopeAdmin, "browser.request": scopeWrite,
	"web.login.start": scopeAdmin, "web.login.wait": scopeAdmin,
}

// reserved4 holds what protocol 4 judges otherwise. See docs/protocol.md#protocol-4-scopes.
var reserved4 = map[string]scope{
	protocol.MethodConfigGet: scopeRead, protocol.MethodConfigSchema: scopeRead,
	protocol.MethodAgentsFilesList: scopeRead, protocol.MethodAgentsFilesGet: scopeRead,
	protocol.MethodSessionsResolve: scopeRead,
	"poll":                         scopeWrite,
}

// grants is what a connection may do, worked out once in the handshake.
type grants struct {
	role                                   string
	admin, read, write, approvals, pairing bool
}

func newGrants(role string, scopes []string) grants {
	g := grants{role: role}
	if role != protocol.RoleOperator {
		return g
	}
	g.admin = slices.Contains(scopes, protocol.ScopeAdmin)
	g.write = g.admin || slices.Contains(scopes, protocol.ScopeWrite)
	g.read = g.write || slices.Contains(scopes, protocol.ScopeRead)
	g.approvals = g.admin || slices.Contains(scopes, protocol.ScopeApprovals)
	g.pairing = g.admin || slices.Contains(scopes, protocol.ScopePairing)
	return g
}

func (g grants) allow(s scope) bool {
	switch s {
	case scopeRead:
		return g.read
	case scopeWrite:
		return g.write
	case scopeApprovals:
		return g.approvals
	case scopePairing:
		return g.pairing
	case scopeNode:
		return g.role == protocol.RoleNode
	}
	return g.admin
}

// authorize judges whether a connection may call a method of scope s; the rules
// are read top down. Version decides the dialect of the refusal.
func authorize(g grants, s scope, version int) *protocol.Error {
	isNode := g.role == protocol.RoleNode
	if s == scopeNode != isNode {
		return &protocol.Error{Code: protocol.CodeInvalidRequest, Message: "unauthorized role: " + g.role}
	}
	if g.allow(s) {
		return nil
	}
	return missingScope(s.name(), version)
}

// missingScope is the refusal of a caller that lacks a scope.
func missingScope(missing string, version int) *protocol.Error {
	e := &protocol.Error{Code: protocol.CodeInvalidRequest, Message: "missing scope: " + missing}
	if version >= protocol.Version4 {
		e.Code = protocol.CodeForbidden
		e.Details, _ = json.Marshal(protocol.ScopeErrorDetails{
			Code: protocol.DetailMissingScope, MissingScope: missing, RequiredScopes: []string{missing},
		})
	}
	return e
}

// guard says who may see an event. See docs/protocol.md#event-guards.
type guard int

const (
	guardAdmin guard = iota // also of every event that is not known
	guardOpen               // everybody, nodes too
	guardRead
	guardApprovals
	guardPairing
)

func (g grants) sees(e guard) bool {
	switch e {
	case guardOpen:
		return true
	case guardRead:
		return g.read
	case guardApprovals:
		return g.approvals
	case guardPairing:
		return g.pairing
	}
	return g.admin
}

// eventRule is what is known about an event besides its payload.
type eventRule struct {
	name      string
	guard     guard
	droppable bool
}

// eventRules lists every event of the protocol in the order in which hello-ok
// advertises them.
var eventRules = []eventRule{
	{protocol.EventChallenge, guardAdmin, false},
	{protocol.EventAgent, guardRead, false},
	{protocol.EventChat, guardRead, false}, // deltas are droppable, see chatEvent
	{protocol.EventPresence, guardOpen, true},
	{protocol.EventTick, guardOpen, true},
	{protocol.EventTalkMode, guardRead, true},
	{protocol.EventShutdown, guardOpen, false},
	{protocol.EventHealth, guardOpen, false},
	{protocol.EventHeartbeat, guardRead, true},
	{protocol.EventCron, guardRead, true},
	{protocol.EventNodePairRequested, guardPairing, true},
	{protocol.EventNodePairResolved, guardPairing, true},
	{protocol.EventNodeInvokeRequest, guardAdmin, false},
	{protocol.EventPairRequested, guardPairing, true},
	{protocol.EventPairResolved, guardPairing, true},
	{protocol.EventVoiceWakeChanged, guardOpen, true},
	{protocol.EventApprovalRequested, guardApprovals, true},
	{protocol.EventApprovalResolved, guardApprovals, true},
}
