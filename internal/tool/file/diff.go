package file

import (
	"fmt"
	"strings"

	"github.com/aymanbagabas/go-udiff"
)

const (
	contextLines = 4
	maxDiff      = 50 * 1024 // bytes
)

// describe returns the details of changing before into after.
func describe(before, after string) editDetails {
	// The change is one piece; only its lines and those around it are compared,
	// whatever the size of the file.
	skipped, from := trimSame(&before, &after)
	diff, err := udiff.ToUnifiedDiff("", "", before, udiff.Lines(before, after), contextLines)
	if err != nil || len(diff.Hunks) == 0 {
		return editDetails{FirstChangedLine: from}
	}
	var b strings.Builder
	width := len(fmt.Sprint(skipped + strings.Count(before, "\n") + strings.Count(after, "\n") + 1))
	first := 0
	for i, h := range diff.Hunks {
		if i > 0 {
			fmt.Fprintf(&b, " %*s ...\n", width, "")
		}
		was, is := skipped+h.FromLine, skipped+h.ToLine
		for _, l := range h.Lines {
			sign, n := " ", was
			switch l.Kind {
			case udiff.Delete:
				sign = "-"
			case udiff.Insert:
				sign, n = "+", is
			}
			if first == 0 && l.Kind != udiff.Equal {
				first = is
			}
			fmt.Fprintf(&b, "%s%*d %s\n", sign, width, n, strings.TrimRight(l.Content, "\r\n"))
			if l.Kind != udiff.Insert {
				was++
			}
			if l.Kind != udiff.Delete {
				is++
			}
		}
	}
	return editDetails{Diff: cutDiff(b.String()), FirstChangedLine: first}
}

// trimSame cuts equal lines from both ends of a and b, up to some context. It
// returns how many lines were cut in front and the line of the first difference.
func trimSame(a, b *string) (skipped, first int) {
	n := min(len(*a), len(*b))
	same := 0
	for same < n && (*a)[same] == (*b)[same] {
		same++
	}
	first = 1 + strings.Count((*a)[:same], "\n")
	front := same
	for range contextLines + 1 {
		front = strings.LastIndexByte((*a)[:front], '\n')
		if front < 0 {
			break
		}
	}
	front++ // to the start of the line, or of the text
	tail := 0
	for tail < n-same && (*a)[len(*a)-1-tail] == (*b)[len(*b)-1-tail] {
		tail++
	}
	// back is how many bytes at the end are not looked at: all but the rest of
	// the last changed line and the context.
	back := tail
	for range contextLines + 1 {
		i := strings.IndexByte((*a)[len(*a)-back:], '\n')
		if i < 0 {
			back = 0
			break
		}
		back -= i + 1
	}
	skipped = strings.Count((*a)[:front], "\n")
	*a, *b = (*a)[front:len(*a)-back], (*b)[front:len(*b)-back]
	return skipped, first
}

func cutDiff(diff string) string {
	diff = strings.TrimSuffix(diff, "\n")
	if len(diff) <= maxDiff {
		return diff
	}
	cut := strings.LastIndexByte(diff[:maxDiff], '\n')
	return diff[:max(cut, 0)] + "\n…(diff cut)…"
}
