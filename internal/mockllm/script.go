package mockllm

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"strings"
	"time"

	"openclaw/internal/cue"
)

// ScriptTurn is one prepared turn: a cue in Do, or the reply spelled out.
type ScriptTurn struct {
	// Match keeps the turn for a request whose last user message fits; nil fits all.
	Match *regexp.Regexp
	Do    string // a cue; its first step is taken

	Thinking, Text string
	Calls          []cue.Call
	Delay          time.Duration // before the first byte
	Error          string        // an HTTP status, "overloaded" or "context_overflow"
}

// ReadScript reads turns as JSON lines with the fields match, do, text,
// thinking, tool_calls ([{name, args}]), delay_ms and error. Blank lines and
// lines that start with # are skipped.
func ReadScript(r io.Reader) ([]ScriptTurn, error) {
	var turns []ScriptTurn
	sc := bufio.NewScanner(r)
	sc.Buffer(nil, 16<<20)
	for n := 1; sc.Scan(); n++ {
		line := bytes.TrimSpace(sc.Bytes())
		if len(line) == 0 || line[0] == '#' {
			continue
		}
		t, err := readTurn(line)
		if err != nil {
			return nil, fmt.Errorf("script line %d: %w", n, err)
		}
		turns = append(turns, t)
	}
	return turns, sc.Err()
}

func readTurn(line []byte) (ScriptTurn, error) {
	var in struct {
		Match    string `json:"match"`
		Do       string `json:"do"`
		Thinking string `json:"thinking"`
		Text     string `json:"text"`
		Calls    []struct {
			Name string          `json:"name"`
			Args json.RawMessage `json:"args"`
		} `json:"tool_calls"`
		DelayMS int    `json:"delay_ms"`
		Error   string `json:"error"`
	}
	if err := json.Unmarshal(line, &in); err != nil {
		return ScriptTurn{}, err
	}
	t := ScriptTurn{Do: in.Do, Thinking: in.Thinking, Text: in.Text, Error: in.Error,
		Delay: time.Duration(in.DelayMS) * time.Millisecond}
	for _, c := range in.Calls {
		args := strings.TrimSpace(string(c.Args))
		if args == "" {
			args = "{}"
		}
		t.Calls = append(t.Calls, cue.Call{Name: c.Name, Args: args})
	}
	if in.Match != "" {
		re, err := regexp.Compile(in.Match)
		if err != nil {
			return ScriptTurn{}, err
		}
		t.Match = re
	}
	return t, nil
}

// nextScripted takes the next turn of the script, if it fits this request.
func (s *Server) nextScripted(c *conversation) (reply, bool) {
	t, ok := s.takeTurn(c)
	if !ok {
		return reply{}, false
	}
	if t.Do != "" {
		return s.follow(t.Do, c, 0), true
	}
	return reply{Turn: cue.Turn{Verb: cue.Say, Thinking: t.Thinking, Text: t.Text, Failure: t.Error, Delay: t.Delay, Calls: t.Calls}}, true
}

func (s *Server) takeTurn(c *conversation) (ScriptTurn, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.scriptAt >= len(s.cfg.Script) && s.cfg.ScriptLoop {
		s.scriptAt = 0
	}
	if s.scriptAt >= len(s.cfg.Script) {
		return ScriptTurn{}, false
	}
	t := s.cfg.Script[s.scriptAt]
	if t.Match != nil && !t.Match.MatchString(c.lastUser) {
		return ScriptTurn{}, false
	}
	s.scriptAt++
	return t, true
}
