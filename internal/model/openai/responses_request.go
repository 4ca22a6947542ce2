package openai

import (
	"encoding/json"
	"strconv"
	"strings"

	"openclaw/internal/model"
	"openclaw/internal/turn"
)

// responsesRequest is the body of a Responses request. See agent-runtime 18.8.
type responsesRequest struct {
	Model                string          `json:"model"`
	Input                []any           `json:"input"`
	Stream               bool            `json:"stream"`
	PromptCacheKey       string          `json:"prompt_cache_key,omitempty"`
	PromptCacheRetention string          `json:"prompt_cache_retention,omitempty"`
	MaxOutputTokens      int             `json:"max_output_tokens,omitempty"`
	Temperature          *float64        `json:"temperature,omitempty"`
	Tools                []responsesTool `json:"tools,omitempty"`
	Reasoning            *reasoning      `json:"reasoning,omitempty"`
	Include              []string        `json:"include,omitempty"`
}

type reasoning struct {
	Effort  string `json:"effort"`
	Summary string `json:"summary"`
}

type responsesTool struct {
	Type        string          `json:"type"`
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters"`
	Strict      bool            `json:"strict"`
}

// inputMessage is a message of a person or of the developer; Content is a string
// or a list of inputPart.
type inputMessage struct {
	Role    string `json:"role"`
	Content any    `json:"content"`
}

type inputPart struct {
	Type     string `json:"type"`
	Text     string `json:"text,omitempty"`
	Detail   string `json:"detail,omitempty"`
	ImageURL string `json:"image_url,omitempty"`
}

type outputMessage struct {
	Type    string       `json:"type"`
	ID      string       `json:"id"`
	Role    string       `json:"role"`
	Status  string       `json:"status"`
	Content []outputPart `json:"content"`
}

type outputPart struct {
	Type        string `json:"type"`
	Text        string `json:"text"`
	Annotations []any  `json:"annotations"`
}

type functionCall struct {
	Type      string `json:"type"`
	ID        string `json:"id,omitempty"`
	CallID    string `json:"call_id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// functionOutput answers a call; Output is a string or a list of inputPart.
type functionOutput struct {
	Type   string `json:"type"`
	CallID string `json:"call_id"`
	Output any    `json:"output"`
}

func newResponsesRequest(t model.Target, req model.Request) responsesRequest {
	r := responsesRequest{Model: t.Info.Ref.ID, Stream: true, MaxOutputTokens: maxTokens(t, req), Temperature: req.Temperature}
	if req.CacheRetention != "none" {
		r.PromptCacheKey = shorten(req.SessionID, maxCacheKey)
	}
	if req.CacheRetention == "long" && strings.HasPrefix(t.BaseURL, "https://api.openai.com/") {
		r.PromptCacheRetention = "24h"
	}
	if thinks(t, req) {
		r.Reasoning = &reasoning{Effort: req.Think, Summary: "auto"}
		r.Include = []string{"reasoning.encrypted_content"}
	}
	for _, tool := range req.Tools {
		r.Tools = append(r.Tools, responsesTool{Type: "function", Name: tool.Name, Description: tool.Description, Parameters: tool.Parameters})
	}
	if req.System != "" {
		r.Input = append(r.Input, inputMessage{"developer", req.System})
	}
	for _, m := range model.Replay(t.Info, req.Messages) {
		switch m.Role {
		case turn.RoleUser:
			if parts := inputParts(t.Info, m.Content); len(parts) > 0 {
				r.Input = append(r.Input, inputMessage{"user", parts})
			}
		case turn.RoleAssistant:
			r.Input = append(r.Input, outputItems(t.Info, m, len(r.Input))...)
		case turn.RoleToolResult:
			r.Input = append(r.Input, outputOf(t.Info, m))
		}
	}
	return r
}

// Limits of the API on ids and keys.
const (
	maxCallID   = 64
	maxItemID   = 64
	maxCacheKey = 64
)

func inputParts(info model.Info, content turn.Content) []inputPart {
	parts := make([]inputPart, 0, len(content))
	for _, b := range content {
		switch {
		case b.Type == turn.BlockText:
			parts = append(parts, inputPart{Type: "input_text", Text: b.Text})
		case b.Type == turn.BlockImage && b.Data != "" && info.Images():
			parts = append(parts, inputPart{Type: "input_image", Detail: "auto", ImageURL: dataURL(b.MimeType, b.Data)})
		case b.Type == turn.BlockImage:
			parts = append(parts, inputPart{Type: "input_text", Text: omittedImage})
		}
	}
	return parts
}

// outputItems converts an answer to the items it was made of. Ids and reasoning
// go back only to the model that made them, and reasoning only in front of what
// it led to: the API refuses it alone. A message must have an id; at makes one
// up where it has none.
func outputItems(info model.Info, m turn.Message, at int) []any {
	same := model.SameSource(info, m) && m.Model == info.Ref.ID
	var items, held []any
	for _, b := range m.Content {
		switch b.Type {
		case turn.BlockThinking:
			if same && json.Valid([]byte(b.ThinkingSignature)) && strings.HasPrefix(b.ThinkingSignature, "{") {
				held = append(held, json.RawMessage(b.ThinkingSignature))
			}
			continue
		case turn.BlockText:
			msg := outputMessage{Type: "message", ID: "msg_" + strconv.Itoa(at+len(items)), Role: "assistant", Status: "completed", Content: []outputPart{{"output_text", b.Text, []any{}}}}
			if same && b.TextSignature != "" && len(b.TextSignature) <= maxItemID {
				msg.ID = b.TextSignature
			}
			items = append(append(items, held...), msg)
		case turn.BlockToolCall:
			callID, itemID, _ := strings.Cut(b.ID, "|")
			call := functionCall{Type: "function_call", CallID: shorten(callID, maxCallID), Name: b.Name, Arguments: arguments(b)}
			if same && len(itemID) <= maxItemID {
				call.ID = itemID
			}
			items = append(append(items, held...), call)
		}
		held = nil
	}
	return items
}

func outputOf(info model.Info, m turn.Message) functionOutput {
	callID, _, _ := strings.Cut(m.ToolCallID, "|")
	out := functionOutput{Type: "function_call_output", CallID: shorten(callID, maxCallID)}
	parts := inputParts(info, m.Content)
	var lines []string
	for _, p := range parts {
		if p.ImageURL != "" {
			out.Output = parts
			return out
		}
		lines = append(lines, p.Text)
	}
	out.Output = strings.Join(lines, "\n")
	return out
}
