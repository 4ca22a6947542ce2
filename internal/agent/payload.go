package agent

import (
	"strings"

	"openclaw/internal/run"
)

// payloads builds the reply of a run: the error first, then what the model said,
// one payload for each of its messages. When there is nothing to show and the
// last tool failed, the failure is shown, because a silent failed run helps
// nobody; a model that chose silence after the failure is respected. See
// docs/runtime.md#payloads.
func payloads(res result, errText string, showReasoning bool) []run.Payload {
	list := []run.Payload{}
	add := func(text string) {
		text = strings.TrimSpace(text)
		if text == "" || len(list) > 0 && list[len(list)-1].Text == text {
			return
		}
		list = append(list, run.Payload{Text: text})
	}
	add(errText)
	for _, r := range res.replies {
		if showReasoning {
			add(italics(r.reasoning))
		}
		if errText == "" || strings.TrimSpace(r.text) != strings.TrimSpace(errText) {
			add(r.text)
		}
	}
	if len(list) == 0 && res.failed && !res.silent {
		add(res.failure)
		for i := range list {
			list[i].IsError = true
		}
	}
	return list
}

// italics shows a model's thoughts as a message of their own.
func italics(thoughts string) string {
	thoughts = strings.TrimSpace(thoughts)
	if thoughts == "" {
		return ""
	}
	var b strings.Builder
	b.WriteString("Reasoning:")
	for line := range strings.Lines(thoughts) {
		b.WriteString("\n")
		if line = strings.TrimSpace(line); line != "" {
			b.WriteString("_" + line + "_")
		}
	}
	return b.String()
}
