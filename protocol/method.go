package protocol

// Names of the methods that the gateway answers, by area. See
// docs/protocol.md#methods. [Methods] knows the types of those to come as well.
const (
	MethodConnect = "connect"

	MethodHealth         = "health"
	MethodStatus         = "status"
	MethodLogsTail       = "logs.tail"
	MethodSystemPresence = "system-presence"
	MethodSystemEvent    = "system-event"
	MethodUsageStatus    = "usage.status"
	MethodUsageCost      = "usage.cost"
	MethodLastHeartbeat  = "last-heartbeat"
	MethodSetHeartbeats  = "set-heartbeats"
	MethodWake           = "wake"

	MethodAgent            = "agent"
	MethodAgentWait        = "agent.wait"
	MethodAgentIdentityGet = "agent.identity.get"

	MethodChatSend    = "chat.send"
	MethodChatHistory = "chat.history"
	MethodChatAbort   = "chat.abort"
	MethodChatInject  = "chat.inject"

	MethodSessionsList    = "sessions.list"
	MethodSessionsPatch   = "sessions.patch"
	MethodSessionsReset   = "sessions.reset"
	MethodSessionsPreview = "sessions.preview"
	MethodSessionsResolve = "sessions.resolve"
	MethodSessionsDelete  = "sessions.delete"
	MethodSessionsCompact = "sessions.compact"

	// Protocol 4 only.
	MethodSessionsDescribe    = "sessions.describe"
	MethodSessionsGet         = "sessions.get"
	MethodSessionsSubscribe   = "sessions.subscribe"
	MethodSessionsUnsubscribe = "sessions.unsubscribe"
	MethodMessagesSubscribe   = "sessions.messages.subscribe"
	MethodMessagesUnsubscribe = "sessions.messages.unsubscribe"
	MethodSessionsSend        = "sessions.send"
	MethodSessionsAbort       = "sessions.abort"
	MethodSessionsCreate      = "sessions.create"

	MethodModelsList      = "models.list"
	MethodAgentsList      = "agents.list"
	MethodAgentsFilesList = "agents.files.list"
	MethodAgentsFilesGet  = "agents.files.get"
	MethodAgentsFilesSet  = "agents.files.set"

	MethodConfigGet    = "config.get"
	MethodConfigSet    = "config.set"
	MethodConfigApply  = "config.apply"
	MethodConfigPatch  = "config.patch"
	MethodConfigSchema = "config.schema"

	MethodDevicePairList    = "device.pair.list"
	MethodDevicePairApprove = "device.pair.approve"
	MethodDevicePairReject  = "device.pair.reject"
	MethodDeviceTokenRotate = "device.token.rotate"
	MethodDeviceTokenRevoke = "device.token.revoke"
)

// NoParams are the params of methods that take none; every key is refused.
type NoParams struct{}

// AnyParams are the params of methods that ignore theirs, whatever they are.
type AnyParams struct {
	_ struct{} `schema:"any"`
}
