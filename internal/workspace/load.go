package workspace

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"unicode"
	"unicode/utf8"
)

// DefaultMaxChars bounds one file in the prompt (agents.defaults.bootstrapMaxChars).
const DefaultMaxChars = 20000

// LoadOptions adjusts [Load].
type LoadOptions struct {
	// MaxChars bounds each file, in characters; default [DefaultMaxChars].
	MaxChars int
	// Main says that the run belongs to the agent's main session, the only place
	// where long-term memory is shown.
	Main bool
	// Subagent leaves only AGENTS.md and TOOLS.md.
	Subagent bool
}

// File is a workspace file as the prompt shows it.
type File struct {
	Name, Path string
	// Content is what the prompt carries: the trimmed text, its head and tail
	// when it is too long, or a note when the file is missing.
	Content string
	Missing bool
	// RawChars and InjectedChars count characters before and after cutting.
	RawChars, InjectedChars int
	Truncated               bool
}

// Load reads the files that go into the prompt, in the prompt's order. Empty
// files are left out. A missing standing file yields a note; a missing
// BOOTSTRAP.md yields nothing, because that is the normal state after the first
// run. See docs/runtime.md#bootstrap-files.
func Load(dir string, opts LoadOptions) []File { return load(dir, opts, read) }

func load(dir string, opts LoadOptions, read func(dir, name string, limit int) (File, bool)) []File {
	limit := opts.MaxChars
	if limit <= 0 {
		limit = DefaultMaxChars
	}
	if abs, err := filepath.Abs(dir); err == nil {
		dir = abs
	}
	var files []File
	for _, name := range names(dir, opts) {
		if f, ok := read(dir, name, limit); ok {
			files = append(files, f)
		}
	}
	return files
}

func names(dir string, opts LoadOptions) []string {
	if opts.Subagent {
		return []string{AgentsFile, ToolsFile}
	}
	list := append(standing[:len(standing):len(standing)], BootstrapFile)
	if !opts.Main {
		return list
	}
	upper, errUpper := os.Stat(filepath.Join(dir, MemoryFile))
	lower, errLower := os.Stat(filepath.Join(dir, memoryFileAlt))
	if errUpper == nil {
		list = append(list, MemoryFile)
	}
	// On a file system that ignores case both names are one file.
	if errLower == nil && (errUpper != nil || !os.SameFile(upper, lower)) {
		list = append(list, memoryFileAlt)
	}
	return list
}

func read(dir, name string, limit int) (File, bool) {
	f := File{Name: name, Path: filepath.Join(dir, name)}
	data, err := os.ReadFile(f.Path)
	if err != nil {
		if !isStanding(name) {
			return File{}, false
		}
		f.Missing = true
		f.Content = "[MISSING] Expected at: " + f.Path
		f.InjectedChars = utf8.RuneCountInString(f.Content)
		return f, true
	}
	text := strings.ToValidUTF8(string(bytes.TrimRightFunc(data, trailing)), "\uFFFD")
	if text == "" {
		return File{}, false
	}
	f.RawChars = utf8.RuneCountInString(text)
	f.Content, f.Truncated = text, f.RawChars > limit
	if f.Truncated {
		f.Content = cut(name, text, f.RawChars, limit)
	}
	f.InjectedChars = utf8.RuneCountInString(f.Content)
	return f, true
}

// cut keeps the first 70 % and the last 20 % of limit characters.
func cut(name, text string, chars, limit int) string {
	// Computed in floating point like the format's origin, so that odd limits
	// give the same bytes.
	head := int(math.Floor(float64(limit) * 0.7))
	tail := int(math.Floor(float64(limit) * 0.2))
	marker := fmt.Sprintf("\n[...truncated, read %s for full content...]\n…(truncated %s: kept %d+%d chars of %d)…\n",
		name, name, head, tail, chars)
	return text[:offset(text, head)] + "\n" + marker + "\n" + text[offset(text, chars-tail):]
}

// offset returns the byte position of the n-th character.
func offset(s string, n int) int {
	for i := range s {
		if n == 0 {
			return i
		}
		n--
	}
	return len(s)
}

func isStanding(name string) bool {
	for _, s := range standing {
		if s == name {
			return true
		}
	}
	return false
}

func trailing(r rune) bool { return unicode.IsSpace(r) || r == '\uFEFF' }
