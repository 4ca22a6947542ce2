package file

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"unicode/utf16"

	"openclaw/internal/tool"
)

// Limits of one read of text.
const (
	maxLines = 2000
	maxBytes = 50 * 1024

	// sniffBytes of a file decide what it is.
	sniffBytes = 8 * 1024
	// maxUTF16 bounds files that are converted as a whole.
	maxUTF16 = 16 << 20
)

type readParams struct {
	_ struct{} `schema:"open"`

	Path     string   `json:"path,omitempty" jsonschema:"File to read, absolute or relative to the workspace"`
	Offset   *float64 `json:"offset,omitempty" jsonschema:"First line to show, counted from 1"`
	Limit    *float64 `json:"limit,omitempty" jsonschema:"How many lines to show at most"`
	FilePath string   `json:"file_path,omitempty" jsonschema:"Another name for path"`
}

// Meta names the file and the lines asked for.
func (p readParams) Meta() string {
	path, _ := tool.Need("path", p.Path, p.FilePath)
	if p.Offset == nil && p.Limit == nil {
		return path
	}
	from := max(intOr(p.Offset, 1), 1)
	if p.Limit == nil {
		return fmt.Sprintf("%s:%d-", path, from)
	}
	return fmt.Sprintf("%s:%d-%d", path, from, from+max(intOr(p.Limit, 1), 1)-1)
}

func (s *scope) readTool() tool.Tool {
	return tool.New(tool.Spec{
		Name: "read", Label: "Read",
		Description: "Show the content of a file. Text is cut after 2000 lines or 50 KB, whichever comes first; " +
			"the note at the end names the offset to go on with. PNG, JPEG, GIF and WebP files are shown as images.",
		Summary: "Read file contents",
	}, s.read)
}

// readDetails are the details of a read that could not show everything.
type readDetails struct {
	Truncation truncation `json:"truncation"`
}

type truncation struct {
	Truncated             bool   `json:"truncated"`
	TruncatedBy           string `json:"truncatedBy"` // lines or bytes
	TotalLines            int64  `json:"totalLines"`
	TotalBytes            int64  `json:"totalBytes"`
	OutputLines           int64  `json:"outputLines"`
	OutputBytes           int64  `json:"outputBytes"`
	LastLinePartial       bool   `json:"lastLinePartial"`
	FirstLineExceedsLimit bool   `json:"firstLineExceedsLimit"`
	MaxLines              int64  `json:"maxLines"`
	MaxBytes              int64  `json:"maxBytes"`
}

func (s *scope) read(ctx context.Context, _ tool.Call, p readParams) (tool.Result, error) {
	path, err := tool.Need("path", p.Path, p.FilePath)
	if err != nil {
		return tool.Result{}, err
	}
	at, err := s.locate(path, true)
	if err != nil {
		return tool.Result{}, err
	}
	defer func() { _ = at.Close() }()
	f, info, err := at.openRegular("read")
	if err != nil {
		return tool.Result{}, err
	}
	defer func() { _ = f.Close() }()

	head := make([]byte, sniffBytes)
	n, err := io.ReadFull(f, head)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return tool.Result{}, at.fail("read", err)
	}
	head = head[:n]
	if mime := imageType(head); mime != "" {
		return s.files.readImage(ctx, f, at, info.Size(), mime)
	}
	if name, order := utf16Order(head); name != "" {
		return readUTF16(ctx, f, at, p, info.Size(), order)
	}
	if bytes.IndexByte(head, 0) >= 0 {
		return tool.Text(fmt.Sprintf("[Binary file of %d bytes (%s), not shown as text. Inspect it with exec, for example with file or xxd.]",
			info.Size(), http.DetectContentType(head))), nil
	}
	text := io.MultiReader(bytes.NewReader(bytes.TrimPrefix(head, utf8BOM)), f)
	return readText(ctx, text, at, p, info.Size())
}

var utf8BOM = []byte("\uFEFF")

// readText shows the window of lines that p asks for.
func readText(ctx context.Context, r io.Reader, at *place, p readParams, size int64) (tool.Result, error) {
	from := int64(max(intOr(p.Offset, 1), 1))
	limit := int64(0)
	if p.Limit != nil {
		limit = int64(max(intOr(p.Limit, 1), 1))
	}
	w, err := scan(ctx, r, from-1, limit)
	switch {
	case err != nil:
		return tool.Result{}, at.fail("read", err)
	case w.total == 0 && from == 1:
		return tool.Text("[The file is empty.]"), nil
	case from > w.total:
		return tool.Result{}, fmt.Errorf("offset %d is beyond end of file (%d lines total)", from, w.total)
	}
	return w.result(at, from, size), nil
}

// result words the window for the model.
func (w *window) result(at *place, from, size int64) tool.Result {
	text := strings.ToValidUTF8(string(w.text), "\uFFFD")
	last := from + w.lines - 1
	if w.cut == "" {
		if last < w.total {
			text = fmt.Sprintf("%s\n\n[%s more lines in file. Use offset=%d to continue.]", strings.TrimSuffix(text, "\n"), w.count(w.total-last), last+1)
		}
		return tool.Text(text)
	}
	switch {
	case w.lines == 0:
		text = fmt.Sprintf("[Line %d is %s, more than the 50KB limit. Use exec: sed -n '%dp' %s | head -c %d]",
			from, kilobytes(w.longLine), from, quote(at.path), maxBytes)
	default:
		limit := ""
		if w.cut == "bytes" {
			limit = " (50KB limit)"
		}
		text = fmt.Sprintf("%s\n\n[Showing lines %d-%d of %s%s. Use offset=%d to continue.]",
			strings.TrimSuffix(text, "\n"), from, last, w.count(w.total), limit, last+1)
	}
	result := tool.Text(text)
	result.Details = readDetails{truncation{
		Truncated: true, TruncatedBy: w.cut, TotalLines: w.total, TotalBytes: size,
		OutputLines: w.lines, OutputBytes: int64(len(w.text)),
		FirstLineExceedsLimit: w.lines == 0, MaxLines: maxLines, MaxBytes: maxBytes,
	}}
	return result
}

// count words a number of lines, which is a lower bound for gigantic files.
func (w *window) count(n int64) string {
	if w.uncounted {
		return fmt.Sprintf("more than %d", n)
	}
	return fmt.Sprint(n)
}

// readUTF16 shows a UTF-16 file as if it were UTF-8.
func readUTF16(ctx context.Context, f *os.File, at *place, p readParams, size int64, unit func([]byte) uint16) (tool.Result, error) {
	if size > maxUTF16 {
		return tool.Result{}, fmt.Errorf("%s is UTF-16 text of %d bytes, too large to convert; use exec with iconv", at.path, size)
	}
	data, err := io.ReadAll(io.NewSectionReader(f, 2, maxUTF16))
	if err != nil {
		return tool.Result{}, at.fail("read", err)
	}
	units := make([]uint16, len(data)/2)
	for i := range units {
		units[i] = unit(data[2*i:])
	}
	return readText(ctx, strings.NewReader(string(utf16.Decode(units))), at, p, size)
}

// utf16Order tells from the byte order mark whether head begins UTF-16 text.
func utf16Order(head []byte) (name string, unit func([]byte) uint16) {
	switch {
	case bytes.HasPrefix(head, []byte{0xFF, 0xFE}):
		return "UTF-16LE", func(b []byte) uint16 { return uint16(b[0]) | uint16(b[1])<<8 }
	case bytes.HasPrefix(head, []byte{0xFE, 0xFF}):
		return "UTF-16BE", func(b []byte) uint16 { return uint16(b[1]) | uint16(b[0])<<8 }
	}
	return "", nil
}

func intOr(v *float64, def int) int {
	if v == nil {
		return def
	}
	return int(max(min(*v, 1<<52), -1<<52))
}

func kilobytes(n int64) string { return fmt.Sprintf("%.1fKB", float64(n)/1024) }

// quote makes path one word of a shell command.
func quote(path string) string {
	return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
}
