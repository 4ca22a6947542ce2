package mockllm

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// conversation is what the mock needs to know of a request, whatever API it
// came in by.
type conversation struct {
	model          string
	stream         bool
	lastUser       string
	lastToolResult string
	step           int // assistant turns since the last user message
	toolResults    int // tool results since the last user message
	messages       int
	systemChars    int
	tools          []string
	effort         string
	usageChunk     bool // Chat Completions: stream_options.include_usage
}

type entry struct {
	role string // system, user, assistant, tool
	text string
}

func (c *conversation) fill(entries []entry) {
	prev := ""
	for _, e := range entries {
		switch e.role {
		case "system":
			c.systemChars += len([]rune(e.text))
		case "user":
			c.lastUser, c.step, c.toolResults = e.text, 0, 0
		case "assistant":
			// Items of one turn may come apart (reasoning, text, calls).
			if prev != "assistant" {
				c.step++
			}
		case "tool":
			c.toolResults++
			c.lastToolResult = e.text
		}
		if e.role != "system" {
			c.messages++
		}
		prev = e.role
	}
}

// textOf flattens a content field: a string, or a list of typed parts.
func textOf(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	var parts []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	if json.Unmarshal(raw, &parts) != nil {
		return ""
	}
	var out []string
	for _, p := range parts {
		if p.Text != "" {
			out = append(out, p.Text)
		}
	}
	return strings.Join(out, "\n")
}

func named(names []toolName) []string {
	var out []string
	for _, n := range names {
		out = append(out, n.Name)
	}
	return out
}

type toolName struct {
	Name string `json:"name"`
}

type roleContent struct {
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"`
}

func parseChat(body []byte) (*conversation, error) {
	var in struct {
		Model         string `json:"model"`
		Stream        bool   `json:"stream"`
		Effort        string `json:"reasoning_effort"`
		StreamOptions struct {
			IncludeUsage bool `json:"include_usage"`
		} `json:"stream_options"`
		Messages []roleContent `json:"messages"`
		Tools    []struct {
			Function toolName `json:"function"`
		} `json:"tools"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return nil, err
	}
	if len(in.Messages) == 0 {
		return nil, errors.New("messages is required")
	}
	c := &conversation{model: in.Model, stream: in.Stream, effort: in.Effort, usageChunk: in.StreamOptions.IncludeUsage}
	var es []entry
	for _, m := range in.Messages {
		if m.Role == "developer" {
			m.Role = "system"
		}
		es = append(es, entry{m.Role, textOf(m.Content)})
	}
	for _, t := range in.Tools {
		c.tools = append(c.tools, t.Function.Name)
	}
	c.fill(es)
	return c, nil
}

func parseResponses(body []byte) (*conversation, error) {
	var in struct {
		Model        string          `json:"model"`
		Stream       bool            `json:"stream"`
		Instructions string          `json:"instructions"`
		Input        json.RawMessage `json:"input"`
		Reasoning    struct {
			Effort string `json:"effort"`
		} `json:"reasoning"`
		Tools []toolName `json:"tools"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return nil, err
	}
	c := &conversation{model: in.Model, stream: in.Stream, effort: in.Reasoning.Effort, tools: named(in.Tools)}
	var es []entry
	if in.Instructions != "" {
		es = append(es, entry{"system", in.Instructions})
	}
	items, err := inputEntries(in.Input)
	if err != nil {
		return nil, fmt.Errorf("input: %w", err)
	}
	es = append(es, items...)
	if len(es) == 0 {
		return nil, errors.New("input is required")
	}
	c.fill(es)
	return c, nil
}

// inputEntries reads the input of a Responses request: a string or a list of items.
func inputEntries(input json.RawMessage) ([]entry, error) {
	var s string
	if json.Unmarshal(input, &s) == nil {
		return []entry{{"user", s}}, nil
	}
	var items []struct {
		roleContent
		Type   string          `json:"type"`
		Output json.RawMessage `json:"output"`
	}
	if err := json.Unmarshal(input, &items); err != nil {
		return nil, err
	}
	var es []entry
	for _, it := range items {
		switch {
		case it.Type == "function_call_output":
			es = append(es, entry{"tool", textOf(it.Output)})
		case it.Type == "function_call" || it.Type == "reasoning" || it.Role == "assistant":
			es = append(es, entry{"assistant", textOf(it.Content)})
		case it.Role == "system" || it.Role == "developer":
			es = append(es, entry{"system", textOf(it.Content)})
		case it.Role == "user":
			es = append(es, entry{"user", textOf(it.Content)})
		}
	}
	return es, nil
}

func parseMessages(body []byte) (*conversation, error) {
	var in struct {
		Model     string          `json:"model"`
		Stream    bool            `json:"stream"`
		System    json.RawMessage `json:"system"`
		MaxTokens *int            `json:"max_tokens"`
		Thinking  struct {
			Type   string `json:"type"`
			Budget int    `json:"budget_tokens"`
		} `json:"thinking"`
		Messages []roleContent `json:"messages"`
		Tools    []toolName    `json:"tools"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return nil, err
	}
	if in.MaxTokens == nil {
		return nil, errors.New("max_tokens: Field required")
	}
	if len(in.Messages) == 0 {
		return nil, errors.New("messages: at least one message is required")
	}
	c := &conversation{model: in.Model, stream: in.Stream, tools: named(in.Tools)}
	if in.Thinking.Type != "" {
		c.effort = fmt.Sprintf("%s:%d", in.Thinking.Type, in.Thinking.Budget)
	}
	es := []entry{{"system", textOf(in.System)}}
	for _, m := range in.Messages {
		if m.Role == "user" {
			es = append(es, userEntries(m.Content)...)
		} else {
			es = append(es, entry{m.Role, textOf(m.Content)})
		}
	}
	c.fill(es)
	return c, nil
}

// userEntries reads a user message of the Messages API, which may carry tool
// results, user text, or both.
func userEntries(content json.RawMessage) []entry {
	var parts []struct {
		Type    string          `json:"type"`
		Text    string          `json:"text"`
		Content json.RawMessage `json:"content"`
	}
	if json.Unmarshal(content, &parts) != nil {
		return []entry{{"user", textOf(content)}}
	}
	var es []entry
	var text []string
	for _, p := range parts {
		switch {
		case p.Type == "tool_result":
			es = append(es, entry{"tool", textOf(p.Content)})
		case p.Text != "":
			text = append(text, p.Text)
		}
	}
	if len(text) > 0 {
		es = append(es, entry{"user", strings.Join(text, "\n")})
	}
	return es
}
