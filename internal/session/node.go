package session

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"openclaw/internal/turn"
)

// node is one line of a transcript in memory. Nodes form a tree; a parent always
// stands earlier in the file, so there are no cycles.
type node struct {
	id     string
	kind   string
	role   string // of a message
	parent *node

	off  int64 // where the line lies in the file, when raw is nil
	size int32
	raw  []byte // a line that is not in the file yet
	safe bool   // it is in the file or in the side file

	body *body // parsed on first use
}

// body is the meaning of a line.
type body struct {
	message    *turn.Message // what the model sees of it; nil for nothing
	compaction *Compaction
	provider   string // model_change, or the model of an assistant message
	model      string
	thinking   string
	custom     *customBody
}

// wireLine is any line, as other programs write it.
type wireLine struct {
	Provider      string          `json:"provider"`
	ModelID       string          `json:"modelId"`
	ThinkingLevel string          `json:"thinkingLevel"`
	CustomType    string          `json:"customType"`
	Data          json.RawMessage `json:"data"`
	Content       turn.Content    `json:"content"`
	Compaction
}

// parseBody reads a line. A line that is JSON but has parts of a wrong type means
// nothing: it stays in the file and in the tree.
func parseBody(kind string, line []byte) *body {
	b := &body{}
	if kind == lineMessage {
		b.message = parseMessage(rawMessage(line))
		if b.message != nil && b.message.Role == turn.RoleAssistant && b.message.Provider != "" {
			b.provider, b.model = b.message.Provider, b.message.Model
		}
		return b
	}
	var w wireLine
	if json.Unmarshal(line, &w) != nil {
		return b
	}
	switch kind {
	case lineModel:
		b.provider, b.model = w.Provider, w.ModelID
	case lineThinking:
		b.thinking = w.ThinkingLevel
	case lineCustom:
		b.custom = &customBody{w.CustomType, w.Data}
	case lineCustomMessage:
		b.message = &turn.Message{Role: turn.RoleUser, Content: w.Content}
	case lineCompaction:
		b.compaction = &w.Compaction
	case lineBranchSummary:
		if strings.TrimSpace(w.Summary) != "" {
			b.message = summaryMessage(branchLead, w.Summary, 0)
		}
	}
	return b
}

const (
	compactionLead = "Earlier parts of this conversation were condensed. This is the summary of what came before:"
	branchLead     = "The conversation took another path for a while and came back here. This is the summary of that path:"
)

func summaryMessage(lead, summary string, at int64) *turn.Message {
	return &turn.Message{Role: turn.RoleUser, Timestamp: at,
		Content: turn.Text(lead + "\n\n<summary>\n" + summary + "\n</summary>")}
}

// foreignMessage has the fields of the roles that only other programs write.
type foreignMessage struct {
	Role    string       `json:"role"`
	Content turn.Content `json:"content"`
	Summary string       `json:"summary"`

	Command            string `json:"command"`
	Output             string `json:"output"`
	ExitCode           *int   `json:"exitCode"`
	Cancelled          bool   `json:"cancelled"`
	Truncated          bool   `json:"truncated"`
	FullOutputPath     string `json:"fullOutputPath"`
	ExcludeFromContext bool   `json:"excludeFromContext"`

	Timestamp int64 `json:"timestamp"`
}

// rawMessage returns the message object of a line, as a part of it; nil for none.
func rawMessage(line []byte) (message []byte) {
	err := members(bytes.TrimSpace(line), func(key, value []byte) error {
		if string(key) == `"message"` && value[0] == '{' {
			message = value
		}
		return nil
	})
	if err != nil {
		return nil
	}
	return message
}

// parseMessage gives the message a model sees, nil when it sees nothing.
func parseMessage(raw []byte) *turn.Message {
	if raw == nil {
		return nil
	}
	switch turn.Role(roleOf(raw)) {
	case turn.RoleUser, turn.RoleAssistant, turn.RoleToolResult:
		var m turn.Message
		if json.Unmarshal(raw, &m) != nil {
			return nil
		}
		return &m
	}
	var f foreignMessage
	if json.Unmarshal(raw, &f) != nil {
		return nil
	}
	switch f.Role {
	case "custom", "hookMessage":
		return &turn.Message{Role: turn.RoleUser, Content: f.Content, Timestamp: f.Timestamp}
	case "branchSummary":
		return summaryMessage(branchLead, f.Summary, f.Timestamp)
	case "compactionSummary":
		return summaryMessage(compactionLead, f.Summary, f.Timestamp)
	case "bashExecution":
		if f.ExcludeFromContext {
			return nil
		}
		return &turn.Message{Role: turn.RoleUser, Content: turn.Text(f.bash()), Timestamp: f.Timestamp}
	}
	return nil
}

// bash tells the model about a command the user ran by hand.
func (f foreignMessage) bash() string {
	var b strings.Builder
	fmt.Fprintf(&b, "The user ran this command:\n```\n%s\n```\n", f.Command)
	if f.Output == "" {
		b.WriteString("It printed nothing.")
	} else {
		fmt.Fprintf(&b, "Its output:\n```\n%s\n```", f.Output)
	}
	switch {
	case f.Cancelled:
		b.WriteString("\nThe user cancelled it.")
	case f.ExitCode != nil && *f.ExitCode != 0:
		fmt.Fprintf(&b, "\nIt ended with exit code %d.", *f.ExitCode)
	}
	if f.Truncated && f.FullOutputPath != "" {
		fmt.Fprintf(&b, "\nThe output was cut; all of it is in %s.", f.FullOutputPath)
	}
	return b.String()
}

// marshalPlain is json.Marshal without HTML escapes, which transcripts do not use.
func marshalPlain(v any) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n")), nil
}
