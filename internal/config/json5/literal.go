package json5

import (
	"encoding/json"
	"math"
	"math/big"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// text reads a quoted string whose opening quote is at pos.
func (s *scanner) text() (string, error) {
	quote := s.src[s.pos]
	s.pos++
	start := s.pos
	for s.pos < len(s.src) { // most strings need no change
		switch c := s.src[s.pos]; {
		case c == quote:
			s.pos++
			return s.src[start : s.pos-1], nil
		case c == '\\', c == '\n', c == '\r', c >= utf8.RuneSelf:
			return s.escaped(start, quote)
		}
		s.pos++
	}
	return "", s.unexpected(len(s.src))
}

// escaped reads the rest of a string that holds escapes or more than ASCII.
func (s *scanner) escaped(start int, quote byte) (string, error) {
	var b strings.Builder
	b.WriteString(s.src[start:s.pos])
	for s.pos < len(s.src) {
		r, n := s.rune()
		switch r {
		case rune(quote):
			s.pos++
			return b.String(), nil
		case '\n', '\r':
			return "", s.unexpected(s.pos)
		case '\\':
			s.pos++
			if err := s.escape(&b); err != nil {
				return "", err
			}
		default:
			b.WriteRune(r) // U+FFFD for a byte that is not UTF-8
			s.pos += n
		}
	}
	return "", s.unexpected(len(s.src))
}

// escape reads what follows a backslash.
func (s *scanner) escape(b *strings.Builder) error {
	r, n := s.rune()
	if n == 0 {
		return s.unexpected(s.pos)
	}
	if i := strings.IndexRune("bfnrtv", r); i >= 0 {
		b.WriteByte("\b\f\n\r\t\v"[i])
		s.pos++
		return nil
	}
	switch r {
	case '0':
		if next := s.pos + 1; next < len(s.src) && s.src[next] >= '0' && s.src[next] <= '9' {
			return s.unexpected(next)
		}
		b.WriteByte(0)
	case '1', '2', '3', '4', '5', '6', '7', '8', '9':
		return s.unexpected(s.pos)
	case 'x':
		s.pos++
		code, err := s.hex(2)
		b.WriteRune(code)
		return err
	case 'u':
		return s.unicode(b)
	case '\r': // a line continuation stands for nothing
		if strings.HasPrefix(s.src[s.pos:], "\r\n") {
			s.pos++
		}
	case '\n', '\u2028', '\u2029':
	default:
		b.WriteRune(r)
	}
	s.pos += n
	return nil
}

// unicode reads \uXXXX, with the second half of a surrogate pair where there is one.
func (s *scanner) unicode(b *strings.Builder) error {
	s.pos++
	code, err := s.hex(4)
	if err != nil {
		return err
	}
	if utf16.IsSurrogate(code) && strings.HasPrefix(s.src[s.pos:], `\u`) {
		back := s.pos
		s.pos += 2
		low, err := s.hex(4)
		if err != nil {
			return err
		}
		if pair := utf16.DecodeRune(code, low); pair != utf8.RuneError {
			b.WriteRune(pair)
			return nil
		}
		s.pos = back // two halves that do not fit
	}
	b.WriteRune(code) // a lone half becomes U+FFFD
	return nil
}

// number reads a number; pos is at its sign, dot, digit, or at Infinity or NaN.
func (s *scanner) number() (any, error) {
	sign := ""
	if c := s.src[s.pos]; c == '+' || c == '-' {
		if c == '-' {
			sign = "-"
		}
		s.pos++
	}
	rest := s.src[s.pos:]
	var v any
	var err error
	switch {
	case strings.HasPrefix(rest, "Infinity"):
		s.pos += len("Infinity")
		v = math.Inf(1)
		if sign != "" {
			v = math.Inf(-1)
		}
	case strings.HasPrefix(rest, "NaN"):
		s.pos += len("NaN")
		v = math.NaN()
	case strings.HasPrefix(rest, "0x"), strings.HasPrefix(rest, "0X"):
		v, err = s.hexNumber(sign)
	default:
		v, err = s.decimal(sign)
	}
	if err != nil {
		return nil, err
	}
	if r, n := s.rune(); n > 0 && (isIDPart(r) || r == '\\' || r == '.') {
		return nil, s.unexpected(s.pos)
	}
	return v, nil
}

func (s *scanner) hexNumber(sign string) (any, error) {
	s.pos += 2
	start := s.pos
	for s.pos < len(s.src) && hexDigit(s.src[s.pos]) >= 0 {
		s.pos++
	}
	if s.pos == start {
		return nil, s.unexpected(s.pos)
	}
	if s.pos-start > maxDigits {
		return nil, s.errorAt(start, "number too long")
	}
	n, _ := new(big.Int).SetString(s.src[start:s.pos], 16)
	return whole(sign, n.String()), nil
}

func (s *scanner) decimal(sign string) (any, error) {
	start := s.pos
	if strings.HasPrefix(s.src[s.pos:], "0") {
		s.pos++
		if s.digits() > 0 {
			return nil, s.unexpected(start + 1) // 010 is not a number
		}
	} else {
		s.digits()
	}
	intPart := s.src[start:s.pos]
	frac := ""
	if strings.HasPrefix(s.src[s.pos:], ".") {
		s.pos++
		n := s.digits()
		frac = s.src[s.pos-n : s.pos]
	}
	if intPart == "" && frac == "" {
		return nil, s.unexpected(s.pos)
	}
	exp := ""
	if s.pos < len(s.src) && (s.src[s.pos] == 'e' || s.src[s.pos] == 'E') {
		at := s.pos
		s.pos++
		if s.pos < len(s.src) && (s.src[s.pos] == '+' || s.src[s.pos] == '-') {
			s.pos++
		}
		if s.digits() == 0 {
			return nil, s.unexpected(s.pos)
		}
		exp = s.src[at:s.pos]
	}
	if s.pos-start > maxDigits {
		return nil, s.errorAt(start, "number too long")
	}
	if exp == "" && strings.Trim(frac, "0") == "" {
		return whole(sign, intPart), nil
	}
	f, err := strconv.ParseFloat(sign+"0"+intPart+"."+frac+"0"+exp, 64)
	if err != nil && !math.IsInf(f, 0) {
		return nil, s.errorAt(start, "invalid number")
	}
	return float(f), nil
}

// maxDigits bounds one number; no setting needs more.
const maxDigits = 400

func (s *scanner) digits() int {
	start := s.pos
	for s.pos < len(s.src) && s.src[s.pos] >= '0' && s.src[s.pos] <= '9' {
		s.pos++
	}
	return s.pos - start
}

// whole is the exact number with these decimal digits.
func whole(sign, digits string) json.Number {
	if strings.Trim(digits, "0") == "" {
		return "0"
	}
	return json.Number(sign + digits)
}

// float is f in its shortest form, or f itself where JSON has none.
func float(f float64) any {
	if math.IsInf(f, 0) || math.IsNaN(f) {
		return f
	}
	if f == 0 {
		return json.Number("0")
	}
	if f == math.Trunc(f) && math.Abs(f) < 1e21 {
		return json.Number(strconv.FormatFloat(f, 'f', -1, 64))
	}
	return json.Number(strconv.FormatFloat(f, 'g', -1, 64))
}
