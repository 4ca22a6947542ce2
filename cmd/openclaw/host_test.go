package main

import (
	"log/slog"
	"testing"
	"testing/synctest"
	"time"
)

// A gateway that does not end within five seconds of its first word about it is left
// behind; one that does is not.
func TestDeadline(t *testing.T) {
	for _, tt := range []struct {
		name  string
		begun bool
		ends  time.Duration
		left  bool
	}{
		{"never begun", false, time.Hour, false},
		{"in time", true, forcedExit - time.Millisecond, false},
		{"too late", true, forcedExit + time.Second, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var codes []int
				start := time.Now()
				d := &deadline{log: slog.New(slog.DiscardHandler), leave: func(code int) {
					if took := time.Since(start); took != forcedExit {
						t.Errorf("left after %v, want %v", took, forcedExit)
					}
					codes = append(codes, code)
				}}
				if tt.begun {
					d.begin()
					time.Sleep(time.Second)
					d.begin() // a second signal, say
				}
				time.Sleep(tt.ends - time.Since(start))
				d.stop()
				d.begin()
				time.Sleep(time.Minute)
				synctest.Wait()
				if left := len(codes) == 1 && codes[0] == 1; left != tt.left || len(codes) > 1 {
					t.Errorf("left with %v, want %v", codes, tt.left)
				}
			})
		})
	}
}

// The first source of a secret that is present wins, and one that differs is named.
func TestSecretSource(t *testing.T) {
	for _, tt := range []struct{ flag, env, stored, from, note string }{
		{"", "", "", "", ""},
		{"", "", "c", "gateway.auth.token", ""},
		{"", "b", "", "OPENCLAW_GATEWAY_TOKEN", ""},
		{"", "b", "c", "OPENCLAW_GATEWAY_TOKEN", "OPENCLAW_GATEWAY_TOKEN differs from gateway.auth.token and wins"},
		{"", "c", "c", "OPENCLAW_GATEWAY_TOKEN", ""},
		{"a", "b", "a", "--token", "--token differs from OPENCLAW_GATEWAY_TOKEN and wins"},
		{"a", "", "c", "--token", "--token differs from gateway.auth.token and wins"},
	} {
		from, note := secretSource("token", tt.flag, tt.env, tt.stored)
		if from != tt.from || note != tt.note {
			t.Errorf("secretSource(%q, %q, %q) = %q, %q, want %q, %q", tt.flag, tt.env, tt.stored, from, note, tt.from, tt.note)
		}
	}
}
