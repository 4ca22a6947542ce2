package byo

import "encoding/json"

// Types of the events on the stream to the assistant. A task has none.
const (
	EventReasoningJob          = "reasoning_job"           // Job or JobStub
	EventReasoningJobCancelled = "reasoning_job_cancelled" // JobCancelledEvent
	EventChatDispatched        = "chat_message_dispatched" // ChatDispatched
	EventChatFrame             = "chat_frame"              // Frame, also to the desktop
	EventPairingUpdate         = "pairing_update"          // PairingUpdate, also to the desktop
	EventBYOControl            = "byo_control"             // Frame, also to the desktop
	EventRevoked               = "revoked"                 // ControlEvent
	EventSuperseded            = "superseded"              // ControlEvent, to the older of two streams
)

// Types of the events on the stream to the desktop only.
const (
	EventReasoningJobResult = "reasoning_job_result" // JobResult
	EventIntegrationStatus  = "integration_status"   // IntegrationStatus
	EventChatMessage        = "chat_message"         // ChatMessage
	EventTaskUpdate         = "task_update"          // TaskUpdate
	EventIntegrationTest    = "integration_test"     // IntegrationTest
)

// EventType reads the type of a frame's data, "" of a task and of anything that
// has none.
func EventType(data []byte) string {
	var head struct {
		EventType string `json:"event_type"`
	}
	_ = json.Unmarshal(data, &head) // what is no object has no type
	return head.EventType
}

// ControlEvent is an event that says nothing but its type.
type ControlEvent struct {
	EventType string `json:"event_type"`
}

// PairingUpdate tells either side that a pairing went on.
type PairingUpdate struct {
	EventType     string `json:"event_type" schema:"const=pairing_update"`
	PairingID     string `json:"pairing_id,omitempty"` // to the desktop
	IntegrationID string `json:"integration_id,omitempty"`
	State         string `json:"state"`
}

// ControlFrame is the body of POST /integrations/{id}/control: a sealed
// [DuplexV2] message outside of jobs, for the other side. The relay forwards it
// as a [Frame]: content types chat_in and chat_out as chat_frame, all others as
// byo_control. A repeated FrameID is forwarded once.
type ControlFrame struct {
	FrameID  string   `json:"frame_id"`
	Envelope Envelope `json:"envelope"`
}

// Validate names the first field of f that is wrong.
func (f *ControlFrame) Validate() error {
	if err := CheckUUID("frame_id", f.FrameID); err != nil {
		return err
	}
	if f.Envelope.Version != DuplexV2 {
		return &FieldError{Field: "envelope", Problem: "must be of version duplex_v2"}
	}
	return f.Envelope.CheckShape()
}

// Event is the type under which the relay forwards f.
func (f *ControlFrame) Event() string {
	switch f.Envelope.ContentType {
	case ContentChatIn, ContentChatOut:
		return EventChatFrame
	}
	return EventBYOControl
}

// Frame is a forwarded [ControlFrame], or a chat message of the desktop that was
// posted to /chat/messages under [DuplexV2] (FrameID is its user_message_id then).
type Frame struct {
	EventType     string   `json:"event_type" schema:"enum=byo_control|chat_frame"`
	FrameID       string   `json:"frame_id"`
	IntegrationID string   `json:"integration_id,omitempty"` // to the desktop
	Envelope      Envelope `json:"envelope"`
}

// JobResult tells the desktop how a job ended.
type JobResult struct {
	EventType     string `json:"event_type" schema:"const=reasoning_job_result"`
	JobID         string `json:"job_id"`
	IntegrationID string `json:"integration_id"`
	Status        string `json:"status"`
	// Result is the completion as the assistant posted it, null without one.
	Result json.RawMessage `json:"result"`
}

// IntegrationStatus tells the desktop how its assistant is.
type IntegrationStatus struct {
	EventType     string `json:"event_type" schema:"const=integration_status"`
	IntegrationID string `json:"integration_id"`
	Liveness      string `json:"liveness"`
	Status        string `json:"status"`
	Connected     bool   `json:"connected"`
}
