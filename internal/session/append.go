package session

import (
	"encoding/json"
	"errors"
	"fmt"

	"openclaw/internal/turn"
)

// missingResult answers a tool call whose result is not in the transcript.
const missingResult = "The result of this tool call is missing: the run ended before it was recorded. The call may or may not have had an effect."

// Append writes a message and returns the id of its line. Tool calls without
// arguments are dropped first; an assistant message that is left empty by that is
// not written and has no id. With [TranscriptOptions.SyntheticResults] tool calls
// that are still open get an error result before a user or assistant message.
func (t *Transcript) Append(m turn.Message) (id string, err error) {
	t.tape.mu.Lock()
	defer t.tape.mu.Unlock()
	if m.Role == turn.RoleAssistant {
		content := soundCalls(m.Content)
		if len(content) == 0 && len(m.Content) > 0 {
			return "", nil
		}
		m.Content = content
	}
	if t.opts.SyntheticResults && m.Role != turn.RoleToolResult {
		if err := t.tape.answerOpenCalls(m.Timestamp); err != nil {
			return "", err
		}
	}
	return t.tape.addMessage(m)
}

func (t *tape) addMessage(m turn.Message) (string, error) {
	milestone := m.Role == turn.RoleUser || m.Role == turn.RoleAssistant && m.StopReason != turn.StopToolUse
	id, err := t.add(lineMessage, string(m.Role), messageBody{m}, milestone)
	if err == nil && t.s.cfg.OnMessage != nil {
		t.s.cfg.OnMessage(Appended{AgentID: t.s.cfg.AgentID, SessionID: t.c.header.ID, Path: t.path, ID: id, Message: m, Flushed: t.c.flushed})
	}
	return id, err
}

// answerOpenCalls appends an error result for each call of the last assistant
// message that has none.
func (t *tape) answerOpenCalls(at int64) error {
	open, err := t.openCalls()
	if err != nil {
		return err
	}
	for _, call := range open {
		if _, err := t.addMessage(missing(call, at)); err != nil {
			return err
		}
	}
	return nil
}

func (t *tape) openCalls() ([]turn.Block, error) {
	answered := map[string]bool{}
	for n := t.c.leaf; n != nil; n = n.parent {
		if n.kind != lineMessage {
			continue
		}
		if n.role != string(turn.RoleToolResult) && n.role != string(turn.RoleAssistant) {
			return nil, nil
		}
		if err := t.c.parse([]*node{n}); err != nil {
			return nil, err
		}
		m := n.body.message
		if m == nil {
			continue
		}
		if m.Role == turn.RoleToolResult {
			answered[m.ToolCallID] = true
			continue
		}
		var open []turn.Block
		for _, call := range m.ToolCalls() {
			if !answered[call.ID] {
				open = append(open, call)
			}
		}
		return open, nil
	}
	return nil, nil
}

func missing(call turn.Block, at int64) turn.Message {
	return turn.Message{Role: turn.RoleToolResult, ToolCallID: call.ID, ToolName: call.Name,
		Content: turn.Text(missingResult), IsError: new(true), Timestamp: at}
}

// AppendModelChange records that another model answers from here on.
func (t *Transcript) AppendModelChange(provider, model string) (id string, err error) {
	return t.add(lineModel, modelBody{provider, model})
}

// AppendThinkingLevel records the thinking level from here on.
func (t *Transcript) AppendThinkingLevel(level string) (id string, err error) {
	return t.add(lineThinking, thinkingBody{level})
}

// AppendCustom records data that no model sees.
func (t *Transcript) AppendCustom(kind string, data any) (id string, err error) {
	raw, err := marshalPlain(data)
	if err != nil {
		return "", fmt.Errorf("append %s to transcript: %w", kind, err)
	}
	return t.add(lineCustom, customBody{kind, raw})
}

// AppendCompaction records that a summary stands for what came before
// c.FirstKeptEntryID, an id from [Transcript.Branch].
func (t *Transcript) AppendCompaction(c Compaction) (id string, err error) {
	if c.Details == nil {
		c.Details = json.RawMessage(`{"readFiles":[],"modifiedFiles":[]}`)
	}
	return t.add(lineCompaction, c)
}

func (t *Transcript) add(kind string, b any) (string, error) {
	t.tape.mu.Lock()
	defer t.tape.mu.Unlock()
	return t.tape.add(kind, "", b, false)
}

// State is what the lines up to the leaf say about the model.
type State struct {
	Provider, Model string // empty when no line says so
	ThinkingLevel   string // empty when no line says so
	// API, with Provider and Model of the same moment, is what the last model
	// marker says.
	marker snapshotData
	marked bool
}

// State returns the model and thinking level that the transcript ends with.
func (t *Transcript) State() (State, error) {
	t.tape.mu.Lock()
	defer t.tape.mu.Unlock()
	return t.tape.state()
}

func (t *tape) state() (State, error) {
	var st State
	for n := t.c.leaf; n != nil; n = n.parent {
		switch n.kind {
		case lineModel, lineThinking, lineCustom:
		case lineMessage:
			if n.role != string(turn.RoleAssistant) || st.Model != "" {
				continue
			}
		default:
			continue
		}
		if err := t.c.parse([]*node{n}); err != nil {
			return st, fmt.Errorf("read transcript %s: %w", t.path, err)
		}
		b := n.body
		if st.Model == "" && b.model != "" {
			st.Provider, st.Model = b.provider, b.model
		}
		if st.ThinkingLevel == "" {
			st.ThinkingLevel = b.thinking
		}
		if !st.marked && b.custom != nil && b.custom.CustomType == modelSnapshot {
			st.marked = json.Unmarshal(b.custom.Data, &st.marker) == nil
		}
		if st.Model != "" && st.ThinkingLevel != "" && st.marked {
			break
		}
	}
	return st, nil
}

// Choice is the model of a run.
type Choice struct {
	Provider, Model string
	API             string // wire family
	ThinkingLevel   string
}

// Begin writes the lines that precede a run's first message: the model and the
// thinking level where they differ from what the transcript says, and the model
// marker where provider, wire family or model changed. A new transcript gets all
// three.
func (t *Transcript) Begin(c Choice) error {
	t.tape.mu.Lock()
	defer t.tape.mu.Unlock()
	st, err := t.tape.state()
	if err != nil {
		return err
	}
	if st.Provider != c.Provider || st.Model != c.Model {
		_, err = t.tape.add(lineModel, "", modelBody{c.Provider, c.Model}, false)
	}
	if st.ThinkingLevel != c.ThinkingLevel && err == nil {
		_, err = t.tape.add(lineThinking, "", thinkingBody{c.ThinkingLevel}, false)
	}
	now := snapshotData{t.tape.s.now().UnixMilli(), c.Provider, c.API, c.Model}
	same := st.marker
	same.Timestamp = now.Timestamp
	if err == nil && (!st.marked || same != now) {
		var raw []byte
		if raw, err = marshalPlain(now); err == nil {
			_, err = t.tape.add(lineCustom, "", customBody{modelSnapshot, raw}, false)
		}
	}
	return err
}

// SetLeaf makes the line id the one that new lines hang off. What came after it
// stays in the file but not in the context. An empty id starts from the root.
func (t *Transcript) SetLeaf(id string) error {
	t.tape.mu.Lock()
	defer t.tape.mu.Unlock()
	if id == "" {
		t.tape.c.leaf = nil
		return nil
	}
	n := t.tape.c.byID[id]
	if n == nil {
		return fmt.Errorf("set leaf of transcript %s: %w: %s", t.tape.path, errNoLine, id)
	}
	t.tape.c.leaf = n
	return nil
}

// Leaf returns the id of the line that new ones hang off; empty for none.
func (t *Transcript) Leaf() string {
	t.tape.mu.Lock()
	defer t.tape.mu.Unlock()
	if t.tape.c.leaf == nil {
		return ""
	}
	return t.tape.c.leaf.id
}

var errNoLine = errors.New("no such line")
