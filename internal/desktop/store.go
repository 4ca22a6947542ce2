package desktop

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"openclaw/byo"
	"openclaw/internal/disk"
)

// Roles and tabs of a [Message].
const (
	RoleUser      = "user"
	RoleAssistant = "assistant"

	TabChat     = "chat"
	TabInsights = "insights"
)

// States of a [Message].
const (
	MessageSending    = "sending"    // not acknowledged by the assistant yet
	MessageSent       = "sent"       // acknowledged
	MessageFailed     = "failed"     // the assistant will never take it
	MessageUnanswered = "unanswered" // the assistant says that no answer comes
	MessageReceived   = "received"   // from the assistant
	MessageErrored    = "errored"    // the turn failed; ErrorCode says why
)

// maxIDs is how many message ids of a session are known for certain.
const maxIDs = 10000

// Message is one entry of a conversation.
type Message struct {
	ID              string    `json:"id"`
	SessionID       string    `json:"session_id"`
	AssistantID     string    `json:"assistant_id,omitempty"`
	Tab             string    `json:"tab"`
	Role            string    `json:"role"`
	Content         string    `json:"content"`
	Severity        string    `json:"severity,omitempty"` // of a signal
	Status          string    `json:"status"`
	ParentMessageID string    `json:"parent_message_id,omitempty"` // the user's message that it answers
	TaskID          string    `json:"task_id,omitempty"`
	ErrorCode       string    `json:"error_code,omitempty"`
	ErrorMessage    string    `json:"error_message,omitempty"`
	CreatedAt       time.Time `json:"created_at"`
	UpdatedAt       time.Time `json:"updated_at"`
}

// Session describes a conversation.
type Session struct {
	ID          string    `json:"id"`
	Title       string    `json:"title,omitempty"`
	AssistantID string    `json:"assistant_id,omitempty"`
	CreatedAt   time.Time `json:"created_at"`
	Live        bool      `json:"live"` // a call is going on
}

// Store keeps the conversations, a folder for each session. Messages are only ever
// added; a message with the same id is written again when its status changes, and the
// last one counts.
type Store struct {
	dir string
	now func() time.Time

	mu       sync.Mutex
	sessions map[string]*conversation
}

// conversation is the open log of a session. mu is held during writes.
type conversation struct {
	mu       sync.Mutex
	meta     Session
	dir      string
	log      *disk.AppendFile
	messages []Message
	index    map[string]int // of messages, by id
	gone     bool
}

const (
	metaFile       = "session.json"
	messagesFile   = "messages.jsonl"
	transcriptFile = "transcript.jsonl"
)

// OpenStore reads the conversations below dir.
func OpenStore(dir string, now func() time.Time) (*Store, error) {
	s := &Store{dir: dir, now: now, sessions: map[string]*conversation{}}
	if err := disk.MkdirAll(dir); err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("read conversations: %w", err)
	}
	for _, e := range entries {
		c, err := openConversation(filepath.Join(dir, e.Name()))
		if errors.Is(err, fs.ErrNotExist) {
			continue // its creation was not finished
		}
		if err != nil {
			return nil, fmt.Errorf("read conversation %s: %w", e.Name(), err)
		}
		s.sessions[c.meta.ID] = c
	}
	return s, nil
}

func openConversation(dir string) (*conversation, error) {
	data, err := disk.ReadFile(filepath.Join(dir, metaFile), 1<<20)
	if err != nil {
		return nil, err
	}
	c := &conversation{dir: dir, index: map[string]int{}}
	if err := json.Unmarshal(data, &c.meta); err != nil {
		return nil, err
	}
	c.meta.Live = false // what was live when the process ended is not any more
	f, err := os.Open(filepath.Join(dir, messagesFile))
	if err == nil {
		defer f.Close()
		lines := bufio.NewReader(f)
		for {
			line, err := lines.ReadBytes('\n')
			if err != nil {
				break // a line that was cut short was never acknowledged
			}
			var m Message
			if json.Unmarshal(bytes.TrimSpace(line), &m) == nil && m.ID != "" {
				c.put(m)
			}
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	c.log, err = disk.OpenAppend(filepath.Join(dir, messagesFile), 0o600)
	return c, err
}

// put takes a message into memory and says whether it is new.
func (c *conversation) put(m Message) bool {
	if i, known := c.index[m.ID]; known {
		c.messages[i] = m
		return false
	}
	c.index[m.ID] = len(c.messages)
	c.messages = append(c.messages, m)
	if len(c.messages) > 2*maxIDs {
		c.messages = slices.Clone(c.messages[len(c.messages)-maxIDs:])
		clear(c.index)
		for i, m := range c.messages {
			c.index[m.ID] = i
		}
	}
	return true
}

// folder is a name that no session id can escape from or share.
func folder(sessionID string) string {
	if byo.CheckSessionID(sessionID) == nil && !strings.HasPrefix(sessionID, ".") && !strings.Contains(sessionID, ":") && len(sessionID) <= 64 && strings.ToLower(sessionID) == sessionID {
		return sessionID
	}
	sum := sha256.Sum256([]byte(sessionID))
	return "x" + hex.EncodeToString(sum[:16])
}

// Create makes a session, or returns the one that is there.
func (s *Store) Create(meta Session) (Session, error) {
	if err := byo.CheckSessionID(meta.ID); err != nil {
		return Session{}, err
	}
	if _, insights := byo.SplitSession(meta.ID); insights {
		return Session{}, errors.New("a session id must not begin with " + byo.InsightsPrefix)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.sessions[meta.ID]; c != nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.meta, nil
	}
	meta.CreatedAt = s.now().UTC()
	dir := filepath.Join(s.dir, folder(meta.ID))
	if err := disk.MkdirAll(dir); err != nil {
		return Session{}, err
	}
	c := &conversation{dir: dir, meta: meta, index: map[string]int{}}
	if err := c.saveMeta(); err != nil {
		return Session{}, err
	}
	var err error
	if c.log, err = disk.OpenAppend(filepath.Join(dir, messagesFile), 0o600); err != nil {
		return Session{}, err
	}
	s.sessions[meta.ID] = c
	return meta, nil
}

func (c *conversation) saveMeta() error {
	data, err := json.Marshal(c.meta)
	if err != nil {
		return err
	}
	return disk.WriteFile(filepath.Join(c.dir, metaFile), append(data, '\n'), 0o600)
}

// Known reports whether a session exists; anything else that comes for it is dropped.
func (s *Store) Known(id string) bool { return s.get(id) != nil }

func (s *Store) get(id string) *conversation {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sessions[id]
}

// errGone says that the session was deleted.
var errGone = errors.New("the session is not known")

// Change writes what edit makes of the message with that id (a new one has only its
// id) and returns when it is on the disk. Nothing happens when edit returns false.
func (s *Store) Change(session, id string, edit func(m *Message, known bool) bool) (Message, error) {
	c := s.get(session)
	if c == nil {
		return Message{}, errGone
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.gone {
		return Message{}, errGone
	}
	m := Message{ID: id, SessionID: session, CreatedAt: s.now().UTC()}
	i, known := c.index[id]
	if known {
		m = c.messages[i]
	}
	if !edit(&m, known) {
		return m, nil
	}
	m.UpdatedAt = s.now().UTC()
	line, err := json.Marshal(m)
	if err != nil {
		return m, err
	}
	if err := c.log.Append(true, line); err != nil {
		return m, err
	}
	c.put(m)
	return m, nil
}

// Messages returns the messages of a tab after the one with the id after, at most
// limit of the newest; limit 0 is all.
func (s *Store) Messages(session, tab, after string, limit int) ([]Message, error) {
	c := s.get(session)
	if c == nil {
		return nil, errGone
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	from := 0
	if i, ok := c.index[after]; ok {
		from = i + 1
	}
	var list []Message
	for _, m := range c.messages[from:] {
		if tab == "" || m.Tab == tab {
			list = append(list, m)
		}
	}
	if limit > 0 && len(list) > limit {
		list = list[len(list)-limit:]
	}
	return list, nil
}

// Sessions lists the sessions, the newest first.
func (s *Store) Sessions() []Session {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := make([]Session, 0, len(s.sessions))
	for _, c := range s.sessions {
		c.mu.Lock()
		list = append(list, c.meta)
		c.mu.Unlock()
	}
	slices.SortFunc(list, func(a, b Session) int { return b.CreatedAt.Compare(a.CreatedAt) })
	return list
}

// SetLive marks a session as the one of a call.
func (s *Store) SetLive(id string, live bool) error {
	c := s.get(id)
	if c == nil {
		return errGone
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.meta.Live = live
	return c.saveMeta()
}

// AddTranscript keeps segments of a call.
func (s *Store) AddTranscript(id string, segments ...Segment) error {
	c := s.get(id)
	if c == nil {
		return errGone
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.gone {
		return errGone
	}
	f, err := disk.OpenAppend(filepath.Join(c.dir, transcriptFile), 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	lines := make([][]byte, len(segments))
	for i, seg := range segments {
		if lines[i], err = json.Marshal(seg); err != nil {
			return err
		}
	}
	return f.Append(true, lines...)
}

// Transcript reads what was said in a call.
func (s *Store) Transcript(id string) ([]Segment, error) {
	c := s.get(id)
	if c == nil {
		return nil, errGone
	}
	data, err := disk.ReadFile(filepath.Join(c.dir, transcriptFile), 64<<20)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var list []Segment
	for line := range bytes.Lines(data) {
		var seg Segment
		if bytes.HasSuffix(line, []byte("\n")) && json.Unmarshal(line, &seg) == nil {
			list = append(list, seg)
		}
	}
	return list, nil
}

// Delete removes a session and everything in it; what comes for it later is dropped.
func (s *Store) Delete(id string) error {
	s.mu.Lock()
	c := s.sessions[id]
	delete(s.sessions, id)
	s.mu.Unlock()
	if c == nil {
		return errGone
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.gone = true
	return errors.Join(c.log.Close(), os.RemoveAll(c.dir))
}

// Close closes the files.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var errs []error
	for _, c := range s.sessions {
		c.mu.Lock()
		errs = append(errs, c.log.Close())
		c.mu.Unlock()
	}
	return errors.Join(errs...)
}
