package json5

import "strconv"

// Rewriter says how [Rewrite] changes a text.
type Rewriter struct {
	// Scalar is called for every value that is no object or array, also for
	// those a repeated key hides, with the keys and indexes that lead to it. It
	// returns a scalar to write instead, or false. It must not keep path.
	Scalar func(path []string, value any) (any, bool)
	// Comment is called with every comment, marks included, and returns what to
	// write instead, which must be a comment of the same kind.
	Comment func(text string) string
}

// Rewrite returns src with scalars and comments replaced one by one, everything
// else as it is.
func Rewrite(src string, r Rewriter) (string, error) {
	e := &editor{src: src}
	s := &scanner{src: src}
	if r.Comment != nil {
		s.comment = func(start, end int) {
			old := src[start:end]
			if text := r.Comment(old); text != old {
				e.cut(start, end, text)
			}
		}
	}
	root, err := parseWith(s)
	if err != nil {
		return "", err
	}
	e.style = learn(src, root)
	if r.Scalar != nil {
		e.rewrite(root, nil, r.Scalar)
	}
	if e.err != nil {
		return "", e.err
	}
	out := e.apply()
	if _, err := parse(out); err != nil {
		return "", err // a replaced comment swallowed what follows
	}
	return out, nil
}

func (e *editor) rewrite(n *node, path []string, scalar func([]string, any) (any, bool)) {
	switch n.kind {
	case object:
		for _, it := range n.items {
			e.rewrite(it.value, append(path, it.key), scalar)
		}
	case array:
		for i, it := range n.items {
			e.rewrite(it.value, append(path, strconv.Itoa(i)), scalar)
		}
	default:
		if v, ok := scalar(path, n.value); ok {
			e.put(n, v, n.start)
		}
	}
}
