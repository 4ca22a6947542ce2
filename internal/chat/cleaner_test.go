package chat

import (
	"strings"
	"testing"
)

// RT-081.
func TestClean(t *testing.T) {
	tests := []struct {
		name, in  string
		finalOnly bool
		want      string
	}{
		{"plain", "hello", false, "hello"},
		{"leading reasoning", "<think>hm</think>\n\nHello", false, "Hello"},
		{"all names", "<thinking>a</thinking>1<thought>b</thought>2<antthinking>c</antthinking>3", false, "123"},
		{"case and attributes", `<THINK mode="x">a</ Think >b`, false, "b"},
		{"in the middle", "a <think>x</think>b", false, "a b"},
		{"never closed", "a<think>secret", false, "a"},
		{"stray closing tag", "a</think>b", false, "ab"},
		{"self closing", "a<think/>b", false, "ab"},
		{"final removed", "<final>answer</final>", false, "answer"},
		{"final only", "chatter <final>answer</final> more", true, "answer"},
		{"final only without tag", "chatter", true, ""},
		{"final only, backtick outside", "it`s <final>ok</final>", true, "ok"},
		{"thinking inside final", "<final>a<think>x</think>b</final>", true, "ab"},
		{"inline code", "use `<think>` here", false, "use `<think>` here"},
		{"double tick span", "``a ` <think>`` b", false, "``a ` <think>`` b"},
		{"fence", "```xml\n<think>x</think>\n```\nafter<think>y</think>", false, "```xml\n<think>x</think>\n```\nafter"},
		{"tilde fence", "~~~\n<final>\n~~~\n<final>x", false, "~~~\n<final>\n~~~\nx"},
		{"longer closing fence", "```\n<think>\n`````\n<think>x", false, "```\n<think>\n`````\n"},
		{"fence in fence", "````\n```\n<think>\n````\nz", false, "````\n```\n<think>\n````\nz"},
		{"one line fence is a span", "```<think>``` <think>x</think>y", false, "```<think>``` y"},
		{"backtick in reasoning", "<think>it`s</think>ok <think>x</think>", false, "ok "},
		{"open span ends with paragraph", "it`s\n\n<think>x</think>y", false, "it`s\n\ny"},
		{"not a tag", "a < b, <thinker>, <thin>, <think2>, 1<2", false, "a < b, <thinker>, <thin>, <think2>, 1<2"},
		{"broken tag", "<think <b>", false, "<think <b>"},
		{"unfinished tag at end", "a <thi", false, "a <thi"},
		{"huge attribute", "<think " + strings.Repeat("x", 300) + ">a", false, "<think " + strings.Repeat("x", 300) + ">a"},
		{"spaces kept without tags", "\n a", false, "\n a"},
	}
	for _, tt := range tests {
		if got := Clean(tt.in, tt.finalOnly); got != tt.want {
			t.Errorf("%s: Clean(%q) = %q, want %q", tt.name, tt.in, got, tt.want)
		}
		// The way the stream is cut changes nothing.
		for size := 1; size < 8; size++ {
			if got := cleanInPieces(tt.in, size, tt.finalOnly); got != tt.want {
				t.Errorf("%s: in pieces of %d = %q, want %q", tt.name, size, got, tt.want)
			}
		}
	}
}

// Visible text leaves at once: only what may be a tag is held back.
func TestCleanerHoldsBackOnlyTags(t *testing.T) {
	var c Cleaner
	steps := []struct{ in, want string }{
		{"Hello wor", "Hello wor"}, {"ld <", "ld "}, {"b> <thi", "<b> "}, {"nk>hidden", ""}, {"</think", ""},
		{"> shown `<thi", " shown `<thi"}, {"nk>`", "nk>`"},
	}
	for _, s := range steps {
		if got := c.Write(s.in); got != s.want {
			t.Errorf("Write(%q) = %q, want %q", s.in, got, s.want)
		}
	}
}

func cleanInPieces(text string, size int, finalOnly bool) string {
	c := Cleaner{FinalOnly: finalOnly}
	var out strings.Builder
	for len(text) > 0 {
		n := min(size, len(text))
		out.WriteString(c.Write(text[:n]))
		text = text[n:]
	}
	out.WriteString(c.Flush())
	return out.String()
}

func FuzzClean(f *testing.F) {
	for _, s := range []string{
		"<think>a</think>b", "`<think>`", "```\n<final>\n```", "a<<think>>b", "~~~~\n~~~\n<think>", "```a```<think>", "< / think >x",
	} {
		f.Add(s, uint8(1), false)
		f.Add(s, uint8(3), true)
	}
	f.Fuzz(func(t *testing.T, text string, size uint8, finalOnly bool) {
		whole := Clean(text, finalOnly)
		if pieces := cleanInPieces(text, int(size%16)+1, finalOnly); pieces != whole {
			t.Errorf("Clean(%q) = %q, in pieces %q", text, whole, pieces)
		}
		if len(whole) > len(text) {
			t.Errorf("Clean(%q) = %q, which is longer", text, whole)
		}
		if !strings.Contains(text, "<") && !finalOnly && whole != text {
			t.Errorf("Clean(%q) = %q, want it unchanged", text, whole)
		}
	})
}

func BenchmarkCleaner(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		var c Cleaner
		for range 1000 {
			c.Write("some words ")
		}
	}
}
