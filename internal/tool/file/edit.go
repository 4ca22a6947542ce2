package file

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"openclaw/internal/tool"
)

// maxEdit bounds the files that edit changes; it holds them whole.
const maxEdit = 16 << 20

type editParams struct {
	_ struct{} `schema:"open"`

	Path      string  `json:"path,omitempty" jsonschema:"File to change, absolute or relative to the workspace"`
	OldText   string  `json:"oldText,omitempty" jsonschema:"The text to replace, exactly as in the file and only there"`
	NewText   *string `json:"newText,omitempty" jsonschema:"What to put in its place; may be empty"`
	FilePath  string  `json:"file_path,omitempty" jsonschema:"Another name for path"`
	OldString string  `json:"old_string,omitempty" jsonschema:"Another name for oldText"`
	NewString *string `json:"new_string,omitempty" jsonschema:"Another name for newText"`
}

// Meta names the file.
func (p editParams) Meta() string {
	path, _ := tool.Need("path", p.Path, p.FilePath)
	return path
}

// texts returns the old and the new text, untrimmed.
func (p editParams) texts() (before, after string, err error) {
	before = p.OldText
	if before == "" {
		before = p.OldString
	}
	next := p.NewText
	if next == nil {
		next = p.NewString
	}
	switch {
	case before == "":
		return "", "", errors.New("oldText required")
	case next == nil:
		return "", "", errors.New("newText required")
	}
	return before, *next, nil
}

// editDetails are the details of an edit.
type editDetails struct {
	// Diff shows the change with line numbers, a few lines around it included.
	Diff             string `json:"diff"`
	FirstChangedLine int    `json:"firstChangedLine"`
}

func (s *scope) editTool() tool.Tool {
	return tool.New(tool.Spec{
		Name: "edit", Label: "Edit",
		Description: "Replace one piece of text in a file. oldText must be in the file exactly once, spaces and line breaks included.",
		Summary:     "Make precise edits to files",
	}, s.edit)
}

func (s *scope) edit(ctx context.Context, _ tool.Call, p editParams) (tool.Result, error) {
	path, err := tool.Need("path", p.Path, p.FilePath)
	if err != nil {
		return tool.Result{}, err
	}
	before, after, err := p.texts()
	if err != nil {
		return tool.Result{}, err
	}
	at, err := s.locate(path, true)
	if err != nil {
		return tool.Result{}, err
	}
	defer func() { _ = at.Close() }()
	data, err := at.readAll()
	if err != nil {
		return tool.Result{}, err
	}
	edited, loose, err := replaceText(data, before, after)
	if err != nil {
		return tool.Result{}, fmt.Errorf("%s: %w", path, err)
	}
	if err := ctx.Err(); err != nil {
		return tool.Result{}, err
	}
	if err := at.replace([]byte(edited)); err != nil {
		return tool.Result{}, err
	}
	text := "Successfully replaced text in " + path + "."
	if loose {
		text += " The match ignored differences in spaces or quotes."
	}
	result := tool.Text(text)
	result.Details = describe(data, edited)
	return result, nil
}

// readAll returns the content of a file that edit can change.
func (p *place) readAll() (string, error) {
	f, info, err := p.openRegular("read")
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }()
	data, err := io.ReadAll(io.LimitReader(f, maxEdit+1))
	switch {
	case err != nil:
		return "", p.fail("read", err)
	case len(data) > maxEdit:
		return "", fmt.Errorf("%s has %d bytes, too many to edit; use exec with sed or a script", p.path, info.Size())
	}
	if name, _ := utf16Order(data[:min(len(data), 2)]); name != "" {
		return "", fmt.Errorf("%s is %s text, edit changes UTF-8 only; convert it with exec and iconv", p.path, name)
	}
	return string(data), nil
}

// replaceText returns data with the one place of before replaced by after. What
// is around it stays byte for byte; the replacement gets the line ends of data.
func replaceText(data, before, after string) (edited string, loose bool, err error) {
	body := strings.TrimPrefix(data, string(utf8BOM))
	mark := data[:len(data)-len(body)]
	at, err := find(body, strings.TrimPrefix(before, string(utf8BOM)))
	if err != nil {
		return "", false, err
	}
	after = strings.ReplaceAll(strings.TrimPrefix(after, string(utf8BOM)), "\r\n", "\n")
	if usesCRLF(body) {
		after = strings.ReplaceAll(after, "\n", "\r\n")
	}
	if body[at.start:at.end] == after {
		return "", false, errors.New("the replacement changes nothing; oldText and newText are the same")
	}
	return mark + body[:at.start] + after + body[at.end:], at.loose, nil
}

// usesCRLF goes by the first line of data.
func usesCRLF(data string) bool {
	i := strings.IndexByte(data, '\n')
	return i > 0 && data[i-1] == '\r'
}
