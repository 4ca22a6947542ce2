package protocol

// Method names, by area. See docs/protocol.md#methods.
const (
	MethodConnect = "connect"

	MethodHealth         = "health"
	MethodStatus         = "status"
	MethodUsageStatus    = "usage.status"
	MethodUsageCost      = "usage.cost"
	MethodLogsTail       = "logs.tail"
	MethodSystemPresence = "system-presence"
	MethodSystemEvent    = "system-event"
	MethodLastHeartbeat  = "last-heartbeat"
	MethodSetHeartbeats  = "set-heartbeats"

	MethodAgent            = "agent"
	MethodAgentWait        = "agent.wait"
	MethodAgentIdentityGet = "agent.identity.get"

	MethodChatSend    = "chat.send"
	MethodChatHistory = "chat.history"
	MethodChatAbort   = "chat.abort"
	MethodChatInject  = "chat.inject"

	MethodSessionsList    = "sessions.list"
	MethodSessionsPreview = "sessions.preview"
	MethodSessionsResolve = "sessions.resolve"
	MethodSessionsPatch   = "sessions.patch"
	MethodSessionsReset   = "sessions.reset"
	MethodSessionsDelete  = "sessions.delete"
	MethodSessionsCompact = "sessions.compact"

	MethodModelsList      = "models.list"
	MethodAgentsList      = "agents.list"
	MethodAgentsFilesList = "agents.files.list"
	MethodAgentsFilesGet  = "agents.files.get"
	MethodAgentsFilesSet  = "agents.files.set"

	MethodSkillsStatus  = "skills.status"
	MethodSkillsBins    = "skills.bins"
	MethodSkillsInstall = "skills.install"
	MethodSkillsUpdate  = "skills.update"

	MethodConfigGet    = "config.get"
	MethodConfigSet    = "config.set"
	MethodConfigApply  = "config.apply"
	MethodConfigPatch  = "config.patch"
	MethodConfigSchema = "config.schema"
	MethodUpdateRun    = "update.run"

	MethodWizardStart  = "wizard.start"
	MethodWizardNext   = "wizard.next"
	MethodWizardCancel = "wizard.cancel"
	MethodWizardStatus = "wizard.status"

	MethodCronList   = "cron.list"
	MethodCronStatus = "cron.status"
	MethodCronAdd    = "cron.add"
	MethodCronUpdate = "cron.update"
	MethodCronRemove = "cron.remove"
	MethodCronRun    = "cron.run"
	MethodCronRuns   = "cron.runs"
	MethodWake       = "wake"

	MethodExecApprovalsGet     = "exec.approvals.get"
	MethodExecApprovalsSet     = "exec.approvals.set"
	MethodExecApprovalsNodeGet = "exec.approvals.node.get"
	MethodExecApprovalsNodeSet = "exec.approvals.node.set"
	MethodExecApprovalRequest  = "exec.approval.request"
	MethodExecApprovalResolve  = "exec.approval.resolve"

	MethodDevicePairList    = "device.pair.list"
	MethodDevicePairApprove = "device.pair.approve"
	MethodDevicePairReject  = "device.pair.reject"
	MethodDeviceTokenRotate = "device.token.rotate"
	MethodDeviceTokenRevoke = "device.token.revoke"

	MethodNodePairRequest  = "node.pair.request"
	MethodNodePairList     = "node.pair.list"
	MethodNodePairApprove  = "node.pair.approve"
	MethodNodePairReject   = "node.pair.reject"
	MethodNodePairVerify   = "node.pair.verify"
	MethodNodeRename       = "node.rename"
	MethodNodeList         = "node.list"
	MethodNodeDescribe     = "node.describe"
	MethodNodeInvoke       = "node.invoke"
	MethodNodeInvokeResult = "node.invoke.result"
	MethodNodeEvent        = "node.event"

	MethodSend           = "send"
	MethodPoll           = "poll"
	MethodChannelsStatus = "channels.status"
	MethodChannelsLogout = "channels.logout"
	MethodWebLoginStart  = "web.login.start"
	MethodWebLoginWait   = "web.login.wait"

	MethodTTSStatus      = "tts.status"
	MethodTTSProviders   = "tts.providers"
	MethodTTSEnable      = "tts.enable"
	MethodTTSDisable     = "tts.disable"
	MethodTTSConvert     = "tts.convert"
	MethodTTSSetProvider = "tts.setProvider"
	MethodVoiceWakeGet   = "voicewake.get"
	MethodVoiceWakeSet   = "voicewake.set"
	MethodTalkMode       = "talk.mode"
	MethodBrowserRequest = "browser.request"
)

// Methods of docs/protocol.md#own-additions, offered only where a connection
// asked for them.
const (
	MethodChannelsPairingList    = "channels.pairing.list"
	MethodChannelsPairingApprove = "channels.pairing.approve"
	MethodChannelsPairingReject  = "channels.pairing.reject"
	MethodExecApprovalList       = "exec.approval.list"
	MethodNodeCanvasRefresh      = "node.canvas.capability.refresh"
)

// NoParams are the params of methods that take none; every key is refused.
type NoParams struct{}

// AnyParams are the params of methods that ignore theirs, whatever they are.
type AnyParams struct {
	_ struct{} `schema:"any"`
}
