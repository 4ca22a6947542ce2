package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"openclaw/internal/cli"
	"openclaw/protocol"
)

// logsFlags are the flags of logs.
type logsFlags struct {
	gatewayFlags
	limit    int
	maxBytes int64
	follow   bool
	interval int
	plain    bool
}

// logsCommand prints the gateway's log file. See docs/commands/logs.md.
func logsCommand(p *program) *cobra.Command {
	var f logsFlags
	cmd := &cobra.Command{
		Use:   "logs",
		Short: "Show the gateway's log",
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.limit < 1 || f.limit > 5000 {
				return cli.Fail("--limit must be between 1 and 5000")
			}
			if f.maxBytes < 1 || f.maxBytes > 1_000_000 {
				return cli.Fail("--max-bytes must be between 1 and 1000000")
			}
			if f.interval < 1 {
				return cli.Fail("--interval must be at least 1 (milliseconds)")
			}
			err := p.tailLogs(cmd.Context(), &f)
			var in cli.Interrupted
			if f.json && err != nil && !errors.As(context.Cause(cmd.Context()), &in) {
				return p.logsErrorJSON(err)
			}
			return err
		},
	}
	f.register(cmd, 10000)
	cmd.Flags().IntVar(&f.limit, "limit", 200, "lines to show at most")
	cmd.Flags().Int64Var(&f.maxBytes, "max-bytes", 250_000, "bytes to read at most")
	cmd.Flags().BoolVarP(&f.follow, "follow", "f", false, "go on printing new lines")
	cmd.Flags().IntVar(&f.interval, "interval", 1000, "milliseconds between two looks with --follow")
	cmd.Flags().BoolVar(&f.plain, "plain", false, "full times and no colours")
	return cmd
}

// tailLogs prints the end of the log and, with --follow, what comes after it.
func (p *program) tailLogs(ctx context.Context, f *logsFlags) error {
	conn, err := p.dial(ctx, f.gatewayFlags)
	if err != nil {
		return err
	}
	defer conn.Close()
	params := protocol.LogsTailParams{Limit: &f.limit, MaxBytes: &f.maxBytes}
	tick := time.NewTicker(time.Duration(f.interval) * time.Millisecond)
	defer tick.Stop()
	for first := true; ; first = false {
		var page protocol.LogsTailResult
		if err := conn.call(ctx, protocol.MethodLogsTail, params, &page); err != nil {
			return err
		}
		if err := p.printLogs(f, page, first); err != nil {
			return err
		}
		if !f.follow {
			return nil
		}
		cursor := page.Cursor
		params.Cursor = &cursor
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

func (p *program) printLogs(f *logsFlags, page protocol.LogsTailResult, first bool) error {
	out := json.NewEncoder(p.io.Out)
	out.SetEscapeHTML(false)
	emit := func(v any) error { return out.Encode(v) }
	if f.json && first {
		if err := emit(struct {
			Type   string `json:"type"`
			File   string `json:"file"`
			Cursor int64  `json:"cursor"`
			Size   int64  `json:"size"`
		}{"meta", page.File, page.Cursor, page.Size}); err != nil {
			return err
		}
	}
	if !f.json && first {
		p.io.Say("%s", p.io.ErrStyle().Dim("log file: "+p.io.Path(page.File)))
	}
	if notice := logsNotice(page, first); notice != "" {
		if !f.json {
			p.io.Say("%s", p.io.ErrStyle().Yellow(notice))
		} else if err := emit(map[string]string{"type": "notice", "message": notice}); err != nil {
			return err
		}
	}
	for _, line := range page.Lines {
		var err error
		if f.json {
			err = emit(parseLogLine(line))
		} else {
			_, err = fmt.Fprintln(p.io.Out, p.logText(parseLogLine(line), f.plain))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func logsNotice(page protocol.LogsTailResult, first bool) string {
	switch {
	case page.Reset && !first:
		return "the log was rotated or moved on faster than it was read; some lines are not shown"
	case page.Truncated:
		return "only the end of the log is shown (raise --max-bytes or --limit for more)"
	}
	return ""
}

// logLine is one line of the log as --json prints it.
type logLine struct {
	Type      string `json:"type"`
	Time      string `json:"time,omitempty"`
	Level     string `json:"level,omitempty"`
	Subsystem string `json:"subsystem,omitempty"`
	Module    string `json:"module,omitempty"`
	Message   string `json:"message,omitempty"`
	Raw       string `json:"raw"`

	attrs string
}

// parseLogLine reads a JSON line; anything else stays as it is.
func parseLogLine(line string) logLine {
	var fields map[string]json.RawMessage
	if json.Unmarshal([]byte(line), &fields) != nil {
		return logLine{Type: "raw", Raw: line}
	}
	text := func(key string) string {
		var s string
		_ = json.Unmarshal(fields[key], &s) // a field of another type is shown as an attribute
		if s != "" {
			delete(fields, key)
		}
		return s
	}
	l := logLine{Type: "log", Raw: line, Time: text("time"), Level: text("level"), Subsystem: text("subsystem"),
		Module: text("module"), Message: text("message")}
	if l.Time == "" && l.Message == "" {
		return logLine{Type: "raw", Raw: line}
	}
	var attrs []string
	for _, key := range sortedKeys(fields) {
		attrs = append(attrs, key+"="+string(fields[key]))
	}
	l.attrs = strings.Join(attrs, " ")
	return l
}

// logText is a line for people.
func (p *program) logText(l logLine, plain bool) string {
	if l.Type == "raw" {
		return l.Raw
	}
	if plain || !p.io.OutTTY {
		return joinNonEmpty(" ", l.Time, l.Level, l.Subsystem, l.Message, l.attrs)
	}
	style := p.io.OutStyle()
	at := l.Time
	if t, err := time.Parse(time.RFC3339, l.Time); err == nil {
		at = t.Local().Format(time.TimeOnly)
	}
	level := l.Level
	switch l.Level {
	case "error", "fatal":
		level = style.Red(level)
	case "warn":
		level = style.Yellow(level)
	default:
		level = style.Dim(level)
	}
	return joinNonEmpty(" ", style.Dim(at), level, style.Cyan(l.Subsystem), l.Message, style.Dim(l.attrs))
}

// logsErrorJSON reports a failed connection the way log readers expect it: one
// object on standard error.
func (p *program) logsErrorJSON(err error) error {
	line := struct {
		Type    string   `json:"type"`
		Message string   `json:"message"`
		Error   string   `json:"error"`
		Details []string `json:"details,omitempty"`
		Hint    string   `json:"hint,omitempty"`
	}{Type: "error", Message: "cannot read the gateway's log", Error: err.Error()}
	var e *cli.Error
	if errors.As(err, &e) {
		line.Details = e.Details
		line.Hint = strings.Join(e.Hints, "; ")
	}
	data, merr := json.Marshal(line)
	if merr != nil {
		return merr
	}
	p.io.Say("%s", data)
	return cli.Exit(1)
}
