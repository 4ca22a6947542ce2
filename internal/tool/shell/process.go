package shell

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"openclaw/internal/tool"
)

// writeTimeout bounds writing to a command that does not read.
const writeTimeout = 5 * time.Second

type processParams struct {
	_ struct{} `schema:"open"`

	Action    string   `json:"action" jsonschema:"list, poll, log, write, send-keys, submit, paste, kill, clear or remove"`
	SessionID string   `json:"sessionId,omitempty" jsonschema:"Session that exec named (all actions but list)"`
	Data      string   `json:"data,omitempty" jsonschema:"Text to write, as it is"`
	Keys      []string `json:"keys,omitempty" jsonschema:"Keys to send, such as C-c, Up or Enter"`
	Hex       []string `json:"hex,omitempty" jsonschema:"Bytes to send, in hex"`
	Literal   string   `json:"literal,omitempty" jsonschema:"Text to send before the keys"`
	Text      string   `json:"text,omitempty" jsonschema:"Text to paste"`
	Bracketed *bool    `json:"bracketed,omitempty" jsonschema:"Mark the text as pasted (default on a terminal)"`
	EOF       bool     `json:"eof,omitempty" jsonschema:"Close its input after writing"`
	Offset    *float64 `json:"offset,omitempty" jsonschema:"First line of the log, from 0"`
	Limit     *float64 `json:"limit,omitempty" jsonschema:"Number of lines of the log"`
}

// Meta shows the action and its session.
func (p processParams) Meta() string { return strings.TrimSpace(p.Action + " " + p.SessionID) }

func (t *tools) processTool() tool.Tool {
	return tool.New(tool.Spec{
		Name: "process", Label: "Process",
		Description: "Follow commands that exec moved to the background: list them, poll new output, read the log, write input, send keys, kill them.",
		Summary:     "Manage background commands",
	}, t.process)
}

// state is the details of process for one session.
type state struct {
	Status     string `json:"status"` // running, completed or failed
	SessionID  string `json:"sessionId"`
	ExitCode   *int   `json:"exitCode,omitempty"`
	ExitSignal string `json:"exitSignal,omitempty"`
	Tail       string `json:"tail,omitempty"`
	Name       string `json:"name,omitempty"`
	*logState
}

type logState struct {
	Total      int   `json:"total"`
	TotalLines int   `json:"totalLines"`
	TotalChars int64 `json:"totalChars"`
	Truncated  bool  `json:"truncated"`
}

func (t *tools) process(ctx context.Context, _ tool.Call, p processParams) (tool.Result, error) {
	action := strings.ToLower(strings.TrimSpace(p.Action))
	if action == "list" {
		return t.list(), nil
	}
	do := map[string]func(context.Context, *session, processParams) tool.Result{
		"poll": poll, "log": log, "write": write, "send-keys": sendKeys, "submit": submit, "paste": paste,
		"kill": t.kill, "clear": t.clear, "remove": t.remove,
	}[action]
	if do == nil {
		return tool.Result{}, fmt.Errorf("unknown action %q; use list, poll, log, write, send-keys, submit, paste, kill, clear or remove", p.Action)
	}
	id := strings.TrimSpace(p.SessionID)
	if id == "" {
		return answer("sessionId is required for "+action, state{Status: "failed"}), nil
	}
	s := t.sh.sessions.get(t.scope.AgentID, id)
	if s == nil {
		return answer(fmt.Sprintf("No session %s was found. Use action list to see the sessions.", id), state{Status: "failed", SessionID: id}), nil
	}
	return do(ctx, s, p), nil
}

func answer(text string, details any) tool.Result {
	r := tool.Text(text)
	r.Details = details
	return r
}

// state describes s for the details of a result.
func (s *session) state(v view) state {
	st := state{Status: v.status(), SessionID: s.id, Name: s.name()}
	if v.end != nil {
		st.ExitSignal = v.end.status.signal
		if v.end.status.signal == "" {
			st.ExitCode = &v.end.status.code
		}
	}
	return st
}

func (v view) status() string {
	switch {
	case v.end == nil:
		return "running"
	case v.end.failed():
		return "failed"
	}
	return "completed"
}

// name is the command on one line, shortened.
func (s *session) name() string {
	name := []rune(strings.Join(strings.Fields(s.command), " "))
	if len(name) > 80 {
		return string(name[:79]) + "…"
	}
	return string(name)
}

// exitLine words the end of a session.
func (s *session) exitLine(e end) string {
	switch {
	case e.why == endTimeout:
		return s.reason(e) + "."
	case e.status.signal != "":
		return fmt.Sprintf("Process exited with signal %s.", e.status.signal)
	}
	return fmt.Sprintf("Process exited with code %d.", e.status.code)
}

func poll(_ context.Context, s *session, _ processParams) tool.Result {
	v := s.lookTail() // before draining: what comes between is in the next poll
	text := strings.TrimRight(s.drain(), "\n")
	if text == "" && v.end != nil {
		text = strings.TrimRight(v.tail, "\n")
	}
	switch {
	case text != "":
	case v.end == nil:
		text = "(no new output)"
	default:
		text = "(no output)"
	}
	st := s.state(v)
	st.Tail = v.tail
	if v.end == nil {
		return answer(text+"\n\nProcess still running.", st)
	}
	return answer(text+"\n\n"+s.exitLine(*v.end), st)
}

func log(_ context.Context, s *session, p processParams) tool.Result {
	v := s.look()
	text := strings.TrimSuffix(v.output, "\n")
	var lines []string
	if text != "" {
		lines = strings.Split(text, "\n")
	}
	from, to := 0, len(lines)
	if p.Offset != nil {
		from = int(min(max(*p.Offset, 0), float64(len(lines))))
	}
	if p.Limit != nil {
		limit := int(min(max(*p.Limit, 1), 1e9))
		if p.Offset == nil {
			from = max(len(lines)-limit, 0)
		}
		to = min(from+limit, len(lines))
	}
	st := s.state(v)
	st.logState = &logState{Total: len(lines), TotalLines: len(lines), TotalChars: v.total, Truncated: v.cut}
	shown := strings.Join(lines[from:to], "\n")
	switch {
	case shown != "":
		return answer(shown, st)
	case len(lines) > 0 && from >= len(lines):
		return answer(fmt.Sprintf("(the log has %d lines)", len(lines)), st)
	case v.end == nil:
		return answer("(no output yet)", st)
	}
	return answer("(no output)", st)
}

func write(_ context.Context, s *session, p processParams) tool.Result {
	if p.Data == "" && !p.EOF {
		return answer("data is required for write", s.refused())
	}
	n, err := s.send([]byte(p.Data))
	if err != nil {
		return s.notWritten(n, err)
	}
	text := fmt.Sprintf("Wrote %d bytes to session %s", n, s.id)
	if p.EOF {
		if err := s.proc.closeInput(writeTimeout); err != nil {
			return s.notWritten(n, err)
		}
		text += " (input closed)"
	}
	return answer(text+".", s.state(s.lookTail()))
}

func sendKeys(_ context.Context, s *session, p processParams) tool.Result {
	keys, warnings := encodeKeys(p.Keys)
	raw, more := decodeHex(p.Hex)
	data := append(append([]byte(p.Literal), keys...), raw...)
	warnings = append(warnings, more...)
	note := ""
	if len(warnings) > 0 {
		note = "\nWarning: " + strings.Join(warnings, "; ") + "."
	}
	if len(data) == 0 {
		return answer("keys, hex or literal is required for send-keys"+note, s.refused())
	}
	n, err := s.send(data)
	if err != nil {
		return s.notWritten(n, err)
	}
	return answer(fmt.Sprintf("Sent %d bytes to session %s.%s", n, s.id, note), s.state(s.lookTail()))
}

func submit(_ context.Context, s *session, _ processParams) tool.Result {
	enter, name := "\n", "LF"
	if s.proc.tty {
		enter, name = "\r", "CR"
	}
	if n, err := s.send([]byte(enter)); err != nil {
		return s.notWritten(n, err)
	}
	return answer(fmt.Sprintf("Submitted session %s (sent %s).", s.id, name), s.state(s.lookTail()))
}

func paste(_ context.Context, s *session, p processParams) tool.Result {
	if p.Text == "" {
		return answer("text is required for paste", s.refused())
	}
	data := p.Text
	if bracketed := p.Bracketed; bracketed != nil && *bracketed || bracketed == nil && s.proc.tty {
		// The end mark inside the text would let the rest pass for typed.
		data = "\x1b[200~" + strings.ReplaceAll(data, "\x1b[201~", "") + "\x1b[201~"
	}
	n, err := s.send([]byte(data))
	if err != nil {
		return s.notWritten(n, err)
	}
	return answer(fmt.Sprintf("Pasted %d characters to session %s.", len([]rune(p.Text)), s.id), s.state(s.lookTail()))
}

// send writes to the input of s while it runs.
func (s *session) send(data []byte) (int, error) {
	if s.lookTail().end != nil {
		return 0, errEnded
	}
	if len(data) == 0 {
		return 0, nil
	}
	return s.proc.write(data, writeTimeout)
}

var errEnded = errors.New("the command has ended")

// refused is the state of a session for an action that did not happen.
func (s *session) refused() state {
	return state{Status: "failed", SessionID: s.id, Name: s.name()}
}

func (s *session) notWritten(n int, err error) tool.Result {
	why := err.Error()
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		why = fmt.Sprintf("the command does not read its input (%d bytes went through)", n)
	case errors.Is(err, os.ErrClosed):
		why = "its input is closed"
	}
	return answer(fmt.Sprintf("Cannot write to session %s: %s.", s.id, why), s.refused())
}

func (t *tools) kill(ctx context.Context, s *session, _ processParams) tool.Result {
	if v := s.lookTail(); v.end != nil {
		return answer(fmt.Sprintf("Session %s has ended already. %s", s.id, s.exitLine(*v.end)), s.state(v))
	}
	s.kill(endKill)
	gone := s.awaitEnd(ctx)
	text := fmt.Sprintf("Killed session %s.", s.id)
	if !gone {
		text = fmt.Sprintf("Session %s was told to end, but its processes are still there.", s.id)
	}
	st := s.state(s.lookTail())
	st.Status = "failed"
	return answer(text, st)
}

// awaitEnd waits for a killed session, but not for ever.
func (s *session) awaitEnd(ctx context.Context) bool {
	grace, cancel := context.WithTimeout(ctx, abortGrace)
	defer cancel()
	select {
	case <-s.done:
		return true
	case <-grace.Done():
		return false
	}
}

func (t *tools) clear(_ context.Context, s *session, _ processParams) tool.Result {
	v := s.lookTail()
	if v.end == nil {
		return answer(fmt.Sprintf("Session %s is still running; kill or remove it.", s.id), s.refused())
	}
	t.sh.forget(s)
	st := s.state(v)
	st.Status = "completed"
	return answer(fmt.Sprintf("Cleared session %s.", s.id), st)
}

func (t *tools) remove(ctx context.Context, s *session, _ processParams) tool.Result {
	v := s.lookTail()
	st := s.state(v)
	st.Status = "completed"
	t.sh.forget(s)
	if v.end == nil {
		s.kill(endKill)
		s.awaitEnd(ctx)
		st = s.state(s.lookTail())
		st.Status = "failed"
	}
	return answer(fmt.Sprintf("Removed session %s.", s.id), st)
}

// forget makes s disappear, at once from sight and from memory when it has ended.
func (sh *Shell) forget(s *session) {
	s.mu.Lock()
	s.removed = true
	s.mu.Unlock()
	sh.sessions.forget(s)
}
