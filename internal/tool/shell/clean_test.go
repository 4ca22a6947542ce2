package shell

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func cleanAll(s string, size int) (text string, queries int) {
	c := cleaner{onCursorQuery: func() { queries++ }}
	var b strings.Builder
	for len(s) > 0 {
		n := min(size, len(s))
		b.Write(c.clean([]byte(s[:n])))
		s = s[n:]
	}
	b.Write(c.flush())
	return b.String(), queries
}

// RT-103: binary and control output is sanitised.
func TestRT103Clean(t *testing.T) {
	tests := []struct{ in, want string }{
		{"plain\ttext\n", "plain\ttext\n"},
		{"a\r\nb\r\n", "a\nb\n"},
		{"10%\r20%\r\n", "10%\r20%\n"},
		{"end\r", "end\r"},
		{"\x1b[31mred\x1b[0m \x1b[1;38;5;200mbold\x1b[m", "red bold"},
		{"\x1b]0;title\x07text", "text"},
		{"\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"},
		{"\x1bPq#0\x1b\\after", "after"},
		{"\x1b(Bcharset\x1b=\x1b>", "charset"},
		{"a\x00b\x07c\x08d\x7fe", "abcde"},
		{"é✓😀", "é✓😀"},
		{"x\u200by\u202ez\u0085w", "xyzw"},
		{"\xff\xfe\xfdtext\xff", "\uFFFDtext\uFFFD"},
		{"cut \xe2\x9c", "cut \uFFFD"},
		{"\x1b[31\nm", "\nm"},
		{"\x1b]broken \x1b[1mstring", "string"},
		{"\x1b[é", "é"},
		{"\x1b", ""},
		{"\x1b]" + strings.Repeat("\xff", maxSequence+1) + "back", "back"},
		{"\x1b]" + strings.Repeat("y", maxSequence+1) + "back", "back"},
	}
	for _, tt := range tests {
		for _, size := range []int{1, 2, 3, 1 << 20} {
			if got, _ := cleanAll(tt.in, size); got != tt.want {
				t.Errorf("clean(%.60q) in pieces of %d = %q, want %q", tt.in, size, got, tt.want)
			}
		}
	}
}

func TestCursorQueries(t *testing.T) {
	for _, size := range []int{1, 100} {
		text, n := cleanAll("a\x1b[6nb\x1b[?6nc\x1b[5nd\x1b[6", size)
		if text != "abcd" || n != 2 {
			t.Errorf("in pieces of %d: %q with %d queries, want %q with 2", size, text, n, "abcd")
		}
	}
}

func FuzzClean(f *testing.F) {
	for _, s := range []string{"\x1b[1m\r\n", "\x1b]0;t\x07", "\xe2\x9c\x93", "\x1b\x1b[", "\r\r\n\x1bP\x1b\\"} {
		f.Add([]byte(s), 1)
	}
	f.Fuzz(func(t *testing.T, data []byte, size int) {
		if size < 1 {
			return
		}
		whole, n := cleanAll(string(data), len(data)+1)
		pieces, m := cleanAll(string(data), size)
		if whole != pieces || n != m {
			t.Fatalf("clean(%q) = %q, in pieces of %d %q", data, whole, size, pieces)
		}
		if !utf8.ValidString(whole) {
			t.Fatalf("clean(%q) = %q, want UTF-8", data, whole)
		}
		for _, r := range whole {
			if r != '\n' && r != '\t' && r != '\r' && (r < ' ' || r == 0x7F || unwanted(r) && r > 0x7F) {
				t.Fatalf("clean(%q) = %q, holds %U", data, whole, r)
			}
		}
	})
}

func TestTail(t *testing.T) {
	for _, unit := range []string{"x", "é", "😀"} {
		tl := tail{limit: 10}
		var all []rune
		for i := range 100 {
			piece := strings.Repeat(unit, i%7)
			if i%2 == 0 {
				piece += "\n"
			}
			tl.add([]byte(piece))
			all = append(all, []rune(piece)...)
			want := string(all[max(len(all)-10, 0):])
			if got := tl.text(); got != want {
				t.Fatalf("text after %d = %q, want %q", len(all), got, want)
			}
			if got, want := tl.last(3), string(all[max(len(all)-3, 0):]); got != want {
				t.Fatalf("last(3) = %q, want %q", got, want)
			}
			if tl.chars > 15 || utf8.RuneCount(tl.buf) != tl.chars || tl.total != int64(len(all)) || tl.cut() != (len(all) > 10) {
				t.Fatalf("chars = %d, total = %d, cut = %v after %d", tl.chars, tl.total, tl.cut(), len(all))
			}
		}
		tl.add([]byte(strings.Repeat(unit, 25)))
		tl.settle()
		if got, want := tl.text(), strings.Repeat(unit, 10); got != want || cap(tl.buf) > 64 {
			t.Errorf("text = %q (room for %d), want %q", got, cap(tl.buf), want)
		}
	}
}

func BenchmarkClean(b *testing.B) {
	lines := []byte(strings.Repeat("some ordinary line of program output, with numbers 12345\n", 600))
	var c cleaner
	b.SetBytes(int64(len(lines)))
	for b.Loop() {
		c.clean(lines)
	}
}
