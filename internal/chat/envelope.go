package chat

import (
	"regexp"
	"strings"
	"time"
)

var (
	header = regexp.MustCompile(`^\[([^\]\n]+)\][ \t]*`)
	// A header is ours when it carries a minute stamp or starts with a surface.
	headerStamp   = regexp.MustCompile(`\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2}(?::\d{2})?Z|[ T]\d{2}:\d{2})(?:\D|$)`)
	headerSurface = regexp.MustCompile(`^(?i:WebChat|WhatsApp|Telegram|Signal|Slack|Discord|Google Chat|iMessage|Teams|Matrix|Mattermost|LINE|Zalo|Zalo Personal|BlueBubbles) \S`)
	stamped       = regexp.MustCompile(`^\[[^\]\n]*\d{4}-\d{2}-\d{2} \d{2}:\d{2}`)
	messageIDLine = regexp.MustCompile(`^\s*\[message_id:\s*[^\]]+\]\s*$`)
)

// Stamp puts "[Thu 2026-01-01 00:00 UTC] " before text, in the zone of at.
// Blank text, text that is stamped already and text that tells the current time
// stay as they are. See docs/protocol.md#agent.
func Stamp(text string, at time.Time) string {
	if strings.TrimSpace(text) == "" || stamped.MatchString(text) || strings.Contains(text, "Current time: ") {
		return text
	}
	return "[" + at.Format("Mon 2006-01-02 15:04 ") + zoneName(at) + "] " + text
}

// zoneName gives the short name of at's zone; zones without one read "GMT+3".
func zoneName(at time.Time) string {
	name, offset := at.Zone()
	if name != "" && name[0] != '+' && name[0] != '-' {
		return name
	}
	sign := "+"
	if offset < 0 {
		sign, offset = "-", -offset
	}
	h, m := offset/3600, offset/60%60
	name = "GMT" + sign + itoa(h)
	if m != 0 {
		name += ":" + itoa(m/10) + itoa(m%10)
	}
	return name
}

func itoa(n int) string {
	if n >= 10 {
		return string(rune('0'+n/10)) + string(rune('0'+n%10))
	}
	return string(rune('0' + n))
}

// AddMessageID appends the line that tells the model the id of the message.
func AddMessageID(text, id string) string {
	if id == "" {
		return text
	}
	return text + "\n[message_id: " + id + "]"
}

// StripEnvelope removes what the transport put around a user's text: system
// events and one header at the start, and all message id lines. It is how history
// is shown.
func StripEnvelope(text string) string {
	text = stripNotices(text)
	if m := header.FindStringSubmatch(text); m != nil && isHeader(m[1]) {
		text = text[len(m[0]):]
	}
	return stripMessageIDs(text)
}

func isHeader(s string) bool {
	return headerStamp.MatchString(s) || headerSurface.MatchString(s)
}

func stripMessageIDs(text string) string {
	if !strings.Contains(text, "[message_id:") {
		return text
	}
	lines := strings.Split(text, "\n")
	kept := lines[:0]
	for _, line := range lines {
		if !messageIDLine.MatchString(line) {
			kept = append(kept, line)
		}
	}
	return strings.TrimRight(strings.Join(kept, "\n"), "\n")
}
