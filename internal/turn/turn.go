package turn

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// Role says who speaks in a [Message].
type Role string

const (
	RoleUser       Role = "user"
	RoleAssistant  Role = "assistant"
	RoleToolResult Role = "toolResult"
)

// StopReason says why an assistant message ended.
type StopReason string

const (
	StopEnd     StopReason = "stop"
	StopLength  StopReason = "length"
	StopToolUse StopReason = "toolUse"
	StopError   StopReason = "error"
	StopAborted StopReason = "aborted"
	// StopInjected marks text that no model wrote: a command's answer or chat.inject.
	StopInjected StopReason = "injected"
)

// BlockType names the kind of a [Block].
type BlockType string

const (
	BlockText     BlockType = "text"
	BlockThinking BlockType = "thinking"
	BlockImage    BlockType = "image"
	BlockToolCall BlockType = "toolCall"
)

// Block is one piece of message content. Which fields are set depends on Type.
type Block struct {
	Type BlockType `json:"type"`

	Text          string `json:"text,omitempty"`
	TextSignature string `json:"textSignature,omitempty"`

	Thinking          string `json:"thinking,omitempty"`
	ThinkingSignature string `json:"thinkingSignature,omitempty"`

	Data     string `json:"data,omitempty"` // base64, images
	MimeType string `json:"mimeType,omitempty"`

	ID               string          `json:"id,omitempty"` // tool calls
	Name             string          `json:"name,omitempty"`
	Arguments        json.RawMessage `json:"arguments,omitempty"` // a JSON object
	ThoughtSignature string          `json:"thoughtSignature,omitempty"`

	// Bytes and Omitted replace Data where an image is only mentioned, as in events.
	Bytes   int  `json:"bytes,omitempty"`
	Omitted bool `json:"omitted,omitempty"`
}

// MarshalJSON keeps the text key of a text block and the thinking key of a
// thinking block even when they are empty; readers rely on them.
func (b Block) MarshalJSON() ([]byte, error) {
	type plain Block
	switch {
	case b.Type == BlockText && b.Text == "":
		return marshal(struct {
			plain
			Text string `json:"text"`
		}{plain(b), ""})
	case b.Type == BlockThinking && b.Thinking == "":
		return marshal(struct {
			plain
			Thinking string `json:"thinking"`
		}{plain(b), ""})
	}
	return marshal(plain(b))
}

// marshal is json.Marshal without HTML escaping, which transcripts do not use.
func marshal(v any) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n")), nil
}

// Content is a list of blocks. A plain JSON string is read as one text block.
type Content []Block

// UnmarshalJSON accepts a string, null or an array of blocks.
func (c *Content) UnmarshalJSON(data []byte) error {
	data = bytes.TrimSpace(data)
	if len(data) > 0 && data[0] == '"' {
		var s string
		if err := json.Unmarshal(data, &s); err != nil {
			return err
		}
		*c = Content{{Type: BlockText, Text: s}}
		return nil
	}
	var blocks []Block
	if err := json.Unmarshal(data, &blocks); err != nil {
		return fmt.Errorf("message content: %w", err)
	}
	*c = blocks
	return nil
}

// MarshalJSON writes an array, never null.
func (c Content) MarshalJSON() ([]byte, error) {
	if c == nil {
		return []byte("[]"), nil
	}
	return marshal([]Block(c))
}

// Text joins the text blocks of c with newlines.
func (c Content) Text() string {
	var parts []string
	for _, b := range c {
		if b.Type == BlockText {
			parts = append(parts, b.Text)
		}
	}
	return strings.Join(parts, "\n")
}

// Text returns a content of one text block.
func Text(s string) Content { return Content{{Type: BlockText, Text: s}} }

// Cost is money in US dollars.
type Cost struct {
	Input      float64 `json:"input"`
	Output     float64 `json:"output"`
	CacheRead  float64 `json:"cacheRead"`
	CacheWrite float64 `json:"cacheWrite"`
	Total      float64 `json:"total"`
}

// Usage counts the tokens of one model call. Input excludes cached tokens.
type Usage struct {
	Input       int  `json:"input"`
	Output      int  `json:"output"`
	CacheRead   int  `json:"cacheRead"`
	CacheWrite  int  `json:"cacheWrite"`
	TotalTokens int  `json:"totalTokens"`
	Cost        Cost `json:"cost"`
}

// Context is the size of the prompt the model saw, which is what a session
// stores as its total (input, cache reads and cache writes; not the answer).
func (u Usage) Context() int { return u.Input + u.CacheRead + u.CacheWrite }

// Message is one message of a conversation in the transcript's own JSON shape.
// Fields that do not belong to its Role stay zero.
type Message struct {
	Role    Role    `json:"role"`
	Content Content `json:"content"`

	// Assistant.
	API          string     `json:"api,omitempty"`
	Provider     string     `json:"provider,omitempty"`
	Model        string     `json:"model,omitempty"`
	Usage        *Usage     `json:"usage,omitempty"`
	StopReason   StopReason `json:"stopReason,omitempty"`
	ErrorMessage string     `json:"errorMessage,omitempty"`

	// Tool result.
	ToolCallID string          `json:"toolCallId,omitempty"`
	ToolName   string          `json:"toolName,omitempty"`
	Details    json.RawMessage `json:"details,omitempty"`
	IsError    *bool           `json:"isError,omitempty"`

	// Timestamp is Unix milliseconds.
	Timestamp int64 `json:"timestamp"`
}

// User returns a user message of one text block.
func User(text string, at time.Time) Message {
	return Message{Role: RoleUser, Content: Text(text), Timestamp: at.UnixMilli()}
}

// ToolResult returns the result message that answers call.
func ToolResult(call Block, content Content, isError bool, details json.RawMessage, at time.Time) Message {
	return Message{Role: RoleToolResult, ToolCallID: call.ID, ToolName: call.Name, Content: content,
		Details: details, IsError: &isError, Timestamp: at.UnixMilli()}
}

// Text joins the text blocks of m.
func (m Message) Text() string { return m.Content.Text() }

// Failed reports whether m is a tool result that says the call failed.
func (m Message) Failed() bool { return m.IsError != nil && *m.IsError }

// ToolCalls returns the tool call blocks of m in order.
func (m Message) ToolCalls() []Block {
	var calls []Block
	for _, b := range m.Content {
		if b.Type == BlockToolCall {
			calls = append(calls, b)
		}
	}
	return calls
}
