package file

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// span is a range of bytes of a file. Loose says that it was found only by
// ignoring blanks at line ends and the kind of quotes, dashes and spaces.
type span struct {
	start, end int
	loose      bool
}

// find returns the one place of old in data. Line ends of either kind count as
// equal. It fails if there is no such place or more than one.
func find(data, old string) (span, error) {
	old = strings.ReplaceAll(old, "\r\n", "\n")
	exact := plainView(data)
	switch n := exact.count(old); {
	case n == 1:
		return exact.span(old), nil
	case n > 1:
		return span{}, fmt.Errorf("oldText occurs %d times; add lines around it until it is unique", n)
	}
	loose := looseView(data)
	want := looseView(old).text
	switch n := loose.count(want); {
	case want == "" || n == 0:
		return span{}, fmt.Errorf("oldText was not found; it must match the file exactly, with all spaces and line breaks")
	case n > 1:
		return span{}, fmt.Errorf("oldText occurs %d times, not counting differences in spaces and quotes; add lines around it until it is unique", n)
	}
	at := loose.span(want)
	at.loose = true
	if last := strings.TrimRightFunc(old, isBlank); last != old {
		at.end += len(data[at.end:]) - len(strings.TrimLeftFunc(data[at.end:], isBlank))
	}
	return at, nil
}

// view is a text derived from data, with the way back.
type view struct {
	data string
	text string
	// back[i] is where in data the character of text[i] begins; nil if text is
	// data. Files to edit are far smaller than 2 GB.
	back []int32
}

// plainView is data with every line end written \n.
func plainView(data string) view {
	if !strings.Contains(data, "\r\n") {
		return view{data: data, text: data}
	}
	b := newViewBuilder(data)
	for i := 0; i < len(data); i++ {
		if data[i] == '\r' && i+1 < len(data) && data[i+1] == '\n' {
			b.add("\n", i)
			i++
			continue
		}
		b.add(data[i:i+1], i)
	}
	return b.view()
}

// looseView is plainView without blanks at line ends and with plain quotes,
// dashes and spaces.
func looseView(data string) view {
	b := newViewBuilder(data)
	blank := 0 // blanks at the end of the text so far
	for i := 0; i < len(data); {
		r, size := utf8.DecodeRuneInString(data[i:])
		switch {
		case strings.HasPrefix(data[i:], "\r\n"), r == '\n':
			b.drop(blank)
			b.add("\n", i)
			blank = 0
			if r == '\r' {
				size = 2
			}
		case r == utf8.RuneError && size == 1:
			b.add(data[i:i+1], i)
			blank = 0
		default:
			n := b.add(string(fold(r)), i)
			if isBlank(r) {
				blank += n
			} else {
				blank = 0
			}
		}
		i += size
	}
	b.drop(blank)
	return b.view()
}

// isBlank reports whether r is white space inside a line.
func isBlank(r rune) bool { return r != '\n' && unicode.IsSpace(r) }

// count returns how often s occurs, where overlapping places count as two.
func (v view) count(s string) int {
	if s == "" {
		return 0
	}
	n := strings.Count(v.text, s)
	if n == 1 && strings.Contains(v.text[strings.Index(v.text, s)+1:], s) {
		n = 2
	}
	return n
}

// span returns where in data the first s of the text lies.
func (v view) span(s string) span {
	i := strings.Index(v.text, s)
	j := i + len(s)
	if v.back == nil {
		return span{start: i, end: j}
	}
	return span{start: int(v.back[i]), end: v.end(j - 1)}
}

// end returns where in data the character of text[i] ends, i being its last byte.
func (v view) end(i int) int {
	from := int(v.back[i])
	switch {
	case strings.HasPrefix(v.data[from:], "\r\n"):
		return from + 2
	case v.text[i] == v.data[from]: // ASCII, or a view byte by byte
		return from + 1
	}
	_, size := utf8.DecodeRuneInString(v.data[from:])
	return from + size
}

type viewBuilder struct {
	data string
	out  []byte
	back []int32
}

func newViewBuilder(data string) *viewBuilder {
	return &viewBuilder{data: data, out: make([]byte, 0, len(data)), back: make([]int32, 0, len(data))}
}

// add appends s, which stands for the character at i of data.
func (b *viewBuilder) add(s string, i int) int {
	b.out = append(b.out, s...)
	for range len(s) {
		b.back = append(b.back, int32(i))
	}
	return len(s)
}

// drop removes the last n bytes.
func (b *viewBuilder) drop(n int) {
	b.out, b.back = b.out[:len(b.out)-n], b.back[:len(b.back)-n]
}

func (b *viewBuilder) view() view { return view{data: b.data, text: string(b.out), back: b.back} }
