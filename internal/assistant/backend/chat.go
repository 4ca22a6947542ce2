package backend

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"openclaw/internal/assistant"
	"openclaw/internal/sse"
)

// chatAPI speaks Chat Completions.
type chatAPI struct{ Endpoint }

// NewChat returns a server that speaks Chat Completions, as Ollama, llama.cpp, vLLM and
// the API server of Hermes Agent do.
func NewChat(e Endpoint) API { return &chatAPI{e} }

type chatMessage struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

type chatRequest struct {
	Model         string        `json:"model,omitempty"`
	Messages      []chatMessage `json:"messages"`
	MaxTokens     int           `json:"max_tokens,omitempty"`
	Stream        bool          `json:"stream"`
	StreamOptions *struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
}

type chatChunk struct {
	ID      string `json:"id"`
	Model   string `json:"model"`
	Choices []struct {
		Delta struct {
			Content string `json:"content"`
		} `json:"delta"`
		FinishReason string `json:"finish_reason"`
	} `json:"choices"`
	Usage *struct {
		In  int64 `json:"prompt_tokens"`
		Out int64 `json:"completion_tokens"`
	} `json:"usage"`
	Error json.RawMessage `json:"error"`
}

// complete implements API.
func (c *chatAPI) complete(ctx context.Context, ask *request, delta func(string)) (assistant.Answer, error) {
	body := chatRequest{Model: ask.Model, MaxTokens: ask.MaxTokens, Stream: true, StreamOptions: &struct {
		IncludeUsage bool `json:"include_usage"`
	}{true}}
	if ask.System != "" {
		body.Messages = append(body.Messages, chatMessage{"system", ask.System})
	}
	for _, m := range alternating(ask.Talk) {
		body.Messages = append(body.Messages, chatMessage{m.Role, m.Text})
	}
	var (
		answer assistant.Answer
		text   strings.Builder
		ended  bool
	)
	err := c.post(ctx, "/chat/completions", body, func(ev sse.Event) (bool, error) {
		if string(ev.Data) == "[DONE]" {
			return true, nil
		}
		var chunk chatChunk
		if err := json.Unmarshal(ev.Data, &chunk); err != nil {
			return false, fmt.Errorf("read the model's answer: %w", err)
		}
		if len(chunk.Error) > 0 && string(chunk.Error) != "null" {
			return false, &statusError{status: 502, text: problem(ev.Data)}
		}
		answer.RunID, answer.ModelRef = chunk.ID, chunk.Model
		if chunk.Usage != nil {
			answer.Usage = usage(chunk.Usage.In, chunk.Usage.Out)
		}
		for _, choice := range chunk.Choices {
			if choice.Delta.Content != "" {
				text.WriteString(choice.Delta.Content)
				delta(choice.Delta.Content)
			}
			ended = ended || choice.FinishReason != ""
		}
		return false, nil
	})
	if err != nil && ended && ctx.Err() == nil {
		err = nil // some servers leave the last word out
	}
	answer.Text = text.String()
	return answer, err
}
