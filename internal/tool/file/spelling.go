package file

import (
	"os"
	"path/filepath"
	"strings"
	"unicode"
)

// maxListed bounds the search of a folder for a lookalike.
const maxListed = 20_000

// spellings lists the ways to read a path that a model wrote, the most literal
// first: as it is, without the @ that marks a file in chats, with plain spaces.
func spellings(path string) []string {
	all := []string{path}
	add := func(s string) {
		if s != "" && s != all[len(all)-1] {
			all = append(all, s)
		}
	}
	bare := strings.TrimPrefix(path, "@")
	add(bare)
	add(plainSpaces(bare))
	return all
}

// plainSpaces replaces every kind of space by the ordinary one.
func plainSpaces(s string) string {
	return strings.Map(func(r rune) rune {
		if isSpace(r) {
			return ' '
		}
		return r
	}, s)
}

// isSpace reports whether r is a space that is not the end of a line.
func isSpace(r rune) bool {
	return r == ' ' || r > unicode.MaxASCII && unicode.Is(unicode.Zs, r)
}

// lookalike finds the one entry of p's folder that differs from its name only
// in the kind of spaces and quotes, as in the names of macOS screenshots.
func lookalike(p *place) (base string, ok bool) {
	want := foldName(filepath.Base(p.name))
	if !strings.ContainsAny(want, " '\"") {
		return "", false
	}
	dir, err := p.OpenFile(filepath.Dir(p.name), os.O_RDONLY, 0)
	if err != nil {
		return "", false
	}
	defer func() { _ = dir.Close() }()
	entries, _ := dir.ReadDir(maxListed) // what could be read is good enough
	for _, e := range entries {
		if foldName(e.Name()) == want {
			if ok {
				return "", false // two of them
			}
			base, ok = e.Name(), true
		}
	}
	return base, ok
}

func foldName(s string) string { return strings.Map(fold, s) }

// fold maps typographic quotes, dashes and spaces to their plain forms.
func fold(r rune) rune {
	switch r {
	case '\u2018', '\u2019', '\u201A', '\u201B':
		return '\''
	case '\u201C', '\u201D', '\u201E', '\u201F':
		return '"'
	case '\u2010', '\u2011', '\u2012', '\u2013', '\u2014', '\u2015', '\u2212':
		return '-'
	}
	if isSpace(r) {
		return ' '
	}
	return r
}
