package shell

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"openclaw/internal/tool"
)

type execParams struct {
	_ struct{} `schema:"open"`

	Command    string         `json:"command" jsonschema:"Shell command to run"`
	Workdir    string         `json:"workdir,omitempty" jsonschema:"Folder to run it in (default: the workspace)"`
	Env        map[string]any `json:"env,omitempty" jsonschema:"Additional environment variables"`
	YieldMs    *float64       `json:"yieldMs,omitempty" jsonschema:"Milliseconds to wait before it moves to the background (default 10000)"`
	Background bool           `json:"background,omitempty" jsonschema:"Move it to the background at once"`
	Timeout    *float64       `json:"timeout,omitempty" jsonschema:"Seconds after which it is killed (default 1800, 0 for never)"`
	PTY        bool           `json:"pty,omitempty" jsonschema:"Run it on a terminal, for programs that need one"`
	Elevated   *bool          `json:"elevated,omitempty" jsonschema:"Run on the gateway host with elevated rights, where allowed"`
	Host       string         `json:"host,omitempty" jsonschema:"Where to run it: sandbox, gateway or node"`
	Security   string         `json:"security,omitempty" jsonschema:"Policy to tighten to: deny, allowlist or full"`
	Ask        string         `json:"ask,omitempty" jsonschema:"When to ask: off, on-miss or always"`
	Node       string         `json:"node,omitempty" jsonschema:"Node id or name with host=node"`
}

// Meta shows the command.
func (p execParams) Meta() string {
	meta := strings.TrimSpace(p.Command)
	if p.PTY {
		meta += " · pty"
	}
	if p.Elevated != nil && *p.Elevated {
		meta += " · elevated"
	}
	return meta
}

func (t *tools) execTool() tool.Tool {
	return tool.New(tool.Spec{
		Name: "exec", Label: "Exec",
		Description: "Run a shell command. It moves to the background when it takes long or with background=true; follow it with the process tool. " +
			"pty=true gives it a terminal.",
		Summary: "Run shell commands",
	}, t.exec)
}

// plan is a checked call of exec.
type plan struct {
	command, dir string
	env          []string
	timeout      time.Duration // 0 for none
	yield        time.Duration // 0 for never
	background   bool
	tty          bool
	warnings     []string
}

func (t *tools) exec(ctx context.Context, call tool.Call, p execParams) (tool.Result, error) {
	pl, err := t.plan(ctx, p)
	if err != nil {
		return tool.Result{}, err
	}
	if err := context.Cause(ctx); err != nil {
		return tool.Result{}, err
	}
	s, err := t.sh.start(&pl, t.scope)
	if err != nil {
		return tool.Result{}, err
	}
	return t.follow(ctx, call, s, pl)
}

func (t *tools) plan(ctx context.Context, p execParams) (plan, error) {
	set := t.scope.Settings
	command, err := tool.Need("command", p.Command)
	if err != nil {
		return plan{}, err
	}
	if strings.ContainsRune(command, 0) {
		return plan{}, errors.New("command must not hold a NUL byte")
	}
	at, err := t.scope.resolve(p)
	if err != nil {
		return plan{}, err
	}
	pl := plan{command: p.Command, tty: p.PTY, background: p.Background, timeout: timeout(p.Timeout, set.Timeout)}
	var warning string
	if pl.dir, warning, err = t.folder(p.Workdir); err != nil {
		return plan{}, err
	}
	pl.warn(warning)
	if pl.env, err = t.environ(at.host, pl.dir, p.Env); err != nil {
		return plan{}, err
	}
	pl.yield = within(set.Yield, 10*time.Second, 10*time.Millisecond, 2*time.Minute)
	if p.YieldMs != nil {
		pl.yield = within(time.Duration(min(max(*p.YieldMs, 1), 1e6)*float64(time.Millisecond)), pl.yield, 10*time.Millisecond, 2*time.Minute)
	}
	if t.scope.Foreground {
		if p.Background || p.YieldMs != nil {
			pl.warn("Warning: this run cannot follow background commands, the command runs to its end.")
		}
		pl.background, pl.yield = false, 0
	}
	return pl, t.permit(ctx, at, command, pl.dir)
}

// timeout returns how long a command may run, 0 for as long as it likes.
func timeout(seconds *float64, def time.Duration) time.Duration {
	if seconds == nil || *seconds < 0 {
		return within(def, 30*time.Minute, time.Millisecond, 1<<62)
	}
	return time.Duration(min(*seconds, 1e9) * float64(time.Second))
}

func (p *plan) warn(text string) {
	if text != "" {
		p.warnings = append(p.warnings, text)
	}
}

// launch starts the command, on pipes where a terminal cannot be had.
func (p *plan) launch(l launch) (*proc, error) {
	if !p.tty {
		return start(l)
	}
	onTTY := l
	onTTY.env = append(l.env[:len(l.env):len(l.env)], "TERM=xterm-256color")
	proc, err := startTTY(onTTY)
	if err != nil {
		p.warn(fmt.Sprintf("Warning: no terminal (%v), the command runs without one.", err))
		return start(l)
	}
	return proc, nil
}
