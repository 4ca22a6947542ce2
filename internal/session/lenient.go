package session

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
	"unicode"
	"unicode/utf8"
)

// standardize turns JSON5, which other programs accept in sessions.json, into
// JSON: comments, trailing commas, single quotes, bare keys and loose numbers.
func standardize(src []byte) ([]byte, error) {
	p := &lenient{src: bytes.TrimPrefix(src, []byte("\xef\xbb\xbf"))}
	p.space()
	if err := p.value(0); err != nil {
		return nil, err
	}
	p.space()
	if p.i < len(p.src) || !json.Valid(p.out.Bytes()) {
		return nil, errSyntax
	}
	return p.out.Bytes(), nil
}

type lenient struct {
	src []byte
	i   int
	out bytes.Buffer
}

func (p *lenient) peek() byte {
	if p.i < len(p.src) {
		return p.src[p.i]
	}
	return 0
}

// space skips white space and comments.
func (p *lenient) space() {
	for p.i < len(p.src) {
		rest := p.src[p.i:]
		r, n := utf8.DecodeRune(rest)
		switch {
		case unicode.IsSpace(r) || r == '\uFEFF':
			p.i += n
		case bytes.HasPrefix(rest, []byte("//")):
			end := bytes.IndexByte(rest, '\n')
			if end < 0 {
				end = len(rest)
			}
			p.i += end
		case bytes.HasPrefix(rest, []byte("/*")):
			end := bytes.Index(rest[2:], []byte("*/"))
			if end < 0 {
				return // value will complain
			}
			p.i += end + 4
		default:
			return
		}
	}
}

func (p *lenient) value(depth int) error {
	if depth > maxDepth {
		return errSyntax
	}
	switch c := p.peek(); {
	case c == '{':
		return p.list('}', func() error { return p.member(depth) })
	case c == '[':
		return p.list(']', func() error { return p.value(depth + 1) })
	case c == '"' || c == '\'':
		return p.str()
	}
	return p.word()
}

// list copies a bracketed, comma-separated list and drops a trailing comma.
func (p *lenient) list(closing byte, item func() error) error {
	p.out.WriteByte(p.src[p.i])
	p.i++
	for first := true; ; first = false {
		p.space()
		if p.peek() == closing {
			p.i++
			p.out.WriteByte(closing)
			return nil
		}
		if !first {
			p.out.WriteByte(',')
		}
		if err := item(); err != nil {
			return err
		}
		p.space()
		switch p.peek() {
		case ',':
			p.i++
		case closing:
		default:
			return errSyntax
		}
	}
}

func (p *lenient) member(depth int) error {
	if c := p.peek(); c == '"' || c == '\'' {
		if err := p.str(); err != nil {
			return err
		}
	} else {
		name := p.bare()
		if name == "" {
			return errSyntax
		}
		p.out.Write(quote(name))
	}
	p.space()
	if p.peek() != ':' {
		return errSyntax
	}
	p.i++
	p.out.WriteByte(':')
	p.space()
	return p.value(depth + 1)
}

// bare reads an identifier or a number.
func (p *lenient) bare() string {
	start := p.i
	for p.i < len(p.src) {
		r, n := utf8.DecodeRune(p.src[p.i:])
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_' && r != '$' && r != '.' && r != '+' && r != '-' {
			break
		}
		p.i += n
	}
	return string(p.src[start:p.i])
}

// word copies a literal or a number; what JSON cannot say becomes null.
func (p *lenient) word() error {
	w := p.bare()
	switch w {
	case "":
		return errSyntax
	case "true", "false", "null":
		p.out.WriteString(w)
		return nil
	case "undefined", "NaN", "Infinity", "+Infinity", "-Infinity":
		p.out.WriteString("null")
		return nil
	}
	if isNumber([]byte(w)) {
		p.out.WriteString(w)
		return nil
	}
	if n, err := strconv.ParseInt(w, 0, 64); err == nil {
		p.out.WriteString(strconv.FormatInt(n, 10))
		return nil
	}
	f, err := strconv.ParseFloat(w, 64)
	if err != nil || math.IsInf(f, 0) || math.IsNaN(f) {
		return errSyntax
	}
	p.out.WriteString(strconv.FormatFloat(f, 'g', -1, 64))
	return nil
}

func (p *lenient) str() error {
	end := p.peek()
	p.i++
	var text []byte
	for p.i < len(p.src) {
		c := p.src[p.i]
		p.i++
		switch {
		case c == end:
			p.out.Write(quote(string(text)))
			return nil
		case c == '\n':
			return errSyntax
		case c == '\\':
			r, ok := p.escape()
			if !ok {
				return errSyntax
			}
			text = append(text, r...)
		default:
			text = append(text, c)
		}
	}
	return errShort
}

func (p *lenient) escape() (text string, ok bool) {
	c := p.peek()
	p.i++
	switch c {
	case 0:
		return "", false
	case 'n':
		return "\n", true
	case 't':
		return "\t", true
	case 'r':
		return "\r", true
	case 'b':
		return "\b", true
	case 'f':
		return "\f", true
	case 'v':
		return "\v", true
	case '0':
		return "\x00", true
	case '\n':
		return "", true // a line continues
	case 'x':
		return p.hex(2)
	case 'u':
		return p.unicode()
	}
	return string([]byte{c}), true
}

func (p *lenient) hex(n int) (text string, ok bool) {
	if p.i+n > len(p.src) {
		return "", false
	}
	v, err := strconv.ParseUint(string(p.src[p.i:p.i+n]), 16, 32)
	p.i += n
	return string(rune(v)), err == nil
}

// unicode leaves \uXXXX to the JSON decoder, which knows surrogate pairs.
func (p *lenient) unicode() (text string, ok bool) {
	n := 4
	if rest := p.src[p.i:]; len(rest) >= 10 && rest[4] == '\\' && rest[5] == 'u' {
		n = 10
	}
	if p.i+n > len(p.src) {
		return "", false
	}
	err := json.Unmarshal([]byte(`"\u`+string(p.src[p.i:p.i+n])+`"`), &text)
	p.i += n
	return text, err == nil
}
