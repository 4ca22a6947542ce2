package session

import (
	"bytes"
	"errors"
	"fmt"
	"io"
)

// maxDepth bounds the nesting of a JSON value; deeper input is not a session.
const maxDepth = 512

var (
	errShort  = errors.New("unexpected end of JSON")
	errSyntax = errors.New("invalid JSON")
)

// members calls fn with the quoted key and the value of each member of a JSON
// object. The slices are only valid during the call. The whole object is
// checked, so a value that reaches fn is valid JSON.
func members(data []byte, fn func(key, value []byte) error) error {
	i := space(data, 0)
	end, err := skipObject(data, i, 0, fn)
	if err != nil {
		return err
	}
	if space(data, end) != len(data) {
		return errSyntax
	}
	return nil
}

// skipObject checks the object at data[i] and returns the index after it; fn,
// which may be nil, sees its members.
func skipObject(data []byte, i, depth int, fn func(key, value []byte) error) (int, error) {
	i, err := expect(data, i, '{')
	if err != nil {
		return 0, err
	}
	i = space(data, i)
	if i < len(data) && data[i] == '}' {
		return i + 1, nil
	}
	for {
		start := i
		if i, err = skipString(data, i); err != nil {
			return 0, err
		}
		key := data[start:i]
		if i, err = expect(data, space(data, i), ':'); err != nil {
			return 0, err
		}
		start = space(data, i)
		if i, err = skipValue(data, start, depth+1); err != nil {
			return 0, err
		}
		if fn != nil {
			if err := fn(key, data[start:i]); err != nil {
				return 0, err
			}
		}
		i = space(data, i)
		if i >= len(data) {
			return 0, errShort
		}
		switch data[i] {
		case ',':
			i = space(data, i+1)
		case '}':
			return i + 1, nil
		default:
			return 0, errSyntax
		}
	}
}

func skipArray(data []byte, i, depth int) (int, error) {
	i = space(data, i+1)
	if i < len(data) && data[i] == ']' {
		return i + 1, nil
	}
	for {
		var err error
		if i, err = skipValue(data, i, depth+1); err != nil {
			return 0, err
		}
		i = space(data, i)
		if i >= len(data) {
			return 0, errShort
		}
		switch data[i] {
		case ',':
			i = space(data, i+1)
		case ']':
			return i + 1, nil
		default:
			return 0, errSyntax
		}
	}
}

func skipValue(data []byte, i, depth int) (int, error) {
	if i >= len(data) {
		return 0, errShort
	}
	if depth > maxDepth {
		return 0, errSyntax
	}
	switch c := data[i]; {
	case c == '{':
		return skipObject(data, i, depth, nil)
	case c == '[':
		return skipArray(data, i, depth)
	case c == '"':
		return skipString(data, i)
	case c == 't':
		return literal(data, i, "true")
	case c == 'f':
		return literal(data, i, "false")
	case c == 'n':
		return literal(data, i, "null")
	}
	return skipNumber(data, i)
}

func skipString(data []byte, i int) (int, error) {
	i, err := expect(data, i, '"')
	if err != nil {
		return 0, err
	}
	for i < len(data) {
		if !special[data[i]] {
			i++
			continue
		}
		if data[i] == '"' {
			return i + 1, nil
		}
		if data[i] != '\\' {
			return 0, errSyntax
		}
		if i, err = skipEscape(data, i+1); err != nil {
			return 0, err
		}
	}
	return 0, errShort
}

// special marks the bytes that end plain text in a JSON string.
var special = func() (t [256]bool) {
	for c := range 0x20 {
		t[c] = true
	}
	t['"'], t['\\'] = true, true
	return t
}()

// skipEscape checks what follows a backslash.
func skipEscape(data []byte, i int) (int, error) {
	if i >= len(data) {
		return 0, errShort
	}
	switch data[i] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return i + 1, nil
	case 'u':
	default:
		return 0, errSyntax
	}
	for range 4 {
		if i++; i >= len(data) {
			return 0, errShort
		}
		if !isHex(data[i]) {
			return 0, errSyntax
		}
	}
	return i + 1, nil
}

func skipNumber(data []byte, i int) (int, error) {
	start := i
	for i < len(data) && (data[i] >= '0' && data[i] <= '9' || data[i] == '.' || data[i] == '-' || data[i] == '+' || data[i] == 'e' || data[i] == 'E') {
		i++
	}
	if i == len(data) {
		return 0, errShort // a number at the end may go on; none stands alone in our files
	}
	if !isNumber(data[start:i]) {
		return 0, errSyntax
	}
	return i, nil
}

// isNumber checks the JSON grammar of a number.
func isNumber(b []byte) bool {
	b = bytes.TrimPrefix(b, []byte("-"))
	n := digits(b)
	if n == 0 || n > 1 && b[0] == '0' {
		return false
	}
	b = b[n:]
	if len(b) > 0 && b[0] == '.' {
		if n = digits(b[1:]); n == 0 {
			return false
		}
		b = b[1+n:]
	}
	if len(b) > 0 && (b[0] == 'e' || b[0] == 'E') {
		b = b[1:]
		if len(b) > 0 && (b[0] == '+' || b[0] == '-') {
			b = b[1:]
		}
		if n = digits(b); n == 0 {
			return false
		}
		b = b[n:]
	}
	return len(b) == 0
}

func digits(b []byte) int {
	n := 0
	for n < len(b) && b[n] >= '0' && b[n] <= '9' {
		n++
	}
	return n
}

func literal(data []byte, i int, word string) (int, error) {
	got := data[i:min(len(data), i+len(word))]
	if string(got) == word {
		return i + len(word), nil
	}
	if bytes.HasPrefix([]byte(word), got) {
		return 0, errShort
	}
	return 0, errSyntax
}

func expect(data []byte, i int, c byte) (int, error) {
	if i >= len(data) {
		return 0, errShort
	}
	if data[i] != c {
		return 0, errSyntax
	}
	return i + 1, nil
}

func space(data []byte, i int) int {
	for i < len(data) && (data[i] == ' ' || data[i] == '\n' || data[i] == '\t' || data[i] == '\r') {
		i++
	}
	return i
}

func isHex(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}

// scanObject reads a JSON object of any size from r and calls fn with each
// member and the offset of its value. Memory is bounded by the largest member.
func scanObject(r io.Reader, fn func(key string, off int64, value []byte) error) error {
	s := &stream{r: r}
	if err := s.prefix(); err != nil {
		return err
	}
	for first := true; ; first = false {
		done, err := s.member(first, fn)
		if err != nil {
			return fmt.Errorf("at byte %d: %w", s.base, err)
		}
		if done {
			return s.trailer()
		}
	}
}

// stream is a window of the file: buf[pos:] is not parsed yet and starts at
// offset base of the file.
type stream struct {
	r    io.Reader
	buf  []byte
	pos  int
	base int64
	eof  bool
}

const readSize = 64 << 10

func (s *stream) fill() error {
	if s.eof {
		return errShort
	}
	n := copy(s.buf, s.buf[s.pos:])
	s.buf, s.pos = s.buf[:n], 0
	if cap(s.buf)-n < readSize {
		s.buf = append(make([]byte, 0, max(2*cap(s.buf), n+readSize)), s.buf...)
	}
	m, err := s.r.Read(s.buf[n:cap(s.buf)])
	s.buf = s.buf[:n+m]
	if errors.Is(err, io.EOF) {
		s.eof = true
		return nil
	}
	return err
}

func (s *stream) drop(n int) {
	s.base += int64(n)
	s.pos += n
}

// retry calls parse with the window until it has enough bytes.
func (s *stream) retry(parse func(window []byte) error) error {
	for {
		err := parse(s.buf[s.pos:])
		if !errors.Is(err, errShort) {
			return err
		}
		if err := s.fill(); err != nil {
			return err
		}
	}
}

func (s *stream) prefix() error {
	return s.retry(func(b []byte) error {
		i := 0
		if bytes.HasPrefix(b, []byte("\xef\xbb\xbf")) {
			i = 3
		}
		i, err := expect(b, space(b, i), '{')
		if err == nil {
			s.drop(i)
		}
		return err
	})
}

func (s *stream) member(first bool, fn func(key string, off int64, value []byte) error) (done bool, err error) {
	err = s.retry(func(b []byte) (err error) {
		i := space(b, 0)
		if i < len(b) && b[i] == '}' {
			s.drop(i + 1)
			done = true
			return nil
		}
		if !first {
			if i, err = expect(b, i, ','); err != nil {
				return err
			}
			i = space(b, i)
		}
		start := i
		if i, err = skipString(b, i); err != nil {
			return err
		}
		key := b[start:i]
		if i, err = expect(b, space(b, i), ':'); err != nil {
			return err
		}
		start = space(b, i)
		if i, err = skipValue(b, start, 1); err != nil {
			return err
		}
		if err := fn(unquote(key), s.base+int64(start), b[start:i]); err != nil {
			return err
		}
		s.drop(i)
		return nil
	})
	return done, err
}

// trailer accepts nothing but space after the object.
func (s *stream) trailer() error {
	for {
		b := s.buf[s.pos:]
		if space(b, 0) < len(b) {
			return errSyntax
		}
		s.drop(len(b))
		if s.eof {
			return nil
		}
		if err := s.fill(); err != nil {
			return err
		}
	}
}
