package schema

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// scanner is the fast check: one pass over the text without allocation that
// either proves that the text satisfies its schema or gives up. What it proves,
// encoding/json may decode as it is. It need not notice bad syntax, which the
// decoder finds.
type scanner struct {
	data    []byte
	pos     int
	lenient bool
}

// maxScanDepth bounds recursion; deeper values go to the detailed check.
const maxScanDepth = 200

// prove reports whether data certainly satisfies n.
func prove(n *node, data []byte, lenient bool) bool {
	s := scanner{data: data, lenient: lenient}
	return s.value(n, 0)
}

func (s *scanner) space() {
	for s.pos < len(s.data) {
		switch s.data[s.pos] {
		case ' ', '\t', '\r', '\n':
			s.pos++
		default:
			return
		}
	}
}

// peek skips white space and returns the next byte, 0 at the end.
func (s *scanner) peek() byte {
	s.space()
	if s.pos >= len(s.data) {
		return 0
	}
	return s.data[s.pos]
}

func (s *scanner) value(n *node, depth int) bool {
	if n == nil || n.free {
		return s.skip()
	}
	if n.combined || n.never || depth > maxScanDepth {
		return false
	}
	switch c := s.peek(); {
	case c == '"':
		return s.text(n)
	case c == '{':
		return n.allows(kObject) && n.fastObject && s.object(n, depth)
	case c == '[':
		return n.allows(kArray) && n.tuple == nil && !n.unique && n.contains == nil && s.array(n, depth)
	case c == 't' || c == 'f':
		return n.allows(kBool) && s.word()
	case c == 'n':
		return n.allows(kNull) && s.word()
	case c == '-' || c >= '0' && c <= '9':
		return s.number(n)
	}
	return false
}

func (n *node) allows(k kind) bool { return n.kinds == 0 || n.kinds&k != 0 }

// word passes true, false or null.
func (s *scanner) word() bool {
	for s.pos < len(s.data) && s.data[s.pos] >= 'a' && s.data[s.pos] <= 'z' {
		s.pos++
	}
	return true
}

// str passes a string and returns what is between its quotes, and whether that
// is the string itself, without escapes.
func (s *scanner) str() (raw []byte, exact, ok bool) {
	s.pos++
	start := s.pos
	for {
		i := bytes.IndexByte(s.data[s.pos:], '"')
		if i < 0 {
			return nil, false, false
		}
		s.pos += i
		slashes := 0
		for s.pos-1-slashes >= start && s.data[s.pos-1-slashes] == '\\' {
			slashes++
		}
		s.pos++
		if slashes%2 == 0 {
			raw = s.data[start : s.pos-1]
			return raw, slashes == 0 && bytes.IndexByte(raw, '\\') < 0, true
		}
	}
}

func (s *scanner) text(n *node) bool {
	raw, exact, ok := s.str()
	if !ok || !n.allows(kString) {
		return false
	}
	if n.minLength == 0 && n.maxLength < 0 && n.pattern == nil && n.union == nil && n.literal == "" {
		return true
	}
	if len(raw) == 0 {
		return n.minLength <= 0 && n.pattern == nil && n.union == nil && n.literal == ""
	}
	if n.minLength <= 1 && n.maxLength < 0 && n.pattern == nil && n.union == nil && n.literal == "" {
		return true // any escape is at least one character
	}
	return exact && n.matches(raw)
}

// matches checks the constraints of a string without escapes.
func (n *node) matches(raw []byte) bool {
	if n.literal != "" && string(raw) != n.literal {
		return false
	}
	if n.pattern != nil && !n.pattern.Match(raw) {
		return false
	}
	if n.minLength > 1 || n.maxLength >= 0 {
		count := utf8.RuneCount(raw)
		if count < n.minLength || n.maxLength >= 0 && count > n.maxLength {
			return false
		}
	}
	if n.union == nil {
		return true
	}
	for _, s := range n.union {
		if string(raw) == s {
			return true
		}
	}
	return false
}

// number passes an integer in plain notation that fits into 15 digits; every
// other number goes to the detailed check unless any number will do.
func (s *scanner) number(n *node) bool {
	start := s.pos
	negative := s.data[s.pos] == '-'
	if negative {
		s.pos++
	}
	var v int64
	digits := 0
	for s.pos < len(s.data) && s.data[s.pos] >= '0' && s.data[s.pos] <= '9' {
		v = v*10 + int64(s.data[s.pos]-'0')
		s.pos++
		if digits++; digits > 15 {
			break
		}
	}
	integer := digits <= 15
	for s.pos < len(s.data) && bytes.IndexByte([]byte("0123456789.eE+-"), s.data[s.pos]) >= 0 {
		integer = false
		s.pos++
	}
	if n.multipleOf != nil || n.exclusiveMin != nil || n.exclusiveMax != nil {
		return false
	}
	if s.pos == start || !integer {
		return n.min == nil && n.max == nil && n.allows(kNumber)
	}
	if negative {
		v = -v
	}
	if n.min != nil && float64(v) < *n.min || n.max != nil && float64(v) > *n.max {
		return false
	}
	return n.allows(kInteger | kNumber)
}

func (s *scanner) array(n *node, depth int) bool {
	s.pos++
	count := 0
	for s.peek() != ']' {
		if count > 0 {
			if s.peek() != ',' {
				return false
			}
			s.pos++
		}
		if !s.value(n.items, depth+1) {
			return false
		}
		count++
	}
	s.pos++
	return count >= n.minItems && (n.maxItems < 0 || count <= n.maxItems)
}

func (s *scanner) object(n *node, depth int) bool {
	s.pos++
	var seen [maskWords]uint64
	for first := true; s.peek() != '}'; first = false {
		if !first {
			if s.peek() != ',' {
				return false
			}
			s.pos++
		}
		if s.peek() != '"' {
			return false
		}
		key, exact, ok := s.str()
		if !ok || !exact || s.peek() != ':' {
			return false
		}
		s.pos++
		if !s.member(n, key, &seen, depth) {
			return false
		}
	}
	s.pos++
	for i, want := range n.requiredMask {
		if seen[i]&want != want {
			return false
		}
	}
	return true
}

// member checks one key and its value. Repeated keys are left to the detailed check.
func (s *scanner) member(n *node, key []byte, seen *[maskWords]uint64, depth int) bool {
	if n.keys != nil && !(len(key) > 0 && n.keys.matches(key)) {
		return false
	}
	i, ok := n.index[string(key)]
	if !ok {
		return s.stranger(n, key, depth)
	}
	bit := uint64(1) << (i % 64)
	if seen[i/64]&bit != 0 {
		return false
	}
	seen[i/64] |= bit
	p := &n.props[i]
	if p.nullable && s.peek() == 'n' {
		return s.word()
	}
	return s.value(p.node, depth+1)
}

// stranger passes a key that is not a property, unless it is refused or
// encoding/json, which ignores case, would take it for one.
func (s *scanner) stranger(n *node, key []byte, depth int) bool {
	if n.closed && !s.lenient {
		return false
	}
	for i := range n.props {
		if strings.EqualFold(n.props[i].name, string(key)) {
			return false
		}
	}
	return s.value(n.additional, depth+1)
}

// skip passes any value.
func (s *scanner) skip() bool {
	depth := 0
	for {
		switch s.peek() {
		case 0:
			return false
		case '"':
			if _, _, ok := s.str(); !ok {
				return false
			}
		case '{', '[':
			depth++
			s.pos++
			continue
		case '}', ']':
			depth--
			s.pos++
		case ',', ':':
			if depth == 0 {
				return false
			}
			s.pos++
			continue
		default:
			if !s.scalar() {
				return false
			}
		}
		if depth <= 0 {
			return depth == 0
		}
	}
}

// scalar passes a number or a word.
func (s *scanner) scalar() bool {
	start := s.pos
	for s.pos < len(s.data) {
		switch c := s.data[s.pos]; {
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9', c == '-', c == '+', c == '.', c == 'E':
			s.pos++
		default:
			return s.pos > start
		}
	}
	return s.pos > start
}
