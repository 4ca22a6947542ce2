package file

import (
	"bytes"
	"context"
	"errors"
	"io"
)

// countBytes is how far past the shown part the lines of a file are counted. It
// keeps a call on a file of terabytes short.
const countBytes = 256 << 20

// window is a run of whole lines of a file.
type window struct {
	text  []byte // with the newline of its last line, if that has one
	lines int64  // in text
	total int64  // lines of the file, or a lower bound
	// cut says which limit ended the window early: "lines", "bytes" or "" for none.
	cut string
	// longLine is the size of the first line if that alone is too large.
	longLine  int64
	uncounted bool // total is a lower bound
}

// scan reads r to its end and keeps the window of at most limit lines (0: as
// many as fit) after the first skip lines. It holds no more than the window.
func scan(ctx context.Context, r io.Reader, skip, limit int64) (*window, error) {
	s := scanner{window: &window{}, skip: skip, limit: limit}
	buf := make([]byte, 64*1024)
	var past int64
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		n, err := r.Read(buf)
		s.feed(buf[:n])
		if errors.Is(err, io.EOF) {
			s.end()
			return s.window, nil
		}
		if err != nil {
			return nil, err
		}
		if s.done || s.cut != "" {
			if past += int64(n); past > countBytes {
				s.end()
				s.uncounted = true
				return s.window, nil
			}
		}
	}
}

type scanner struct {
	*window
	skip, limit int64
	line        int64 // size of the current line so far
	start       int   // where the current line begins in text
	done        bool  // the window is complete; only lines are counted
}

func (s *scanner) feed(data []byte) {
	for len(data) > 0 {
		i := bytes.IndexByte(data, '\n')
		part := data
		if i >= 0 {
			part = data[:i+1]
		}
		data = data[len(part):]
		if s.total >= s.skip && !s.done {
			s.keep(part)
		}
		s.line += int64(len(part))
		if i >= 0 {
			s.endLine()
			if s.done && len(data) > 0 { // count the rest at once
				s.total += int64(bytes.Count(data, []byte{'\n'}))
				s.line = int64(len(data) - 1 - bytes.LastIndexByte(data, '\n'))
				return
			}
		}
	}
}

// keep adds part of the current line, or finds that the window is full.
func (s *scanner) keep(part []byte) {
	if s.cut != "" {
		return // more of a first line that is too long
	}
	size := len(s.text) + len(bytes.TrimSuffix(part, []byte{'\n'}))
	if s.lines < maxLines && size <= maxBytes {
		s.text = append(s.text, part...)
		return
	}
	s.cut = "bytes"
	if s.lines >= maxLines {
		s.cut = "lines"
	}
	s.text = s.text[:s.start]
	s.done = s.lines > 0 // the size of a first line that is too long is of interest
}

func (s *scanner) endLine() {
	kept := s.total >= s.skip && !s.done
	s.total++
	if kept {
		s.keepLine()
	}
	s.line = 0
}

func (s *scanner) keepLine() {
	if s.cut != "" { // the first line alone was too long
		s.longLine, s.done = s.line, true
		return
	}
	s.lines++
	s.start = len(s.text)
	s.done = s.lines == s.limit
}

// end counts a last line without newline.
func (s *scanner) end() {
	if s.line > 0 {
		s.endLine()
	}
}
