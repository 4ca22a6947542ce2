package json5

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// SyntaxError says where a text stops being JSON5. Line and Column count from 1,
// columns in characters.
type SyntaxError struct {
	Line, Column int
	Offset       int // in bytes
	Message      string
}

// Error has the form that clients of the gateway know.
func (e *SyntaxError) Error() string {
	return fmt.Sprintf("SyntaxError: JSON5: %s at %d:%d", e.Message, e.Line, e.Column)
}

// scanner walks over the text; pos is the next byte.
type scanner struct {
	src     string
	pos     int
	comment func(start, end int) // told of every comment, when set
}

// errorAt places an error at a byte offset.
func (s *scanner) errorAt(offset int, format string, args ...any) error {
	before := s.src[:offset]
	line, start := 1, 0
	for i := 0; i < len(before); i++ {
		if before[i] == '\n' || before[i] == '\r' && (i+1 == len(s.src) || s.src[i+1] != '\n') {
			line, start = line+1, i+1
		}
	}
	return &SyntaxError{
		Line: line, Column: utf8.RuneCountInString(strings.TrimPrefix(before[start:], "\uFEFF")) + 1,
		Offset: offset, Message: fmt.Sprintf(format, args...),
	}
}

// unexpected is the error for whatever stands at offset.
func (s *scanner) unexpected(offset int) error {
	if offset >= len(s.src) {
		return s.errorAt(len(s.src), "invalid end of input")
	}
	r, _ := utf8.DecodeRuneInString(s.src[offset:])
	if r == '\'' || r == '\\' {
		return s.errorAt(offset, `invalid character '\%c'`, r)
	}
	if unicode.IsPrint(r) && r != utf8.RuneError {
		return s.errorAt(offset, "invalid character '%c'", r)
	}
	return s.errorAt(offset, `invalid character '\x%02x'`, r)
}

func (s *scanner) rune() (rune, int) {
	if s.pos >= len(s.src) {
		return -1, 0
	}
	if c := s.src[s.pos]; c < utf8.RuneSelf {
		return rune(c), 1
	}
	return utf8.DecodeRuneInString(s.src[s.pos:])
}

// skip moves over white space and comments.
func (s *scanner) skip() error {
	for s.pos < len(s.src) {
		r, n := s.rune()
		start := s.pos
		switch {
		case isSpace(r):
			s.pos += n
			continue
		case strings.HasPrefix(s.src[s.pos:], "//"):
			s.pos = lineEnd(s.src, s.pos)
		case strings.HasPrefix(s.src[s.pos:], "/*"):
			end := strings.Index(s.src[s.pos+2:], "*/")
			if end < 0 {
				return s.unexpected(len(s.src))
			}
			s.pos += 2 + end + 2
		default:
			return nil
		}
		if s.comment != nil {
			s.comment(start, s.pos)
		}
	}
	return nil
}

// identifier reads an unquoted key and returns it with its escapes resolved.
func (s *scanner) identifier() (string, error) {
	start := s.pos
	var name strings.Builder
	for {
		at := s.pos
		r, n := s.rune()
		if r == '\\' {
			if !strings.HasPrefix(s.src[s.pos:], `\u`) {
				return "", s.unexpected(min(at+1, len(s.src)))
			}
			s.pos += 2
			code, err := s.hex(4)
			if err != nil {
				return "", err
			}
			r, n = code, 0
			if !isIDStart(r) && (at == start || !isIDPart(r)) {
				return "", s.errorAt(at, "invalid identifier character")
			}
		} else if at == start && !isIDStart(r) {
			return "", s.unexpected(at)
		} else if !isIDPart(r) {
			return name.String(), nil
		}
		name.WriteRune(r)
		s.pos += n
	}
}

// hex reads exactly n hexadecimal digits.
func (s *scanner) hex(n int) (rune, error) {
	var v rune
	for range n {
		if s.pos >= len(s.src) {
			return 0, s.unexpected(s.pos)
		}
		d := hexDigit(s.src[s.pos])
		if d < 0 {
			return 0, s.unexpected(s.pos)
		}
		v = v<<4 | rune(d)
		s.pos++
	}
	return v, nil
}

func hexDigit(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c >= 'a' && c <= 'f':
		return int(c-'a') + 10
	case c >= 'A' && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}

func isSpace(r rune) bool {
	switch r {
	case '\t', '\v', '\f', ' ', '\u00A0', '\uFEFF', '\n', '\r', '\u2028', '\u2029':
		return true
	}
	return r >= utf8.RuneSelf && unicode.Is(unicode.Zs, r)
}

func isIDStart(r rune) bool {
	if r < utf8.RuneSelf {
		return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || r == '$' || r == '_'
	}
	return unicode.IsLetter(r) || unicode.Is(unicode.Nl, r)
}

func isIDPart(r rune) bool {
	if isIDStart(r) {
		return true
	}
	if r < utf8.RuneSelf {
		return '0' <= r && r <= '9'
	}
	return unicode.In(r, unicode.Mn, unicode.Mc, unicode.Nd, unicode.Pc) || r == '\u200C' || r == '\u200D'
}

// lineEnd returns the offset of the line terminator that ends the line at pos.
func lineEnd(src string, pos int) int {
	for i, r := range src[pos:] {
		if r == '\n' || r == '\r' || r == '\u2028' || r == '\u2029' {
			return pos + i
		}
	}
	return len(src)
}
