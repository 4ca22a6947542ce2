package relay

import "openclaw/byo"

// api is the whole API below byo.BasePath. See docs/relay.md#endpoints.
var api = []route{
	{"POST /desktops", nobody, byo.MaxSmallBody, (*call).register},
	{"POST /pair/start", byDesktop, byo.MaxSmallBody, (*call).pairStart},
	{"POST /pair/complete", nobody, byo.MaxSmallBody, (*call).pairComplete},
	{"GET /pair/{id}", byDesktop, byo.MaxSmallBody, (*call).pairState},
	{"POST /pair/{id}/reveal", byDesktop, byo.MaxSmallBody, (*call).pairReveal},
	{"POST /pair/{id}/approve", byDesktop, byo.MaxSmallBody, (*call).pairApprove},
	{"POST /pair/{id}/reject", byDesktop, byo.MaxSmallBody, (*call).pairReject},
	{"GET /integrations/{id}/pairing", byAssistant, byo.MaxSmallBody, (*call).pairProgress},
	{"POST /integrations/{id}/pairing/nonce", byAssistant, byo.MaxSmallBody, (*call).pairNonce},
	{"POST /integrations/{id}/pairing/confirm", byAssistant, byo.MaxSmallBody, (*call).pairConfirm},

	{"GET /integrations", byDesktop, byo.MaxSmallBody, (*call).integrations},
	{"GET /integrations/{id}", byDesktop, byo.MaxSmallBody, (*call).integration},
	{"DELETE /integrations/{id}", byEither, byo.MaxSmallBody, (*call).revoke},
	{"POST /integrations/{id}/token/rotate", byAssistant, byo.MaxSmallBody, (*call).rotate},
	{"GET /integrations/{id}/stream", byAssistant, byo.MaxSmallBody, (*call).assistantStream},
	{"POST /integrations/{id}/heartbeat", byAssistant, byo.MaxSmallBody, (*call).heartbeat},
	{"POST /integrations/{id}/control", byEither, byo.MaxControlBody, (*call).control},
	{"GET /desktop/stream", byDesktop, byo.MaxSmallBody, (*call).desktopStream},
	{"GET /providers", nobody, byo.MaxSmallBody, (*call).providers},

	{"POST /integrations/{id}/reasoning-jobs", byDesktop, byo.MaxJobBody, (*call).createJob},
	{"GET /reasoning-jobs/{job}", byEither, byo.MaxSmallBody, (*call).getJob},
	{"POST /reasoning-jobs/{job}/ack", byAssistant, byo.MaxSmallBody, (*call).ackJob},
	{"POST /reasoning-jobs/{job}/complete", byAssistant, byo.MaxCompletionBody, (*call).completeJob},
	{"DELETE /reasoning-jobs/{job}", byDesktop, byo.MaxSmallBody, (*call).deleteJob},

	{"POST /integrations/{id}/test", byDesktop, byo.MaxSmallBody, (*call).startTest},
	{"POST /integrations/{id}/test-reply", byAssistant, byo.MaxSmallBody, (*call).testReply},
	{"POST /integrations/{id}/tasks", byDesktop, byo.MaxJobBody, (*call).postTask},
	{"POST /tasks/{task}/status", byAssistant, byo.MaxSmallBody, (*call).taskStatus},
	{"POST /tasks/{task}/reply", byAssistant, byo.MaxControlBody, (*call).taskReply},
	{"POST /integrations/{id}/chat/messages", byDesktop, byo.MaxControlBody, (*call).postChat},
	{"GET /integrations/{id}/chat/messages", byDesktop, byo.MaxSmallBody, (*call).chatMessages},
	{"POST /chat/messages/{message}/reply", byAssistant, byo.MaxControlBody, (*call).chatReply},
	{"POST /chat/messages/{message}/reply/start", byAssistant, byo.MaxSmallBody, (*call).streamedReply},
	{"POST /chat/messages/{message}/reply/{reply}/delta", byAssistant, byo.MaxControlBody, (*call).streamedReply},
	{"POST /chat/messages/{message}/reply/{reply}/complete", byAssistant, byo.MaxControlBody, (*call).streamedReply},
}
