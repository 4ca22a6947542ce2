package openai

import (
	"encoding/json"
	"strings"

	"openclaw/internal/model"
	"openclaw/internal/turn"
)

// chatRequest is the body of a Chat Completions request. See agent-runtime 18.8.
type chatRequest struct {
	Model               string         `json:"model"`
	Messages            []chatMessage  `json:"messages"`
	Stream              bool           `json:"stream"`
	StreamOptions       *streamOptions `json:"stream_options,omitempty"`
	Store               *bool          `json:"store,omitempty"`
	MaxCompletionTokens int            `json:"max_completion_tokens,omitempty"`
	MaxTokens           int            `json:"max_tokens,omitempty"`
	Temperature         *float64       `json:"temperature,omitempty"`
	Tools               []chatTool     `json:"tools,omitempty"`
	ReasoningEffort     string         `json:"reasoning_effort,omitempty"`
	Thinking            *typed         `json:"thinking,omitempty"`
}

type streamOptions struct {
	IncludeUsage bool `json:"include_usage"`
}

type typed struct {
	Type string `json:"type"`
}

// chatMessage is a message; Content is nil, a string or a list of chatPart.
type chatMessage struct {
	Role             string     `json:"role"`
	Content          any        `json:"content"`
	ReasoningContent string     `json:"reasoning_content,omitempty"`
	Reasoning        string     `json:"reasoning,omitempty"`
	ToolCalls        []chatCall `json:"tool_calls,omitempty"`
	ToolCallID       string     `json:"tool_call_id,omitempty"`
}

type chatPart struct {
	Type     string    `json:"type"`
	Text     string    `json:"text,omitempty"`
	ImageURL *imageURL `json:"image_url,omitempty"`
}

type imageURL struct {
	URL string `json:"url"`
}

type chatCall struct {
	ID           string        `json:"id"`
	Type         string        `json:"type"`
	Function     chatFunction  `json:"function"`
	ExtraContent *extraContent `json:"extra_content,omitempty"`
}

type chatFunction struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// extraContent carries Gemini's signature of the thought behind a call.
type extraContent struct {
	Google struct {
		ThoughtSignature string `json:"thought_signature,omitempty"`
	} `json:"google"`
}

type chatTool struct {
	Type     string       `json:"type"`
	Function chatToolSpec `json:"function"`
}

type chatToolSpec struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters"`
	Strict      bool            `json:"strict"`
}

func newChatRequest(t model.Target, d dialect, req model.Request) chatRequest {
	r := chatRequest{Model: t.Info.Ref.ID, Stream: true, StreamOptions: &streamOptions{IncludeUsage: true}, Temperature: req.Temperature}
	if d.store {
		r.Store = new(bool)
	}
	if n := maxTokens(t, req); d.maxTokens == "max_tokens" {
		r.MaxTokens = n
	} else {
		r.MaxCompletionTokens = n
	}
	think := thinks(t, req)
	switch {
	case think && d.effort:
		r.ReasoningEffort = req.Think
	case d.thinking && t.Info.Reasoning:
		r.Thinking = &typed{"disabled"}
		if think {
			r.Thinking.Type = "enabled"
		}
	}
	for _, tool := range req.Tools {
		r.Tools = append(r.Tools, chatTool{"function", chatToolSpec{Name: tool.Name, Description: tool.Description, Parameters: tool.Parameters}})
	}
	if req.System != "" {
		role := "system"
		if d.developer && t.Info.Reasoning {
			role = "developer"
		}
		r.Messages = append(r.Messages, chatMessage{Role: role, Content: req.System})
	}
	r.Messages = append(r.Messages, chatMessages(t.Info, req.Messages)...)
	return r
}

// chatMessages converts a conversation. A tool message can hold text only, so
// images of results follow in a user message after the last of them.
func chatMessages(info model.Info, msgs []turn.Message) []chatMessage {
	var out []chatMessage
	var images []chatPart
	flush := func() {
		if len(images) > 0 {
			out = append(out, chatMessage{Role: "user", Content: append([]chatPart{{Type: "text", Text: "Images from the tool results above:"}}, images...)})
			images = nil
		}
	}
	for _, m := range model.Replay(info, msgs) {
		if m.Role != turn.RoleToolResult {
			flush()
		}
		switch m.Role {
		case turn.RoleUser:
			if parts := chatParts(info, m.Content); len(parts) > 0 {
				out = append(out, chatMessage{Role: "user", Content: parts})
			}
		case turn.RoleAssistant:
			out = append(out, chatAssistant(m))
		case turn.RoleToolResult:
			text, pictures := splitResult(info, m.Content)
			images = append(images, pictures...)
			out = append(out, chatMessage{Role: "tool", Content: text, ToolCallID: chatCallID(m.ToolCallID)})
		}
	}
	flush()
	return out
}

func chatParts(info model.Info, content turn.Content) []chatPart {
	parts := make([]chatPart, 0, len(content))
	for _, b := range content {
		switch {
		case b.Type == turn.BlockText:
			parts = append(parts, chatPart{Type: "text", Text: b.Text})
		case b.Type == turn.BlockImage && b.Data != "" && info.Images():
			parts = append(parts, chatPart{Type: "image_url", ImageURL: &imageURL{dataURL(b.MimeType, b.Data)}})
		case b.Type == turn.BlockImage:
			parts = append(parts, chatPart{Type: "text", Text: omittedImage})
		}
	}
	return parts
}

// splitResult parts a tool result into its text and its images.
func splitResult(info model.Info, content turn.Content) (text string, images []chatPart) {
	var lines []string
	for _, p := range chatParts(info, content) {
		if p.ImageURL != nil {
			images = append(images, p)
		} else {
			lines = append(lines, p.Text)
		}
	}
	if text = strings.Join(lines, "\n"); text == "" && len(images) > 0 {
		text = "[The result is an image; it follows below.]"
	}
	return text, images
}

func chatAssistant(m turn.Message) chatMessage {
	out := chatMessage{Role: "assistant"}
	var parts []chatPart
	for _, b := range m.Content {
		switch b.Type {
		case turn.BlockText:
			parts = append(parts, chatPart{Type: "text", Text: b.Text})
		case turn.BlockThinking:
			// The signature is the name of the field that the text came in.
			switch b.ThinkingSignature {
			case fieldReasoningContent:
				out.ReasoningContent += b.Thinking
			case fieldReasoning:
				out.Reasoning += b.Thinking
			}
		case turn.BlockToolCall:
			call := chatCall{ID: chatCallID(b.ID), Type: "function", Function: chatFunction{b.Name, arguments(b)}}
			if b.ThoughtSignature != "" {
				call.ExtraContent = new(extraContent)
				call.ExtraContent.Google.ThoughtSignature = b.ThoughtSignature
			}
			out.ToolCalls = append(out.ToolCalls, call)
		}
	}
	if parts != nil {
		out.Content = parts
	}
	return out
}

func arguments(b turn.Block) string {
	if len(b.Arguments) == 0 {
		return "{}"
	}
	return string(b.Arguments)
}

// maxChatCallID is how long an id may be in Chat Completions.
const maxChatCallID = 40

// chatCallID fits the id of a call, whichever family made it.
func chatCallID(id string) string {
	id, _, _ = strings.Cut(id, "|") // the Responses family joins two ids
	return shorten(id, maxChatCallID)
}
