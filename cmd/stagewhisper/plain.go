package main

import (
	"strings"
	"unicode"
)

// plain is a text from another machine as it may be shown on a terminal: whoever writes
// it must not be able to move the cursor, hide what stands there or change its order.
func plain(text string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' {
			return r
		}
		if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) {
			return -1
		}
		return r
	}, text)
}
