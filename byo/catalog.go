package byo

import (
	_ "embed"
	"encoding/json"
)

// Who may call an operation.
const (
	AuthNone    = "none"
	AuthDesktop = "desktop" // desktop token
	AuthPlugin  = "plugin"  // relay token
	AuthEither  = "either"
	AuthInvite  = "invite" // an invite in the body, or nothing on a relay that is open
	AuthCode    = "code"   // the pairing code in the body
)

// Operation is one call of the relay API, its path below [BasePath], and its
// bodies by zero values; nil is no body.
type Operation struct {
	Method string
	Path   string
	Auth   string
	Body   any
	Answer any
	Status int // of success; a repeat of what was accepted with 202 has 200
}

// Operations lists the relay API. See docs/byo.md#relay-api.
func Operations() []Operation {
	return append(pairOperations(), append(jobOperations(), chatOperations()...)...)
}

func pairOperations() []Operation {
	return []Operation{
		{"POST", "/desktops", AuthInvite, DesktopRegister{}, DesktopRegistered{}, 201},
		{"POST", "/pair/start", AuthDesktop, PairStart{}, PairStarted{}, 201},
		{"POST", "/pair/complete", AuthCode, PairComplete{}, PairCompleted{}, 200},
		{"GET", "/pair/{pairing_id}", AuthDesktop, nil, PairState{}, 200},
		{"POST", "/pair/{pairing_id}/reveal", AuthDesktop, PairReveal{}, nil, 204},
		{"POST", "/pair/{pairing_id}/approve", AuthDesktop, nil, nil, 204},
		{"POST", "/pair/{pairing_id}/reject", AuthDesktop, nil, nil, 204},
		{"GET", "/integrations/{id}/pairing", AuthPlugin, nil, PairProgress{}, 200},
		{"POST", "/integrations/{id}/pairing/nonce", AuthPlugin, PairNonce{}, nil, 204},
		{"POST", "/integrations/{id}/pairing/confirm", AuthPlugin, PairConfirm{}, nil, 204},
		{"GET", "/integrations", AuthDesktop, nil, Integrations{}, 200},
		{"GET", "/integrations/{id}", AuthDesktop, nil, Integration{}, 200},
		{"DELETE", "/integrations/{id}", AuthEither, nil, nil, 204},
		{"POST", "/integrations/{id}/token/rotate", AuthPlugin, nil, TokenRotated{}, 200},
		{"GET", "/providers", AuthNone, nil, Providers{}, 200},
	}
}

func jobOperations() []Operation {
	return []Operation{
		{"GET", "/integrations/{id}/stream", AuthPlugin, nil, nil, 200},
		{"GET", "/desktop/stream", AuthDesktop, nil, nil, 200},
		{"POST", "/integrations/{id}/heartbeat", AuthPlugin, Heartbeat{}, HeartbeatAnswer{}, 200},
		{"POST", "/integrations/{id}/control", AuthEither, ControlFrame{}, nil, 202},
		{"POST", "/integrations/{id}/reasoning-jobs", AuthDesktop, JobRequest{}, JobAccepted{}, 202},
		{"GET", "/reasoning-jobs/{job_id}", AuthPlugin, nil, Job{}, 200},
		{"GET", "/reasoning-jobs/{job_id}", AuthDesktop, nil, JobState{}, 200},
		{"POST", "/reasoning-jobs/{job_id}/ack", AuthPlugin, JobAck{}, nil, 204},
		{"POST", "/reasoning-jobs/{job_id}/complete", AuthPlugin, Completion{}, CompletionAnswer{}, 200},
		{"DELETE", "/reasoning-jobs/{job_id}", AuthDesktop, nil, nil, 204},
	}
}

// chatOperations are for peers under StaticV1; a reply that streams in clear is
// refused on a sealed integration.
func chatOperations() []Operation {
	return []Operation{
		{"POST", "/integrations/{id}/test", AuthDesktop, nil, TestStarted{}, 202},
		{"POST", "/integrations/{id}/test-reply", AuthPlugin, TestReply{}, CompletionAnswer{}, 200},
		{"POST", "/integrations/{id}/tasks", AuthDesktop, Task{}, TaskStatus{}, 202},
		{"POST", "/tasks/{id}/status", AuthPlugin, TaskStatus{}, CompletionAnswer{}, 200},
		{"POST", "/tasks/{id}/reply", AuthPlugin, TaskReply{}, CompletionAnswer{}, 200},
		{"POST", "/integrations/{id}/chat/messages", AuthDesktop, ChatPost{}, ChatAccepted{}, 202},
		{"GET", "/integrations/{id}/chat/messages", AuthDesktop, nil, ChatMessages{}, 200},
		{"POST", "/chat/messages/{user_message_id}/reply", AuthPlugin, ChatReply{}, CompletionAnswer{}, 200},
		{"POST", "/chat/messages/{user_message_id}/reply/start", AuthPlugin, nil, ChatReplyStarted{}, 200},
		{"POST", "/chat/messages/{user_message_id}/reply/{id}/delta", AuthPlugin, ChatReplyDelta{}, CompletionAnswer{}, 200},
		{"POST", "/chat/messages/{user_message_id}/reply/{id}/complete", AuthPlugin, ChatReply{}, CompletionAnswer{}, 200},
	}
}

// StreamEvent names an event of a relay stream and its data by zero values.
type StreamEvent struct {
	Type      string // "" of a task
	Assistant bool   // on the stream to the assistant
	Desktop   bool   // on the stream to the desktop
	Data      any
}

// StreamEvents lists the events of both streams. See docs/byo.md#streams.
func StreamEvents() []StreamEvent {
	return []StreamEvent{
		{EventReasoningJob, true, false, Job{}},
		{EventReasoningJobCancelled, true, false, JobCancelledEvent{}},
		{EventChatDispatched, true, false, ChatDispatched{}},
		{"", true, false, Task{}},
		{EventRevoked, true, false, ControlEvent{}},
		{EventSuperseded, true, false, ControlEvent{}},
		{EventPairingUpdate, true, true, PairingUpdate{}},
		{EventBYOControl, true, true, Frame{}},
		{EventChatFrame, true, true, Frame{}},
		{EventReasoningJobResult, false, true, JobResult{}},
		{EventIntegrationStatus, false, true, IntegrationStatus{}},
		{EventChatMessage, false, true, ChatMessage{}},
		{EventTaskUpdate, false, true, TaskUpdate{}},
		{EventIntegrationTest, false, true, IntegrationTest{}},
	}
}

// others are the types that are no body of the relay API.
func others() []any {
	return []any{ErrorBody{}, JobStub{}, Envelope{}, sealed{}, sealedOutput{}, ReasoningInput{}, ReasoningOutput{},
		LiveAnalysis{}, SessionSummary{}, Profile{}, DirectCode{}, RelayCode{},
		Incoming{}, IncomingAnswer{}, ListenerError{}, PingAnswer{}, Callback{}, CallbackAnswer{}}
}

//go:embed schema.json
var schemaJSON string

// SchemaJSON returns the wire as a JSON Schema document of draft-07: a definition
// for every type, and under "operations" and "events" which of them belong to what.
func SchemaJSON() json.RawMessage { return json.RawMessage(schemaJSON) }
