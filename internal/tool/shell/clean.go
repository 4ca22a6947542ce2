package shell

import (
	"bytes"
	"unicode"
	"unicode/utf8"
)

// cleaner turns the output of a command into plain text: terminal control
// sequences and control characters are removed, bytes that are not UTF-8 become
// one replacement character per run, \r\n becomes \n. It accepts output in
// pieces of any size; its memory is constant.
type cleaner struct {
	// onCursorQuery is called for each request of the cursor position; may be nil.
	onCursorQuery func()

	state   cleanState
	run     int    // bytes of the current sequence
	params  []byte // of the current CSI sequence, at most maxParams
	partial []byte // begin of a character that continues in the next piece
	held    bool   // a \r whose successor is not known yet
	invalid bool   // the last thing was not UTF-8
	out     []byte
}

type cleanState uint8

const (
	plain      cleanState = iota
	escape                // after ESC
	designator            // after ESC and an intermediate byte: one more
	csi                   // after ESC [
	str                   // inside OSC, DCS, APC, PM or SOS
	strEscape             // ESC inside such a string
)

const (
	maxParams = 32
	// maxSequence bounds a sequence that never ends, as in binary output.
	maxSequence = 4096
)

// clean returns the text of the next piece. The result is valid until the next call.
func (c *cleaner) clean(piece []byte) []byte {
	c.out = c.out[:0]
	if len(c.partial) > 0 {
		piece = append(c.partial, piece...)
		c.partial = nil
	}
	for len(piece) > 0 {
		n := c.step(piece)
		if n == 0 { // an unfinished character
			c.partial = bytes.Clone(piece)
			break
		}
		piece = piece[n:]
	}
	return c.out
}

// flush returns what was held back at the end of the output.
func (c *cleaner) flush() []byte {
	c.out = c.out[:0]
	if len(c.partial) > 0 {
		c.partial = nil
		c.bad()
	}
	if c.held {
		c.held = false
		c.out = append(c.out, '\r')
	}
	return c.out
}

// step takes one character, or a run of plain ones, from the front of p.
func (c *cleaner) step(p []byte) int {
	if c.state == plain {
		if n := asciiRun(p); n > 0 {
			c.release()
			c.out = append(c.out, p[:n]...)
			c.invalid = false
			return n
		}
	}
	if b := p[0]; b < utf8.RuneSelf {
		c.ascii(b)
		return 1
	}
	r, size := utf8.DecodeRune(p)
	if r == utf8.RuneError && size == 1 {
		if len(p) < utf8.UTFMax && !utf8.FullRune(p) {
			return 0
		}
		if c.inString(1) {
			return 1
		}
		c.release()
		c.bad()
		return 1
	}
	switch {
	case c.inString(size):
	case !unwanted(r):
		c.release()
		c.out = append(c.out, p[:size]...)
		c.invalid = false
	}
	return size
}

// inString counts n bytes above ASCII as part of a string. Other sequences
// cannot hold such bytes and are given up.
func (c *cleaner) inString(n int) bool {
	if c.state == str || c.state == strEscape {
		c.state = str
		c.count(n)
		return true
	}
	c.state = plain
	return false
}

// asciiRun is how many bytes at the front of p are printable ASCII or \n or \t.
func asciiRun(p []byte) int {
	for i, b := range p {
		if (b < ' ' || b > '~') && b != '\n' && b != '\t' {
			return i
		}
		if b == '\n' && i == 0 {
			return 0 // may belong to a held \r
		}
	}
	return len(p)
}

// ascii takes one byte below 0x80.
func (c *cleaner) ascii(b byte) {
	switch c.state {
	case plain:
		c.plainByte(b)
	case escape:
		c.escapeByte(b)
	case designator:
		c.state = plain
	case csi:
		c.csiByte(b)
	case str:
		switch b {
		case 0x07:
			c.state = plain
		case 0x1B:
			c.state = strEscape
		default:
			c.count(1)
		}
	case strEscape:
		c.state = plain
		if b != '\\' { // not the end of the string but a new sequence
			c.escapeByte(b)
		}
	}
}

func (c *cleaner) plainByte(b byte) {
	switch {
	case b == 0x1B:
		c.state, c.run = escape, 0
	case b == '\n':
		c.held = false // \r\n
		c.out = append(c.out, '\n')
		c.invalid = false
	case b == '\r':
		c.release()
		c.held = true
	case b >= ' ' && b != 0x7F || b == '\t':
		c.release()
		c.out = append(c.out, b)
		c.invalid = false
	}
}

func (c *cleaner) escapeByte(b byte) {
	switch {
	case b == '[':
		c.state, c.run, c.params = csi, 0, c.params[:0]
	case b == ']' || b == 'P' || b == '_' || b == '^' || b == 'X':
		c.state, c.run = str, 0
	case b >= ' ' && b <= '/':
		c.state = designator
	case b == 0x1B:
	default:
		c.state = plain
		if b < ' ' {
			c.plainByte(b)
		}
	}
}

func (c *cleaner) csiByte(b byte) {
	switch {
	case b >= '@' && b <= '~':
		c.state = plain
		if b == 'n' && c.onCursorQuery != nil && (string(c.params) == "6" || string(c.params) == "?6") {
			c.onCursorQuery()
		}
	case b >= ' ' && b <= '?':
		if len(c.params) < maxParams {
			c.params = append(c.params, b)
		}
		c.count(1)
	case b == 0x1B:
		c.state = escape
	default: // broken off
		c.state = plain
		c.plainByte(b)
	}
}

// count gives a sequence up that is too long to be one.
func (c *cleaner) count(n int) {
	if c.run += n; c.run > maxSequence {
		c.state = plain
	}
}

// release writes a held \r that stands alone.
func (c *cleaner) release() {
	if c.held {
		c.held = false
		c.out = append(c.out, '\r')
	}
}

// bad stands for one or more bytes that are not UTF-8.
func (c *cleaner) bad() {
	if !c.invalid {
		c.out = utf8.AppendRune(c.out, utf8.RuneError)
		c.invalid = true
	}
}

// unwanted reports whether r controls rather than shows: C1 controls and
// formats such as those that turn the direction of text.
func unwanted(r rune) bool {
	return r < 0xA0 || unicode.Is(unicode.Cf, r)
}
