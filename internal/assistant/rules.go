package assistant

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"openclaw/byo"
)

// ByRules answers a question by a few rules, without a model: for trying things out
// where none is connected.
func ByRules(q Question) (Answer, error) {
	var in byo.ReasoningInput
	if json.Unmarshal([]byte(q.Input), &in) != nil {
		in.UserPrompt = q.Input
	}
	var value any
	switch q.Purpose {
	case byo.PurposeLiveAnalysis:
		value = look(remarks(in.UserPrompt))
	case byo.PurposeSessionSummary:
		value = sumUp(remarks(in.UserPrompt))
	case byo.PurposeCapabilityProbe:
		return Answer{Text: "I point out questions, numbers and warning words in a call, and list promises after it. I do so by rules and without a language model.", ModelRef: RulesRef}, nil
	default:
		value = map[string]string{"note": "This would need a language model, and none is connected."}
	}
	data, err := json.Marshal(value)
	return Answer{Text: string(data), ModelRef: RulesRef}, err
}

// InsightByRules is what stands out in a piece of a call, "none" when nothing does.
func InsightByRules(transcript string) string {
	if found := look(remarks(transcript)).Signals; len(found) > 0 {
		return found[len(found)-1].Message
	}
	return "none"
}

// RulesRef stands for the rules where a model is named.
const RulesRef = "offline/rules"

var (
	grave   = regexp.MustCompile(`(?i)\b(cancel|terminat\w+|lawyer|lawsuit|too expensive|competitor|unacceptable|escalat\w+)\b`)
	numbers = regexp.MustCompile(`(?i)(\d+(?:[.,]\d+)?\s?(?:%|percent|euros?|dollars?|seats?|days?|weeks?|months?|years?)|[€$£]\s?\d[\d.,]*)`)
	promise = regexp.MustCompile(`(?i)\b(I'll|I will|we'll|we will|let me|I can) (.+)`)
	due     = regexp.MustCompile(`(?i)\b(?:by|until|before|on) ((?:next |end of )?(?:monday|tuesday|wednesday|thursday|friday|week|month|quarter|tomorrow|tonight))\b`)
)

const maxQuote = 160 // characters

// remark is a line of a transcript.
type remark struct{ who, text string }

func remarks(transcript string) []remark {
	var list []remark
	for line := range strings.Lines(transcript) {
		who, text, ok := strings.Cut(strings.TrimSpace(line), ": ")
		if !ok {
			who, text = "", strings.TrimSpace(line)
		}
		if text != "" {
			list = append(list, remark{who, text})
		}
	}
	return list
}

func quote(s string) string {
	if r := []rune(s); len(r) > maxQuote {
		s = strings.TrimSpace(string(r[:maxQuote])) + "…"
	}
	return "\"" + s + "\""
}

func others(who string) bool { return who != "" && !strings.EqualFold(who, "me") }

// signal is what stands out in a remark, if anything does.
func signal(r remark) (severity, message string) {
	switch {
	case others(r.who) && grave.MatchString(r.text):
		return "red", "This may go wrong: " + quote(r.text)
	case others(r.who) && strings.HasSuffix(r.text, "?"):
		return "orange", r.who + " asked: " + quote(r.text)
	case others(r.who) && numbers.MatchString(r.text):
		return "green", r.who + " named a number, " + numbers.FindString(r.text) + "."
	}
	return "", ""
}

// look finds what stands out in the last remarks.
func look(list []remark) byo.LiveAnalysis {
	found := byo.LiveAnalysis{Signals: []byo.Signal{}}
	for _, r := range list[max(0, len(list)-4):] {
		if severity, message := signal(r); severity != "" {
			found.Signals = append(found.Signals, byo.Signal{Severity: severity, Message: message})
		}
	}
	if len(found.Signals) == 0 {
		found.NoSignalReason = "Nothing in the last remarks stands out by the rules."
	}
	return found
}

// sumUp picks from a transcript what looks like a promise, a number or an open question.
func sumUp(list []remark) byo.SessionSummary {
	s := byo.SessionSummary{KeyPoints: []string{}, ActionItems: []byo.ActionItem{}, FollowUps: []string{}}
	names := map[string]bool{}
	var order []string
	for i, r := range list {
		if r.who != "" && !names[r.who] {
			names[r.who] = true
			order = append(order, r.who)
		}
		if numbers.MatchString(r.text) {
			s.KeyPoints = append(s.KeyPoints, r.who+": "+quote(r.text))
		}
		if m := promise.FindStringSubmatch(r.text); m != nil {
			item := byo.ActionItem{Text: strings.TrimRight(m[2], " ."), Owner: r.who}
			if d := due.FindStringSubmatch(r.text); d != nil {
				item.Due = d[1]
			}
			s.ActionItems = append(s.ActionItems, item)
		}
		if others(r.who) && strings.HasSuffix(r.text, "?") && i == len(list)-1 {
			s.FollowUps = append(s.FollowUps, r.text)
		}
	}
	s.Summary = fmt.Sprintf("%d remarks of %s, picked by rules and not by a model.", len(list), strings.Join(order, ", "))
	if len(list) > 0 {
		s.Summary += " It began with " + quote(list[0].text) + " and ended with " + quote(list[len(list)-1].text) + "."
	}
	return s
}
