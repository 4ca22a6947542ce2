package session

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"openclaw/internal/turn"
)

// PreviewItem is one message as a preview shows it. Role is user, assistant, tool,
// system or other.
type PreviewItem struct{ Role, Text string }

// Preview returns the last messages of the transcript at path that have something
// to show, oldest first: at most limit of them, each cut to maxChars characters.
// Only the end of the file is read. A missing transcript has none.
func Preview(path string, limit, maxChars int) ([]PreviewItem, error) {
	var items []PreviewItem
	err := messagesBackward(path, func(raw json.RawMessage) bool {
		if it := previewOf(raw); it.Text != "" {
			it.Text = clip(it.Text, maxChars)
			items = append(items, it)
		}
		return len(items) < limit
	})
	if err != nil {
		return nil, fmt.Errorf("preview transcript %s: %w", path, err)
	}
	slices.Reverse(items)
	return items, nil
}

// messagesBackward calls fn with the messages of a transcript as history shows
// them, the last one first, until it returns false.
func messagesBackward(path string, fn func(json.RawMessage) bool) error {
	f, err := openShown(path)
	if f == nil || err != nil {
		return err
	}
	defer f.Close()
	return linesBackward(f, func(line []byte) bool {
		m := messageOf(line)
		return m == nil || fn(shown(m))
	})
}

// openShown opens a transcript, or what there is of it before its first answer.
// Both are nil when there is nothing.
func openShown(path string) (*os.File, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		if f, err = os.Open(path + sideSuffix); errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
	}
	if err != nil {
		return nil, fmt.Errorf("open transcript: %w", err)
	}
	return f, nil
}

// previewOf describes a message in one text: what it says, else which tools it
// calls, else that there is a picture.
func previewOf(raw json.RawMessage) PreviewItem {
	var m turn.Message
	if json.Unmarshal(raw, &m) != nil {
		return PreviewItem{}
	}
	it := PreviewItem{Role: previewRole(m.Role), Text: strings.TrimSpace(m.Text())}
	if it.Text != "" {
		return it
	}
	var calls []string
	images := 0
	for _, b := range m.Content {
		switch b.Type {
		case turn.BlockToolCall:
			calls = append(calls, b.Name)
		case turn.BlockImage:
			images++
		}
	}
	switch {
	case len(calls) > 0:
		it.Role, it.Text = "tool", "call "+strings.Join(calls, ", ")
	case images > 0:
		it.Text = "[image]"
	default:
		it.Text = strings.TrimSpace(m.ErrorMessage)
	}
	return it
}

func previewRole(r turn.Role) string {
	switch r {
	case turn.RoleUser, turn.RoleAssistant, "system":
		return string(r)
	case turn.RoleToolResult, "tool":
		return "tool"
	}
	return "other"
}

// clip cuts s to n characters, the last of which says that something is missing.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	if r := []rune(s); len(r) > n {
		return string(r[:max(n-1, 0)]) + "…"
	}
	return s
}

// Show returns a message in the form in which [History] has it.
func Show(m turn.Message) (json.RawMessage, error) {
	raw, err := marshalPlain(m)
	if err != nil {
		return nil, fmt.Errorf("encode message: %w", err)
	}
	return shown(raw), nil
}

// LastText returns what the user or the model said last in the transcript at path;
// empty when there is nothing. Only the end of the file is read.
func LastText(path string) (string, error) {
	text, tries := "", 0
	err := messagesBackward(path, func(raw json.RawMessage) bool {
		var m turn.Message
		role := roleOf(raw)
		if role == string(turn.RoleUser) || role == string(turn.RoleAssistant) {
			if json.Unmarshal(raw, &m) == nil {
				text = strings.TrimSpace(m.Text())
			}
		}
		tries++
		return text == "" && tries < lastTextTries
	})
	if err != nil {
		return "", fmt.Errorf("read last message of %s: %w", path, err)
	}
	return text, nil
}

// lastTextTries bounds how far back [LastText] looks, in messages.
const lastTextTries = 50
