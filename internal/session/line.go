package session

import (
	"encoding/json"
	"errors"
	"strconv"
	"time"

	"openclaw/internal/turn"
)

// The types of transcript lines. See docs/runtime.md#transcripts.
const (
	lineSession       = "session"
	lineMessage       = "message"
	lineModel         = "model_change"
	lineThinking      = "thinking_level_change"
	lineCompaction    = "compaction"
	lineBranchSummary = "branch_summary"
	lineCustom        = "custom"
	lineCustomMessage = "custom_message"

	// modelSnapshot is the custom line that names the model of what follows.
	modelSnapshot = "model-snapshot"

	transcriptVersion = 3
	isoMillis         = "2006-01-02T15:04:05.000Z"
)

// Compaction is what a compaction line records.
type Compaction struct {
	Summary          string          `json:"summary"`
	FirstKeptEntryID string          `json:"firstKeptEntryId"`
	TokensBefore     int             `json:"tokensBefore"`
	Details          json.RawMessage `json:"details,omitempty"` // {readFiles, modifiedFiles}
	FromHook         bool            `json:"fromHook"`
}

type header struct {
	Type          string `json:"type"`
	Version       int    `json:"version"`
	ID            string `json:"id"`
	Timestamp     string `json:"timestamp"`
	Cwd           string `json:"cwd"`
	ParentSession string `json:"parentSession,omitempty"`
}

// Bodies of the lines this program writes, without id, parentId and timestamp.
type (
	messageBody struct {
		Message turn.Message `json:"message"`
	}
	modelBody struct {
		Provider string `json:"provider"`
		ModelID  string `json:"modelId"`
	}
	thinkingBody struct {
		ThinkingLevel string `json:"thinkingLevel"`
	}
	customBody struct {
		CustomType string          `json:"customType"`
		Data       json.RawMessage `json:"data,omitempty"`
	}
	snapshotData struct {
		Timestamp int64  `json:"timestamp"`
		Provider  string `json:"provider"`
		ModelAPI  string `json:"modelApi"`
		ModelID   string `json:"modelId"`
	}
)

// marshalLine writes one transcript line; parent is empty for a root.
func marshalLine(kind, id, parent string, at time.Time, body any) ([]byte, error) {
	tail, err := marshalPlain(body)
	if err != nil {
		return nil, err
	}
	line := make([]byte, 0, len(tail)+128)
	line = append(line, `{"type":"`...)
	line = append(line, kind...)
	line = append(line, `","id":`...)
	line = append(line, quote(id)...)
	line = append(line, `,"parentId":`...)
	if parent == "" {
		line = append(line, "null"...)
	} else {
		line = append(line, quote(parent)...)
	}
	line = append(line, `,"timestamp":"`...)
	line = at.UTC().AppendFormat(line, isoMillis)
	line = append(line, '"')
	if len(tail) > 2 {
		line = append(line, ',')
	}
	return append(line, tail[1:]...), nil
}

// head is what loading a transcript needs to know of a line.
type head struct {
	kind, id, parent, role string
	hasID, hasParent       bool
	version                int
}

var errFound = errors.New("found")

// parseHead reads the outer fields of a line. It reports false for what is no
// JSON object; one without a type gives an empty kind.
func parseHead(line []byte) (h head, ok bool) {
	err := members(line, func(key, value []byte) error {
		switch string(key) {
		case `"type"`:
			h.kind = stringOf(value)
		case `"id"`:
			h.id = stringOf(value)
			h.hasID = h.id != ""
		case `"parentId"`:
			h.parent, h.hasParent = stringOf(value), true
		case `"version"`:
			h.version, _ = strconv.Atoi(string(value))
		case `"message"`:
			h.role = roleOf(value)
		}
		return nil
	})
	return h, err == nil
}

func stringOf(value []byte) string {
	if value[0] != '"' {
		return ""
	}
	return unquote(value)
}

// roleOf returns the role of a raw message.
func roleOf(message []byte) (role string) {
	if message[0] != '{' {
		return ""
	}
	_ = members(message, func(key, value []byte) error {
		if string(key) == `"role"` {
			role = stringOf(value)
			return errFound
		}
		return nil
	})
	return role
}
