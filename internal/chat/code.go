package chat

// codeState follows Markdown code while text streams past: fenced blocks and
// inline spans. It looks at one byte at a time, so the way a text is cut into
// pieces never changes the result.
type codeState struct {
	lineText bool // the current line has something besides indentation
	indent   int  // leading spaces of the current line

	run      int  // length of the run of backticks or tildes being read
	runChar  byte // its character
	runStart bool // it began the line

	fence     int // length of the open fence, 0 when none
	fenceChar byte
	fenceLine bool // still on the line that opened the fence
	span      int  // backticks of the open inline span, 0 when none
}

// inside reports whether a '<' that comes next is code.
func (s *codeState) inside() bool {
	fence, span := s.fence, s.span
	if s.run > 0 {
		peek := *s
		peek.endRun('<')
		fence, span = peek.fence, peek.span
	}
	return fence > 0 || span > 0
}

// pause ends a run of backticks that a removed tag interrupts.
func (s *codeState) pause() {
	if s.run > 0 {
		s.endRun('<')
	}
}

func (s *codeState) feed(text string) {
	for i := range len(text) {
		s.next(text[i])
	}
}

func (s *codeState) next(b byte) {
	if s.run > 0 {
		if b == s.runChar {
			s.run++
			return
		}
		s.endRun(b)
	}
	switch {
	case b == '\n':
		if !s.lineText && s.fence == 0 {
			s.span = 0 // a blank line ends the paragraph, and with it an open span
		}
		s.lineText, s.indent, s.fenceLine = false, 0, false
	case b == '`' || b == '~':
		s.run, s.runChar = 1, b
		s.runStart = !s.lineText && s.indent <= 3
		s.lineText = true
	case b == ' ' && !s.lineText:
		s.indent++
	case b == '\r':
	default:
		if b != '\t' {
			s.lineText = true
		} else if !s.lineText {
			s.indent += 4
		}
	}
}

// endRun decides what the finished run means; b is the byte after it.
func (s *codeState) endRun(b byte) {
	n, char := s.run, s.runChar
	s.run = 0
	switch {
	case s.fence > 0 && s.fenceLine:
		if char == '`' && s.fenceChar == '`' { // ```x``` on one line is a span
			if n != s.fence {
				s.span = s.fence
			}
			s.fence, s.fenceLine = 0, false
		}
	case s.fence > 0:
		blankAfter := b == '\n' || b == ' ' || b == '\t' || b == '\r'
		if s.runStart && char == s.fenceChar && n >= s.fence && blankAfter {
			s.fence = 0
		}
	case s.span > 0:
		if char == '`' && n == s.span {
			s.span = 0
		}
	case s.runStart && n >= 3:
		s.fence, s.fenceChar, s.fenceLine = n, char, b != '\n'
	case char == '`':
		s.span = n
	}
}
