package agent

import (
	"bytes"
	"encoding/json"
	"strings"
	"time"
	"unicode/utf8"

	"openclaw/internal/tool"
	"openclaw/internal/workspace"
)

// report says what the system prompt of a run was made of, in the shape the
// session entry stores. See docs/runtime.md#prompt-report.
type report struct {
	Source            string        `json:"source"`
	GeneratedAt       int64         `json:"generatedAt"`
	SessionID         string        `json:"sessionId"`
	SessionKey        string        `json:"sessionKey,omitempty"`
	Provider          string        `json:"provider"`
	Model             string        `json:"model"`
	WorkspaceDir      string        `json:"workspaceDir"`
	BootstrapMaxChars int           `json:"bootstrapMaxChars"`
	Sandbox           reportSandbox `json:"sandbox"`
	SystemPrompt      reportPrompt  `json:"systemPrompt"`
	Files             []reportFile  `json:"injectedWorkspaceFiles"`
	Skills            reportSkills  `json:"skills"`
	Tools             reportTools   `json:"tools"`
}

type reportSandbox struct {
	Mode      string `json:"mode"`
	Sandboxed bool   `json:"sandboxed"`
}

type reportPrompt struct {
	Chars           int `json:"chars"`
	ProjectChars    int `json:"projectContextChars"`
	NonProjectChars int `json:"nonProjectContextChars"`
}

type reportFile struct {
	Name          string `json:"name"`
	Path          string `json:"path"`
	Missing       bool   `json:"missing"`
	RawChars      int    `json:"rawChars"`
	InjectedChars int    `json:"injectedChars"`
	Truncated     bool   `json:"truncated"`
}

type reportSkills struct {
	PromptChars int           `json:"promptChars"`
	Entries     []reportSkill `json:"entries"`
}

type reportSkill struct {
	Name       string `json:"name"`
	BlockChars int    `json:"blockChars"`
}

type reportTools struct {
	ListChars   int          `json:"listChars"`
	SchemaChars int          `json:"schemaChars"`
	Entries     []reportTool `json:"entries"`
}

type reportTool struct {
	Name            string `json:"name"`
	SummaryChars    int    `json:"summaryChars"`
	SchemaChars     int    `json:"schemaChars"`
	PropertiesCount int    `json:"propertiesCount"`
}

// newReport describes the prompt p, whose finished text is text.
func newReport(p prompt, text string, projectChars int, at time.Time) report {
	chars := utf8.RuneCountInString(text)
	r := report{
		Source: "run", GeneratedAt: at.UnixMilli(), WorkspaceDir: p.workspace,
		Sandbox:      reportSandbox{Mode: "off"},
		SystemPrompt: reportPrompt{Chars: chars, ProjectChars: projectChars, NonProjectChars: chars - projectChars},
		Files:        reportFiles(p.files),
		Skills:       reportSkills{PromptChars: utf8.RuneCountInString(p.skills), Entries: skillEntries(p.skills)},
		Tools:        reportTools{ListChars: utf8.RuneCountInString(strings.Join(p.toolLines(), "\n")), Entries: []reportTool{}},
	}
	if p.sandbox != nil {
		r.Sandbox = reportSandbox{Mode: "all", Sandboxed: true}
	}
	for _, s := range p.tools {
		e := reportToolOf(s)
		r.Tools.SchemaChars += e.SchemaChars
		r.Tools.Entries = append(r.Tools.Entries, e)
	}
	return r
}

func reportFiles(files []workspace.File) []reportFile {
	list := make([]reportFile, 0, len(files))
	for _, f := range files {
		list = append(list, reportFile{f.Name, f.Path, f.Missing, f.RawChars, f.InjectedChars, f.Truncated})
	}
	return list
}

func reportToolOf(s tool.Spec) reportTool {
	var schema struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	_ = json.Unmarshal(s.Parameters, &schema) // a schema without properties counts none
	summary := s.Description
	if summary == "" {
		summary = s.Summary
	}
	return reportTool{
		Name: s.Name, SummaryChars: utf8.RuneCountInString(summary),
		SchemaChars: utf8.RuneCount(s.Parameters), PropertiesCount: len(schema.Properties),
	}
}

// skillEntries measures the <skill> blocks of a skills prompt.
func skillEntries(text string) []reportSkill {
	entries := []reportSkill{}
	for {
		_, after, ok := strings.Cut(text, "<skill>")
		if !ok {
			return entries
		}
		block, rest, ok := strings.Cut(after, "</skill>")
		if !ok {
			return entries
		}
		_, name, _ := strings.Cut(block, "<name>")
		name, _, _ = strings.Cut(name, "</name>")
		entries = append(entries, reportSkill{Name: strings.TrimSpace(name),
			BlockChars: utf8.RuneCountInString("<skill>" + block + "</skill>")})
		text = rest
	}
}

// encode returns the JSON form of r, without HTML escaping.
func (r report) encode() json.RawMessage {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(r); err != nil {
		return nil // strings and numbers always encode
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n"))
}
