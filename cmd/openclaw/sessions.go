package main

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"openclaw/internal/chat"
	"openclaw/internal/cli"
	"openclaw/internal/model"
	"openclaw/internal/session"
)

// sessionLine is one session as --json prints it.
type sessionLine struct {
	Key             string `json:"key"`
	Kind            string `json:"kind"`
	UpdatedAt       *int64 `json:"updatedAt"`
	AgeMs           *int64 `json:"ageMs"`
	SessionID       string `json:"sessionId,omitempty"`
	SystemSent      *bool  `json:"systemSent,omitempty"`
	AbortedLastRun  *bool  `json:"abortedLastRun,omitempty"`
	ThinkingLevel   string `json:"thinkingLevel,omitempty"`
	VerboseLevel    string `json:"verboseLevel,omitempty"`
	ReasoningLevel  string `json:"reasoningLevel,omitempty"`
	ElevatedLevel   string `json:"elevatedLevel,omitempty"`
	ResponseUsage   string `json:"responseUsage,omitempty"`
	GroupActivation string `json:"groupActivation,omitempty"`
	InputTokens     *int   `json:"inputTokens,omitempty"`
	OutputTokens    *int   `json:"outputTokens,omitempty"`
	TotalTokens     *int   `json:"totalTokens,omitempty"`
	Model           string `json:"model,omitempty"`
	ContextTokens   *int   `json:"contextTokens,omitempty"`
}

type sessionReport struct {
	Path          string        `json:"path"`
	Count         int           `json:"count"`
	ActiveMinutes *int          `json:"activeMinutes"`
	Sessions      []sessionLine `json:"sessions"`
}

// sessionsCommand lists sessions from the files. See docs/commands/sessions.md.
func sessionsCommand(p *program) *cobra.Command {
	var asJSON, verbose bool
	var path string
	var active int
	cmd := &cobra.Command{
		Use:   "sessions",
		Short: "List the sessions of the default agent",
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var within *int
			if cmd.Flags().Changed("active") {
				if active < 1 {
					return cli.Fail("--active must be at least 1 (minutes)")
				}
				within = &active
			}
			r, err := p.sessionReport(path, within)
			if err != nil {
				return err
			}
			if asJSON {
				return p.io.JSON(r)
			}
			return p.printSessions(r, verbose)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the sessions as JSON")
	cmd.Flags().BoolVar(&verbose, "verbose", false, "show full keys and session ids")
	cmd.Flags().StringVar(&path, "store", "", "another sessions.json")
	cmd.Flags().IntVar(&active, "active", 0, "only sessions used within so many minutes")
	return cmd
}

// sessionReport reads a store without changing it. CLI-014.
func (p *program) sessionReport(path string, within *int) (sessionReport, error) {
	c := p.snapshot().Config
	agent := c.DefaultAgentID()
	dir := p.paths.State("agents", agent, "sessions")
	if path == "" {
		path = c.SessionStore(p.paths, agent)
	} else {
		abs, err := filepath.Abs(path)
		if err != nil {
			return sessionReport{}, fmt.Errorf("find the store %s: %w", path, err)
		}
		path, dir = abs, filepath.Dir(abs)
	}
	items, err := readSessions(dir, path, agent)
	if err != nil {
		return sessionReport{}, err
	}
	r := sessionReport{Path: path, ActiveMinutes: within, Sessions: []sessionLine{}}
	info := p.defaultInfo()
	for _, it := range items {
		line := p.sessionLine(it, info)
		if within != nil && (line.AgeMs == nil || *line.AgeMs > int64(*within)*60_000) {
			continue
		}
		r.Sessions = append(r.Sessions, line)
	}
	r.Count = len(r.Sessions)
	return r, nil
}

// readSessions lists a store, newest first, and lets go of it.
func readSessions(dir, path, agent string) ([]session.Item, error) {
	st, err := session.Open(session.Config{Dir: dir, Path: path, AgentID: agent})
	if err != nil {
		return nil, err
	}
	items := slices.Clone(st.List())
	return items, st.Close()
}

// defaultInfo describes the model of sessions that have none of their own.
func (p *program) defaultInfo() model.Info {
	dir := newModels(p.paths, p.snapshot).base
	ref := dir.Default()
	info, err := dir.Lookup(ref)
	if err != nil {
		return model.Info{Ref: ref, ContextWindow: model.DefaultWindow}
	}
	return info
}

func (p *program) sessionLine(it session.Item, fallback model.Info) sessionLine {
	e := it.Entry
	l := sessionLine{
		Key: it.Key, Kind: string(chat.KeyKind(it.Key, e.ChatType)), SessionID: e.SessionID,
		SystemSent: e.SystemSent, AbortedLastRun: e.AbortedLastRun,
		ThinkingLevel: e.ThinkingLevel, VerboseLevel: e.VerboseLevel, ReasoningLevel: e.ReasoningLevel, ElevatedLevel: e.ElevatedLevel,
		ResponseUsage: e.ResponseUsage, GroupActivation: e.GroupActivation,
		InputTokens: e.InputTokens, OutputTokens: e.OutputTokens, TotalTokens: e.TotalTokens,
		Model: cmp.Or(e.Model, e.ModelOverride, fallback.Ref.ID), ContextTokens: e.ContextTokens,
	}
	if l.ContextTokens == nil && fallback.ContextWindow > 0 {
		l.ContextTokens = &fallback.ContextWindow
	}
	if e.UpdatedAt > 0 {
		age := max(0, p.now().UnixMilli()-e.UpdatedAt)
		l.UpdatedAt, l.AgeMs = &e.UpdatedAt, &age
	}
	return l
}

func (p *program) printSessions(r sessionReport, verbose bool) error {
	fmt.Fprintf(p.io.Out, "Session store: %s\n", p.io.Path(r.Path))
	what := count(r.Count, "session")
	if r.ActiveMinutes != nil {
		what += fmt.Sprintf(" used within %s", count(*r.ActiveMinutes, "minute"))
	}
	fmt.Fprintf(p.io.Out, "%s\n", what)
	if r.Count == 0 {
		return nil
	}
	columns := []cli.Column{{Title: "Kind"}, {Title: "Key", Max: 26}, {Title: "Age"}, {Title: "Model"}, {Title: "Tokens (ctx %)"}, {Title: "Flags"}}
	if verbose {
		columns[1].Max = 0
	}
	table := cli.NewTable(columns...)
	for _, s := range r.Sessions {
		age := "unknown"
		if s.AgeMs != nil {
			age = cli.Age(time.Duration(*s.AgeMs) * time.Millisecond)
		}
		table.Row(s.Kind, s.Key, age, s.Model, tokensText(s), sessionFlags(s, verbose))
	}
	fmt.Fprintln(p.io.Out)
	return table.Write(p.io.Out)
}

// tokensText is the use of the context window, such as "12.3k/200k (6%)".
func tokensText(s sessionLine) string {
	if s.TotalTokens == nil {
		return "-"
	}
	text := cli.Tokens(*s.TotalTokens)
	if s.ContextTokens != nil && *s.ContextTokens > 0 {
		text += fmt.Sprintf("/%s (%d%%)", cli.Tokens(*s.ContextTokens), min(999, *s.TotalTokens*100 / *s.ContextTokens))
	}
	return text
}

func sessionFlags(s sessionLine, verbose bool) string {
	var flags []string
	for _, f := range []struct{ name, value string }{
		{"think", s.ThinkingLevel}, {"verbose", s.VerboseLevel}, {"reasoning", s.ReasoningLevel}, {"elevated", s.ElevatedLevel},
		{"usage", s.ResponseUsage}, {"activation", s.GroupActivation},
	} {
		if f.value != "" {
			flags = append(flags, f.name+":"+f.value)
		}
	}
	if s.AbortedLastRun != nil && *s.AbortedLastRun {
		flags = append(flags, "aborted")
	}
	if verbose && s.SessionID != "" {
		flags = append(flags, "id:"+s.SessionID)
	}
	return strings.Join(flags, " ")
}
