package byo

import "encoding/json"

// ReasoningInput is the opened content of a job ([ContentReasoningInput]). Its
// ResponseSchema wins over the one outside. Fields it does not know stay in the
// plaintext, which is what a model gets to read.
type ReasoningInput struct {
	SystemInstruction string          `json:"system_instruction,omitempty"`
	UserPrompt        string          `json:"user_prompt"`
	ResponseSchema    json.RawMessage `json:"response_schema,omitempty"`
	Model             string          `json:"model,omitempty"` // DuplexV2: the model, which the relay must not see
}

// ReasoningOutput is the opened answer to a job under [DuplexV2]
// ([ContentReasoningOutput]). Under [StaticV1] the plaintext is Result alone.
type ReasoningOutput struct {
	Result        json.RawMessage `json:"result"` // null when the job failed
	ProviderRunID string          `json:"provider_run_id,omitempty"`
	ModelRef      string          `json:"model_ref,omitempty"`
	Usage         *Usage          `json:"usage,omitempty"`
	ErrorMessage  string          `json:"error_message,omitempty"`
}

// Usage counts the tokens of an answer.
type Usage struct {
	InputTokens  int64 `json:"input_tokens"`
	OutputTokens int64 `json:"output_tokens"`
}

// Severities of a [Signal].
const (
	SeverityGreen  = "green"
	SeverityOrange = "orange"
	SeverityRed    = "red"
)

// LiveAnalysis is the answer to a [PurposeLiveAnalysis] job.
type LiveAnalysis struct {
	Signals        []Signal `json:"signals"`
	NoSignalReason string   `json:"no_signal_reason"`
}

// Signal is one thing worth knowing right now.
type Signal struct {
	Severity string `json:"severity" schema:"enum=green|orange|red"`
	Message  string `json:"message"`
}

// SessionSummary is the answer to a [PurposeSessionSummary] job.
type SessionSummary struct {
	Summary     string       `json:"summary"`
	KeyPoints   []string     `json:"key_points"`
	ActionItems []ActionItem `json:"action_items"`
	FollowUps   []string     `json:"follow_ups"`
}

// ActionItem is something somebody has to do.
type ActionItem struct {
	Text  string `json:"text"`
	Owner string `json:"owner,omitempty"`
	Due   string `json:"due,omitempty"`
}

const liveAnalysisSchema = `{"type":"object","additionalProperties":false,"required":["signals","no_signal_reason"],` +
	`"properties":{"signals":{"type":"array","items":{"type":"object","additionalProperties":false,` +
	`"required":["severity","message"],"properties":{"severity":{"type":"string","enum":["green","orange","red"]},` +
	`"message":{"type":"string"}}}},"no_signal_reason":{"type":"string"}}}`

const sessionSummarySchema = `{"type":"object","additionalProperties":false,` +
	`"required":["summary","key_points","action_items","follow_ups"],"properties":{"summary":{"type":"string"},` +
	`"key_points":{"type":"array","items":{"type":"string"}},"action_items":{"type":"array","items":{"type":"object",` +
	`"additionalProperties":false,"required":["text"],"properties":{"text":{"type":"string"},"owner":{"type":"string"},` +
	`"due":{"type":"string"}}}},"follow_ups":{"type":"array","items":{"type":"string"}}}}`

// ResponseSchema is the JSON Schema of the answer to a purpose, as a desktop
// sends it. A capability probe has a [Profile] and is described as such.
func ResponseSchema(purpose string) json.RawMessage {
	switch purpose {
	case PurposeLiveAnalysis:
		return json.RawMessage(liveAnalysisSchema)
	case PurposeSessionSummary:
		return json.RawMessage(sessionSummarySchema)
	case PurposeCapabilityProbe:
		return json.RawMessage(`{"type":"object","required":["raw_description"],"properties":{"raw_description":{"type":"string"}}}`)
	}
	return json.RawMessage(`{}`)
}
