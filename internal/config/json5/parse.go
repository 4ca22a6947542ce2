package json5

// maxDepth bounds nesting, so that hostile text cannot exhaust the stack.
const maxDepth = 200

type kind byte

const (
	scalar kind = iota
	object
	array
)

// node is a value and where it stands in the text: src[start:end].
type node struct {
	kind       kind
	start, end int
	value      any    // of a scalar
	items      []item // of an object or array
}

// item is a member of an object or an element of an array.
type item struct {
	start int // of the key, or of the element
	key   string
	value *node
	comma int // offset of the comma behind it, -1 for none
}

// Decode reads one JSON5 value. Of a repeated key the last one counts. Errors
// are [*SyntaxError].
func Decode(src string) (any, error) {
	root, err := parse(src)
	if err != nil {
		return nil, err
	}
	return root.decode(), nil
}

func (n *node) decode() any {
	switch n.kind {
	case object:
		m := make(map[string]any, len(n.items))
		for _, it := range n.items {
			m[it.key] = it.value.decode()
		}
		return m
	case array:
		list := make([]any, len(n.items))
		for i, it := range n.items {
			list[i] = it.value.decode()
		}
		return list
	}
	return n.value
}

func parse(src string) (*node, error) { return parseWith(&scanner{src: src}) }

func parseWith(s *scanner) (*node, error) {
	root, err := s.value(0)
	if err != nil {
		return nil, err
	}
	if err := s.skip(); err != nil {
		return nil, err
	}
	if s.pos < len(s.src) {
		return nil, s.unexpected(s.pos)
	}
	return root, nil
}

// value reads a value behind optional space.
func (s *scanner) value(depth int) (*node, error) {
	if err := s.skip(); err != nil {
		return nil, err
	}
	if s.pos >= len(s.src) {
		return nil, s.unexpected(s.pos)
	}
	if depth > maxDepth {
		return nil, s.errorAt(s.pos, "nested more than %d deep", maxDepth)
	}
	n := &node{start: s.pos}
	var err error
	switch c := s.src[s.pos]; {
	case c == '{':
		n.kind = object
		n.items, err = s.list('}', depth)
	case c == '[':
		n.kind = array
		n.items, err = s.list(']', depth)
	case c == '"' || c == '\'':
		n.value, err = s.text()
	case c == '+' || c == '-' || c == '.' || c == 'I' || c == 'N' || c >= '0' && c <= '9':
		n.value, err = s.number()
	default:
		n.value, err = s.word()
	}
	n.end = s.pos
	return n, err
}

// word reads null, true or false.
func (s *scanner) word() (any, error) {
	for _, w := range [...]struct {
		text  string
		value any
	}{{"null", nil}, {"true", true}, {"false", false}} {
		if s.src[s.pos] != w.text[0] {
			continue
		}
		for i := range len(w.text) {
			if s.pos+i >= len(s.src) || s.src[s.pos+i] != w.text[i] {
				return nil, s.unexpected(s.pos + i)
			}
		}
		s.pos += len(w.text)
		if r, n := s.rune(); n > 0 && (isIDPart(r) || r == '\\') {
			return nil, s.unexpected(s.pos)
		}
		return w.value, nil
	}
	return nil, s.unexpected(s.pos)
}

// list reads an object or array up to its closing bracket.
func (s *scanner) list(closing byte, depth int) ([]item, error) {
	s.pos++
	var items []item
	for {
		if err := s.skip(); err != nil {
			return nil, err
		}
		if s.pos < len(s.src) && s.src[s.pos] == closing {
			s.pos++
			return items, nil
		}
		if len(items) > 0 && items[len(items)-1].comma < 0 {
			return nil, s.unexpected(s.pos)
		}
		it := item{start: s.pos, comma: -1}
		var err error
		if closing == '}' {
			if it.key, err = s.key(); err != nil {
				return nil, err
			}
		}
		if it.value, err = s.value(depth + 1); err != nil {
			return nil, err
		}
		if err := s.skip(); err != nil {
			return nil, err
		}
		if s.pos < len(s.src) && s.src[s.pos] == ',' {
			it.comma = s.pos
			s.pos++
		}
		items = append(items, it)
	}
}

// key reads a member's name and its colon.
func (s *scanner) key() (string, error) {
	if s.pos >= len(s.src) {
		return "", s.unexpected(s.pos)
	}
	read := s.identifier
	if c := s.src[s.pos]; c == '"' || c == '\'' {
		read = s.text
	}
	name, err := read()
	if err != nil {
		return "", err
	}
	if err := s.skip(); err != nil {
		return "", err
	}
	if s.pos >= len(s.src) || s.src[s.pos] != ':' {
		return "", s.unexpected(s.pos)
	}
	s.pos++
	return name, nil
}
