package shell

import (
	"slices"
	"unicode/utf8"
)

// tail keeps the last characters of a text that may be endless. Its memory is
// bounded by one and a half times the limit.
type tail struct {
	limit int // characters
	buf   []byte
	chars int   // in buf
	total int64 // ever added
}

// add appends b, which is valid UTF-8.
func (t *tail) add(b []byte) {
	n := utf8.RuneCount(b)
	t.total += int64(n)
	if n >= t.limit {
		t.buf = append(t.buf[:0], lastChars(b, n, t.limit)...)
		t.chars = t.limit
		return
	}
	t.buf = append(t.buf, b...)
	t.chars += n
	if t.chars > t.limit+t.limit/2 {
		t.trim()
	}
}

// trim gives up what is beyond the limit.
func (t *tail) trim() {
	if t.chars > t.limit {
		t.buf = append(t.buf[:0], lastChars(t.buf, t.chars, t.limit)...)
		t.chars = t.limit
	}
}

// settle trims for good: nothing more will be added.
func (t *tail) settle() {
	t.trim()
	t.buf = slices.Clone(t.buf)
}

// text returns what is kept.
func (t *tail) text() string { return t.last(t.limit) }

// last returns at most the last n characters.
func (t *tail) last(n int) string { return string(lastChars(t.buf, t.chars, min(n, t.limit))) }

// cut reports whether something was given up.
func (t *tail) cut() bool { return t.total > int64(t.limit) }

// lastChars returns the last n of the chars characters in b.
func lastChars(b []byte, chars, n int) []byte {
	switch {
	case n >= chars:
		return b
	case len(b) == chars: // one byte each
		return b[len(b)-n:]
	case n < chars/2: // from the end
		i := len(b)
		for ; n > 0; n-- {
			_, size := utf8.DecodeLastRune(b[:i])
			i -= size
		}
		return b[i:]
	}
	i := 0
	for drop := chars - n; drop > 0; drop-- {
		_, size := utf8.DecodeRune(b[i:])
		i += size
	}
	return b[i:]
}
