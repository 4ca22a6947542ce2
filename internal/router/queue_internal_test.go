package router

import (
	"testing"
	"time"

	"openclaw/internal/session"
)

func TestDuration(t *testing.T) {
	tests := []struct {
		in   string
		want time.Duration
		ok   bool
	}{
		{"500ms", 500 * time.Millisecond, true}, {"2s", 2 * time.Second, true}, {"1.5m", 90 * time.Second, true}, {"1h", time.Hour, true},
		{"250", 250 * time.Millisecond, true}, {"0", 0, true},
		{"-1s", 0, false}, {"-5", 0, false}, {"48h", 0, false}, {"soon", 0, false}, {"", 0, false},
	}
	for _, tt := range tests {
		if got, ok := duration(tt.in); ok != tt.ok || ok && got != tt.want {
			t.Errorf("duration(%q) = %v, %v, want %v, %v", tt.in, got, ok, tt.want, tt.ok)
		}
	}
}

// Whatever people write behind /queue, it is applied in valid form or refused.
func FuzzParseQueue(f *testing.F) {
	for _, s := range []string{"collect debounce:300ms", "steer cap=5 drop:old", "reset", "debounce:1e3", "cap:99999999999999999999", "drop:"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, args string) {
		c, complaint := parseQueue(args)
		if complaint != "" {
			return
		}
		var e session.Entry
		c.apply(&e)
		if e.QueueMode != mode(e.QueueMode) || e.QueueDrop != drop(e.QueueDrop) {
			t.Errorf("parseQueue(%q) stores mode %q, drop %q", args, e.QueueMode, e.QueueDrop)
		}
		if e.QueueCap != nil && *e.QueueCap < 1 || e.QueueDebounceMs != nil && (*e.QueueDebounceMs < 0 || *e.QueueDebounceMs > 86_400_000) {
			t.Errorf("parseQueue(%q) stores cap %v, debounce %v", args, e.QueueCap, e.QueueDebounceMs)
		}
	})
}
