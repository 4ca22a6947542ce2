package anthropic

import (
	"strconv"
	"strings"

	"openclaw/internal/model"
)

type thinking struct {
	Type         string `json:"type"`
	BudgetTokens int    `json:"budget_tokens,omitempty"`
	Display      string `json:"display,omitempty"`
}

type outputConfig struct {
	Effort string `json:"effort"`
}

// minBudget is the smallest budget the API takes.
const minBudget = 1024

// budget is how many tokens a level may reason. See agent-runtime 18.8.
func budget(level string) int {
	switch level {
	case "minimal":
		return minBudget
	case "low":
		return 2048
	case "medium":
		return 8192
	case "high":
		return 16_384
	case "xhigh":
		return 32_768
	}
	return 0
}

// think asks for reasoning. Newer models choose the amount themselves within an
// effort and refuse budgets; older ones know budgets only.
func (r *request) think(info model.Info, level string) {
	version := claudeVersion(info.Ref.ID)
	if version >= 407 {
		r.Temperature = nil // these models have no such setting
	}
	tokens := budget(level)
	if !info.Reasoning || tokens == 0 {
		return
	}
	if version >= 406 {
		r.Thinking = &thinking{Type: "adaptive", Display: "summarized"}
		r.OutputConfig = &outputConfig{effort(level, version)}
		r.Temperature = nil
		return
	}
	// The budget is part of max_tokens: make room as far as the model allows, and
	// leave some for the answer.
	r.MaxTokens += tokens
	if info.MaxTokens > 0 {
		r.MaxTokens = min(r.MaxTokens, info.MaxTokens)
	}
	if tokens = min(tokens, r.MaxTokens-minBudget); tokens < minBudget {
		return
	}
	r.Thinking = &thinking{Type: "enabled", BudgetTokens: tokens}
	r.Temperature = nil // not allowed together
}

func effort(level string, version int) string {
	switch {
	case level == "minimal":
		return "low"
	case level == "xhigh" && version == 406:
		return "max" // that version has no xhigh
	}
	return level
}

// claudeVersion reads the version out of a model id: claude-opus-4-6 is 406,
// claude-sonnet-5 is 500. Ids of another form give 0.
func claudeVersion(id string) int {
	_, rest, ok := strings.Cut(strings.ToLower(id), "claude-")
	if !ok {
		return 0
	}
	var numbers []int
	for _, part := range strings.FieldsFunc(rest, func(r rune) bool { return r == '-' || r == '.' || r == '@' || r == ':' }) {
		if n, err := strconv.Atoi(part); err == nil && n < 100 { // longer ones are dates
			numbers = append(numbers, n)
		}
	}
	switch len(numbers) {
	case 0:
		return 0
	case 1:
		return numbers[0] * 100
	}
	return numbers[0]*100 + numbers[1]
}
