package protocol

import "encoding/json"

// WizardStartParams starts the setup wizard.
type WizardStartParams struct {
	Mode      string `json:"mode,omitempty" schema:"enum=local|remote"`
	Workspace string `json:"workspace,omitempty"`
}

// WizardStartResult is the first step.
type WizardStartResult struct {
	SessionID string `json:"sessionId"`
	WizardNextResult
}

// WizardNextParams answers the current step; without an answer it repeats it.
type WizardNextParams struct {
	SessionID string        `json:"sessionId" schema:"minLength=1"`
	Answer    *WizardAnswer `json:"answer,omitempty"`
}

// WizardAnswer is the answer to a step.
type WizardAnswer struct {
	StepID string          `json:"stepId" schema:"minLength=1"`
	Value  json.RawMessage `json:"value,omitempty"`
}

// WizardNextResult is the next step, or the end.
type WizardNextResult struct {
	Done   bool        `json:"done"`
	Step   *WizardStep `json:"step,omitempty"`
	Status string      `json:"status,omitempty" schema:"enum=running|done|cancelled|error"`
	Error  string      `json:"error,omitempty"`
}

// WizardStep is something to show or to ask.
type WizardStep struct {
	ID           string          `json:"id"`
	Type         string          `json:"type" schema:"enum=note|select|text|confirm|multiselect|progress|action"`
	Title        string          `json:"title,omitempty"`
	Message      string          `json:"message,omitempty"`
	Options      []WizardOption  `json:"options,omitempty"`
	InitialValue json.RawMessage `json:"initialValue,omitempty"`
	Placeholder  string          `json:"placeholder,omitempty"`
	Sensitive    bool            `json:"sensitive,omitempty"`
	Executor     string          `json:"executor,omitempty" schema:"enum=gateway|client"`
}

// WizardOption is one choice of a step.
type WizardOption struct {
	Value json.RawMessage `json:"value"`
	Label string          `json:"label"`
	Hint  string          `json:"hint,omitempty"`
}

// WizardCancelParams ends a wizard.
type WizardCancelParams struct {
	SessionID string `json:"sessionId" schema:"minLength=1"`
}

// WizardStatusParams asks how a wizard stands.
type WizardStatusParams struct {
	SessionID string `json:"sessionId" schema:"minLength=1"`
}

// WizardStatusResult is how a wizard stands.
type WizardStatusResult struct {
	Status string `json:"status" schema:"enum=running|done|cancelled|error"`
	Error  string `json:"error,omitempty"`
}
