package chat

import (
	"regexp"
	"strings"
	"time"
)

// notice is a line by which the gateway itself tells the model something.
var notice = regexp.MustCompile(`^System: \[[^\]\n]*\d{4}-\d{2}-\d{2} \d{2}:\d{2}[^\]\n]*\]`)

// Notice writes a system event as the lines that go before a prompt, in the zone
// of at: "System: [2026-01-01 00:00:00 UTC] text". Each line of text gets the
// prefix, so that nothing in it reads like the user's own words. Blank text gives
// an empty string.
func Notice(text string, at time.Time) string {
	prefix := "System: [" + at.Format("2006-01-02 15:04:05 ") + zoneName(at) + "] "
	var lines []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, prefix+line)
		}
	}
	return strings.Join(lines, "\n")
}

// AddNotices puts what [Notice] wrote before a prompt.
func AddNotices(prompt string, notices []string) string {
	if len(notices) == 0 {
		return prompt
	}
	return strings.Join(notices, "\n") + "\n\n" + prompt
}

// stripNotices removes the block that AddNotices wrote. Lines that are not
// followed by a blank one are the user's own.
func stripNotices(text string) string {
	rest := text
	for notice.MatchString(rest) {
		_, after, ok := strings.Cut(rest, "\n")
		if !ok {
			return text
		}
		rest = after
	}
	if stripped, ok := strings.CutPrefix(rest, "\n"); ok && len(rest) < len(text) {
		return stripped
	}
	return text
}
