package chat

import (
	"strings"
	"unicode"
)

// maxTag bounds how much of a stream is held back while it may be a tag.
const maxTag = 256

// Cleaner removes a model's reasoning blocks (<think>, <thinking>, <thought>,
// <antthinking>) and <final> tags from a streamed answer. Tags inside code spans
// and fences are text. The zero value is ready; one Cleaner serves one assistant
// message and is not safe for concurrent use. See docs/runtime.md#cleaning.
type Cleaner struct {
	// FinalOnly keeps only what is inside <final>, for models that are told to
	// answer that way.
	FinalOnly bool

	held     string // an unfinished tag
	code     codeState
	thinking bool
	final    bool
	removed  bool // a tag was removed, so space before the first text is dropped
	started  bool // visible text was returned
}

// Write takes the next piece of the stream and returns the visible text that is
// certain now. Text that may be the start of a tag is held until it is known.
func (c *Cleaner) Write(delta string) string {
	s := c.held + delta
	c.held = ""
	var out strings.Builder
	for s != "" {
		i := strings.IndexByte(s, '<')
		if i < 0 {
			c.text(&out, s)
			break
		}
		c.text(&out, s[:i])
		s = s[i:]
		t, n, verdict := scanTag(s)
		switch {
		case verdict == tagOpen && len(s) < maxTag && !c.inCode():
			c.held = s
			return out.String()
		case verdict == tagWhole && !c.inCode():
			c.apply(t)
			s = s[n:]
		default:
			c.text(&out, s[:1])
			s = s[1:]
		}
	}
	return out.String()
}

// Flush ends the stream and returns what was held back.
func (c *Cleaner) Flush() string {
	var out strings.Builder
	c.text(&out, c.held)
	c.held = ""
	return out.String()
}

// Clean is Write and Flush for a text that is complete.
func Clean(text string, finalOnly bool) string {
	c := Cleaner{FinalOnly: finalOnly}
	return c.Write(text) + c.Flush()
}

// inCode reports whether the next character is inside code. Hidden text has no
// code: a backtick that never closes there must not hide the tag that ends it.
func (c *Cleaner) inCode() bool { return !c.hidden() && c.code.inside() }

func (c *Cleaner) hidden() bool { return c.thinking || c.FinalOnly && !c.final }

func (c *Cleaner) apply(t tag) {
	c.removed = true
	c.code.pause()
	switch {
	case t.selfClosing:
	case t.final:
		c.final = !t.closing
	default:
		c.thinking = !t.closing
	}
}

func (c *Cleaner) text(out *strings.Builder, s string) {
	if s == "" || c.hidden() {
		return
	}
	c.code.feed(s)
	if !c.started {
		if c.removed {
			s = strings.TrimLeftFunc(s, unicode.IsSpace)
		}
		c.started = s != ""
	}
	out.WriteString(s)
}

type tag struct {
	final, closing, selfClosing bool
}

type verdict int

const (
	tagNone  verdict = iota // not one of ours
	tagOpen                 // could still become one
	tagWhole                // one of ours
)

// tagNames are tried in order; a name that is a prefix of another needs no care
// because a word must end after it.
var tagNames = [...]string{"think", "thinking", "thought", "antthinking", "final"}

// scanTag looks at s, which starts with '<', and returns the tag and its length.
func scanTag(s string) (t tag, n int, v verdict) {
	i := skipSpace(s, 1)
	if i < len(s) && s[i] == '/' {
		t.closing = true
		i = skipSpace(s, i+1)
	}
	start := i
	for i < len(s) && isASCIILetter(s[i]) {
		i++
	}
	word := strings.ToLower(s[start:i])
	if i == len(s) {
		for _, name := range tagNames {
			if strings.HasPrefix(name, word) {
				return t, 0, tagOpen
			}
		}
		return t, 0, tagNone
	}
	if !isTagName(word) || s[i] >= '0' && s[i] <= '9' || s[i] == '_' {
		return t, 0, tagNone
	}
	t.final = word == "final"
	end := strings.IndexAny(s[i:], "<>")
	switch {
	case end < 0:
		return t, 0, tagOpen
	case s[i+end] == '<' || i+end >= maxTag:
		return t, 0, tagNone
	}
	t.selfClosing = !t.closing && end > 0 && s[i+end-1] == '/'
	return t, i + end + 1, tagWhole
}

func isTagName(word string) bool {
	for _, name := range tagNames {
		if word == name {
			return true
		}
	}
	return false
}

func skipSpace(s string, i int) int {
	for i < len(s) && (s[i] == ' ' || s[i] == '\t' || s[i] == '\n' || s[i] == '\r') {
		i++
	}
	return i
}

func isASCIILetter(b byte) bool { return b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' }
