package anthropic

import (
	"encoding/json"
	"strings"

	"openclaw/internal/model"
	"openclaw/internal/turn"
)

// request is the body of a Messages request. See agent-runtime 18.8.
type request struct {
	Model        string        `json:"model"`
	Messages     []message     `json:"messages"`
	MaxTokens    int           `json:"max_tokens"`
	Stream       bool          `json:"stream"`
	System       []block       `json:"system,omitempty"`
	Tools        []tool        `json:"tools,omitempty"`
	Thinking     *thinking     `json:"thinking,omitempty"`
	OutputConfig *outputConfig `json:"output_config,omitempty"`
	Temperature  *float64      `json:"temperature,omitempty"`
}

type message struct {
	Role    string  `json:"role"`
	Content []block `json:"content"`
}

// block is the union of the content blocks we send. Content is a string or a
// list of blocks.
type block struct {
	Type         string          `json:"type"`
	Text         string          `json:"text,omitempty"`
	Thinking     *string         `json:"thinking,omitempty"`
	Signature    string          `json:"signature,omitempty"`
	Data         string          `json:"data,omitempty"`
	Source       *source         `json:"source,omitempty"`
	ID           string          `json:"id,omitempty"`
	Name         string          `json:"name,omitempty"`
	Input        json.RawMessage `json:"input,omitempty"`
	ToolUseID    string          `json:"tool_use_id,omitempty"`
	Content      any             `json:"content,omitempty"`
	IsError      *bool           `json:"is_error,omitempty"`
	CacheControl *cacheControl   `json:"cache_control,omitempty"`
}

type source struct {
	Type      string `json:"type"`
	MediaType string `json:"media_type"`
	Data      string `json:"data"`
}

type cacheControl struct {
	Type string `json:"type"`
	TTL  string `json:"ttl,omitempty"`
}

type tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	InputSchema json.RawMessage `json:"input_schema"`
}

// unknownMaxTokens bounds the answer of a model without a known limit; the API
// insists on one.
const unknownMaxTokens = 8192

// maxOutput bounds the answer, reasoning aside, when the caller does not.
const maxOutput = 32_000

func newRequest(t model.Target, req model.Request) request {
	r := request{Model: t.Info.Ref.ID, Stream: true, Temperature: req.Temperature, MaxTokens: req.MaxTokens}
	if r.MaxTokens == 0 {
		r.MaxTokens = min(t.Info.MaxTokens, maxOutput)
	}
	if r.MaxTokens == 0 {
		r.MaxTokens = unknownMaxTokens
	}
	r.think(t.Info, req.Think)
	cache := caching(t, req.CacheRetention)
	if strings.TrimSpace(req.System) != "" {
		r.System = []block{{Type: "text", Text: req.System, CacheControl: cache}}
	}
	for _, tl := range req.Tools {
		r.Tools = append(r.Tools, tool{tl.Name, tl.Description, tl.Parameters})
	}
	r.Messages = convert(t.Info, req.Messages)
	if n := len(r.Messages); cache != nil && n > 0 && r.Messages[n-1].Role == "user" {
		last := r.Messages[n-1].Content
		last[len(last)-1].CacheControl = cache
	}
	return r
}

// caching marks how long prompts may be kept: five minutes unless told otherwise.
func caching(t model.Target, retention string) *cacheControl {
	switch {
	case retention == "none":
		return nil
	case retention == "long" && strings.HasPrefix(t.BaseURL, "https://api.anthropic.com"):
		return &cacheControl{Type: "ephemeral", TTL: "1h"}
	}
	return &cacheControl{Type: "ephemeral"}
}

// convert turns a conversation into alternating messages: tool results belong to
// the user's side, and neighbours of one role are joined.
func convert(info model.Info, msgs []turn.Message) []message {
	var out []message
	for _, m := range model.Replay(info, msgs) {
		role, blocks := "user", []block(nil)
		switch m.Role {
		case turn.RoleAssistant:
			role, blocks = "assistant", assistantBlocks(m)
		case turn.RoleToolResult:
			blocks = []block{resultBlock(info, m)}
		default:
			blocks = userBlocks(info, m.Content)
		}
		if len(blocks) == 0 {
			continue
		}
		if n := len(out); n > 0 && out[n-1].Role == role {
			out[n-1].Content = append(out[n-1].Content, blocks...)
			continue
		}
		out = append(out, message{role, blocks})
	}
	return out
}

// omittedImage stands for an image that the model cannot see.
const omittedImage = "[An image was left out: this model accepts text only.]"

func userBlocks(info model.Info, content turn.Content) []block {
	var blocks []block
	for _, b := range content {
		switch {
		case b.Type == turn.BlockText:
			if strings.TrimSpace(b.Text) != "" { // the API refuses blank blocks
				blocks = append(blocks, block{Type: "text", Text: b.Text})
			}
		case b.Type == turn.BlockImage && b.Data != "" && info.Images():
			blocks = append(blocks, block{Type: "image", Source: &source{"base64", b.MimeType, b.Data}})
		case b.Type == turn.BlockImage:
			blocks = append(blocks, block{Type: "text", Text: omittedImage})
		}
	}
	return blocks
}

// resultBlock answers a call: with plain text where there is nothing else.
func resultBlock(info model.Info, m turn.Message) block {
	failed := m.Failed()
	r := block{Type: "tool_result", ToolUseID: toolUseID(m.ToolCallID), IsError: &failed}
	blocks := userBlocks(info, m.Content)
	var lines []string
	for _, b := range blocks {
		if b.Type != "text" {
			r.Content = blocks
			return r
		}
		lines = append(lines, b.Text)
	}
	r.Content = strings.Join(lines, "\n")
	return r
}

// redacted marks the signature of reasoning that came encrypted.
const redacted = "redacted_thinking:"

func assistantBlocks(m turn.Message) []block {
	var blocks []block
	for _, b := range m.Content {
		switch b.Type {
		case turn.BlockText:
			if strings.TrimSpace(b.Text) != "" {
				blocks = append(blocks, block{Type: "text", Text: b.Text})
			}
		case turn.BlockThinking:
			if data, ok := strings.CutPrefix(b.ThinkingSignature, redacted); ok {
				blocks = append(blocks, block{Type: "redacted_thinking", Data: data})
			} else if b.ThinkingSignature != "" { // without one the API refuses it
				blocks = append(blocks, block{Type: "thinking", Thinking: &b.Thinking, Signature: b.ThinkingSignature})
			}
		case turn.BlockToolCall:
			input := b.Arguments
			if len(input) == 0 {
				input = json.RawMessage("{}")
			}
			blocks = append(blocks, block{Type: "tool_use", ID: toolUseID(b.ID), Name: b.Name, Input: input})
		}
	}
	return blocks
}

// maxToolUseID is how long an id may be.
const maxToolUseID = 64

// toolUseID fits the id of a call, whichever family made it, to what the API takes.
func toolUseID(id string) string {
	id = strings.Map(func(r rune) rune {
		if r == '-' || r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '_'
	}, id)
	if len(id) > maxToolUseID {
		// Both ends, because families put what differs at either.
		id = id[:maxToolUseID/2] + id[len(id)-maxToolUseID/2:]
	}
	return id
}
