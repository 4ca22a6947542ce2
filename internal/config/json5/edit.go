package json5

import (
	"fmt"
	"slices"
	"strings"
)

// Update returns src changed so that it decodes to want. What is equal keeps its
// text; comments stay, except one that ends the line of a removed item. New
// items are written the way the text writes its others. An empty src gives plain
// JSON.
func Update(src string, want any) (string, error) {
	if strings.TrimSpace(strings.TrimPrefix(src, "\uFEFF")) == "" {
		return Format(want)
	}
	// Each round makes the edits that cannot touch each other and reads the
	// result again, so offsets are never guessed.
	for {
		root, err := parse(src)
		if err != nil {
			return "", err
		}
		e := &editor{src: src, style: learn(src, root)}
		e.value(root, want, root.start)
		if e.err != nil {
			return "", e.err
		}
		if len(e.cuts) == 0 {
			return src, nil
		}
		next := e.apply()
		if next == src {
			return "", fmt.Errorf("edit JSON5: no progress at offset %d", e.cuts[0].start)
		}
		src = next
	}
}

// cut replaces src[start:end] by text.
type cut struct {
	start, end int
	text       string
}

type editor struct {
	style
	src  string
	cuts []cut
	err  error
}

func (e *editor) apply() string {
	slices.SortStableFunc(e.cuts, func(a, b cut) int { return a.start - b.start })
	var b strings.Builder
	pos := 0
	for _, c := range e.cuts {
		b.WriteString(e.src[pos:c.start])
		b.WriteString(c.text)
		pos = c.end
	}
	b.WriteString(e.src[pos:])
	return b.String()
}

func (e *editor) cut(start, end int, text string) { e.cuts = append(e.cuts, cut{start, end, text}) }

// value brings n, whose item starts at offset at, to want.
func (e *editor) value(n *node, want any, at int) {
	switch want := want.(type) {
	case map[string]any:
		if n.kind == object {
			e.object(n, want, at)
			return
		}
	case []any:
		if n.kind == array {
			e.array(n, want, at)
			return
		}
	default:
		if n.kind == scalar && Equal(n.value, want) {
			return
		}
	}
	e.put(n, want, at)
}

// put writes v in the place of n, whose item starts at offset at. A text keeps
// the quotes of the text it replaces.
func (e *editor) put(n *node, v any, at int) {
	indent, own := lineIndent(e.src, at)
	learnt := e.quote
	if _, text := n.value.(string); text {
		e.quote = e.src[n.start]
	}
	e.cut(n.start, n.end, e.render(v, indent, !own))
	e.quote = learnt
}

// object changes at most one member's presence in a round, and values of others.
func (e *editor) object(n *node, want map[string]any, at int) {
	last := make(map[string]int, len(n.items))
	for i, it := range n.items {
		last[it.key] = i
	}
	for i, it := range n.items {
		if _, keep := want[it.key]; !keep {
			e.remove(n, i)
			return
		}
	}
	var missing []string
	for key := range want {
		if _, ok := last[key]; !ok {
			missing = append(missing, key)
		}
	}
	if len(missing) > 0 {
		key := slices.Min(missing)
		e.insert(n, at, len(n.items), func(indent string, flat bool) string {
			return e.render(member{key, want[key]}, indent, flat)
		})
		return
	}
	for i, it := range n.items {
		if last[it.key] == i { // of a repeated key the last one counts
			e.value(it.value, want[it.key], it.start)
		}
	}
}

// array keeps the equal elements at both ends and changes what is between.
func (e *editor) array(n *node, want []any, at int) {
	have := n.decode().([]any)
	head := 0
	for head < min(len(have), len(want)) && Equal(have[head], want[head]) {
		head++
	}
	tail := 0
	for tail < min(len(have), len(want))-head && Equal(have[len(have)-1-tail], want[len(want)-1-tail]) {
		tail++
	}
	switch between, goal := len(have)-head-tail, len(want)-head-tail; {
	case between > goal:
		e.remove(n, head+goal)
	case between < goal:
		i := head + between
		e.insert(n, at, i, func(indent string, flat bool) string { return e.render(want[i], indent, flat) })
	default:
		for i := head; i < head+goal; i++ {
			e.value(n.items[i].value, want[i], n.items[i].start)
		}
	}
}

func (e *editor) render(v any, indent string, flat bool) string {
	r := renderer{style: e.style, flat: flat}
	r.value(v, indent)
	if r.err != nil && e.err == nil {
		e.err = r.err
	}
	return r.b.String()
}

// insert puts an item before item i of n, or behind the last; n's own item
// starts at offset at.
func (e *editor) insert(n *node, at, i int, text func(indent string, flat bool) string) {
	switch {
	case len(n.items) == 0:
		e.insertFirst(n, at, text)
	case i == 0:
		first := n.items[0].start
		if indent, own := lineIndent(e.src, first); own {
			e.cut(first, first, text(indent, false)+","+e.newline+indent)
		} else {
			e.cut(first, first, text("", true)+", ")
		}
	default:
		e.insertAfter(n.items[i-1], text)
	}
}

// insertAfter puts an item behind it, with a comma only where it had one.
func (e *editor) insertAfter(it item, text func(indent string, flat bool) string) {
	indent, own := lineIndent(e.src, it.start)
	end, comma := it.value.end, ""
	if it.comma >= 0 {
		end, comma = it.comma+1, ","
	}
	if !own {
		if comma == "" {
			e.cut(end, end, ", "+text("", true))
		} else {
			e.cut(end, end, " "+text("", true)+",")
		}
		return
	}
	if comma == "" {
		e.cut(end, end, ",")
	}
	pos := e.afterComments(end)
	e.cut(pos, pos, e.newline+indent+text(indent, false)+comma)
}

// insertFirst fills an empty object or array.
func (e *editor) insertFirst(n *node, at int, text func(indent string, flat bool) string) {
	outer, own := lineIndent(e.src, at)
	inside := e.src[n.start+1 : n.end-1]
	empty := strings.TrimSpace(inside) == ""
	if empty && !own {
		e.cut(n.start+1, n.end-1, text("", true))
		return
	}
	indent := outer + e.unit
	body := e.newline + indent + text(indent, false)
	if e.trailing {
		body += ","
	}
	// Comments stay; the new line ends the last of them.
	keep := len(strings.TrimRight(inside, " \t\r\n"))
	e.cut(n.start+1+keep, n.end-1, body+e.newline+outer)
}

// afterComments moves over comments that belong to the line pos is on.
func (e *editor) afterComments(pos int) int {
	for i := pos; i < len(e.src); {
		switch rest := e.src[i:]; {
		case rest[0] == ' ' || rest[0] == '\t':
			i++
		case strings.HasPrefix(rest, "//"):
			return lineEnd(e.src, i)
		case strings.HasPrefix(rest, "/*"):
			end := strings.Index(rest, "*/") // the text was parsed, so there is one
			if strings.ContainsAny(rest[:end], "\n\r\u2028\u2029") {
				return pos
			}
			i += end + 2
			pos = i
		default:
			return pos
		}
	}
	return pos
}

// remove takes item i out of n, with its line when it has one for itself.
func (e *editor) remove(n *node, i int) {
	it := n.items[i]
	start, end := it.start, it.value.end
	if it.comma >= 0 {
		end = it.comma + 1
	}
	if it.comma >= 0 && strings.TrimSpace(e.src[it.value.end:it.comma]) != "" {
		e.cut(start, it.value.end, "") // a comment stands before the comma
		e.cut(it.comma, end, "")
		return
	}
	lastItem := i == len(n.items)-1
	if lastItem && it.comma < 0 && i > 0 {
		// The one before becomes the last, without comma as the text has it.
		comma := n.items[i-1].comma
		e.cut(comma, comma+1, "")
	}
	indent, own := lineIndent(e.src, start)
	if own {
		lineStart := start - len(indent)
		after := e.afterComments(end)
		rest := after + blanks(e.src[after:])
		if n := breakLen(e.src[rest:]); n > 0 {
			e.cut(lineStart, rest+n, "")
			return
		}
		e.cut(start, end+blanks(e.src[end:]), "")
		return
	}
	if !lastItem {
		e.cut(start, end+blanks(e.src[end:]), "")
		return
	}
	floor := n.start + 1
	if i > 0 {
		floor = n.items[i-1].comma + 1
	}
	for start > floor && (e.src[start-1] == ' ' || e.src[start-1] == '\t') {
		start--
	}
	e.cut(start, end, "")
}

// blanks counts spaces and tabs at the start of s.
func blanks(s string) int { return len(s) - len(strings.TrimLeft(s, " \t")) }

// breakLen is the length of the line break at the start of s, 0 for none.
func breakLen(s string) int {
	switch {
	case strings.HasPrefix(s, "\r\n"):
		return 2
	case strings.HasPrefix(s, "\n"), strings.HasPrefix(s, "\r"):
		return 1
	}
	return 0
}
