package backend

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"openclaw/internal/assistant"
	"openclaw/internal/disk"
)

// Bounds of what is remembered of one conversation; the oldest goes first.
const (
	maxRemembered      = 80       // messages
	maxRememberedBytes = 96 << 10 // of text
	maxMemoryFile      = 4 << 20
)

// Roles of a Message.
const (
	User      = "user"
	Assistant = "assistant"
)

// Message is one thing said in a conversation.
type Message struct {
	Role string `json:"role"`
	Text string `json:"text"`
	// Turn is the id of the turn in which it was said.
	Turn string `json:"turn,omitempty"`
}

// Memory keeps conversations in files of one folder, which is created when it is
// missing. It is safe for concurrent use as long as the turns of one session and kind
// come one after the other.
type Memory struct{ Dir string }

// path names the file of a conversation by a hash, since a session id may be anything.
// The kinds never share one: what others said in a call must not look like a person's
// own words.
func (m Memory) path(session string, kind assistant.Kind) string {
	sum := sha256.Sum256([]byte(string(kind) + "\x00" + session))
	return filepath.Join(m.Dir, hex.EncodeToString(sum[:16])+".json")
}

// hear adds what was said in a turn and returns the conversation. A turn that was
// heard before is not added again; answered is what was said to it then, if anything.
func (m Memory) hear(t *assistant.Turn) (talk []Message, answered string, err error) {
	if talk, err = m.read(t.SessionID, t.Kind); err != nil {
		return nil, "", err
	}
	for i := range talk {
		if talk[i].Turn != t.ID {
			continue
		}
		if talk[i].Role == Assistant {
			return talk, talk[i].Text, nil
		}
		if i == len(talk)-1 {
			return talk, "", nil // it was heard, but not answered
		}
	}
	talk = append(talk, Message{Role: User, Text: t.Prompt(), Turn: t.ID})
	return talk, "", m.write(t.SessionID, t.Kind, talk)
}

// reply adds the answer to a turn.
func (m Memory) reply(t *assistant.Turn, talk []Message, text string) error {
	return m.write(t.SessionID, t.Kind, append(talk, Message{Role: Assistant, Text: text, Turn: t.ID}))
}

func (m Memory) read(session string, kind assistant.Kind) ([]Message, error) {
	data, err := disk.ReadFile(m.path(session, kind), maxMemoryFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the memory of a session: %w", err)
	}
	var talk []Message
	if err := json.Unmarshal(data, &talk); err != nil {
		return nil, fmt.Errorf("read the memory of a session in %s: %w", m.path(session, kind), err)
	}
	return talk, nil
}

func (m Memory) write(session string, kind assistant.Kind, talk []Message) error {
	data, err := json.Marshal(bounded(talk))
	if err == nil {
		err = disk.MkdirAll(m.Dir)
	}
	if err == nil {
		err = disk.WriteFile(m.path(session, kind), data, 0o600)
	}
	if err != nil {
		return fmt.Errorf("write the memory of a session: %w", err)
	}
	return nil
}

// bounded is the end of a conversation that is worth keeping; it begins with a user's
// message, and the last message always stays.
func bounded(talk []Message) []Message {
	size, from := 0, len(talk)
	for from > 0 && len(talk)-from < maxRemembered {
		if size += len(talk[from-1].Text); size > maxRememberedBytes && from < len(talk) {
			break
		}
		from--
	}
	for from < len(talk)-1 && talk[from].Role != User {
		from++
	}
	return talk[from:]
}

// alternating joins messages of the same side that follow each other, as servers want
// it.
func alternating(talk []Message) []Message {
	var out []Message
	for _, m := range talk {
		if n := len(out); n > 0 && out[n-1].Role == m.Role {
			out[n-1].Text += "\n\n" + m.Text
			continue
		}
		out = append(out, Message{Role: m.Role, Text: m.Text})
	}
	return out
}
