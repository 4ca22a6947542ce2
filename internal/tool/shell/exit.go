package shell

import (
	"fmt"
	"strings"
	"time"
)

// Exit tells that a background command has ended.
type Exit struct {
	ID                  string // of the session
	AgentID, SessionKey string
	Command             string
	// Code is the exit code, -1 if a signal or the timeout ended the command.
	Code   int
	Signal string // such as "SIGKILL"; empty if the command exited by itself
	// TimedOut is set when the command was killed for taking too long.
	TimedOut bool
	Output   string // the last characters, at most 400, on one line
	Took     time.Duration
}

// Text returns the line that tells the agent.
func (e Exit) Text() string {
	status := "completed"
	if e.Code != 0 || e.Signal != "" || e.TimedOut {
		status = "failed"
	}
	how := fmt.Sprintf("code %d", e.Code)
	if e.Signal != "" {
		how = "signal " + e.Signal
	}
	text := fmt.Sprintf("Exec %s (%s, %s)", status, e.ID[:min(len(e.ID), 8)], how)
	if e.Output != "" {
		text += " :: " + e.Output
	}
	return text
}

// exit describes the end of s, which must have ended.
func (s *session) exit() Exit {
	v := s.lookTail()
	output := []rune(strings.Join(strings.Fields(v.tail), " "))
	return Exit{
		ID: s.id, AgentID: s.scope.AgentID, SessionKey: s.scope.SessionKey, Command: s.command,
		Code: v.end.status.code, Signal: v.end.status.signal, TimedOut: v.end.why == endTimeout,
		Output: string(output[max(len(output)-400, 0):]), Took: v.end.at.Sub(s.started),
	}
}
