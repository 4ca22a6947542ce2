package tool

import (
	"context"
	"encoding/json"

	"openclaw/internal/turn"
)

// Tool is something the model may call.
type Tool interface {
	Spec() Spec
	// Execute runs one call. A returned error becomes an error result that shows
	// its text to the model; it never ends the run. Execute returns soon after
	// ctx ends.
	Execute(ctx context.Context, call Call) (Result, error)
}

// Spec describes a tool to the model.
type Spec struct {
	Name        string
	Label       string // for people, such as "Read"
	Description string // for the model
	Summary     string // one line for the prompt's tool list
	// Parameters is a JSON Schema object (draft-07, no $schema key).
	Parameters json.RawMessage
}

// Call is one call of a tool.
type Call struct {
	ID   string
	Args json.RawMessage // validated against Spec.Parameters
	// Update streams partial output; never nil while a tool runs.
	Update func(Result)
}

// Result is what a tool answers.
type Result struct {
	Content turn.Content
	// Details is marshalled to JSON for the transcript and for events; nil for none.
	Details any
	// IsError marks a failure the tool wants to report with content of its own.
	IsError bool
}
