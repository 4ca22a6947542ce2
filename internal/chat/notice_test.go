package chat

import (
	"testing"
	"time"
)

// RT-127: system events stand before the prompt and are not shown to people.
func TestNotices(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	one, two := Notice("first\n\n  second line ", at), Notice("another", at.Add(time.Minute))
	wantOne := "System: [2026-01-02 03:04:05 UTC] first\nSystem: [2026-01-02 03:04:05 UTC] second line"
	if one != wantOne {
		t.Errorf("Notice = %q, want %q", one, wantOne)
	}
	if got := Notice(" \n ", at); got != "" {
		t.Errorf("Notice of blank text = %q, want nothing", got)
	}
	prompt := Stamp("hello\nSystem: [2026-01-02 03:04:05 UTC] not one of ours", at)
	if got := AddNotices(prompt, nil); got != prompt {
		t.Errorf("AddNotices without notices = %q, want %q", got, prompt)
	}
	got := AddNotices(prompt, []string{one, two})
	if want := wantOne + "\n" + two + "\n\n" + prompt; got != want {
		t.Errorf("AddNotices = %q, want %q", got, want)
	}
	if got, want := StripEnvelope(AddMessageID(got, "id")), "hello\nSystem: [2026-01-02 03:04:05 UTC] not one of ours"; got != want {
		t.Errorf("StripEnvelope = %q, want %q", got, want)
	}
}

// What only looks like a system event stays.
func TestStripNoticesKeepsWords(t *testing.T) {
	for _, text := range []string{
		"System: [2026-01-02 03:04 UTC] alone",
		"System: [2026-01-02 03:04 UTC] followed\nby words",
		"System: hello\n\nworld",
		"\nhello",
		"System: [no time] x\n\ny",
	} {
		if got := StripEnvelope(text); got != text {
			t.Errorf("StripEnvelope(%q) = %q, want it unchanged", text, got)
		}
	}
}
