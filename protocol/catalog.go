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
// first. Own additions are included.
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
	}
}

func agentMethods() []Method {
	return []Method{
		method(MethodModelsList, NoParams{}, ModelsListResult{}),
		method(MethodAgentsList, NoParams{}, AgentsListResult{}),
		method(MethodAgentsFilesList, AgentsFilesListParams{}, AgentsFilesListResult{}),
		method(MethodAgentsFilesGet, AgentsFilesGetParams{}, AgentsFilesGetResult{}),
		method(MethodAgentsFilesSet, AgentsFilesSetParams{}, AgentsFilesSetResult{}),
		method(MethodSkillsStatus, SkillsStatusParams{}, SkillsStatusResult{}),
		method(MethodSkillsBins, NoParams{}, SkillsBinsResult{}),
		method(MethodSkillsInstall, SkillsInstallParams{}, SkillsInstallResult{}),
		method(MethodSkillsUpdate, SkillsUpdateParams{}, SkillsUpdateResult{}),
	}
}

func adminMethods() []Method {
	return []Method{
		method(MethodConfigGet, NoParams{}, ConfigGetResult{}),
		method(MethodConfigSet, ConfigSetParams{}, ConfigSetResult{}),
		method(MethodConfigApply, ConfigApplyParams{}, ConfigChangeResult{}),
		method(MethodConfigPatch, ConfigPatchParams{}, ConfigChangeResult{}),
		method(MethodConfigSchema, NoParams{}, ConfigSchemaResult{}),
		method(MethodUpdateRun, UpdateRunParams{}, UpdateRunResult{}),
		method(MethodWizardStart, WizardStartParams{}, WizardStartResult{}),
		method(MethodWizardNext, WizardNextParams{}, WizardNextResult{}),
		method(MethodWizardCancel, WizardCancelParams{}, WizardStatusResult{}),
		method(MethodWizardStatus, WizardStatusParams{}, WizardStatusResult{}),
	}
}

func scheduleMethods() []Method {
	return []Method{
		method(MethodCronList, CronListParams{}, CronListResult{}),
		method(MethodCronStatus, NoParams{}, CronStatusResult{}),
		method(MethodCronAdd, CronAddParams{}, CronJob{}),
		method(MethodCronUpdate, CronUpdateParams{}, CronJob{}),
		method(MethodCronRemove, CronRemoveParams{}, CronRemoveResult{}),
		method(MethodCronRun, CronRunParams{}, CronRunResult{}),
		method(MethodCronRuns, CronRunsParams{}, CronRunsResult{}),
		method(MethodWake, WakeParams{}, OKResult{}),
	}
}

func approvalMethods() []Method {
	return []Method{
		method(MethodExecApprovalsGet, NoParams{}, ExecApprovalsResult{}),
		method(MethodExecApprovalsSet, ExecApprovalsSetParams{}, ExecApprovalsResult{}),
		method(MethodExecApprovalsNodeGet, ExecApprovalsNodeGetParams{}, json.RawMessage{}),
		method(MethodExecApprovalsNodeSet, ExecApprovalsNodeSetParams{}, json.RawMessage{}),
		method(MethodExecApprovalRequest, ExecApprovalRequestParams{}, ExecApprovalRequestResult{}),
		method(MethodExecApprovalResolve, ExecApprovalResolveParams{}, OKResult{}),
		method(MethodExecApprovalList, NoParams{}, []ApprovalRequestedEvent{}),
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
		method(MethodNodePairRequest, NodePairRequestParams{}, NodePairRequestResult{}),
		method(MethodNodePairList, NoParams{}, NodePairListResult{}),
		method(MethodNodePairApprove, NodePairApproveParams{}, NodePairApproveResult{}),
		method(MethodNodePairReject, NodePairRejectParams{}, NodePairRejectResult{}),
		method(MethodNodePairVerify, NodePairVerifyParams{}, NodePairVerifyResult{}),
		method(MethodNodeRename, NodeRenameParams{}, NodeRenameResult{}),
		method(MethodNodeList, NoParams{}, NodeListResult{}),
		method(MethodNodeDescribe, NodeDescribeParams{}, NodeDescribeResult{}),
		method(MethodNodeInvoke, NodeInvokeParams{}, NodeInvokeResult{}),
		method(MethodNodeInvokeResult, NodeInvokeResultParams{}, NodeInvokeResultResult{}),
		method(MethodNodeEvent, NodeEventParams{}, OKResult{}),
		method(MethodNodeCanvasRefresh, NoParams{}, NodeCanvasRefreshResult{}),
	}
}

func outboundMethods() []Method {
	return []Method{
		method(MethodSend, SendParams{}, SendResult{}),
		method(MethodPoll, PollParams{}, PollResult{}),
		method(MethodChannelsStatus, ChannelsStatusParams{}, ChannelsStatusResult{}),
		method(MethodChannelsLogout, ChannelsLogoutParams{}, ChannelsLogoutResult{}),
		method(MethodWebLoginStart, WebLoginStartParams{}, WebLoginStartResult{}),
		method(MethodWebLoginWait, WebLoginWaitParams{}, WebLoginWaitResult{}),
		method(MethodChannelsPairingList, ChannelsPairingListParams{}, ChannelsPairingListResult{}),
		method(MethodChannelsPairingApprove, ChannelsPairingApproveParams{}, ChannelsPairingApproveResult{}),
		method(MethodChannelsPairingReject, ChannelsPairingRejectParams{}, ChannelsPairingRejectResult{}),
	}
}

func voiceMethods() []Method {
	return []Method{
		method(MethodTTSStatus, AnyParams{}, TTSStatusResult{}),
		method(MethodTTSProviders, AnyParams{}, TTSProvidersResult{}),
		method(MethodTTSEnable, AnyParams{}, TTSEnabledResult{}),
		method(MethodTTSDisable, AnyParams{}, TTSEnabledResult{}),
		method(MethodTTSConvert, TTSConvertParams{}, TTSConvertResult{}),
		method(MethodTTSSetProvider, TTSSetProviderParams{}, TTSSetProviderResult{}),
		method(MethodVoiceWakeGet, AnyParams{}, VoiceWake{}),
		method(MethodVoiceWakeSet, VoiceWakeSetParams{}, VoiceWake{}),
		method(MethodTalkMode, TalkModeParams{}, TalkMode{}),
		method(MethodBrowserRequest, BrowserRequestParams{}, json.RawMessage{}),
	}
}

// EventInfo names an event and its payload by a zero value of it.
type EventInfo struct {
	Name    string
	Payload any
}

// Events lists every event in the order in which hello-ok advertises them. Own
// additions come last.
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
	}
}

//go:embed schema.json
var schemaJSON string

// SchemaJSON returns the protocol as a JSON Schema document of draft-07: a
// definition for every type, and under "methods" and "events" which of them
// belong to what.
func SchemaJSON() []byte { return []byte(schemaJSON) }
