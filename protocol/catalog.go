package protocol

import (
	_ "embed"
	"encoding/json"
	"slices"
)

// Method names a method and its types by zero values of them.
type Method struct {
	Name   string
	Params any
	// Results are the payloads it may answer with, in order where there are two.
	Results []any
}

// Methods lists every method of the protocol with its types, the handshake
// first, own additions included. A gateway offers some of them; hello-ok says
// which.
func Methods() []Method {
	return slices.Concat(
		runMethods(), sessionMethods(), agentMethods(), adminMethods(), scheduleMethods(),
		approvalMethods(), deviceMethods(), nodeMethods(), outboundMethods(), voiceMethods(),
	)
}

func method(name string, params any, results ...any) Method { return Method{name, params, results} }

func runMethods() []Method {
	return []Method{
		method(MethodConnect, ConnectParams{}, HelloOK{}),
		method(MethodHealth, HealthParams{}, HealthResult{}),
		method(MethodStatus, AnyParams{}, StatusResult{}),
		method(MethodUsageStatus, AnyParams{}, UsageStatusResult{}),
		method(MethodUsageCost, UsageCostParams{}, UsageCostResult{}),
		method(MethodLogsTail, LogsTailParams{}, LogsTailResult{}),
		method(MethodSystemPresence, AnyParams{}, []PresenceEntry{}),
		method(MethodSystemEvent, SystemEventParams{}, OKResult{}),
		method(MethodLastHeartbeat, AnyParams{}, HeartbeatEvent{}, json.RawMessage{}),
		method(MethodSetHeartbeats, SetHeartbeatsParams{}, SetHeartbeatsResult{}),
		method(MethodAgent, AgentParams{}, AgentAccepted{}, AgentResult{}),
		method(MethodAgentWait, AgentWaitParams{}, AgentWaitResult{}),
		method(MethodAgentIdentityGet, AgentIdentityGetParams{}, AgentIdentityGetResult{}),
		method(MethodChatSend, ChatSendParams{}, ChatSendResult{}, ChatAbortResult{}),
		method(MethodChatHistory, ChatHistoryParams{}, ChatHistoryResult{}),
		method(MethodChatAbort, ChatAbortParams{}, ChatAbortResult{}),
		method(MethodChatInject, ChatInjectParams{}, ChatInjectResult{}),
	}
}

func sessionMethods() []Method {
	return []Method{
		method(MethodSessionsList, SessionsListParams{}, SessionsListResult{}),
		method(MethodSessionsPreview, SessionsPreviewParams{}, SessionsPreviewResult{}),
		method(MethodSessionsResolve, SessionsResolveParams{}, SessionsResolveResult{}),
		method(MethodSessionsPatch, SessionsPatchParams{}, SessionsPatchResult{}),
		method(MethodSessionsReset, SessionsResetParams{}, SessionsResetResult{}),
		method(MethodSessionsDelete, SessionsDeleteParams{}, SessionsDeleteResult{}),
		method(MethodSessionsCompact, SessionsCompactParams{}, SessionsCompactResult{}),
		method(MethodSessionsDescribe, SessionsDescribeParams{}, SessionsDescribeResult{}),
		method(MethodSessionsSubscribe, SessionsListParams{}, SessionsSubscribeResult{}),
		method(MethodSessionsUnsubscribe, NoParams{}, SessionsSubscribeResult{}),
		method(MethodMessagesSubscribe, SessionsMessagesParams{}, SessionsMessagesResult{}),
		method(MethodMessagesUnsubscribe, SessionsMessagesParams{}, SessionsMessagesResult{}),
		method(MethodSessionsSend, SessionsSendParams{}, ChatSendResult{}, ChatAbortResult{}),
		method(MethodSessionsAbort, SessionsAbortParams{}, SessionsAbortResult{}),
		method(MethodSessionsCreate, SessionsCreateParams{}, SessionsCreateResult{}),
		method(MethodSessionsGet, SessionsGetParams{}, SessionsGetResult{}),
	}
}

func agentMethods() []Method {
	return []Method{
		method(MethodModelsList, NoParams{}, ModelsListResult{}),
		method(MethodAgentsList, NoParams{}, AgentsListResult{}),
		method(MethodAgentsFilesList, AgentsFilesListParams{}, AgentsFilesListResult{}),
		method(MethodAgentsFilesGet, AgentsFilesGetParams{}, AgentsFilesGetResult{}),
		method(MethodAgentsFilesSet, AgentsFilesSetParams{}, AgentsFilesSetResult{}),
		method("skills.status", SkillsStatusParams{}, SkillsStatusResult{}),
		method("skills.bins", NoParams{}, SkillsBinsResult{}),
		method("skills.install", SkillsInstallParams{}, SkillsInstallResult{}),
		method("skills.update", SkillsUpdateParams{}, SkillsUpdateResult{}),
	}
}

func adminMethods() []Method {
	return []Method{
		method(MethodConfigGet, NoParams{}, ConfigGetResult{}),
		method(MethodConfigSet, ConfigSetParams{}, ConfigSetResult{}),
		method(MethodConfigApply, ConfigApplyParams{}, ConfigChangeResult{}),
		method(MethodConfigPatch, ConfigPatchParams{}, ConfigChangeResult{}),
		method(MethodConfigSchema, NoParams{}, ConfigSchemaResult{}),
		method("update.run", UpdateRunParams{}, UpdateRunResult{}),
		method("wizard.start", WizardStartParams{}, WizardStartResult{}),
		method("wizard.next", WizardNextParams{}, WizardNextResult{}),
		method("wizard.cancel", WizardCancelParams{}, WizardStatusResult{}),
		method("wizard.status", WizardStatusParams{}, WizardStatusResult{}),
	}
}

func scheduleMethods() []Method {
	return []Method{
		method("cron.list", CronListParams{}, CronListResult{}),
		method("cron.status", NoParams{}, CronStatusResult{}),
		method("cron.add", CronAddParams{}, CronJob{}),
		method("cron.update", CronUpdateParams{}, CronJob{}),
		method("cron.remove", CronRemoveParams{}, CronRemoveResult{}),
		method("cron.run", CronRunParams{}, CronRunResult{}),
		method("cron.runs", CronRunsParams{}, CronRunsResult{}),
		method(MethodWake, WakeParams{}, OKResult{}),
	}
}

func approvalMethods() []Method {
	return []Method{
		method("exec.approvals.get", NoParams{}, ExecApprovalsResult{}),
		method("exec.approvals.set", ExecApprovalsSetParams{}, ExecApprovalsResult{}),
		method("exec.approvals.node.get", ExecApprovalsNodeGetParams{}, json.RawMessage{}),
		method("exec.approvals.node.set", ExecApprovalsNodeSetParams{}, json.RawMessage{}),
		method("exec.approval.request", ExecApprovalRequestParams{}, ExecApprovalRequestResult{}),
		method("exec.approval.resolve", ExecApprovalResolveParams{}, OKResult{}),
		method("exec.approval.list", NoParams{}, []ApprovalRequestedEvent{}),
	}
}

func deviceMethods() []Method {
	return []Method{
		method(MethodDevicePairList, NoParams{}, DevicePairListResult{}),
		method(MethodDevicePairApprove, DevicePairApproveParams{}, DevicePairApproveResult{}),
		method(MethodDevicePairReject, DevicePairRejectParams{}, DevicePairRejectResult{}),
		method(MethodDeviceTokenRotate, DeviceTokenRotateParams{}, DeviceTokenRotateResult{}),
		method(MethodDeviceTokenRevoke, DeviceTokenRevokeParams{}, DeviceTokenRevokeResult{}),
	}
}

func nodeMethods() []Method {
	return []Method{
		method("node.pair.request", NodePairRequestParams{}, NodePairRequestResult{}),
		method("node.pair.list", NoParams{}, NodePairListResult{}),
		method("node.pair.approve", NodePairApproveParams{}, NodePairApproveResult{}),
		method("node.pair.reject", NodePairRejectParams{}, NodePairRejectResult{}),
		method("node.pair.verify", NodePairVerifyParams{}, NodePairVerifyResult{}),
		method("node.rename", NodeRenameParams{}, NodeRenameResult{}),
		method("node.list", NoParams{}, NodeListResult{}),
		method("node.describe", NodeDescribeParams{}, NodeDescribeResult{}),
		method("node.invoke", NodeInvokeParams{}, NodeInvokeResult{}),
		method("node.invoke.result", NodeInvokeResultParams{}, NodeInvokeResultResult{}),
		method("node.event", NodeEventParams{}, OKResult{}),
		method("node.canvas.capability.refresh", NoParams{}, NodeCanvasRefreshResult{}),
	}
}

func outboundMethods() []Method {
	return []Method{
		method("send", SendParams{}, SendResult{}),
		method("poll", PollParams{}, PollResult{}),
		method("channels.status", ChannelsStatusParams{}, ChannelsStatusResult{}),
		method("channels.logout", ChannelsLogoutParams{}, ChannelsLogoutResult{}),
		method("web.login.start", WebLoginStartParams{}, WebLoginStartResult{}),
		method("web.login.wait", WebLoginWaitParams{}, WebLoginWaitResult{}),
		method("channels.pairing.list", ChannelsPairingListParams{}, ChannelsPairingListResult{}),
		method("channels.pairing.approve", ChannelsPairingApproveParams{}, ChannelsPairingApproveResult{}),
		method("channels.pairing.reject", ChannelsPairingRejectParams{}, ChannelsPairingRejectResult{}),
	}
}

func voiceMethods() []Method {
	return []Method{
		method("tts.status", AnyParams{}, TTSStatusResult{}),
		method("tts.providers", AnyParams{}, TTSProvidersResult{}),
		method("tts.enable", AnyParams{}, TTSEnabledResult{}),
		method("tts.disable", AnyParams{}, TTSEnabledResult{}),
		method("tts.convert", TTSConvertParams{}, TTSConvertResult{}),
		method("tts.setProvider", TTSSetProviderParams{}, TTSSetProviderResult{}),
		method("voicewake.get", AnyParams{}, VoiceWake{}),
		method("voicewake.set", VoiceWakeSetParams{}, VoiceWake{}),
		method("talk.mode", TalkModeParams{}, TalkMode{}),
		method("browser.request", BrowserRequestParams{}, json.RawMessage{}),
	}
}

// EventInfo names an event and its payload by a zero value of it.
type EventInfo struct {
	Name    string
	Payload any
}

// Events lists every event in the order in which hello-ok advertises them. Own
// additions and those of protocol 4 come last.
func Events() []EventInfo {
	return []EventInfo{
		{EventChallenge, ChallengeEvent{}},
		{EventAgent, AgentEvent{}},
		{EventChat, ChatEvent{}},
		{EventPresence, PresenceEvent{}},
		{EventTick, TickEvent{}},
		{EventTalkMode, TalkMode{}},
		{EventShutdown, ShutdownEvent{}},
		{EventHealth, HealthResult{}},
		{EventHeartbeat, HeartbeatEvent{}},
		{EventCron, CronEvent{}},
		{EventNodePairRequested, PendingNode{}},
		{EventNodePairResolved, NodePairResolvedEvent{}},
		{EventNodeInvokeRequest, NodeInvokeRequestEvent{}},
		{EventPairRequested, PendingDevice{}},
		{EventPairResolved, PairResolvedEvent{}},
		{EventVoiceWakeChanged, VoiceWake{}},
		{EventApprovalRequested, ApprovalRequestedEvent{}},
		{EventApprovalResolved, ApprovalResolvedEvent{}},
		{EventChatUser, ChatUserEvent{}},
		{EventSessionsChanged, SessionsChangedEvent{}},
		{EventSessionMessage, SessionMessageEvent{}},
	}
}

//go:embed schema.json
var schemaJSON string

// SchemaJSON returns the protocol as a JSON Schema document of draft-07: a
// definition for every type, and under "methods" and "events" which of them
// belong to what.
func SchemaJSON() []byte { return []byte(schemaJSON) }
