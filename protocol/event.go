package protocol

// Event names. See docs/protocol.md#events.
const (
	EventChallenge         = "connect.challenge"
	EventAgent             = "agent"
	EventChat              = "chat"
	EventPresence          = "presence"
	EventTick              = "tick"
	EventTalkMode          = "talk.mode"
	EventShutdown          = "shutdown"
	EventHealth            = "health"
	EventHeartbeat         = "heartbeat"
	EventCron              = "cron"
	EventNodePairRequested = "node.pair.requested"
	EventNodePairResolved  = "node.pair.resolved"
	EventNodeInvokeRequest = "node.invoke.request"
	EventPairRequested     = "device.pair.requested"
	EventPairResolved      = "device.pair.resolved"
	EventVoiceWakeChanged  = "voicewake.changed"
	EventApprovalRequested = "exec.approval.requested"
	EventApprovalResolved  = "exec.approval.resolved"
	// EventChatUser is sent only to connections of docs/protocol.md#own-additions.
	EventChatUser = "chat.user"
	// Subscribers on protocol 4 get these.
	EventSessionsChanged = "sessions.changed"
	EventSessionMessage  = "session.message"
)

// TickEvent is the payload of tick.
type TickEvent struct {
	Ts int64 `json:"ts" schema:"min=0"`
}

// ShutdownEvent is the payload of shutdown, sent before sockets close with
// CloseRestart. RestartExpectedMs is absent on a plain stop.
type ShutdownEvent struct {
	Reason            string `json:"reason" schema:"minLength=1"`
	RestartExpectedMs *int64 `json:"restartExpectedMs,omitempty" schema:"min=0"`
}

// Reasons of a shutdown event.
const (
	ShutdownStopping   = "gateway stopping"
	ShutdownRestarting = "gateway restarting"
)
