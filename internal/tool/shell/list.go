package shell

import (
	"fmt"
	"strings"
	"time"

	"openclaw/internal/tool"
)

// listed is one session in the details of process list.
type listed struct {
	SessionID  string `json:"sessionId"`
	Status     string `json:"status"`
	PID        int    `json:"pid,omitempty"`
	StartedAt  int64  `json:"startedAt"`
	EndedAt    int64  `json:"endedAt,omitempty"`
	RuntimeMs  int64  `json:"runtimeMs"`
	Cwd        string `json:"cwd"`
	Command    string `json:"command"`
	Name       string `json:"name"`
	Tail       string `json:"tail"`
	Truncated  bool   `json:"truncated"`
	ExitCode   *int   `json:"exitCode,omitempty"`
	ExitSignal string `json:"exitSignal,omitempty"`
}

type listDetails struct {
	Status   string   `json:"status"` // completed
	Sessions []listed `json:"sessions"`
}

func (t *tools) list() tool.Result {
	details := listDetails{Status: "completed", Sessions: []listed{}}
	var lines []string
	for _, s := range t.sh.sessions.list(t.scope.AgentID) {
		v := s.lookTail()
		st := s.state(v)
		row := listed{SessionID: s.id, Status: st.Status, StartedAt: s.started.UnixMilli(), Cwd: s.dir, Command: s.command,
			Name: st.Name, Tail: v.tail, Truncated: v.cut, ExitCode: st.ExitCode, ExitSignal: st.ExitSignal}
		until := time.Now()
		if v.end != nil {
			until = v.end.at
			row.EndedAt = until.UnixMilli()
		} else {
			row.PID = s.proc.pid()
		}
		runtime := until.Sub(s.started)
		row.RuntimeMs = runtime.Milliseconds()
		details.Sessions = append(details.Sessions, row)
		lines = append(lines, fmt.Sprintf("%s %-9s %s :: %s", s.id, st.Status, duration(runtime), st.Name))
	}
	if len(lines) == 0 {
		lines = []string{"No running or recent sessions."}
	}
	return answer(strings.Join(lines, "\n"), details)
}

// duration words d with two units at most.
func duration(d time.Duration) string {
	switch {
	case d < time.Second:
		return fmt.Sprintf("%dms", d.Milliseconds())
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", int(d.Minutes()), int(d.Seconds())%60)
	}
	return fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60)
}
