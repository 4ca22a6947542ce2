package chat

import (
	"testing"
	"time"
)

func TestStripEnvelope(t *testing.T) {
	tests := []struct{ in, want string }{
		{"[Thu 2026-01-01 00:00 UTC] long 60", "long 60"},
		{"[Thu 2026-01-01 00:00 UTC] say hello chat\n[message_id: idem-chat-1]", "say hello chat"},
		{"a\n[message_id: x]\nb", "a\nb"},
		{"[message_id: x]", ""},
		{"inline [message_id: x] stays", "inline [message_id: x] stays"},
		{"[Telegram Bob id:7 +3m 2026-01-01T10:00Z] hi", "hi"},
		{"[WhatsApp +49123] hi", "hi"},
		{"[Signal Bob 2026-01-01 10:00 CET] Bob: hi", "Bob: hi"},
		{"[x] a todo", "[x] a todo"},
		{"[1,2,3]", "[1,2,3]"},
		{"[Slack] export", "[Slack] export"},
		{"[due 2026-01-01] pay", "[due 2026-01-01] pay"},
		{"[Thu 2026-01-01 00:00 UTC] [Fri 2026-01-02 00:00 UTC] twice", "[Fri 2026-01-02 00:00 UTC] twice"},
		{"", ""},
		{"no envelope", "no envelope"},
		{"keeps trailing space ", "keeps trailing space "},
	}
	for _, tt := range tests {
		if got := StripEnvelope(tt.in); got != tt.want {
			t.Errorf("StripEnvelope(%q) = %q, want %q", tt.in, got, tt.want)
		}
	}
}

func TestStamp(t *testing.T) {
	utc := time.Date(2026, 1, 1, 0, 0, 59, 0, time.UTC)
	tests := []struct {
		text string
		at   time.Time
		want string
	}{
		{"say x", utc, "[Thu 2026-01-01 00:00 UTC] say x"},
		{"say x", utc.In(time.FixedZone("CET", 3600)), "[Thu 2026-01-01 01:00 CET] say x"},
		{"say x", utc.In(time.FixedZone("+0530", 5*3600+1800)), "[Thu 2026-01-01 05:30 GMT+5:30] say x"},
		{"say x", utc.In(time.FixedZone("-03", -3*3600)), "[Wed 2025-12-31 21:00 GMT-3] say x"},
		{"say x", utc.In(time.FixedZone("", 12*3600)), "[Thu 2026-01-01 12:00 GMT+12] say x"},
		{"  ", utc, "  "},
		{"[Telegram Bob 2026-01-01 10:00 UTC] hi", utc, "[Telegram Bob 2026-01-01 10:00 UTC] hi"},
		{"tick. Current time: now", utc, "tick. Current time: now"},
		{"[x] todo", utc, "[Thu 2026-01-01 00:00 UTC] [x] todo"},
	}
	for _, tt := range tests {
		if got := Stamp(tt.text, tt.at); got != tt.want {
			t.Errorf("Stamp(%q) = %q, want %q", tt.text, got, tt.want)
		}
	}
	if got := AddMessageID("hi", "k1"); got != "hi\n[message_id: k1]" {
		t.Errorf("AddMessageID = %q", got)
	}
	if got := AddMessageID("hi", ""); got != "hi" {
		t.Errorf("AddMessageID without an id = %q, want it unchanged", got)
	}
}

func FuzzStripEnvelope(f *testing.F) {
	for _, s := range []string{"say x", "two\nlines", "[x] y", "\xff", "[message_id: a]", ""} {
		f.Add(s, "id-1")
	}
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, text, id string) {
		once := StripEnvelope(text)
		if len(once) > len(text) {
			t.Errorf("StripEnvelope(%q) = %q, which is longer", text, once)
		}
		StripEnvelope(AddMessageID(Stamp(text, at), id))
	})
}
