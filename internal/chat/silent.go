package chat

import (
	"regexp"
	"strings"
	"unicode"
)

// SilentToken is what a model answers to say nothing. See docs/runtime.md#silence.
const SilentToken = "NO_REPLY"

var (
	silentStart = regexp.MustCompile(`^\s*NO_REPLY(?:$|\W)`)
	silentEnd   = regexp.MustCompile(`\bNO_REPLY\b\W*$`)
)

// IsSilent reports whether text asks for no reply: it begins or ends with the
// token, or is nothing but the token in any case, markup and punctuation. The
// token inside a sentence does not count.
func IsSilent(text string) bool {
	if !strings.ContainsAny(text, "_") { // every form has the underscore; most text has none
		return false
	}
	return silentStart.MatchString(text) || silentEnd.MatchString(text) || bareToken(text) == SilentToken
}

// StripSilent returns text, or nothing when it is silent.
func StripSilent(text string) string {
	if IsSilent(text) {
		return ""
	}
	return text
}

// IsSilentPrefix reports whether text may still grow into a silent reply, so a
// stream should be held back. Empty and blank text may.
func IsSilentPrefix(text string) bool {
	return IsSilent(text) || strings.HasPrefix(SilentToken, bareToken(text))
}

// bareToken removes markup around text and the escape of its underscore.
func bareToken(text string) string {
	if len(text) > 64 { // longer text is not the bare token
		return text
	}
	text = strings.ReplaceAll(text, `\_`, "_")
	return strings.ToUpper(strings.TrimFunc(text, decoration))
}

func decoration(r rune) bool {
	return !unicode.IsLetter(r) && !unicode.IsDigit(r)
}
