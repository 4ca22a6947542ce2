package backend

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"openclaw/internal/assistant"
	"openclaw/internal/sse"
)

// responsesAPI speaks Responses.
type responsesAPI struct{ Endpoint }

// NewResponses returns a server that speaks Responses. Nothing is stored there: the
// whole conversation goes along each time.
func NewResponses(e Endpoint) API { return &responsesAPI{e} }

type responsesRequest struct {
	Model           string        `json:"model,omitempty"`
	Instructions    string        `json:"instructions,omitempty"`
	Input           []chatMessage `json:"input"`
	MaxOutputTokens int           `json:"max_output_tokens,omitempty"`
	Stream          bool          `json:"stream"`
	Store           bool          `json:"store"`
}

type responsesEvent struct {
	Type     string `json:"type"`
	Delta    string `json:"delta"`
	Message  string `json:"message"` // of an error event
	Response struct {
		ID    string          `json:"id"`
		Model string          `json:"model"`
		Error json.RawMessage `json:"error"`
		Usage struct {
			In  int64 `json:"input_tokens"`
			Out int64 `json:"output_tokens"`
		} `json:"usage"`
	} `json:"response"`
}

// complete implements API.
func (r *responsesAPI) complete(ctx context.Context, ask *request, delta func(string)) (assistant.Answer, error) {
	body := responsesRequest{Model: ask.Model, Instructions: ask.System, MaxOutputTokens: ask.MaxTokens, Stream: true}
	for _, m := range alternating(ask.Talk) {
		body.Input = append(body.Input, chatMessage{m.Role, m.Text})
	}
	var (
		answer assistant.Answer
		text   strings.Builder
	)
	err := r.post(ctx, "/responses", body, func(ev sse.Event) (bool, error) {
		if string(ev.Data) == "[DONE]" {
			return true, nil
		}
		var e responsesEvent
		if err := json.Unmarshal(ev.Data, &e); err != nil {
			return false, fmt.Errorf("read the model's answer: %w", err)
		}
		switch e.Type {
		case "response.output_text.delta":
			text.WriteString(e.Delta)
			delta(e.Delta)
		case "response.completed", "response.incomplete":
			answer.RunID, answer.ModelRef = e.Response.ID, e.Response.Model
			answer.Usage = usage(e.Response.Usage.In, e.Response.Usage.Out)
			return true, nil
		case "response.failed":
			return false, &statusError{status: 502, text: problem([]byte(`{"error":` + string(orNull(e.Response.Error)) + `}`))}
		case "error":
			return false, &statusError{status: 502, text: problem(ev.Data)}
		}
		return false, nil
	})
	answer.Text = text.String()
	return answer, err
}

func orNull(data json.RawMessage) json.RawMessage {
	if len(data) == 0 {
		return json.RawMessage("null")
	}
	return data
}
