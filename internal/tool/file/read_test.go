package file

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"
)

// numbered returns "line 1\n…line n\n".
func numbered(n int) string {
	var b strings.Builder
	for i := 1; i <= n; i++ {
		fmt.Fprintf(&b, "line %d\n", i)
	}
	return b.String()
}

// RT-101: 2000 lines or 50 KB with a note that names the next offset.
func TestRT101ReadLimits(t *testing.T) {
	k := newKit(t)
	k.put("small", "alpha\nbeta\n")
	k.put("open", "alpha\nbeta")
	k.put("exact", numbered(2000))
	k.put("long", numbered(2001))
	k.put("wide", strings.Repeat(strings.Repeat("x", 1023)+"\n", 100))
	k.put("full", strings.Repeat(strings.Repeat("x", 1023)+"\n", 50))
	k.put("giant line", strings.Repeat("y", 60*1024)+"\nshort\n")
	k.put("empty", "")
	first2000 := strings.TrimSuffix(numbered(2000), "\n")
	tests := []struct {
		name string
		args []any
		want string
	}{
		{"whole", []any{"path", "small"}, "alpha\nbeta\n"},
		{"no last newline", []any{"path", "open"}, "alpha\nbeta"},
		{"offset", []any{"path", "small", "offset", 2}, "beta\n"},
		{"offset as text", []any{"path", "small", "offset", "2"}, "beta\n"},
		{"offset below one", []any{"path", "small", "offset", 0}, "alpha\nbeta\n"},
		{"limit", []any{"path", "small", "limit", 1}, "alpha\n\n[1 more lines in file. Use offset=2 to continue.]"},
		{"limit reaches the end", []any{"path", "small", "limit", 2}, "alpha\nbeta\n"},
		{"limit beyond the end", []any{"path", "open", "limit", 9}, "alpha\nbeta"},
		{"exactly 2000", []any{"path", "exact"}, numbered(2000)},
		{"2001", []any{"path", "long"}, first2000 + "\n\n[Showing lines 1-2000 of 2001. Use offset=2001 to continue.]"},
		{"limit above the cap", []any{"path", "long", "limit", 5000}, first2000 + "\n\n[Showing lines 1-2000 of 2001. Use offset=2001 to continue.]"},
		{"the rest", []any{"path", "long", "offset", 2001}, "line 2001\n"},
		{"50 KB", []any{"path", "wide"}, strings.TrimSuffix(strings.Repeat(strings.Repeat("x", 1023)+"\n", 50), "\n") +
			"\n\n[Showing lines 1-50 of 100 (50KB limit). Use offset=51 to continue.]"},
		{"exactly 50 KB", []any{"path", "full"}, strings.Repeat(strings.Repeat("x", 1023)+"\n", 50)},
		{"one line too long", []any{"path", "giant line"}, "[Line 1 is 60.0KB, more than the 50KB limit. Use exec: sed -n '1p' '" +
			k.path("giant line") + "' | head -c 51200]"},
		{"behind the long line", []any{"path", "giant line", "offset", 2}, "short\n"},
		{"empty", []any{"path", "empty"}, "[The file is empty.]"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, k.text("read", tt.args...)); diff != "" {
				t.Errorf("read%v (-want +got):\n%s", tt.args, diff)
			}
		})
	}
	for args, want := range map[string]string{
		"small": "offset 5 is beyond end of file (2 lines total)",
		"empty": "offset 5 is beyond end of file (0 lines total)",
	} {
		if got := k.fails("read", "path", args, "offset", 5); got != want {
			t.Errorf("read beyond %s = %q, want %q", args, got, want)
		}
	}
}

// RT-101: details only where something was cut, in the reference's shape.
func TestRT101ReadDetails(t *testing.T) {
	k := newKit(t)
	k.put("long", numbered(3000))
	k.put("short", "x\n")
	r, err := k.call(t.Context(), "read", "path", "long")
	k.must(err)
	details, err := r.DetailsJSON()
	k.must(err)
	want := fmt.Sprintf(`{"truncation":{"truncated":true,"truncatedBy":"lines","totalLines":3000,"totalBytes":%d,"outputLines":2000,`+
		`"outputBytes":%d,"lastLinePartial":false,"firstLineExceedsLimit":false,"maxLines":2000,"maxBytes":51200}}`,
		len(numbered(3000)), len(numbered(2000)))
	if diff := cmp.Diff(want, string(details)); diff != "" {
		t.Errorf("details (-want +got):\n%s", diff)
	}
	r, err = k.call(t.Context(), "read", "path", "short")
	k.must(err)
	if r.Details != nil {
		t.Errorf("details of a whole file = %v, want none", r.Details)
	}
}

// scan must not care how the reader cuts its data.
func TestScanChunks(t *testing.T) {
	text := "a\nbb\n\nccc\n" + strings.Repeat("z", 70_000) + "\nlast"
	for _, tt := range []struct {
		skip, limit int64
		want        window
	}{
		{0, 0, window{text: []byte("a\nbb\n\nccc\n"), lines: 4, total: 6, cut: "bytes"}},
		{1, 2, window{text: []byte("bb\n\n"), lines: 2, total: 6}},
		{4, 0, window{total: 6, cut: "bytes", longLine: 70_001}},
		{5, 0, window{text: []byte("last"), lines: 1, total: 6}},
		{6, 0, window{total: 6}},
	} {
		for name, r := range map[string]io.Reader{
			"whole":    strings.NewReader(text),
			"one byte": iotest.OneByteReader(strings.NewReader(text)),
			"data+EOF": iotest.DataErrReader(strings.NewReader(text)),
		} {
			got, err := scan(t.Context(), r, tt.skip, tt.limit)
			if err != nil {
				t.Fatal(err)
			}
			if len(got.text) == 0 {
				got.text = nil
			}
			if diff := cmp.Diff(tt.want, *got, cmp.AllowUnexported(window{})); diff != "" {
				t.Errorf("%s: scan(%d, %d) (-want +got):\n%s", name, tt.skip, tt.limit, diff)
			}
		}
	}
}

// endless repeats one block for ever.
type endless struct{ block string }

func newEndless(line string) endless { return endless{strings.Repeat(line, 32*1024/len(line))} }

func (e endless) Read(p []byte) (int, error) { return copy(p, e.block), nil }

// A file without end costs bounded time and memory.
func TestScanIsBounded(t *testing.T) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	w, err := scan(t.Context(), newEndless("0123456789abcde\n"), 10, 5)
	if err != nil || !w.uncounted || w.lines != 5 || w.total < 1000 {
		t.Errorf("scan of an endless file = %d lines of %d, uncounted %v, %v, want 5 of many", w.lines, w.total, w.uncounted, err)
	}
	w, err = scan(t.Context(), newEndless("no newline "), 0, 0)
	if err != nil || !w.uncounted || w.total != 1 || w.longLine < countBytes {
		t.Errorf("scan of an endless line = %+v, %v, want one uncounted line", w, err)
	}
	runtime.ReadMemStats(&after)
	if grown := int64(after.TotalAlloc - before.TotalAlloc); grown > 8<<20 {
		t.Errorf("scanning allocated %d bytes, want under 8 MB", grown)
	}
}

// What is not a readable file fails at once and never hangs.
func TestReadRefuses(t *testing.T) {
	k := newKit(t)
	k.must(os.Mkdir(k.path("folder"), 0o755))
	k.must(syscall.Mkfifo(k.path("pipe"), 0o644))
	k.must(os.Symlink("pipe", k.path("pipe-link")))
	k.must(os.Symlink("loop", k.path("loop")))
	k.put("file", "x")
	tests := []struct{ path, want string }{
		{"missing.txt", "ENOENT: no such file or directory, access '" + k.path("missing.txt") + "'"},
		{"folder", "EISDIR: illegal operation on a directory, read '" + k.path("folder") + "'"},
		{"pipe", k.path("pipe") + " is a named pipe, not a regular file"},
		{"pipe-link", k.path("pipe-link") + " is a named pipe, not a regular file"},
		{"/dev/zero", "/dev/zero is a device, not a regular file"},
		{"loop", "ELOOP: "},
		{"file/below", "ENOTDIR: "},
	}
	for _, tt := range tests {
		if got := k.fails("read", "path", tt.path); !strings.HasPrefix(got, tt.want) {
			t.Errorf("read(%q) = %q, want %q", tt.path, got, tt.want)
		}
		if tt.path == "missing.txt" {
			continue
		}
		k.fails("edit", "path", tt.path, "oldText", "a", "newText", "b")
		if tt.path != "loop" {
			k.fails("write", "path", tt.path, "content", "b")
		}
	}
}

func TestReadOddText(t *testing.T) {
	k := newKit(t)
	units := utf16.Encode([]rune("\uFEFFhéllo\nzwei\n"))
	var le, be strings.Builder
	for _, u := range units {
		le.Write([]byte{byte(u), byte(u >> 8)})
		be.Write([]byte{byte(u >> 8), byte(u)})
	}
	tests := []struct{ content, want string }{
		{"\uFEFFmarked\n", "marked\n"},
		{"caf\xe9\n", "caf\uFFFD\n"},
		{"a\r\nb\r\n", "a\r\nb\r\n"},
		{le.String(), "héllo\nzwei\n"},
		{be.String(), "héllo\nzwei\n"},
	}
	for _, tt := range tests {
		k.put("f", tt.content)
		if got := k.text("read", "path", "f"); got != tt.want {
			t.Errorf("read of %q = %q, want %q", tt.content, got, tt.want)
		}
	}
	k.put("bin", "ELF\x00\x01\x02")
	wantContains(t, k.text("read", "path", "bin"), "Binary file of 6 bytes", "exec")
	wantContains(t, k.text("read", "path", "/proc/self/status"), "Name:") // its size is 0
}

func TestReadEndsWithContext(t *testing.T) {
	k := newKit(t)
	k.put("f", "x")
	ctx, cancel := newCancelled(t)
	defer cancel()
	if _, err := k.call(ctx, "read", "path", "f"); err == nil {
		t.Error("read with an ended context = nil, want its error")
	}
}

func FuzzScan(f *testing.F) {
	f.Add([]byte("a\nb\n"), int64(0), int64(1), 3)
	f.Add([]byte("\n\n\r\n"), int64(1), int64(0), 1)
	f.Fuzz(func(t *testing.T, data []byte, skip, limit int64, size int) {
		if skip < 0 || limit < 0 || size < 1 || len(data) > maxBytes {
			return
		}
		w, err := scan(t.Context(), &chunks{data: data, size: size}, skip, limit)
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.SplitAfter(string(data), "\n")
		if lines[len(lines)-1] == "" {
			lines = lines[:len(lines)-1]
		}
		if w.total != int64(len(lines)) {
			t.Fatalf("total of %q = %d, want %d", data, w.total, len(lines))
		}
		from := min(skip, int64(len(lines)))
		to := int64(len(lines))
		if limit > 0 {
			to = min(from+limit, to)
		}
		if want := strings.Join(lines[from:min(to, from+maxLines)], ""); string(w.text) != want {
			t.Fatalf("scan(%q, %d, %d) = %q, want %q", data, skip, limit, w.text, want)
		}
	})
}

// chunks is a reader that gives size bytes at a time.
type chunks struct {
	data []byte
	size int
}

func (c *chunks) Read(p []byte) (int, error) {
	if len(c.data) == 0 {
		return 0, io.EOF
	}
	n := copy(p, c.data[:min(c.size, len(c.data))])
	c.data = c.data[n:]
	return n, nil
}
