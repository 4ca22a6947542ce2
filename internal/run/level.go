package run

import "strings"

// The levels a session or a run can be set to, lowest first. See
// docs/runtime.md#directives.
var (
	thinkLevels     = []string{"off", "minimal", "low", "medium", "high", "xhigh"}
	verboseLevels   = []string{"off", "on", "full"}
	reasoningLevels = []string{"off", "on", "stream"}
	elevatedLevels  = []string{"off", "on", "ask", "full"}
)

// ThinkLevel reads how hard a model shall think. Usual synonyms are understood;
// ok is false for anything else.
func ThinkLevel(text string) (level string, ok bool) {
	return normal(text, thinkLevels, map[string]string{
		"on": "low", "enable": "low", "enabled": "low", "min": "minimal", "think": "minimal",
		"thinkhard": "low", "think-hard": "low",
		"med": "medium", "mid": "medium", "thinkharder": "medium", "think-harder": "medium", "harder": "medium",
		"ultra": "high", "ultrathink": "high", "thinkhardest": "high", "highest": "high", "max": "high",
		"x-high": "xhigh", "x_high": "xhigh",
	})
}

// VerboseLevel reads how much of tool calls is shown.
func VerboseLevel(text string) (level string, ok bool) {
	return normal(text, verboseLevels, map[string]string{
		"false": "off", "no": "off", "0": "off",
		"minimal": "on", "true": "on", "yes": "on", "1": "on", "all": "full", "everything": "full",
	})
}

// ReasoningLevel reads whether a model's thoughts are shown.
func ReasoningLevel(text string) (level string, ok bool) {
	return normal(text, reasoningLevels, map[string]string{
		"hide": "off", "hidden": "off", "false": "off", "no": "off", "0": "off", "disable": "off", "disabled": "off",
		"show": "on", "visible": "on", "true": "on", "yes": "on", "1": "on", "enable": "on", "enabled": "on",
		"streaming": "stream", "draft": "stream", "live": "stream",
	})
}

// ElevatedLevel reads whether commands may leave the sandbox.
func ElevatedLevel(text string) (level string, ok bool) {
	return normal(text, elevatedLevels, map[string]string{
		"false": "off", "no": "off", "0": "off", "true": "on", "yes": "on", "1": "on",
		"prompt": "ask", "approval": "ask", "approve": "ask", "auto": "full", "auto-approve": "full", "autoapprove": "full",
	})
}

func normal(text string, levels []string, synonyms map[string]string) (string, bool) {
	text = strings.ToLower(strings.TrimSpace(text))
	for _, l := range levels {
		if text == l {
			return l, true
		}
	}
	l, ok := synonyms[text]
	return l, ok
}
