package file

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// RT-102: one exact place, or one that differs in spaces and quotes only.
func TestRT102Edit(t *testing.T) {
	tests := []struct {
		name, data, before, after string
		want                      string // the new file, or
		fails                     string // part of the error
	}{
		{name: "exact", data: "a\nb\nc\n", before: "b", after: "B", want: "a\nB\nc\n"},
		{name: "delete", data: "a\nb\nc\n", before: "b\n", after: "", want: "a\nc\n"},
		{name: "several lines", data: "a\nb\nc\n", before: "a\nb", after: "x\ny\nz", want: "x\ny\nz\nc\n"},
		{name: "not there", data: "a\n", before: "b", after: "c", fails: "not found"},
		{name: "twice", data: "a a\n", before: "a", after: "b", fails: "2 times"},
		{name: "overlapping", data: "aaa", before: "aa", after: "b", fails: "2 times"},
		{name: "no change", data: "a\n", before: "a", after: "a", fails: "changes nothing"},
		{name: "the new text may hold the old", data: "x\n", before: "x", after: "xx", want: "xx\n"},
		{name: "exact wins over loose", data: "say 'a'\nsay ‘a’\n", before: "say 'a'", after: "b", want: "b\nsay ‘a’\n"},
		{name: "loose twice", data: "say “a”\nsay ‟a‟\n", before: "say \"a\"", after: "b", fails: "2 times"},

		{name: "smart quotes", data: "he said “it’s” – ok\n", before: "he said \"it's\" - ok", after: "done", want: "done\n"},
		{name: "smart quotes in old", data: "x 'y'\n", before: "x ‘y’", after: "z", want: "z\n"},
		{name: "spaces", data: "a\u00a0b\u2003c\n", before: "a b c", after: "z", want: "z\n"},
		{name: "trailing blanks in the file", data: "if x {  \n\ty()\t\n}\n", before: "if x {\n\ty()\n}", after: "z", want: "z\n"},
		{name: "trailing blanks stay outside", data: "keep\nfoo  \nbar\n", before: "“foo”", after: "", fails: "not found"},
		{name: "blanks behind the match stay", data: "a “b”  \nc\n", before: "a \"b\"", after: "z", want: "z  \nc\n"},
		{name: "trailing blanks in old", data: "a\nb\nc\n", before: "a \nb \n", after: "z\n", want: "z\nc\n"},
		{name: "trailing blanks in both", data: "a “b” \t\nc\n", before: "a \"b\"  ", after: "z", want: "z\nc\n"},
		{name: "only blanks", data: "a\n", before: "   ", after: "z", fails: "not found"},

		{name: "CRLF", data: "a\r\nb\r\nc\r\n", before: "a\nb", after: "x\ny", want: "x\r\ny\r\nc\r\n"},
		{name: "CRLF in old and new", data: "a\r\nb\r\n", before: "a\r\nb", after: "x\r\ny", want: "x\r\ny\r\n"},
		{name: "CRLF from newline on", data: "a\r\nb\r\nc\r\n", before: "\nb", after: "\nB", want: "a\r\nB\r\nc\r\n"},
		{name: "CRLF up to newline", data: "a\r\nb\r\nc\r\n", before: "b\n", after: "", want: "a\r\nc\r\n"},
		{name: "CRLF and loose", data: "a “x” \r\nb\r\n", before: "a \"x\"\nb", after: "1\n2", want: "1\r\n2\r\n"},
		{name: "LF file, CRLF in new", data: "a\nb\n", before: "a", after: "x\r\ny", want: "x\ny\nb\n"},
		{name: "mixed ends stay elsewhere", data: "a\r\nb\nc\r\n", before: "b", after: "B", want: "a\r\nB\nc\r\n"},
		{name: "lone CR is text", data: "a\rb\n", before: "a\rb", after: "c", want: "c\n"},

		{name: "BOM", data: "\uFEFFa\nb\n", before: "a", after: "x", want: "\uFEFFx\nb\n"},
		{name: "BOM in old too", data: "\uFEFFa\nb\n", before: "\uFEFFa", after: "x", want: "\uFEFFx\nb\n"},
		{name: "BOM and CRLF", data: "\uFEFFa\r\nb\r\n", before: "a\nb", after: "x\ny", want: "\uFEFFx\r\ny\r\n"},
		{name: "other bytes stay", data: "caf\xe9 one\nb\xff\n", before: "one", after: "two", want: "caf\xe9 two\nb\xff\n"},
		{name: "other bytes stay when loose", data: "\xff“a”\xfe\n", before: "\"a\"", after: "b", want: "\xffb\xfe\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, _, err := replaceText(tt.data, tt.before, tt.after)
			if tt.fails != "" {
				if err == nil || !strings.Contains(err.Error(), tt.fails) {
					t.Errorf("replaceText = %q, %v, want an error with %q", got, err, tt.fails)
				}
				return
			}
			if err != nil || got != tt.want {
				t.Errorf("replaceText(%q, %q, %q) = %q, %v, want %q", tt.data, tt.before, tt.after, got, err, tt.want)
			}
		})
	}
}

// RT-102: the tool itself: texts, aliases, details, the file untouched on failure.
func TestRT102EditTool(t *testing.T) {
	k := newKit(t)
	k.put("f.txt", numbered(12))
	k.must(os.Chmod(k.path("f.txt"), 0o600))
	r, err := k.call(t.Context(), "edit", "file_path", "f.txt", "old_string", "line 7\n", "new_string", "seven\nand a half\n")
	k.must(err)
	if got, want := r.Content.Text(), "Successfully replaced text in f.txt."; got != want {
		t.Errorf("text = %q, want %q", got, want)
	}
	want := editDetails{FirstChangedLine: 7, Diff: strings.Join([]string{
		"  3 line 3", "  4 line 4", "  5 line 5", "  6 line 6",
		"- 7 line 7", "+ 7 seven", "+ 8 and a half",
		"  8 line 8", "  9 line 9", " 10 line 10", " 11 line 11"}, "\n")}
	if diff := cmp.Diff(want, r.Details); diff != "" {
		t.Errorf("details (-want +got):\n%s", diff)
	}
	details, _ := r.DetailsJSON()
	wantContains(t, string(details), `"diff":"`, `"firstChangedLine":7`)
	info, err := os.Stat(k.path("f.txt"))
	k.must(err)
	if info.Mode().Perm() != 0o600 {
		t.Errorf("mode after edit = %v, want 0600", info.Mode())
	}

	before := k.content("f.txt")
	wantContains(t, k.fails("edit", "path", "f.txt", "oldText", "nowhere", "newText", "x"), "f.txt", "not found")
	wantContains(t, k.fails("edit", "path", "f.txt", "oldText", "line", "newText", "x"), "11 times")
	wantContains(t, k.fails("edit", "path", "none.txt", "oldText", "a", "newText", "x"), "ENOENT")
	if k.content("f.txt") != before {
		t.Error("a failed edit changed the file")
	}
	k.put("wide.txt", "\xff\xfea\x00")
	wantContains(t, k.fails("edit", "path", "wide.txt", "oldText", "a", "newText", "x"), "UTF-16LE")
	k.put("q.txt", "it’s\n")
	wantContains(t, k.text("edit", "path", "q.txt", "oldText", "it's", "newText", "yes"), "ignored differences")
}

func TestEditRefusesHugeFiles(t *testing.T) {
	k := newKit(t)
	k.put("huge", "text")
	k.must(os.Truncate(k.path("huge"), 1<<40))
	wantContains(t, k.fails("edit", "path", "huge", "oldText", "text", "newText", "x"), "too many to edit")
}

func TestDescribe(t *testing.T) {
	tests := []struct {
		name, before, after, want string
		first                     int
	}{
		{"first line", "a\nb\n", "x\nb\n", "-1 a\n+1 x\n 2 b", 1},
		{"only line, no newline", "a", "b", "-1 a\n+1 b", 1},
		{"added at the end", "a\n", "a\nb\n", " 1 a\n+2 b", 2},
		{"emptied", "a\nb\n", "", "-1 a\n-2 b", 1},
		{"filled", "", "a\n", "+1 a", 1},
		{"repeated lines", "a\na\na\n", "a\na\na\na\n", "", 0},
	}
	for _, tt := range tests {
		got := describe(tt.before, tt.after)
		if tt.want != "" {
			if diff := cmp.Diff(editDetails{Diff: tt.want, FirstChangedLine: tt.first}, got); diff != "" {
				t.Errorf("%s: describe (-want +got):\n%s", tt.name, diff)
			}
		}
		if got.FirstChangedLine < 1 {
			t.Errorf("%s: firstChangedLine = %d, want at least 1", tt.name, got.FirstChangedLine)
		}
	}

	// Two changes far apart in one replaced piece, deep in a file.
	before := numbered(200)
	after := strings.Replace(strings.Replace(before, "line 100\n", "hundred\n", 1), "line 120\n", "", 1)
	got := describe(before, after)
	wantContains(t, got.Diff, "-100 line 100\n+100 hundred\n", "\n     ...\n", "-120 line 120\n", "  96 line 96\n", " 124 line 124")
	if got.FirstChangedLine != 100 || strings.Contains(got.Diff, "line 95\n") || strings.Contains(got.Diff, "line 110\n") {
		t.Errorf("first changed line = %d, diff:\n%s", got.FirstChangedLine, got.Diff)
	}
	if huge := describe("", strings.Repeat("new line\n", 50_000)); len(huge.Diff) > maxDiff+100 {
		t.Errorf("diff of a huge change has %d bytes, want it cut at %d", len(huge.Diff), maxDiff)
	}
}

func FuzzReplaceText(f *testing.F) {
	for _, s := range [][3]string{{"a\r\nb\r\n", "a\nb", "x"}, {"\uFEFF“q” \n", "\"q\"", "z\n"}, {"a \nb", "a\nb ", ""}, {"\xff\r\n\r\n", "\n", "n"}} {
		f.Add(s[0], s[1], s[2])
	}
	f.Fuzz(func(t *testing.T, data, before, after string) {
		before = strings.ToValidUTF8(before, "?") // arguments come from JSON
		if before == "" {
			return
		}
		got, loose, err := replaceText(data, before, after)
		if err != nil {
			return
		}
		// What is around the replaced piece stays byte for byte.
		prefix, suffix := common(data, got)
		removed := data[prefix : len(data)-suffix]
		if !loose && len(removed) > 2*len(before)+len(after)*2+2 {
			t.Errorf("replaceText(%q, %q, %q) = %q: removed %q", data, before, after, got, removed)
		}
		if strings.HasPrefix(data, "\uFEFF") && !strings.HasPrefix(got, "\uFEFF") {
			t.Errorf("replaceText(%q, %q, %q) = %q lost the byte order mark", data, before, after, got)
		}
		if !loose && !strings.Contains(data, "\r") && !strings.Contains(before+after, "\r") && !strings.Contains(before+after, "\uFEFF") {
			if want := strings.Replace(data, before, after, 1); got != want {
				t.Errorf("replaceText(%q, %q, %q) = %q, want %q", data, before, after, got, want)
			}
		}
		if d := describe(data, got); d.FirstChangedLine < 1 {
			t.Errorf("describe(%q, %q) = %+v, want a line", data, got, d)
		}
	})
}

func common(a, b string) (prefix, suffix int) {
	n := min(len(a), len(b))
	for prefix < n && a[prefix] == b[prefix] {
		prefix++
	}
	for suffix < n-prefix && a[len(a)-1-suffix] == b[len(b)-1-suffix] {
		suffix++
	}
	return prefix, suffix
}

func BenchmarkEditLargeFile(b *testing.B) {
	data := strings.Repeat("some line of text with words in it\r\n", 100_000)
	data += "the one line\r\n" + data
	for b.Loop() {
		edited, _, err := replaceText(data, "the one line\n", "another\n")
		if err != nil {
			b.Fatal(err)
		}
		if d := describe(data, edited); d.FirstChangedLine != 100_001 {
			b.Fatal(fmt.Sprint(d.FirstChangedLine))
		}
	}
}
