package main

import "testing"

func TestPlain(t *testing.T) {
	for in, want := range map[string]string{
		"two\n\tlines, ä 👋🏽":                "two\n\tlines, ä 👋🏽",
		"\x1b[2J\x1b]0;title\aclean\r\x7f":  "[2J]0;titleclean",
		"\u009b31mC1, \u202ereversed\u2069": "31mC1, reversed",
	} {
		if got := plain(in); got != want {
			t.Errorf("plain(%q) = %q, want %q", in, got, want)
		}
	}
}
