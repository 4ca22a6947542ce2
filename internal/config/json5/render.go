package json5

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"
)

// style is how a text writes things, learnt from what it holds already.
type style struct {
	newline  string
	unit     string // one step of indentation
	quote    byte   // around strings
	keyQuote byte   // around keys, 0 for bare ones where the name allows
	trailing bool   // comma behind the last item of a broken list
}

// Format renders v as JSON with two spaces of indentation and a final newline,
// keys in alphabetical order. It fails on values that are no JSON5 value.
func Format(v any) (string, error) {
	r := renderer{style: style{newline: "\n", unit: "  ", quote: '"', keyQuote: '"'}}
	r.value(v, "")
	if r.err != nil {
		return "", r.err
	}
	r.b.WriteByte('\n')
	return r.b.String(), nil
}

// member is a key with its value, as the renderer writes it into an object.
type member struct {
	key   string
	value any
}

type renderer struct {
	style
	b    strings.Builder
	err  error
	flat bool // everything on one line
}

// value writes v; indent is the indentation of the line it starts on.
func (r *renderer) value(v any, indent string) {
	switch v := v.(type) {
	case nil:
		r.b.WriteString("null")
	case bool:
		fmt.Fprint(&r.b, v)
	case string:
		r.text(v, r.quote)
	case map[string]any:
		keys := slices.Sorted(maps.Keys(v))
		r.list('{', '}', len(keys), indent, func(i int, indent string) {
			r.value(member{keys[i], v[keys[i]]}, indent)
		})
	case []any:
		r.list('[', ']', len(v), indent, func(i int, indent string) { r.value(v[i], indent) })
	case member:
		r.key(v.key)
		r.value(v.value, indent)
	default:
		text, ok := number(v)
		if !ok && r.err == nil {
			r.err = fmt.Errorf("write JSON5: %T is no JSON5 value", v)
		}
		r.b.WriteString(text)
	}
}

func (r *renderer) list(opening, closing byte, n int, indent string, put func(i int, indent string)) {
	r.b.WriteByte(opening)
	inner := indent + r.unit
	for i := range n {
		if i > 0 {
			r.b.WriteByte(',')
		}
		if !r.flat {
			r.b.WriteString(r.newline + inner)
		} else if i > 0 {
			r.b.WriteByte(' ')
		}
		put(i, inner)
	}
	if n > 0 && !r.flat {
		if r.trailing {
			r.b.WriteByte(',')
		}
		r.b.WriteString(r.newline + indent)
	}
	r.b.WriteByte(closing)
}

// key writes a member's name and its colon.
func (r *renderer) key(name string) {
	switch {
	case r.keyQuote != 0:
		r.text(name, r.keyQuote)
	case bare(name):
		r.b.WriteString(name)
	default:
		r.text(name, r.quote)
	}
	r.b.WriteString(": ")
}

func (r *renderer) text(s string, quote byte) {
	if !utf8.ValidString(s) && r.err == nil {
		r.err = fmt.Errorf("write JSON5: text %q is not UTF-8", s)
	}
	r.b.WriteString(quoted(s, quote))
}

// bare reports whether key may stand without quotes.
func bare(key string) bool {
	for i, c := range key {
		if i == 0 && !isIDStart(c) || !isIDPart(c) || c == utf8.RuneError {
			return false
		}
	}
	return key != ""
}

const hexDigits = "0123456789abcdef"

// quoted writes s as a string. With double quotes the result is JSON.
func quoted(s string, quote byte) string {
	var b strings.Builder
	b.WriteByte(quote)
	for _, r := range s {
		switch r {
		case rune(quote), '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case '\n':
			b.WriteString(`\n`)
		case '\r':
			b.WriteString(`\r`)
		case '\t':
			b.WriteString(`\t`)
		case '\u2028', '\u2029':
			b.WriteString(`\u202` + hexDigits[r&15:r&15+1])
		default:
			if r < ' ' {
				b.WriteString(`\u00` + hexDigits[r>>4:r>>4+1] + hexDigits[r&15:r&15+1])
			} else {
				b.WriteRune(r)
			}
		}
	}
	b.WriteByte(quote)
	return b.String()
}

// learn reads the style of a parsed text.
func learn(src string, root *node) style {
	st := style{newline: "\n", unit: "  ", quote: '"', keyQuote: '"'}
	if i := strings.IndexByte(src, '\n'); i > 0 && src[i-1] == '\r' {
		st.newline = "\r\n"
	}
	if s, ok := firstString(src, root); ok {
		st.quote = s
	}
	var walk func(n *node, depth int) bool
	walk = func(n *node, depth int) bool { // stops at the first broken list
		for _, it := range n.items {
			if indent, own := lineIndent(src, it.start); own && indent != "" {
				if len(indent)%(depth+1) == 0 {
					st.unit = indent[:len(indent)/(depth+1)]
				}
				st.trailing = n.items[len(n.items)-1].comma >= 0
				return true
			}
			if walk(it.value, depth+1) {
				return true
			}
		}
		return false
	}
	walk(root, 0)
	if root.kind == object && len(root.items) > 0 {
		if c := src[root.items[0].start]; c == '"' || c == '\'' {
			st.keyQuote = c
		} else {
			st.keyQuote = 0
		}
	}
	return st
}

// firstString finds the quote of the first string value.
func firstString(src string, n *node) (byte, bool) {
	if n.kind == scalar {
		_, ok := n.value.(string)
		return src[n.start], ok
	}
	for _, it := range n.items {
		if q, ok := firstString(src, it.value); ok {
			return q, true
		}
	}
	return 0, false
}

// lineIndent returns the white space before pos on its line, and whether there
// is nothing else before it.
func lineIndent(src string, pos int) (indent string, own bool) {
	start := strings.LastIndexAny(src[:pos], "\n\r\u2028\u2029")
	if start >= 0 {
		_, n := utf8.DecodeRuneInString(src[start:])
		start += n
	} else {
		start = 0
	}
	line := strings.TrimPrefix(src[start:pos], "\uFEFF")
	end := len(line) - len(strings.TrimLeft(line, " \t"))
	return line[:end], end == len(line)
}
